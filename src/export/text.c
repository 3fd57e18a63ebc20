#include "export/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Makes room for `size` more characters and a NUL. */
static bool reserve(cyxla__text *text, size_t size) {
  if (size < text->capacity - text->size) return true;
  const size_t capacity = 2 * text->capacity + size + 1024;
  char *grown = realloc(text->data, capacity);
  if (!grown) return false;
  text->data = grown;
  text->capacity = capacity;
  return true;
}

void cyxla__text_add(cyxla__text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int size = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  text->failed = text->failed || size < 0 || !reserve(text, (size_t)size);
  if (text->failed) return;
  va_start(arguments, format);
  text->size += (size_t)vsnprintf(text->data + text->size, (size_t)size + 1, format, arguments);
  va_end(arguments);
}

static bool is_plain(uint8_t character) {
  return character >= ' ' && character <= '~' && character != '*' && character != '\\' &&
         character != '?'; /* which trigraphs begin with */
}

void cyxla__text_add_comment(cyxla__text *text, cyxla__span name) {
  for (size_t i = 0; i < name.size; ++i)
    cyxla__text_add(text, "%c", is_plain(name.data[i]) ? name.data[i] : '_');
}

void cyxla__text_deinit(cyxla__text *text) {
  free(text->data);
  *text = (cyxla__text){0};
}
