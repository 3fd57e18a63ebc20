/* Executables: compile, describe, serialize, deserialize; with the fake or the real plugin. */
#include "support.h"

static cyxla_error error = CYXLA_ERROR_INIT;
static test_program program;

static void new_program(cyxla_array_type type, size_t inputs, size_t outputs) {
  make_program(&program, type, inputs, outputs, 2);
}

/* The executable doubles three floats. */
static void check_doubles(cyxla_executable *executable) {
  const float values[] = {1, 2, 3};
  float results[3] = {0};
  void *outputs[] = {results};
  const cyxla_input input = {values, CYXLA_F32, 3};
  for (uint32_t flags = 0; flags <= CYXLA_ZERO_COPY; ++flags) {
    memset(results, 0, sizeof results);
    CHECK_OK(cyxla_execute(executable, &input, outputs, flags, &error), &error);
    for (int i = 0; i < 3; ++i) CHECK_REAL(results[i], 2 * values[i]);
  }
}

static void describes_itself(void) {
  new_program(TYPE(CYXLA_F32, 3), 1, 1);
  program.program.name = "energy";
  program.inputs[0].name = "position";
  cyxla_executable *executable = compile(&program);
  memset(&program, 0xff, sizeof program);
  cyxla_executable_info info = {.struct_size = sizeof info};
  cyxla_executable_get_info(executable, &info);
  CHECK_TEXT(info.name, "energy");
  CHECK_INT(info.input_count, 1);
  CHECK_INT(info.output_count, 1);
  CHECK_INT(info.input_sizes[0], 12);
  CHECK_INT(info.output_sizes[0], 12);
  CHECK_TEXT(info.inputs[0].name, "position");
  CHECK_TEXT(info.outputs[0].name, "");
  CHECK_INT(info.outputs[0].dimensions[0], 3);
  if (using_fake && fake_calls("PJRT_Executable_GetCompiledMemoryStats")) {
    CHECK_INT(info.code_size, 1234);
    CHECK_INT(info.temp_size, 56);
  }
  check_doubles(executable);
  cyxla_executable_destroy(executable);
  cyxla_executable_destroy(NULL);
}

static void refuses_a_bad_signature(void) {
  cyxla_executable *executable = NULL;
  new_program(TYPE(CYXLA_F32, 3), 1, 1);
  program.inputs[0].element_type = 99;
  CHECK_STATUS(cyxla_compile(plugin, &program.program, NULL, 0, engine, &executable, &error),
               CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "input 0");
  CHECK_STATUS(
      cyxla_executable_deserialize(plugin, &program.program, "", 0, engine, &executable, &error),
      CYXLA_INVALID_ARGUMENT, &error);
  new_program(TYPE(CYXLA_F32, 3), 1, 1);
  program.program.struct_size = 8;
  CHECK_STATUS(cyxla_compile(plugin, &program.program, NULL, 0, engine, &executable, &error),
               CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "struct_size is 8");
  CHECK(!executable);
}

static void check_compile_fails(int32_t status, const char *part) {
  cyxla_executable *executable = NULL;
  const int32_t found =
      cyxla_compile(plugin, &program.program, NULL, 0, engine, &executable, &error);
  /* XLA itself may notice first that the layout we ask for does not fit the module. */
  if (using_fake || found != CYXLA_INVALID_ARGUMENT) {
    CHECK_STATUS(found, status, &error);
    CHECK_CONTAINS(error.message, part);
  }
  CHECK(!executable);
}

static void refuses_outputs_of_another_type(void) {
  if (getenv("FAKE_PJRT_TABLE_END")) return; /* a plugin that can't tell the types */
  new_program(TYPE(CYXLA_F32, 3), 1, 1);
  program.outputs[0].element_type = CYXLA_S32;
  program.outputs[0].name = "forces";
  check_compile_fails(CYXLA_SIGNATURE_MISMATCH, "forces is f32[3] in the executable and s32[3]");
  new_program(TYPE(CYXLA_F32, 3), 1, 1);
  program.outputs[0] = TYPE(CYXLA_F32, 4);
  check_compile_fails(CYXLA_SIGNATURE_MISMATCH, "f32[4]");
  new_program(TYPE(CYXLA_F32, 3), 1, 1);
  program.outputs[0] = TYPE(CYXLA_F32, 3, 1);
  check_compile_fails(CYXLA_SIGNATURE_MISMATCH, "f32[3,1]");
  new_program(TYPE(CYXLA_F32, 1), 1, 1);
  program.outputs[0] = SCALAR(CYXLA_F32);
  check_compile_fails(CYXLA_SIGNATURE_MISMATCH, "f32[]");
}

