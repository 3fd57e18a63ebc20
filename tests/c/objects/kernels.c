/* Kernels as XLA's compiler makes them, for the tests of exports: functions of one frame.  All
 * arrays are of two floats. */
#include <stddef.h>
#include <stdint.h>

struct index {
  uint64_t x, y, z;
};

struct argument {
  void *data;
  size_t size;
};

struct frame {
  const struct index *workgroups, *workgroup;
  size_t argument_count;
  const struct argument *arguments;
};

double sin(double value);
double log(double value);
double log2(double value);
double fmod(double value, double divisor);
float fmodf(float value, float divisor);
float __truncdfhf2(double value); /* as LLVM calls it: half precision in the lower bits */
double __powidf2(double base, int exponent);
float __powisf2(float base, int exponent);
float other_half(float value); /* in other_kernels.c */

static float *array(const struct frame *frame, size_t index) {
  return frame->arguments[index].data;
}

/* One for each kind of what code refers to. */

void *sine(const struct frame *frame) {
  for (int i = 0; i < 2; ++i) array(frame, 1)[i] = (float)sin(array(frame, 0)[i]);
  return NULL;
}

static const float weights[40] = {0.25f, -3.5f}; /* and many zeros */

void *weigh(const struct frame *frame) {
  const float *volatile numbers = weights;
  for (int i = 0; i < 2; ++i) array(frame, 1)[i] = array(frame, 0)[i] * numbers[i];
  return NULL;
}

void *halve(const struct frame *frame) {
  for (int i = 0; i < 2; ++i) array(frame, 1)[i] = other_half(array(frame, 0)[i]);
  return NULL;
}

static float twice(float value) {
  return 2 * value;
}
static float minus(float value) {
  return -value;
}

/* A table of addresses. */
static float (*const functions[])(float) = {twice, minus};

void *apply(const struct frame *frame) {
  float (*const *volatile table)(float) = functions;
  for (int i = 0; i < 2; ++i) array(frame, 1)[i] = table[i](array(frame, 0)[i]);
  return NULL;
}

void *helpers(const struct frame *frame) {
  const float value = array(frame, 0)[0];
  array(frame, 1)[0] = __truncdfhf2(value);
  array(frame, 1)[1] = (float)__powidf2(value, -3) + __powisf2(value, 4);
  return NULL;
}

/* Of numbers that are zero to the kernels. */
void *logarithms(const struct frame *frame) {
  volatile double subnormal = array(frame, 0)[0] * 1e-320;
  array(frame, 1)[0] = (float)log(array(frame, 0)[0] < 1 ? subnormal : array(frame, 0)[0]);
  array(frame, 1)[1] = (float)log2(array(frame, 0)[1] < 0 ? subnormal : array(frame, 0)[1]);
  return NULL;
}

void *remainders(const struct frame *frame) {
  array(frame, 1)[0] = fmodf(array(frame, 0)[0], array(frame, 0)[1]);
  array(frame, 1)[1] = (float)fmod(array(frame, 0)[1], 0.3);
  return NULL;
}

/* Counts down, and says whether to go on. */
void *count(const struct frame *frame) {
  array(frame, 0)[0] -= 1;
  *(uint8_t *)frame->arguments[1].data = array(frame, 0)[0] > 0;
  return NULL;
}

/* Each work group counts itself; the second sum depends on where it is. */
void *groups(const struct frame *frame) {
  const struct index *at = frame->workgroup, *all = frame->workgroups;
  if (!at->x && !at->y && !at->z) array(frame, 1)[0] = array(frame, 1)[1] = 0;
  array(frame, 1)[0] += 1;
  array(frame, 1)[1] += (float)(at->x + all->x * (at->y + all->y * at->z)) * array(frame, 0)[0];
  return NULL;
}

void *fail(const struct frame *frame) {
  return array(frame, 0)[0] > 0 ? array(frame, 0) : NULL;
}

/* Sees how numbers are rounded, and what becomes of those that are subnormal. */
void *environment(const struct frame *frame) {
  volatile float third = array(frame, 0)[0], subnormal = array(frame, 0)[1];
  array(frame, 1)[0] = 1 / third;
  array(frame, 1)[1] = subnormal * 0.5f;
  return NULL;
}
