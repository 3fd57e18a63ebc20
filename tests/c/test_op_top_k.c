#include "direct/op_sort.h"
#include "shapes.h"

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Few different numbers, and the odd ones: both NaN, infinities, zeros, subnormal ones. */
static void fill(float *values, size_t count, uint64_t *state) {
  static const uint32_t odd[] = {0,          0x80000000, 0x7fc00000, 0xffc00000, 0x7fc00001,
                                 0x7f800000, 0xff800000, 1,          0x80000001, 0xffffffff};
  for (size_t i = 0; i < count; ++i) {
    const uint32_t random = next_random(state);
    values[i] = random % 3 ? (float)(random % 9) - 4 : float_of(odd[random % 10]);
  }
}

/* XLA's order: bits as integers, in the way of a sign and a magnitude. */
static int64_t order_of(float value) {
  int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits < 0 ? -1 - (int64_t)(bits & INT32_MAX) : bits;
}

/* Finds the next one to come after `last` (count: none yet). */
static size_t find_next(const float *values, size_t count, size_t last) {
  size_t best = count;
  for (size_t i = 0; i < count; ++i) {
    const int64_t order = order_of(values[i]);
    if (last != count &&
        (order > order_of(values[last]) || (order == order_of(values[last]) && i <= last)))
      continue;
    if (best == count || order > order_of(values[best])) best = i;
  }
  return best;
}

static void check_top_k(uint64_t batch_size, uint64_t input_size, uint64_t k, uint64_t *state) {
  cyxla__thunk thunk = {.kind = CYXLA__THUNK_TOP_K};
  thunk.as.top_k.batch_size = batch_size;
  thunk.as.top_k.input_size = input_size;
  thunk.as.top_k.k = k;
  float *values = exact_memory(batch_size * input_size * sizeof *values);
  float *output = exact_memory(batch_size * k * sizeof *output);
  int32_t *indices = exact_memory(batch_size * k * sizeof *indices);
  void *scratch = exact_memory(cyxla__top_k_scratch_size(&thunk));
  fill(values, batch_size * input_size, state);
  cyxla__top_k_run(batch_size, input_size, k, values, output, indices, scratch);
  for (uint64_t batch = 0; batch < batch_size; ++batch) {
    const float *of_batch = values + batch * input_size;
    size_t expected = input_size;
    for (uint64_t i = 0; i < k; ++i) {
      expected = find_next(of_batch, input_size, expected);
      CHECK_INT(indices[batch * k + i], expected);
      CHECK_BYTES(&output[batch * k + i], &of_batch[expected], sizeof(float));
    }
  }
  free(values);
  free(output);
  free(indices);
  free(scratch);
}

static void finds_the_largest(void) {
  uint64_t state = 1;
  for (int trial = 0; trial < 400; ++trial) {
    const uint64_t size = 1 + next_random(&state) % 60;
    check_top_k(1 + next_random(&state) % 4, size, next_random(&state) % (size + 1), &state);
    check_top_k(1, size, size, &state);
  }
  check_top_k(2, 1000, 17, &state);
}

static void knows_nothing_to_do(void) {
  uint64_t state = 1;
  check_top_k(0, 5, 3, &state);
  check_top_k(3, 5, 0, &state);
  check_top_k(3, 0, 0, &state);
}

int main(void) {
  RUN(finds_the_largest);
  RUN(knows_nothing_to_do);
}
