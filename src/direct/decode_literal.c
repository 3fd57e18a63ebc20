#include "base/memory.h"
#include "direct/decode.h"
#include "xla_cpu/primitive_type.h"
#include "xla_cpu/schema.h"

/* How a field of LiteralProto holds numbers. */
typedef enum encoding {
  AS_BYTES,   /* as they lie in memory */
  AS_VARINTS, /* packed, or one by one */
  AS_FIXED    /* the same, 4 or 8 little-endian bytes each */
} encoding;

static const struct literal_type {
  int32_t type;
  uint32_t field;
  encoding encoding;
  size_t size; /* of a number in memory; complex ones are pairs of them */
} types[] = {
    {XLA_PRED, LITERAL_PREDS, AS_VARINTS, 1},       {XLA_S8, LITERAL_S8S, AS_BYTES, 1},
    {XLA_S16, LITERAL_S16S, AS_BYTES, 2},           {XLA_S32, LITERAL_S32S, AS_VARINTS, 4},
    {XLA_S64, LITERAL_S64S, AS_VARINTS, 8},         {XLA_U8, LITERAL_U8S, AS_BYTES, 1},
    {XLA_U16, LITERAL_U16S, AS_BYTES, 2},           {XLA_U32, LITERAL_U32S, AS_VARINTS, 4},
    {XLA_U64, LITERAL_U64S, AS_VARINTS, 8},         {XLA_F16, LITERAL_F16S, AS_BYTES, 2},
    {XLA_F32, LITERAL_F32S, AS_FIXED, 4},           {XLA_F64, LITERAL_F64S, AS_FIXED, 8},
    {XLA_C64, LITERAL_C64S, AS_FIXED, 4},           {XLA_BF16, LITERAL_BF16S, AS_BYTES, 2},
    {XLA_C128, LITERAL_C128S, AS_FIXED, 8},         {XLA_F8E5M2, LITERAL_F8E5M2S, AS_BYTES, 1},
    {XLA_F8E4M3FN, LITERAL_F8E4M3FNS, AS_BYTES, 1},
};

static const struct literal_type *find_type(int32_t type) {
  for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
    if (types[i].type == type) return &types[i];
  return NULL;
}

/* Adds the `size` low bytes of `value`; false where there is no room. */
static bool put(cyxla__span *rest, uint64_t value, size_t size) {
  if (rest->size < size) return false;
  for (size_t i = 0; i < size; ++i) rest->data[i] = (uint8_t)(value >> (8 * i));
  return cyxla__span_part(*rest, size, rest->size - size, rest);
}

static bool put_bytes(cyxla__span *rest, cyxla__span bytes) {
  if (rest->size < bytes.size) return false;
  if (bytes.size) memcpy(rest->data, bytes.data, bytes.size);
  return cyxla__span_part(*rest, bytes.size, rest->size - bytes.size, rest);
}

static bool put_varints(cyxla__span *rest, cyxla__span packed, size_t size) {
  uint64_t value;
  while (cyxla__proto_next_varint(&packed, &value))
    if (!put(rest, value, size)) return false;
  return !packed.size;
}

static bool put_field(cyxla__span *rest, const cyxla__field *field,
                      const struct literal_type *type) {
  if (!field->is_bytes) return type->encoding != AS_BYTES && put(rest, field->value, type->size);
  return type->encoding == AS_VARINTS ? put_varints(rest, field->bytes, type->size)
                                      : put_bytes(rest, field->bytes);
}

/* Whether the fields fill `memory`, no less and no more.  Numbers are stored in the order of
 * memory, and little-endian, as every machine with XLA's CPU compiler is. */
static bool fill(cyxla__span memory, cyxla__span message, const struct literal_type *type) {
  cyxla__field field;
  while (cyxla__proto_next(&message, &field))
    if (field.number == type->field && !put_field(&memory, &field, type)) return false;
  return !memory.size;
}

/* The least bytes that hold the numbers of `size` bytes of memory. */
static size_t least_size(const struct literal_type *type, size_t size) {
  return type->encoding == AS_VARINTS ? size / type->size : size;
}

int32_t cyxla__decode_literal(cyxla__arena *arena, cyxla__span message, uint64_t size,
                              const void **out_data, cyxla_error *error) {
  cyxla__span shape_message = {0};
  cyxla__shape shape;
  const cyxla__member members[] = {{LITERAL_SHAPE, .bytes = &shape_message}, {0}};
  if (!message.data) return cyxla__fail_message(error, "LiteralProto");
  TRY(cyxla__message_read(message, "LiteralProto", members, error));
  TRY(cyxla__decode_shape(arena, shape_message, &shape, error));
  const struct literal_type *type = find_type(shape.type);
  if (!type)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "a constant is of XLA's type %d",
                       (int)shape.type);
  /* Where there is not enough of it, not even memory is asked for. */
  if (shape.size != size || least_size(type, shape.size) > message.size)
    return cyxla__fail_message(error, "LiteralProto");
  cyxla__span memory = {cyxla__arena_alloc(arena, shape.size, 1), shape.size};
  if (!memory.data) return cyxla__fail_memory(error, shape.size);
  *out_data = memory.data;
  return fill(memory, message, type) ? CYXLA_OK : cyxla__fail_message(error, "LiteralProto");
}
