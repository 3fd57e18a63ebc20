/* Decimal numbers to binary ones, exactly: strtod goes by the process's locale and rounding mode, and the
 * result of reading a file must not. */
#ifndef CYXLA_BASE_DECIMAL_H
#define CYXLA_BASE_DECIMAL_H

#include "base/bytes.h"

/* A binary format of IEEE 754; bfloat16 is {8, 8}. */
typedef struct cyxla__binary_format {
  int precision; /* bits of the significand, with the one that is not stored */
  int exponent_bits;
} cyxla__binary_format;

/* The bits of the number nearest to `text`, without a sign; of two equally near ones, the even one; of
 * numbers that are too large, infinity.
 *
 *   text    digits, maybe with a point among or after them, maybe then e or E, a sign and digits; anything
 *           else is not looked for.
 *   format  at most that of double: {53, 11}. */
uint64_t cyxla__decimal_to_binary(cyxla__span text, cyxla__binary_format format);

#endif