static void refuses_another_number_of_outputs(void) {
  new_program(TYPE(CYXLA_F32, 3), 1, 2);
  program.program.output_count = 1;
  check_compile_fails(CYXLA_SIGNATURE_MISMATCH, "has 2 outputs and the program 1");
  new_program(TYPE(CYXLA_F32, 3), 1, 1);
  add_output(&program, TYPE(CYXLA_F32, 3));
  check_compile_fails(CYXLA_SIGNATURE_MISMATCH, "has 1 outputs and the program 2");
}

static void refuses_garbage(void) {
  cyxla_executable *executable = NULL;
  new_program(TYPE(CYXLA_F32, 3), 1, 1);
  program.program.code = "this is no program";
  program.program.code_size = strlen("this is no program");
  CHECK(cyxla_compile(plugin, &program.program, NULL, 0, engine, &executable, &error));
  CHECK_CONTAINS(error.message, "PJRT_Client_Compile");
  program.program.code_size = 0;
  CHECK(cyxla_compile(plugin, &program.program, NULL, 0, engine, &executable, &error));
  CHECK(cyxla_executable_deserialize(plugin, &program.program, "garbage", 7, engine, &executable,
                                     &error));
  CHECK_CONTAINS(error.message, engine == CYXLA_ENGINE_DIRECT
                                    ? "no serialized executable"
                                    : "PJRT_Executable_DeserializeAndLoad");
  CHECK(cyxla_executable_deserialize(plugin, &program.program, "", 0, engine, &executable, &error));
  CHECK(!executable);
}

static void refuses_bad_compile_options(void) {
  cyxla_executable *executable = NULL;
  new_program(TYPE(CYXLA_F32, 3), 1, 1);
  const cyxla_option list = {.name = "some_list", .kind = CYXLA_OPTION_INT64_LIST};
  CHECK_STATUS(cyxla_compile(plugin, &program.program, &list, 1, engine, &executable, &error),
               CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "some_list");
}

static void serializes(void) {
  new_program(TYPE(CYXLA_F32, 3), 1, 1);
  cyxla_executable *executable = compile(&program), *copy;
  void *data;
  size_t size;
  CHECK_OK(cyxla_executable_serialize(executable, &data, &size, &error), &error);
  CHECK(size > 0);
  cyxla_executable_destroy(executable);
  CHECK_OK(
      cyxla_executable_deserialize(plugin, &program.program, data, size, engine, &copy, &error),
      &error);
  memset(data, 0xff, size);
  cyxla_aligned_free(data);
  check_doubles(copy);
  CHECK_OK(cyxla_executable_serialize(copy, &data, &size, &error), &error);
  cyxla_aligned_free(data);
  cyxla_executable_destroy(copy);
}

static void refuses_a_serialized_program_of_another_type(void) {
  new_program(TYPE(CYXLA_F32, 3), 1, 1);
  cyxla_executable *executable = compile(&program), *copy = NULL;
  void *data;
  size_t size;
  CHECK_OK(cyxla_executable_serialize(executable, &data, &size, &error), &error);
  cyxla_executable_destroy(executable);
  program.outputs[0] = TYPE(CYXLA_F64, 3);
  if (!getenv("FAKE_PJRT_TABLE_END"))
    CHECK_STATUS(
        cyxla_executable_deserialize(plugin, &program.program, data, size, engine, &copy, &error),
        CYXLA_SIGNATURE_MISMATCH, &error);
  CHECK(!copy);
  /* Inputs are compared when they are bound: too few, or too small, is an error and no crash. */
  program.outputs[0] = TYPE(CYXLA_F32, 3);
  program.inputs[0] = TYPE(CYXLA_F32, 2);
  if (!cyxla_executable_deserialize(plugin, &program.program, data, size, engine, &copy, &error)) {
    const float values[2] = {1, 2};
    float results[3];
    void *outputs[] = {results};
    const cyxla_input input = {values, CYXLA_F32, 2};
    CHECK(cyxla_execute(copy, &input, outputs, 0, &error));
    CHECK_CONTAINS(error.message, "PJRT_LoadedExecutable_Execute");
    cyxla_executable_destroy(copy);
  }
  cyxla_aligned_free(data);
}

int main(int argument_count, char **arguments) {
  use_plugin(argument_count, arguments);
  RUN(describes_itself);
  RUN(refuses_a_bad_signature);
  RUN(refuses_outputs_of_another_type);
  RUN(refuses_another_number_of_outputs);
  RUN(refuses_garbage);
  RUN(refuses_bad_compile_options);
  RUN(serializes);
  RUN(refuses_a_serialized_program_of_another_type);
  if (using_fake) check_nothing_alive(1);
}
