#include "export/identifier.h"

#include <stdio.h>

#include "direct/symbols.h"

/* Names are cut to this, and then may get a number: C99 promises that 63 characters count. */
enum { MAX_SIZE = 48, CAPACITY = MAX_SIZE + 24 };

/* ---- words that are taken ---- */

/* Keywords of C up to C23 and of C++ up to C++20; what C++ makes operators of; macros of compilers
 * and of the headers that a user may include; the parameter that is not an array. */
static const char *const words[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",

    "I",
    "NULL",
    "assert",
    "complex",
    "errno",
    "i386",
    "imaginary",
    "linux",
    "main",
    "unix",
    "scratch",
};

static bool is_word(const char *name) {
  for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
    if (!strcmp(words[i], name)) return true;
  const size_t size = strlen(name);
  return size > 2 && !strcmp(name + size - 2, "_t"); /* types of stdint.h and of POSIX */
}

/* ---- characters, whatever the locale ---- */

static bool is_letter(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

static bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

/* ---- functions ---- */

bool cyxla__identifier_is_function(const char *name, size_t size_limit) {
  if (!is_letter(name[0]) || is_word(name)) return false;
  size_t size = 1;
  while (is_letter(name[size]) || is_digit(name[size]) || name[size] == '_') ++size;
  return !name[size] && size <= size_limit && name[size - 1] != '_' &&
         !cyxla__symbol_find((cyxla__span){(uint8_t *)name, size});
}

/* ---- parameters ---- */

/* The letters and digits of a path, with one underscore for whatever is between them. */
static void make_plain(const char *path, char *name) {
  size_t size = 0;
  for (; *path && size < MAX_SIZE; ++path) {
    const bool is_plain = is_letter(*path) || is_digit(*path);
    if (is_plain)
      name[size++] = *path;
    else if (size && name[size - 1] != '_')
      name[size++] = '_';
  }
  while (size && name[size - 1] == '_') --size;
  name[size] = 0;
}

static bool is_taken(const char *name, const char *const *names, size_t count) {
  if (is_word(name)) return true;
  for (size_t i = 0; i < count; ++i)
    if (!strcmp(names[i], name)) return true;
  return false;
}

static void make_name(const char *path, const char *role, size_t number, const char *const *names,
                      size_t count, char *name) {
  char plain[CAPACITY];
  make_plain(path ? path : "", plain);
  if (is_letter(plain[0]))
    snprintf(name, CAPACITY, "%s", plain);
  else if (plain[0])
    snprintf(name, CAPACITY, "%s_%.*s", role, MAX_SIZE, plain);
  else
    snprintf(name, CAPACITY, "%s_%zu", role, number);
  snprintf(plain, sizeof plain, "%s", name);
  for (size_t i = 2; is_taken(name, names, count); ++i)
    snprintf(name, CAPACITY, "%.*s_%zu", MAX_SIZE, plain, i);
}

bool cyxla__identifiers_make(cyxla__arena *arena, const char *const *paths, size_t count,
                             const char *role, size_t taken_count, const char **names) {
  for (size_t i = 0; i < count; ++i) {
    char *name = cyxla__arena_alloc(arena, 1, CAPACITY);
    if (!name) return false;
    make_name(paths[i], role, i, names, taken_count + i, name);
    names[taken_count + i] = name;
  }
  return true;
}
