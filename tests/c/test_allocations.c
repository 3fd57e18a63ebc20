/* Every allocation of the library fails in turn: the status says so, nothing stays behind, and with
 * memory everything works again. */
#include <unistd.h>

#include "allocations.h"
#include "scenario.h"

typedef struct failure {
  long first, last;
} failure;

/* The scenario may also pass: memory to hold a copy of an input is not needed, only good to have.
 */
static void check_failure(const void *argument) {
  const failure *wanted = argument;
  fail_allocations(wanted->first, wanted->last);
  cyxla_error error = CYXLA_ERROR_INIT;
  const int32_t status = run_scenario(&error);
  CHECK(allocations >= wanted->first);
  fail_allocations(0, 0);
  if (status) {
    CHECK_STATUS(status, CYXLA_RESOURCE_EXHAUSTED, &error);
    CHECK_CONTAINS(error.message, "out of memory");
  }
  if (fake_is_loaded()) check_nothing_alive(plugin ? 1 : 0);
  CHECK_OK(run_scenario(&error), &error);
  check_nothing_alive(1);
}

static void count_allocations(const void *argument) {
  fail_allocations(0, 0);
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_OK(run_scenario(&error), &error);
  FILE *file = fopen(argument, "w");
  CHECK(file);
  fprintf(file, "%ld", allocations);
  fclose(file);
}

static void check_all_failures(const char *platform, const char *memory) {
  setenv("FAKE_PJRT_PLATFORM", platform, 1);
  setenv("FAKE_PJRT_MEMORY", memory, 1);
  char name[] = "/tmp/cyxla-test-XXXXXX";
  const int descriptor = mkstemp(name);
  CHECK(descriptor >= 0);
  close(descriptor);
  in_child(count_allocations, name);
  FILE *file = fopen(name, "r");
  long total = 0;
  CHECK(file && fscanf(file, "%ld", &total) == 1);
  fclose(file);
  remove(name);
  CHECK(total > 20);
  for (long i = 1; i <= total; ++i) {
    in_child(check_failure, &(failure){i, i});
    in_child(check_failure, &(failure){i, i + 1});
    in_child(check_failure, &(failure){i, 1L << 40});
  }
  fprintf(stderr, "%s, %s memory: %ld allocations\n", platform, memory, total);
}

int main(void) {
  fake_path();
  check_all_failures("cpu", "host");
  check_all_failures("gpu", "device");
}
