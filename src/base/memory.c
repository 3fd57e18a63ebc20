#include "base/memory.h"

#include <stdlib.h>

#include "cyxla/cyxla.h"

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
