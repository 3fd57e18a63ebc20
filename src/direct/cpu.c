#include "direct/cpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "direct/cpu_features.h"

/* Size of a text from outside for "%.*s". */
static int shown(cyxla__span text) {
  return text.size < 100 ? (int)text.size : 100;
}

/* The part of `text` before the first `separator`, which both are taken off its front. */
static cyxla__span take_part(cyxla__span *text, char separator) {
  const uint8_t *end = text->size ? memchr(text->data, separator, text->size) : NULL;
  const cyxla__span part = {text->data, end ? (size_t)(end - text->data) : text->size};
  const size_t taken = part.size + (end ? 1 : 0);
  *text = (cyxla__span){text->size ? text->data + taken : NULL, text->size - taken};
  return part;
}

/* A list of names for a message, which may be cut. */
typedef struct name_list {
  char text[512];
  size_t size;
} name_list;

static void add_name(name_list *list, cyxla__span name, cyxla__feature_state state) {
  const size_t room = sizeof list->text - list->size;
  const int size = snprintf(list->text + list->size, room, "%s%.*s%s", list->size ? ", " : "",
                            shown(name), (const char *)name.data,
                            state == CYXLA__FEATURE_UNKNOWN ? " (unknown to cyxla)" : "");
  if (size > 0 && (size_t)size < room) list->size += (size_t)size;
}

int32_t cyxla__cpu_check(cyxla__span triple, cyxla__span features, cyxla_error *error) {
  const cyxla__span architecture = take_part(&triple, '-');
  if (!cyxla__span_is(architecture, cyxla__cpu_architecture))
    return cyxla__fail(error, CYXLA_FAILED_PRECONDITION,
                       "the code was compiled for \"%.*s\", this processor is %s",
                       shown(architecture), (const char *)architecture.data,
                       cyxla__cpu_architecture);
  name_list missing = {.size = 0};
  while (features.size) {
    cyxla__span name = take_part(&features, ',');
    if (!name.size || name.data[0] == '-') continue; /* not used */
    if (name.data[0] == '+') name = (cyxla__span){name.data + 1, name.size - 1};
    const cyxla__feature_state state = cyxla__cpu_feature(name);
    if (state) add_name(&missing, name, state);
  }
  if (missing.size)
    return cyxla__fail(error, CYXLA_FAILED_PRECONDITION,
                       "the code needs features that this processor does not have: %s",
                       missing.text);
  return CYXLA_OK;
}

/* Appends to a text that has room for `size` bytes, `used` of which are taken; returns those then. */
static size_t append(char *text, size_t size, size_t used, const char *separator,
                     const char *name) {
  const int added = snprintf(text + used, size - used, "%s%s", separator, name);
  return used + (size_t)added < size ? used + (size_t)added : size - 1;
}

void cyxla__cpu_describe(char *out_text, size_t size) {
  char model[16];
  snprintf(model, sizeof model, "%08" PRIx32, cyxla__cpu_model());
  size_t used = append(out_text, size, 0, "", cyxla__cpu_architecture);
  used = append(out_text, size, used, " ", model);
  const char *separator = " ", *name;
  for (size_t i = 0; (name = cyxla__cpu_feature_name(i)); ++i) {
    const cyxla__span span = {(uint8_t *)name, strlen(name)}; /* only read */
    if (cyxla__cpu_feature(span) != CYXLA__FEATURE_PRESENT) continue;
    used = append(out_text, size, used, separator, name);
    separator = ",";
  }
}
