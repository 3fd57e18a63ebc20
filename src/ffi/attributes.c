#include "ffi/attributes.h"

#include <stdlib.h>

#include "base/decimal.h"
#include "base/memory.h"

enum { DEPTH_LIMIT = 32 }; /* of dictionaries in dictionaries */
enum { RANK_LIMIT = 32 };
/* Bytes of all arrays whose size the text claims; others are no larger than the text. */
enum { ARRAY_LIMIT = 64 << 20 };

typedef struct parser {
  cyxla__span text;
  size_t at;
  cyxla__arena *arena;
  int depth;
  size_t array_room;
  cyxla_error *error;
} parser;

/* ---- errors ---- */

/* Fails because of what stands at `at`. */
static int32_t fail_at(const parser *self, size_t at, int32_t status, const char *what) {
  char excerpt[25];
  size_t size = 0;
  for (; size + 1 < sizeof excerpt && at + size < self->text.size; ++size) {
    const uint8_t character = self->text.data[at + size];
    excerpt[size] = character >= ' ' && character <= '~' ? (char)character : '?';
  }
  excerpt[size] = '\0';
  return cyxla__fail(self->error, status, "attributes: at byte %zu, \"%s\": %s", at, excerpt, what);
}

static int32_t fail_here(const parser *self, int32_t status, const char *what) {
  return fail_at(self, self->at, status, what);
}

/* ---- characters and words ---- */

/* The character at the place, or 0 at the end. */
static uint8_t peek(const parser *self) {
  return self->at < self->text.size ? self->text.data[self->at] : 0;
}

/* The same, after spaces. */
static uint8_t next(parser *self) {
  while (self->at < self->text.size && strchr(" \t\r\n", peek(self)) && peek(self)) ++self->at;
  return peek(self);
}

static bool take(parser *self, char character) {
  const bool is_there = next(self) == (uint8_t)character;
  self->at += is_there;
  return is_there;
}

static int32_t expect(parser *self, char character) {
  if (take(self, character)) return CYXLA_OK;
  char what[] = "'?' is missing";
  what[1] = character;
  return fail_here(self, CYXLA_INVALID_ARGUMENT, what);
}

static bool is_digit(uint8_t character) {
  return character >= '0' && character <= '9';
}

static bool is_letter(uint8_t character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         character == '_';
}

/* Value of a hexadecimal digit; 16: it is none. */
static unsigned hex_digit(uint8_t character) {
  if (is_digit(character)) return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10u;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10u;
  return 16;
}

/* A bare identifier, such as a name or the keyword of a type; empty where there is none. */
static cyxla__span read_word(parser *self) {
  const bool is_word = is_letter(next(self));
  const size_t start = self->at;
  while (is_word &&
         (is_letter(peek(self)) || is_digit(peek(self)) || peek(self) == '.' || peek(self) == '$'))
    ++self->at;
  return (cyxla__span){self->text.data + start, self->at - start};
}

/* ---- types of numbers ---- */

typedef struct number_type {
  const char *name;
  XLA_FFI_DataType type;
  uint8_t size, bits;
  bool is_unsigned;
  cyxla__binary_format format; /* of a floating-point number */
} number_type;

