/* Configuration of the fake plugin, its faults, and its counts of what is alive. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_plugin.h"

#define EXPORT __attribute__((visibility("default")))

fake_config fake__config;

static const char *const point_names[POINT_COUNT] = {
#define FAKE_NAME(name) #name,
    FAKE_FUNCTIONS(FAKE_NAME)
#undef FAKE_NAME
        [POINT_EVENT_HOST_BUFFER] = "event.host_buffer",
    [POINT_EVENT_EXECUTE] = "event.execute",
    [POINT_EVENT_READ] = "event.read",
};

static const size_t slot_offsets[FUNCTION_COUNT] = {
#define FAKE_OFFSET(name) offsetof(PJRT_Api, name),
    FAKE_FUNCTIONS(FAKE_OFFSET)
#undef FAKE_OFFSET
};

static int find_point(const char *name, size_t size) {
  for (int i = 0; i < POINT_COUNT; ++i)
    if (strlen(point_names[i]) == size && !strncmp(point_names[i], name, size)) return i;
  /* A test that misspells a name would prove nothing. */
  fprintf(stderr, "fake plugin: there is no function %.*s\n", (int)size, name);
  abort();
}

/* ---- faults ---- */

/* At visits number `first` to `last` of a point, fail. */
typedef struct fake_rule {
  int point;
  int code;
  long first, last;
  char message[128];
} fake_rule;

enum { MAX_RULES = 16 };
static fake_rule rules[MAX_RULES];
static size_t rule_count;
static atomic_long visits[POINT_COUNT];

/* NAME:CODE[:N[+]][:MESSAGE] */
static void read_rule(const char *text, size_t size) {
  if (rule_count == MAX_RULES) abort();
  char copy[256];
  if (size >= sizeof copy) abort();
  memcpy(copy, text, size);
  copy[size] = 0;
  fake_rule *rule = &rules[rule_count++];
  char *at = strchr(copy, ':');
  if (!at) abort();
  *rule = (fake_rule){.point = find_point(copy, (size_t)(at - copy)), .first = 1, .last = 1L << 62};
  rule->code = (int)strtol(at + 1, &at, 10);
  if (*at == ':' && at[1] >= '0' && at[1] <= '9') {
    rule->first = strtol(at + 1, &at, 10);
    if (*at == '+')
      ++at;
    else
      rule->last = rule->first;
  }
  snprintf(rule->message, sizeof rule->message, "%s", *at == ':' ? at + 1 : "made to fail");
}

PJRT_Error *fake__visit(fake_point point) {
  const long visit = ++visits[point];
  for (size_t i = 0; i < rule_count; ++i) {
    if (rules[i].point != (int)point) continue;
    if (visit >= rules[i].first && visit <= rules[i].last)
      return fake__error(rules[i].code, "%s", rules[i].message);
  }
  return NULL;
}

/* ---- environment ---- */

static const char *text_setting(const char *name, const char *fallback) {
  const char *value = getenv(name);
  return value ? value : fallback;
}

static long number_setting(const char *name, long fallback) {
  const char *value = getenv(name);
  return value ? strtol(value, NULL, 0) : fallback;
}

/* Index of the value of `name` in `choices`, a list that ends with NULL; the first is the default.
 */
static int choice_setting(const char *name, const char *const *choices) {
  const char *value = text_setting(name, choices[0]);
  for (int i = 0; choices[i]; ++i)
    if (!strcmp(value, choices[i])) return i;
  fprintf(stderr, "fake plugin: %s can't be %s\n", name, value);
  abort();
}

#define CHOICE(name, ...) choice_setting(name, (const char *const[]){__VA_ARGS__, NULL})

static void version_setting(const char *name, const char *fallback, int64_t version[3]) {
  const char *value = text_setting(name, fallback);
  long long parts[3];
  const bool said = sscanf(value, "%lld.%lld.%lld", &parts[0], &parts[1], &parts[2]) == 3;
  for (int i = 0; i < 3; ++i) version[i] = said ? parts[i] : -1;
}

