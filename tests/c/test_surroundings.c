/* What the library finds around it, without a plugin: forks, threads and their limits, environment
 * variables, floating-point environment. */
#include <dirent.h>
#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/threads.h"
#include "data.h"
#include "pjrt/surroundings.h"
#include "support.h"

static cyxla_error error = CYXLA_ERROR_INIT;

/* ---- forks ---- */

static void check_one_more(const void *before) {
  alarm(60);
  CHECK_INT(cyxla__fork_count(), *(const unsigned *)before + 1);
  if (*(const unsigned *)before < 3) {
    const unsigned now = cyxla__fork_count();
    in_child(check_one_more, &now);
  }
}

static void forks_are_counted(void) {
  cyxla__fork_watch();
  cyxla__fork_watch();
  const unsigned before = cyxla__fork_count();
  in_child(check_one_more, &before);
  CHECK_INT(cyxla__fork_count(), before);
}

static cyxla__fork_lock lock;
static int turns; /* guarded by `lock` */

static void *take_turns(void *unused) {
  (void)unused;
  for (int i = 0; i < 1000; ++i) {
    CHECK(cyxla__fork_lock_take(&lock));
    ++turns;
    cyxla__fork_lock_give(&lock);
  }
  return NULL;
}

static void a_lock_lets_one_thread_in(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) CHECK(cyxla__thread_start(take_turns, NULL, 0, &threads[i]));
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  CHECK_INT(turns, 4000);
}

static void check_lock(const void *is_free) {
  alarm(60);
  for (int i = 0; i < 2; ++i) {
    CHECK_INT(cyxla__fork_lock_take(&lock), *(const bool *)is_free);
    if (*(const bool *)is_free) cyxla__fork_lock_give(&lock);
  }
}

static void a_lock_that_was_held_stays_so_in_a_child(void) {
  CHECK(cyxla__fork_lock_take(&lock));
  in_child(check_lock, &(bool){false});
  cyxla__fork_lock_give(&lock);
  in_child(check_lock, &(bool){true});
}

static atomic_bool has_registered;

/* Types of states are behind the lock that forks wait for. */
static void *register_types(void *stop) {
  int64_t id = 0;
  while (!atomic_load((atomic_bool *)stop)) {
    CHECK_INT(cyxla_register_ffi_type(&id, NULL, NULL), CYXLA_OK);
    atomic_store(&has_registered, true);
  }
  return NULL;
}

static void check_registration(const void *unused) {
  (void)unused;
  alarm(20);
  int64_t id = 0;
  CHECK_INT(cyxla_register_ffi_type(&id, NULL, NULL), CYXLA_OK);
}

static void a_fork_waits_for_registrations(void) {
  pthread_t thread;
  atomic_bool stop = false;
  CHECK(cyxla__thread_start(register_types, &stop, 0, &thread));
  while (!atomic_load(&has_registered)) sched_yield();
  for (int i = 0; i < 100; ++i) in_child(check_registration, NULL);
  atomic_store(&stop, true);
  pthread_join(thread, NULL);
}

/* ---- a large stack ---- */

static int depth_reached;
static bool signals_blocked;

/* Uses 8 KiB at each level. */
static int go_deep(int depth) {
  volatile char room[8192];
  room[0] = (char)depth;
  return depth ? go_deep(depth - 1) + (room[0] == (char)depth) : 0;
}

static void go_to(void *depth) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  signals_blocked = sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM);
  depth_reached = go_deep(*(int *)depth);
}

static void *run_from_a_small_stack(void *depth) {
  cyxla__run_on_large_stack(go_to, depth);
  return NULL;
}

static void a_small_stack_does_not_matter(void) {
  pthread_t thread;
  int depth = 4096; /* 32 MiB */
  CHECK(cyxla__thread_start(run_from_a_small_stack, &depth, 256 << 10, &thread));
  pthread_join(thread, NULL);
  CHECK_INT(depth_reached, depth);
  CHECK(signals_blocked); /* they are for the program's threads */
}

static void note_environment(void *out) {
  *(int *)out = fegetround();
  fesetround(FE_DOWNWARD);
}

static void rounding_is_usual_there(void) {
  int rounding = -1;
  fesetround(FE_UPWARD);
  cyxla__run_on_large_stack(note_environment, &rounding);
  CHECK_INT(fegetround(), FE_UPWARD);
  fesetround(FE_TONEAREST);
  CHECK_INT(rounding, FE_TONEAREST);
}

static void impossible_stacks_are_refused(void) {
  CHECK(!cyxla__thread_start(run_from_a_small_stack, NULL, 1, &(pthread_t){0}));
}

/* ---- limits of threads ---- */

static void check_without_threads(const void *unused) {
  (void)unused;
  forbid_threads();
  CHECK(!cyxla__threads_can_start(2));
  int rounding = -1;
  fesetround(FE_UPWARD);
  cyxla__run_on_large_stack(note_environment, &rounding); /* in this thread */
  CHECK_INT(rounding, FE_TONEAREST);
  CHECK_INT(fegetround(), FE_UPWARD);
  setenv("NPROC", "1000", 1);
  CHECK_STATUS(cyxla__check_room_for_threads("the plugin", &error), CYXLA_RESOURCE_EXHAUSTED,
               &error);
  CHECK_CONTAINS(error.message, "the plugin: it starts up to 200");
  CHECK_CONTAINS(error.message, "ulimit -u");
}

