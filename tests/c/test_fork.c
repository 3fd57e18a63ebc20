/* A child of a process that has loaded a plugin: it never touches the plugin, says so at once, and goes on
 * with the direct engine.  Its first argument: fake, real or direct. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "ffi/xla_ffi_abi.h"
#include "support.h"

enum { LENGTH = 4 };

static cyxla_error error = CYXLA_ERROR_INIT;
static test_program program;
static cyxla_executable *executable;    /* the parent's */
static cyxla_executable *without_bytes; /* only the plugin has them; NULL: not the fake one */
static cyxla_bound_call *bound;
static void *bytes;
static size_t size;
static bool loads_directly;
static double *values, *results;

static const char reason[] = "of which this one is a fork";

/* Whether the executable goes on in a child. */
static bool goes_on(void) {
  return engine == CYXLA_ENGINE_DIRECT;
}

static void check_status(int32_t status) {
  CHECK_STATUS(status, goes_on() ? CYXLA_OK : CYXLA_FAILED_PRECONDITION, &error);
  if (!goes_on()) CHECK_CONTAINS(error.message, reason);
}

static void check_results(double factor) {
  if (!goes_on()) return;
  for (int i = 0; i < LENGTH; ++i) CHECK_REAL(results[i], factor * values[i]);
  memset(results, 0, sizeof(double[LENGTH]));
}

static cyxla_input input(void) {
  return (cyxla_input){values, CYXLA_F64, LENGTH};
}

/* ---- what a child does ---- */

static void compile_and_load(void) {
  cyxla_executable *made;
  CHECK_STATUS(cyxla_compile(plugin, &program.program, NULL, 0, CYXLA_ENGINE_AUTO, &made, &error),
               CYXLA_FAILED_PRECONDITION, &error);
  CHECK_CONTAINS(error.message, reason);
  /* The direct engine takes it, if it knows such executables. */
  CHECK_STATUS(cyxla_executable_deserialize(plugin, &program.program, bytes, size,
                                            CYXLA_ENGINE_AUTO, &made, &error),
               loads_directly ? CYXLA_OK : CYXLA_FAILED_PRECONDITION, &error);
  if (loads_directly) cyxla_executable_destroy(made);
  CHECK_STATUS(cyxla_executable_deserialize(plugin, &program.program, bytes, size,
                                            CYXLA_ENGINE_PJRT, &made, &error),
               CYXLA_FAILED_PRECONDITION, &error);
  CHECK_CONTAINS(error.message, reason);
}

static void load_the_plugin_again(void) {
  cyxla_plugin *again;
  CHECK_STATUS(
      cyxla_plugin_load(using_fake ? fake_path() : real_path(), NULL, NULL, 0, &again, &error),
      CYXLA_FAILED_PRECONDITION, &error);
  CHECK_CONTAINS(error.message, reason);
  cyxla_plugin_info info = {.struct_size = sizeof info};
  cyxla_plugin_get_info(plugin, &info);
  CHECK_TEXT(info.platform, "cpu");
}

static void execute(void) {
  const cyxla_input given = input();
  void *outputs[] = {results};
  for (int i = 0; i < 3; ++i) {
    check_status(cyxla_execute(executable, &given, outputs, i % 2 ? CYXLA_ZERO_COPY : 0, &error));
    check_results(2);
    check_status(cyxla_bound_call_execute(bound, &error));
    check_results(2);
  }
  cyxla_bound_call *own;
  check_status(cyxla_bind(executable, &given, outputs, &own, &error));
  if (!goes_on()) return;
  CHECK_OK(cyxla_bound_call_execute(own, &error), &error);
  check_results(2);
  cyxla_bound_call_destroy(own);
}

static void serialize(void) {
  void *data;
  size_t data_size;
  CHECK_OK(cyxla_executable_serialize(executable, &data, &data_size, &error), &error);
  cyxla_aligned_free(data);
  if (using_fake)
    CHECK_STATUS(cyxla_executable_serialize(without_bytes, &data, &data_size, &error),
                 CYXLA_FAILED_PRECONDITION, &error);
  cyxla_executable_info info = {.struct_size = sizeof info};
  cyxla_executable_get_info(executable, &info);
  CHECK_TEXT(info.name, "test");
}

/* Answers when it is asked for its version, and is never called. */
static struct XLA_FFI_Error *handler(struct XLA_FFI_CallFrame *frame) {
  XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
  metadata->api_version.major_version = 0;
  metadata->api_version.minor_version = 1;
  return NULL;
}

static void use_everything(void) {
  compile_and_load();
  load_the_plugin_again();
  execute();
  serialize();
  cyxla_ffi_target_info info = {.struct_size = sizeof info};
  CHECK_OK(cyxla_ffi_target_get_info(0, NULL, &info, &error), &error);
  CHECK_STATUS(cyxla_ffi_target_get_info(0, plugin, &info, &error), CYXLA_FAILED_PRECONDITION,
               &error);
}

