/* Functions in place of kernels, which the tests of the linker compile for several code models,
 * link and call.  No headers: any compiler makes it, for any machine. */
typedef __SIZE_TYPE__ size_t;
float sinf(float value);
void sincos(double value, double *sine, double *cosine);
void *memcpy(void *to, const void *from, size_t size);
int linked_triple(int value); /* of other.c */

#define ALONE __attribute__((noinline))

double linked_sines(float value) {
  double sine, cosine;
  sincos(value, &sine, &cosine);
  return sinf(value) + sine + cosine;
}

/* A function of the library itself, which may be far from libm. */
double linked_power(double base, int exponent) {
  return __builtin_powi(base, exponent);
}

void linked_copy(void *to, const void *from, size_t size) {
  memcpy(to, from, size);
}

const double linked_table[] = {1.5, -2.5, 1e300, 0x1p-1074, 7};

double linked_constant(int index) {
  return linked_table[index];
}

/* Constants of 4 and 8 bytes. */
double linked_sum(float single, double value) {
  return single * 1.25f + value * 1.75;
}

static ALONE int add(int left, int right) {
  return left + right;
}

int linked_call(int value) {
  return add(value, 5) + linked_triple(value);
}

/* A table of places in the code. */
int linked_switch(int value, int other) {
  switch (value) {
    case 0:
      return add(other, 1);
    case 1:
      return other * 7;
    case 2:
      return linked_triple(other);
    case 3:
      return other / 3;
    case 4:
      return add(other, other) - 9;
    case 5:
      return -other;
    case 6:
      return other << 3;
    default:
      return 42;
  }
}

/* Position-independent code has such tables in sections that are written at load time. */
#ifndef WITHOUT_POINTERS
const char *linked_text(int which) {
  static const char *const texts[] = {"a text", "another"};
  return texts[which];
}
#endif
