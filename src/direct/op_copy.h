/* Copies between arrays of one shape and two layouts. */
#ifndef CYXLA_DIRECT_OP_COPY_H
#define CYXLA_DIRECT_OP_COPY_H

#include "base/arena.h"
#include "direct/image.h"

/* A loop whose steps are in bytes. */
typedef struct cyxla__copy_loop {
  size_t count, source_step, destination_step;
} cyxla__copy_loop;

/* Nested loops over blocks of bytes that lie together in both arrays. */
typedef struct cyxla__copy {
  size_t block_size, loop_count;
  cyxla__copy_loop loops[]; /* the innermost first */
} cyxla__copy;

/* Plans a copy of `source` to `destination`, whose dimensions and types are equal; the result lives in
 * `arena`.  NULL: no memory. */
const cyxla__copy *cyxla__copy_plan(cyxla__arena *arena, const cyxla__shape *source,
                                    const cyxla__shape *destination);

/* Bytes, where the copy is of one piece of memory; 0 where it is of several, or of none. */
size_t cyxla__copy_piece_size(const cyxla__copy *copy);

/* The two must not overlap.  Threads: shared. */
void cyxla__copy_run(const cyxla__copy *copy, const void *source, void *destination);

#endif
