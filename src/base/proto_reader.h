/* Reader of protobuf messages: field by field, no schema, no allocation. */
#ifndef CYXLA_BASE_PROTO_READER_H
#define CYXLA_BASE_PROTO_READER_H

#include "base/bytes.h"

typedef struct cyxla__field {
  uint32_t number;
  bool is_bytes;     /* a string, bytes, message or packed field: `bytes`; otherwise `value` */
  uint64_t value;    /* a varint, or the bits of a fixed32 or fixed64 */
  cyxla__span bytes; /* points into the message */
} cyxla__field;

/* Takes the next field off the front of `message`; false at its end, or where it is ill-formed
 * (groups among it), which leaves `message` with bytes. */
bool cyxla__proto_next(cyxla__span *message, cyxla__field *out_field);

/* Takes a varint off the front of `message`, as packed fields hold them one after the other;
 * false where there is none, which leaves `message` as it is. */
bool cyxla__proto_next_varint(cyxla__span *message, uint64_t *out_value);

/* Finds the last field `number` that is bytes, as protobuf has it for a field that is repeated by
 * mistake; false where there is none. */
bool cyxla__proto_find(cyxla__span message, uint32_t number, cyxla__span *out_bytes);

#endif
