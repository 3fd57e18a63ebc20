/* What a real plugin finds in the process that loads it, in a child each: environment variables, limits,
 * stacks.  XLA itself would end the process in most of these cases. */
#include <pthread.h>
#include <unistd.h>

#include "base/threads.h"
#include "support.h"

static cyxla_error error = CYXLA_ERROR_INIT;
static test_program program;

static int32_t load(void) {
  return cyxla_plugin_load(real_path(), "cpu", NULL, 0, &plugin, &error);
}

static void execute(cyxla_executable *executable, double factor) {
  const float values[] = {1, 2, 3};
  float results[3] = {0};
  void *outputs[] = {results};
  const cyxla_input input = {values, CYXLA_F32, 3};
  CHECK_OK(cyxla_execute(executable, &input, outputs, 0, &error), &error);
  CHECK_REAL(results[2], 3 * factor);
}

/* The life of a program that multiplies by `factor`, with PJRT's engine. */
static void live(double factor) {
  cyxla_executable *executable = compile(&program);
  execute(executable, factor);
  void *bytes;
  size_t size;
  CHECK_OK(cyxla_executable_serialize(executable, &bytes, &size, &error), &error);
  cyxla_executable *loaded;
  CHECK_OK(
      cyxla_executable_deserialize(plugin, &program.program, bytes, size, engine, &loaded, &error),
      &error);
  execute(loaded, factor);
  cyxla_aligned_free(bytes);
  cyxla_executable_destroy(loaded);
  cyxla_executable_destroy(executable);
}

static void use(void) {
  CHECK_OK(load(), &error);
  make_program(&program, TYPE(CYXLA_F32, 3), 1, 1, 2);
  live(2);
}

/* ---- messages ---- */

static char printed[] = "/tmp/cyxla-test-XXXXXX";

static void use_and_print(const void *log) {
  if (log) setenv("CYXLA_LOG", log, 1);
  CHECK(freopen(printed, "w", stderr));
  use();
}

/* Number of bytes that a child writes to stderr, to its end. */
static long printed_with(const char *log) {
  in_child(use_and_print, log);
  FILE *file = fopen(printed, "r");
  CHECK(file && !fseek(file, 0, SEEK_END));
  const long size = ftell(file);
  fclose(file);
  return size;
}

static void is_quiet_unless_asked(void) {
  close(mkstemp(printed));
  CHECK_INT(printed_with(NULL), 0);
  CHECK_INT(printed_with("none"), 0);
  CHECK(printed_with("info") > 0);
  CHECK(!getenv("TF_CPP_MIN_LOG_LEVEL"));
  remove(printed);
}

static void check_wrong_log(const void *unused) {
  (void)unused;
  setenv("CYXLA_LOG", "all", 1);
  CHECK_STATUS(load(), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "CYXLA_LOG");
  unsetenv("CYXLA_LOG");
  use();
}

static void wrong_log_levels_are_refused(void) {
  in_child(check_wrong_log, NULL);
}

/* ---- XLA_FLAGS ---- */

static void check_flags(const void *unused) {
  (void)unused;
  setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX --xla_no_such_flag=3", 1);
  CHECK_STATUS(load(), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "--xla_no_such_flag,");
  CHECK_CONTAINS(error.message, real_path());
  setenv("XLA_FLAGS", "no_such_file", 1);
  CHECK_STATUS(load(), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "no_such_file");
  setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX --xla_dump_hlo_pass_re='no such --pass'", 1);
  use();
}

static void unknown_flags_are_refused(void) {
  in_child(check_flags, NULL);
}

/* ---- threads ---- */

static void check_limit(const void *unused) {
  (void)unused;
  forbid_threads();
  CHECK_STATUS(load(), CYXLA_RESOURCE_EXHAUSTED, &error);
  CHECK_CONTAINS(error.message, "ulimit -u");
}

static void check_limit_without_platform(const void *unused) {
  (void)unused;
  forbid_threads();
  CHECK_STATUS(cyxla_plugin_load(real_path(), NULL, NULL, 0, &plugin, &error),
               CYXLA_RESOURCE_EXHAUSTED, &error);
}

/* What XLA has started is enough; without a thread of its own, compiling has the caller's stack. */
static void check_limit_after_start(const void *unused) {
  (void)unused;
  use();
  forbid_threads();
  use();
}

static void limits_of_threads_are_survived(void) {
  in_child(check_limit, NULL);
  in_child(check_limit_without_platform, NULL);
  in_child(check_limit_after_start, NULL);
}

/* ---- stacks ---- */

enum { DEPTH = 100 };

/* So many conditionals, one inside of the other: XLA's compiler goes into them recursively. */
static void make_nest(char *text) {
  text += sprintf(text,
                  "module @m { func.func public @main(%%a: tensor<3xf32>) -> tensor<3xf32> {\n"
                  "%%p = stablehlo.constant dense<true> : tensor<i1>\n");
  for (int i = 0; i < DEPTH; ++i) text += sprintf(text, "%%r%d = \"stablehlo.if\"(%%p) ({\n", i);
  text += sprintf(text, "stablehlo.return %%a : tensor<3xf32>\n");
  for (int i = DEPTH; i-- > 0;)
    text += sprintf(text,
                    "}, { stablehlo.return %%a : tensor<3xf32> }) : (tensor<i1>) -> tensor<3xf32>\n"
                    "%s %%r%d : tensor<3xf32>\n",
                    i ? "stablehlo.return" : "return", i);
  sprintf(text, "} }");
}

static void *live_here(void *unused) {
  live(1);
  return unused;
}

static void check_small_stack(const void *unused) {
  (void)unused;
  static char code[DEPTH * 256];
  make_nest(code);
  make_unary_program(&program, code, TYPE(CYXLA_F32, 3));
  CHECK_OK(load(), &error);
  pthread_t thread;
  CHECK(cyxla__thread_start(live_here, NULL, 256 << 10, &thread));
  pthread_join(thread, NULL);
}

static void small_stacks_do(void) {
  in_child(check_small_stack, NULL);
}

int main(void) {
  real_path();
  unsetenv("TF_CPP_MIN_LOG_LEVEL");
  RUN(is_quiet_unless_asked);
  RUN(wrong_log_levels_are_refused);
  RUN(unknown_flags_are_refused);
  RUN(limits_of_threads_are_survived);
  RUN(small_stacks_do);
}
