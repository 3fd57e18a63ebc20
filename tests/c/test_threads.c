/* Many threads execute at once: on one executable, on many, and while others are compiled.
 * ROUNDS can be set in the environment for slow machines and checkers. */
#include <pthread.h>

#include "support.h"

enum { THREADS = 8, LENGTH = 4, EXECUTABLES = 4 };

static long rounds = 100000;
static cyxla_executable *executables[EXECUTABLES];
static test_program program;

static cyxla_executable *compile_factor(double factor) {
  cyxla_array_type type = TYPE(CYXLA_F64, LENGTH);
  make_program(&program, type, 2, 2, factor);
  return compile(&program);
}

/* One call with numbers of this thread and round. */
static void call_once(int which, double *arrays[2], long number) {
  cyxla_error error = {.struct_size = sizeof error};
  double results[2][LENGTH];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < LENGTH; ++j) arrays[i][j] = (double)(number + i * 10 + j);
  const cyxla_input inputs[] = {{arrays[0], CYXLA_F64, LENGTH}, {arrays[1], CYXLA_F64, LENGTH}};
  void *outputs[] = {results[0], number % 5 ? results[1] : NULL};
  CHECK_OK(cyxla_execute(executables[which], inputs, outputs, (uint32_t)(number % 2), &error),
           &error);
  for (int k = 0; k < 2; ++k)
    for (int j = 0; outputs[k] && j < LENGTH; ++j)
      CHECK_REAL(results[k][j], (2 + which + k) * (double)(number + k * 10 + j));
}

static void *call_often(void *argument) {
  const int thread = *(int *)argument;
  double *arrays[2];
  for (int i = 0; i < 2; ++i)
    CHECK((arrays[i] = cyxla_aligned_alloc(sizeof(double[LENGTH]))) != NULL);
  for (long round = 0; round < rounds; ++round)
    call_once(thread < 0 ? 0 : (int)(round + thread) % EXECUTABLES, arrays,
              round + 1000000 * (thread < 0 ? -thread : thread));
  for (int i = 0; i < 2; ++i) cyxla_aligned_free(arrays[i]);
  return NULL;
}

static void run_threads(bool one_executable) {
  pthread_t threads[THREADS];
  int numbers[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    numbers[i] = one_executable ? -1 - i : i;
    CHECK_INT(pthread_create(&threads[i], NULL, call_often, &numbers[i]), 0);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

static void executes_one_executable(void) {
  run_threads(true);
}

static void executes_many_executables(void) {
  run_threads(false);
}

/* More threads than there are slots, one after the other: states are shared and handed on. */
static void executes_from_many_short_threads(void) {
  const long kept = rounds;
  rounds = 10;
  for (int i = 0; i < 30; ++i) run_threads(i % 2);
  rounds = kept;
}

/* Each thread compiles, executes and destroys executables of its own. */
static void *compile_often(void *argument) {
  static _Thread_local test_program own;
  cyxla_error error = {.struct_size = sizeof error};
  for (int round = 0; round < (using_fake ? 200 : 10); ++round) {
    const cyxla_array_type *type = argument;
    make_program(&own, *type, 1, 1, 2 + round);
    cyxla_executable *executable = compile(&own);
    const double values[LENGTH] = {1, 2, 3, 4};
    double results[LENGTH];
    void *outputs[] = {results};
    const cyxla_input input = {values, CYXLA_F64, LENGTH};
    CHECK_OK(cyxla_execute(executable, &input, outputs, 0, &error), &error);
    CHECK_REAL(results[3], 4 * (2 + round));
    cyxla_executable_destroy(executable);
  }
  return NULL;
}

static void compiles_from_many_threads(void) {
  cyxla_array_type type = TYPE(CYXLA_F64, LENGTH);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    CHECK_INT(pthread_create(&threads[i], NULL, compile_often, &type), 0);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

int main(int argument_count, char **arguments) {
  use_plugin(argument_count, arguments);
  if (engine == CYXLA_ENGINE_DIRECT) rounds *= 10; /* its calls are cheap */
  if (getenv("CYXLA_TEST_ROUNDS")) rounds = strtol(getenv("CYXLA_TEST_ROUNDS"), NULL, 10);
  for (int i = 0; i < EXECUTABLES; ++i) executables[i] = compile_factor(2 + i);
  RUN(executes_one_executable);
  RUN(executes_many_executables);
  RUN(executes_from_many_short_threads);
  RUN(compiles_from_many_threads);
  for (int i = 0; i < EXECUTABLES; ++i) cyxla_executable_destroy(executables[i]);
  if (using_fake) check_nothing_alive(1);
}
