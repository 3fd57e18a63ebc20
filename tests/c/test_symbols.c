/* Functions that code may call: their names, and what our own ones compute. */
#define _GNU_SOURCE 1 /* sincos */
#include <limits.h>
#include <math.h>

#include "base/fpenv.h"
#include "direct/symbols.h"
#include "test.h"

static uint64_t find(const char *name) {
  return cyxla__symbol_find((cyxla__span){(uint8_t *)name, strlen(name)});
}

/* Every function that code of XLA was seen to call (5149 programs of public packages). */
static void knows_what_is_called(void) {
  static const char *const names[] = {
      "memcpy",  "log",   "pow",    "sin",   "sincos", "sinf",        "cos",  "sincosf",
      "cosf",    "powf",  "atan2f", "fmodf", "atan2",  "memset",      "exp2", "exp2f",
      "memmove", "expf",  "logf",   "erf",   "fmod",   "tan",         "atan", "copysign",
      "tanf",    "cbrtf", "cbrt",   "atanf", "fmaf",   "__truncdfhf2"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (!find(names[i])) TEST_FAIL("%s is not known", names[i]);
}

static void gives_those_of_the_process(void) {
  CHECK(find("sinf") == (uintptr_t)sinf);
  CHECK(find("powf") == (uintptr_t)powf);
  CHECK(find("sincos") == (uintptr_t)sincos);
  CHECK(find("trunc") == (uintptr_t)trunc);
  CHECK(find("memmove") == (uintptr_t)memmove);
}

/* XLA's builds are linked with these: its own tests and JAX's results have -inf for a subnormal. */
static void gives_the_versions_of_glibc_2_27(void) {
#ifdef __GLIBC__
  static const char *const names[] = {"log", "log2"};
  volatile double subnormal = 0x1p-1074;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    double (*const function)(double) = (double (*)(double))(uintptr_t)find(names[i]);
    const cyxla__fpenv before = cyxla__fpenv_enter();
    const double of_subnormal = function(subnormal), of_zero = function(0), of_one = function(1);
    cyxla__fpenv_leave(before);
    CHECK_REAL(of_subnormal, -INFINITY);
    CHECK_REAL(of_zero, -INFINITY);
    CHECK_REAL(of_one, 0);
  }
  CHECK_REAL(((double (*)(double, double))(uintptr_t)find("pow"))(2, 10), 1024);
  CHECK_REAL(((double (*)(double, double))(uintptr_t)find("hypot"))(3, 4), 5);
  CHECK_REAL(((double (*)(double, double))(uintptr_t)find("fmod"))(7, 4), 3);
#endif
}

static void knows_nothing_else(void) {
  static const char *const names[] = {"",     "sinff", "sin ", "si",      "system", "malloc",
                                      "free", "sinl",  "puts", "memcpy2", "dlopen", "__truncsfbf2"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (find(names[i])) TEST_FAIL("%s is known", names[i]);
}

/* ---- half precision ---- */

/* The function leaves the half in the low bits of a float's register. */
static uint16_t to_half(double value) {
  const float result = ((float (*)(double))(uintptr_t)find("__truncdfhf2"))(value);
  uint32_t bits;
  memcpy(&bits, &result, sizeof bits);
  CHECK_INT(bits >> 16, 0);
  return (uint16_t)bits;
}

/* The value of a finite half; 65536 for infinity, which it takes the place of in rounding. */
static double of_half(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  return half & 0x8000 ? -size : size;
}

/* Every half, half way to the next one, and the floats and the doubles around that. */
static void rounds_to_half(void) {
  for (int half = 0; half < 0x7c00; ++half) {
    const double value = of_half((uint16_t)half), next = of_half((uint16_t)(half + 1));
    const float middle = (float)((value + next) / 2);
    const int even = half & 1 ? half + 1 : half;
    const struct {
      double value;
      int half;
    } cases[] = {
        {value, half},
        {middle, even},
        {nextafterf(middle, 0), half},
        {nextafterf(middle, INFINITY), half + 1},
        {nextafter(middle, INFINITY), even}, /* the float first, then the half */
        {nextafter(middle, 0), even},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
      if (to_half(cases[i].value) != cases[i].half)
        TEST_FAIL("%a becomes %04x", cases[i].value, to_half(cases[i].value));
      CHECK_INT(to_half(-cases[i].value), cases[i].half | 0x8000);
    }
  }
}

static void converts_extremes_to_half(void) {
  static const struct {
    double value;
    int half;
  } cases[] = {{65504, 0x7bff}, {65519.996, 0x7bff}, {65520, 0x7c00},    {65536, 0x7c00},
               {1e38, 0x7c00},  {1e300, 0x7c00},     {INFINITY, 0x7c00}, {0, 0},
               {0x1p-25, 0},    {0x1.8p-25, 1},      {0x1p-26, 0},       {1e-40, 0},
               {1e-300, 0},     {0x1p-1074, 0},      {NAN, 0x7e00}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    CHECK_INT(to_half(cases[i].value), cases[i].half);
    CHECK_INT(to_half(copysign(cases[i].value, -1)), cases[i].half | 0x8000);
  }
  /* The payload of a NaN goes. */
  const uint64_t bits = 0x7ff7ffffffffffff;
  double nan;
  memcpy(&nan, &bits, sizeof nan);
  CHECK_INT(to_half(nan), 0x7e00);
}

/* ---- integer powers ---- */

static void raises_to_integers(void) {
  double (*const power)(double, int) = (double (*)(double, int))(uintptr_t)find("__powidf2");
  float (*const power_of_float)(float, int) = (float (*)(float, int))(uintptr_t)find("__powisf2");
  const double x = 1.1;
  const float y = 1.1f;
  const double x2 = x * x, x4 = x2 * x2;
  const float y2 = y * y, y4 = y2 * y2;
  CHECK_REAL(power(x, 0), 1);
  CHECK_REAL(power(x, 1), x);
  CHECK_REAL(power(x, 7), x * x2 * x4);
  CHECK_REAL(power(x, 4), x4);
  CHECK_REAL(power(x, -5), 1 / (x * x4));
  CHECK_REAL(power(1, INT_MIN), 1);
  CHECK_REAL(power(2, INT_MIN), 0);
  CHECK_REAL(power(2, INT_MAX), INFINITY);
  CHECK_REAL(power(-2, 1023), -0x1p1023);
  CHECK_REAL(power_of_float(y, 0), 1);
  CHECK_REAL(power_of_float(y, 7), y * y2 * y4);
  CHECK_REAL(power_of_float(y, -5), 1 / (y * y4));
  CHECK_REAL(power_of_float(2, INT_MIN), 0);
  CHECK_REAL(power_of_float(-2, 3), -8);
}

int main(void) {
  RUN(knows_what_is_called);
  RUN(gives_those_of_the_process);
  RUN(gives_the_versions_of_glibc_2_27);
  RUN(knows_nothing_else);
  RUN(rounds_to_half);
  RUN(converts_extremes_to_half);
  RUN(raises_to_integers);
}
