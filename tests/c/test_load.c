/* Loading program files: the stored executable where it fits, else compiling again.  Its first argument: unit
 * (no plugin), fake, or real. */
#include <unistd.h>

#include "executable_writer.h"
#include "ffi/xla_ffi_abi.h"
#include "support.h"

static cyxla_error error = CYXLA_ERROR_INIT;
static char path[] = "/tmp/cyxla-test-XXXXXX";
static test_program program;
static cyxla_file_info info;

static int32_t load(cyxla_plugin *by, int32_t wanted, cyxla_executable **out_executable) {
  return cyxla_load(path, by, wanted, out_executable, &error);
}

static void store_file(void) {
  CHECK_OK(cyxla_file_write(path, &program.program, &info, &error), &error);
}

static void check_not_loaded(cyxla_plugin *by, int32_t wanted, int32_t status, const char *part) {
  cyxla_executable *executable = NULL;
  CHECK_STATUS(load(by, wanted, &executable), status, &error);
  CHECK_CONTAINS(error.message, path);
  CHECK_CONTAINS(error.message, part);
  CHECK(!executable);
}

static cyxla_executable_info info_of(const cyxla_executable *executable) {
  cyxla_executable_info found = {.struct_size = sizeof found};
  cyxla_executable_get_info(executable, &found);
  return found;
}

/* ---- without a plugin ---- */

/* An executable that copies two floats, and whose code is of every x86-64 processor with AVX. */
static cyxla__span copying;

static void make_copying(void) {
  free(copying.data);
  copying = write_executable((parts){0});
  make_unary_program(&program, "", TYPE(CYXLA_F32, 2));
  program.program.name = "copy";
  program.inputs[0].name = "\xce\xb1";
  info = (cyxla_file_info){.struct_size = sizeof info,
                           .platform = "cpu",
                           .executable = copying.data,
                           .executable_size = copying.size};
}

static void check_copies(cyxla_executable *executable) {
  const float values[] = {1.5f, -2};
  float results[2] = {0};
  void *const outputs[] = {results};
  const cyxla_input input = {values, CYXLA_F32, 2};
  CHECK_OK(cyxla_execute(executable, &input, outputs, 0, &error), &error);
  CHECK_BYTES(results, values, sizeof values);
}

static void runs_without_a_plugin(void) {
  make_copying();
  store_file();
  for (int32_t wanted = CYXLA_ENGINE_AUTO; wanted <= CYXLA_ENGINE_DIRECT; ++wanted) {
    cyxla_executable *executable;
    CHECK_OK(load(NULL, wanted, &executable), &error);
    const cyxla_executable_info found = info_of(executable);
    CHECK_INT(found.engine, CYXLA_ENGINE_DIRECT);
    CHECK_TEXT(found.name, "copy");
    CHECK_TEXT(found.inputs[0].name, "\xce\xb1");
    check_copies(executable);
    cyxla_executable_destroy(executable);
  }
}

/* In memory, and the file is closed before the executable runs. */
static void runs_without_the_file(void) {
  make_copying();
  store_file();
  cyxla_file *file;
  cyxla_executable *executable;
  CHECK_OK(cyxla_file_open(path, &file, &error), &error);
  remove(path);
  CHECK_OK(cyxla_file_load(file, NULL, CYXLA_ENGINE_AUTO, &executable, &error), &error);
  cyxla_file_close(file);
  check_copies(executable);
  cyxla_executable_destroy(executable);
}

static void says_that_a_plugin_is_missing(void) {
  const char *missing =
      "another way needs a plugin: give one, or set the environment variable CYXLA_PLUGIN";
  make_copying();
  store_file();
  check_not_loaded(NULL, CYXLA_ENGINE_PJRT, CYXLA_FAILED_PRECONDITION, missing);
  CHECK_CONTAINS(error.message, "PJRT's engine was asked for; ");
  setenv("CYXLA_PLUGIN", "", 1);
  check_not_loaded(NULL, CYXLA_ENGINE_PJRT, CYXLA_FAILED_PRECONDITION, missing);
  setenv("CYXLA_PLUGIN", "/no/such/plugin.so", 1);
  check_not_loaded(
      NULL, CYXLA_ENGINE_PJRT, CYXLA_PLUGIN_NOT_LOADED,
      "the environment variable CYXLA_PLUGIN: can't load the plugin /no/such/plugin.so");
  unsetenv("CYXLA_PLUGIN");
  info.platform = "cuda";
  store_file();
  check_not_loaded(NULL, CYXLA_ENGINE_AUTO, CYXLA_FAILED_PRECONDITION, "its platform is cuda; ");
  make_copying();
  info.executable_size = 0;
  program.program.code_size = 1;
  store_file();
  check_not_loaded(NULL, CYXLA_ENGINE_AUTO, CYXLA_FAILED_PRECONDITION,
                   "there is no executable in it; ");
  check_not_loaded(NULL, 3, CYXLA_FAILED_PRECONDITION, "there is no executable in it; ");
}

