/* Attributes of custom calls: each form of MLIR's text, what handlers get for it, and what is refused.  What
 * MLIR accepts and refuses, and the values, are those of its parser in jaxlib 0.11.2. */
#include <stdarg.h>

#include "ffi/attributes.h"
#include "test.h"

static cyxla_error error = CYXLA_ERROR_INIT;

/* ---- attributes as text ---- */

static char rendered[1 << 16];

static void add(const char *format, ...) {
  const size_t size = strlen(rendered);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(rendered + size, sizeof rendered - size, format, arguments);
  va_end(arguments);
}

static int64_t load(const void *data, size_t size, bool is_signed) {
  uint64_t value = 0;
  memcpy(&value, data, size);
  if (is_signed && size < 8 && value >> (8 * size - 1)) value -= UINT64_C(1) << (8 * size);
  return (int64_t)value;
}

/* Integers as they are, other numbers as their bits. */
static size_t render_number(XLA_FFI_DataType type, const void *data) {
  switch ((int)type) {
#define INTEGER(name, size, is_signed, format)           \
  case XLA_FFI_DataType_##name:                          \
    add(format, (long long)load(data, size, is_signed)); \
    return size;
    INTEGER(PRED, 1, false, "%lld")
    INTEGER(S8, 1, true, "%lld")
    INTEGER(S16, 2, true, "%lld")
    INTEGER(S32, 4, true, "%lld")
    INTEGER(S64, 8, true, "%lld")
    INTEGER(U8, 1, false, "%lld")
    INTEGER(U16, 2, false, "%lld")
    INTEGER(U32, 4, false, "%lld")
    INTEGER(U64, 8, false, "%llu")
    INTEGER(F16, 2, false, "0x%04llx")
    INTEGER(BF16, 2, false, "0x%04llx")
    INTEGER(F32, 4, false, "0x%08llx")
    INTEGER(F64, 8, false, "0x%016llx")
#undef INTEGER
    default:
      TEST_FAIL("type %d", (int)type);
  }
}

static const char *type_name(XLA_FFI_DataType type) {
  static const char *const names[] = {"?",   "pred", "s8",  "s16", "s32", "s64", "u8", "u16", "u32",
                                      "u64", "f16",  "f32", "f64", "?",   "?",   "?",  "bf16"};
  CHECK((size_t)type < sizeof names / sizeof *names);
  return names[type];
}

static void render(const XLA_FFI_Attrs *attributes);

static void render_value(int type, const void *value) {
  const XLA_FFI_Array *array = value;
  const XLA_FFI_Scalar *scalar = value;
  const XLA_FFI_ByteSpan *string = value;
  switch (type) {
    case XLA_FFI_AttrType_ARRAY:
      add("%s[", type_name(array->dtype));
      CHECK(array->data);
      for (size_t i = 0, at = 0; i < array->size; ++i) {
        if (i) add(" ");
        at += render_number(array->dtype, (const char *)array->data + at);
      }
      add("]");
      break;
    case XLA_FFI_AttrType_DICTIONARY:
      render(value);
      break;
    case XLA_FFI_AttrType_SCALAR:
      add("%s ", type_name(scalar->dtype));
      render_number(scalar->dtype, scalar->value);
      break;
    default:
      CHECK_INT(type, XLA_FFI_AttrType_STRING);
      CHECK_INT(string->ptr[string->len], 0);
      add("'%s'", string->ptr);
  }
}

static void render(const XLA_FFI_Attrs *attributes) {
  CHECK_INT(attributes->struct_size, sizeof *attributes);
  CHECK(!attributes->extension_start);
  add("{");
  for (int64_t i = 0; i < attributes->size; ++i) {
    add("%s%.*s=", i ? ", " : "", (int)attributes->names[i]->len, attributes->names[i]->ptr);
    render_value(attributes->types[i], attributes->attrs[i]);
  }
  add("}");
}