/* Plain integers, without a sign in their type's name, are signed for handlers. */
static const number_type number_types[] = {
    {.name = "i64", .type = XLA_FFI_DataType_S64, .size = 8, .bits = 64},
    {.name = "f64", .type = XLA_FFI_DataType_F64, .size = 8, .bits = 64, .format = {53, 11}},
    {.name = "i1", .type = XLA_FFI_DataType_PRED, .size = 1, .bits = 1},
    {.name = "i8", .type = XLA_FFI_DataType_S8, .size = 1, .bits = 8},
    {.name = "i16", .type = XLA_FFI_DataType_S16, .size = 2, .bits = 16},
    {.name = "i32", .type = XLA_FFI_DataType_S32, .size = 4, .bits = 32},
    {.name = "si8", .type = XLA_FFI_DataType_S8, .size = 1, .bits = 8},
    {.name = "si16", .type = XLA_FFI_DataType_S16, .size = 2, .bits = 16},
    {.name = "si32", .type = XLA_FFI_DataType_S32, .size = 4, .bits = 32},
    {.name = "si64", .type = XLA_FFI_DataType_S64, .size = 8, .bits = 64},
    {.name = "ui8", .type = XLA_FFI_DataType_U8, .size = 1, .bits = 8, .is_unsigned = true},
    {.name = "ui16", .type = XLA_FFI_DataType_U16, .size = 2, .bits = 16, .is_unsigned = true},
    {.name = "ui32", .type = XLA_FFI_DataType_U32, .size = 4, .bits = 32, .is_unsigned = true},
    {.name = "ui64", .type = XLA_FFI_DataType_U64, .size = 8, .bits = 64, .is_unsigned = true},
    {.name = "f16", .type = XLA_FFI_DataType_F16, .size = 2, .bits = 16, .format = {11, 5}},
    {.name = "bf16", .type = XLA_FFI_DataType_BF16, .size = 2, .bits = 16, .format = {8, 8}},
    {.name = "f32", .type = XLA_FFI_DataType_F32, .size = 4, .bits = 32, .format = {24, 8}},
};
/* Those of numbers without one. */
static const number_type *const default_integer = &number_types[0],
                                *const default_real = &number_types[1],
                                *const boolean = &number_types[2];

static int32_t read_type(parser *self, const number_type **out_type) {
  next(self);
  const size_t start = self->at;
  const cyxla__span name = read_word(self);
  for (size_t i = 0; i < sizeof number_types / sizeof *number_types; ++i)
    if (cyxla__span_is(name, number_types[i].name)) {
      *out_type = &number_types[i];
      return CYXLA_OK;
    }
  return fail_at(self, start, CYXLA_UNIMPLEMENTED, "handlers get no numbers of this type");
}

/* ---- numbers ---- */

typedef enum literal_kind {
  LITERAL_BOOLEAN,
  LITERAL_INTEGER,
  LITERAL_HEX,
  LITERAL_REAL
} literal_kind;

typedef struct literal {
  size_t at;
  literal_kind kind;
  bool is_negative;
  uint64_t magnitude; /* of all but reals */
  cyxla__span digits; /* of a real */
} literal;

/* Digits after 0x, of which the first is there. */
static int32_t read_hex(parser *self, literal *out_literal) {
  out_literal->kind = LITERAL_HEX;
  for (; hex_digit(peek(self)) < 16; ++self->at) {
    if (out_literal->magnitude >> 60)
      return fail_at(self, out_literal->at, CYXLA_INVALID_ARGUMENT, "too large");
    out_literal->magnitude = out_literal->magnitude << 4 | hex_digit(peek(self));
  }
  return CYXLA_OK;
}

static void skip_digits(parser *self) {
  while (is_digit(peek(self))) ++self->at;
}

/* What can follow the digits before a point. */
static void skip_fraction(parser *self) {
  ++self->at;
  skip_digits(self);
  if (peek(self) != 'e' && peek(self) != 'E') return;
  const size_t before = self->at++;
  if (peek(self) == '+' || peek(self) == '-') ++self->at;
  if (is_digit(peek(self)))
    skip_digits(self);
  else
    self->at = before;
}

static int32_t read_decimal(parser *self, literal *out_literal) {
  const size_t start = self->at;
  skip_digits(self);
  if (peek(self) == '.') {
    out_literal->kind = LITERAL_REAL;
    skip_fraction(self);
    out_literal->digits = (cyxla__span){self->text.data + start, self->at - start};
    return CYXLA_OK;
  }
  out_literal->kind = LITERAL_INTEGER;
  for (size_t i = start; i < self->at; ++i) {
    const uint64_t digit = self->text.data[i] - (uint64_t)'0';
    if (out_literal->magnitude > (UINT64_MAX - digit) / 10)
      return fail_at(self, out_literal->at, CYXLA_INVALID_ARGUMENT, "too large");
    out_literal->magnitude = out_literal->magnitude * 10 + digit;
  }
  return CYXLA_OK;
}

