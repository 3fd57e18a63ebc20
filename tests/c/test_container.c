#include "base/proto_writer.h"
#include "data.h"
#include "xla_cpu/container.h"

static void add_object(cyxla__proto *result, const char *contents) {
  cyxla__proto object = {0};
  if (contents) cyxla__proto_bytes(&object, 1, contents, strlen(contents));
  cyxla__proto_bytes(&object, 2, "name", 4);
  cyxla__proto_message(result, 8, &object);
}

static void add_features(cyxla__proto *result, const char *features) {
  cyxla__proto target = {0};
  cyxla__proto_bytes(&target, 1, "x86_64", 6);
  if (features) cyxla__proto_bytes(&target, 3, features, strlen(features));
  cyxla__proto_message(result, 9, &target);
}

/* The bytes of an executable with this result, which is taken over. */
static cyxla__span wrap(cyxla__proto *result) {
  cyxla__proto executable = {0};
  cyxla__proto_message(&executable, 1, result);
  cyxla__proto_varint(&executable, 2, 1);
  cyxla__span bytes = copy_of(executable.data, executable.size);
  cyxla__proto_deinit(&executable);
  return bytes;
}

static void finds_objects(void) {
  cyxla__proto result = {0};
  cyxla__proto_bytes(&result, 1, "module", 6);
  add_object(&result, "first");
  add_object(&result, NULL); /* one without contents is passed over */
  cyxla__proto_varint(&result, 8, 3);
  add_object(&result, "");
  add_features(&result, "+avx");
  add_object(&result, "last");
  cyxla__span bytes = wrap(&result), rest, object;
  CHECK(cyxla__container_open(bytes, &rest));
  CHECK(cyxla__container_next_object(&rest, &object) && cyxla__span_is(object, "first"));
  CHECK(cyxla__container_next_object(&rest, &object) && cyxla__span_is(object, ""));
  CHECK(cyxla__container_next_object(&rest, &object) && cyxla__span_is(object, "last"));
  CHECK(!cyxla__container_next_object(&rest, &object));
  free(bytes.data);
}

static bool has_feature(const char *features, const char *wanted) {
  cyxla__proto result = {0};
  add_object(&result, "object");
  add_features(&result, features);
  cyxla__span bytes = wrap(&result), opened;
  CHECK(cyxla__container_open(bytes, &opened));
  const bool found = cyxla__container_has_feature(opened, wanted);
  free(bytes.data);
  return found;
}

static void finds_features(void) {
  CHECK(has_feature("+avx", "+avx"));
  CHECK(has_feature("+avx,+sse3", "+avx") && has_feature("+sse3,+avx", "+avx"));
  CHECK(has_feature("+sse3,+avx,+avx2", "+avx"));
  CHECK(!has_feature("+avx2,+avx512f,-avx,avx,++avx", "+avx"));
  CHECK(!has_feature("", "+avx") && !has_feature(",", "+avx") && !has_feature(NULL, "+avx"));
}

/* With a message in front, as jaxlib writes it: its size, a varint, and so many bytes. */
static cyxla__span with_prefix(cyxla__span executable, size_t size) {
  cyxla__proto wrapper = {0};
  cyxla__proto_raw_varint(&wrapper, size);
  for (size_t i = 0; i < size; ++i) cyxla__proto_raw_varint(&wrapper, i % 2 ? 3 : 8); /* field 1 */
  for (size_t i = 0; i < executable.size; ++i) {
    /* Byte by byte: fields are not framed. */
    const uint8_t byte = executable.data[i];
    CHECK(byte < 0x80);
    cyxla__proto_raw_varint(&wrapper, byte);
  }
  cyxla__span bytes = copy_of(wrapper.data, wrapper.size);
  cyxla__proto_deinit(&wrapper);
  return bytes;
}

static void unwraps(void) {
  static const size_t sizes[] = {0, 2, 90, 200};
  cyxla__proto result = {0};
  add_object(&result, "object");
  cyxla__span executable = wrap(&result), bare, rest, object;
  CHECK(cyxla__container_unwrap(executable, &bare));
  CHECK(bare.data == executable.data && bare.size == executable.size);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    cyxla__span bytes = with_prefix(executable, sizes[i]);
    CHECK(cyxla__container_unwrap(bytes, &bare));
    CHECK_INT(bare.size, executable.size);
    CHECK(bare.data + bare.size == bytes.data + bytes.size);
    CHECK(cyxla__container_open(bytes, &rest) && cyxla__container_next_object(&rest, &object));
    CHECK(cyxla__span_is(object, "object"));
    CHECK(!cyxla__container_unwrap((cyxla__span){bytes.data, bytes.size - 1}, &bare));
    free(bytes.data);
  }
  CHECK(!cyxla__container_unwrap((cyxla__span){(uint8_t *)"\x05xyz", 4}, &bare));
  CHECK(!cyxla__container_unwrap((cyxla__span){(uint8_t *)"\x80", 1}, &bare));
  free(executable.data);
}

/* The size in front is 13, which is also the tag of a field of four bytes, and what follows it looks like
 * more fields. */
static void a_size_is_no_tag(void) {
  cyxla__proto result = {0};
  add_object(&result, "object");
  cyxla__span executable = wrap(&result), bare;
  cyxla__span bytes = with_prefix(executable, 13);
  bytes.data[11] = 0x12; /* bytes of field 2: as many as there are up to another field 1 */
  bytes.data[12] = 1;
  CHECK(cyxla__container_unwrap(bytes, &bare));
  CHECK_INT(bare.size, executable.size);
  free(bytes.data);
  free(executable.data);
}

static void looks_only_where_it_should(void) {
  cyxla__span bytes = copy_of("\x12\x01x", 3), rest = bytes, opened, object;
  CHECK(!cyxla__container_open(bytes, &opened));
  CHECK(!cyxla__container_has_feature(bytes, "+avx"));
  CHECK(!cyxla__container_next_object(&rest, &object));
  free(bytes.data);
  CHECK(!cyxla__container_open((cyxla__span){(uint8_t[1]){0}, 0}, &opened));
}

/* Of a real one, whatever is left of it. */
static void reads_truncated_ones(void) {
  cyxla__span whole = read_data("plugin_both_arctans");
  for (size_t size = 0; size <= whole.size; ++size) {
    cyxla__span bytes = copy_of(whole.data, size), rest, object;
    size_t count = 0;
    if (cyxla__container_open(bytes, &rest)) {
      CHECK(size == whole.size || rest.size < size);
      cyxla__container_has_feature(rest, "+avx");
      while (cyxla__container_next_object(&rest, &object)) {
        CHECK(object.data >= bytes.data && object.data + object.size <= bytes.data + size);
        ++count;
      }
    }
    if (size == whole.size) CHECK_INT(count, 2);
    free(bytes.data);
  }
  free(whole.data);
}

int main(void) {
  RUN(finds_objects);
  RUN(finds_features);
  RUN(unwraps);
  RUN(a_size_is_no_tag);
  RUN(looks_only_where_it_should);
  RUN(reads_truncated_ones);
}
