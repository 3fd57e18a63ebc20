#include "base/status.h"

#include <stdarg.h>
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

int32_t cyxla__fail(cyxla_error *error, int32_t status, const char *format, ...) {
  const size_t header_size = offsetof(cyxla_error, message);
  /* A struct that is too small for any message (or was never initialised to a size) stays as it is.
   */
  if (!error || error->struct_size < header_size + sizeof "...") return status;
  const size_t capacity = error->struct_size - header_size;

  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(error->message, capacity, format, arguments);
  va_end(arguments);
  error->code = status;
  if (length >= 0 && (size_t)length >= capacity)
    memcpy(error->message + capacity - sizeof "...", "...", sizeof "...");
  return status;
}

int32_t cyxla__fail_memory(cyxla_error *error, size_t size) {
  return cyxla__fail(error, CYXLA_RESOURCE_EXHAUSTED, "out of memory: %zu bytes were needed", size);
}