static bool read_truth(cyxla__span word, literal *out_literal) {
  out_literal->kind = LITERAL_BOOLEAN;
  out_literal->magnitude = cyxla__span_is(word, "true");
  return out_literal->magnitude || cyxla__span_is(word, "false");
}

static int32_t read_literal(parser *self, literal *out_literal) {
  next(self);
  *out_literal = (literal){.at = self->at};
  const cyxla__span word = read_word(self);
  if (word.size && read_truth(word, out_literal)) return CYXLA_OK;
  out_literal->is_negative = take(self, '-');
  if (word.size || !is_digit(next(self)))
    return fail_at(self, out_literal->at, CYXLA_INVALID_ARGUMENT, "this is no number");
  cyxla__span prefix;
  if (cyxla__span_part(self->text, self->at, 3, &prefix) && !memcmp(prefix.data, "0x", 2) &&
      hex_digit(prefix.data[2]) < 16) {
    self->at += 2;
    return read_hex(self, out_literal);
  }
  return read_decimal(self, out_literal);
}

/* The bits of a literal as an integer of the type; the rules are those of MLIR's parser, for which a plain
 * integer may have the values of the signed and of the unsigned one. */
static int32_t integer_bits(const parser *self, const literal *from, const number_type *type,
                            uint64_t *out_bits) {
  const uint64_t largest = UINT64_MAX >> (64 - type->bits);
  const bool fits = from->is_negative ? !type->is_unsigned && from->magnitude <= largest / 2 + 1
                                      : from->magnitude <= largest;
  if (from->kind == LITERAL_REAL || (from->kind == LITERAL_BOOLEAN && type != boolean) || !fits)
    return fail_at(self, from->at, CYXLA_INVALID_ARGUMENT, "not a number of its integer type");
  *out_bits = (from->is_negative ? -from->magnitude : from->magnitude) & largest;
  return CYXLA_OK;
}

/* Hexadecimal digits are the bits of the number. */
static int32_t real_bits(const parser *self, const literal *from, const number_type *type,
                         uint64_t *out_bits) {
  if (from->kind == LITERAL_REAL) {
    *out_bits = cyxla__decimal_to_binary(from->digits, type->format) | (uint64_t)from->is_negative
                                                                           << (type->bits - 1);
    return CYXLA_OK;
  }
  *out_bits = from->magnitude;
  if (from->kind == LITERAL_HEX && !from->is_negative &&
      from->magnitude <= UINT64_MAX >> (64 - type->bits))
    return CYXLA_OK;
  return fail_at(self, from->at, CYXLA_INVALID_ARGUMENT, "not a number of its floating-point type");
}

/* Writes a number in the form that it has in memory (both architectures are little-endian). */
static int32_t store(const parser *self, const literal *from, const number_type *type, void *out) {
  uint64_t bits;
  TRY(type->format.precision ? real_bits(self, from, type, &bits)
                             : integer_bits(self, from, type, &bits));
  memcpy(out, &bits, type->size);
  return CYXLA_OK;
}

static int32_t parse_number(parser *self, const number_type *type, void *out) {
  literal number;
  TRY(read_literal(self, &number));
  return store(self, &number, type, out);
}

/* ---- attributes ---- */

typedef struct attribute {
  struct attribute *following; /* in the text */
  size_t at;
  XLA_FFI_ByteSpan name;
  XLA_FFI_AttrType type;
  union {
    XLA_FFI_Array array;
    XLA_FFI_Attrs dictionary;
    XLA_FFI_Scalar scalar;
    XLA_FFI_ByteSpan string;
  } value;
  uint64_t number; /* the value of a scalar */
} attribute;

