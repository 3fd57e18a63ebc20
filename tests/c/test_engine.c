/* Which engine an executable gets, and what only the direct engine promises; with the real plugin. */
#include <fenv.h>
#include <pthread.h>

#include "base/thread_number.h"
#include "support.h"

static cyxla_error error = CYXLA_ERROR_INIT;
static test_program program;
static void *bytes;
static size_t size;

static const char doubled[] =
    "module @doubled { func.func public @main(%a: tensor<3xf64>) -> tensor<3xf64> {"
    " %0 = stablehlo.add %a, %a : tensor<3xf64> return %0 : tensor<3xf64> } }";

static const char transformed[] =
    "module @transformed { func.func public @main(%a: tensor<8xcomplex<f64>>) -> "
    "tensor<8xcomplex<f64>> { %0 = stablehlo.fft %a, type = FFT, length = [8] : "
    "(tensor<8xcomplex<f64>>) -> tensor<8xcomplex<f64>> return %0 : tensor<8xcomplex<f64>> } }";

static cyxla_executable *compile_with(int32_t wanted) {
  cyxla_executable *executable;
  CHECK_OK(cyxla_compile(plugin, &program.program, NULL, 0, wanted, &executable, &error), &error);
  return executable;
}

static cyxla_executable_info info_of(const cyxla_executable *executable) {
  cyxla_executable_info info = {.struct_size = sizeof info};
  cyxla_executable_get_info(executable, &info);
  return info;
}

static int32_t load(cyxla_plugin *by, const cyxla_program *with, int32_t wanted,
                    cyxla_executable **out_executable) {
  return cyxla_executable_deserialize(by, with, bytes, size, wanted, out_executable, &error);
}

/* Leaves the serialized program in `bytes`. */
static void serialize(const char *code, cyxla_array_type type) {
  make_unary_program(&program, code, type);
  cyxla_aligned_free(bytes);
  cyxla_executable *executable = compile_with(CYXLA_ENGINE_AUTO);
  CHECK_OK(cyxla_executable_serialize(executable, &bytes, &size, &error), &error);
  cyxla_executable_destroy(executable);
}

static void check_doubles(cyxla_executable *executable) {
  const double values[] = {1, -2, 3.5};
  double results[3] = {0};
  const cyxla_input input = {values, CYXLA_F64, 3};
  void *const outputs[] = {results};
  CHECK_OK(cyxla_execute(executable, &input, outputs, 0, &error), &error);
  for (int i = 0; i < 3; ++i) CHECK_REAL(results[i], 2 * values[i]);
}

/* ---- the choice ---- */

static void compiles_for_each_engine(void) {
  static const int32_t wanted[] = {CYXLA_ENGINE_AUTO, CYXLA_ENGINE_DIRECT, CYXLA_ENGINE_PJRT};
  static const char *const reasons[] = {"every thunk", "every thunk", "asked for"};
  make_unary_program(&program, doubled, TYPE(CYXLA_F64, 3));
  for (int i = 0; i < 3; ++i) {
    cyxla_executable *executable = compile_with(wanted[i]);
    const cyxla_executable_info info = info_of(executable);
    CHECK_INT(info.engine, wanted[i] ? wanted[i] : CYXLA_ENGINE_DIRECT);
    CHECK_CONTAINS(info.engine_reason, reasons[i]);
    CHECK_INT(info.thunk_kind_count, 1);
    CHECK_TEXT(info.thunks[0].kind, "kernel");
    CHECK_INT(info.thunks[0].count, 1);
    CHECK(info.code_size > 0);
    CHECK_INT(info.temp_size, 0);
    check_doubles(executable);
    cyxla_executable_destroy(executable);
  }
}

