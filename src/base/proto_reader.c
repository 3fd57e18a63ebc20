#include "base/proto_reader.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static bool skip(cyxla__span *message, uint64_t size) {
  return cyxla__span_part(*message, size, message->size - size, message);
}

bool cyxla__proto_next_varint(cyxla__span *message, uint64_t *out_value) {
  const size_t limit = message->size < 10 ? message->size : 10;
  uint64_t value = 0;
  for (size_t i = 0; i < limit; ++i) {
    const uint8_t byte = message->data[i];
    value |= (uint64_t)(byte & 0x7f) << (7 * i);
    if (byte & 0x80) continue;
    *out_value = value;
    return skip(message, i + 1);
  }
  return false;
}

static bool read_fixed(cyxla__span *message, size_t size, uint64_t *out_value) {
  return cyxla__span_load(*message, 0, size, out_value) && skip(message, size);
}

static bool read_bytes(cyxla__span *message, cyxla__span *out_bytes) {
  uint64_t size;
  return cyxla__proto_next_varint(message, &size) &&
         cyxla__span_part(*message, 0, size, out_bytes) && skip(message, size);
}

/* Reads what follows a tag of `wire_type`. */
static bool read_value(cyxla__span *rest, unsigned wire_type, uint64_t *out_value,
                       cyxla__span *out_bytes) {
  switch (wire_type) {
    case WIRE_VARINT:
      return cyxla__proto_next_varint(rest, out_value);
    case WIRE_FIXED64:
      return read_fixed(rest, 8, out_value);
    case WIRE_FIXED32:
      return read_fixed(rest, 4, out_value);
    case WIRE_BYTES:
      return read_bytes(rest, out_bytes);
    default:
      return false;
  }
}

bool cyxla__proto_next(cyxla__span *message, cyxla__field *out_field) {
  cyxla__span rest = *message, bytes = {0};
  uint64_t tag, value = 0;
  /* A tag has 32 bits, and no field has the number 0. */
  if (!rest.size || !cyxla__proto_next_varint(&rest, &tag) || tag > UINT32_MAX || tag < 8)
    return false;
  if (!read_value(&rest, tag & 7, &value, &bytes)) return false;
  *message = rest;
  /* Member by member: a struct that is put together first, and then copied, costs twice the
   * time. */
  out_field->number = (uint32_t)(tag >> 3);
  out_field->is_bytes = (tag & 7) == WIRE_BYTES;
  out_field->value = value;
  out_field->bytes = bytes;
  return true;
}

bool cyxla__proto_find(cyxla__span message, uint32_t number, cyxla__span *out_bytes) {
  bool found = false;
  cyxla__field field;
  while (cyxla__proto_next(&message, &field)) {
    if (field.number != number || !field.is_bytes) continue;
    *out_bytes = field.bytes;
    found = true;
  }
  return found;
}
