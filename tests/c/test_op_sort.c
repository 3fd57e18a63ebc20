#include "base/fpenv.h"
#include "base/memory.h"
#include "direct/op_sort.h"
#include "shapes.h"
#include "sort_cases.h"

enum { MOST_OPERANDS = 4, ASCENDING = 1, DESCENDING = 2 };

/* Types that XLA compares itself. */
static const int32_t key_types[] = {XLA_S8,  XLA_S16, XLA_S32, XLA_S64, XLA_U8,  XLA_U16,
                                    XLA_U32, XLA_U64, XLA_F16, XLA_F32, XLA_F64, XLA_BF16};

typedef void comparator(bool *result, const void *, const void **parameters, const void *,
                        const void *, const void *);

/* A sort, and its operands before and after. */
typedef struct problem {
  cyxla__arena arena;
  shape_memory memory;
  cyxla__array arrays[MOST_OPERANDS];
  cyxla__thunk thunk;
  comparator *comparator;
  uint8_t *before[MOST_OPERANDS], *after[MOST_OPERANDS];
} problem;

/* ---- elements ---- */

static uint64_t load(const uint8_t *element, size_t size) {
  uint64_t bits = 0;
  memcpy(&bits, element, size);
  return bits;
}

static float float_of(uint64_t bits) {
  const uint32_t half = (uint32_t)bits;
  float value;
  memcpy(&value, &half, sizeof value);
  return value;
}

/* A number of 16 bits, of which 10 are its fraction. */
static double half_of(uint64_t bits) {
  const double sign = bits >> 15 ? -1 : 1;
  const int exponent = (int)(bits >> 10 & 31);
  double value = (double)((bits & 1023) + (exponent ? 1024 : 0));
  if (exponent == 31) return bits & 1023 ? sign * (double)float_of(0x7fc00000) : sign * 1e300;
  for (int i = 25; i > (exponent ? exponent : 1); --i) value /= 2;
  for (int i = 25; i < exponent; ++i) value *= 2;
  return sign * value;
}

/* Less than 0, 0 or more: as numbers, with NaN after all others. */
static int compare_numbers(double a, double b) {
  if (a != a || b != b) return (a != a) - (b != b);
  return (a > b) - (a < b);
}

static int compare_elements(int32_t type, const uint8_t *a, const uint8_t *b) {
  const size_t size = cyxla__primitive_size(type);
  const uint64_t x = load(a, size), y = load(b, size);
  const int unused = (int)(64 - 8 * size);
  double real_x, real_y;
  switch (type) {
    case XLA_S8:
    case XLA_S16:
    case XLA_S32:
    case XLA_S64:
      return ((int64_t)(x << unused) > (int64_t)(y << unused)) -
             ((int64_t)(x << unused) < (int64_t)(y << unused));
    case XLA_F16:
      return compare_numbers(half_of(x), half_of(y));
    case XLA_BF16:
      return compare_numbers((double)float_of(x << 16), (double)float_of(y << 16));
    case XLA_F32:
      return compare_numbers((double)float_of(x), (double)float_of(y));
    case XLA_F64:
      memcpy(&real_x, &x, sizeof real_x);
      memcpy(&real_y, &y, sizeof real_y);
      return compare_numbers(real_x, real_y);
    default:
      return (x > y) - (x < y);
  }
}

/* Any bits, or few different numbers, with zeros, infinities, NaN and subnormal numbers of both signs. */
static void fill(uint8_t *elements, int32_t type, size_t count, uint64_t *state) {
  static const uint64_t odd_halves[] = {0, 1, 2, 0x3c00, 0x7c00, 0x7e00, 0x7c01, 0x03ff};
  static const uint64_t odd_bf16s[] = {0, 1, 2, 0x3f80, 0x7f80, 0x7fc0, 0x7f81, 0x007f};
  const size_t size = cyxla__primitive_size(type);
  const bool any = next_random(state) % 3 == 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t random = next_random(state);
    uint64_t bits = type == XLA_F16 ? odd_halves[random % 8] : odd_bf16s[random % 8];
    if (type == XLA_F32) bits <<= 16;
    if (type == XLA_F64)
      bits = (bits & 0x7f80) == 0x7f80 ? 0x7ff0000000000000 | bits << 44 : bits << 48;
    if (cyxla__primitive_size(type) == 8 && type != XLA_F64) bits = random % 5;
    if (random & 8 && size <= 8) bits |= UINT64_C(1) << (8 * size - 1);
    for (size_t k = 0; any && k < 8; ++k) bits = bits << 8 | (next_random(state) & 255);
    memset(elements + i * size, 0, size);
    memcpy(elements + i * size, &bits, size < 8 ? size : 8);
  }
}