static int32_t allocate(parser *self, size_t count, size_t size, void **out_memory) {
  *out_memory = cyxla__arena_alloc(self->arena, count, size);
  return *out_memory ? CYXLA_OK : cyxla__fail_memory(self->error, count * size);
}

static int32_t parse_scalar(parser *self, attribute *out) {
  literal number;
  TRY(read_literal(self, &number));
  const number_type *type = number.kind == LITERAL_REAL      ? default_real
                            : number.kind == LITERAL_BOOLEAN ? boolean
                                                             : default_integer;
  if (number.kind != LITERAL_BOOLEAN && take(self, ':')) TRY(read_type(self, &type));
  out->type = XLA_FFI_AttrType_SCALAR;
  out->value.scalar = (XLA_FFI_Scalar){.dtype = type->type, .value = &out->number};
  return store(self, &number, type, &out->number);
}

/* ---- strings ---- */

/* Goes behind the quotation mark that ends a string, from the one that begins it. */
static int32_t skip_string(parser *self) {
  const size_t start = self->at++;
  while (peek(self) != '"') {
    self->at += peek(self) == '\\' ? 2 : 1;
    if (self->at >= self->text.size)
      return fail_at(self, start, CYXLA_INVALID_ARGUMENT, "the end of this string is missing");
  }
  ++self->at;
  return CYXLA_OK;
}

/* Takes the character that a backslash and what follows it stand for off the front of `text`. */
static bool take_escaped(cyxla__span *text, char *out_character) {
  static const char names[] = "\"\\nt", characters[] = "\"\\\n\t";
  const char *found = text->data[1] ? strchr(names, text->data[1]) : NULL;
  size_t size = 2;
  if (found) {
    *out_character = characters[found - names];
  } else {
    size = 3;
    if (text->size < size || (hex_digit(text->data[1]) | hex_digit(text->data[2])) > 15)
      return false;
    *out_character = (char)(hex_digit(text->data[1]) << 4 | hex_digit(text->data[2]));
  }
  *text = (cyxla__span){text->data + size, text->size - size};
  return true;
}

static int32_t parse_string(parser *self, XLA_FFI_ByteSpan *out_string) {
  const size_t start = self->at;
  TRY(skip_string(self));
  cyxla__span text = {self->text.data + start + 1, self->at - start - 2};
  void *characters;
  TRY(allocate(self, text.size + 1, 1, &characters));
  *out_string = (XLA_FFI_ByteSpan){.ptr = characters};
  while (text.size) {
    char *out = (char *)characters + out_string->len++;
    if (*text.data != '\\') {
      *out = (char)*text.data;
      text = (cyxla__span){text.data + 1, text.size - 1};
    } else if (!take_escaped(&text, out)) {
      return fail_at(self, (size_t)(text.data - self->text.data), CYXLA_INVALID_ARGUMENT,
                     "this stands for no character");
    }
  }
  return CYXLA_OK;
}

/* ---- arrays ---- */

static int32_t allocate_array(parser *self, const number_type *type, size_t count, attribute *out) {
  out->type = XLA_FFI_AttrType_ARRAY;
  out->value.array = (XLA_FFI_Array){.dtype = type->type, .size = count};
  return allocate(self, count, type->size, &out->value.array.data);
}

/* The number of elements in `1, 2>`, at least 1. */
static size_t count_elements(const parser *self) {
  size_t count = 1;
  for (size_t at = self->at; at < self->text.size && self->text.data[at] != '>'; ++at)
    count += self->text.data[at] == ',';
  return count;
}

