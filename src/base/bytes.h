/* Bytes from outside, which may be anything: every offset is checked here, and only here. */
#ifndef CYXLA_BASE_BYTES_H
#define CYXLA_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A borrowed piece of memory. */
typedef struct cyxla__span {
  uint8_t *data;
  size_t size;
} cyxla__span;

/* The part of `span` at `offset` of `size` bytes; false where it is not all inside. */
static inline bool cyxla__span_part(cyxla__span span, uint64_t offset, uint64_t size,
                                    cyxla__span *out_part) {
  if (offset > span.size || size > span.size - offset) return false;
  *out_part = (cyxla__span){span.data + offset, (size_t)size};
  return true;
}

/* Little-endian numbers of 2, 4 and 8 bytes at `offset`; false where they are not all inside. */
static inline bool cyxla__span_load(cyxla__span span, uint64_t offset, size_t size,
                                    uint64_t *out_value) {
  cyxla__span part;
  if (!cyxla__span_part(span, offset, size, &part)) return false;
  *out_value = 0;
  for (size_t i = 0; i < size; ++i) *out_value |= (uint64_t)part.data[i] << (8 * i);
  return true;
}

/* Whether `span` holds exactly the characters of `text`. */
static inline bool cyxla__span_is(cyxla__span span, const char *text) {
  return span.size == strlen(text) && !memcmp(span.data, text, span.size);
}

/* Whether the bytes of `part` occur in `span`. */
static inline bool cyxla__span_contains(cyxla__span span, const void *part, size_t size) {
  for (size_t i = 0; i + size <= span.size; ++i)
    if (!memcmp(span.data + i, part, size)) return true;
  return false;
}

#endif