/* ---- parsing ---- */

static cyxla__arena arena;

static int32_t parse_bytes(const void *text, size_t size, XLA_FFI_Attrs *out) {
  /* A copy of its own: so a checker sees reads outside, and that nothing of it is kept. */
  uint8_t *copy = malloc(size);
  if (size) memcpy(copy, text, size);
  const int32_t status = cyxla__attributes_parse((cyxla__span){copy, size}, &arena, out, &error);
  if (size) memset(copy, 'x', size);
  free(copy);
  return status;
}

static const char *parse(const char *text) {
  XLA_FFI_Attrs attributes;
  const int32_t status = parse_bytes(text, strlen(text), &attributes);
  if (status) TEST_FAIL("%s: %s", text, error.message);
  *rendered = '\0';
  render(&attributes);
  cyxla__arena_deinit(&arena);
  return rendered;
}

/* The value of one attribute. */
static const char *parse_value(const char *text) {
  char whole[1024];
  snprintf(whole, sizeof whole, "{a = %s}", text);
  const char *found = parse(whole);
  CHECK(!strncmp(found, "{a=", 3));
  rendered[strlen(rendered) - 1] = '\0';
  return found + 3;
}

static void check_refused(const char *text, int32_t status, const char *message) {
  XLA_FFI_Attrs attributes;
  const int32_t found = parse_bytes(text, strlen(text), &attributes);
  cyxla__arena_deinit(&arena);
  if (found != status) TEST_FAIL("%s: status %d, not %d", text, found, status);
  CHECK_CONTAINS(error.message, message);
}

#define INVALID CYXLA_INVALID_ARGUMENT
#define UNKNOWN CYXLA_UNIMPLEMENTED

/* ---- tests ---- */

static void reads_dictionaries(void) {
  CHECK_TEXT(parse(""), "{}");
  CHECK_TEXT(parse(" "), "{}");
  CHECK_TEXT(parse("{}"), "{}");
  CHECK_TEXT(parse(" { } "), "{}");
  CHECK_TEXT(parse("{uplo = 76 : ui8}"), "{uplo=u8 76}");
  CHECK_TEXT(parse("{a = -7 : i64, b = 1.500000e+00 : f32, c = \"he\\22llo\", "
                   "d = dense<[1, 2, 3]> : tensor<3xi64>, e = true, "
                   "g = {u = 1 : i32, v = \"s\"}, h = 200 : ui8, z = 1.000000e-300 : f64}"),
             "{a=s64 -7, b=f32 0x3fc00000, c='he\"llo', d=s64[1 2 3], e=pred 1, "
             "g={u=s32 1, v='s'}, h=u8 200, z=f64 0x01a56e1fc2f8f359}");
  CHECK_TEXT(parse("{a=1,b={},c={d={e=2}}}"), "{a=s64 1, b={}, c={d={e=s64 2}}}");
  CHECK_TEXT(parse("{\ta\n=\r\n1 : i8 , b = {} }"), "{a=s8 1, b={}}");
}

static void reads_names(void) {
  CHECK_TEXT(parse("{z = 1, b = 2, B = 3, \"\xc3\xa4\" = 4, ba = 5, _ = 6, a.b$c9 = 7}"),
             "{B=s64 3, _=s64 6, a.b$c9=s64 7, b=s64 2, ba=s64 5, z=s64 1, \xc3\xa4=s64 4}");
  CHECK_TEXT(parse("{true = 1, i32 = 2, array = 3, \"two words\" = 4, \"\\41b\" = 5}"),
             "{Ab=s64 5, array=s64 3, i32=s64 2, true=s64 1, two words=s64 4}");
  check_refused("{a = 1, b = 2, a = 3}", INVALID,
                "at byte 15, \"a = 3}\": a name that occurs twice");
  check_refused("{a = 1, \"a\" = 3}", INVALID, "twice");
  check_refused("{\"\" = 1}", INVALID, "at byte 1, \"\"\" = 1}\": a name is missing");
  check_refused("{1a = 1}", INVALID, "a name is missing");
  check_refused("{a = 1,}", INVALID, "a name is missing");
}

