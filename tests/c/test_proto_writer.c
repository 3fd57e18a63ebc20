#include "base/proto_writer.h"
#include "proto_reader.h"

static void writes_varints(void) {
  static const uint64_t values[] = {0,          1,          127,        128,
                                    300,        16383,      16384,      UINT32_MAX,
                                    UINT64_MAX, 1ull << 63, 1ull << 56, 0x123456789abcdef};
  cyxla__proto message = {0};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i)
    cyxla__proto_raw_varint(&message, values[i]);
  proto reader = proto_of(message.data, message.size);
  for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i)
    CHECK(proto_varint(&reader) == values[i]);
  proto_expect_end(&reader);
  cyxla__proto_deinit(&message);
}

/* The example of the encoding's own documentation, and the longest varint. */
static void writes_known_bytes(void) {
  cyxla__proto message = {0};
  cyxla__proto_varint(&message, 1, 150);
  CHECK_INT(message.size, 3);
  CHECK_BYTES(message.data, "\x08\x96\x01", 3);
  cyxla__proto_deinit(&message);
  cyxla__proto_bytes(&message, 2, "testing", 7);
  CHECK_INT(message.size, 9);
  CHECK_BYTES(message.data, "\x12\x07testing", 9);
  cyxla__proto_deinit(&message);
  cyxla__proto_varint(&message, 1, UINT64_MAX);
  CHECK_INT(message.size, 11);
  CHECK_BYTES(message.data, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
  cyxla__proto_deinit(&message);
  cyxla__proto_double(&message, 3, 1.0);
  CHECK_BYTES(message.data, "\x19\0\0\0\0\0\0\xf0\x3f", 9);
  cyxla__proto_deinit(&message);
}

static void writes_every_kind_of_field(void) {
  cyxla__proto message = {0}, child = {0};
  cyxla__proto_varint(&child, 1, 5);
  cyxla__proto_varint(&message, 100000, 1);
  cyxla__proto_double(&message, 4, -0.1);
  cyxla__proto_bytes(&message, 5, NULL, 0);
  cyxla__proto_message(&message, 6, &child);
  CHECK(!child.data && !child.size);
  proto reader = proto_of(message.data, message.size);
  CHECK_INT(proto_expect(&reader, 100000, 0).value, 1);
  const double value = -0.1;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  CHECK(proto_expect(&reader, 4, 1).value == bits);
  proto empty = proto_expect(&reader, 5, 2).bytes;
  proto_expect_end(&empty);
  proto inner = proto_expect(&reader, 6, 2).bytes;
  CHECK_INT(proto_expect(&inner, 1, 0).value, 5);
  proto_expect_end(&inner);
  proto_expect_end(&reader);
  cyxla__proto_deinit(&message);
}

static void grows(void) {
  cyxla__proto message = {0};
  static char block[5000];
  for (int i = 0; i < 100; ++i) {
    memset(block, i, sizeof block);
    cyxla__proto_bytes(&message, 1, block, (size_t)i * 50);
  }
  proto reader = proto_of(message.data, message.size);
  for (int i = 0; i < 100; ++i) {
    const proto bytes = proto_expect(&reader, 1, 2).bytes;
    CHECK_INT(bytes.end - bytes.at, i * 50);
    for (const uint8_t *at = bytes.at; at < bytes.end; ++at) CHECK_INT(*at, i);
  }
  proto_expect_end(&reader);
  cyxla__proto_deinit(&message);
}

/* A failed message takes no more, and passes its failure on. */
static void remembers_failure(void) {
  cyxla__proto message = {0}, child = {.failed = true};
  cyxla__proto_varint(&message, 1, 1);
  const size_t size = message.size;
  cyxla__proto_message(&message, 2, &child);
  CHECK(message.failed);
  cyxla__proto_varint(&message, 3, 1);
  CHECK_INT(message.size, size);
  cyxla__proto_deinit(&message);
  CHECK(!message.failed && !message.data);
}

int main(void) {
  RUN(writes_varints);
  RUN(writes_known_bytes);
  RUN(writes_every_kind_of_field);
  RUN(grows);
  RUN(remembers_failure);
}
