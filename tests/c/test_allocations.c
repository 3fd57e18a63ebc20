/* Every allocation of the library fails in turn: the status says so, nothing stays behind, and with
 * memory everything works again.
 *
 * The linker sends the library's calls of malloc and its like to the functions below; those of libc
 * and of the plugin are not touched. */
#include <unistd.h>

#include "scenario.h"

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

static long allocations, failing_first, failing_last;

/* Counts an allocation; true: it has to fail. */
static bool fails(void) {
  ++allocations;
  return allocations >= failing_first && allocations <= failing_last;
}

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

typedef struct failure {
  long first, last;
} failure;

/* The scenario may also pass: memory to hold a copy of an input is not needed, only good to have.
 */
static void check_failure(const void *argument) {
  const failure *wanted = argument;
  failing_first = wanted->first;
  failing_last = wanted->last;
  allocations = 0;
  cyxla_error error = CYXLA_ERROR_INIT;
  const int32_t status = run_scenario(&error);
  CHECK(allocations >= wanted->first);
  failing_first = failing_last = 0;
  if (status) {
    CHECK_STATUS(status, CYXLA_RESOURCE_EXHAUSTED, &error);
    CHECK_CONTAINS(error.message, "out of memory");
  }
  if (fake_is_loaded()) check_nothing_alive(plugin ? 1 : 0);
  CHECK_OK(run_scenario(&error), &error);
  check_nothing_alive(1);
}

static void count_allocations(const void *argument) {
  allocations = 0;
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_OK(run_scenario(&error), &error);
  FILE *file = fopen(argument, "w");
  CHECK(file);
  fprintf(file, "%ld", allocations);
  fclose(file);
}

static void check_all_failures(const char *platform, const char *memory) {
  setenv("FAKE_PJRT_PLATFORM", platform, 1);
  setenv("FAKE_PJRT_MEMORY", memory, 1);
  char name[] = "/tmp/cyxla-test-XXXXXX";
  const int descriptor = mkstemp(name);
  CHECK(descriptor >= 0);
  close(descriptor);
  in_child(count_allocations, name);
  FILE *file = fopen(name, "r");
  long total = 0;
  CHECK(file && fscanf(file, "%ld", &total) == 1);
  fclose(file);
  remove(name);
  CHECK(total > 20);
  for (long i = 1; i <= total; ++i) {
    in_child(check_failure, &(failure){i, i});
    in_child(check_failure, &(failure){i, i + 1});
    in_child(check_failure, &(failure){i, 1L << 40});
  }
  fprintf(stderr, "%s, %s memory: %ld allocations\n", platform, memory, total);
}

int main(void) {
  fake_path();
  check_all_failures("cpu", "host");
  check_all_failures("gpu", "device");
}
