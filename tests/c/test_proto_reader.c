#include "base/proto_reader.h"
#include "data.h"

/* A text with its size, which strlen would not tell. */
#define MESSAGE(text) copy_of(text, sizeof(text) - 1)

/* Takes a field, which must be there, be of this number, and not be bytes. */
static uint64_t expect_value(cyxla__span *message, uint32_t number) {
  cyxla__field field;
  CHECK(cyxla__proto_next(message, &field));
  CHECK_INT(field.number, number);
  CHECK(!field.is_bytes);
  return field.value;
}

static void expect_bytes(cyxla__span *message, uint32_t number, const char *expected, size_t size) {
  cyxla__field field;
  CHECK(cyxla__proto_next(message, &field));
  CHECK_INT(field.number, number);
  CHECK(field.is_bytes);
  CHECK_INT(field.bytes.size, size);
  CHECK_BYTES(field.bytes.data, expected, size);
}

/* An ill-formed message is not moved. */
static void refuse(cyxla__span message) {
  cyxla__span rest = message;
  cyxla__field field = {.number = 77};
  CHECK(!cyxla__proto_next(&rest, &field));
  CHECK(rest.data == message.data && rest.size == message.size);
  CHECK_INT(field.number, 77);
  free(message.data);
}

/* A field of each wire type, and each of its truncations. */
static const char every_type[] =
    "\x08\x96\x01"
    "\x11\x01\x02\x03\x04\x05\x06\x07\x88"
    "\x1a\x03"
    "abc"
    "\x22\x00"
    "\x2d\x01\x02\x03\x84";
static const size_t field_ends[] = {0, 3, 12, 17, 19, 24};

static void reads_every_wire_type(void) {
  cyxla__span message = MESSAGE(every_type), rest = message;
  CHECK_INT(expect_value(&rest, 1), 150);
  CHECK(expect_value(&rest, 2) == 0x8807060504030201);
  expect_bytes(&rest, 3, "abc", 3);
  expect_bytes(&rest, 4, "", 0);
  CHECK_INT(expect_value(&rest, 5), 0x84030201);
  CHECK_INT(rest.size, 0);
  cyxla__field field;
  CHECK(!cyxla__proto_next(&rest, &field));
  free(message.data);
}

static void stops_at_a_truncation(void) {
  for (size_t size = 0; size < sizeof every_type; ++size) {
    cyxla__span message = copy_of(every_type, size), rest = message;
    size_t whole = 0, count = 0;
    while (whole + 1 < sizeof field_ends / sizeof field_ends[0] && field_ends[whole + 1] <= size)
      ++whole;
    cyxla__field field;
    while (cyxla__proto_next(&rest, &field)) ++count;
    CHECK_INT(count, whole);
    CHECK_INT(rest.size, size - field_ends[whole]);
    free(message.data);
  }
}

static void reads_long_varints(void) {
  cyxla__span message = MESSAGE(
      "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
      "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"
      "\x08\x85\x80\x80\x80\x00"
      "\xf8\xff\xff\xff\x0f\x07");
  cyxla__span rest = message;
  CHECK(expect_value(&rest, 1) == UINT64_MAX);
  CHECK(expect_value(&rest, 1) == 1ull << 63);
  CHECK_INT(expect_value(&rest, 1), 5);              /* longer than it has to be */
  CHECK_INT(expect_value(&rest, (1u << 29) - 1), 7); /* the largest number of a field */
  CHECK_INT(rest.size, 0);
  free(message.data);
  refuse(MESSAGE("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
  refuse(MESSAGE("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
}

static void refuses_groups_and_unknown_types(void) {
  refuse(MESSAGE("\x0b\x08\x01\x0c"));
  refuse(MESSAGE("\x0c"));
  refuse(MESSAGE("\x0e\x01"));
  refuse(MESSAGE("\x0f\x01"));
}

/* Numbers that protobuf does not have are not taken for others, modulo 2^32 or so. */
static void refuses_wrong_numbers(void) {
  refuse(MESSAGE("\x00\x01"));
  refuse(MESSAGE("\x88\x80\x80\x80\x80\x01\x05"));
  refuse(MESSAGE("\x88\x80\x80\x80\x80\x80\x80\x80\x80\x01\x05"));
}

static void refuses_sizes_beyond_the_end(void) {
  refuse(MESSAGE("\x0a\x01"));
  refuse(
      MESSAGE("\x0a\x04"
              "abc"));
  refuse(
      MESSAGE("\x0a\xff\xff\xff\xff\x0f"
              "abc"));
  refuse(
      MESSAGE("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
              "abc"));
  refuse(
      MESSAGE("\x0a\xfc\xff\xff\xff\xff\xff\xff\xff\xff\x01"
              "abc"));
}

/* As packed fields hold them. */
static void reads_bare_varints(void) {
  cyxla__span numbers = MESSAGE("\x05\xff\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x80"),
              rest = numbers;
  uint64_t value;
  CHECK(cyxla__proto_next_varint(&rest, &value) && value == 5);
  CHECK(cyxla__proto_next_varint(&rest, &value) && value == 255);
  CHECK(cyxla__proto_next_varint(&rest, &value) && value == UINT64_MAX);
  CHECK(!cyxla__proto_next_varint(&rest, &value) && value == UINT64_MAX);
  CHECK_INT(rest.size, 1);
  free(numbers.data);
}

static void finds_the_last(void) {
  cyxla__span message = MESSAGE(
      "\x0a\x01"
      "a"
      "\x12\x02"
      "bc"
      "\x0a\x01"
      "d"
      "\x08\x05"
      "\x12\x09"
      "e");
  cyxla__span bytes;
  CHECK(cyxla__proto_find(message, 1, &bytes) && cyxla__span_is(bytes, "d"));
  CHECK(cyxla__proto_find(message, 2, &bytes) && cyxla__span_is(bytes, "bc"));
  CHECK(!cyxla__proto_find(message, 3, &bytes));
  CHECK(!cyxla__proto_find((cyxla__span){message.data, 0}, 1, &bytes));
  free(message.data);
  message = MESSAGE("\x08\x05"); /* the number, but no bytes */
  CHECK(!cyxla__proto_find(message, 1, &bytes));
  free(message.data);
}

int main(void) {
  RUN(reads_every_wire_type);
  RUN(stops_at_a_truncation);
  RUN(reads_long_varints);
  RUN(refuses_groups_and_unknown_types);
  RUN(refuses_wrong_numbers);
  RUN(refuses_sizes_beyond_the_end);
  RUN(reads_bare_varints);
  RUN(finds_the_last);
}
