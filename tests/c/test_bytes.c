#include "base/bytes.h"
#include "data.h"

static const uint64_t huge[] = {UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX};

static void takes_parts(void) {
  cyxla__span span = copy_of("abcdefgh", 8), part;
  for (uint64_t offset = 0; offset <= 10; ++offset)
    for (uint64_t size = 0; size <= 10; ++size) {
      const bool inside = offset + size <= 8;
      part = (cyxla__span){NULL, 99};
      CHECK_INT(cyxla__span_part(span, offset, size, &part), inside);
      CHECK(part.data == (inside ? span.data + offset : NULL));
      CHECK_INT(part.size, inside ? size : 99);
    }
  free(span.data);
}

/* A sum that wraps around is not inside. */
static void refuses_huge_parts(void) {
  cyxla__span span = copy_of("abcdefgh", 8), part;
  for (size_t i = 0; i < sizeof huge / sizeof huge[0]; ++i)
    for (uint64_t small = 0; small <= 9; ++small) {
      CHECK(!cyxla__span_part(span, small, huge[i], &part));
      CHECK(!cyxla__span_part(span, huge[i], small, &part));
      CHECK(!cyxla__span_part(span, small, 0 - small + 9, &part));
      CHECK(!cyxla__span_part(span, huge[i], 0 - huge[i], &part));
    }
  free(span.data);
}

static void loads_numbers(void) {
  cyxla__span span = copy_of("\x01\x02\x03\x04\x05\x06\x07\x88\xff", 9);
  uint64_t value;
  CHECK(cyxla__span_load(span, 0, 1, &value) && value == 0x01);
  CHECK(cyxla__span_load(span, 7, 1, &value) && value == 0x88);
  CHECK(cyxla__span_load(span, 1, 2, &value) && value == 0x0302);
  CHECK(cyxla__span_load(span, 4, 4, &value) && value == 0x88070605);
  CHECK(cyxla__span_load(span, 0, 8, &value) && value == 0x8807060504030201);
  CHECK(cyxla__span_load(span, 1, 8, &value) && value == 0xff88070605040302);
  value = 5;
  for (uint64_t offset = 0; offset < 20; ++offset)
    for (size_t size = 1; size <= 8; size *= 2)
      if (offset + size > 9) CHECK(!cyxla__span_load(span, offset, size, &value) && value == 5);
  for (size_t i = 0; i < sizeof huge / sizeof huge[0]; ++i)
    CHECK(!cyxla__span_load(span, huge[i], 8, &value) && value == 5);
  free(span.data);
}

static void compares_texts(void) {
  cyxla__span span = copy_of("+avx", 4), empty = copy_of("", 0);
  CHECK(cyxla__span_is(span, "+avx"));
  CHECK(!cyxla__span_is(span, "+av") && !cyxla__span_is(span, "+avx2"));
  CHECK(!cyxla__span_is(span, "-avx") && !cyxla__span_is(span, ""));
  CHECK(cyxla__span_is(empty, "") && !cyxla__span_is(empty, "+"));
  free(span.data);
  free(empty.data);
}

static void finds_parts(void) {
  cyxla__span span = copy_of("aab\0c", 5), empty = copy_of("", 0);
  CHECK(cyxla__span_contains(span, "aab", 3) && cyxla__span_contains(span, "ab", 2));
  CHECK(cyxla__span_contains(span, "b\0c", 3) && cyxla__span_contains(span, "c", 1));
  CHECK(cyxla__span_contains(span, "aab\0c", 5));
  CHECK(!cyxla__span_contains(span, "ba", 2) && !cyxla__span_contains(span, "c\0", 2));
  CHECK(!cyxla__span_contains(span, "aab\0cd", 6) && !cyxla__span_contains(empty, "a", 1));
  free(span.data);
  free(empty.data);
}

int main(void) {
  RUN(takes_parts);
  RUN(refuses_huge_parts);
  RUN(loads_numbers);
  RUN(compares_texts);
  RUN(finds_parts);
}
