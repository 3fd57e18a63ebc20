#include "base/utf8.h"

/* Bytes of the character that starts with `first`; 0 where none does. */
static size_t size_of(uint8_t first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0; /* within a character, or an overlong one of two bytes */
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

/* The second byte is in a smaller range where others would make overlong forms, surrogates, or characters
 * beyond the last one. */
static bool is_second(uint8_t first, uint8_t second) {
  const uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  return least <= second && second <= most;
}

bool cyxla__is_utf8(cyxla__span text) {
  for (size_t i = 0, size; i < text.size; i += size) {
    size = size_of(text.data[i]);
    if (!size || size > text.size - i) return false;
    if (size > 1 && !is_second(text.data[i], text.data[i + 1])) return false;
    for (size_t k = 2; k < size; ++k)
      if ((text.data[i + k] & 0xc0) != 0x80) return false;
  }
  return true;
}
