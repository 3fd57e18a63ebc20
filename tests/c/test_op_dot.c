#include "direct/op_dot.h"
#include "shapes.h"

static const int32_t types[] = {XLA_S8, XLA_S16, XLA_S32, XLA_S64,
                                XLA_U8, XLA_U16, XLA_U32, XLA_U64};

/* A dot of random shape: the dimensions of batches and the contracted ones are anywhere. */
typedef struct side {
  shape_memory memory;
  cyxla__shape shape;
  int64_t batch[2], contracting[2];
} side;

typedef struct problem {
  side left, right;
  shape_memory result;
  size_t batch_count, contracting_count;
  cyxla__thunk thunk;
} problem;

static int64_t random_dimension(uint64_t *state) {
  return next_random(state) % 50 ? 1 + next_random(state) % 5 : 0;
}

/* Puts the dimensions `0 .. rank - 1` into a random order. */
static void shuffle(int64_t *order, int64_t rank, uint64_t *state) {
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t k = next_random(state) % (uint32_t)(i + 1);
    order[i] = i;
    order[i] = order[k];
    order[k] = i;
  }
}

/* Draws where the dimensions of one side lie; those that are free are added to the result's. */
static void draw_side(problem *p, side *side, int32_t type, const int64_t *common,
                      int32_t *result_rank, uint64_t *state) {
  const size_t common_count = p->batch_count + p->contracting_count;
  const size_t rank = common_count + next_random(state) % 3;
  int64_t order[MOST_DIMENSIONS], *dimensions = side->memory.dimensions;
  shuffle(order, (int64_t)rank, state);
  for (size_t i = 0; i < rank; ++i)
    dimensions[order[i]] = i < common_count ? common[i] : random_dimension(state);
  for (size_t i = 0; i < common_count; ++i)
    *(i < p->batch_count ? &side->batch[i] : &side->contracting[i - p->batch_count]) = order[i];
  for (size_t i = 0; i < rank; ++i) {
    bool is_free = true;
    for (size_t k = 0; k < common_count; ++k) is_free = is_free && order[k] != (int64_t)i;
    if (is_free) p->result.dimensions[(*result_rank)++] = dimensions[i];
  }
  side->shape = make_shape(type, (int32_t)rank, &side->memory, state);
}

static void make_problem(problem *p, int32_t type, uint64_t *state) {
  int64_t common[4];
  p->batch_count = next_random(state) % 3;
  p->contracting_count = next_random(state) % 3;
  for (size_t i = 0; i < p->batch_count + p->contracting_count; ++i)
    common[i] = random_dimension(state);
  int32_t rank = (int32_t)p->batch_count;
  for (size_t i = 0; i < p->batch_count; ++i) p->result.dimensions[i] = common[i];
  draw_side(p, &p->left, type, common, &rank, state);
  draw_side(p, &p->right, type, common, &rank, state);
  p->thunk = (cyxla__thunk){.kind = CYXLA__THUNK_DOT};
  p->thunk.as.dot.left.shape = p->left.shape;
  p->thunk.as.dot.right.shape = p->right.shape;
  p->thunk.as.dot.result.shape = make_shape(type, rank, &p->result, state);
  p->thunk.as.dot.left_batch = p->left.batch;
  p->thunk.as.dot.right_batch = p->right.batch;
  p->thunk.as.dot.left_contracting = p->left.contracting;
  p->thunk.as.dot.right_contracting = p->right.contracting;
  p->thunk.as.dot.batch_count = p->batch_count;
  p->thunk.as.dot.contracting_count = p->contracting_count;
}

/* The place of an operand's element: its batch and free dimensions are the result's, the latter from
 * `*free_dimension` on. */
static size_t place_in(const problem *p, const side *side, const int64_t *result,
                       const int64_t *contracted, size_t *free_dimension) {
  int64_t index[MOST_DIMENSIONS];
  for (int32_t i = 0; i < side->shape.rank; ++i) index[i] = -1;
  for (size_t i = 0; i < p->batch_count; ++i) index[side->batch[i]] = result[i];
  for (size_t i = 0; i < p->contracting_count; ++i) index[side->contracting[i]] = contracted[i];
  for (int32_t i = 0; i < side->shape.rank; ++i)
    if (index[i] < 0) index[i] = result[(*free_dimension)++];
  return place_of(&side->shape, index);
}

