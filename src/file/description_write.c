#include <string.h>

#include "file/description.h"
#include "file/format.h"

static void write_text(cyxla__proto *message, uint32_t field, const char *text) {
  if (text) cyxla__proto_bytes(message, field, text, strlen(text) + 1);
}

static void write_arrays(cyxla__proto *message, uint32_t field, const cyxla_array_type *types,
                         size_t count) {
  for (size_t i = 0; i < count; ++i) {
    cyxla__proto array = {0}, dimensions = {0};
    for (int32_t k = 0; k < types[i].rank; ++k)
      cyxla__proto_raw_varint(&dimensions, (uint64_t)types[i].dimensions[k]);
    write_text(&array, ARRAY_NAME, types[i].name);
    cyxla__proto_varint(&array, ARRAY_ELEMENT_TYPE, (uint32_t)types[i].element_type);
    cyxla__proto_message(&array, ARRAY_DIMENSIONS, &dimensions);
    cyxla__proto_message(message, field, &array);
  }
}

static void write_entries(cyxla__proto *message, uint32_t field, const cyxla_file_entry *entries,
                          size_t count) {
  for (size_t i = 0; i < count; ++i) {
    cyxla__proto entry = {0};
    write_text(&entry, PAIR_NAME, entries[i].name);
    write_text(&entry, PAIR_VALUE, entries[i].value);
    cyxla__proto_message(message, field, &entry);
  }
}

static void write_option(cyxla__proto *message, const cyxla_option *option) {
  cyxla__proto written = {0};
  write_text(&written, OPTION_NAME, option->name);
  cyxla__proto_varint(&written, OPTION_KIND, (uint32_t)option->kind);
  if (option->kind == CYXLA_OPTION_STRING)
    write_text(&written, OPTION_STRING, option->value.string);
  else if (option->kind == CYXLA_OPTION_INT64)
    cyxla__proto_varint(&written, OPTION_INT64, (uint64_t)option->value.int64);
  else if (option->kind == CYXLA_OPTION_DOUBLE)
    cyxla__proto_double(&written, OPTION_DOUBLE, option->value.float64);
  else if (option->kind == CYXLA_OPTION_BOOL)
    cyxla__proto_varint(&written, OPTION_BOOL, option->value.boolean != 0);
  cyxla__proto_message(message, DESCRIPTION_OPTIONS, &written);
}

void cyxla__description_write(const cyxla__description *description, cyxla__proto *message) {
  const cyxla_program *program = &description->program;
  const cyxla_file_info *info = &description->info;
  write_text(message, DESCRIPTION_NAME, program->name);
  write_text(message, DESCRIPTION_PLATFORM, info->platform);
  write_text(message, DESCRIPTION_FINGERPRINT, info->fingerprint);
  write_text(message, DESCRIPTION_CPU_FEATURES, info->cpu_features);
  write_arrays(message, DESCRIPTION_INPUTS, program->inputs, program->input_count);
  write_arrays(message, DESCRIPTION_OUTPUTS, program->outputs, program->output_count);
  for (size_t i = 0; i < info->target_count; ++i)
    write_text(message, DESCRIPTION_TARGETS, info->targets[i]);
  write_entries(message, DESCRIPTION_PRODUCERS, info->producers, info->producer_count);
  write_entries(message, DESCRIPTION_METADATA, info->metadata, info->metadata_count);
  for (size_t i = 0; i < info->option_count; ++i) write_option(message, &info->options[i]);
}
