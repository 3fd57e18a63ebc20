#include "direct/op_dot.h"

#include <string.h>

#include "xla_cpu/primitive_type.h"

/* A loop whose steps are in elements: 0 in the result along contracted dimensions, and 0 in the operand
 * that does not have the dimension. */
typedef struct loop {
  size_t count, left_step, right_step, result_step;
} loop;

/* The result starts as 0; nested loops add each product to its element.  Integers wrap around, so that the
 * order of the loops, and the sign of the type, make no difference. */
struct cyxla__dot {
  size_t element_size, result_size, loop_count;
  loop loops[]; /* at least one, the innermost first */
};

/* ---- plan ---- */

/* Elements from one to the next along `dimension`. */
static size_t step_of(const cyxla__shape *shape, int64_t dimension) {
  size_t step = 1;
  for (const int64_t *minor = shape->minor_to_major; *minor != dimension; ++minor)
    step *= (size_t)shape->dimensions[*minor];
  return step;
}

static size_t sum_of_steps(loop loop) {
  return loop.left_step + loop.right_step + loop.result_step;
}

/* Adds a loop; the smaller its steps, the further inside, where they cost least. */
static void add_loop(cyxla__dot *dot, loop added) {
  if (added.count == 1) return;
  size_t i = dot->loop_count++;
  for (; i > 0 && sum_of_steps(dot->loops[i - 1]) > sum_of_steps(added); --i)
    dot->loops[i] = dot->loops[i - 1];
  dot->loops[i] = added;
}

typedef struct operand {
  const cyxla__shape *shape;
  const int64_t *contracting, *batch;
} operand;

static bool contains(const int64_t *dimensions, size_t count, int64_t dimension) {
  for (size_t i = 0; i < count; ++i)
    if (dimensions[i] == dimension) return true;
  return false;
}

/* Adds loops over the dimensions that only this operand and the result have: there from `*result_dimension`
 * on, in the same order. */
static void add_free_loops(cyxla__dot *dot, const cyxla__thunk *thunk, operand operand,
                           bool is_left, int64_t *result_dimension) {
  for (int64_t i = 0; i < operand.shape->rank; ++i) {
    if (contains(operand.contracting, thunk->as.dot.contracting_count, i) ||
        contains(operand.batch, thunk->as.dot.batch_count, i))
      continue;
    const size_t step = step_of(operand.shape, i);
    add_loop(dot,
             (loop){.count = (size_t)operand.shape->dimensions[i],
                    .left_step = is_left ? step : 0,
                    .right_step = is_left ? 0 : step,
                    .result_step = step_of(&thunk->as.dot.result.shape, (*result_dimension)++)});
  }
}

/* The result's dimensions are those of batches, the left operand's and the right one's (StableHLO,
 * dot_general). */
static void add_loops(cyxla__dot *dot, const cyxla__thunk *thunk) {
  const operand left = {&thunk->as.dot.left.shape, thunk->as.dot.left_contracting,
                        thunk->as.dot.left_batch};
  const operand right = {&thunk->as.dot.right.shape, thunk->as.dot.right_contracting,
                         thunk->as.dot.right_batch};
  int64_t dimension = 0;
  for (size_t i = 0; i < thunk->as.dot.batch_count; ++i)
    add_loop(dot, (loop){(size_t)left.shape->dimensions[left.batch[i]],
                         step_of(left.shape, left.batch[i]), step_of(right.shape, right.batch[i]),
                         step_of(&thunk->as.dot.result.shape, dimension++)});
  add_free_loops(dot, thunk, left, true, &dimension);
  add_free_loops(dot, thunk, right, false, &dimension);
  for (size_t i = 0; i < thunk->as.dot.contracting_count; ++i)
    add_loop(dot, (loop){(size_t)left.shape->dimensions[left.contracting[i]],
                         step_of(left.shape, left.contracting[i]),
                         step_of(right.shape, right.contracting[i]), 0});
}

const cyxla__dot *cyxla__dot_plan(cyxla__arena *arena, const cyxla__thunk *thunk) {
  const cyxla__shape *result = &thunk->as.dot.result.shape;
  const size_t most = (size_t)result->rank + thunk->as.dot.contracting_count + 1;
  cyxla__dot *dot = cyxla__arena_alloc(arena, 1, sizeof *dot + most * sizeof(loop));
  if (!dot) return NULL;
  dot->element_size = cyxla__primitive_size(result->type);
  dot->result_size = result->size;
  add_loops(dot, thunk);
  if (!dot->loop_count) dot->loops[dot->loop_count++] = (loop){.count = 1};
  return dot;
}

/* ---- run ---- */

/* The innermost loop.  `wide` is a type that C does not promote to a signed one.  (Where the result has the
 * dimension and the left operand does not, a loop of its own lets compilers use vectors.) */
#define DEFINE_MULTIPLY(name, type, wide)                                                          \
  static void name(loop loop, const void *left, const void *right, void *result) {                 \
    const type *a = left, *b = right;                                                              \
    type *restrict out = result;                                                                   \
    if (!loop.result_step) {                                                                       \
      wide sum = 0;                                                                                \
      for (size_t i = 0; i < loop.count; ++i)                                                      \
        sum += (wide)a[i * loop.left_step] * b[i * loop.right_step];                               \
      *out += (type)sum;                                                                           \
    } else if (!loop.left_step) {                                                                  \
      const wide factor = *a;                                                                      \
      for (size_t i = 0; i < loop.count; ++i)                                                      \
        out[i * loop.result_step] += (type)(factor * b[i * loop.right_step]);                      \
    } else {                                                                                       \
      for (size_t i = 0; i < loop.count; ++i)                                                      \
        out[i * loop.result_step] += (type)((wide)a[i * loop.left_step] * b[i * loop.right_step]); \
    }                                                                                              \
  }

DEFINE_MULTIPLY(multiply_8, uint8_t, uint32_t)
DEFINE_MULTIPLY(multiply_16, uint16_t, uint32_t)
DEFINE_MULTIPLY(multiply_32, uint32_t, uint32_t)
DEFINE_MULTIPLY(multiply_64, uint64_t, uint64_t)

static void run_innermost(const cyxla__dot *dot, const void *left, const void *right,
                          void *result) {
  switch (dot->element_size) {
    case 1:
      multiply_8(dot->loops[0], left, right, result);
      break;
    case 2:
      multiply_16(dot->loops[0], left, right, result);
      break;
    case 4:
      multiply_32(dot->loops[0], left, right, result);
      break;
    default:
      multiply_64(dot->loops[0], left, right, result);
  }
}

/* Runs the innermost `count` loops, at least one. */
static void run_loops(const cyxla__dot *dot, size_t count, const uint8_t *left,
                      const uint8_t *right, uint8_t *result) {
  if (count == 1) {
    run_innermost(dot, left, right, result);
    return;
  }
  const loop *outer = &dot->loops[count - 1];
  for (size_t i = 0; i < outer->count; ++i)
    run_loops(dot, count - 1, left + i * outer->left_step * dot->element_size,
              right + i * outer->right_step * dot->element_size,
              result + i * outer->result_step * dot->element_size);
}

void cyxla__dot_run(const cyxla__dot *dot, const void *left, const void *right, void *result) {
  memset(result, 0, dot->result_size);
  run_loops(dot, dot->loop_count, left, right, result);
}
