/* Every PJRT function fails at each of its calls in turn: the error arrives, nothing stays behind,
 * and without the fault everything works again. */
#include <unistd.h>

#include "scenario.h"

/* Functions whose failure changes nothing for the caller: there is another way, or nothing to do
 * about it. */
static bool may_fail(const char *name) {
  static const char *const names[] = {
      "PJRT_Error_Destroy",
      "PJRT_Error_Message",
      "PJRT_Error_GetCode",
      "PJRT_Plugin_Attributes",
      "PJRT_Event_Destroy",
      "PJRT_Client_Destroy",
      "PJRT_Client_PlatformVersion",
      "PJRT_Executable_Destroy",
      "PJRT_LoadedExecutable_Destroy",
      "PJRT_Buffer_Destroy",
      "PJRT_Executable_OutputElementTypes",
      "PJRT_Executable_OutputDimensions",
      "PJRT_Executable_GetCompiledMemoryStats",
      /* Memory that can't be aliased, or whose address is not to be had, is copied. */
      "PJRT_Client_BufferFromHostBuffer",
      "PJRT_Buffer_OpaqueDeviceMemoryDataPointer",
      "event.host_buffer",
      "PJRT_Event_Await",
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (!strcmp(names[i], name)) return true;
  /* On the CPU, executables are looked into after they were made, if they can be. */
  return !strcmp(name, "PJRT_Executable_Serialize") && !strcmp(getenv("FAKE_PJRT_PLATFORM"), "cpu");
}

/* Name of the function that reports the error of a point. */
static const char *reporter(const char *point) {
  return strncmp(point, "event.", 6) ? point : "PJRT_Event_Await";
}

typedef struct fault {
  const char *point;
  long call;
  bool lasting; /* that call and all that follow */
} fault;

static void check_fault(const void *argument) {
  const fault *injected = argument;
  char rule[128];
  snprintf(rule, sizeof rule, "%s:14:%ld%s:made to fail on purpose", injected->point,
           injected->call, injected->lasting ? "+" : "");
  setenv("FAKE_PJRT_FAIL", rule, 1);
  cyxla_error error = CYXLA_ERROR_INIT;
  const int32_t status = run_scenario(&error);
  if (!status && !may_fail(injected->point)) TEST_FAIL("%s went unnoticed", rule);
  if (status) {
    CHECK_STATUS(status, CYXLA_UNAVAILABLE, &error);
    CHECK_CONTAINS(error.message, "made to fail on purpose");
    CHECK_CONTAINS(error.message, reporter(injected->point));
  }
  check_nothing_alive(plugin ? 1 : 0);
  fake_set("FAIL", NULL);
  CHECK_OK(run_scenario(&error), &error);
  check_nothing_alive(1);
}

/* Runs the scenario, and writes to `argument`, which the parent shares, how often each point was
 * visited. */
static void count_calls(const void *argument) {
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_OK(run_scenario(&error), &error);
  check_nothing_alive(1);
  FILE *file = fopen(argument, "w");
  CHECK(file);
  for (int i = 0; fake_point_name(i); ++i)
    fprintf(file, "%s %ld\n", fake_point_name(i), fake_calls(fake_point_name(i)));
  fclose(file);
}

/* Reads what count_calls wrote, all of it before a child could share the file. */
static int read_counts(const char *path, char points[][64], long *calls, int capacity) {
  FILE *file = fopen(path, "r");
  CHECK(file);
  int count = 0;
  while (count < capacity && fscanf(file, "%63s %ld", points[count], &calls[count]) == 2) ++count;
  fclose(file);
  return count;
}

static void check_all_faults(const char *platform, const char *memory, const char *async) {
  setenv("FAKE_PJRT_PLATFORM", platform, 1);
  setenv("FAKE_PJRT_MEMORY", memory, 1);
  setenv("FAKE_PJRT_ASYNC", async, 1);
  /* Of CPU plugins, only those of older minors are known not to obey when told to be synchronous.
   */
  setenv("FAKE_PJRT_MINOR", strcmp(async, "never") ? "81" : "115", 1);
  unsetenv("FAKE_PJRT_FAIL");
  char counts[] = "/tmp/cyxla-test-XXXXXX";
  const int descriptor = mkstemp(counts);
  CHECK(descriptor >= 0);
  close(descriptor);
  in_child(count_calls, counts);
  enum { CAPACITY = 64 };
  char points[CAPACITY][64];
  long calls[CAPACITY], total = 0;
  const int point_count = read_counts(counts, points, calls, CAPACITY);
  remove(counts);
  for (int i = 0; i < point_count; ++i)
    /* The first calls differ from each other; of many that are alike the last one is enough. */
    for (long call = 1; call <= calls[i];
         call = call == 24 && calls[i] > 24 ? calls[i] : call + 1) {
      in_child(check_fault, &(fault){points[i], call, false});
      if (call <= 3) in_child(check_fault, &(fault){points[i], call, true});
      ++total;
    }
  fprintf(stderr, "%s, %s memory, asynchronous %s: %ld faults\n", platform, memory, async, total);
  CHECK(total > 50);
}

/* ---- errors about errors ---- */

static void check_code(const void *argument) {
  const char *rules = argument;
  setenv("FAKE_PJRT_FAIL", rules, 1);
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_STATUS(run_scenario(&error), CYXLA_UNKNOWN, &error);
  CHECK_CONTAINS(error.message, "PJRT_Client_Compile: ");
  check_nothing_alive(1);
}

static void survives_errors_of_errors(void) {
  in_child(check_code, "PJRT_Client_Compile:3;PJRT_Error_GetCode:13");
  in_child(check_code, "PJRT_Client_Compile:3;PJRT_Error_GetCode:13;PJRT_Error_Message:13");
  in_child(check_code, "PJRT_Client_Compile:2;PJRT_Error_Message:13");
  in_child(check_code, "PJRT_Client_Compile:2;PJRT_Error_Destroy:13");
  in_child(check_code, "PJRT_Client_Compile:0"); /* an error that says that it is none */
  /* Numbers that PJRT does not have, among them those of our own statuses. */
  in_child(check_code, "PJRT_Client_Compile:100");
  in_child(check_code, "PJRT_Client_Compile:17");
  in_child(check_code, "PJRT_Client_Compile:-1");
}

int main(void) {
  fake_path();
  check_all_faults("cpu", "host", "never");
  check_all_faults("gpu", "device", "never");
  check_all_faults("cpu", "host", "always");
  check_all_faults("gpu", "device", "always");
  RUN(survives_errors_of_errors);
}