/* `<i64: 1, 2>` or `<i64>`, after the word array. */
static int32_t parse_array(parser *self, attribute *out) {
  const number_type *type;
  TRY(expect(self, '<'));
  TRY(read_type(self, &type));
  const size_t count = take(self, ':') ? count_elements(self) : 0;
  TRY(allocate_array(self, type, count, out));
  uint8_t *element = out->value.array.data;
  for (size_t i = 0; i < count; ++i, element += type->size) {
    if (i) TRY(expect(self, ','));
    TRY(parse_number(self, type, element));
  }
  return expect(self, '>');
}

/* ---- tensors ---- */

typedef struct tensor_type {
  const number_type *element;
  size_t count; /* of elements */
  size_t rank, dimensions[RANK_LIMIT];
} tensor_type;

static int32_t read_dimension(parser *self, tensor_type *type) {
  literal number = {.at = self->at};
  TRY(read_decimal(self, &number));
  if (number.kind != LITERAL_INTEGER || type->rank == RANK_LIMIT ||
      !cyxla__multiply(type->count, number.magnitude, &type->count))
    return fail_at(self, number.at, CYXLA_UNIMPLEMENTED, "a tensor of this shape");
  type->dimensions[type->rank++] = number.magnitude;
  return expect(self, 'x');
}

/* `: tensor<2x3xi64>`, or vector instead of tensor. */
static int32_t read_tensor_type(parser *self, tensor_type *out_type) {
  TRY(expect(self, ':'));
  next(self);
  const size_t start = self->at;
  const cyxla__span word = read_word(self);
  if (!cyxla__span_is(word, "tensor") && !cyxla__span_is(word, "vector"))
    return fail_at(self, start, CYXLA_UNIMPLEMENTED, "handlers get only tensors");
  TRY(expect(self, '<'));
  *out_type = (tensor_type){.count = 1};
  while (is_digit(next(self))) TRY(read_dimension(self, out_type));
  TRY(read_type(self, &out_type->element));
  return expect(self, '>');
}

/* `[[1, 2], [3, 4]]`, or a part of it: as the dimensions from `level` on say. */
static int32_t parse_elements(parser *self, const tensor_type *type, size_t level, uint8_t **out) {
  if (level == type->rank) {
    TRY(parse_number(self, type->element, *out));
    *out += type->element->size;
    return CYXLA_OK;
  }
  TRY(expect(self, '['));
  for (size_t i = 0; i < type->dimensions[level]; ++i) {
    if (i) TRY(expect(self, ','));
    TRY(parse_elements(self, type, level + 1, out));
  }
  return expect(self, ']');
}

static void repeat(const void *element, size_t size, size_t count, uint8_t *out) {
  for (size_t i = 0; i < count; ++i) memcpy(out + i * size, element, size);
}

/* `"0x0100"`: the bytes of all elements, or of the one that all are. */
static int32_t parse_bytes(parser *self, const tensor_type *type, uint8_t *out) {
  static const char what[] = "not the bytes of so many elements";
  const size_t start = self->at, size = type->element->size;
  TRY(skip_string(self));
  const cyxla__span text = {self->text.data + start + 1, self->at - start - 2};
  if (type->element == boolean) /* of which MLIR has had two forms */
    return fail_at(self, start, CYXLA_UNIMPLEMENTED, "bytes of truth values");
  const size_t byte_count = text.size / 2 - 1; /* without 0x */
  if (text.size < 2 || memcmp(text.data, "0x", 2) || text.size % 2 ||
      (byte_count != size && byte_count != type->count * size))
    return fail_at(self, start, CYXLA_INVALID_ARGUMENT, what);
  uint8_t element[8];
  uint8_t *bytes = byte_count == type->count * size ? out : element;
  for (size_t i = 0; i < byte_count; ++i) {
    const unsigned high = hex_digit(text.data[2 * i + 2]), low = hex_digit(text.data[2 * i + 3]);
    if ((high | low) > 15) return fail_at(self, start, CYXLA_INVALID_ARGUMENT, what);
    bytes[i] = (uint8_t)(high << 4 | low);
  }
  if (bytes == element) repeat(element, size, type->count, out);
  return CYXLA_OK;
}

