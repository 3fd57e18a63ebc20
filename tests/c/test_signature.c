#include "signature.h"
#include "test.h"

static int32_t init(cyxla__signature *signature, const cyxla_array_type *inputs, size_t count,
                    cyxla_error *error) {
  const cyxla_program program = {
      .struct_size = sizeof program, .inputs = inputs, .input_count = count};
  return cyxla__signature_init(signature, &program, error);
}

/* The input is refused, with a message that says `part`. */
static void check_refused(cyxla_array_type input, const char *part) {
  cyxla__signature signature;
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_STATUS(init(&signature, &input, 1, &error), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, part);
  CHECK_CONTAINS(error.message, "input 0");
  cyxla__signature_deinit(&signature);
}

static void copies_everything(void) {
  int64_t dimensions[] = {2, 3, 4};
  char input_name[] = "x['w'][0]", program_name[] = "energy";
  cyxla_array_type inputs[] = {
      {.name = input_name, .element_type = CYXLA_F64, .rank = 3, .dimensions = dimensions},
      {.element_type = CYXLA_PRED}};
  cyxla_array_type output = {.element_type = CYXLA_C64, .rank = 1, .dimensions = dimensions};
  const cyxla_program program = {.struct_size = sizeof program,
                                 .name = program_name,
                                 .inputs = inputs,
                                 .input_count = 2,
                                 .outputs = &output,
                                 .output_count = 1};
  cyxla__signature signature;
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_OK(cyxla__signature_init(&signature, &program, &error), &error);
  memset(dimensions, 0xff, sizeof dimensions);
  memset(inputs, 0xff, sizeof inputs);
  memset(input_name, 'y', sizeof input_name);
  memset(program_name, 'y', sizeof program_name);

  CHECK_TEXT(signature.name, "energy");
  CHECK_INT(signature.inputs.count, 2);
  CHECK_TEXT(signature.inputs.types[0].name, "x['w'][0]");
  CHECK_INT(signature.inputs.types[0].dimensions[2], 4);
  CHECK_INT(signature.inputs.lengths[0], 24);
  CHECK_INT(signature.inputs.sizes[0], 192);
  CHECK_TEXT(signature.inputs.types[1].name, "");
  CHECK_INT(signature.inputs.lengths[1], 1);
  CHECK_INT(signature.inputs.sizes[1], 1);
  CHECK_INT(signature.outputs.sizes[0], 16);
  cyxla__signature_deinit(&signature);
  cyxla__signature_deinit(&signature); /* a zeroed one is fine */
}

static void has_a_default_name(void) {
  cyxla__signature signature;
  CHECK_INT(init(&signature, NULL, 0, NULL), CYXLA_OK);
  CHECK_TEXT(signature.name, "main");
  CHECK_INT(signature.inputs.count, 0);
  cyxla__signature_deinit(&signature);
}

static void measures_empty_arrays(void) {
  const int64_t empty[] = {INT64_MAX, 0, 1};
  const cyxla_array_type input = {.element_type = CYXLA_F64, .rank = 3, .dimensions = empty};
  cyxla__signature signature;
  cyxla_error error = CYXLA_ERROR_INIT;
  /* No element, and nothing that overflows on the way to it. */
  CHECK_OK(init(&signature, &input, 1, &error), &error);
  CHECK_INT(signature.inputs.lengths[0], 0);
  CHECK_INT(signature.inputs.sizes[0], 0);
  cyxla__signature_deinit(&signature);
}

static void refuses_bad_types(void) {
  const int64_t three = 3, negative[] = {3, -1};
  check_refused((cyxla_array_type){.element_type = 0}, "0 is no element type");
  check_refused((cyxla_array_type){.element_type = 16}, "16 is no element type");
  check_refused((cyxla_array_type){.name = "state['x']", .element_type = -5}, "state['x']");
  check_refused((cyxla_array_type){.element_type = CYXLA_F32, .rank = 1}, "without dimensions");
  check_refused((cyxla_array_type){.element_type = CYXLA_F32, .rank = -1, .dimensions = &three},
                "rank -1");
  check_refused((cyxla_array_type){.element_type = CYXLA_F32, .rank = 2, .dimensions = negative},
                "dimension 1 is -1");
}

