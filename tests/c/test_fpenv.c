/* Handlers of custom calls that leave another floating-point environment behind: neither the caller nor
 * the rest of the program notices.  Its first argument: real or direct. */
#include "base/fpenv.h"
#include "ffi/xla_ffi_abi.h"
#include "support.h"

#if !defined(__x86_64__)

int main(void) {
  return TEST_SKIPPED; /* the states below are written as MXCSR has them */
}

#else

static cyxla_error error = CYXLA_ERROR_INIT;
static test_program program;

/* Rounding upwards, towards zero, subnormal numbers as they are, traps on all that can go wrong. */
static const unsigned states[] = {0x1f80, 0x5f80, 0x7f80, 0x9fc0, 0x0000, 0xe040};
enum { STATE_COUNT = sizeof states / sizeof states[0] };

/* ---- handlers ---- */

static unsigned left_behind; /* the state that handlers leave */
static unsigned seen;        /* the state in which they are called */
static bool fails;

typedef struct buffer {
  size_t struct_size;
  void *extension_start;
  int type;
  void *data;
} buffer;

static bool answer(XLA_FFI_CallFrame *frame) {
  if (!frame->extension_start) return false;
  XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
  metadata->api_version.major_version = 0;
  metadata->api_version.minor_version = 1;
  return true;
}

static XLA_FFI_Error *leave(XLA_FFI_CallFrame *frame) {
  XLA_FFI_Error_Create_Args args = {.struct_size = sizeof args,
                                    .message = "it was asked to fail",
                                    .errc = (XLA_FFI_Error_Code)CYXLA_ABORTED};
  XLA_FFI_Error *failure = fails ? frame->api->XLA_FFI_Error_Create(&args) : NULL;
  _mm_setcsr(left_behind);
  return failure;
}

static XLA_FFI_Error *copy(XLA_FFI_CallFrame *frame) {
  if (answer(frame)) return NULL;
  const buffer *from = frame->args.args[0], *to = frame->rets.rets[0];
  memcpy(to->data, from->data, sizeof(float[3]));
  seen = _mm_getcsr();
  return leave(frame);
}

static XLA_FFI_Error *instantiate(XLA_FFI_CallFrame *frame) {
  return answer(frame) ? NULL : leave(frame);
}

static void register_target(const char *name, cyxla_ffi_handler first) {
  const cyxla_ffi_target target = {.struct_size = sizeof target,
                                   .name = name,
                                   .platform = "cpu",
                                   .instantiate = first,
                                   .execute = copy};
  CHECK_OK(cyxla_register_ffi_target(&target, &error), &error);
}

/* ---- programs ---- */

/* x + x, the copy of that by a handler, and the copy's sum with itself. */
static cyxla_executable *compile_call(const char *name) {
  char code[1024];
  snprintf(code, sizeof code,
           "module @m { func.func public @main(%%a: tensor<3xf32>) -> (tensor<3xf32>) {\n"
           "  %%0 = stablehlo.custom_call @%s(%%a) {api_version = 4 : i32, backend_config = {}}"
           " : (tensor<3xf32>) -> tensor<3xf32>\n"
           "  %%1 = stablehlo.add %%0, %%0 : tensor<3xf32>\n  return %%1 : tensor<3xf32> } }",
           name);
  make_unary_program(&program, code, TYPE(CYXLA_F32, 3));
  return compile(&program);
}

static int32_t run(cyxla_executable *executable, float results[3]) {
  static const float values[] = {1e-40f, 1, 2};
  const cyxla_input input = {values, CYXLA_F32, 3};
  void *outputs[] = {results};
  return cyxla_execute(executable, &input, outputs, 0, &error);
}

/* ---- tests ---- */

static void check_environment(unsigned expected) {
  const unsigned found = _mm_getcsr();
  _mm_setcsr(0x1f80);
  if ((found ^ expected) & ~CYXLA__FPENV_FLAGS) TEST_FAIL("MXCSR is %x, not %x", found, expected);
}

