/* What only a real plugin can show: XLA's compiler and its options, layouts, donation, and bytes
 * that are no program. */
#include <math.h>

#include "support.h"

static cyxla_error error = CYXLA_ERROR_INIT;
static test_program program;

static void describes_the_plugin(void) {
  cyxla_plugin_info info = {.struct_size = sizeof info};
  cyxla_plugin_get_info(plugin, &info);
  CHECK_TEXT(info.platform, "cpu");
  CHECK_INT(info.pjrt_major, 0);
  CHECK(info.pjrt_minor >= 81);
  CHECK_INT(info.reads_in_place, 1);
  CHECK(info.device_count >= 1);
  fprintf(stderr, "  PJRT %d.%d, StableHLO %d.%d.%d, \"%s\"\n", (int)info.pjrt_major,
          (int)info.pjrt_minor, (int)info.stablehlo_current[0], (int)info.stablehlo_current[1],
          (int)info.stablehlo_current[2], info.platform_version);
  cyxla_plugin *again;
  CHECK_OK(cyxla_plugin_load(real_path(), "cpu", NULL, 0, &again, &error), &error);
  CHECK(again == plugin);
}

static void computes_sines(void) {
  make_unary_program(&program,
                     "module @m { func.func public @main(%a: tensor<3xf64>) -> (tensor<3xf64>) {\n"
                     "  %0 = stablehlo.sine %a : tensor<3xf64>\n  return %0 : tensor<3xf64> } }",
                     TYPE(CYXLA_F64, 3));
  cyxla_executable *executable = compile(&program);
  const double values[] = {0, 1, -2.5};
  double results[3];
  void *outputs[] = {results};
  const cyxla_input input = {values, CYXLA_F64, 3};
  CHECK_OK(cyxla_execute(executable, &input, outputs, 0, &error), &error);
  for (int i = 0; i < 3; ++i) CHECK(fabs(results[i] - sin(values[i])) < 1e-15);
  cyxla_executable_destroy(executable);
}

/* ---- layouts ---- */

static const double matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};

static void check_identity(void) {
  cyxla_executable *executable = compile(&program);
  double results[2][3] = {{0}};
  void *outputs[] = {results};
  const cyxla_input input = {matrix, CYXLA_F64, 6};
  for (uint32_t flags = 0; flags <= CYXLA_ZERO_COPY; ++flags) {
    memset(results, 0, sizeof results);
    CHECK_OK(cyxla_execute(executable, &input, outputs, flags, &error), &error);
    CHECK_BYTES(results, matrix, sizeof matrix);
  }
  cyxla_executable_destroy(executable);
}

/* A module may ask for column-major arrays; ours are row-major all the same. */
static void overrides_layouts(void) {
  static const char *const modules[] = {
      "module @m { func.func public @main(%a: tensor<2x3xf64>) -> (tensor<2x3xf64> "
      "{mhlo.layout_mode = \"{0,1}\"}) { return %a : tensor<2x3xf64> } }",
      "module @m { func.func public @main(%a: tensor<2x3xf64> {mhlo.layout_mode = \"{0,1}\"}) -> "
      "(tensor<2x3xf64>) { return %a : tensor<2x3xf64> } }",
      "module @m { func.func public @main(%a: tensor<2x3xf64> {mhlo.layout_mode = \"{0,1}\"}) -> "
      "(tensor<2x3xf64> {mhlo.layout_mode = \"{0,1}\"}) {\n"
      "  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf64>) -> tensor<3x2xf64>\n"
      "  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x2xf64>) -> tensor<2x3xf64>\n"
      "  return %1 : tensor<2x3xf64> } }",
  };
  for (size_t i = 0; i < sizeof modules / sizeof modules[0]; ++i) {
    make_unary_program(&program, modules[i], TYPE(CYXLA_F64, 2, 3));
    check_identity();
  }
}

/* ---- donation ---- */

static void keeps_donated_inputs(void) {
  make_unary_program(
      &program,
      "module @m { func.func public @main(%a: tensor<1000xf64> {tf.aliasing_output = 0 : i32}) -> "
      "(tensor<1000xf64>) {\n  %0 = stablehlo.add %a, %a : tensor<1000xf64>\n"
      "  return %0 : tensor<1000xf64> } }",
      TYPE(CYXLA_F64, 1000));
  cyxla_executable *executable = compile(&program);
  double *values = cyxla_aligned_alloc(sizeof(double[1000])),
         *results = malloc(sizeof(double[1000]));
  CHECK(values && results);
  void *outputs[] = {results};
  const cyxla_input input = {values, CYXLA_F64, 1000};
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 1000; ++i) values[i] = i + round;
    const uint32_t flags = round % 4 ? CYXLA_ZERO_COPY : 0;
    CHECK_OK(cyxla_execute(executable, &input, outputs, flags, &error), &error);
    for (int i = 0; i < 1000; ++i) {
      CHECK_REAL(results[i], 2 * (i + round));
      CHECK_REAL(values[i], i + round);
    }
  }
  free(results);
  cyxla_aligned_free(values);
  cyxla_executable_destroy(executable);
}

