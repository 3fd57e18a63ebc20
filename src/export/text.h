/* Text that grows.
 *
 * Lack of memory is remembered in `failed` and every later addition does nothing, so that a text is
 * written without a check at each line and judged once, at its end. */
#ifndef CYXLA_EXPORT_TEXT_H
#define CYXLA_EXPORT_TEXT_H

#include "base/bytes.h"
#include "base/status.h"

/* Starts as {0}. */
typedef struct cyxla__text {
  char *data; /* `size` characters and a NUL, or NULL where there are none */
  size_t size, capacity;
  bool failed;
} cyxla__text;

void cyxla__text_add(cyxla__text *text, const char *format, ...) CYXLA__PRINTF(2, 3);

/* Adds a name from outside to a comment of C: what would end it, or is not printable ASCII,
 * becomes an underscore. */
void cyxla__text_add_comment(cyxla__text *text, cyxla__span name);

void cyxla__text_deinit(cyxla__text *text);

#endif