/* What stands between the brackets of dense<>. */
static int32_t parse_tensor_literal(parser *self, const tensor_type *type, uint8_t *out) {
  const uint8_t first = next(self);
  if (first == '"') return parse_bytes(self, type, out);
  if (first == '[') return parse_elements(self, type, 0, &out);
  if (first == '>' && !type->count) return CYXLA_OK;
  uint8_t element[8];
  TRY(parse_number(self, type->element, element));
  repeat(element, type->element->size, type->count, out);
  return CYXLA_OK;
}

/* Goes to the bracket that ends dense<>. */
static int32_t skip_tensor_literal(parser *self) {
  while (next(self) != '>') {
    if (self->at >= self->text.size) return expect(self, '>');
    if (peek(self) == '"')
      TRY(skip_string(self));
    else
      ++self->at;
  }
  return CYXLA_OK;
}

/* `<1> : tensor<2xi64>`, after the word dense.  The type comes last, and must be known first. */
static int32_t parse_dense(parser *self, attribute *out) {
  TRY(expect(self, '<'));
  const size_t start = self->at;
  TRY(skip_tensor_literal(self));
  ++self->at;
  tensor_type type;
  TRY(read_tensor_type(self, &type));
  const size_t end = self->at;
  self->at = start;
  if (type.count > self->array_room / type.element->size)
    return fail_here(self, CYXLA_UNIMPLEMENTED, "the arrays are too large");
  self->array_room -= type.count * type.element->size;
  TRY(allocate_array(self, type.element, type.count, out));
  TRY(parse_tensor_literal(self, &type, out->value.array.data));
  TRY(expect(self, '>'));
  self->at = end;
  return CYXLA_OK;
}

/* ---- dictionaries ---- */

static int32_t parse_dictionary(parser *self, XLA_FFI_Attrs *out);

static int32_t parse_word_value(parser *self, attribute *out) {
  const size_t start = self->at;
  const cyxla__span word = read_word(self);
  if (cyxla__span_is(word, "array")) return parse_array(self, out);
  if (cyxla__span_is(word, "dense")) return parse_dense(self, out);
  self->at = start;
  if (cyxla__span_is(word, "true") || cyxla__span_is(word, "false")) return parse_scalar(self, out);
  return fail_here(self, CYXLA_UNIMPLEMENTED, "handlers get no attributes of this kind");
}

static int32_t parse_value(parser *self, attribute *out) {
  const uint8_t first = next(self);
  if (first == '"') {
    out->type = XLA_FFI_AttrType_STRING;
    TRY(parse_string(self, &out->value.string));
    return next(self) == ':' ? fail_here(self, CYXLA_UNIMPLEMENTED, "a string with a type")
                             : CYXLA_OK;
  }
  if (first == '{') {
    out->type = XLA_FFI_AttrType_DICTIONARY;
    return parse_dictionary(self, &out->value.dictionary);
  }
  if (first == '-' || is_digit(first)) return parse_scalar(self, out);
  if (is_letter(first)) return parse_word_value(self, out);
  if (first && strchr("[#@!(", first))
    return fail_here(self, CYXLA_UNIMPLEMENTED, "handlers get no attributes of this kind");
  return fail_here(self, CYXLA_INVALID_ARGUMENT, "a value is missing");
}

static int32_t parse_name(parser *self, XLA_FFI_ByteSpan *out_name) {
  if (next(self) == '"') return parse_string(self, out_name);
  const cyxla__span word = read_word(self);
  void *copy;
  TRY(allocate(self, word.size + 1, 1, &copy));
  memcpy(copy, word.data, word.size);
  *out_name = (XLA_FFI_ByteSpan){copy, word.size};
  return CYXLA_OK;
}

