/* Sorting records by the algorithms of libstdc++, the C++ library that XLA's binaries are linked with.
 *
 * XLA sorts by std::sort or std::stable_sort.  What they make of elements that are equal (std::sort only)
 * or that the comparison does not order (NaN) is up to the algorithm, so results agree with XLA's in every
 * bit only if each comparison and each move is the same (bits/stl_algo.h, bits/stl_heap.h of GCC 4.7 to
 * 14).  Unlike there, no comparison makes the algorithms leave the array. */
#ifndef CYXLA_DIRECT_SORT_RECORDS_H
#define CYXLA_DIRECT_SORT_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cyxla__record {
  uint64_t key;
  uint64_t position; /* where the element was before */
} cyxla__record;

/* What comes first. */
typedef struct cyxla__order {
  /* NULL: the smaller key. */
  bool (*before)(const void *context, const cyxla__record *a, const cyxla__record *b);
  const void *context;
} cyxla__order;

static inline bool cyxla__before(const cyxla__order *order, const cyxla__record *a,
                                 const cyxla__record *b) {
  return order->before ? order->before(order->context, a, b) : a->key < b->key;
}

/* As std::stable_sort; `buffer` has room for (count + 1) / 2 records. */
void cyxla__merge_sort(const cyxla__order *order, cyxla__record *records, size_t count,
                       cyxla__record *buffer);

/* As std::sort. */
void cyxla__introsort(const cyxla__order *order, cyxla__record *records, size_t count);

/* The part that both share: records before the first one go to the front at once; others move down until
 * none is after them. */
void cyxla__insertion_sort(const cyxla__order *order, cyxla__record *records, size_t count);

/* Moves record `index` down to its place among those before it. */
static inline void cyxla__insert_record(const cyxla__order *order, cyxla__record *records,
                                        size_t index) {
  const cyxla__record record = records[index];
  for (; index > 0 && cyxla__before(order, &record, &records[index - 1]); --index)
    records[index] = records[index - 1];
  records[index] = record;
}

#endif
