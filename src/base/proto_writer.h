/* Writer of protobuf messages: bytes that grow, no schema.
 *
 * Lack of memory is remembered in `failed` and every later write does nothing, so that a message is
 * written without a check at each field and judged once, at its end.
 */
#ifndef CYXLA_BASE_PROTO_WRITER_H
#define CYXLA_BASE_PROTO_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cyxla__proto {
  uint8_t *data;
  size_t size;
  size_t capacity;
  bool failed;
} cyxla__proto;

void cyxla__proto_deinit(cyxla__proto *message); /* a zeroed message is fine */

void cyxla__proto_raw_varint(cyxla__proto *message, uint64_t value); /* no field number */
void cyxla__proto_varint(cyxla__proto *message, uint32_t field, uint64_t value);
void cyxla__proto_double(cyxla__proto *message, uint32_t field, double value);
void cyxla__proto_bytes(cyxla__proto *message, uint32_t field, const void *data, size_t size);

/* Appends `child` as a message field and empties it. */
void cyxla__proto_message(cyxla__proto *message, uint32_t field, cyxla__proto *child);

#endif
