/* The parser of attributes with any text: it reads nothing outside, and what it makes is well-formed.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -D_XOPEN_SOURCE=700 -Iinclude -Isrc -o fuzz_attributes \
 *     tests/fuzz/fuzz_attributes.c src/ffi/attributes.c src/base/{arena,decimal,memory,status}.c
 *   ./fuzz_attributes -max_total_time=60 */
#include <stdlib.h>

#include "ffi/attributes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition) {
  if (!condition) abort();
}

static size_t size_of(XLA_FFI_DataType type) {
  static const uint8_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 0, 0, 0, 2};
  check((size_t)type < sizeof sizes && sizes[type]);
  return sizes[type];
}

/* Reads every byte, for the checkers to see. */
static void touch(const void *data, size_t size) {
  static volatile uint8_t sum;
  for (size_t i = 0; i < size; ++i) sum = (uint8_t)(sum + ((const uint8_t *)data)[i]);
}

static void check_order(const XLA_FFI_ByteSpan *a, const XLA_FFI_ByteSpan *b) {
  const int order = memcmp(a->ptr, b->ptr, a->len < b->len ? a->len : b->len);
  check(order < 0 || (order == 0 && a->len < b->len));
}

static void check_attributes(const XLA_FFI_Attrs *attributes) {
  check(attributes->struct_size == sizeof *attributes && !attributes->extension_start);
  check(attributes->size >= 0);
  for (int64_t i = 0; i < attributes->size; ++i) {
    touch(attributes->names[i]->ptr, attributes->names[i]->len);
    if (i) check_order(attributes->names[i - 1], attributes->names[i]);
    const XLA_FFI_Array *array = attributes->attrs[i];
    const XLA_FFI_Scalar *scalar = attributes->attrs[i];
    const XLA_FFI_ByteSpan *string = attributes->attrs[i];
    switch (attributes->types[i]) {
      case XLA_FFI_AttrType_ARRAY:
        touch(array->data, array->size * size_of(array->dtype));
        break;
      case XLA_FFI_AttrType_DICTIONARY:
        check_attributes(attributes->attrs[i]);
        break;
      case XLA_FFI_AttrType_SCALAR:
        touch(scalar->value, size_of(scalar->dtype));
        break;
      default:
        check(attributes->types[i] == XLA_FFI_AttrType_STRING);
        touch(string->ptr, string->len);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cyxla__arena arena = {NULL};
  cyxla_error error = CYXLA_ERROR_INIT;
  XLA_FFI_Attrs attributes;
  const cyxla__span text = {(uint8_t *)data, size};
  const int32_t status = cyxla__attributes_parse(text, &arena, &attributes, &error);
  if (!status) check_attributes(&attributes);
  check(!status || (error.code == status && error.message[0]));
  cyxla__arena_deinit(&arena);
  return 0;
}
