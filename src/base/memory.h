/* Memory: sizes that can't overflow, and a block that is filled piece by piece. */
#ifndef CYXLA_BASE_MEMORY_H
#define CYXLA_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

/* What XLA's CPU kernels and its zero-copy buffers ask of an address. */
#define CYXLA__ALIGNMENT 64

/* Writes a * b or a + b to `*out` and returns true, or returns false where it does not fit. */
static inline bool cyxla__multiply(size_t a, size_t b, size_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool cyxla__add(size_t a, size_t b, size_t *out) {
  return !__builtin_add_overflow(a, b, out);
}

static inline bool cyxla__is_aligned(const void *pointer) {
  return (uintptr_t)pointer % CYXLA__ALIGNMENT == 0;
}

/* A copy of `size` bytes, aligned to 64 and freed by cyxla_aligned_free. */
int32_t cyxla__copy_bytes(const void *data, size_t size, void **out_copy, size_t *out_size,
                          cyxla_error *error);

/* Copies a struct that starts with its size to a caller who may know fewer members of it (the size
 * that he set in `out`) or more (those stay as they are). */
static inline void cyxla__copy_info(void *out, const void *info, size_t size) {
  size_t known;
  memcpy(&known, out, sizeof known);
  memcpy(out, info, known < size ? known : size);
}

#endif
