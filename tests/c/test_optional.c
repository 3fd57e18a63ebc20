/* Plugins that lack functions, can't tell what an executable is like, or consume inputs: with the
 * fake plugin, each case in a process of its own. */
#include "support.h"

static cyxla_error error = CYXLA_ERROR_INIT;
static test_program program;

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

static void check_missing(const void *argument) {
  const char *function = argument;
  fake_set("NULL", function);
  use_plugin(1, NULL);
  make_program(&program, TYPE(CYXLA_F32, 3), 1, 1, 2);
  cyxla_executable *executable = compile(&program), *copy;
  check_doubles(executable);
  cyxla_executable_info info = {.struct_size = sizeof info};
  cyxla_executable_get_info(executable, &info);
  if (!strcmp(function, "PJRT_Executable_GetCompiledMemoryStats")) CHECK_INT(info.temp_size, -1);
  void *data = NULL;
  size_t size = 0;
  const bool cannot_write = !strcmp(function, "PJRT_Executable_Serialize");
  CHECK_STATUS(cyxla_executable_serialize(executable, &data, &size, &error),
               cannot_write ? CYXLA_UNIMPLEMENTED : CYXLA_OK, &error);
  if (cannot_write) CHECK_CONTAINS(error.message, function);
  cyxla_aligned_free(data);
  const bool cannot_load = !strcmp(function, "PJRT_Executable_DeserializeAndLoad");
  const char text[] = "FAKEEXE1in f32[3]\nout f32[3] = in 0 * 2";
  CHECK_STATUS(cyxla_executable_deserialize(plugin, &program.program, text, sizeof text - 1,
                                            CYXLA_ENGINE_PJRT, &copy, &error),
               cannot_load ? CYXLA_UNIMPLEMENTED : CYXLA_OK, &error);
  if (cannot_load)
    CHECK_CONTAINS(error.message, function);
  else
    cyxla_executable_destroy(copy);
  cyxla_executable_destroy(executable);
  check_nothing_alive(1);
}

static void lives_without_optional_functions(void) {
  static const char *const optional[] = {"PJRT_Executable_Serialize",
                                         "PJRT_Executable_DeserializeAndLoad",
                                         "PJRT_Executable_OutputElementTypes",
                                         "PJRT_Executable_OutputDimensions",
                                         "PJRT_Executable_GetCompiledMemoryStats",
                                         "PJRT_Buffer_OpaqueDeviceMemoryDataPointer"};
  for (size_t i = 0; i < sizeof optional / sizeof optional[0]; ++i)
    in_child(check_missing, optional[i]);
}

/* Where the plugin can't tell the types of outputs, a wrong signature is found out by the copy to
 * the host, which must not write beyond the array. */
static void never_trusts_unknown_outputs(const void *unused) {
  (void)unused;
  fake_set("NULL", "PJRT_Executable_OutputDimensions");
  use_plugin(1, NULL);
  make_program(&program, TYPE(CYXLA_F32, 3), 1, 1, 2);
  program.outputs[0] = TYPE(CYXLA_F32, 2);
  cyxla_executable *executable = compile(&program);
  const float values[] = {1, 2, 3};
  float results[3] = {7, 7, 7};
  void *outputs[] = {results};
  const cyxla_input input = {values, CYXLA_F32, 3};
  CHECK_STATUS(cyxla_execute(executable, &input, outputs, 0, &error), CYXLA_INVALID_ARGUMENT,
               &error);
  CHECK_CONTAINS(error.message, "PJRT_Buffer_ToHostBuffer");
  CHECK_REAL(results[2], 7);
  cyxla_executable_destroy(executable);
  check_nothing_alive(1);
}

/* A program that wants to consume its inputs: their buffers serve again all the same. */
static void check_donation(const void *setting) {
  if (setting) fake_set("NULL", setting);
  use_plugin(1, NULL);
  make_text_program(&program, "in f32[3]\nin f32[3]\nout f32[3] = in 0 * 2\ndonate 0\ndonate 1\n");
  add_input(&program, TYPE(CYXLA_F32, 3));
  add_input(&program, TYPE(CYXLA_F32, 3));
  add_output(&program, TYPE(CYXLA_F32, 3));
  cyxla_executable *executable = compile(&program);
  float *values = cyxla_aligned_alloc(sizeof(float[3])), results[3];
  CHECK(values);
  void *outputs[] = {results};
  for (int round = 0; round < 6; ++round) {
    values[0] = (float)round;
    const cyxla_input inputs[] = {{values, CYXLA_F32, 3}, {values, CYXLA_F32, 3}};
    const uint32_t flags = round % 3 ? CYXLA_ZERO_COPY : 0;
    CHECK_OK(cyxla_execute(executable, inputs, outputs, flags, &error), &error);
    CHECK_REAL(results[0], 2 * round);
    CHECK_REAL(values[0], round);
  }
  cyxla_aligned_free(values);
  cyxla_executable_destroy(executable);
  check_nothing_alive(1);
}

int main(void) {
  fake_path();
  RUN(lives_without_optional_functions);
  in_child(never_trusts_unknown_outputs, NULL);
  in_child(check_donation, NULL);
  /* Without statistics nobody tells whether the program aliases anything. */
  in_child(check_donation, "PJRT_Executable_GetCompiledMemoryStats");
}
