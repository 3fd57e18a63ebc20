/* XLA's element types, xla.PrimitiveType of xla/xla_data.proto: other numbers than PJRT's. */
#ifndef CYXLA_XLA_CPU_PRIMITIVE_TYPE_H
#define CYXLA_XLA_CPU_PRIMITIVE_TYPE_H

#include <stddef.h>
#include <stdint.h>

enum {
  XLA_PRED = 1,
  XLA_S8 = 2,
  XLA_S16 = 3,
  XLA_S32 = 4,
  XLA_S64 = 5,
  XLA_U8 = 6,
  XLA_U16 = 7,
  XLA_U32 = 8,
  XLA_U64 = 9,
  XLA_F16 = 10,
  XLA_F32 = 11,
  XLA_F64 = 12,
  XLA_TUPLE = 13,
  XLA_C64 = 15,
  XLA_BF16 = 16,
  XLA_TOKEN = 17,
  XLA_C128 = 18,
  XLA_F8E5M2 = 19,
  XLA_F8E4M3FN = 20
};

/* Bytes of one element; 0 for types that cyxla can't hold (tuples, tokens, less than a byte). */
size_t cyxla__primitive_size(int32_t type);

/* The cyxla_element_type, or 0 where there is none. */
int32_t cyxla__primitive_element_type(int32_t type);

#endif
