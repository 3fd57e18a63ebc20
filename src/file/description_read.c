#include "base/proto_reader.h"
#include "base/utf8.h"
#include "file/description.h"
#include "file/format.h"
#include "signature.h"

static int32_t fail_form(const char *what, cyxla_error *error) {
  return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "it is ill-formed: %s in its description",
                     what);
}

/* ---- fields ---- */

#define BIT(field) ((uint32_t)1 << (field))

/* Checks that a message is well-formed, and its fields are of their types: those of `bytes` and `numbers`,
 * sets of bits by field number, are known. */
static int32_t check_fields(cyxla__span message, uint32_t bytes, uint32_t numbers, const char *what,
                            cyxla_error *error) {
  cyxla__field field;
  while (cyxla__proto_next(&message, &field)) {
    const uint32_t bit = field.number < 32 ? BIT(field.number) : 0;
    if ((field.is_bytes ? numbers : bytes) & bit) return fail_form(what, error);
  }
  return message.size ? fail_form(what, error) : CYXLA_OK;
}

static size_t count_fields(cyxla__span message, uint32_t number) {
  size_t count = 0;
  cyxla__field field;
  while (cyxla__proto_next(&message, &field)) count += field.number == number;
  return count;
}

/* The last one; 0 where there is none. */
static uint64_t find_number(cyxla__span message, uint32_t number) {
  uint64_t value = 0;
  cyxla__field field;
  while (cyxla__proto_next(&message, &field))
    if (field.number == number) value = field.value;
  return value;
}

static int32_t find_int32(cyxla__span message, uint32_t number, int32_t *out_value,
                          cyxla_error *error) {
  const uint64_t value = find_number(message, number);
  if (value > INT32_MAX) return fail_form("a number that is too large", error);
  *out_value = (int32_t)value;
  return CYXLA_OK;
}

static int32_t check_text(cyxla__span text, const char **out_text, cyxla_error *error) {
  if (!text.size || memchr(text.data, 0, text.size) != text.data + text.size - 1)
    return fail_form("a text that does not end with its first byte 0", error);
  if (!cyxla__is_utf8(text)) return fail_form("a text that is not UTF-8", error);
  *out_text = (const char *)text.data;
  return CYXLA_OK;
}

/* "" where there is none. */
static int32_t find_text(cyxla__span message, uint32_t number, const char **out_text,
                         cyxla_error *error) {
  cyxla__span text;
  *out_text = "";
  return cyxla__proto_find(message, number, &text) ? check_text(text, out_text, error) : CYXLA_OK;
}

/* ---- lists ---- */

typedef struct list {
  void *items;
  size_t count;
} list;

/* Reads an item of a list, which is zeroed. */
typedef int32_t read_item(cyxla__span bytes, cyxla__arena *arena, void *item, cyxla_error *error);

static int32_t read_list(cyxla__span message, uint32_t number, read_item *read, size_t item_size,
                         cyxla__arena *arena, list *out_list, cyxla_error *error) {
  const size_t count = count_fields(message, number);
  char *item = cyxla__arena_alloc(arena, count, item_size);
  if (!item) return cyxla__fail_memory(error, count * item_size);
  *out_list = (list){item, count};
  cyxla__field field;
  while (cyxla__proto_next(&message, &field)) {
    if (field.number != number) continue;
    TRY(read(field.bytes, arena, item, error));
    item += item_size;
  }
  return CYXLA_OK;
}

static int32_t read_text(cyxla__span bytes, cyxla__arena *arena, void *item, cyxla_error *error) {
  (void)arena;
  return check_text(bytes, item, error);
}

static int32_t read_entry(cyxla__span bytes, cyxla__arena *arena, void *item, cyxla_error *error) {
  (void)arena;
  cyxla_file_entry *entry = item;
  TRY(check_fields(bytes, BIT(PAIR_NAME) | BIT(PAIR_VALUE), 0, "an entry", error));
  TRY(find_text(bytes, PAIR_NAME, &entry->name, error));
  return find_text(bytes, PAIR_VALUE, &entry->value, error);
}

static int32_t read_dimensions(cyxla__span packed, cyxla__arena *arena, cyxla_array_type *type,
                               cyxla_error *error) {
  /* Each is of at least one byte. */
  int64_t *dimensions = cyxla__arena_alloc(arena, packed.size, sizeof *dimensions);
  if (!dimensions) return cyxla__fail_memory(error, packed.size * sizeof *dimensions);
  type->dimensions = dimensions;
  for (uint64_t value; cyxla__proto_next_varint(&packed, &value); ++type->rank) {
    if (type->rank == INT32_MAX) return fail_form("too many dimensions", error);
    dimensions[type->rank] = (int64_t)value;
  }
  return packed.size ? fail_form("an array's dimensions", error) : CYXLA_OK;
}

