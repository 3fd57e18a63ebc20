#include "base/proto_writer.h"

#include <stdlib.h>
#include <string.h>

/* Wire types of the encoding (protobuf.dev/programming-guides/encoding). */
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void append(cyxla__proto *message, const void *data, size_t size) {
  if (message->failed || !size) return;
  if (size > message->capacity - message->size) {
    const size_t capacity = 2 * message->capacity + size + 64;
    uint8_t *grown = realloc(message->data, capacity);
    if (!grown) {
      message->failed = true;
      return;
    }
    message->data = grown;
    message->capacity = capacity;
  }
  memcpy(message->data + message->size, data, size);
  message->size += size;
}

static void append_tag(cyxla__proto *message, uint32_t field, int wire_type) {
  cyxla__proto_raw_varint(message, (uint64_t)field << 3 | (uint64_t)wire_type);
}

void cyxla__proto_deinit(cyxla__proto *message) {
  free(message->data);
  *message = (cyxla__proto){0};
}

void cyxla__proto_raw_varint(cyxla__proto *message, uint64_t value) {
  uint8_t bytes[10];
  size_t size = 0;
  do {
    bytes[size] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    ++size;
    value >>= 7;
  } while (value);
  append(message, bytes, size);
}

void cyxla__proto_varint(cyxla__proto *message, uint32_t field, uint64_t value) {
  append_tag(message, field, WIRE_VARINT);
  cyxla__proto_raw_varint(message, value);
}

void cyxla__proto_double(cyxla__proto *message, uint32_t field, double value) {
  uint64_t bits;
  uint8_t bytes[8];
  memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 8; ++i) bytes[i] = (uint8_t)(bits >> (8 * i));
  append_tag(message, field, WIRE_FIXED64);
  append(message, bytes, sizeof bytes);
}

void cyxla__proto_bytes(cyxla__proto *message, uint32_t field, const void *data, size_t size) {
  append_tag(message, field, WIRE_BYTES);
  cyxla__proto_raw_varint(message, size);
  append(message, data, size);
}

void cyxla__proto_message(cyxla__proto *message, uint32_t field, cyxla__proto *child) {
  if (child->failed) message->failed = true;
  cyxla__proto_bytes(message, field, child->data, child->size);
  cyxla__proto_deinit(child);
}
