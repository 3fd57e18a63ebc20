#include "pjrt/compile_options.h"

#include <string.h>

#include "base/status.h"

/* Field numbers, read from the descriptors inside jaxlib 0.10.2, 0.11.2 and 0.12.0, and the same in
 * all three (xla/pjrt/proto/compile_options.proto, xla/xla_data.proto). */
enum { OPTIONS_ARGUMENT_LAYOUTS = 1, OPTIONS_BUILD_OPTIONS = 3, OPTIONS_OVERRIDES = 7 };
enum { BUILD_RESULT_LAYOUT = 2, BUILD_NUM_REPLICAS = 4, BUILD_NUM_PARTITIONS = 5 };
enum { SHAPE_ELEMENT_TYPE = 2, SHAPE_DIMENSIONS = 3, SHAPE_TUPLE_SHAPES = 4, SHAPE_LAYOUT = 5 };
enum { LAYOUT_MINOR_TO_MAJOR = 1 };
enum { MAP_KEY = 1, MAP_VALUE = 2 };
enum { OVERRIDE_STRING = 1, OVERRIDE_BOOL = 2, OVERRIDE_INT = 3, OVERRIDE_DOUBLE = 4 };

/* xla.PrimitiveType agrees with PJRT_Buffer_Type but for these. */
enum { XLA_TUPLE = 13, XLA_C64 = 15, XLA_BF16 = 16, XLA_C128 = 18 };

static uint64_t primitive_type(int32_t element_type) {
  switch (element_type) {
    case CYXLA_BF16:
      return XLA_BF16;
    case CYXLA_C64:
      return XLA_C64;
    case CYXLA_C128:
      return XLA_C128;
    default:
      return (uint64_t)element_type;
  }
}

static cyxla__proto array_shape(const cyxla_array_type *type) {
  cyxla__proto shape = {0}, layout = {0}, dimensions = {0}, minor_to_major = {0};
  for (int32_t i = 0; i < type->rank; ++i) {
    cyxla__proto_raw_varint(&dimensions, (uint64_t)type->dimensions[i]);
    cyxla__proto_raw_varint(&minor_to_major, (uint64_t)(type->rank - 1 - i));
  }
  cyxla__proto_varint(&shape, SHAPE_ELEMENT_TYPE, primitive_type(type->element_type));
  cyxla__proto_message(&shape, SHAPE_DIMENSIONS, &dimensions);
  cyxla__proto_message(&layout, LAYOUT_MINOR_TO_MAJOR, &minor_to_major);
  cyxla__proto_message(&shape, SHAPE_LAYOUT, &layout);
  return shape;
}

/* One output is an array; none or several are a tuple, as XLA makes of them. */
static cyxla__proto result_shape(const cyxla__arrays *outputs) {
  if (outputs->count == 1) return array_shape(&outputs->types[0]);
  cyxla__proto tuple = {0};
  cyxla__proto_varint(&tuple, SHAPE_ELEMENT_TYPE, XLA_TUPLE);
  for (size_t i = 0; i < outputs->count; ++i) {
    cyxla__proto shape = array_shape(&outputs->types[i]);
    cyxla__proto_message(&tuple, SHAPE_TUPLE_SHAPES, &shape);
  }
  return tuple;
}

static int32_t write_override(cyxla__proto *message, const cyxla_option *option,
                              cyxla_error *error) {
  cyxla__proto entry = {0}, value = {0};
  switch (option->kind) {
    case CYXLA_OPTION_STRING:
      cyxla__proto_bytes(&value, OVERRIDE_STRING, option->value.string,
                         strlen(option->value.string));
      break;
    case CYXLA_OPTION_BOOL:
      cyxla__proto_varint(&value, OVERRIDE_BOOL, option->value.boolean != 0);
      break;
    case CYXLA_OPTION_INT64:
      cyxla__proto_varint(&value, OVERRIDE_INT, (uint64_t)option->value.int64);
      break;
    case CYXLA_OPTION_DOUBLE:
      cyxla__proto_double(&value, OVERRIDE_DOUBLE, option->value.float64);
      break;
    default:
      return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                         "compile option %s: its kind, %d, is none of a compile option",
                         option->name, (int)option->kind);
  }
  cyxla__proto_bytes(&entry, MAP_KEY, option->name, strlen(option->name));
  cyxla__proto_message(&entry, MAP_VALUE, &value);
  cyxla__proto_message(message, OPTIONS_OVERRIDES, &entry);
  return CYXLA_OK;
}

int32_t cyxla__compile_options_write(cyxla__proto *message, const cyxla__signature *signature,
                                     const cyxla_option *options, size_t option_count,
                                     cyxla_error *error) {
  for (size_t i = 0; i < signature->inputs.count; ++i) {
    cyxla__proto shape = array_shape(&signature->inputs.types[i]);
    cyxla__proto_message(message, OPTIONS_ARGUMENT_LAYOUTS, &shape);
  }
  cyxla__proto build = {0}, result = result_shape(&signature->outputs);
  cyxla__proto_message(&build, BUILD_RESULT_LAYOUT, &result);
  cyxla__proto_varint(&build, BUILD_NUM_REPLICAS, 1);
  cyxla__proto_varint(&build, BUILD_NUM_PARTITIONS, 1);
  cyxla__proto_message(message, OPTIONS_BUILD_OPTIONS, &build);
  for (size_t i = 0; i < option_count; ++i) TRY(write_override(message, &options[i], error));
  return message->failed ? cyxla__fail_memory(error, message->size) : CYXLA_OK;
}
