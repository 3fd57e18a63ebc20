/* Errors inside the library: the one way to report them. */
#ifndef CYXLA_BASE_STATUS_H
#define CYXLA_BASE_STATUS_H

#include "cyxla/cyxla.h"

#if defined(__GNUC__)
#define CYXLA__PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define CYXLA__PRINTF(text, first)
#endif

/* Fills `error` (NULL is fine) and returns `status`. */
int32_t cyxla__fail(cyxla_error *error, int32_t status, const char *format, ...)
    CYXLA__PRINTF(3, 4);

/* The status of an error code that a plugin or a handler gives: 1 to 16 as it is, anything else
 * UNKNOWN, since it would look like no error, or like one of our own. */
int32_t cyxla__status_of_code(int64_t code);

/* Puts "`context`: " before the message of `error` (NULL is fine). */
void cyxla__add_context(cyxla_error *error, const char *context);

/* The same as cyxla__fail, for a lack of `size` bytes of memory. */
int32_t cyxla__fail_memory(cyxla_error *error, size_t size);

/* Returns from the calling function with the status of `call` unless it is 0. */
#define TRY(call)                \
  do {                           \
    int32_t status_ = (call);    \
    if (status_) return status_; \
  } while (0)

#endif
