#include "direct/op_sort.h"

#include <string.h>

#include "base/memory.h"
#include "direct/sort_key.h"
#include "direct/sort_records.h"
#include "xla_cpu/primitive_type.h"

/* What XLA's compiler makes of an HLO comparator; the parameters are pairs, an element of each operand at
 * the one place and at the other. */
typedef void comparator_function(bool *result, const void *run_options, const void **parameters,
                                 const void *buffers, const void *status, const void *counters);

/* An array is, in memory, `outer_count` times `length` times `stride` elements: each line of `length`
 * elements, which are `stride` apart, is sorted for itself. */
typedef struct lines {
  size_t outer_count, length, stride;
} lines;

struct cyxla__sort {
  lines lines;
  comparator_function *comparator; /* NULL: by the keys of operand 0 */
  bool stable, descending;
  int32_t key_type; /* of operand 0 */
  size_t operand_count;
  const size_t *element_sizes;
  size_t scratch_size;
};

/* ---- plan ---- */

static lines lines_of(const cyxla__thunk *thunk) {
  const cyxla__shape *shape = &thunk->as.sort.operands[0].shape;
  const int32_t sorted = thunk->as.sort.dimension;
  lines lines = {.outer_count = 1, .length = (size_t)shape->dimensions[sorted], .stride = 1};
  size_t *product = &lines.stride;
  for (int32_t i = 0; i < shape->rank; ++i) {
    const int64_t dimension = shape->minor_to_major[i];
    if (dimension == sorted)
      product = &lines.outer_count;
    else
      *product *= (size_t)shape->dimensions[dimension];
  }
  return lines;
}

/* The cases for which XLA has code of its own (SortThunk, and what it calls in
 * xla/backends/cpu/runtime/sort_lib.cc); found by experiment with jaxlib 0.11.2.  They differ from a
 * comparator in the order of NaN, for which jaxlib 0.10.2 has no rule yet. */
bool cyxla__sort_needs_comparator(const cyxla__thunk *thunk) {
  const cyxla__array *operands = thunk->as.sort.operands;
  if (!thunk->as.sort.direction || !cyxla__sort_key_exists(operands[0].shape.type)) return true;
  if (thunk->as.sort.count != 2) return thunk->as.sort.count > 2;
  const lines lines = lines_of(thunk);
  return cyxla__primitive_size(operands[1].shape.type) > 8 ||
         (lines.stride != 1 && lines.length > 65536);
}

/* The working memory: the comparator's parameters, records, and spare bytes, for half as many records in
 * merges and for a line of elements afterwards.  False: more than memory can hold. */
static bool measure_scratch(cyxla__sort *sort) {
  size_t largest = sort->stable ? sizeof(cyxla__record) / 2 : 1, fixed, spare;
  for (size_t i = 0; i < sort->operand_count; ++i)
    if (sort->element_sizes[i] > largest) largest = sort->element_sizes[i];
  return cyxla__add(sort->operand_count, sort->lines.length, &fixed) &&
         cyxla__multiply(fixed, sizeof(cyxla__record), &fixed) &&
         cyxla__multiply(sort->lines.length + 1, largest, &spare) &&
         cyxla__add(fixed, spare, &sort->scratch_size);
}
_Static_assert(sizeof(cyxla__record) == 2 * sizeof(void *), "a pair of parameters takes as much");

const cyxla__sort *cyxla__sort_plan(cyxla__arena *arena, const cyxla__thunk *thunk,
                                    cyxla__code_function comparator) {
  const size_t count = thunk->as.sort.count;
  const cyxla__array *operands = thunk->as.sort.operands;
  cyxla__sort *sort = cyxla__arena_alloc(arena, 1, sizeof *sort);
  size_t *element_sizes = cyxla__arena_alloc(arena, count, sizeof *element_sizes);
  if (!sort || !element_sizes) return NULL;
  for (size_t i = 0; i < count; ++i)
    element_sizes[i] = cyxla__primitive_size(operands[i].shape.type);
  *sort = (cyxla__sort){
      .lines = lines_of(thunk),
      .comparator = cyxla__sort_needs_comparator(thunk) ? (comparator_function *)comparator : NULL,
      .stable = thunk->as.sort.stable,
      .descending = thunk->as.sort.direction == 2,
      .key_type = operands[0].shape.type,
      .operand_count = count,
      .element_sizes = element_sizes,
  };
  return measure_scratch(sort) ? sort : NULL;
}