static int32_t read_array(cyxla__span bytes, cyxla__arena *arena, void *item, cyxla_error *error) {
  cyxla_array_type *type = item;
  TRY(check_fields(bytes, BIT(ARRAY_NAME) | BIT(ARRAY_DIMENSIONS), BIT(ARRAY_ELEMENT_TYPE),
                   "an array", error));
  TRY(find_text(bytes, ARRAY_NAME, &type->name, error));
  TRY(find_int32(bytes, ARRAY_ELEMENT_TYPE, &type->element_type, error));
  cyxla__span dimensions;
  if (!cyxla__proto_find(bytes, ARRAY_DIMENSIONS, &dimensions)) return CYXLA_OK;
  return read_dimensions(dimensions, arena, type, error);
}

static int32_t read_option(cyxla__span bytes, cyxla__arena *arena, void *item, cyxla_error *error) {
  (void)arena;
  cyxla_option *option = item;
  TRY(check_fields(bytes, BIT(OPTION_NAME) | BIT(OPTION_STRING),
                   BIT(OPTION_KIND) | BIT(OPTION_INT64) | BIT(OPTION_DOUBLE) | BIT(OPTION_BOOL),
                   "an option", error));
  TRY(find_text(bytes, OPTION_NAME, &option->name, error));
  TRY(find_int32(bytes, OPTION_KIND, &option->kind, error));
  const uint64_t bits = find_number(bytes, OPTION_DOUBLE);
  switch (option->kind) {
    case CYXLA_OPTION_STRING:
      return find_text(bytes, OPTION_STRING, &option->value.string, error);
    case CYXLA_OPTION_INT64:
      option->value.int64 = (int64_t)find_number(bytes, OPTION_INT64);
      return CYXLA_OK;
    case CYXLA_OPTION_DOUBLE:
      memcpy(&option->value.float64, &bits, sizeof bits);
      return CYXLA_OK;
    case CYXLA_OPTION_BOOL:
      option->value.boolean = find_number(bytes, OPTION_BOOL) != 0;
      return CYXLA_OK;
    default:
      return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "option %s: compilers take none of kind %d",
                         option->name, (int)option->kind);
  }
}

/* ---- all of it ---- */

static int32_t read_texts(cyxla__span message, cyxla__description *description,
                          cyxla_error *error) {
  cyxla_file_info *info = &description->info;
  TRY(find_text(message, DESCRIPTION_NAME, &description->program.name, error));
  TRY(find_text(message, DESCRIPTION_PLATFORM, &info->platform, error));
  TRY(find_text(message, DESCRIPTION_FINGERPRINT, &info->fingerprint, error));
  TRY(find_text(message, DESCRIPTION_CPU_FEATURES, &info->cpu_features, error));
  if (!*info->platform) return fail_form("no platform", error);
  return CYXLA_OK;
}

static int32_t read_signature(cyxla__span message, cyxla__arena *arena, cyxla_program *program,
                              cyxla_error *error) {
  list inputs = {0}, outputs = {0};
  TRY(read_list(message, DESCRIPTION_INPUTS, read_array, sizeof(cyxla_array_type), arena, &inputs,
                error));
  TRY(read_list(message, DESCRIPTION_OUTPUTS, read_array, sizeof(cyxla_array_type), arena, &outputs,
                error));
  program->inputs = inputs.items;
  program->input_count = inputs.count;
  program->outputs = outputs.items;
  program->output_count = outputs.count;
  /* The copy is not needed, but what it takes to make it: the one check of signatures. */
  cyxla__signature checked;
  const int32_t status = cyxla__signature_init(&checked, program, error);
  cyxla__signature_deinit(&checked);
  return status;
}

static int32_t read_lists(cyxla__span message, cyxla__arena *arena, cyxla_file_info *info,
                          cyxla_error *error) {
  list targets = {0}, producers = {0}, metadata = {0}, options = {0};
  TRY(read_list(message, DESCRIPTION_TARGETS, read_text, sizeof(const char *), arena, &targets,
                error));
  TRY(read_list(message, DESCRIPTION_PRODUCERS, read_entry, sizeof(cyxla_file_entry), arena,
                &producers, error));
  TRY(read_list(message, DESCRIPTION_METADATA, read_entry, sizeof(cyxla_file_entry), arena,
                &metadata, error));
  TRY(read_list(message, DESCRIPTION_OPTIONS, read_option, sizeof(cyxla_option), arena, &options,
                error));
  info->targets = targets.items;
  info->target_count = targets.count;
  info->producers = producers.items;
  info->producer_count = producers.count;
  info->metadata = metadata.items;
  info->metadata_count = metadata.count;
  info->options = options.items;
  info->option_count = options.count;
  return CYXLA_OK;
}

int32_t cyxla__description_read(cyxla__span message, cyxla__arena *arena,
                                cyxla__description *out_description, cyxla_error *error) {
  enum { FIELDS = 2 * BIT(DESCRIPTION_OPTIONS) - 2 }; /* 1 to the last one */
  *out_description = (cyxla__description){
      .program.struct_size = sizeof out_description->program,
      .info = {.struct_size = sizeof out_description->info, .format_version = FORMAT_VERSION}};
  TRY(check_fields(message, FIELDS, 0, "a field", error));
  TRY(read_texts(message, out_description, error));
  TRY(read_signature(message, arena, &out_description->program, error));
  return read_lists(message, arena, &out_description->info, error);
}