/* States of callers: none traps, since the checks compute, too. */
static void check_calls(cyxla_executable *executable, int32_t expected) {
  for (int caller = 0; caller < 4; ++caller)
    for (int i = 0; i < STATE_COUNT; ++i) {
      left_behind = states[i];
      float results[3] = {-1, -1, -1};
      _mm_setcsr(states[caller]);
      const int32_t status = run(executable, results);
      check_environment(states[caller]);
      CHECK_STATUS(status, expected, &error);
      CHECK_INT(seen & ~CYXLA__FPENV_FLAGS, CYXLA__FPENV);
      if (status) continue;
      CHECK_REAL(results[1], 2);
      CHECK_REAL(results[2], 4);
      CHECK_REAL(results[0], 0);
    }
}

static void a_caller_gets_his_environment_back(void) {
  left_behind = 0x1f80;
  cyxla_executable *executable = compile_call("copy");
  check_calls(executable, CYXLA_OK);
  fails = true;
  check_calls(executable, CYXLA_ABORTED);
  fails = false;
  check_calls(executable, CYXLA_OK);
  cyxla_executable_destroy(executable);
}

/* Older plugins have no place for the stage instantiate. */
static bool can_instantiate(void) {
  cyxla_ffi_target_info info = {.struct_size = sizeof info};
  CHECK_OK(cyxla_ffi_target_get_info(1, plugin, &info, &error), &error);
  CHECK_TEXT(info.name, "copy_with_state");
  return info.state != CYXLA_FFI_FAILED;
}

static void so_he_does_after_a_compilation(void) {
  if (!can_instantiate()) return;
  left_behind = 0x5f80;
  _mm_setcsr(0x9fc0);
  cyxla_executable *executable = compile_call("copy_with_state");
  check_environment(0x9fc0);
  void *bytes;
  size_t size;
  CHECK_OK(cyxla_executable_serialize(executable, &bytes, &size, &error), &error);
  for (int caller = 0; caller < 4; ++caller) {
    cyxla_executable *loaded;
    _mm_setcsr(states[caller]);
    const int32_t status = cyxla_executable_deserialize(plugin, &program.program, bytes, size,
                                                        engine, &loaded, &error);
    check_environment(states[caller]);
    CHECK_OK(status, &error);
    cyxla_executable_destroy(loaded);
  }
  cyxla_aligned_free(bytes);
  cyxla_executable_destroy(executable);
}

/* What XLA computes while it compiles does not depend on how the caller rounds. */
static void constants_are_computed_as_usual(void) {
  static const char code[] =
      "module @m { func.func public @main() -> (tensor<f32>) {\n"
      "  %0 = stablehlo.constant dense<1.0> : tensor<f32>\n"
      "  %1 = stablehlo.constant dense<3.0> : tensor<f32>\n"
      "  %2 = stablehlo.divide %0, %1 : tensor<f32>\n  return %2 : tensor<f32> } }";
  make_text_program(&program, code);
  add_output(&program, SCALAR(CYXLA_F32));
  for (int caller = 0; caller < 4; ++caller) {
    _mm_setcsr(states[caller]);
    cyxla_executable *executable = compile(&program);
    check_environment(states[caller]);
    float result;
    void *outputs[] = {&result};
    CHECK_OK(cyxla_execute(executable, NULL, outputs, 0, &error), &error);
    CHECK_REAL(result, 1.0f / 3);
    cyxla_executable_destroy(executable);
  }
}

int main(int argument_count, char **arguments) {
  register_target("copy", NULL);
  register_target("copy_with_state", instantiate);
  use_plugin(argument_count, arguments);
  RUN(a_caller_gets_his_environment_back);
  RUN(so_he_does_after_a_compilation);
  RUN(constants_are_computed_as_usual);
}

#endif
