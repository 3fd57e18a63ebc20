/* Lack of memory: the linker sends the library's calls of malloc and its like here, those of libc
 * and of plugins not.  For one file of a test, which is linked with `wrapped_allocations`. */
#ifndef CYXLA_TEST_ALLOCATIONS_H
#define CYXLA_TEST_ALLOCATIONS_H

#include <stdbool.h>
#include <stdlib.h>

static long allocations, failing_first, failing_last;

/* Counts allocations anew, from 1; those numbered `first` to `last` fail (0 and 0: none does). */
static inline void fail_allocations(long first, long last) {
  allocations = 0;
  failing_first = first;
  failing_last = last;
}

/* Counts an allocation; true: it has to fail. */
static inline bool fails(void) {
  ++allocations;
  return allocations >= failing_first && allocations <= failing_last;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size) {
  return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *pointer, size_t size) {
  return fails() ? NULL : __real_realloc(pointer, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text) {
  return fails() ? NULL : __real_strdup(text);
}

#endif
