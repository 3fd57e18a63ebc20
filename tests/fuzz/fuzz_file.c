/* Reads arbitrary bytes as a program file: as they are, with right checksums, and as the description in a file
 * that is right.  What is read can be written, and is the same when it is read again. */
#include <stdlib.h>

#include "base/arena.h"
#include "cyxla/cyxla.h"
#include "file/description.h"
#include "program_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition) {
  if (!condition) abort();
}

/* Reads every byte, for the checkers to see. */
static void touch(const void *data, size_t size) {
  static volatile uint8_t sum;
  for (size_t i = 0; i < size; ++i) sum = (uint8_t)(sum + ((const uint8_t *)data)[i]);
}

static void touch_text(const char *text) {
  touch(text, strlen(text));
}

static void touch_types(const cyxla_array_type *types, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    touch_text(types[i].name);
    check(cyxla_element_size(types[i].element_type) != 0 && types[i].rank >= 0);
    for (int32_t k = 0; k < types[i].rank; ++k) check(types[i].dimensions[k] >= 0);
  }
}

static void touch_entries(const cyxla_file_entry *entries, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    touch_text(entries[i].name);
    touch_text(entries[i].value);
  }
}

static void touch_info(const cyxla_file_info *info) {
  touch_text(info->platform);
  touch_text(info->fingerprint);
  touch_text(info->cpu_features);
  touch(info->executable, info->executable_size);
  for (size_t i = 0; i < info->target_count; ++i) touch_text(info->targets[i]);
  for (size_t i = 0; i < info->option_count; ++i) {
    touch_text(info->options[i].name);
    if (info->options[i].kind == CYXLA_OPTION_STRING) touch_text(info->options[i].value.string);
  }
  touch_entries(info->producers, info->producer_count);
  touch_entries(info->metadata, info->metadata_count);
}

/* Once written by this release, a description stays the same. */
static void check_round_trip(const cyxla_program *program, const cyxla_file_info *info) {
  const cyxla__description first = {.program = *program, .info = *info};
  cyxla__description second;
  cyxla__proto written = {0}, again = {0};
  cyxla__arena arena = {0};
  cyxla__description_write(&first, &written);
  check(!cyxla__description_read((cyxla__span){written.data, written.size}, &arena, &second, NULL));
  cyxla__description_write(&second, &again);
  check(written.size == again.size && !memcmp(written.data, again.data, again.size));
  cyxla__arena_deinit(&arena);
  cyxla__proto_deinit(&written);
  cyxla__proto_deinit(&again);
}

static void read_file(cyxla__span bytes) {
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla_file *file;
  const int32_t status = cyxla_file_parse(bytes.data, bytes.size, &file, &error);
  if (status) {
    check(error.code == status && error.message[0]);
    return;
  }
  const cyxla_program *program = cyxla_file_get_program(file);
  cyxla_file_info info = {.struct_size = sizeof info};
  cyxla_file_get_info(file, &info);
  touch_text(program->name);
  touch(program->code, program->code_size);
  touch_types(program->inputs, program->input_count);
  touch_types(program->outputs, program->output_count);
  touch_info(&info);
  check_round_trip(program, &info);
  cyxla_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size + FILE_AROUND);
  check(copy != NULL);
  for (size_t i = 0; i < size; ++i) copy[i] = data[i];
  read_file((cyxla__span){copy, size});
  seal((cyxla__span){copy, size});
  read_file((cyxla__span){copy, size});
  read_file(file_around(data, size, copy));
  free(copy);
  return 0;
}
