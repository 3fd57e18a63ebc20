/* A tiny protobuf reader for tests, written apart from the writer that it checks. */
#ifndef CYXLA_TEST_PROTO_READER_H
#define CYXLA_TEST_PROTO_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "test.h"

typedef struct proto {
  const uint8_t *at, *end;
} proto;

typedef struct proto_field {
  uint64_t number;
  int wire_type;
  uint64_t value; /* varint, or the bits of a fixed64 */
  proto bytes;
} proto_field;

static inline proto proto_of(const void *data, size_t size) {
  const uint8_t *start = data;
  return (proto){start, start ? start + size : start};
}

static inline uint64_t proto_varint(proto *message) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    CHECK(message->at < message->end && shift < 70);
    const uint8_t byte = *message->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return value;
  }
}

/* Reads the next field; false at the end. */
static inline bool proto_next(proto *message, proto_field *out) {
  if (message->at == message->end) return false;
  const uint64_t tag = proto_varint(message);
  *out = (proto_field){.number = tag >> 3, .wire_type = (int)(tag & 7)};
  CHECK(out->wire_type == 0 || out->wire_type == 1 || out->wire_type == 2);
  if (out->wire_type == 0) {
    out->value = proto_varint(message);
  } else {
    const uint64_t size = out->wire_type == 1 ? 8 : proto_varint(message);
    CHECK(size <= (uint64_t)(message->end - message->at));
    out->bytes = proto_of(message->at, (size_t)size);
    for (int i = 0; out->wire_type == 1 && i < 8; ++i)
      out->value |= (uint64_t)message->at[i] << (8 * i);
    message->at += size;
  }
  return true;
}

/* Reads the next field, which must be there with this number and wire type. */
static inline proto_field proto_expect(proto *message, uint64_t number, int wire_type) {
  proto_field field;
  CHECK(proto_next(message, &field));
  CHECK_INT(field.number, number);
  CHECK_INT(field.wire_type, wire_type);
  return field;
}

static inline void proto_expect_end(const proto *message) {
  CHECK(message->at == message->end);
}

#endif
