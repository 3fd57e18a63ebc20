#include "base/proto_reader.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static bool skip(cyxla__span *message, uint64_t size) {
  return cyxla__span_part(*message, size, message->size - size, message);
}

static bool read_varint(cyxla__span *message, uint64_t *out_value) {
  *out_value = 0;
  for (size_t i = 0; i < 10 && i < message->size; ++i) {
    *out_value |= (uint64_t)(message->data[i] & 0x7f) << (7 * i);
    if (!(message->data[i] & 0x80)) return skip(message, i + 1);
  }
  return false;
}

static bool read_fixed(cyxla__span *message, size_t size, uint64_t *out_value) {
  return cyxla__span_load(*message, 0, size, out_value) && skip(message, size);
}

static bool read_bytes(cyxla__span *message, cyxla__span *out_bytes) {
  uint64_t size;
  return read_varint(message, &size) && cyxla__span_part(*message, 0, size, out_bytes) &&
         skip(message, size);
}

bool cyxla__proto_next(cyxla__span *message, cyxla__field *out_field) {
  cyxla__span rest = *message;
  uint64_t tag;
  /* A tag has 32 bits, and no field has the number 0. */
  if (!rest.size || !read_varint(&rest, &tag) || tag > UINT32_MAX || tag < 8) return false;
  cyxla__field field = {.number = (uint32_t)(tag >> 3), .is_bytes = (tag & 7) == WIRE_BYTES};
  bool good = false;
  switch (tag & 7) {
    case WIRE_VARINT:
      good = read_varint(&rest, &field.value);
      break;
    case WIRE_FIXED64:
      good = read_fixed(&rest, 8, &field.value);
      break;
    case WIRE_FIXED32:
      good = read_fixed(&rest, 4, &field.value);
      break;
    case WIRE_BYTES:
      good = read_bytes(&rest, &field.bytes);
      break;
  }
  if (!good) return false;
  *message = rest;
  *out_field = field;
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
