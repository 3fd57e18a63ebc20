#include "pjrt/compile_options.h"
#include "proto_reader.h"

/* Field numbers of xla.CompileOptionsProto and what is in it. */
enum {
  ARGUMENT_LAYOUTS = 1,
  BUILD_OPTIONS = 3,
  OVERRIDES = 7,
  RESULT_LAYOUT = 2,
  NUM_REPLICAS = 4,
  NUM_PARTITIONS = 5,
  ELEMENT_TYPE = 2,
  DIMENSIONS = 3,
  TUPLE_SHAPES = 4,
  LAYOUT = 5,
  MINOR_TO_MAJOR = 1
};
enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

static cyxla__proto write(const cyxla_array_type *inputs, size_t input_count,
                          const cyxla_array_type *outputs, size_t output_count,
                          const cyxla_option *options, size_t option_count) {
  const cyxla_program program = {.struct_size = sizeof program,
                                 .inputs = inputs,
                                 .input_count = input_count,
                                 .outputs = outputs,
                                 .output_count = output_count};
  cyxla__signature signature;
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_OK(cyxla__signature_init(&signature, &program, &error), &error);
  cyxla__proto message = {0};
  CHECK_OK(cyxla__compile_options_write(&message, &signature, options, option_count, &error),
           &error);
  cyxla__signature_deinit(&signature);
  return message;
}

/* A shape with the given dimensions, row-major. */
static void check_shape(proto shape, uint64_t element_type, int rank, const int64_t *dimensions) {
  CHECK_INT(proto_expect(&shape, ELEMENT_TYPE, VARINT).value, element_type);
  proto packed = proto_expect(&shape, DIMENSIONS, BYTES).bytes;
  for (int i = 0; i < rank; ++i) CHECK_INT(proto_varint(&packed), dimensions[i]);
  proto_expect_end(&packed);
  proto layout = proto_expect(&shape, LAYOUT, BYTES).bytes;
  proto minor_to_major = proto_expect(&layout, MINOR_TO_MAJOR, BYTES).bytes;
  for (int i = rank; i-- > 0;) CHECK_INT(proto_varint(&minor_to_major), i);
  proto_expect_end(&minor_to_major);
  proto_expect_end(&layout);
  proto_expect_end(&shape);
}

/* The result layout, after replicas and partitions have been checked. */
static proto check_build_options(proto build) {
  proto result = proto_expect(&build, RESULT_LAYOUT, BYTES).bytes;
  CHECK_INT(proto_expect(&build, NUM_REPLICAS, VARINT).value, 1);
  CHECK_INT(proto_expect(&build, NUM_PARTITIONS, VARINT).value, 1);
  proto_expect_end(&build);
  return result;
}

/* Numbers of xla.PrimitiveType: not those of PJRT_Buffer_Type for the last four. */
static void translates_element_types(void) {
  static const uint64_t expected[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 15, 18};
  const int64_t dimensions[] = {2, 300};
  cyxla_array_type inputs[15];
  for (int i = 0; i < 15; ++i)
    inputs[i] = (cyxla_array_type){.element_type = i + 1, .rank = 2, .dimensions = dimensions};
  cyxla__proto message = write(inputs, 15, inputs, 1, NULL, 0);
  proto reader = proto_of(message.data, message.size);
  for (int i = 0; i < 15; ++i)
    check_shape(proto_expect(&reader, ARGUMENT_LAYOUTS, BYTES).bytes, expected[i + 1], 2,
                dimensions);
  const proto result = check_build_options(proto_expect(&reader, BUILD_OPTIONS, BYTES).bytes);
  check_shape(result, 1, 2, dimensions);
  proto_expect_end(&reader);
  cyxla__proto_deinit(&message);
}

