/* Options as texts: XLA_FLAGS, by itself and in a file, is read within its bounds, and what compile options
 * are encoded to is well-formed and has the names and values that were given. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/proto_reader.h"
#include "pjrt/compile_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition) {
  if (!condition) abort();
}

/* A file with just these bytes, which is removed when the process ends. */
static char paths[2][32];
static int file_count;

static void remove_files(void) {
  while (file_count) unlink(paths[--file_count]);
}

static const char *make_file(void) {
  char *path = strcpy(paths[file_count], "/tmp/fuzz_options-XXXXXX");
  const int descriptor = mkstemp(path);
  check(descriptor >= 0);
  close(descriptor);
  if (!file_count++) atexit(remove_files);
  return path;
}

static void fill_file(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "w");
  check(file && fwrite(data, 1, size, file) == size && !fclose(file));
}

/* ---- XLA_FLAGS ---- */

static void check_flags(const char *value, const char *library) {
  cyxla_error error = CYXLA_ERROR_INIT;
  setenv("XLA_FLAGS", value, 1);
  const int32_t status = cyxla_check_xla_flags(library, &error);
  check(!status || (status == CYXLA_INVALID_ARGUMENT && error.code == status && error.message[0]));
}

/* ---- compile options ---- */

/* Cuts the text of the options in pieces, "name=value" each, one to a line. */
static size_t cut(char *text, cyxla_option *options, size_t limit) {
  size_t count = 0;
  for (char *line = strtok(text, "\n"); line && count < limit; line = strtok(NULL, "\n")) {
    char *value = strchr(line, '=');
    if (!value) continue;
    *value++ = 0;
    options[count++] =
        (cyxla_option){.name = line, .kind = CYXLA_OPTION_STRING, .value.string = value};
  }
  return count;
}

static void check_text(cyxla__span found, const char *expected) {
  check(found.size == strlen(expected) && !memcmp(found.data, expected, found.size));
}

static cyxla__field expect(cyxla__span *message, uint32_t number) {
  cyxla__field field = {0};
  check(cyxla__proto_next(message, &field) && field.number == number && field.is_bytes);
  return field;
}

static void check_options(const cyxla_option *options, size_t count) {
  enum { BUILD_OPTIONS = 3, OVERRIDES = 7, KEY = 1, VALUE = 2, STRING = 1 };
  const cyxla__signature signature = {0};
  cyxla__proto written = {0};
  check(!cyxla__compile_options_write(&written, &signature, options, count, NULL));
  cyxla__span message = {written.data, written.size};
  expect(&message, BUILD_OPTIONS);
  for (size_t i = 0; i < count; ++i) {
    cyxla__span entry = expect(&message, OVERRIDES).bytes;
    check_text(expect(&entry, KEY).bytes, options[i].name);
    cyxla__span value = expect(&entry, VALUE).bytes;
    check_text(expect(&value, STRING).bytes, options[i].value.string);
    check(!entry.size && !value.size);
  }
  check(!message.size);
  cyxla__proto_deinit(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char known[] = "XLA_FLAGS\0xla_cpu\0a";
  static const char *library, *file;
  if (!library) {
    library = make_file();
    fill_file(library, known, sizeof known);
    file = make_file();
  }
  char *text = malloc(size + 1);
  check(text != NULL);
  memcpy(text, data, size);
  text[size] = 0;
  check_flags(text, library);
  fill_file(file, data, size);
  check_flags(file, library);

  cyxla_option options[16];
  check_options(options, cut(text, options, sizeof options / sizeof *options));
  free(text);
  return 0;
}