static void leaves_other_thunks_to_pjrt(void) {
  make_unary_program(&program, transformed, TYPE(CYXLA_C128, 8));
  cyxla_executable *executable = compile_with(CYXLA_ENGINE_AUTO);
  const cyxla_executable_info info = info_of(executable);
  CHECK_INT(info.engine, CYXLA_ENGINE_PJRT);
  CHECK_CONTAINS(info.engine_reason, "fft");
  CHECK_TEXT(info.thunks[0].kind, "fft");
  cyxla_executable_destroy(executable);
  CHECK_STATUS(
      cyxla_compile(plugin, &program.program, NULL, 0, CYXLA_ENGINE_DIRECT, &executable, &error),
      CYXLA_UNIMPLEMENTED, &error);
  CHECK_CONTAINS(error.message, "test: the direct engine can't run it: ");
  CHECK_CONTAINS(error.message, "fft");
}

static void refuses_other_engines(void) {
  make_unary_program(&program, doubled, TYPE(CYXLA_F64, 3));
  cyxla_executable *executable;
  CHECK_STATUS(cyxla_compile(plugin, &program.program, NULL, 0, 3, &executable, &error),
               CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "3 is no cyxla_engine");
}

/* ---- loading ---- */

static void loads_for_each_engine(void) {
  serialize(doubled, TYPE(CYXLA_F64, 3));
  for (int32_t wanted = CYXLA_ENGINE_AUTO; wanted <= CYXLA_ENGINE_PJRT; ++wanted) {
    cyxla_executable *executable;
    CHECK_OK(load(plugin, &program.program, wanted, &executable), &error);
    CHECK_INT(info_of(executable).engine, wanted ? wanted : CYXLA_ENGINE_DIRECT);
    check_doubles(executable);
    void *again;
    size_t again_size;
    CHECK_OK(cyxla_executable_serialize(executable, &again, &again_size, &error), &error);
    CHECK_INT(again_size, size);
    CHECK_BYTES(again, bytes, size);
    cyxla_aligned_free(again);
    cyxla_executable_destroy(executable);
  }
}

static void loads_without_a_plugin(void) {
  serialize(doubled, TYPE(CYXLA_F64, 3));
  cyxla_executable *executable;
  CHECK_OK(load(NULL, &program.program, CYXLA_ENGINE_AUTO, &executable), &error);
  check_doubles(executable);
  cyxla_executable_destroy(executable);
  serialize(transformed, TYPE(CYXLA_C128, 8));
  CHECK_STATUS(load(NULL, &program.program, CYXLA_ENGINE_AUTO, &executable), CYXLA_UNIMPLEMENTED,
               &error);
  CHECK_CONTAINS(error.message, "there is no plugin");
  CHECK_CONTAINS(error.message, "fft");
}

static void loads_without_a_program(void) {
  serialize(doubled, TYPE(CYXLA_F64, 3));
  cyxla_executable *executable;
  CHECK_OK(load(NULL, NULL, CYXLA_ENGINE_AUTO, &executable), &error);
  const cyxla_executable_info info = info_of(executable);
  CHECK_CONTAINS(info.name, "doubled");
  CHECK_INT(info.input_count, 1);
  CHECK_INT(info.inputs[0].element_type, CYXLA_F64);
  CHECK_INT(info.inputs[0].rank, 1);
  CHECK_INT(info.inputs[0].dimensions[0], 3);
  CHECK_INT(info.output_count, 1);
  CHECK_INT(info.output_sizes[0], 24);
  check_doubles(executable);
  cyxla_executable_destroy(executable);
}

static void compares_the_whole_signature(void) {
  serialize(doubled, TYPE(CYXLA_F64, 3));
  cyxla_executable *executable;
  program.inputs[0] = TYPE(CYXLA_S64, 3); /* of the same size */
  CHECK_STATUS(load(NULL, &program.program, CYXLA_ENGINE_AUTO, &executable),
               CYXLA_SIGNATURE_MISMATCH, &error);
  CHECK_CONTAINS(error.message, "input 0");
  CHECK_CONTAINS(error.message, "f64[3] in the executable and s64[3] in the program");
  program.inputs[0] = TYPE(CYXLA_F64, 3);
  program.outputs[0] = TYPE(CYXLA_F64, 3, 1);
  CHECK_STATUS(load(NULL, &program.program, CYXLA_ENGINE_AUTO, &executable),
               CYXLA_SIGNATURE_MISMATCH, &error);
  CHECK_CONTAINS(error.message, "output 0");
  add_input(&program, TYPE(CYXLA_F64, 3));
  CHECK_STATUS(load(NULL, &program.program, CYXLA_ENGINE_AUTO, &executable),
               CYXLA_SIGNATURE_MISMATCH, &error);
  CHECK_CONTAINS(error.message, "1 inputs and the program 2");
}