static uint64_t load(const uint8_t *memory, size_t place, size_t size) {
  uint64_t value = 0;
  memcpy(&value, memory + place * size, size);
  return value;
}

static uint64_t multiply_slowly(const problem *p, const int64_t *result, const uint8_t *left,
                                const uint8_t *right) {
  const size_t size = cyxla__primitive_size(p->left.shape.type);
  int64_t contracted[2] = {0}, sizes[2] = {0};
  const cyxla__shape sums = {.rank = (int32_t)p->contracting_count, .dimensions = sizes};
  for (size_t i = 0; i < p->contracting_count; ++i) {
    sizes[i] = p->left.shape.dimensions[p->left.contracting[i]];
    if (!sizes[i]) return 0;
  }
  uint64_t sum = 0;
  do {
    size_t dimension = p->batch_count;
    const size_t at_left = place_in(p, &p->left, result, contracted, &dimension);
    const size_t at_right = place_in(p, &p->right, result, contracted, &dimension);
    sum += load(left, at_left, size) * load(right, at_right, size);
  } while (next_index(&sums, contracted));
  return sum;
}

static void check_dot(const problem *p, uint64_t *state) {
  const cyxla__shape *result = &p->thunk.as.dot.result.shape;
  const size_t size = cyxla__primitive_size(result->type);
  cyxla__arena arena = {0};
  const cyxla__dot *dot = cyxla__dot_plan(&arena, &p->thunk);
  CHECK(dot != NULL);
  uint8_t *left = random_memory(p->thunk.as.dot.left.shape.size, state);
  uint8_t *right = random_memory(p->thunk.as.dot.right.shape.size, state);
  uint8_t *found = random_memory(result->size, state);
  cyxla__dot_run(dot, left, right, found);
  int64_t index[MOST_DIMENSIONS] = {0};
  if (result->length) do {
      const uint64_t expected = multiply_slowly(p, index, left, right);
      CHECK_BYTES(found + place_of(result, index) * size, &expected, size);
    } while (next_index(result, index));
  free(left);
  free(right);
  free(found);
  cyxla__arena_deinit(&arena);
}

static void multiplies(void) {
  uint64_t state = 1;
  for (int trial = 0; trial < 4000; ++trial) {
    problem p;
    make_problem(&p, types[trial % 8], &state);
    check_dot(&p, &state);
  }
}

/* 65535 * 65535 does not fit an int, to which C promotes short numbers. */
static void wraps_around(void) {
  static const int64_t contracting[] = {0}, dimensions[] = {3}, layout[] = {0};
  const uint16_t left[] = {65535, 65535, 2}, right[] = {65535, 65535, 65535};
  uint16_t result = 7;
  const cyxla__shape vector = {XLA_U16, 1, dimensions, layout, 3, 6};
  cyxla__thunk thunk = {.kind = CYXLA__THUNK_DOT};
  thunk.as.dot.left.shape = thunk.as.dot.right.shape = vector;
  thunk.as.dot.result.shape = (cyxla__shape){XLA_U16, 0, NULL, NULL, 1, 2};
  thunk.as.dot.left_contracting = thunk.as.dot.right_contracting = contracting;
  thunk.as.dot.contracting_count = 1;
  cyxla__arena arena = {0};
  cyxla__dot_run(cyxla__dot_plan(&arena, &thunk), left, right, &result);
  CHECK_INT(result, 0); /* 1 + 1 - 2 */
  cyxla__arena_deinit(&arena);
}

static void needs_memory(void) {
  static const int64_t none[] = {0};
  cyxla__arena arena = {0};
  cyxla__thunk thunk = {.kind = CYXLA__THUNK_DOT};
  thunk.as.dot.left_contracting = thunk.as.dot.right_contracting = none;
  thunk.as.dot.contracting_count = SIZE_MAX / 256;
  CHECK(!cyxla__dot_plan(&arena, &thunk));
  cyxla__arena_deinit(&arena);
}

int main(void) {
  RUN(multiplies);
  RUN(wraps_around);
  RUN(needs_memory);
}