static int32_t parse_attribute(parser *self, attribute *out) {
  next(self);
  out->at = self->at;
  TRY(parse_name(self, &out->name));
  if (!out->name.len) return fail_at(self, out->at, CYXLA_INVALID_ARGUMENT, "a name is missing");
  if (next(self) == ',' || peek(self) == '}')
    return fail_at(self, out->at, CYXLA_UNIMPLEMENTED,
                   "handlers get no attributes without a value");
  TRY(expect(self, '='));
  return parse_value(self, out);
}

/* The order of std::string, by which XLA sorts. */
static int compare_names(const attribute *a, const attribute *b) {
  const size_t a_size = a->name.len, b_size = b->name.len;
  const int order = memcmp(a->name.ptr, b->name.ptr, a_size < b_size ? a_size : b_size);
  return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int compare_attributes(const void *left, const void *right) {
  const attribute *a = *(attribute *const *)left, *b = *(attribute *const *)right;
  const int order = compare_names(a, b);
  return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* Makes of `count` attributes, a list, what handlers get. */
static int32_t build_dictionary(parser *self, attribute *list, size_t count, XLA_FFI_Attrs *out) {
  void *sorted, *types, *names, *values;
  TRY(allocate(self, count, sizeof(attribute *), &sorted));
  TRY(allocate(self, count, sizeof(int), &types));
  TRY(allocate(self, count, sizeof(XLA_FFI_ByteSpan *), &names));
  TRY(allocate(self, count, sizeof(void *), &values));
  attribute **attributes = sorted;
  for (size_t i = 0; list; list = list->following) attributes[i++] = list;
  qsort(attributes, count, sizeof *attributes, compare_attributes);
  out->size = (int64_t)count;
  out->types = types;
  out->names = names;
  out->attrs = values;
  for (size_t i = 0; i < count; ++i) {
    if (i && !compare_names(attributes[i - 1], attributes[i]))
      return fail_at(self, attributes[i]->at, CYXLA_INVALID_ARGUMENT, "a name that occurs twice");
    out->types[i] = attributes[i]->type;
    out->names[i] = &attributes[i]->name;
    out->attrs[i] = &attributes[i]->value;
  }
  return CYXLA_OK;
}

static int32_t parse_attributes(parser *self, XLA_FFI_Attrs *out) {
  attribute *list = NULL;
  size_t count = 0;
  do {
    void *memory;
    TRY(allocate(self, 1, sizeof(attribute), &memory));
    attribute *added = memory;
    TRY(parse_attribute(self, added));
    added->following = list;
    list = added;
    ++count;
  } while (take(self, ','));
  TRY(expect(self, '}'));
  return build_dictionary(self, list, count, out);
}

static int32_t parse_dictionary(parser *self, XLA_FFI_Attrs *out) {
  *out = (XLA_FFI_Attrs){.struct_size = sizeof *out};
  TRY(expect(self, '{'));
  if (take(self, '}')) return CYXLA_OK;
  if (self->depth == DEPTH_LIMIT)
    return fail_here(self, CYXLA_UNIMPLEMENTED,
                     "there are too many dictionaries inside each other");
  ++self->depth;
  TRY(parse_attributes(self, out));
  --self->depth;
  return CYXLA_OK;
}

int32_t cyxla__attributes_parse(cyxla__span text, cyxla__arena *arena,
                                XLA_FFI_Attrs *out_attributes, cyxla_error *error) {
  parser self = {.text = text, .arena = arena, .array_room = ARRAY_LIMIT, .error = error};
  *out_attributes = (XLA_FFI_Attrs){.struct_size = sizeof *out_attributes};
  next(&self);
  if (self.at == text.size) return CYXLA_OK;
  TRY(parse_dictionary(&self, out_attributes));
  next(&self);
  if (self.at < text.size)
    return fail_here(&self, CYXLA_INVALID_ARGUMENT, "nothing may follow the dictionary");
  return CYXLA_OK;
}