static void refuses_garbage(void) {
  make_unary_program(&program, doubled, TYPE(CYXLA_F64, 3));
  cyxla_executable *executable;
  for (size_t length = 0; length < 8; ++length)
    CHECK(cyxla_executable_deserialize(NULL, &program.program, "garbage", length, CYXLA_ENGINE_AUTO,
                                       &executable, &error));
}

/* ---- any number of threads ---- */

enum { THREADS = CYXLA__THREAD_LIMIT + 40 };
static pthread_barrier_t together;

static void *execute_once_together(void *executable) {
  pthread_barrier_wait(&together);
  for (int i = 0; i < 10; ++i) {
    cyxla_error own = CYXLA_ERROR_INIT;
    const double values[] = {1, 2, 3};
    double results[3];
    const cyxla_input input = {values, CYXLA_F64, 3};
    void *const outputs[] = {results};
    CHECK_OK(cyxla_execute(executable, &input, outputs, 0, &own), &own);
    CHECK_REAL(results[2], 6);
  }
  pthread_barrier_wait(&together);
  return NULL;
}

static void more_threads_than_numbers(void) {
  make_unary_program(&program, doubled, TYPE(CYXLA_F64, 3));
  cyxla_executable *executable = compile_with(CYXLA_ENGINE_DIRECT);
  pthread_t threads[THREADS];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_barrier_init(&together, NULL, THREADS);
  for (int i = 0; i < THREADS; ++i)
    CHECK_INT(pthread_create(&threads[i], &attributes, execute_once_together, executable), 0);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&together);
  pthread_attr_destroy(&attributes);
  cyxla_executable_destroy(executable);
}

/* ---- the floating-point environment ---- */

/* A subnormal number doubled is zero in XLA's environment, whatever the caller's is; and his is as it was,
 * his flags too. */
static void keeps_the_environment(void) {
  static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  make_unary_program(&program, doubled, TYPE(CYXLA_F64, 3));
  cyxla_executable *executable = compile_with(CYXLA_ENGINE_DIRECT);
  const double values[] = {1e-310, 1.0 / 3, 1e300};
  const cyxla_input input = {values, CYXLA_F64, 3};
  double results[3];
  void *const outputs[] = {results};
  for (int i = 0; i < 4; ++i) {
    CHECK_INT(fesetround(roundings[i]), 0);
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(FE_DIVBYZERO);
    CHECK_OK(cyxla_execute(executable, &input, outputs, 0, &error), &error);
    CHECK_INT(fegetround(), roundings[i]);
    CHECK_INT(fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
    fesetround(FE_TONEAREST);
    volatile double subnormal = 1e-310;
    CHECK(subnormal + subnormal > 0);
    CHECK_REAL(results[0], 0);
    CHECK_REAL(results[1], 2.0 / 3);
  }
  cyxla_executable_destroy(executable);
}

int main(void) {
  use_plugin(2, (char *[]){"test_engine", "direct"});
  RUN(compiles_for_each_engine);
  RUN(leaves_other_thunks_to_pjrt);
  RUN(refuses_other_engines);
  RUN(loads_for_each_engine);
  RUN(loads_without_a_plugin);
  RUN(loads_without_a_program);
  RUN(compares_the_whole_signature);
  RUN(refuses_garbage);
  RUN(more_threads_than_numbers);
  RUN(keeps_the_environment);
  cyxla_aligned_free(bytes);
  return 0;
}
