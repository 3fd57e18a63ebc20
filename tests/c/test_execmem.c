/* Pages of code: written, then executed; never both. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/execmem.h"
#include "test.h"

static cyxla_error error = CYXLA_ERROR_INIT;

/* int f(void) { return 42; } */
#if defined(__x86_64__)
static const uint8_t answer[] = {0xb8, 42, 0, 0, 0, 0xc3};
#elif defined(__aarch64__)
static const uint8_t answer[] = {0x40, 5, 0x80, 0x52, 0xc0, 3, 0x5f, 0xd6};
#endif

static void runs_what_was_written(void) {
  const size_t page = cyxla__execmem_page_size(), size = page + 100;
  CHECK(page >= 4096 && !(page & (page - 1)));
  void *memory;
  CHECK_OK(cyxla__execmem_reserve(size, &memory, &error), &error);
  CHECK_INT((uintptr_t)memory % page, 0);
  char *bytes = memory;
  for (size_t i = 0; i < size; ++i) CHECK_INT(bytes[i], 0);
  memcpy(bytes, answer, sizeof answer);
  memcpy(bytes + page, "constant", 9);
  CHECK_OK(cyxla__execmem_seal(memory, page, size, &error), &error);
  CHECK_INT(((int (*)(void))(uintptr_t)memory)(), 42);
  CHECK_TEXT(bytes + page, "constant");
  cyxla__execmem_release(memory, size);
}

/* Both parts may be empty. */
static void seals_one_part(void) {
  const size_t page = cyxla__execmem_page_size();
  void *memory;
  CHECK_OK(cyxla__execmem_reserve(page, &memory, &error), &error);
  memcpy(memory, answer, sizeof answer);
  CHECK_OK(cyxla__execmem_seal(memory, page, page, &error), &error);
  CHECK_INT(((int (*)(void))(uintptr_t)memory)(), 42);
  cyxla__execmem_release(memory, page);
  CHECK_OK(cyxla__execmem_reserve(1, &memory, &error), &error);
  CHECK_OK(cyxla__execmem_seal(memory, 0, 1, &error), &error);
  cyxla__execmem_release(memory, 1);
}

/* Whether a child that does one of these things to sealed memory ends by a signal. */
typedef enum action { WRITE_CODE, WRITE_DATA, EXECUTE_DATA, NOTHING } action;

static void act(action action, char *memory, size_t page) {
  signal(SIGSEGV, SIG_DFL); /* sanitizers have a handler */
  signal(SIGBUS, SIG_DFL);
  if (action == WRITE_CODE) *(volatile char *)memory = 1;
  if (action == WRITE_DATA) *(volatile char *)(memory + page) = 1;
  if (action == EXECUTE_DATA) ((int (*)(void))(uintptr_t)(memory + page))();
  _exit(0);
}

static void forbids_the_rest(void) {
  const size_t page = cyxla__execmem_page_size(), size = 2 * page;
  void *memory;
  CHECK_OK(cyxla__execmem_reserve(size, &memory, &error), &error);
  memcpy((char *)memory + page, answer, sizeof answer);
  CHECK_OK(cyxla__execmem_seal(memory, page, size, &error), &error);
  for (int i = WRITE_CODE; i <= NOTHING; ++i) {
    int status;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (!child) act((action)i, memory, page);
    while (waitpid(child, &status, 0) < 0) CHECK_INT(errno, EINTR);
    CHECK_INT(WIFSIGNALED(status), i != NOTHING);
  }
  cyxla__execmem_release(memory, size);
}

static void reports_what_fails(void) {
  const size_t page = cyxla__execmem_page_size();
  void *memory = NULL;
  CHECK_STATUS(cyxla__execmem_reserve(SIZE_MAX / 2, &memory, &error), CYXLA_RESOURCE_EXHAUSTED,
               &error);
  CHECK_CONTAINS(error.message, "can't be reserved");
  CHECK(!memory);
  CHECK_OK(cyxla__execmem_reserve(page, &memory, &error), &error);
  cyxla__execmem_release(memory, page);
  CHECK_STATUS(cyxla__execmem_seal(memory, page, page, &error), CYXLA_RESOURCE_EXHAUSTED, &error);
  CHECK_CONTAINS(error.message, "can't be sealed");
}

int main(void) {
  RUN(runs_what_was_written);
  RUN(seals_one_part);
  RUN(forbids_the_rest);
  RUN(reports_what_fails);
}