static void says_that_the_code_is_for_another_processor(void) {
  make_copying();
  for (size_t i = 0; i + 4 < copying.size; ++i)
    if (!memcmp(copying.data + i, "+avx", 4)) memcpy(copying.data + i, "+xyz", 4);
  store_file();
  check_not_loaded(NULL, CYXLA_ENGINE_AUTO, CYXLA_FAILED_PRECONDITION, "xyz (unknown to cyxla)");
  CHECK_CONTAINS(error.message, "another way needs a plugin");
}

static void says_what_the_direct_engine_does_not_run(void) {
  const cyxla__span fft = read_data("programs/fft-plugin-0.11.2");
  make_copying();
  program.inputs[0] = TYPE(CYXLA_C64, 8);
  program.outputs[0] = TYPE(CYXLA_C64, 8);
  add_output(&program, TYPE(CYXLA_C64, 8));
  info.executable = fft.data;
  info.executable_size = fft.size;
  store_file();
  cyxla_executable *executable;
  CHECK_STATUS(load(NULL, CYXLA_ENGINE_AUTO, &executable), CYXLA_FAILED_PRECONDITION, &error);
  if (!strstr(error.message, "processor")) CHECK_CONTAINS(error.message, "fft");
  CHECK_CONTAINS(error.message, "another way needs a plugin");
  free(fft.data);
}

/* Compiling again would not help. */
static void refuses_a_signature_of_something_else(void) {
  make_copying();
  program.outputs[0] = TYPE(CYXLA_F32, 3);
  store_file();
  check_not_loaded(NULL, CYXLA_ENGINE_AUTO, CYXLA_SIGNATURE_MISMATCH,
                   "output 0  is f32[2] in the executable and f32[3] in the program");
}

static void refuses_what_is_no_file(void) {
  remove(path);
  check_not_loaded(NULL, CYXLA_ENGINE_AUTO, CYXLA_NOT_FOUND, "No such file");
}

/* The golden file of version 1, on the processors that its code is for. */
static void runs_the_golden_file(void) {
  char golden[4096];
  cyxla_executable *executable;
  snprintf(golden, sizeof golden, "%s/sine.cyxla", getenv("CYXLA_TEST_DATA"));
  const int32_t status = cyxla_load(golden, NULL, CYXLA_ENGINE_DIRECT, &executable, &error);
  if (status) {
    CHECK_STATUS(status, CYXLA_FAILED_PRECONDITION, &error);
    CHECK_CONTAINS(error.message, "processor");
    return;
  }
  const cyxla__span in = read_file("programs/sine.in"), out = read_file("programs/sine.out");
  float results[8] = {0};
  void *const outputs[] = {results};
  const cyxla_input input = {in.data, CYXLA_F32, 8};
  CHECK_INT(out.size, sizeof results);
  CHECK_OK(cyxla_execute(executable, &input, outputs, 0, &error), &error);
  CHECK_BYTES(results, out.data, out.size);
  cyxla_executable_destroy(executable);
  free(in.data);
  free(out.data);
}

/* ---- FFI targets ---- */

/* Answers the question for its version, and is never called. */
static XLA_FFI_Error *nothing(XLA_FFI_CallFrame *frame) {
  CHECK(frame->extension_start);
  XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
  metadata->api_version.major_version = 0;
  metadata->api_version.minor_version = 3;
  return NULL;
}

static void names_the_targets_that_are_missing(void) {
  static const char *const lapack[] = {"lapack_dpotrf_ffi"};
  static const char *const two[] = {"first", "registered", "second"};
  make_copying();
  info.targets = lapack;
  info.target_count = 1;
  store_file();
  check_not_loaded(NULL, CYXLA_ENGINE_AUTO, CYXLA_NOT_FOUND,
                   "needs FFI targets that are not registered for cpu: lapack_dpotrf_ffi (see "
                   "cyxla_register_ffi_target; jaxlib's LAPACK needs Python)");
  info.targets = two;
  info.target_count = 3;
  store_file();
  check_not_loaded(NULL, CYXLA_ENGINE_AUTO, CYXLA_NOT_FOUND,
                   "not registered for cpu: first, second (see cyxla_register_ffi_target)");
  info.targets = two + 1;
  info.target_count = 1;
  store_file();
  cyxla_executable *executable;
  CHECK_OK(load(NULL, CYXLA_ENGINE_AUTO, &executable), &error);
  cyxla_executable_destroy(executable);
  info.platform = "cuda";
  store_file();
  check_not_loaded(NULL, CYXLA_ENGINE_AUTO, CYXLA_NOT_FOUND, "not registered for cuda: registered");
}