size_t cyxla__sort_scratch_size(const cyxla__sort *sort) {
  return sort->scratch_size;
}

/* ---- run ---- */

typedef struct run {
  const cyxla__sort *sort;
  void *const *operands;
  const void **parameters;
  cyxla__record *records;
  uint8_t *spare;
} run;

/* memcpy of an element: the compiler knows the size, which makes it much faster. */
static inline void copy_element(void *to, const void *from, size_t size) {
  switch (size) {
    case 1:
      memcpy(to, from, 1);
      break;
    case 2:
      memcpy(to, from, 2);
      break;
    case 4:
      memcpy(to, from, 4);
      break;
    case 8:
      memcpy(to, from, 8);
      break;
    default:
      memcpy(to, from, 16);
  }
}

/* Calls the comparator.  Most read operand 0 only: it gets that from the records, which are at hand,
 * instead of the array. */
static bool compare(const void *context, const cyxla__record *a, const cyxla__record *b) {
  const run *run = context;
  const cyxla__sort *sort = run->sort;
  for (size_t i = 0; i < sort->operand_count; ++i) {
    const uint8_t *elements = run->operands[i];
    run->parameters[2 * i] = elements + a->position * sort->element_sizes[i];
    run->parameters[2 * i + 1] = elements + b->position * sort->element_sizes[i];
  }
  if (sort->element_sizes[0] <= sizeof a->key) {
    run->parameters[0] = &a->key;
    run->parameters[1] = &b->key;
  }
  bool result = false;
  sort->comparator(&result, NULL, run->parameters, NULL, NULL, NULL);
  return result;
}

/* Makes records of the line that starts at element `start`: their keys are the bits of operand 0, where
 * they fit. */
static void load_records(const run *run, size_t start) {
  const lines *lines = &run->sort->lines;
  const uint8_t *elements = run->operands[0];
  const size_t size = run->sort->element_sizes[0];
  for (size_t i = 0; i < lines->length; ++i) {
    cyxla__record record = {.position = start + i * lines->stride};
    if (size <= sizeof record.key)
      copy_element(&record.key, elements + record.position * size, size);
    run->records[i] = record;
  }
}

static void sort_records(const run *run) {
  const cyxla__sort *sort = run->sort;
  const size_t count = sort->lines.length;
  const cyxla__order order = {sort->comparator ? compare : NULL, run};
  if (!sort->comparator)
    cyxla__sort_key_make(sort->key_type, sort->descending, run->records, count);
  if (sort->stable)
    cyxla__merge_sort(&order, run->records, count, (cyxla__record *)run->spare);
  else
    cyxla__introsort(&order, run->records, count);
}

/* Brings the elements of an operand's line into the order of the records. */
static void move_elements(const run *run, size_t start, uint8_t *elements, size_t size) {
  const lines *lines = &run->sort->lines;
  for (size_t i = 0; i < lines->length; ++i)
    copy_element(run->spare + i * size, elements + run->records[i].position * size, size);
  for (size_t i = 0; i < lines->length; ++i)
    copy_element(elements + (start + i * lines->stride) * size, run->spare + i * size, size);
}

static void sort_line(const run *run, size_t start) {
  load_records(run, start);
  sort_records(run);
  for (size_t i = 0; i < run->sort->operand_count; ++i)
    move_elements(run, start, run->operands[i], run->sort->element_sizes[i]);
}

void cyxla__sort_run(const cyxla__sort *sort, void *const *operands, void *scratch) {
  const lines *lines = &sort->lines;
  if (lines->length < 2) return;
  cyxla__record *records = (cyxla__record *)scratch + sort->operand_count;
  const run run = {.sort = sort,
                   .operands = operands,
                   .parameters = scratch,
                   .records = records,
                   .spare = (uint8_t *)(records + lines->length)};
  for (size_t outer = 0; outer < lines->outer_count; ++outer)
    for (size_t inner = 0; inner < lines->stride; ++inner)
      sort_line(&run, outer * lines->length * lines->stride + inner);
}
