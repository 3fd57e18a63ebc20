#include "direct/name.h"

cyxla__name cyxla__name_of(cyxla__span span) {
  cyxla__name name = {{0}};
  for (size_t i = 0; i < span.size && i < sizeof name.text - 1; ++i)
    name.text[i] = span.data[i] >= ' ' && span.data[i] <= '~' ? (char)span.data[i] : '?';
  return name;
}