static void shortens_long_lists_of_targets(void) {
  static char names[100][32];
  const char *targets[100];
  for (int i = 0; i < 100; ++i) {
    snprintf(names[i], sizeof names[i], "a_target_with_the_number_%d", i);
    targets[i] = names[i];
  }
  make_copying();
  info.targets = targets;
  info.target_count = 100;
  store_file();
  check_not_loaded(NULL, CYXLA_ENGINE_AUTO, CYXLA_NOT_FOUND,
                   "number_0, a_target_with_the_number_1");
  CHECK_CONTAINS(error.message, "(see cyxla_register_ffi_target)");
}

/* ---- with the fake plugin ---- */

static const char *fingerprint(void) {
  cyxla_plugin_info found = {.struct_size = sizeof found};
  cyxla_plugin_get_info(plugin, &found);
  return found.fingerprint;
}

static void *stored;
static size_t stored_size;

/* Makes `info` that of the program as the plugin under test compiles it. */
static void compile_to_store(void) {
  cyxla_aligned_free(stored);
  cyxla_executable *executable;
  CHECK_OK(cyxla_compile(plugin, &program.program, NULL, 0, CYXLA_ENGINE_AUTO, &executable, &error),
           &error);
  CHECK_OK(cyxla_executable_serialize(executable, &stored, &stored_size, &error), &error);
  cyxla_executable_destroy(executable);
  cyxla_plugin_info found = {.struct_size = sizeof found};
  cyxla_plugin_get_info(plugin, &found);
  info = (cyxla_file_info){.struct_size = sizeof info,
                           .platform = found.platform,
                           .executable = stored,
                           .executable_size = stored_size,
                           .fingerprint = found.fingerprint};
}

/* x times 2. */
static void make_doubling(void) {
  make_program(&program, TYPE(CYXLA_F32, 2), 1, 1, 2);
  compile_to_store();
}

static void check_doubles(cyxla_executable *executable) {
  const float values[] = {1.5f, -2};
  float results[2] = {0};
  void *const outputs[] = {results};
  const cyxla_input input = {values, CYXLA_F32, 2};
  CHECK_OK(cyxla_execute(executable, &input, outputs, 0, &error), &error);
  CHECK_REAL(results[0], 3);
  CHECK_REAL(results[1], -4);
  cyxla_executable_destroy(executable);
}

/* Loads, and checks how: by so many calls of the plugin. */
static void check_loads(cyxla_plugin *by, int32_t wanted, int deserialized, int compiled) {
  cyxla_executable *executable;
  store_file();
  fake_set("FAIL", NULL);
  CHECK_OK(load(by, wanted, &executable), &error);
  CHECK_INT(fake_calls("PJRT_Executable_DeserializeAndLoad"), deserialized);
  CHECK_INT(fake_calls("PJRT_Client_Compile"), compiled);
  check_doubles(executable);
}

static void takes_the_executable_of_the_same_plugin(void) {
  make_doubling();
  check_loads(plugin, CYXLA_ENGINE_AUTO, 1, 0);
  check_loads(plugin, CYXLA_ENGINE_PJRT, 1, 0);
  program.program.code_size = 0;
  check_loads(plugin, CYXLA_ENGINE_PJRT, 1, 0);
}

static void compiles_again_with_another_plugin(void) {
  make_doubling();
  info.fingerprint = "PJRT 0.1, another";
  check_loads(plugin, CYXLA_ENGINE_AUTO, 0, 1);
  info.fingerprint = NULL;
  check_loads(plugin, CYXLA_ENGINE_PJRT, 0, 1);
  info.executable_size = 0;
  info.fingerprint = fingerprint();
  check_loads(plugin, CYXLA_ENGINE_AUTO, 0, 1);
}

static void finds_the_plugin_of_the_environment(void) {
  make_doubling();
  setenv("CYXLA_PLUGIN", fake_path(), 1);
  check_loads(NULL, CYXLA_ENGINE_AUTO, 1, 0);
  info.fingerprint = "another";
  check_loads(NULL, CYXLA_ENGINE_PJRT, 0, 1);
  unsetenv("CYXLA_PLUGIN");
}