static void threads_that_can_not_start_are_noticed(void) {
  CHECK(cyxla__threads_can_start(0));
  CHECK(cyxla__threads_can_start(20));
  CHECK_OK(cyxla__check_room_for_threads("", &error), &error);
  setenv("NPROC", "none", 1); /* no number: as XLA does, it is not looked at */
  CHECK_OK(cyxla__check_room_for_threads("", &error), &error);
  unsetenv("NPROC");
  in_child(check_without_threads, NULL);
}

/* ---- log level ---- */

typedef struct log_case {
  const char *asked, *before, *during; /* NULL: not set */
} log_case;

static void set(const char *name, const char *value) {
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

static void check_variable(const char *name, const char *expected) {
  const char *found = getenv(name);
  CHECK_TEXT(found ? found : "not set", expected ? expected : "not set");
}

static void log_levels(void) {
  static const char variable[] = "TF_CPP_MIN_LOG_LEVEL";
  static const log_case cases[] = {
      {NULL, NULL, "3"},  {"", NULL, "3"},    {NULL, "1", "1"},     {"", "1", "1"},
      {"0", NULL, "0"},   {"info", "2", "0"}, {"Warning", "", "1"}, {"ERROR", NULL, "2"},
      {"none", "0", "3"}, {"3", "junk", "3"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    set("CYXLA_LOG", cases[i].asked);
    set(variable, cases[i].before);
    cyxla__log_level level;
    CHECK_OK(cyxla__log_level_set(&level, &error), &error);
    check_variable(variable, cases[i].during);
    cyxla__log_level_reset(&level);
    check_variable(variable, cases[i].before);
  }
  set(variable, NULL);
  static const char *const wrong[] = {"4", "loud", "-1", "00", "infos"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    set("CYXLA_LOG", wrong[i]);
    cyxla__log_level level;
    CHECK_STATUS(cyxla__log_level_set(&level, &error), CYXLA_INVALID_ARGUMENT, &error);
    CHECK_CONTAINS(error.message, wrong[i]);
    check_variable(variable, NULL);
  }
  set("CYXLA_LOG", NULL);
}

/* ---- XLA_FLAGS ---- */

static char library[] = "/tmp/cyxla-test-XXXXXX", flags[] = "/tmp/cyxla-test-XXXXXX";

static void write_file(char *path, const void *data, size_t size) {
  if (strstr(path, "XXXXXX")) close(mkstemp(path));
  FILE *file = fopen(path, "wb");
  CHECK(file && fwrite(data, 1, size, file) == size);
  fclose(file);
}

/* What is wrong with `value` of XLA_FLAGS; NULL: nothing. */
static const char *check_flags(const char *value) {
  set("XLA_FLAGS", value);
  const int32_t status = cyxla_check_xla_flags(library, &error);
  if (!status) return NULL;
  CHECK_STATUS(status, CYXLA_INVALID_ARGUMENT, &error);
  return error.message;
}

static void expect_flags(const char *value, const char *part) {
  const char *message = check_flags(value);
  if (!part && message) TEST_FAIL("'%s' is refused: %s", value, message);
  if (part && !message) TEST_FAIL("'%s' is accepted", value);
  if (part) CHECK_CONTAINS(message, part);
  if (part) CHECK_CONTAINS(message, library);
}

static void flags_of_another_library(void) {
  static const char other[] = "this one does not read the variable";
  write_file(library, other, sizeof other);
  expect_flags("--xla_nonsense", NULL);
  write_file(library, "", 0);
  expect_flags("--xla_nonsense", NULL);
  set("XLA_FLAGS", "--xla_nonsense");
  CHECK_OK(cyxla_check_xla_flags("/no/such/library", &error), &error);
  CHECK_OK(cyxla_check_xla_flags("/", &error), &error);
}

static void flags_in_the_variable(void) {
  static const char data[] = "\177ELF XLA_FLAGS\0xla_one\0xla_two\0xla_three_more";
  write_file(library, data, sizeof data);
  static const char *const good[] = {
      NULL,
      "",
      "--xla_one",
      "--xla_one=",
      " \t--xla_one=1\r\n--xla_two ",
      "--xla_one='a --b' --xla_two=\"\\\" --c\" --xla_three_more",
      "--xla_one=a'b --xla_two=\"\"",
      "--xla_one='--open",
      "--xla_one=\"\\",
      "--xla_one what follows no dash --xla_is_not_read",
      "--xla_one=''--xla_two",
      "--xla_one=''x --nonsense",
  };
  for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) expect_flags(good[i], NULL);
  static const struct {
    const char *value, *part;
  } bad[] = {
      {"--xla_tow=1", "XLA_FLAGS has --xla_tow, which is no flag of "},
      {"--xla_one --xla_on", "has --xla_on,"},
      {"--xla_one=1 -xla_two", "has -xla_two,"},
      {"--xla_one='' --xla_three", "has --xla_three,"},
      {"--xla_one=\"\\\"\" --b", "has --b,"},
      {"--", "has --,"},
      {"-", "has -,"},
      {"--=", "has --,"},
      {"---xla_one", "has ---xla_one,"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) expect_flags(bad[i].value, bad[i].part);
  char longest[1024] = "--xla_one --";
  memset(longest + strlen(longest), 'x', 600);
  expect_flags(longest, "--xxxxxxxx");
}

static void flags_in_a_file(void) {
  static const char lines[] = "\n--xla_one=1\n  --xla_two\n", wrong[] = "--xla_one=1\n--xla_tow";
  write_file(flags, lines, strlen(lines));
  expect_flags(flags, NULL);
  write_file(flags, wrong, strlen(wrong));
  expect_flags(flags, "has --xla_tow,");
  write_file(flags, "--xla_one\0--x", sizeof "--xla_one\0--x");
  expect_flags(flags, NULL); /* a NUL ends the flags */
  write_file(flags, "--xla_one=\0", sizeof "--xla_one=\0");
  expect_flags(flags, NULL);
  write_file(flags, "", 0);
  expect_flags(flags, NULL);
  remove(flags);
  expect_flags(flags, "neither a flag nor a file");
  expect_flags("xla_one", "neither a flag nor a file");
  set("XLA_FLAGS", NULL);
  remove(library);
}

/* ---- the direct engine ---- */

static int count_threads(void) {
  DIR *folder = opendir("/proc/self/task");
  if (!folder) return 0;
  int count = -2; /* . and .. */
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

static cyxla_executable *load_data(const char *name) {
  const cyxla__span bytes = read_data(name);
  cyxla_executable *executable;
  const int32_t status = cyxla_executable_deserialize(NULL, NULL, bytes.data, bytes.size,
                                                      CYXLA_ENGINE_DIRECT, &executable, &error);
  if (status == CYXLA_FAILED_PRECONDITION) exit(TEST_SKIPPED); /* it is for another processor */
  CHECK_OK(status, &error);
  free(bytes.data);
  return executable;
}

static double first_sine(cyxla_executable *executable) {
  cyxla_executable_info info = {.struct_size = sizeof info};
  cyxla_executable_get_info(executable, &info);
  float values[64] = {1}, results[64];
  CHECK_INT(info.input_count, 1);
  CHECK(info.input_sizes[0] <= sizeof values);
  const cyxla_input input = {values, CYXLA_F32, info.input_sizes[0] / sizeof values[0]};
  void *outputs[] = {results};
  CHECK_OK(cyxla_execute(executable, &input, outputs, 0, &error), &error);
  return results[0];
}

static void small_programs_start_no_thread(void) {
  const int before = count_threads();
  cyxla_executable *executable = load_data("plugin_sine_f32");
  CHECK(first_sine(executable) > 0.84);
  CHECK_INT(count_threads(), before);
  cyxla_executable_destroy(executable);
}

static void check_direct(const void *parents) {
  forbid_threads();
  CHECK(first_sine(*(cyxla_executable *const *)parents) > 0.84);
  cyxla_executable_destroy(*(cyxla_executable *const *)parents);
}

static void the_direct_engine_needs_no_thread(void) {
  cyxla_executable *executable = load_data("plugin_sine_f32");
  first_sine(executable);
  in_child(check_direct, &executable);
  CHECK(first_sine(executable) > 0.84);
  cyxla_executable_destroy(executable);
}

/* Threads of the parent have their numbers for ever: in a child there are fewer left, and calls work
 * with and without one. */
static void check_numbers(const void *parents) {
  alarm(60);
  cyxla_executable *executable = *(cyxla_executable *const *)parents;
  for (int i = 0; i < 10; ++i) CHECK(first_sine(executable) > 0.84);
}

static atomic_bool may_end;
static void *execute_until_the_end(void *executable) {
  while (!atomic_load(&may_end)) first_sine(executable);
  return NULL;
}

static void forks_while_others_execute(void) {
  cyxla_executable *executable = load_data("plugin_sine_f32");
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i)
    CHECK(cyxla__thread_start(execute_until_the_end, executable, 0, &threads[i]));
  for (int i = 0; i < 30; ++i) in_child(check_numbers, &executable);
  atomic_store(&may_end, true);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  cyxla_executable_destroy(executable);
}

int main(void) {
  RUN(forks_are_counted);
  RUN(a_lock_lets_one_thread_in);
  RUN(a_lock_that_was_held_stays_so_in_a_child);
  RUN(a_fork_waits_for_registrations);
  RUN(a_small_stack_does_not_matter);
  RUN(rounding_is_usual_there);
  RUN(impossible_stacks_are_refused);
  RUN(threads_that_can_not_start_are_noticed);
  RUN(log_levels);
  RUN(flags_of_another_library);
  RUN(flags_in_the_variable);
  RUN(flags_in_a_file);
  RUN(small_programs_start_no_thread);
  RUN(the_direct_engine_needs_no_thread);
  RUN(forks_while_others_execute);
}
