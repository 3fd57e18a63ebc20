#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cyxla/cyxla.h"

enum { BLOCK_SIZE = 16 << 10 };

struct cyxla__arena_block {
  struct cyxla__arena_block *next;
  size_t used, size;
};

/* The part of a block before its bytes, which keeps these aligned. */
enum { HEADER_SIZE = CYXLA__ALIGNMENT };
_Static_assert(sizeof(struct cyxla__arena_block) <= HEADER_SIZE, "a block's header has its room");

static struct cyxla__arena_block *add_block(cyxla__arena *arena, size_t size) {
  struct cyxla__arena_block *block = cyxla_aligned_alloc(HEADER_SIZE + size);
  if (!block) return NULL;
  *block = (struct cyxla__arena_block){.next = arena->blocks, .size = size};
  arena->blocks = block;
  return block;
}

void *cyxla__arena_alloc(cyxla__arena *arena, size_t count, size_t size) {
  size_t total, rounded;
  if (!cyxla__multiply(count, size, &total) ||
      !cyxla__add(total, CYXLA__ALIGNMENT + HEADER_SIZE, &rounded))
    return NULL;
  rounded = (total + CYXLA__ALIGNMENT - 1) / CYXLA__ALIGNMENT * CYXLA__ALIGNMENT;
  struct cyxla__arena_block *block = arena->blocks;
  if (!block || block->size - block->used < rounded)
    block = add_block(arena, rounded > BLOCK_SIZE ? rounded : BLOCK_SIZE);
  if (!block) return NULL;
  void *piece = (char *)block + HEADER_SIZE + block->used;
  block->used += rounded;
  return memset(piece, 0, rounded);
}

void cyxla__arena_deinit(cyxla__arena *arena) {
  while (arena->blocks) {
    struct cyxla__arena_block *next = arena->blocks->next;
    cyxla_aligned_free(arena->blocks);
    arena->blocks = next;
  }
}
