/* XLA_FLAGS, as XLA's libraries read it: see xla/parse_flags_from_env.cc and
 * xla/tsl/util/command_line_flags.cc. */
#define _GNU_SOURCE /* memmem */
#include <stdlib.h>
#include <string.h>

#include "base/disk.h"

/* ---- the text ---- */

static const char spaces[] = " \t\r\n";

/* Takes the characters of `text` off its front as long as they are in `set`, or as long as they are
 * not. */
static cyxla__span take(cyxla__span *text, const char *set, bool in_set) {
  cyxla__span taken = {text->data, 0};
  while (taken.size < text->size && text->data[taken.size] &&
         (strchr(set, text->data[taken.size]) != NULL) == in_set)
    ++taken.size;
  *text = (cyxla__span){text->data + taken.size, text->size - taken.size};
  return taken;
}

static void skip(cyxla__span *text, size_t size) {
  *text = (cyxla__span){text->data + size, text->size - size};
}

/* Takes a value in quotes; in double ones, a backslash makes the next character an ordinary one. */
static void skip_quoted(cyxla__span *text) {
  const uint8_t quote = text->data[0];
  skip(text, 1);
  while (text->size && text->data[0] != quote)
    skip(text, quote == '"' && text->data[0] == '\\' && text->size > 1 ? 2 : 1);
  if (text->size) skip(text, 1);
}

/* Takes the next flag off the front of `text`, and gives what is left of its '='; false: there is
 * none, for what starts with no dash ends the flags. */
static bool next_flag(cyxla__span *text, cyxla__span *out_flag) {
  take(text, spaces, true);
  if (!text->size || text->data[0] != '-') return false;
  *out_flag = take(text, "= \t\r\n", false);
  if (text->size > 1 && text->data[0] == '=' && (text->data[1] == '\'' || text->data[1] == '"')) {
    skip(text, 1);
    skip_quoted(text);
  } else {
    take(text, spaces, false);
  }
  return true;
}

/* ---- the flags that a library knows ---- */

/* Whether `text`, with its NUL, is in the library: as the names of all of its flags are. */
static bool has_text(cyxla__span library, const char *text) {
  return library.size && memmem(library.data, library.size, text, strlen(text) + 1);
}

static bool is_known(cyxla__span library, cyxla__span flag) {
  char name[256];
  if (flag.size <= strlen("--") || flag.size - strlen("--") >= sizeof name || flag.data[1] != '-')
    return false;
  memcpy(name, flag.data + strlen("--"), flag.size - strlen("--"));
  name[flag.size - strlen("--")] = 0;
  return has_text(library, name);
}

static int32_t check_flags(cyxla__span library, const char *path, cyxla__span text,
                           cyxla_error *error) {
  cyxla__span flag;
  while (text.size && next_flag(&text, &flag))
    if (!is_known(library, flag))
      return cyxla__fail(
          error, CYXLA_INVALID_ARGUMENT,
          "the environment variable XLA_FLAGS has %.*s, which is no flag of %s: it would "
          "end the process",
          (int)(flag.size < 256 ? flag.size : 256), (const char *)flag.data, path);
  return CYXLA_OK;
}

static int32_t map_file(const char *path, cyxla__span *out_bytes) {
  cyxla__disk_file file;
  TRY(cyxla__disk_open(path, &file, NULL));
  const int32_t status = cyxla__disk_map(file, out_bytes, NULL);
  cyxla__disk_close(file);
  return status;
}

/* A value that starts with no dash is the name of a file that holds the flags. */
static int32_t check_value(cyxla__span library, const char *path, const char *value,
                           cyxla_error *error) {
  if (value[strspn(value, spaces)] == '-')
    return check_flags(library, path, (cyxla__span){(uint8_t *)value, strlen(value)}, error);
  cyxla__span text;
  if (map_file(value, &text))
    return cyxla__fail(
        error, CYXLA_INVALID_ARGUMENT,
        "the environment variable XLA_FLAGS is \"%s\", which is neither a flag nor a file with "
        "flags: %s would end the process",
        value, path);
  const int32_t status = check_flags(library, path, text, error);
  cyxla__disk_unmap(text);
  return status;
}

int32_t cyxla_check_xla_flags(const char *path, cyxla_error *error) {
  const char *value = getenv("XLA_FLAGS");
  cyxla__span library;
  if (!value || !*value || map_file(path, &library)) return CYXLA_OK;
  const int32_t status =
      has_text(library, "XLA_FLAGS") ? check_value(library, path, value, error) : CYXLA_OK;
  cyxla__disk_unmap(library);
  return status;
}