static void compiles_again_where_the_plugin_refuses(void) {
  make_doubling();
  store_file();
  cyxla_executable *executable;
  fake_set("FAIL", "PJRT_Executable_DeserializeAndLoad:13:other machine");
  CHECK_OK(load(plugin, CYXLA_ENGINE_AUTO, &executable), &error);
  CHECK_INT(fake_calls("PJRT_Client_Compile"), 1);
  check_doubles(executable);
  program.program.code_size = 0;
  store_file();
  check_not_loaded(plugin, CYXLA_ENGINE_AUTO, CYXLA_FAILED_PRECONDITION,
                   "there is no StableHLO in it that could be compiled");
  CHECK_CONTAINS(error.message, "other machine");
  fake_set("FAIL", "PJRT_Executable_DeserializeAndLoad:8:no memory");
  check_not_loaded(plugin, CYXLA_ENGINE_AUTO, CYXLA_RESOURCE_EXHAUSTED, "no memory");
  fake_set("FAIL", NULL);
}

static void reports_what_the_compiler_says(void) {
  make_doubling();
  info.executable_size = 0;
  store_file();
  fake_set("FAIL", "PJRT_Client_Compile:3:not this program");
  check_not_loaded(plugin, CYXLA_ENGINE_AUTO, CYXLA_INVALID_ARGUMENT, "not this program");
  fake_set("FAIL", NULL);
  check_not_loaded(plugin, CYXLA_ENGINE_DIRECT, CYXLA_INVALID_ARGUMENT,
                   "the direct engine can't run it");
  check_not_loaded(plugin, 9, CYXLA_INVALID_ARGUMENT, "9 is no cyxla_engine");
}

static void refuses_a_plugin_of_another_platform(void) {
  make_doubling();
  info.platform = "cuda";
  store_file();
  check_not_loaded(plugin, CYXLA_ENGINE_AUTO, CYXLA_INVALID_ARGUMENT,
                   "it is for cuda, and the plugin ");
  setenv("CYXLA_PLUGIN", fake_path(), 1);
  check_not_loaded(NULL, CYXLA_ENGINE_AUTO, CYXLA_PLUGIN_INVALID, "CYXLA_PLUGIN");
  unsetenv("CYXLA_PLUGIN");
}

static void knows_builds_of_plugins(void) {
  CHECK_CONTAINS(fingerprint(), "PJRT 0.");
  CHECK_CONTAINS(fingerprint(), " bytes, ");
  CHECK_INT(strlen(strrchr(fingerprint(), ' ') + 1), 16);
}

/* ---- with the real plugin ---- */

static void store_compiled(const char *code, cyxla_array_type type) {
  make_unary_program(&program, code, type);
  compile_to_store();
  store_file();
}

static const char doubled[] =
    "module @doubled { func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {"
    " %0 = stablehlo.add %a, %a : tensor<2xf32> return %0 : tensor<2xf32> } }";

static const char transformed[] =
    "module @transformed { func.func public @main(%a: tensor<8xcomplex<f64>>) -> "
    "tensor<8xcomplex<f64>> { %0 = stablehlo.fft %a, type = FFT, length = [8] : "
    "(tensor<8xcomplex<f64>>) -> tensor<8xcomplex<f64>> return %0 : tensor<8xcomplex<f64>> } }";

static void check_engine(cyxla_plugin *by, int32_t wanted, int32_t expected) {
  cyxla_executable *executable;
  CHECK_OK(load(by, wanted, &executable), &error);
  CHECK_INT(info_of(executable).engine, expected);
  check_doubles(executable);
}

static void runs_what_the_real_plugin_compiled(void) {
  store_compiled(doubled, TYPE(CYXLA_F32, 2));
  check_engine(NULL, CYXLA_ENGINE_AUTO, CYXLA_ENGINE_DIRECT);
  check_engine(NULL, CYXLA_ENGINE_DIRECT, CYXLA_ENGINE_DIRECT);
  check_engine(plugin, CYXLA_ENGINE_AUTO, CYXLA_ENGINE_DIRECT);
  check_engine(plugin, CYXLA_ENGINE_PJRT, CYXLA_ENGINE_PJRT);
  info.fingerprint = "another";
  store_file();
  check_engine(plugin, CYXLA_ENGINE_PJRT, CYXLA_ENGINE_PJRT);
  info.executable_size = 0;
  store_file();
  check_engine(plugin, CYXLA_ENGINE_DIRECT, CYXLA_ENGINE_DIRECT);
}

