#include "base/utf8.h"
#include "data.h"

static bool is_utf8(const char *text) {
  const cyxla__span copy = copy_of(text, strlen(text));
  const bool result = cyxla__is_utf8(copy);
  free(copy.data);
  return result;
}

/* The encoding of a number, up to 0x1fffff, in as many bytes as are asked for. */
static const char *encoded(uint32_t character, int size) {
  static char text[5];
  static const unsigned firsts[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (int i = size - 1; i > 0; --i, character >>= 6) text[i] = (char)(0x80 | (character & 0x3f));
  text[0] = (char)(firsts[size] | character);
  text[size] = 0;
  return text;
}

static void takes_every_character_once(void) {
  static const uint32_t limits[] = {0, 0x80, 0x800, 0x10000, 0x110000};
  for (int size = 1; size <= 4; ++size)
    for (uint32_t character = 1; character < 0x110000; character += character < 0x3000 ? 1 : 61) {
      const bool is_surrogate = character >= 0xd800 && character < 0xe000;
      if (size < 4 && character >= limits[size]) continue; /* no room */
      CHECK_INT(is_utf8(encoded(character, size)), character >= limits[size - 1] && !is_surrogate);
    }
  CHECK(is_utf8(encoded(0x10ffff, 4)));
  CHECK(!is_utf8(encoded(0x110000, 4)));
}

static void refuses_what_is_no_character(void) {
  static const char *const wrong[] = {
      "\x80",          "a\xbf",         "\xc0\x80",         "\xc1\xbf",  "\xc3",
      "\xc3(",         "\xe2\x82",      "\xe2(\xa1",        "\xe2\x82(", "\xf0\x90\x8c",
      "\xf0\x90\x8c(", "\xf0\x90(\xbc", "\xf5\x80\x80\x80", "\xff",      "\xfe"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i)
    if (is_utf8(wrong[i])) TEST_FAIL("number %zu is taken", i);
}

static void takes_text(void) {
  CHECK(cyxla__is_utf8((cyxla__span){NULL, 0}));
  CHECK(is_utf8("params['w'][0] \xce\xb1\xe2\x82\xac\xf0\x9f\x98\x80"));
}

int main(void) {
  RUN(takes_every_character_once);
  RUN(refuses_what_is_no_character);
  RUN(takes_text);
}