/* ---- problems ---- */

static void make_problem(problem *p, int32_t rank, size_t count, uint64_t *state) {
  p->arena = (cyxla__arena){0};
  p->comparator = NULL;
  p->thunk = (cyxla__thunk){.kind = CYXLA__THUNK_SORT};
  p->thunk.as.sort.operands = p->arrays;
  p->thunk.as.sort.count = count;
  p->arrays[0].shape = make_shape(XLA_F32, rank, &p->memory, state);
}

/* The first operand has the numbers of the elements in memory as its neighbour, where there is room. */
static void set_operand(problem *p, size_t i, int32_t type, uint64_t *state) {
  cyxla__shape *shape = &p->arrays[i].shape;
  *shape = p->arrays[0].shape;
  shape->type = type;
  shape->size = shape->length * cyxla__primitive_size(type);
  p->before[i] = exact_memory(shape->size);
  p->after[i] = exact_memory(shape->size);
  if (type == XLA_U32)
    for (uint32_t k = 0; k < shape->length; ++k) memcpy(p->before[i] + 4 * k, &k, sizeof k);
  else
    fill(p->before[i], type, shape->length, state);
}

static void run_problem(problem *p) {
  const cyxla__sort *sort =
      cyxla__sort_plan(&p->arena, &p->thunk, (cyxla__code_function)p->comparator);
  CHECK(sort != NULL);
  void *scratch = exact_memory(cyxla__sort_scratch_size(sort));
  for (size_t i = 0; i < p->thunk.as.sort.count; ++i)
    memcpy(p->after[i], p->before[i], p->arrays[i].shape.size);
  cyxla__sort_run(sort, (void *const *)p->after, scratch);
  free(scratch);
}

static void end_problem(problem *p) {
  for (size_t i = 0; i < p->thunk.as.sort.count; ++i) {
    free(p->before[i]);
    free(p->after[i]);
  }
  cyxla__arena_deinit(&p->arena);
}

/* ---- reference ---- */

/* Whether the element at place `a` of the operands comes before the one at place `b`. */
static bool is_before(const problem *p, uint8_t *const *operands, size_t a, size_t b) {
  if (p->comparator) {
    const void *parameters[2 * MOST_OPERANDS];
    for (size_t i = 0; i < p->thunk.as.sort.count; ++i) {
      const size_t size = cyxla__primitive_size(p->arrays[i].shape.type);
      parameters[2 * i] = operands[i] + a * size;
      parameters[2 * i + 1] = operands[i] + b * size;
    }
    bool result;
    p->comparator(&result, NULL, parameters, NULL, NULL, NULL);
    return result;
  }
  const int32_t type = p->arrays[0].shape.type;
  const size_t size = cyxla__primitive_size(type);
  const int order = compare_elements(type, operands[0] + a * size, operands[0] + b * size);
  return p->thunk.as.sort.direction == DESCENDING ? order > 0 : order < 0;
}

/* The places of the line of elements that starts at `index`, in the order of a stable sort. */
static size_t sort_slowly(const problem *p, int64_t *index, size_t *places, size_t *sorted) {
  const cyxla__shape *shape = &p->arrays[0].shape;
  const int32_t dimension = p->thunk.as.sort.dimension;
  const size_t length = (size_t)shape->dimensions[dimension];
  for (size_t i = 0; i < length; ++i) {
    index[dimension] = (int64_t)i;
    places[i] = place_of(shape, index);
    size_t at = i;
    for (; at > 0 && is_before(p, p->before, places[i], sorted[at - 1]); --at)
      sorted[at] = sorted[at - 1];
    sorted[at] = places[i];
  }
  index[dimension] = 0;
  return length;
}

/* Each operand has to have at `places` what it had at `sorted`. */
static void check_line(const problem *p, const size_t *places, const size_t *sorted,
                       size_t length) {
  for (size_t i = 0; i < p->thunk.as.sort.count; ++i) {
    const size_t size = cyxla__primitive_size(p->arrays[i].shape.type);
    for (size_t k = 0; k < length; ++k)
      CHECK_BYTES(p->after[i] + places[k] * size, p->before[i] + sorted[k] * size, size);
  }
}

/* The same for an unstable sort of operands whose last one has the numbers of their places: the order may
 * be any in which none is before the one that precedes it. */
