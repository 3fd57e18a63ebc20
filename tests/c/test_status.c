#include "base/status.h"
#include "cyxla/cyxla.h"
#include "test.h"

static void names_all_statuses(void) {
  CHECK_TEXT(cyxla_status_name(0), "OK");
  CHECK_TEXT(cyxla_status_name(3), "INVALID_ARGUMENT");
  CHECK_TEXT(cyxla_status_name(16), "UNAUTHENTICATED");
  CHECK_TEXT(cyxla_status_name(100), "PLUGIN_NOT_LOADED");
  CHECK_TEXT(cyxla_status_name(103), "INPUT_MISMATCH");
  CHECK_TEXT(cyxla_status_name(17), "UNKNOWN");
  CHECK_TEXT(cyxla_status_name(-1), "UNKNOWN");
  CHECK_TEXT(cyxla_status_name(104), "UNKNOWN");
}

/* The numbers are part of the binary interface. */
static void pins_the_numbers(void) {
#define CHECK_NAME(name, number) CHECK_TEXT(cyxla_status_name(number), #name);
  CYXLA_STATUS_MAP(CHECK_NAME)
#undef CHECK_NAME
  int count = 0;
#define COUNT(name, number) ++count;
  CYXLA_STATUS_MAP(COUNT)
#undef COUNT
  CHECK_INT(count, 17 + 4);
}

static void fills_an_error(void) {
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_INT(cyxla__fail(&error, CYXLA_NOT_FOUND, "%s %d", "number", 7), CYXLA_NOT_FOUND);
  CHECK_INT(error.code, CYXLA_NOT_FOUND);
  CHECK_TEXT(error.message, "number 7");
  CHECK_INT(cyxla__fail_memory(&error, 1234), CYXLA_RESOURCE_EXHAUSTED);
  CHECK_CONTAINS(error.message, "1234 bytes");
}

static void needs_no_error(void) {
  CHECK_INT(cyxla__fail(NULL, CYXLA_ABORTED, "nobody reads this"), CYXLA_ABORTED);
}

static void cuts_long_messages(void) {
  static char text[2 * sizeof(cyxla_error)];
  memset(text, 'x', sizeof text - 1);
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla__fail(&error, CYXLA_ABORTED, "%s", text);
  CHECK_INT(strlen(error.message), sizeof error.message - 1);
  CHECK_TEXT(error.message + sizeof error.message - 5, "x...");
  /* One that just fits is whole. */
  cyxla__fail(&error, CYXLA_ABORTED, "%.*s", (int)sizeof error.message - 1, text);
  CHECK_TEXT(error.message + sizeof error.message - 5, "xxxx");
}

static void adds_context(void) {
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla__fail(&error, CYXLA_ABORTED, "stopped");
  cyxla__add_context(&error, "main");
  CHECK_TEXT(error.message, "main: stopped");
  CHECK_INT(error.code, CYXLA_ABORTED);
  cyxla__add_context(NULL, "main");

  /* What does not fit is cut; context that leaves no room for the message is left out. */
  static char text[sizeof(cyxla_error)];
  memset(text, 'x', sizeof text - 1);
  cyxla__fail(&error, CYXLA_ABORTED, "%.*s", (int)sizeof error.message - 1, text);
  cyxla__add_context(&error, "main");
  CHECK_CONTAINS(error.message, "main: x");
  CHECK_TEXT(error.message + sizeof error.message - 5, "x...");
  cyxla__fail(&error, CYXLA_ABORTED, "stopped");
  cyxla__add_context(&error, text);
  CHECK_TEXT(error.message, "stopped");
}

/* Callers may know a shorter struct, or have forgotten to say a size. */
static void respects_the_size(void) {
  union {
    cyxla_error error;
    unsigned char bytes[sizeof(cyxla_error)];
  } small;
  for (size_t room = 0; room < 40; ++room) {
    memset(&small, 0x5a, sizeof small);
    small.error.struct_size = offsetof(cyxla_error, message) + room;
    CHECK_INT(cyxla__fail(&small.error, CYXLA_ABORTED, "0123456789"), CYXLA_ABORTED);
    for (size_t i = offsetof(cyxla_error, message) + room; i < sizeof small; ++i)
      CHECK_INT(small.bytes[i], 0x5a);
    if (room < sizeof "...")
      CHECK_INT(small.error.message[0], 0x5a);
    else
      CHECK(strlen(small.error.message) < room);
  }
  memset(&small, 0x5a, sizeof small);
  small.error.struct_size = 0;
  cyxla__fail(&small.error, CYXLA_ABORTED, "text");
  CHECK_INT(small.error.message[0], 0x5a);
}

static int32_t tries(int32_t status) {
  TRY(status);
  return -1;
}

static void try_returns_failures(void) {
  CHECK_INT(tries(CYXLA_INTERNAL), CYXLA_INTERNAL);
  CHECK_INT(tries(CYXLA_OK), -1);
}

static void tells_its_version(void) {
  CHECK_INT(cyxla_abi_version(), CYXLA_ABI_VERSION);
  CHECK(strlen(cyxla_version()) >= strlen("0.1.0"));
}

int main(void) {
  RUN(names_all_statuses);
  RUN(pins_the_numbers);
  RUN(fills_an_error);
  RUN(needs_no_error);
  RUN(adds_context);
  RUN(cuts_long_messages);
  RUN(respects_the_size);
  RUN(try_returns_failures);
  RUN(tells_its_version);
}