static void destroy_everything(void) {
  cyxla_bound_call_destroy(bound);
  cyxla_executable_destroy(executable);
  cyxla_executable_destroy(without_bytes);
}

static long count_calls(void) {
  long count = 0;
  for (int i = 0; using_fake && fake_point_name(i); ++i) count += fake_calls(fake_point_name(i));
  return count;
}

static void check_child(const void *depth) {
  alarm(60);
  const long before = count_calls();
  use_everything();
  if (*(const int *)depth) in_child(check_child, &(int){*(const int *)depth - 1});
  use_everything();
  destroy_everything();
  CHECK_INT(count_calls(), before);
}

static void children_never_touch_the_plugin(void) {
  in_child(check_child, &(int){2});
}

/* exit runs what the plugin has for the end of a process. */
static void check_exit(const void *unused) {
  (void)unused;
  alarm(60);
}

static void children_end(void) {
  for (int i = 0; i < 5; ++i) in_child(check_exit, NULL);
}

/* ---- the parent goes on ---- */

static void check_parent(void) {
  const cyxla_input given = input();
  void *outputs[] = {results};
  CHECK_OK(cyxla_execute(executable, &given, outputs, 0, &error), &error);
  for (int i = 0; i < LENGTH; ++i) CHECK_REAL(results[i], 2 * values[i]);
  CHECK_OK(cyxla_bound_call_execute(bound, &error), &error);
  cyxla_executable_destroy(compile(&program));
}

/* ---- a plugin of the child's own ---- */

static void prepare(void) {
  make_program(&program, TYPE(CYXLA_F64, LENGTH), 1, 1, 2);
  executable = compile(&program);
  CHECK_OK(cyxla_executable_serialize(executable, &bytes, &size, &error), &error);
  cyxla_executable *loaded;
  loads_directly = !cyxla_executable_deserialize(NULL, &program.program, bytes, size,
                                                 CYXLA_ENGINE_AUTO, &loaded, NULL);
  if (loads_directly) cyxla_executable_destroy(loaded);
  if (using_fake) {
    fake_set("FAIL", "PJRT_Executable_Serialize:12:1");
    without_bytes = compile(&program);
  }
  const cyxla_input given = input();
  void *outputs[] = {results};
  CHECK_OK(cyxla_execute(executable, &given, outputs, CYXLA_ZERO_COPY, &error), &error);
  CHECK_OK(cyxla_bind(executable, &given, outputs, &bound, &error), &error);
}

static char **arguments;

static void check_own_plugin(const void *unused) {
  (void)unused;
  alarm(120);
  use_plugin(2, arguments);
  prepare();
  check_parent();
  in_child(check_child, &(int){0});
  destroy_everything();
}

static void a_child_may_load_what_its_parent_has_not(void) {
  in_child(check_own_plugin, NULL);
}

static void *load(void *unused) {
  use_plugin(2, arguments);
  return unused;
}

/* Whatever the other thread was about when the fork came, the child gets an answer. */
static void check_answer(const void *unused) {
  (void)unused;
  alarm(60);
  cyxla_plugin *own;
  const int32_t status = cyxla_plugin_load(arguments[1][0] == 'f' ? fake_path() : real_path(), NULL,
                                           NULL, 0, &own, &error);
  if (status) CHECK_STATUS(status, CYXLA_FAILED_PRECONDITION, &error);
  if (status) CHECK_CONTAINS(error.message, "fork");
  _exit(0);
}

static void check_fork_while_loading(const void *unused) {
  (void)unused;
  pthread_t thread;
  CHECK(!pthread_create(&thread, NULL, load, NULL));
  for (int i = 0; i < 10; ++i) {
    in_child(check_answer, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
  }
  pthread_join(thread, NULL);
}

static void forks_while_a_plugin_is_loaded(void) {
  in_child(check_fork_while_loading, NULL);
}

int main(int argument_count, char **given_arguments) {
  (void)argument_count;
  arguments = given_arguments;
  CHECK((values = cyxla_aligned_alloc(sizeof(double[LENGTH]))) != NULL);
  CHECK((results = cyxla_aligned_alloc(sizeof(double[LENGTH]))) != NULL);
  for (int i = 0; i < LENGTH; ++i) values[i] = i + 1.5;
  const cyxla_ffi_target target = {
      .struct_size = sizeof target, .name = "never_called", .platform = "cpu", .execute = handler};
  CHECK_OK(cyxla_register_ffi_target(&target, &error), &error);

  RUN(a_child_may_load_what_its_parent_has_not);
  RUN(forks_while_a_plugin_is_loaded);
  use_plugin(argument_count, arguments);
  prepare();
  RUN(children_never_touch_the_plugin);
  RUN(children_end);
  RUN(check_parent);
  destroy_everything();
  cyxla_aligned_free(bytes);
  cyxla_aligned_free(values);
  cyxla_aligned_free(results);
  if (using_fake) check_nothing_alive(1);
}
