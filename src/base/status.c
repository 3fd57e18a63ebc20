#include "base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *cyxla_status_name(int32_t status) {
  switch (status) {
#define STATUS_CASE(name, number) \
  case number:                    \
    return #name;
    CYXLA_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    default:
      return "UNKNOWN";
  }
}

/* Room for a message in `error`; 0 where there is none, or the struct was never given its size. */
static size_t capacity_of(const cyxla_error *error) {
  const size_t header_size = offsetof(cyxla_error, message);
  if (!error || error->struct_size < header_size + sizeof "...") return 0;
  return error->struct_size - header_size;
}

/* Ends a message that fills its room in "...", not within a character of UTF-8. */
static void mark_as_cut(cyxla_error *error, size_t capacity) {
  size_t end = capacity - sizeof "...";
  while (end > 0 && ((unsigned char)error->message[end] & 0xc0) == 0x80) --end;
  memcpy(error->message + end, "...", sizeof "...");
}

int32_t cyxla__status_of_code(int64_t code) {
  return code > CYXLA_OK && code <= CYXLA_UNAUTHENTICATED ? (int32_t)code : CYXLA_UNKNOWN;
}

int32_t cyxla__fail(cyxla_error *error, int32_t status, const char *format, ...) {
  const size_t capacity = capacity_of(error);
  if (!capacity) return status;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(error->message, capacity, format, arguments);
  va_end(arguments);
  error->code = status;
  if (length >= 0 && (size_t)length >= capacity) mark_as_cut(error, capacity);
  return status;
}

void cyxla__add_context(cyxla_error *error, const char *context) {
  const size_t capacity = capacity_of(error), prefix_size = strlen(context) + strlen(": ");
  if (prefix_size + sizeof "..." > capacity) return;
  const bool cut = prefix_size + strlen(error->message) >= capacity;
  memmove(error->message + prefix_size, error->message, capacity - prefix_size);
  memcpy(error->message, context, prefix_size - strlen(": "));
  memcpy(error->message + prefix_size - strlen(": "), ": ", strlen(": "));
  if (cut) mark_as_cut(error, capacity);
}

int32_t cyxla__fail_memory(cyxla_error *error, size_t size) {
  return cyxla__fail(error, CYXLA_RESOURCE_EXHAUSTED, "out of memory: %zu bytes were needed", size);
}
