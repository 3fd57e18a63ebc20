#include "direct/sort_key.h"

#include <string.h>

#include "xla_cpu/primitive_type.h"

static float float_of(uint64_t bits) {
  const uint32_t half = (uint32_t)bits;
  float value;
  memcpy(&value, &half, sizeof value);
  return value;
}

static double double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The numbers below are of the sign bit, and of infinity. */
static uint64_t key_of_float(uint64_t bits, uint64_t sign, uint64_t infinity, bool is_zero) {
  const uint64_t magnitude = bits & (sign - 1);
  if (magnitude > infinity) return UINT64_MAX;
  if (is_zero) return sign;
  return bits & sign ? sign - magnitude : sign + magnitude;
}

/* The comparisons with 0 are left to the processor, which knows the floating-point environment.  XLA
 * compares f16 and bf16 as f32; subnormal numbers of f16 are normal ones there. */
static uint64_t key_of(int32_t type, uint64_t bits) {
  switch (type) {
    case XLA_S8:
      return bits ^ UINT64_C(1) << 7;
    case XLA_S16:
      return bits ^ UINT64_C(1) << 15;
    case XLA_S32:
      return bits ^ UINT64_C(1) << 31;
    case XLA_S64:
      return bits ^ UINT64_C(1) << 63;
    case XLA_F16:
      return key_of_float(bits, UINT64_C(1) << 15, 0x7c00, !(bits & 0x7fff));
    case XLA_BF16:
      return key_of_float(bits, UINT64_C(1) << 15, 0x7f80, float_of(bits << 16) == 0);
    case XLA_F32:
      return key_of_float(bits, UINT64_C(1) << 31, 0x7f800000, float_of(bits) == 0);
    case XLA_F64:
      return key_of_float(bits, UINT64_C(1) << 63, UINT64_C(0x7ff) << 52, double_of(bits) == 0);
    default:
      return bits; /* unsigned */
  }
}

bool cyxla__sort_key_exists(int32_t type) {
  return (type >= XLA_S8 && type <= XLA_F64) || type == XLA_BF16;
}

void cyxla__sort_key_make(int32_t type, bool descending, cyxla__record *records, size_t count) {
  const uint64_t mask = descending ? UINT64_MAX : 0;
  for (size_t i = 0; i < count; ++i) records[i].key = key_of(type, records[i].key) ^ mask;
}