static void makes_tuples_of_several_outputs_and_of_none(void) {
  enum { TUPLE = 13, F32 = 11 };
  const int64_t dimensions[] = {0, 1, 2, 3, 4, 5, 6, 7};
  cyxla_array_type outputs[] = {{.element_type = CYXLA_F32},
                                {.element_type = CYXLA_F32, .rank = 8, .dimensions = dimensions}};
  for (size_t count = 0; count <= 2; ++count) {
    if (count == 1) continue;
    cyxla__proto message = write(NULL, 0, outputs, count, NULL, 0);
    proto reader = proto_of(message.data, message.size);
    proto tuple = check_build_options(proto_expect(&reader, BUILD_OPTIONS, BYTES).bytes);
    CHECK_INT(proto_expect(&tuple, ELEMENT_TYPE, VARINT).value, TUPLE);
    for (size_t i = 0; i < count; ++i)
      check_shape(proto_expect(&tuple, TUPLE_SHAPES, BYTES).bytes, F32, outputs[i].rank,
                  dimensions);
    proto_expect_end(&tuple);
    proto_expect_end(&reader);
    cyxla__proto_deinit(&message);
  }
}

/* The next override is of this name; its value, a message of one field. */
static proto_field check_override(proto *reader, const char *name) {
  proto entry = proto_expect(reader, OVERRIDES, BYTES).bytes;
  const proto key = proto_expect(&entry, 1, BYTES).bytes;
  CHECK_INT(key.end - key.at, strlen(name));
  CHECK_BYTES(key.at, name, strlen(name));
  proto value = proto_expect(&entry, 2, BYTES).bytes;
  proto_expect_end(&entry);
  proto_field field;
  CHECK(proto_next(&value, &field));
  proto_expect_end(&value);
  return field;
}

static void writes_overrides(void) {
  const cyxla_option options[] = {
      {.name = "text", .kind = CYXLA_OPTION_STRING, .value.string = "some"},
      {.name = "yes", .kind = CYXLA_OPTION_BOOL, .value.boolean = 7},
      {.name = "no", .kind = CYXLA_OPTION_BOOL, .value.boolean = 0},
      {.name = "number", .kind = CYXLA_OPTION_INT64, .value.int64 = -2},
      {.name = "real", .kind = CYXLA_OPTION_DOUBLE, .value.float64 = 0.1}};
  const cyxla_array_type output = {.element_type = CYXLA_F32};
  cyxla__proto message = write(NULL, 0, &output, 1, options, 5);
  proto reader = proto_of(message.data, message.size);
  proto_expect(&reader, BUILD_OPTIONS, BYTES);
  proto_field value = check_override(&reader, "text");
  CHECK_INT(value.number, 1);
  CHECK_INT(value.bytes.end - value.bytes.at, 4);
  CHECK_BYTES(value.bytes.at, "some", 4);
  value = check_override(&reader, "yes");
  CHECK_INT(value.number, 2);
  CHECK_INT(value.value, 1);
  value = check_override(&reader, "no");
  CHECK_INT(value.number, 2);
  CHECK_INT(value.value, 0);
  value = check_override(&reader, "number");
  CHECK_INT(value.number, 3);
  CHECK_INT(value.value, -2);
  value = check_override(&reader, "real");
  CHECK_INT(value.number, 4);
  double real;
  memcpy(&real, &value.value, sizeof real);
  CHECK_REAL(real, 0.1);
  proto_expect_end(&reader);
  cyxla__proto_deinit(&message);
}

static void refuses_other_kinds(void) {
  const cyxla_option options[] = {
      {.name = "list", .kind = CYXLA_OPTION_INT64_LIST, .list_count = 0},
      {.name = "strange", .kind = 99}};
  const cyxla_program program = {.struct_size = sizeof program};
  cyxla__signature signature;
  CHECK_INT(cyxla__signature_init(&signature, &program, NULL), CYXLA_OK);
  for (int i = 0; i < 2; ++i) {
    cyxla__proto message = {0};
    cyxla_error error = CYXLA_ERROR_INIT;
    CHECK_STATUS(cyxla__compile_options_write(&message, &signature, &options[i], 1, &error),
                 CYXLA_INVALID_ARGUMENT, &error);
    CHECK_CONTAINS(error.message, options[i].name);
    cyxla__proto_deinit(&message);
  }
  cyxla__signature_deinit(&signature);
}

int main(void) {
  RUN(translates_element_types);
  RUN(makes_tuples_of_several_outputs_and_of_none);
  RUN(writes_overrides);
  RUN(refuses_other_kinds);
}