/* Calls `use` for each part of the value of `name`. */
static void each_part(const char *name, char separator, void (*use)(const char *, size_t)) {
  const char *at = text_setting(name, "");
  while (*at) {
    const char separators[] = {separator, 0};
    const size_t size = strcspn(at, separators);
    if (size) use(at, size);
    at += size + (at[size] != 0);
  }
}

static void empty_slot(const char *name, size_t size) {
  fake__config.null_slots[find_point(name, size)] = true;
}

EXPORT void fake_pjrt_configure(void);
EXPORT void fake_pjrt_configure(void) {
  fake__config = (fake_config){
      .no_api = CHOICE("FAKE_PJRT_API", "table", "null") == 1,
      .major = (int)number_setting("FAKE_PJRT_MAJOR", PJRT_API_MAJOR),
      .minor = (int)number_setting("FAKE_PJRT_MINOR", 115),
      .table_size = (size_t)number_setting("FAKE_PJRT_TABLE_SIZE", 0),
      .extra_table = (size_t)number_setting("FAKE_PJRT_EXTRA_TABLE", 0),
      .extra_args = (size_t)number_setting("FAKE_PJRT_EXTRA_ARGS", 0),
      .device_count = (size_t)number_setting("FAKE_PJRT_DEVICES", 1),
      .device_memory = CHOICE("FAKE_PJRT_MEMORY", "host", "device") == 1,
      .async = (fake_async)CHOICE("FAKE_PJRT_ASYNC", "never", "obeys", "always"),
      .options = (fake_options)CHOICE("FAKE_PJRT_OPTIONS", "known", "none", "any"),
      .no_attributes = CHOICE("FAKE_PJRT_ATTRIBUTES", "all", "none", "odd") == 1,
      .odd_attributes = CHOICE("FAKE_PJRT_ATTRIBUTES", "all", "none", "odd") == 2,
  };
  snprintf(fake__config.platform, sizeof fake__config.platform, "%s",
           text_setting("FAKE_PJRT_PLATFORM", "cpu"));
  version_setting("FAKE_PJRT_STABLEHLO_CURRENT", "1.20.0", fake__config.stablehlo_current);
  version_setting("FAKE_PJRT_STABLEHLO_MINIMUM", "0.9.0", fake__config.stablehlo_minimum);
  const char *end = text_setting("FAKE_PJRT_TABLE_END", "");
  if (*end) fake__config.table_size = slot_offsets[find_point(end, strlen(end))];
  each_part("FAKE_PJRT_NULL", ',', empty_slot);
  rule_count = 0;
  each_part("FAKE_PJRT_FAIL", ';', read_rule);
  for (int i = 0; i < POINT_COUNT; ++i) visits[i] = 0;
}

EXPORT long fake_pjrt_calls(const char *name);
EXPORT long fake_pjrt_calls(const char *name) {
  return visits[find_point(name, strlen(name))];
}

EXPORT const char *fake_pjrt_point_name(int index);
EXPORT const char *fake_pjrt_point_name(int index) {
  return index >= 0 && index < POINT_COUNT ? point_names[index] : NULL;
}

/* ---- objects ---- */

static atomic_long alive[KIND_COUNT];

void *fake__new(fake_kind kind, size_t size) {
  void *object = calloc(1, size);
  if (!object) abort();
  ++alive[kind];
  return object;
}

void fake__delete(fake_kind kind, void *object) {
  --alive[kind];
  free(object);
}

EXPORT long fake_pjrt_live_objects(int kind);
EXPORT long fake_pjrt_live_objects(int kind) {
  return kind >= 0 && kind < KIND_COUNT ? (long)alive[kind] : -1;
}

PJRT_Error *fake__error(int code, const char *format, ...) {
  PJRT_Error *error = fake__new(KIND_ERROR, sizeof *error);
  error->code = code;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return error;
}
