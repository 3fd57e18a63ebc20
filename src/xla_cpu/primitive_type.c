#include "xla_cpu/primitive_type.h"

#include "cyxla/cyxla.h"

int32_t cyxla__primitive_element_type(int32_t type) {
  if (type >= XLA_PRED && type <= XLA_F64) return type; /* the same numbers */
  switch (type) {
    case XLA_BF16:
      return CYXLA_BF16;
    case XLA_C64:
      return CYXLA_C64;
    case XLA_C128:
      return CYXLA_C128;
    default:
      return 0;
  }
}

size_t cyxla__primitive_size(int32_t type) {
  if (type == XLA_F8E5M2 || type == XLA_F8E4M3FN) return 1; /* only inside of programs */
  return cyxla_element_size(cyxla__primitive_element_type(type));
}
