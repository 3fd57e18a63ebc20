#include "element_types.h"

/* Indexed by cyxla_element_type. */
static const struct {
  const char *name;
  size_t size;
} element_types[] = {
    [CYXLA_PRED] = {"pred", 1}, [CYXLA_S8] = {"s8", 1},   [CYXLA_S16] = {"s16", 2},
    [CYXLA_S32] = {"s32", 4},   [CYXLA_S64] = {"s64", 8}, [CYXLA_U8] = {"u8", 1},
    [CYXLA_U16] = {"u16", 2},   [CYXLA_U32] = {"u32", 4}, [CYXLA_U64] = {"u64", 8},
    [CYXLA_F16] = {"f16", 2},   [CYXLA_F32] = {"f32", 4}, [CYXLA_F64] = {"f64", 8},
    [CYXLA_BF16] = {"bf16", 2}, [CYXLA_C64] = {"c64", 8}, [CYXLA_C128] = {"c128", 16},
};

static const int32_t element_type_count = sizeof element_types / sizeof element_types[0];

size_t cyxla_element_size(int32_t element_type) {
  if (element_type <= 0 || element_type >= element_type_count) return 0;
  return element_types[element_type].size;
}

const char *cyxla__element_name(int32_t element_type) {
  return cyxla_element_size(element_type) ? element_types[element_type].name : NULL;
}
