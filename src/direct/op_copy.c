#include "direct/op_copy.h"

#include <string.h>

#include "xla_cpu/primitive_type.h"

typedef cyxla__copy_loop loop;

/* ---- plan ---- */

/* Bytes from one element to the next along `dimension`. */
static size_t step_of(const cyxla__shape *shape, int64_t dimension) {
  size_t step = cyxla__primitive_size(shape->type);
  for (const int64_t *minor = shape->minor_to_major; *minor != dimension; ++minor)
    step *= (size_t)shape->dimensions[*minor];
  return step;
}

/* Makes `inner` as much longer as `outer` is, where the two are one loop in memory. */
static bool join(loop *inner, loop outer) {
  if (outer.source_step != inner->count * inner->source_step ||
      outer.destination_step != inner->count * inner->destination_step)
    return false;
  inner->count *= outer.count;
  return true;
}

/* Puts a loop around the others. */
static void add_loop(cyxla__copy *copy, loop added) {
  loop block = {copy->block_size, 1, 1};
  if (added.count == 1) return;
  if (copy->loop_count) {
    if (join(&copy->loops[copy->loop_count - 1], added)) return;
  } else if (join(&block, added)) {
    copy->block_size = block.count;
    return;
  }
  copy->loops[copy->loop_count++] = added;
}

const cyxla__copy *cyxla__copy_plan(cyxla__arena *arena, const cyxla__shape *source,
                                    const cyxla__shape *destination) {
  const size_t rank = (size_t)destination->rank;
  cyxla__copy *copy = cyxla__arena_alloc(arena, 1, sizeof *copy + rank * sizeof(loop));
  if (!copy) return NULL;
  copy->block_size = cyxla__primitive_size(destination->type);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t dimension = destination->minor_to_major[i];
    add_loop(copy, (loop){(size_t)destination->dimensions[dimension], step_of(source, dimension),
                          step_of(destination, dimension)});
  }
  return copy;
}

size_t cyxla__copy_piece_size(const cyxla__copy *copy) {
  return copy->loop_count ? 0 : copy->block_size;
}

/* ---- run ---- */

#define COPY_BLOCKS(size)                 \
  for (size_t i = 0; i < loop.count; ++i) \
  memcpy(destination + i * loop.destination_step, source + i * loop.source_step, size)

/* The compiler knows the sizes of elements, which makes memcpy much faster. */
static void copy_blocks(loop loop, size_t block_size, const uint8_t *source, uint8_t *destination) {
  switch (block_size) {
    case 1:
      COPY_BLOCKS(1);
      break;
    case 2:
      COPY_BLOCKS(2);
      break;
    case 4:
      COPY_BLOCKS(4);
      break;
    case 8:
      COPY_BLOCKS(8);
      break;
    case 16:
      COPY_BLOCKS(16);
      break;
    default:
      COPY_BLOCKS(block_size);
  }
}

/* Runs the innermost `count` loops, at least one. */
static void run_loops(const cyxla__copy *copy, size_t count, const uint8_t *source,
                      uint8_t *destination) {
  const loop *outer = &copy->loops[count - 1];
  if (count == 1) {
    copy_blocks(*outer, copy->block_size, source, destination);
    return;
  }
  for (size_t i = 0; i < outer->count; ++i)
    run_loops(copy, count - 1, source + i * outer->source_step,
              destination + i * outer->destination_step);
}

void cyxla__copy_run(const cyxla__copy *copy, const void *source, void *destination) {
  if (copy->loop_count)
    run_loops(copy, copy->loop_count, source, destination);
  else
    memcpy(destination, source, copy->block_size);
}