static void find_order(const problem *p, const size_t *places, size_t *sorted, size_t length) {
  const uint8_t *numbers = p->after[p->thunk.as.sort.count - 1];
  bool *taken = calloc(p->arrays[0].shape.length, sizeof *taken);
  for (size_t k = 0; k < length; ++k) taken[places[k]] = true;
  for (size_t k = 0; k < length; ++k) {
    sorted[k] = (size_t)load(numbers + 4 * places[k], 4);
    CHECK(taken[sorted[k]]);
    taken[sorted[k]] = false;
    if (k > 0) CHECK(!is_before(p, p->after, places[k], places[k - 1]));
  }
  free(taken);
}

/* With up to 16 elements std::sort, too, is an insertion sort, which is stable. */
static void check_result(const problem *p) {
  const cyxla__shape *shape = &p->arrays[0].shape;
  int64_t index[MOST_DIMENSIONS] = {0};
  size_t *places = malloc((shape->length + 1) * sizeof *places);
  size_t *sorted = malloc((shape->length + 1) * sizeof *sorted);
  if (shape->length) do {
      if (index[p->thunk.as.sort.dimension]) continue;
      const size_t length = sort_slowly(p, index, places, sorted);
      if (!p->thunk.as.sort.stable && length > 16) find_order(p, places, sorted, length);
      check_line(p, places, sorted, length);
    } while (next_index(shape, index));
  free(places);
  free(sorted);
}

/* ---- tests ---- */

static void draw_shape(problem *p, uint64_t *state) {
  const int32_t rank = 1 + (int32_t)(next_random(state) % 3);
  const int32_t sorted = (int32_t)(next_random(state) % (uint32_t)rank);
  for (int32_t i = 0; i < rank; ++i) p->memory.dimensions[i] = next_random(state) % 4;
  p->memory.dimensions[sorted] = next_random(state) % (next_random(state) % 3 ? 18 : 120);
  make_problem(p, rank, 1 + next_random(state) % 2, state);
  p->thunk.as.sort.dimension = sorted;
  p->thunk.as.sort.stable = next_random(state) % 2;
}

static void sorts_by_direction(void) {
  uint64_t state = 1;
  for (int trial = 0; trial < 3000; ++trial) {
    problem p;
    draw_shape(&p, &state);
    p.thunk.as.sort.direction = trial % 2 ? ASCENDING : DESCENDING;
    if (!p.thunk.as.sort.stable) p.thunk.as.sort.count = 2;
    set_operand(&p, 0, key_types[trial % 12], &state);
    if (p.thunk.as.sort.count > 1) set_operand(&p, 1, XLA_U32, &state);
    CHECK(!cyxla__sort_needs_comparator(&p.thunk));
    run_problem(&p);
    check_result(&p);
    end_problem(&p);
  }
}

/* Subnormal numbers are 0, but not those of f16. */
static void sorts_by_direction_as_xla(void) {
  const cyxla__fpenv before = cyxla__fpenv_enter();
  sorts_by_direction();
  cyxla__fpenv_leave(before);
}

/* By the second operand, then by the first. */
static void compare_pairs(bool *result, const void *options, const void **parameters,
                          const void *buffers, const void *status, const void *counters) {
  CHECK(!options && !buffers && !status && !counters);
  const int order = memcmp(parameters[2], parameters[3], 1);
  *result = order ? order < 0 : memcmp(parameters[0], parameters[1], 1) < 0;
}

static void sorts_by_comparator(void) {
  static const int32_t types[] = {XLA_PRED, XLA_S16, XLA_F32, XLA_C64, XLA_C128};
  uint64_t state = 1;
  for (int trial = 0; trial < 1000; ++trial) {
    problem p;
    draw_shape(&p, &state);
    p.thunk.as.sort.count = 4;
    p.thunk.as.sort.direction = trial % 3;
    p.comparator = compare_pairs;
    for (size_t i = 0; i < 3; ++i) set_operand(&p, i, types[next_random(&state) % 5], &state);
    set_operand(&p, 3, XLA_U32, &state);
    CHECK(cyxla__sort_needs_comparator(&p.thunk));
    run_problem(&p);
    check_result(&p);
    end_problem(&p);
  }
}

static uint64_t comparison_state;

static void compare_at_random(bool *result, const void *options, const void **parameters,
                              const void *buffers, const void *status, const void *counters) {
  (void)options, (void)parameters, (void)buffers, (void)status, (void)counters;
  *result = next_random(&comparison_state) % 8 < comparison_state % 9;
}

static void compare_always(bool *result, const void *options, const void **parameters,
                           const void *buffers, const void *status, const void *counters) {
  (void)options, (void)parameters, (void)buffers, (void)status, (void)counters;
  *result = true;
}

