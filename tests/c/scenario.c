#include "scenario.h"

enum { LENGTH = 6, LARGE = (1 << 17) + 1 };

/* Inputs: an array, a scalar, an empty array, and one that is too large to be staged.  Outputs: of
 * each of them, and one that is dropped. */
static const char code[] =
    "in f64[2,3]\nin f64[]\nin f64[0]\nin f64[131073]\n"
    "out f64[2,3] = in 0 * 2\nout f64[] = in 1 * 3\nout f64[0] = in 2 * 2\n"
    "out f64[131073] = in 3 * 5\nout f64[2,3] = in 0 * 7\ndonate 0\n";

static _Alignas(64) double array[LENGTH], scalar[8], large[LARGE];
static double array_result[LENGTH], scalar_result[1], large_result[LARGE];

static int32_t execute(cyxla_executable *executable, double start, uint32_t flags,
                       cyxla_error *error) {
  for (int i = 0; i < LENGTH; ++i) array[i] = start + i;
  scalar[0] = start;
  for (int i = 0; i < LARGE; i += 1000) large[i] = start + i;
  const cyxla_input inputs[] = {{array, CYXLA_F64, LENGTH},
                                {scalar, CYXLA_F64, 1},
                                {NULL, CYXLA_F64, 0},
                                {large, CYXLA_F64, LARGE}};
  void *outputs[] = {array_result, scalar_result, NULL, large_result, NULL};
  const int32_t status = cyxla_execute(executable, inputs, outputs, flags, error);
  if (status) return status;
  CHECK_REAL(array_result[5], 2 * (start + 5));
  CHECK_REAL(scalar_result[0], 3 * start);
  CHECK_REAL(large_result[131000], 5 * (start + 131000));
  return CYXLA_OK;
}

static int32_t execute_often(cyxla_executable *executable, double start, cyxla_error *error) {
  int32_t status = execute(executable, start, 0, error);
  if (!status) status = execute(executable, start + 1, 0, error);
  if (!status) status = execute(executable, start + 2, CYXLA_ZERO_COPY, error);
  if (!status) status = execute(executable, start + 3, CYXLA_ZERO_COPY, error);
  if (!status) status = execute(executable, start + 4, 0, error);
  return status;
}

int32_t run_scenario(cyxla_error *error) {
  static const int64_t matrix[] = {2, 3}, empty[] = {0}, vector[] = {LARGE};
  static const cyxla_array_type types[] = {
      {.name = "array", .element_type = CYXLA_F64, .rank = 2, .dimensions = matrix},
      {.name = "scalar", .element_type = CYXLA_F64},
      {.element_type = CYXLA_F64, .rank = 1, .dimensions = empty},
      {.element_type = CYXLA_F64, .rank = 1, .dimensions = vector},
      {.element_type = CYXLA_F64, .rank = 2, .dimensions = matrix}};
  const cyxla_program program = {.struct_size = sizeof program,
                                 .code = code,
                                 .code_size = sizeof code - 1,
                                 .inputs = types,
                                 .input_count = 4,
                                 .outputs = types,
                                 .output_count = 5};
  static const cyxla_option option = {.name = "some_option", .kind = CYXLA_OPTION_BOOL};
  int32_t status =
      cyxla_plugin_load(fake_path(), getenv("FAKE_PJRT_PLATFORM"), NULL, 0, &plugin, error);
  if (status) return status;
  cyxla_executable *executable = NULL, *copy = NULL;
  void *data = NULL;
  size_t size = 0;
  status = cyxla_compile(plugin, &program, &option, 1, CYXLA_ENGINE_PJRT, &executable, error);
  if (!status) status = execute_often(executable, 1, error);
  if (!status) status = cyxla_executable_serialize(executable, &data, &size, error);
  if (!status)
    status =
        cyxla_executable_deserialize(plugin, &program, data, size, CYXLA_ENGINE_PJRT, &copy, error);
  if (!status) status = execute_often(copy, 100, error);
  cyxla_aligned_free(data);
  cyxla_executable_destroy(copy);
  cyxla_executable_destroy(executable);
  return status;
}
