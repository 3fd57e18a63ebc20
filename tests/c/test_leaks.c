/* Memory stays flat over very many calls, failing calls, and executables.
 * CYXLA_TEST_ROUNDS (1000000 by default) can be set lower for slow checkers. */
#include "support.h"

enum { LENGTH = 16 };

static cyxla_error error = CYXLA_ERROR_INIT;
static test_program program;
static long rounds = 1000000;

/* Grows by less than `allowed` bytes from the end of a warm-up to the end of `count` steps. */
static void check_flat(void (*step)(long), long count, long allowed) {
  for (long i = 0; i < count / 10 + 1; ++i) step(i);
  const long before = resident_bytes();
  for (long i = 0; i < count; ++i) step(i);
  const long grown = resident_bytes() - before;
  fprintf(stderr, "  %ld times: %ld KiB more\n", count, grown / 1024);
  if (!getenv("CYXLA_TEST_NO_RSS") && grown > allowed) TEST_FAIL("%ld bytes more", grown);
}

static cyxla_executable *executable;
static double *values, results[LENGTH];

static void call(long number) {
  void *outputs[] = {number % 3 ? results : NULL};
  const cyxla_input input = {values + number % 2, CYXLA_F64, LENGTH};
  values[0] = (double)number;
  CHECK_OK(cyxla_execute(executable, &input, outputs, number % 4 ? CYXLA_ZERO_COPY : 0, &error),
           &error);
}

static void call_with_new_memory(long number) {
  double *fresh = cyxla_aligned_alloc(sizeof(double[LENGTH]) + (size_t)(number % 7) * 4096);
  CHECK(fresh);
  memset(fresh, 0, sizeof(double[LENGTH]));
  void *outputs[] = {results};
  const cyxla_input input = {fresh, CYXLA_F64, LENGTH};
  CHECK_OK(cyxla_execute(executable, &input, outputs, CYXLA_ZERO_COPY, &error), &error);
  cyxla_aligned_free(fresh);
}

static void call_wrongly(long number) {
  void *outputs[] = {results};
  const cyxla_input input = {values, CYXLA_F64, LENGTH + 1 + (size_t)number % 3};
  CHECK_INT(cyxla_execute(executable, &input, outputs, 0, number % 2 ? &error : NULL),
            CYXLA_INPUT_MISMATCH);
}

/* Fails in the plugin: the bytes don't fit what the executable really takes. */
static cyxla_executable *mismatched;
static void call_plugin_wrongly(long number) {
  void *outputs[] = {results};
  const cyxla_input input = {values, CYXLA_F64, LENGTH / 2};
  CHECK(cyxla_execute(mismatched, &input, outputs, (uint32_t)(number % 2), &error));
}

static void compile_and_destroy(long number) {
  cyxla_executable *made = compile(&program);
  if (number % 2) {
    void *outputs[] = {results};
    const cyxla_input input = {values, CYXLA_F64, LENGTH};
    CHECK_OK(cyxla_execute(made, &input, outputs, 0, &error), &error);
  }
  cyxla_executable_destroy(made);
}

static void compile_wrongly(long number) {
  cyxla_executable *made;
  cyxla_program wrong = program.program;
  if (number % 2)
    wrong.code = "nonsense", wrong.code_size = 8;
  else
    wrong.output_count = 2;
  CHECK(cyxla_compile(plugin, &wrong, NULL, 0, engine, &made, &error));
}

static void serialize_and_load(long number) {
  (void)number;
  void *data;
  size_t size;
  cyxla_executable *made;
  CHECK_OK(cyxla_executable_serialize(executable, &data, &size, &error), &error);
  CHECK_OK(
      cyxla_executable_deserialize(plugin, &program.program, data, size, engine, &made, &error),
      &error);
  cyxla_aligned_free(data);
  cyxla_executable_destroy(made);
}

static int32_t load_half(cyxla_executable **out_executable) {
  void *data;
  size_t size;
  CHECK_OK(cyxla_executable_serialize(executable, &data, &size, &error), &error);
  static cyxla_array_type half;
  if (!half.rank) half = TYPE(CYXLA_F64, LENGTH / 2);
  cyxla_program wrong = program.program;
  wrong.inputs = &half;
  const int32_t status =
      cyxla_executable_deserialize(plugin, &wrong, data, size, engine, out_executable, &error);
  cyxla_aligned_free(data);
  return status;
}

/* An executable that takes LENGTH numbers, with a signature that says half as many: of XLA's CPU
 * compiler's it is found out. */
static void load_wrongly(long number) {
  (void)number;
  cyxla_executable *made;
  CHECK_STATUS(load_half(&made), CYXLA_SIGNATURE_MISMATCH, &error);
}

/* Memory areas of the process. */
static long count_mappings(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL);
  long count = 0;
  for (int character; (character = fgetc(maps)) != EOF;) count += character == '\n';
  fclose(maps);
  return count;
}

int main(int argument_count, char **arguments) {
  use_plugin(argument_count, arguments);
  if (getenv("CYXLA_TEST_ROUNDS")) rounds = strtol(getenv("CYXLA_TEST_ROUNDS"), NULL, 10);
  cyxla_array_type type = TYPE(CYXLA_F64, LENGTH);
  make_program(&program, type, 1, 1, 2);
  add_output(&program, type); /* for compile_wrongly */
  program.program.output_count = 1;
  executable = compile(&program);
  if (using_fake) CHECK_OK(load_half(&mismatched), &error);
  CHECK((values = cyxla_aligned_alloc(sizeof(double[LENGTH + 8]))) != NULL);
  memset(values, 0, sizeof(double[LENGTH + 8]));

  const long megabyte = 1L << 20;
  const long compilations = using_fake ? rounds / 200 : rounds / 10000;
  fprintf(stderr, "calls\n");
  check_flat(call, engine == CYXLA_ENGINE_DIRECT ? 10 * rounds : rounds, megabyte);
  check_flat(call_with_new_memory, rounds / 10, megabyte);
  fprintf(stderr, "failing calls\n");
  check_flat(call_wrongly, rounds / 10, megabyte);
  if (using_fake) check_flat(call_plugin_wrongly, rounds / 10, megabyte);
  /* XLA's own compiler keeps some 10 KB for each compilation; a leak of ours would be the same for
   * the fake plugin. */
  const long kept = using_fake ? megabyte : 40000 * compilations + 4 * megabyte;
  fprintf(stderr, "executables\n");
  check_flat(compile_and_destroy, compilations, kept);
  check_flat(compile_wrongly, compilations, kept);
  check_flat(serialize_and_load, compilations, kept);
  if (!using_fake) check_flat(load_wrongly, compilations, kept);
  if (engine == CYXLA_ENGINE_DIRECT) {
    const long mappings = count_mappings();
    check_flat(serialize_and_load, rounds / 10, megabyte);
    CHECK(count_mappings() <= mappings + 2); /* the heap may have grown by an area or two */
  }

  cyxla_aligned_free(values);
  cyxla_executable_destroy(mismatched);
  cyxla_executable_destroy(executable);
  if (using_fake) check_nothing_alive(1);
}