static void refuses_what_overflows(void) {
  const int64_t square[] = {INT64_C(1) << 32, INT64_C(1) << 32};
  const int64_t half[] = {INT64_C(1) << 60}, most[] = {(INT64_C(1) << 60) - 1};
  const char *part = "more bytes than memory can hold";
  check_refused((cyxla_array_type){.element_type = CYXLA_S8, .rank = 2, .dimensions = square},
                part);
  check_refused((cyxla_array_type){.element_type = CYXLA_F64, .rank = 1, .dimensions = half}, part);
  check_refused((cyxla_array_type){.element_type = CYXLA_C128, .rank = 1, .dimensions = half},
                part);
  cyxla__signature signature;
  const cyxla_array_type largest = {.element_type = CYXLA_F64, .rank = 1, .dimensions = most};
  CHECK_INT(init(&signature, &largest, 1, NULL), CYXLA_OK);
  cyxla__signature_deinit(&signature);
}

static void refuses_missing_lists(void) {
  cyxla__signature signature;
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_STATUS(init(&signature, NULL, 3, &error), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "3 inputs are announced");
  cyxla__signature_deinit(&signature);
  const cyxla_array_type input = {.element_type = CYXLA_F32};
  CHECK_STATUS(init(&signature, &input, SIZE_MAX, &error), CYXLA_RESOURCE_EXHAUSTED, &error);
  cyxla__signature_deinit(&signature);
  CHECK_STATUS(init(&signature, &input, SIZE_MAX / 2, &error), CYXLA_RESOURCE_EXHAUSTED, &error);
  cyxla__signature_deinit(&signature);
}

/* The second array is bad: the first one must not leak. */
static void frees_a_half_built_signature(void) {
  const int64_t dimensions[] = {5};
  const cyxla_array_type inputs[] = {
      {.name = "good", .element_type = CYXLA_F32, .rank = 1, .dimensions = dimensions},
      {.name = "bad", .element_type = 99}};
  cyxla__signature signature;
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_STATUS(init(&signature, inputs, 2, &error), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "input 1 bad");
  cyxla__signature_deinit(&signature);
}

static void writes_types_as_text(void) {
  const int64_t dimensions[] = {2, 0, INT64_MAX};
  char text[CYXLA__TYPE_TEXT_SIZE];
  CHECK_TEXT(cyxla__type_text(text, sizeof text, CYXLA_F32, 2, dimensions), "f32[2,0]");
  CHECK_TEXT(cyxla__type_text(text, sizeof text, CYXLA_C128, 0, NULL), "c128[]");
  CHECK_TEXT(cyxla__type_text(text, sizeof text, 77, 0, NULL), "unknown type 77[]");
  CHECK_TEXT(cyxla__type_text(text, 5, CYXLA_F32, 2, dimensions), "f32[");
  CHECK_TEXT(cyxla__type_text(text, 10, CYXLA_F32, 3, dimensions), "f32[2,0,9");
  CHECK_TEXT(cyxla__type_text(text, 1, CYXLA_F32, 2, dimensions), "");
  int64_t many[200];
  for (int i = 0; i < 200; ++i) many[i] = INT64_MAX;
  cyxla__type_text(text, sizeof text, CYXLA_F32, 200, many);
  CHECK_INT(strlen(text), sizeof text - 1);
}

int main(void) {
  RUN(copies_everything);
  RUN(has_a_default_name);
  RUN(measures_empty_arrays);
  RUN(refuses_bad_types);
  RUN(refuses_what_overflows);
  RUN(refuses_missing_lists);
  RUN(frees_a_half_built_signature);
  RUN(writes_types_as_text);
}
