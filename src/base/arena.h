/* Many small pieces of memory that are freed together. */
#ifndef CYXLA_BASE_ARENA_H
#define CYXLA_BASE_ARENA_H

#include <stddef.h>

/* Starts as {0}. */
typedef struct cyxla__arena {
  struct cyxla__arena_block *blocks;
} cyxla__arena;

/* `count` items of `size` bytes, zeroed and aligned to 64; never NULL for 0 bytes.  NULL: there is no
 * memory, or the product overflows. */
void *cyxla__arena_alloc(cyxla__arena *arena, size_t count, size_t size);

void cyxla__arena_deinit(cyxla__arena *arena);

#endif
