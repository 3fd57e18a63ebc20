/* Records for tests of sorting, in C and in C++: random ones and what makes algorithms slow. */
#ifndef CYXLA_SORT_CASES_H
#define CYXLA_SORT_CASES_H

#include <stdlib.h>

#include "direct/sort_records.h"
#include "random.h"

enum case_kind {
  CASE_DIFFERENT,
  CASE_TIES,
  CASE_EQUAL,
  CASE_ASCENDING,
  CASE_DESCENDING,
  CASE_UP_AND_DOWN,
  CASE_KILLER, /* of the quicksort */
  CASE_COUNT
};

static inline uint64_t case_key(int kind, size_t index, size_t count, uint64_t *state) {
  switch (kind) {
    case CASE_DIFFERENT:
      return next_random(state);
    case CASE_TIES:
      return next_random(state) % (count / 8 + 2);
    case CASE_ASCENDING:
      return index / 3;
    case CASE_DESCENDING:
      return (count - index) / 3;
    case CASE_UP_AND_DOWN:
      return index < count / 2 ? index : count - index;
    default:
      return 7;
  }
}

/* M. D. McIlroy, "A killer adversary for quicksort" (1999): keys are gas, larger than all others, until two
 * of them are compared; then one becomes solid, so that pivots turn out small. */
typedef struct adversary {
  uint64_t *keys;
  uint64_t gas, solid_count, candidate;
} adversary;

static inline bool adversary_before(const void *context, const cyxla__record *a,
                                    const cyxla__record *b) {
  adversary *self = *(adversary *const *)context;
  uint64_t *keys = self->keys;
  const uint64_t x = a->position, y = b->position;
  if (keys[x] == self->gas && keys[y] == self->gas)
    keys[x == self->candidate ? x : y] = self->solid_count++;
  if (keys[x] == self->gas)
    self->candidate = x;
  else if (keys[y] == self->gas)
    self->candidate = y;
  return keys[x] < keys[y];
}

/* What makes cyxla__introsort give up quicksort: what it does to the adversary. */
static inline void make_killer(cyxla__record *records, size_t count) {
  adversary adversary = {(uint64_t *)malloc((count + 1) * sizeof(uint64_t)), count, 0, 0};
  struct adversary *self = &adversary;
  const cyxla__order order = {adversary_before, &self};
  for (size_t i = 0; i < count; ++i) {
    adversary.keys[i] = adversary.gas;
    records[i].position = i;
  }
  cyxla__introsort(&order, records, count);
  for (size_t i = 0; i < count; ++i) {
    records[i].key = adversary.keys[i];
    records[i].position = i;
  }
  free(adversary.keys);
}

static inline void make_case(int kind, cyxla__record *records, size_t count, uint64_t *state) {
  if (kind == CASE_KILLER) {
    make_killer(records, count);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    records[i].key = case_key(kind, i, count, state);
    records[i].position = i;
  }
}

/* Comparisons that are no order: some keys, as NaN, are neither before nor after any other; equal ones are
 * before each other. */
static inline bool before_but_thirds(const void *context, const cyxla__record *a,
                                     const cyxla__record *b) {
  (void)context;
  return a->key % 3 && b->key % 3 && a->key < b->key;
}

static inline bool before_or_equal(const void *context, const cyxla__record *a,
                                   const cyxla__record *b) {
  (void)context;
  return a->key <= b->key;
}

static inline bool by_key(const void *context, const cyxla__record *a, const cyxla__record *b) {
  (void)context;
  return a->key < b->key;
}

/* The permutation, added to the hash of others (FNV-1a, with numbers instead of bytes). */
static inline uint64_t add_to_hash(uint64_t hash, const cyxla__record *records, size_t count) {
  for (size_t i = 0; i < count; ++i) hash = (hash ^ records[i].position) * UINT64_C(1099511628211);
  return hash;
}

/* The hash of what std::sort of GCC 12's libstdc++ makes of all kinds of cases, for each count from 1 to
 * 600, with the random numbers from state 1. */
#define SORT_CASES_HASH UINT64_C(0x20c72b314d51725a)
enum { SORT_CASES_MOST = 600 };

#endif
