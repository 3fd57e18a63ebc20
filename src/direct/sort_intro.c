#include "direct/sort_records.h"

enum { SMALL = 16 }; /* not partitioned any more, but left to the insertion sort at the end */

/* The records from `first` up to `last`, which is not among them. */
typedef struct {
  const cyxla__order *order;
  cyxla__record *records;
  size_t count; /* of all records */
} sorting;

static bool before(const sorting *s, size_t a, size_t b) {
  return cyxla__before(s->order, &s->records[a], &s->records[b]);
}

static void swap(const sorting *s, size_t a, size_t b) {
  const cyxla__record record = s->records[a];
  s->records[a] = s->records[b];
  s->records[b] = record;
}

/* ---- heap sort, where partitions stay uneven ---- */

/* Puts `record` at the node `hole` of a heap or above it, but not above `top`. */
static void push_up(const cyxla__order *order, cyxla__record *heap, size_t hole, size_t top,
                    cyxla__record record) {
  while (hole > top) {
    const size_t parent = (hole - 1) / 2;
    if (!cyxla__before(order, &heap[parent], &record)) break;
    heap[hole] = heap[parent];
    hole = parent;
  }
  heap[hole] = record;
}

/* Fills the node `top` of a heap of `count`: children move up all the way to a leaf, whose place
 * `record` takes, to move up from there. */
static void fill_node(const cyxla__order *order, cyxla__record *heap, size_t count, size_t top,
                      cyxla__record record) {
  size_t hole = top;
  for (size_t child; (child = 2 * hole + 1) < count; hole = child) {
    if (child + 1 < count && !cyxla__before(order, &heap[child + 1], &heap[child])) ++child;
    heap[hole] = heap[child];
  }
  push_up(order, heap, hole, top, record);
}

static void heap_sort(const cyxla__order *order, cyxla__record *heap, size_t count) {
  for (size_t node = count / 2; node-- > 0;) fill_node(order, heap, count, node, heap[node]);
  while (count-- > 1) {
    const cyxla__record record = heap[count];
    heap[count] = heap[0];
    fill_node(order, heap, count, 0, record);
  }
}

/* ---- quicksort ---- */

/* Exchanges the record at `first` with the median of three: the next one, the middle and the last. */
static void choose_pivot(const sorting *s, size_t first, size_t last) {
  const size_t a = first + 1, b = first + (last - first) / 2, c = last - 1;
  size_t median;
  if (before(s, a, b))
    median = before(s, b, c) ? b : before(s, a, c) ? c : a;
  else
    median = before(s, a, c) ? a : before(s, b, c) ? c : b;
  swap(s, first, median);
}

/* Moves what is before the pivot, the record at `first`, to the left of what is after it; returns where
 * the right part begins.  With the median of three as pivot, comparisons that are an order stop both
 * scans inside; others may go on beyond `first` and `last`, as far as the array reaches. */
static size_t partition(const sorting *s, size_t first, size_t last) {
  const size_t pivot = first++;
  for (;; ++first) {
    while (first < s->count && before(s, first, pivot)) ++first;
    --last;
    while (last > 0 && before(s, pivot, last)) --last;
    if (first >= last) return first;
    swap(s, first, last);
  }
}

static void sort_roughly(const sorting *s, size_t first, size_t last, unsigned depth) {
  while (last > first && last - first > SMALL) {
    if (!depth--) {
      heap_sort(s->order, s->records + first, last - first);
      return;
    }
    choose_pivot(s, first, last);
    const size_t cut = partition(s, first, last);
    sort_roughly(s, cut, last, depth);
    last = cut;
  }
}

static unsigned floor_log2(size_t number) {
  unsigned log = 0;
  while (number >>= 1) ++log;
  return log;
}

void cyxla__introsort(const cyxla__order *order, cyxla__record *records, size_t count) {
  const sorting s = {order, records, count};
  sort_roughly(&s, 0, count, 2 * floor_log2(count));
  cyxla__insertion_sort(order, records, count < SMALL ? count : (size_t)SMALL);
  for (size_t i = SMALL; i < count; ++i) cyxla__insert_record(order, records, i);
}