static void reads_integers(void) {
  CHECK_TEXT(parse_value("5"), "s64 5");
  CHECK_TEXT(parse_value("-9223372036854775808"), "s64 -9223372036854775808");
  CHECK_TEXT(parse_value("18446744073709551615 : ui64"), "u64 18446744073709551615");
  CHECK_TEXT(parse_value("18446744073709551615"), "s64 -1"); /* as for MLIR */
  CHECK_TEXT(parse_value("00012 : i16"), "s16 12");
  CHECK_TEXT(parse_value("- 1 : i32"), "s32 -1");
  CHECK_TEXT(parse_value("-32768 : si16"), "s16 -32768");
  CHECK_TEXT(parse_value("65535 : ui16"), "u16 65535");
  CHECK_TEXT(parse_value("4294967295 : ui32"), "u32 4294967295");
  CHECK_TEXT(parse_value("255 : i8"), "s8 -1");
  CHECK_TEXT(parse_value("-128 : i8"), "s8 -128");
  CHECK_TEXT(parse_value("0x1f:i8"), "s8 31");
  CHECK_TEXT(parse_value("0xFFFFFFFFFFFFFFFF : ui64"), "u64 18446744073709551615");
  CHECK_TEXT(parse_value("1 : i1"), "pred 1");
  CHECK_TEXT(parse_value("-1 : i1"), "pred 1");
  CHECK_TEXT(parse_value("true"), "pred 1");
  CHECK_TEXT(parse_value("false"), "pred 0");
  static const char *const wrong[] = {
      "{a = 256 : i8}", "{a = -129 : i8}",  "{a = -1 : ui8}",  "{a = 65536 : ui16}",
      "{a = 2 : i1}",   "{a = 0x100 : i8}", "{a = 1.5 : i32}", "{a = array<i32: true>}"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    check_refused(wrong[i], INVALID, "not a number of its integer type");
  check_refused("{a = 18446744073709551616}", INVALID,
                "at byte 5, \"18446744073709551616}\": too large");
  check_refused("{a = 99999999999999999999}", INVALID, "too large");
  check_refused("{a = 0x10000000000000000 : ui64}", INVALID, "too large");
  check_refused("{a = -}", INVALID, "this is no number");
  check_refused("{a = -true}", INVALID, "this is no number");
  check_refused("{a = 0x : i32}", INVALID, "'}' is missing");
  check_refused("{a = 0xg : i32}", INVALID, "'}' is missing");
  check_refused("{a = true : i1}", INVALID, "'}' is missing");
  check_refused("{a = 1 : i32 : i32}", INVALID, "'}' is missing");
}

static void reads_reals(void) {
  CHECK_TEXT(parse_value("1.5"), "f64 0x3ff8000000000000");
  CHECK_TEXT(parse_value("1."), "f64 0x3ff0000000000000");
  CHECK_TEXT(parse_value("-0.000000e+00 : f64"), "f64 0x8000000000000000");
  CHECK_TEXT(parse_value("0.1 : f64"), "f64 0x3fb999999999999a");
  CHECK_TEXT(parse_value("0.1:f32"), "f32 0x3dcccccd");
  CHECK_TEXT(parse_value("1.0E+5 : f64"), "f64 0x40f86a0000000000");
  CHECK_TEXT(parse_value("-1.0e-400 : f64"), "f64 0x8000000000000000");
  CHECK_TEXT(parse_value("1.0e999 : f64"), "f64 0x7ff0000000000000");
  CHECK_TEXT(parse_value("-3.4028235e+39 : f32"), "f32 0xff800000");
  CHECK_TEXT(parse_value("1.1 : f16"), "f16 0x3c66");
  CHECK_TEXT(parse_value("-1.1 : bf16"), "bf16 0xbf8d");
  CHECK_TEXT(parse_value("0x7FC00000 : f32"), "f32 0x7fc00000");
  CHECK_TEXT(parse_value("0x7FC0:f32"), "f32 0x00007fc0");
  CHECK_TEXT(parse_value("0xfff8000000000001 : f64"), "f64 0xfff8000000000001");
  /* One rounding, where two, by way of a double, would end in 0x3f800000. */
  CHECK_TEXT(parse_value("1.00000005960464477539062500000000001 : f32"), "f32 0x3f800001");
  static const char *const wrong[] = {"{a = 1 : f32}",           "{a = -0x7FC00000 : f32}",
                                      "{a = 0x100000000 : f32}", "{a = array<f32: 1>}",
                                      "{a = array<f32: true>}",  "{a = dense<1> : tensor<2xf64>}"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    check_refused(wrong[i], INVALID, "not a number of its floating-point type");
  check_refused("{a = 1e5 : f32}", INVALID, "'}' is missing");
  check_refused("{a = 1.0e : f32}", INVALID, "at byte 8, \"e : f32}\": '}' is missing");
  check_refused("{a = 1.0e+ : f32}", INVALID, "'}' is missing");
  check_refused("{a = .5}", INVALID, "a value is missing");
}

static void reads_strings(void) {
  CHECK_TEXT(parse_value("\"\""), "''");
  CHECK_TEXT(parse_value("\"a \\\"b\\\" \\\\ \\n\\t \\7A\\7a } , > \xc3\xa4\""),
             "'a \"b\" \\ \n\t zz } , > \xc3\xa4'");
  XLA_FFI_Attrs attributes;
  CHECK_OK(parse_bytes("{a = \"x\\00y\"}", 13, &attributes), &error);
  const XLA_FFI_ByteSpan *string = attributes.attrs[0];
  CHECK_INT(string->len, 3);
  CHECK_BYTES(string->ptr, "x\0y", 3);
  cyxla__arena_deinit(&arena);
  check_refused("{a = \"b}", INVALID, "at byte 5, \"\"b}\": the end of this string is missing");
  check_refused("{a = \"b\\\"}", INVALID, "the end of this string is missing");
  check_refused("{a = \"b\\", INVALID, "the end of this string is missing");
  check_refused("{\"a", INVALID, "the end of this string is missing");
  check_refused("{a = \"xy\\q12\"}", INVALID,
                "at byte 8, \"\\q12\"}\": this stands for no character");
  check_refused("{a = \"\\4\"}", INVALID, "this stands for no character");
  check_refused("{a = \"\\4x\"}", INVALID, "this stands for no character");
  check_refused("{\"\\g0\" = 1}", INVALID, "this stands for no character");
  XLA_FFI_Attrs none;
  CHECK_STATUS(parse_bytes("{a = \"\\\0\"}", 10, &none), CYXLA_INVALID_ARGUMENT, &error);
  cyxla__arena_deinit(&arena);
  check_refused("{a = \"x\" : i32}", UNKNOWN, "at byte 9, \": i32}\": a string with a type");
}

static void reads_arrays(void) {
  CHECK_TEXT(parse_value("array<i64>"), "s64[]");
  CHECK_TEXT(parse_value("array<i64: 1, -2>"), "s64[1 -2]");
  CHECK_TEXT(parse_value("array < i8 : -1 , 255 >"), "s8[-1 -1]");
  CHECK_TEXT(parse_value("array<i16: 0x10>"), "s16[16]");
  CHECK_TEXT(parse_value("array<i1: true, false>"), "pred[1 0]");
  CHECK_TEXT(parse_value("array<f32: 1.000000e+00, 0x7FC00000, -2.5>"),
             "f32[0x3f800000 0x7fc00000 0xc0200000]");
  CHECK_TEXT(parse_value("array<f64: 1.0>"), "f64[0x3ff0000000000000]");
  check_refused("{a = array<i64:>}", INVALID, "this is no number");
  check_refused("{a = array<i64: 1, 2,>}", INVALID, "at byte 21, \">}\": this is no number");
  check_refused("{a = array<i64: 1 2>}", INVALID, "'>' is missing");
  check_refused("{a = array<i64: 1, 2 3>}", INVALID, "'>' is missing");
  check_refused("{a = array<i64: 1", INVALID, "'>' is missing");
  check_refused("{a = array<i64: one>}", INVALID, "this is no number");
  check_refused("{a = array<i64: one 1>}", INVALID, "this is no number");
  check_refused("{a = array}", INVALID, "'<' is missing");
  check_refused("{a = array<index: 1>}", UNKNOWN,
                "at byte 11, \"index: 1>}\": handlers get no numbers of this type");
}

static void reads_tensors(void) {
  CHECK_TEXT(parse_value("dense<[1, 2]> : tensor<2xi64>"), "s64[1 2]");
  CHECK_TEXT(parse_value("dense<5> : tensor<4xi32>"), "s32[5 5 5 5]");
  CHECK_TEXT(parse_value("dense<-5> : tensor<i32>"), "s32[-5]");
  CHECK_TEXT(parse_value("dense<> : tensor<0xi64>"), "s64[]");
  CHECK_TEXT(parse_value("dense<[]> : tensor<0xi64>"), "s64[]");
  CHECK_TEXT(parse_value("dense<5> : tensor<0xi64>"), "s64[]");
  CHECK_TEXT(parse_value("dense<[[],[]]> : tensor<2x0xi64>"), "s64[]");
  CHECK_TEXT(parse_value("dense<[[1, 2], [3, 4]]> : tensor<2x2xui8>"), "u8[1 2 3 4]");
  CHECK_TEXT(parse_value("dense<[[[1], [2], [3]]]>:tensor<1x3x1xi8>"), "s8[1 2 3]");
  CHECK_TEXT(parse_value("dense<7> : tensor<2x3xi8>"), "s8[7 7 7 7 7 7]");
  CHECK_TEXT(parse_value("dense<[true, false]> : tensor<2xi1>"), "pred[1 0]");
  CHECK_TEXT(parse_value("dense<true> : tensor<2xi1>"), "pred[1 1]");
  CHECK_TEXT(parse_value("dense<[1.0, 0x7FC00000, - 2.5]> : tensor<3xf32>"),
             "f32[0x3f800000 0x7fc00000 0xc0200000]");
  CHECK_TEXT(parse_value("dense<1> : vector<4xsi32>"), "s32[1 1 1 1]");
  CHECK_TEXT(parse_value("dense<1.0> : tensor<2xf16>"), "f16[0x3c00 0x3c00]");
  CHECK_TEXT(parse("{a = dense<1> : tensor<1xi8>, b = dense<2> : tensor<1xi8>}"),
             "{a=s8[1], b=s8[2]}");
}

static void reads_tensors_of_bytes(void) {
  CHECK_TEXT(parse_value("dense<\"0x01000000fFfFFFff\"> : tensor<2xi32>"), "s32[1 -1]");
  CHECK_TEXT(parse_value("dense<\"0x01000000\"> : tensor<3xi32>"), "s32[1 1 1]");
  CHECK_TEXT(parse_value("dense<\"0x0000803F\"> : tensor<f32>"), "f32[0x3f800000]");
  CHECK_TEXT(parse_value("dense<\"0x\"> : tensor<0xi32>"), "s32[]");
  CHECK_TEXT(parse_value("dense<\"0x0102030405060708\"> : tensor<2x4xui8>"), "u8[1 2 3 4 5 6 7 8]");
  static const char *const wrong[] = {
      "0x0102", "0x", "", "x", "01020304", "0x0102030", "0x0102030g", "0x01020g04", "0x0102030405"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    char text[64];
    snprintf(text, sizeof text, "{a = dense<\"%s\"> : tensor<2xi32>}", wrong[i]);
    check_refused(text, INVALID, "not the bytes of so many elements");
  }
  check_refused("{a = dense<\"0x01\"> : tensor<2xi1>}", UNKNOWN, "bytes of truth values");
  check_refused("{a = dense<\"0x01> : tensor<2xi8>}", INVALID, "the end of this string is missing");
  check_refused("{a = dense<\"0x0102\" 3> : tensor<2xi8>}", INVALID, "'>' is missing");
}

static void refuses_wrong_tensors(void) {
  static const char *const wrong[] = {"[1, 2, 3]> : tensor<2xi64>",  "[1]> : tensor<2xi64>",
                                      "> : tensor<2xi64>",           "[1, [2]]> : tensor<2xi64>",
                                      "[[1], 2]> : tensor<2x1xi64>", "[1]> : tensor<i64>",
                                      "[1, 2> : tensor<2xi64>",      "1 2> : tensor<2xi64>"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    char text[64];
    snprintf(text, sizeof text, "{a = dense<%s}", wrong[i]);
    XLA_FFI_Attrs attributes;
    CHECK_STATUS(parse_bytes(text, strlen(text), &attributes), CYXLA_INVALID_ARGUMENT, &error);
    cyxla__arena_deinit(&arena);
  }
  check_refused("{a = dense<1", INVALID, "'>' is missing");
  check_refused("{a = dense 1>}", INVALID, "'<' is missing");
  check_refused("{a = dense<1>}", INVALID, "':' is missing");
  check_refused("{a = dense<1> : tensor 1}", INVALID, "'<' is missing");
  check_refused("{a = dense<1> : tensor<2 i64>}", INVALID, "'x' is missing");
  check_refused("{a = dense<1> : tensor<2xi64, \"x\">}", INVALID, "'>' is missing");
  check_refused("{a = dense<1> : memref<2xi64>}", UNKNOWN, "handlers get only tensors");
  check_refused("{a = dense<1> : tensor<?xi64>}", UNKNOWN, "no numbers of this type");
  check_refused("{a = dense<1> : tensor<complex<f32>>}", UNKNOWN, "no numbers of this type");
  check_refused("{a = dense<1> : tensor<1.5xi64>}", UNKNOWN, "a tensor of this shape");
  check_refused("{a = dense<1> : tensor<99999999999x99999999999xi8>}", UNKNOWN,
                "a tensor of this shape");
  check_refused(
      "{a = dense<1> : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"
      "x1x1xi8>}",
      UNKNOWN, "a tensor of this shape");
  check_refused("{a = dense<1> : tensor<99999999999999999999xi8>}", INVALID, "too large");
}

static void limits_what_arrays_claim(void) {
  XLA_FFI_Attrs attributes;
  static const char fits[] = "{a = dense<1> : tensor<67108864xi8>}";
  CHECK_OK(parse_bytes(fits, strlen(fits), &attributes), &error);
  cyxla__arena_deinit(&arena);
  check_refused("{a = dense<1> : tensor<67108865xi8>}", UNKNOWN, "the arrays are too large");
  check_refused("{a = dense<1> : tensor<8388609xi64>}", UNKNOWN, "the arrays are too large");
  check_refused("{a = dense<1> : tensor<67108864xi8>, b = dense<1> : tensor<1xi8>}", UNKNOWN,
                "at byte 47, \"1> : tensor<1xi8>}\": the arrays are too large");
}

static void refuses_other_kinds(void) {
  static const char *const kinds[] = {"[1, 2]",
                                      "#x.y",
                                      "@f",
                                      "unit",
                                      "affine_map<(d0) -> (d0)>",
                                      "i32",
                                      "dense_resource<x> : tensor<2xi32>",
                                      "!x.y",
                                      "()",
                                      "loc(unknown)"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    char text[64], message[128];
    snprintf(text, sizeof text, "{a = %s}", kinds[i]);
    snprintf(message, sizeof message,
             "at byte 5, \"%.24s\": handlers get no attributes of this kind", text + 5);
    check_refused(text, UNKNOWN, message);
  }
  check_refused("{a}", UNKNOWN, "at byte 1, \"a}\": handlers get no attributes without a value");
  check_refused("{a, b = 1}", UNKNOWN, "without a value");
  check_refused("{a = 1 : i4}", UNKNOWN,
                "at byte 9, \"i4}\": handlers get no numbers of this type");
  check_refused("{a = 1 : index}", UNKNOWN, "no numbers of this type");
  check_refused("{a = 1.0 : tf32}", UNKNOWN, "no numbers of this type");
  check_refused("{a = 1 : si4}", UNKNOWN, "no numbers of this type");
}

static void refuses_what_is_no_dictionary(void) {
  check_refused("1", INVALID, "at byte 0, \"1\": '{' is missing");
  check_refused("{", INVALID, "at byte 1, \"\": a name is missing");
  check_refused("{a", INVALID, "'=' is missing");
  check_refused("{a b = 1}", INVALID, "'=' is missing");
  check_refused("{a =", INVALID, "a value is missing");
  check_refused("{a = }", INVALID, "a value is missing");
  check_refused("{a = 1", INVALID, "'}' is missing");
  check_refused("{a = 1 b = 2}", INVALID, "'}' is missing");
  check_refused("{a = 1}x", INVALID, "at byte 7, \"x\": nothing may follow the dictionary");
  check_refused("{} {}", INVALID, "nothing may follow the dictionary");
  check_refused("{a = \x01\xff}", INVALID, "at byte 5, \"??}\"");
  XLA_FFI_Attrs attributes;
  CHECK_STATUS(parse_bytes("{}\0", 3, &attributes), CYXLA_INVALID_ARGUMENT, &error);
  cyxla__arena_deinit(&arena);
}

static void limits_depth(void) {
  char text[400] = "";
  for (int i = 0; i < 32; ++i) strcat(text, "{a=");
  strcat(text, "{}");
  for (int i = 0; i < 32; ++i) strcat(text, "}");
  CHECK_INT(strlen(parse(text)), strlen(text));
  *text = '\0';
  for (int i = 0; i < 33; ++i) strcat(text, "{a=");
  check_refused(text, UNKNOWN, "too many dictionaries inside each other");
  /* Only those inside each other count. */
  *text = '\0';
  for (int i = 0; i < 40; ++i) sprintf(text + strlen(text), "%ca%d={b=1}", i ? ',' : '{', i);
  parse(strcat(text, "}"));
}

static void survives_truncation(void) {
  static const char text[] =
      "{\"\\41\" = -7 : i64, b = 1.5e+0 : f32, c = \"he\\22\", d = dense<[[1],[2]]> : "
      "tensor<2x1xi64>, "
      "e = true, f = array<i8: 1, 0x2>, g = {u = {}}, h = dense<\"0x01\"> : tensor<2xi8>}";
  for (size_t size = 1; size < strlen(text); ++size) {
    XLA_FFI_Attrs attributes;
    CHECK(parse_bytes(text, size, &attributes));
    cyxla__arena_deinit(&arena);
  }
  parse(text);
}

int main(void) {
  RUN(reads_dictionaries);
  RUN(reads_names);
  RUN(reads_integers);
  RUN(reads_reals);
  RUN(reads_strings);
  RUN(reads_arrays);
  RUN(reads_tensors);
  RUN(reads_tensors_of_bytes);
  RUN(refuses_wrong_tensors);
  RUN(limits_what_arrays_claim);
  RUN(refuses_other_kinds);
  RUN(refuses_what_is_no_dictionary);
  RUN(limits_depth);
  RUN(survives_truncation);
}
