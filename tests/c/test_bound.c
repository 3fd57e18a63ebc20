/* Bound calls, with every engine: they do what cyxla_execute does, again and again. */
#include <pthread.h>

#include "support.h"

static cyxla_error error = CYXLA_ERROR_INIT;
static test_program program;

enum { LENGTH = 33 };

static cyxla_executable *compile_new(size_t inputs, size_t outputs) {
  make_program(&program, TYPE(CYXLA_F64, LENGTH), inputs, outputs, 3);
  return compile(&program);
}

static void check_scaled(const double *results, const double *values, double factor) {
  for (int i = 0; i < LENGTH; ++i) CHECK_REAL(results[i], factor * values[i]);
}

/* Inputs are read anew by each call, whatever the alignment of the arrays. */
static void reads_inputs_anew(void) {
  cyxla_executable *executable = compile_new(2, 2);
  char *memory = cyxla_aligned_alloc(4 * sizeof(double[LENGTH + 16]));
  CHECK(memory != NULL);
  for (size_t shift = 0; shift <= 64; shift += 8) {
    double *arrays[4];
    for (size_t i = 0; i < 4; ++i)
      arrays[i] = (double *)(memory + i * sizeof(double[LENGTH + 16]) + (i % 2 ? shift : 0));
    const cyxla_input inputs[] = {{arrays[0], CYXLA_F64, LENGTH}, {arrays[1], CYXLA_F64, LENGTH}};
    void *const outputs[] = {arrays[2], arrays[3]};
    cyxla_bound_call *call;
    CHECK_OK(cyxla_bind(executable, inputs, outputs, &call, &error), &error);
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < LENGTH; ++i) {
        arrays[0][i] = i + 100.0 * round;
        arrays[1][i] = -i - 100.0 * round;
      }
      CHECK_OK(cyxla_bound_call_execute(call, &error), &error);
      check_scaled(arrays[2], arrays[0], 3);
      check_scaled(arrays[3], arrays[1], 4);
    }
    cyxla_bound_call_destroy(call);
  }
  cyxla_aligned_free(memory);
  cyxla_executable_destroy(executable);
}

/* An output in the place of its input. */
static void arrays_may_overlap(void) {
  cyxla_executable *executable = compile_new(1, 1);
  double *array = cyxla_aligned_alloc(sizeof(double[LENGTH]));
  CHECK(array != NULL);
  const cyxla_input input = {array, CYXLA_F64, LENGTH};
  void *const outputs[] = {array};
  cyxla_bound_call *call;
  CHECK_OK(cyxla_bind(executable, &input, outputs, &call, &error), &error);
  for (int i = 0; i < LENGTH; ++i) array[i] = i;
  CHECK_OK(cyxla_bound_call_execute(call, &error), &error);
  CHECK_OK(cyxla_bound_call_execute(call, &error), &error);
  for (int i = 0; i < LENGTH; ++i) CHECK_REAL(array[i], 9 * i);
  cyxla_bound_call_destroy(call);
  cyxla_aligned_free(array);
  cyxla_executable_destroy(executable);
}

static void outputs_may_be_dropped(void) {
  cyxla_executable *executable = compile_new(1, 2);
  double values[LENGTH], results[LENGTH];
  for (int i = 0; i < LENGTH; ++i) values[i] = i;
  const cyxla_input input = {values, CYXLA_F64, LENGTH};
  void *const outputs[] = {NULL, results};
  cyxla_bound_call *call;
  CHECK_OK(cyxla_bind(executable, &input, outputs, &call, &error), &error);
  CHECK_OK(cyxla_bound_call_execute(call, &error), &error);
  check_scaled(results, values, 4);
  cyxla_bound_call_destroy(call);
  cyxla_executable_destroy(executable);
}

static void needs_no_arrays(void) {
  cyxla_executable *executable = compile_new(0, 0);
  cyxla_bound_call *call;
  CHECK_OK(cyxla_bind(executable, NULL, NULL, &call, &error), &error);
  CHECK_OK(cyxla_bound_call_execute(call, &error), &error);
  cyxla_bound_call_destroy(call);
  cyxla_executable_destroy(executable);
}

static void refuses_what_execute_refuses(void) {
  cyxla_executable *executable = compile_new(1, 1);
  double values[LENGTH] = {0};
  void *const outputs[] = {values};
  const cyxla_input wrong_type = {values, CYXLA_F32, LENGTH}, short_one = {values, CYXLA_F64, 3},
                    no_data = {NULL, CYXLA_F64, LENGTH}, good = {values, CYXLA_F64, LENGTH};
  cyxla_bound_call *call;
  CHECK_STATUS(cyxla_bind(executable, &wrong_type, outputs, &call, &error), CYXLA_INPUT_MISMATCH,
               &error);
  CHECK_CONTAINS(error.message, "test: input 0");
  CHECK_STATUS(cyxla_bind(executable, &short_one, outputs, &call, &error), CYXLA_INPUT_MISMATCH,
               &error);
  CHECK_STATUS(cyxla_bind(executable, &no_data, outputs, &call, &error), CYXLA_INPUT_MISMATCH,
               &error);
  CHECK_STATUS(cyxla_bind(executable, NULL, outputs, &call, &error), CYXLA_INVALID_ARGUMENT,
               &error);
  CHECK_STATUS(cyxla_bind(executable, &good, NULL, &call, &error), CYXLA_INVALID_ARGUMENT, &error);
  cyxla_bound_call_destroy(NULL);
  cyxla_executable_destroy(executable);
}

static void *run_often(void *argument) {
  cyxla_error own = CYXLA_ERROR_INIT;
  double *arrays = cyxla_aligned_alloc(2 * sizeof(double[64]));
  CHECK(arrays != NULL);
  const cyxla_input input = {arrays, CYXLA_F64, LENGTH};
  void *const outputs[] = {arrays + 64};
  cyxla_bound_call *call;
  CHECK_OK(cyxla_bind(argument, &input, outputs, &call, &own), &own);
  for (int round = 0; round < 2000; ++round) {
    for (int i = 0; i < LENGTH; ++i) arrays[i] = i + round;
    CHECK_OK(cyxla_bound_call_execute(call, &own), &own);
    check_scaled(arrays + 64, arrays, 3);
  }
  cyxla_bound_call_destroy(call);
  cyxla_aligned_free(arrays);
  return NULL;
}

static void threads_have_calls_of_their_own(void) {
  enum { THREADS = 4 };
  cyxla_executable *executable = compile_new(1, 1);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    CHECK_INT(pthread_create(&threads[i], NULL, run_often, executable), 0);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  cyxla_executable_destroy(executable);
}

int main(int argument_count, char **arguments) {
  use_plugin(argument_count, arguments);
  RUN(reads_inputs_anew);
  RUN(arrays_may_overlap);
  RUN(outputs_may_be_dropped);
  RUN(needs_no_arrays);
  RUN(refuses_what_execute_refuses);
  RUN(threads_have_calls_of_their_own);
  if (using_fake) check_nothing_alive(1);
  return 0;
}