/* ---- signatures ---- */

static void check_compile_refused(int32_t status) {
  cyxla_executable *executable = NULL;
  const int32_t found =
      cyxla_compile(plugin, &program.program, NULL, 0, engine, &executable, &error);
  if (found != CYXLA_INVALID_ARGUMENT) CHECK_STATUS(found, status, &error);
  fprintf(stderr, "  %.200s\n", error.message);
  CHECK(!executable);
}

static void identity_program(void) {
  make_text_program(
      &program,
      "module @m { func.func public @main(%a: tensor<3xf64>) -> (tensor<3xf64>) { return %a : "
      "tensor<3xf64> } }");
}

/* The compiler compares the signature with the module, inputs too. */
static void refuses_wrong_signatures(void) {
  static const int32_t types[] = {CYXLA_F32, CYXLA_S64, CYXLA_F64};
  for (int i = 0; i < 3; ++i) {
    const cyxla_array_type wrong = i == 2 ? TYPE(types[i], 4) : TYPE(types[i], 3);
    identity_program();
    add_input(&program, wrong);
    add_output(&program, TYPE(CYXLA_F64, 3));
    check_compile_refused(CYXLA_SIGNATURE_MISMATCH);
    identity_program();
    add_input(&program, TYPE(CYXLA_F64, 3));
    add_output(&program, wrong);
    check_compile_refused(CYXLA_SIGNATURE_MISMATCH);
  }
  identity_program();
  add_input(&program, TYPE(CYXLA_F64, 3));
  add_input(&program, TYPE(CYXLA_F64, 3));
  add_output(&program, TYPE(CYXLA_F64, 3));
  check_compile_refused(CYXLA_SIGNATURE_MISMATCH); /* one input too many */
  identity_program();
  add_input(&program, TYPE(CYXLA_F64, 3));
  check_compile_refused(CYXLA_SIGNATURE_MISMATCH); /* no output */
}

/* Without inputs there is no layout to compare: XLA finds out when the program is executed. */
static void refuses_missing_inputs(void) {
  identity_program();
  add_output(&program, TYPE(CYXLA_F64, 3));
  cyxla_executable *executable = NULL;
  if (cyxla_compile(plugin, &program.program, NULL, 0, engine, &executable, &error)) return;
  double results[3];
  void *outputs[] = {results};
  CHECK_STATUS(cyxla_execute(executable, NULL, outputs, 0, &error), CYXLA_INVALID_ARGUMENT, &error);
  fprintf(stderr, "  %.200s\n", error.message);
  cyxla_executable_destroy(executable);
}

/* ---- compile options ---- */

static int32_t compile_with(const cyxla_option *option) {
  identity_program();
  add_input(&program, TYPE(CYXLA_F64, 3));
  add_output(&program, TYPE(CYXLA_F64, 3));
  cyxla_executable *executable = NULL;
  const int32_t status =
      cyxla_compile(plugin, &program.program, option, 1, engine, &executable, &error);
  cyxla_executable_destroy(executable);
  return status;
}

static void passes_compile_options(void) {
  static const cyxla_option good[] = {
      {.name = "xla_cpu_enable_fast_math", .kind = CYXLA_OPTION_BOOL, .value.boolean = 0},
      {.name = "xla_cpu_prefer_vector_width", .kind = CYXLA_OPTION_INT64, .value.int64 = 128},
      {.name = "xla_backend_optimization_level", .kind = CYXLA_OPTION_INT64, .value.int64 = 1},
      {.name = "xla_dump_to", .kind = CYXLA_OPTION_STRING, .value.string = ""},
      {.name = "xla_cpu_enable_fast_min_max", .kind = CYXLA_OPTION_BOOL, .value.boolean = 1},
  };
  for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i)
    CHECK_OK(compile_with(&good[i]), &error);
  static const cyxla_option bad[] = {
      {.name = "xla_cpu_no_such_option", .kind = CYXLA_OPTION_BOOL, .value.boolean = 1},
      {.name = "xla_cpu_no_such_option", .kind = CYXLA_OPTION_DOUBLE, .value.float64 = 0.5},
      {.name = "xla_cpu_prefer_vector_width", .kind = CYXLA_OPTION_STRING, .value.string = "wide"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
    CHECK_STATUS(compile_with(&bad[i]), CYXLA_INVALID_ARGUMENT, &error);
    CHECK_CONTAINS(error.message, bad[i].name);
  }
}

