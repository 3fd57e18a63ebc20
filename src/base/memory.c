#include "base/memory.h"

#include <stdlib.h>

void *cyxla_aligned_alloc(size_t size) {
  size_t padded;
  if (!cyxla__add(size, CYXLA__ALIGNMENT, &padded)) return NULL;
  /* aligned_alloc wants a multiple of the alignment; size 0 becomes one unit. */
  if (size) padded = padded - 1;
  return aligned_alloc(CYXLA__ALIGNMENT, padded / CYXLA__ALIGNMENT * CYXLA__ALIGNMENT);
}

void cyxla_aligned_free(void *pointer) {
  free(pointer);
}

int32_t cyxla__copy_bytes(const void *data, size_t size, void **out_copy, size_t *out_size,
                          cyxla_error *error) {
  void *copy = cyxla_aligned_alloc(size);
  if (!copy) return cyxla__fail_memory(error, size);
  if (size) memcpy(copy, data, size);
  *out_copy = copy;
  *out_size = size;
  return CYXLA_OK;
}
