/* Decimals against strtod and strtof, and the half-precision formats against all their numbers. */
#include <math.h>

#include "base/decimal.h"
#include "test.h"

static const cyxla__binary_format binary64 = {53, 11}, binary32 = {24, 8}, binary16 = {11, 5},
                                  bfloat16 = {8, 8};

static uint64_t read_bits(const char *text, cyxla__binary_format format) {
  const cyxla__span span = {(uint8_t *)text, strlen(text)};
  return cyxla__decimal_to_binary(span, format);
}

static uint64_t double_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint64_t float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void check(const char *text) {
  if (read_bits(text, binary64) != double_bits(strtod(text, NULL)) ||
      read_bits(text, binary32) != float_bits(strtof(text, NULL)))
    TEST_FAIL("%s", text);
}

static void reads_decimals(void) {
  static const char *const texts[] = {
      "0.0", "0.", "0.000000e+00", "1.000000e+00", "1.", "1.5", "2.5e-1", "123456789.125", "0.1",
      "0.2", "0.3", "1e5", "1.0E+05", "00012.50", "7", "1.e3", "3.1415926535897931",
      /* the largest, what is rounded to it, and what is beyond */
      "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1.8e308",
      "3.40282346638528859811704183484516925440e+38", "3.4028235677973365e+38",
      "3.4028235677973366e+38", "1.0e309", "9.9e309", "1.0e310", "1.0e99999999999999999999",
      /* the smallest */
      "2.2250738585072014e-308", "2.2250738585072011e-308", "4.9406564584124654e-324",
      "2.4703282292062327e-324", "2.4703282292062328e-324", "7.4e-324", "1.0e-323", "1.0e-330",
      "1.0e-331", "1.0e-999999999999999999999999", "1.17549435e-38", "1.1754942e-38", "1.4e-45",
      "7.0064923216240853e-46", "7.0064923216240854e-46", "2.1e-45",
      /* ties */
      "9007199254740993.0", "9007199254740995.0", "9007199254740993.00000000000000000000001",
      "9007199254740992.99999999999999999999999", "16777217.0", "16777219.0", "16777217.0000001",
      "0.000000000000000000000000000000000000000000000000000000000000000000000001e72"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) check(texts[i]);
}

/* Halfway between two doubles, exactly, and a little beside that, by digits far behind. */
static void decides_ties_exactly(void) {
  static const double values[] = {
      1.0, 0.1, 1e-300, 4.9406564584124654e-324, 2.2250738585072014e-308, 1e300, 12345.6789};
  static char text[4096];
  for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
    /* x86-64 and glibc: a long double has 64 bits of significand, and is printed exactly. */
    const long double half = ((long double)values[i] + nextafter(values[i], INFINITY)) / 2;
    const int length = snprintf(text, sizeof text, "%.1100Lf", half);
    check(text);
    memset(text + length, '0', 900);
    memcpy(text + length + 900, "1", 2);
    check(text);
    strcpy(text + length + 900, "0e0");
    check(text);
  }
}

static uint64_t next_random(void) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static void agrees_with_libc(void) {
  char text[128];
  for (int i = 0; i < 100000; ++i) {
    const uint64_t bits = next_random() & INT64_MAX;
    double value;
    memcpy(&value, &bits, sizeof value);
    if (i % 2) value = ldexp((double)(bits >> 11), (int)(next_random() % 300) - 200);
    if (!isfinite(value)) continue;
    snprintf(text, sizeof text, "%.*e", (int)(next_random() % 25), value);
    check(text);
  }
}

/* The value of the bits of a half-precision number. */
static double value_of(uint64_t bits, cyxla__binary_format format) {
  const int stored = format.precision - 1, bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent = (int)(bits >> stored);
  const double fraction = (double)(bits & ((UINT64_C(1) << stored) - 1));
  if (!exponent) return ldexp(fraction, 1 - bias - stored);
  return ldexp(fraction + ldexp(1, stored), exponent - bias - stored);
}

/* Each number, and what is halfway to the next one, which goes to the even of both. */
static void reads_all_of(cyxla__binary_format format) {
  char text[512];
  const uint64_t infinity = ((UINT64_C(1) << format.exponent_bits) - 1) << (format.precision - 1);
  for (uint64_t bits = 0; bits < infinity; ++bits) {
    const double value = value_of(bits, format), half = (value + value_of(bits + 1, format)) / 2;
    snprintf(text, sizeof text, "%.150e", value);
    CHECK_INT(read_bits(text, format), bits);
    snprintf(text, sizeof text, "%.150e", half);
    CHECK_INT(read_bits(text, format), bits + bits % 2);
    snprintf(text, sizeof text, "%.150e", nextafter(half, INFINITY));
    CHECK_INT(read_bits(text, format), bits + 1);
    snprintf(text, sizeof text, "%.150e", nextafter(half, 0));
    CHECK_INT(read_bits(text, format), bits);
  }
}

static void reads_half_precision(void) {
  reads_all_of(binary16);
  reads_all_of(bfloat16);
}

static void stops_at_other_characters(void) {
  CHECK_INT(read_bits("1.5 : f32", binary32), float_bits(1.5f));
  CHECK_INT(read_bits("", binary64), 0);
  CHECK_INT(read_bits("2e", binary64), double_bits(2));
  CHECK_INT(read_bits("2e+", binary64), double_bits(2));
  CHECK_INT(read_bits("2e-1x", binary64), double_bits(0.2));
}

/* A million digits, none of which matters but the first. */
static void reads_long_ones(void) {
  const size_t size = 1000000;
  char *text = malloc(size + 16);
  CHECK(text);
  memset(text, '0', size);
  strcpy(text + size, "1e-5");
  CHECK_INT(read_bits(text, binary64), double_bits(1e-5));
  text[1] = '.';
  strcpy(text + size, "1e999999");
  CHECK_INT(read_bits(text, binary64), double_bits(1));
  text[0] = '3';
  text[1] = '0';
  strcpy(text + size, ".0e-1000000");
  CHECK_INT(read_bits(text, binary64), double_bits(0.3));
  free(text);
}

int main(void) {
  RUN(reads_decimals);
  RUN(decides_ties_exactly);
  RUN(agrees_with_libc);
  RUN(reads_half_precision);
  RUN(stops_at_other_characters);
  RUN(reads_long_ones);
}
