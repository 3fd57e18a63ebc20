#include <string.h>

#include "direct/op_sort.h"

/* XLA's order of floats (xla/service/cpu/runtime_topk.cc), as one number that is larger for what comes
 * first: their bits as integers, so that NaN is at the ends and +0 is before -0; the smaller index where
 * they are equal. */
static uint64_t rank_of(float value, size_t index) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t ascending = bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
  return (uint64_t)ascending << 32 | (uint32_t)~index;
}

static size_t index_of(uint64_t rank) {
  return (uint32_t)~rank;
}

/* Puts `rank` in the place of the first of a heap of `count`, whose first is the smallest. */
static void replace_first(uint64_t *heap, size_t count, uint64_t rank) {
  size_t hole = 0;
  for (size_t child; (child = 2 * hole + 1) < count; hole = child) {
    if (child + 1 < count && heap[child + 1] < heap[child]) ++child;
    if (heap[child] >= rank) break;
    heap[hole] = heap[child];
  }
  heap[hole] = rank;
}

/* Fills the heap with the `count` largest ranks; 0 is less than any. */
static void select_largest(const float *values, size_t size, uint64_t *heap, size_t count) {
  memset(heap, 0, count * sizeof *heap);
  for (size_t i = 0; i < size; ++i) {
    const uint64_t rank = rank_of(values[i], i);
    if (rank > heap[0]) replace_first(heap, count, rank);
  }
}

size_t cyxla__top_k_scratch_size(const cyxla__thunk *thunk) {
  return (size_t)thunk->as.top_k.k * sizeof(uint64_t);
}

void cyxla__top_k_run(uint64_t batch_size, uint64_t input_size, uint64_t k, const float *values,
                      float *output, int32_t *indices, void *scratch) {
  uint64_t *heap = scratch;
  if (!k) return;
  for (uint64_t batch = 0; batch < batch_size; ++batch) {
    select_largest(values, input_size, heap, k);
    for (size_t left = k; left-- > 0;) {
      const size_t index = index_of(heap[0]);
      output[left] = values[index];
      indices[left] = (int32_t)index;
      replace_first(heap, left, heap[left]);
    }
    values += input_size;
    output += k;
    indices += k;
  }
}
