#include "base/decimal.h"

/* ---- big natural numbers ---- */

/* The largest is twice 10 to the power of SMALLEST_POWER + DIGIT_LIMIT (below), of 3755 bits. */
enum { WORD_LIMIT = 120 };

typedef struct big {
  int count; /* words; the last is not 0 */
  uint32_t words[WORD_LIMIT];
} big;

static void multiply_and_add(big *number, uint32_t factor, uint32_t carry) {
  for (int i = 0; i < number->count; ++i) {
    const uint64_t product = (uint64_t)number->words[i] * factor + carry;
    number->words[i] = (uint32_t)product;
    carry = (uint32_t)(product >> 32);
  }
  if (carry) number->words[number->count++] = carry;
}

static void twice(big *number) {
  multiply_and_add(number, 2, 0);
}

static void times_power_of_ten(big *number, int64_t exponent) {
  for (; exponent > 0; --exponent) multiply_and_add(number, 10, 0);
}

/* Negative, 0 or positive, as a - b is. */
static int compare(const big *a, const big *b) {
  if (a->count != b->count) return a->count - b->count;
  for (int i = a->count; i-- > 0;)
    if (a->words[i] != b->words[i]) return a->words[i] < b->words[i] ? -1 : 1;
  return 0;
}

/* a -= b, which is not larger. */
static void subtract(big *a, const big *b) {
  uint32_t borrow = 0;
  for (int i = 0; i < a->count; ++i) {
    const uint64_t difference = (uint64_t)a->words[i] - (i < b->count ? b->words[i] : 0) - borrow;
    a->words[i] = (uint32_t)difference;
    borrow = (uint32_t)(difference >> 32) & 1;
  }
  while (a->count && !a->words[a->count - 1]) --a->count;
}

/* ---- the text ---- */

/* No number halfway between two doubles has more than 767 digits: what comes after can only say that the
 * number is above what the digits before say. */
enum { DIGIT_LIMIT = 800 };

/* Powers of ten that the first digit (not 0) stands for: above these, a number is infinite; below, it is
 * nearer to 0 than to the smallest double, 4.9e-324. */
enum { LARGEST_POWER = 309, SMALLEST_POWER = -330 };

typedef struct decimal {
  big digits;
  int digit_count;
  bool more;        /* digits that are not 0 were left out */
  int64_t exponent; /* of ten, for the last of the digits */
} decimal;

static void add_digit(decimal *number, uint8_t digit, bool is_fraction) {
  const bool is_kept = number->digit_count < DIGIT_LIMIT;
  if (is_kept) {
    multiply_and_add(&number->digits, 10, digit);
    if (number->digits.count) ++number->digit_count;
  } else if (digit) {
    number->more = true;
  }
  number->exponent += (is_fraction ? -1 : 0) + (is_kept ? 0 : 1);
}

static bool is_digit(uint8_t character) {
  return character >= '0' && character <= '9';
}

/* The number after the letter e; one that is huge already grows no more. */
static int64_t read_exponent(cyxla__span text, size_t at) {
  const bool is_negative = at < text.size && text.data[at] == '-';
  if (at < text.size && (text.data[at] == '-' || text.data[at] == '+')) ++at;
  int64_t exponent = 0;
  for (; at < text.size && is_digit(text.data[at]); ++at)
    if (exponent < INT64_C(1) << 56) exponent = exponent * 10 + (text.data[at] - '0');
  return is_negative ? -exponent : exponent;
}

static void read_decimal(cyxla__span text, decimal *out_number) {
  *out_number = (decimal){.digit_count = 0};
  bool is_fraction = false;
  size_t at = 0;
  for (; at < text.size && (is_digit(text.data[at]) || text.data[at] == '.'); ++at) {
    if (text.data[at] == '.')
      is_fraction = true;
    else
      add_digit(out_number, text.data[at] - '0', is_fraction);
  }
  if (at < text.size) out_number->exponent += read_exponent(text, at + 1);
  if (out_number->more) { /* one more digit stands for them all */
    multiply_and_add(&out_number->digits, 10, 1);
    ++out_number->digit_count;
    --out_number->exponent;
  }
}

/* ---- the number ---- */

/* The first bits of numerator / denominator, which is at least 1 and less than 2, rounded. */
static uint64_t divide(big *numerator, const big *denominator, int bits) {
  uint64_t quotient = 0;
  for (; bits > 0; --bits) {
    const bool bit = compare(numerator, denominator) >= 0;
    if (bit) subtract(numerator, denominator);
    twice(numerator);
    quotient = quotient << 1 | bit;
  }
  const int half = compare(numerator, denominator);
  return quotient + (half > 0 || (half == 0 && quotient & 1));
}

/* The bits of numerator / denominator. */
static uint64_t round_ratio(big *numerator, big *denominator, cyxla__binary_format format) {
  int exponent = 0; /* the number is numerator / denominator times two to this power */
  for (; compare(numerator, denominator) >= 0; ++exponent) twice(denominator);
  do {
    twice(numerator);
    --exponent;
  } while (compare(numerator, denominator) < 0);
  const int smallest = 2 - (1 << (format.exponent_bits - 1)); /* exponent of a normal number */
  const uint64_t infinity = ((UINT64_C(1) << format.exponent_bits) - 1) << (format.precision - 1);
  if (exponent < smallest) {
    const int bits = format.precision - (smallest - exponent);
    return bits < 0 ? 0 : divide(numerator, denominator, bits);
  }
  /* The first bit of the quotient is not stored: it adds 1 to the exponent, as a carry out of rounding does.
   */
  const uint64_t quotient = divide(numerator, denominator, format.precision);
  const uint64_t bits = ((uint64_t)(exponent - smallest) << (format.precision - 1)) + quotient;
  return bits < infinity ? bits : infinity;
}

uint64_t cyxla__decimal_to_binary(cyxla__span text, cyxla__binary_format format) {
  decimal number;
  read_decimal(text, &number);
  const int64_t power = number.exponent + number.digit_count - 1; /* of the first digit */
  if (!number.digit_count || power < SMALLEST_POWER) return 0;
  if (power > LARGEST_POWER)
    return ((UINT64_C(1) << format.exponent_bits) - 1) << (format.precision - 1);
  big denominator = {.count = 1, .words = {1}};
  times_power_of_ten(&number.digits, number.exponent);
  times_power_of_ten(&denominator, -number.exponent);
  return round_ratio(&number.digits, &denominator, format);
}
