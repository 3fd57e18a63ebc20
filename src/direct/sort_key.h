/* Keys: elements as unsigned numbers that have their order. */
#ifndef CYXLA_DIRECT_SORT_KEY_H
#define CYXLA_DIRECT_SORT_KEY_H

#include "direct/sort_records.h"

/* Whether XLA's runtime compares elements of this type itself. */
bool cyxla__sort_key_exists(int32_t type);

/* Replaces the bits of elements, which are in the keys, by keys: ascending ones, or the opposite.
 *
 * As in XLA (SortComparatorLess and Greater of xla/backends/cpu/runtime/sort_lib.cc), all NaN are equal,
 * last when ascending and first when descending; -0 equals +0, and, where the floating-point environment
 * takes subnormal numbers for 0, these too. */
void cyxla__sort_key_make(int32_t type, bool descending, cyxla__record *records, size_t count);

#endif
