/* Sorting along one dimension, and the largest k elements, as XLA's CPU runtime does it. */
#ifndef CYXLA_DIRECT_OP_SORT_H
#define CYXLA_DIRECT_OP_SORT_H

#include "base/arena.h"
#include "direct/code.h"
#include "direct/image.h"

typedef struct cyxla__sort cyxla__sort;

/* Whether the sort `thunk` calls its comparator: others compare elements as its direction says. */
bool cyxla__sort_needs_comparator(const cyxla__thunk *thunk);

/* Plans the sort `thunk`; `comparator` is its function, or NULL where it needs none.
 * The result lives in `arena`.  NULL: no memory. */
const cyxla__sort *cyxla__sort_plan(cyxla__arena *arena, const cyxla__thunk *thunk,
                                    cyxla__code_function comparator);

/* Bytes of working memory, aligned to 64, that a run needs. */
size_t cyxla__sort_scratch_size(const cyxla__sort *sort);

/* Sorts the operands in place, all by one permutation.  No allocation.  Threads: shared. */
void cyxla__sort_run(const cyxla__sort *sort, void *const *operands, void *scratch);

/* The k largest of each batch of `input_size` floats with their indices, in descending order; scratch is
 * of cyxla__top_k_scratch_size bytes.  Threads: shared. */
size_t cyxla__top_k_scratch_size(const cyxla__thunk *thunk);
void cyxla__top_k_run(uint64_t batch_size, uint64_t input_size, uint64_t k, const float *values,
                      float *output, int32_t *indices, void *scratch);

#endif