/* Whatever a comparator says, nothing is read outside and no element is lost. */
static void survives_nonsense(void) {
  uint64_t state = 1;
  for (int trial = 0; trial < 2000; ++trial) {
    problem p;
    p.memory.dimensions[0] = next_random(&state) % (trial % 10 ? 60 : 1000);
    make_problem(&p, 1, 1, &state);
    p.thunk.as.sort.stable = trial % 2;
    p.comparator = trial % 5 ? compare_at_random : compare_always;
    set_operand(&p, 0, XLA_U32, &state);
    run_problem(&p);
    const size_t length = p.arrays[0].shape.length;
    bool *found = calloc(length + 1, sizeof *found);
    for (size_t i = 0; i < length; ++i) {
      const uint64_t number = load(p.after[0] + 4 * i, 4);
      CHECK(number < length && !found[number]);
      found[number] = true;
    }
    free(found);
    end_problem(&p);
  }
}

/* The limits of XLA's own comparisons. */
static void knows_who_compares(void) {
  static const struct {
    int32_t key, value; /* 0: no second operand */
    int64_t length, stride;
    int32_t direction;
    bool comparator;
  } cases[] = {
      {XLA_F32, 0, 9, 1, ASCENDING, false},
      {XLA_F32, 0, 9, 1, 0, true},
      {XLA_F32, 0, 70000, 2, DESCENDING, false},
      {XLA_PRED, 0, 9, 1, ASCENDING, true},
      {XLA_C64, 0, 9, 1, ASCENDING, true},
      {XLA_F32, XLA_C64, 9, 1, DESCENDING, false},
      {XLA_F32, XLA_C64, 9, 1, 0, true},
      {XLA_F32, XLA_C128, 9, 1, ASCENDING, true},
      {XLA_F32, XLA_S32, 65537, 1, ASCENDING, false},
      {XLA_F32, XLA_S32, 65536, 2, ASCENDING, false},
      {XLA_F32, XLA_S32, 65537, 2, ASCENDING, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const int64_t dimensions[] = {cases[i].length, cases[i].stride}, layout[] = {1, 0};
    const cyxla__array operands[] = {
        {.shape = {cases[i].key, 2, dimensions, layout, 0, 0}},
        {.shape = {cases[i].value, 2, dimensions, layout, 0, 0}},
    };
    cyxla__thunk thunk = {.kind = CYXLA__THUNK_SORT};
    thunk.as.sort.direction = cases[i].direction;
    thunk.as.sort.operands = operands;
    thunk.as.sort.count = cases[i].value ? 2 : 1;
    CHECK_INT(cyxla__sort_needs_comparator(&thunk), cases[i].comparator);
  }
}

/* What libstdc++ does; test_std_sort.cpp compares more, where there is a C++ compiler. */
static void sorts_as_recorded(void) {
  const cyxla__order order = {0};
  uint64_t state = 1, hash = 0;
  cyxla__record records[SORT_CASES_MOST];
  for (size_t count = 1; count <= SORT_CASES_MOST; ++count)
    for (int kind = 0; kind < CASE_COUNT; ++kind) {
      make_case(kind, records, count, &state);
      cyxla__introsort(&order, records, count);
      hash = add_to_hash(hash, records, count);
    }
  CHECK(hash == SORT_CASES_HASH);
}

static void needs_memory(void) {
  static const int64_t layout[] = {0}, huge[] = {INT64_MAX}, small[] = {1};
  const cyxla__array operands[] = {{.shape = {XLA_F32, 1, small, layout, 1, 4}},
                                   {.shape = {XLA_F32, 1, huge, layout, 0, 0}}};
  cyxla__arena arena = {0};
  cyxla__thunk thunk = {.kind = CYXLA__THUNK_SORT};
  thunk.as.sort.operands = operands;
  thunk.as.sort.count = SIZE_MAX / sizeof(size_t);
  CHECK(!cyxla__sort_plan(&arena, &thunk, NULL));
  thunk.as.sort.operands = &operands[1];
  thunk.as.sort.count = 1;
  CHECK(!cyxla__sort_plan(&arena, &thunk, NULL));
  cyxla__arena_deinit(&arena);
}

int main(void) {
  RUN(sorts_by_direction);
  RUN(sorts_by_direction_as_xla);
  RUN(sorts_by_comparator);
  RUN(survives_nonsense);
  RUN(knows_who_compares);
  RUN(sorts_as_recorded);
  RUN(needs_memory);
}