/* The sum of 8 values is the first of their transform. */
static void check_transforms(cyxla_plugin *by) {
  cyxla_executable *executable;
  double values[16] = {0}, results[16];
  void *const outputs[] = {results};
  const cyxla_input input = {values, CYXLA_C128, 8};
  for (int i = 0; i < 8; ++i) values[2 * i] = i;
  CHECK_OK(load(by, CYXLA_ENGINE_AUTO, &executable), &error);
  CHECK_INT(info_of(executable).engine, CYXLA_ENGINE_PJRT);
  CHECK_CONTAINS(info_of(executable).engine_reason, "fft");
  CHECK_OK(cyxla_execute(executable, &input, outputs, 0, &error), &error);
  CHECK_REAL(results[0], 28);
  CHECK_REAL(results[1], 0);
  cyxla_executable_destroy(executable);
}

static void asks_for_the_plugin_where_it_is_needed(void) {
  store_compiled(transformed, TYPE(CYXLA_C128, 8));
  check_not_loaded(NULL, CYXLA_ENGINE_AUTO, CYXLA_FAILED_PRECONDITION, "fft");
  CHECK_CONTAINS(error.message, "CYXLA_PLUGIN");
  check_transforms(plugin);
  setenv("CYXLA_PLUGIN", real_path(), 1);
  check_transforms(NULL);
  info.fingerprint = "jaxlib 0.11.2";
  store_file();
  check_transforms(NULL);
  unsetenv("CYXLA_PLUGIN");
  check_not_loaded(plugin, CYXLA_ENGINE_DIRECT, CYXLA_UNIMPLEMENTED, "fft");
}

/* The options of the file go to the compiler: this one it does not know. */
static void compiles_with_the_options_of_the_file(void) {
  static const cyxla_option options[] = {
      {.name = "xla_cpu_prefer_vector_width", .kind = CYXLA_OPTION_INT64, .value.int64 = 128},
      {.name = "xla_no_such_option", .kind = CYXLA_OPTION_BOOL}};
  store_compiled(doubled, TYPE(CYXLA_F32, 2));
  info.executable_size = 0;
  info.options = options;
  info.option_count = 1;
  store_file();
  check_engine(plugin, CYXLA_ENGINE_AUTO, CYXLA_ENGINE_DIRECT);
  info.option_count = 2;
  store_file();
  check_not_loaded(plugin, CYXLA_ENGINE_AUTO, CYXLA_INVALID_ARGUMENT, "xla_no_such_option");
}

/* ---- which tests ---- */

static void run_unit(void) {
  const cyxla_ffi_target target = {
      .struct_size = sizeof target, .name = "registered", .platform = "cpu", .execute = nothing};
  CHECK_OK(cyxla_register_ffi_target(&target, &error), &error);
  RUN(runs_without_a_plugin);
  RUN(runs_without_the_file);
  RUN(says_that_a_plugin_is_missing);
  RUN(says_that_the_code_is_for_another_processor);
  RUN(says_what_the_direct_engine_does_not_run);
  RUN(refuses_a_signature_of_something_else);
  RUN(refuses_what_is_no_file);
  RUN(runs_the_golden_file);
  RUN(names_the_targets_that_are_missing);
  RUN(shortens_long_lists_of_targets);
  free(copying.data);
}

static void run_fake(void) {
  RUN(takes_the_executable_of_the_same_plugin);
  RUN(compiles_again_with_another_plugin);
  RUN(finds_the_plugin_of_the_environment);
  RUN(compiles_again_where_the_plugin_refuses);
  RUN(reports_what_the_compiler_says);
  RUN(refuses_a_plugin_of_another_platform);
  RUN(knows_builds_of_plugins);
  check_nothing_alive(1);
}

static void run_real(void) {
  RUN(runs_what_the_real_plugin_compiled);
  RUN(asks_for_the_plugin_where_it_is_needed);
  RUN(compiles_with_the_options_of_the_file);
  RUN(knows_builds_of_plugins);
}

int main(int argument_count, char **arguments) {
  const bool is_unit = argument_count == 2 && !strcmp(arguments[1], "unit");
  unsetenv("CYXLA_PLUGIN");
  if (!is_unit) use_plugin(argument_count, arguments);
  const int descriptor = mkstemp(path);
  CHECK(descriptor >= 0);
  close(descriptor);
  (is_unit ? run_unit : using_fake ? run_fake : run_real)();
  cyxla_aligned_free(stored);
  remove(path);
}