/* NaN wins in minimum and maximum, as in JAX: the plugin's own default is another. */
static void lets_nan_win(void) {
  make_text_program(&program,
                    "module @m { func.func public @main(%a: tensor<9xf32>, %b: tensor<9xf32>) -> "
                    "(tensor<9xf32>, tensor<9xf32>) {\n"
                    "  %0 = stablehlo.minimum %a, %b : tensor<9xf32>\n"
                    "  %1 = stablehlo.maximum %a, %b : tensor<9xf32>\n"
                    "  return %0, %1 : tensor<9xf32>, tensor<9xf32> } }");
  for (int i = 0; i < 2; ++i) add_input(&program, TYPE(CYXLA_F32, 9));
  for (int i = 0; i < 2; ++i) add_output(&program, TYPE(CYXLA_F32, 9));
  cyxla_executable *executable = compile(&program);
  float first[9], second[9], results[2][9];
  for (int i = 0; i < 9; ++i) {
    first[i] = i % 2 ? NAN : (float)i;
    second[i] = i % 2 ? (float)i : NAN;
  }
  const cyxla_input inputs[] = {{first, CYXLA_F32, 9}, {second, CYXLA_F32, 9}};
  void *outputs[] = {results[0], results[1]};
  CHECK_OK(cyxla_execute(executable, inputs, outputs, 0, &error), &error);
  for (int i = 0; i < 9; ++i) CHECK(isnan(results[0][i]) && isnan(results[1][i]));
  cyxla_executable_destroy(executable);
}

/* A plugin that is known to compile arctan wrongly is mended; any other is right by itself. */
static void computes_arctangents(void) {
  make_unary_program(
      &program,
      "module @m { func.func public @main(%a: tensor<1000xf32>) -> (tensor<1000xf32>) {\n"
      "  %0 = stablehlo.constant dense<1.0> : tensor<1000xf32>\n"
      "  %1 = stablehlo.atan2 %a, %0 : tensor<1000xf32>\n"
      "  return %1 : tensor<1000xf32> } }",
      TYPE(CYXLA_F32, 1000));
  cyxla_executable *executable = compile(&program), *copy;
  cyxla_executable_info info = {.struct_size = sizeof info};
  cyxla_executable_get_info(executable, &info);
  fprintf(stderr, "  workaround: %s; %lld bytes of code\n", info.workaround ? info.workaround : "-",
          (long long)info.code_size);
  void *data;
  size_t size;
  CHECK_OK(cyxla_executable_serialize(executable, &data, &size, &error), &error);
  CHECK_OK(
      cyxla_executable_deserialize(plugin, &program.program, data, size, engine, &copy, &error),
      &error);
  cyxla_aligned_free(data);
  /* Once more: what was loaded from bytes gives bytes that can be loaded. */
  CHECK_OK(cyxla_executable_serialize(copy, &data, &size, &error), &error);
  cyxla_executable_destroy(copy);
  CHECK_OK(
      cyxla_executable_deserialize(plugin, &program.program, data, size, engine, &copy, &error),
      &error);
  cyxla_aligned_free(data);
  float values[1000], results[1000];
  void *outputs[] = {results};
  const cyxla_input input = {values, CYXLA_F32, 1000};
  for (int i = 0; i < 1000; ++i) values[i] = (float)(i - 500) / 20;
  for (int round = 0; round < 2; ++round) {
    CHECK_OK(cyxla_execute(round ? copy : executable, &input, outputs, 0, &error), &error);
    for (int i = 0; i < 1000; ++i)
      if (fabs(results[i] - atan(values[i])) > 1e-6)
        TEST_FAIL("arctan of %g is %g", (double)values[i], (double)results[i]);
  }
  cyxla_executable_destroy(copy);
  cyxla_executable_destroy(executable);
}

/* ---- garbage ---- */

static void refuses_garbage_programs(void) {
  static const char *const garbage[] = {
      "module @m {",
      "module @m { }",
      "ML\xefR",
      "ML\xefR\x0dStableHLO_v9.99.0",
      "\177ELF",
      "module @m { func.func public @main() { \"unknown.op\"() : () -> () return } }",
  };
  for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; ++i) {
    make_text_program(&program, garbage[i]);
    cyxla_executable *executable = NULL;
    const int32_t status =
        cyxla_compile(plugin, &program.program, NULL, 0, engine, &executable, &error);
    if (!status) TEST_FAIL("garbage %zu was compiled", i);
    CHECK_CONTAINS(error.message, "PJRT_Client_Compile");
  }
}

/* Bytes that are no executable at all are refused.  Nothing is tried here with bytes that nearly
 * are one: they are native code, and whoever loads them trusts their origin. */
static void refuses_garbage_executables(void) {
  identity_program();
  add_input(&program, TYPE(CYXLA_F64, 3));
  add_output(&program, TYPE(CYXLA_F64, 3));
  unsigned char garbage[1000];
  for (size_t size = 0; size < sizeof garbage; size += 37) {
    for (size_t i = 0; i < sizeof garbage; ++i) garbage[i] = (unsigned char)(i * 151 + size * 7);
    cyxla_executable *executable = NULL;
    CHECK(cyxla_executable_deserialize(plugin, &program.program, garbage, size, engine, &executable,
                                       &error));
    CHECK(!executable);
  }
}

int main(void) {
  use_plugin(2, (char *[]){"", "real"});
  RUN(describes_the_plugin);
  RUN(computes_sines);
  RUN(overrides_layouts);
  RUN(keeps_donated_inputs);
  RUN(refuses_wrong_signatures);
  RUN(refuses_missing_inputs);
  RUN(passes_compile_options);
  RUN(lets_nan_win);
  RUN(computes_arctangents);
  RUN(refuses_garbage_programs);
  RUN(refuses_garbage_executables);
}
