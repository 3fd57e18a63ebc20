#include "base/memory.h"
#include "direct/decode.h"
#include "xla_cpu/primitive_type.h"
#include "xla_cpu/schema.h"

/* Dimensions that a shape may have: a permutation of them is checked in one word. */
enum { MAX_RANK = 64 };

typedef struct layout_fields {
  cyxla__span message; /* data is NULL: none */
  size_t rank;
  uint64_t element_bits, memory_space, metadata_size, tail_alignment;
  size_t tile_count, split_count;
  cyxla__span physical_shape;
} layout_fields;

static int32_t read_layout(layout_fields *layout, cyxla_error *error) {
  const cyxla__member members[] = {
      {LAYOUT_MINOR_TO_MAJOR, .numbers = &layout->rank},
      {LAYOUT_TILES, .messages = &layout->tile_count},
      {LAYOUT_ELEMENT_BITS, .number = &layout->element_bits},
      {LAYOUT_MEMORY_SPACE, .number = &layout->memory_space},
      {LAYOUT_PHYSICAL_SHAPE, .bytes = &layout->physical_shape},
      {LAYOUT_METADATA_PREFIX_BYTES, .number = &layout->metadata_size},
      {LAYOUT_TAIL_ALIGNMENT, .number = &layout->tail_alignment},
      {LAYOUT_SPLIT_CONFIGS, .messages = &layout->split_count},
      {0},
  };
  return cyxla__message_read(layout->message, "LayoutProto", members, error);
}

/* Whether elements lie one after the other, in the order of the dimensions and no other. */
static bool is_dense(const layout_fields *layout, size_t element_size) {
  return !layout->tile_count && !layout->split_count && !layout->physical_shape.data &&
         !layout->memory_space && !layout->metadata_size && layout->tail_alignment <= 1 &&
         (!layout->element_bits || layout->element_bits == 8 * element_size);
}

static bool is_permutation(const int64_t *order, size_t count) {
  uint64_t seen = 0;
  for (size_t i = 0; i < count; ++i) {
    if (order[i] < 0 || (uint64_t)order[i] >= count) return false;
    seen |= (uint64_t)1 << order[i];
  }
  return seen == (count < MAX_RANK ? ((uint64_t)1 << count) - 1 : UINT64_MAX);
}

/* Works out length and size; false where they don't fit. */
static bool measure(cyxla__shape *shape) {
  bool fits = true, empty = false;
  shape->length = 1;
  for (int32_t i = 0; i < shape->rank; ++i) {
    if (shape->dimensions[i] < 0) return false;
    if (shape->dimensions[i])
      fits = fits && cyxla__multiply(shape->length, (size_t)shape->dimensions[i], &shape->length);
    else
      empty = true;
  }
  if (empty) shape->length = 0;
  return fits && cyxla__multiply(shape->length, cyxla__primitive_size(shape->type), &shape->size) &&
         shape->size <= PTRDIFF_MAX;
}

static int32_t read_numbers(cyxla__arena *arena, cyxla__span message, const char *name,
                            uint32_t field, size_t count, const int64_t **out_numbers,
                            cyxla_error *error) {
  int64_t *numbers = cyxla__arena_alloc(arena, count, sizeof *numbers);
  *out_numbers = numbers;
  if (!numbers) return cyxla__fail_memory(error, count * sizeof *numbers);
  return cyxla__message_numbers(message, name, field, numbers, error);
}

static int32_t read_order(cyxla__arena *arena, const layout_fields *layout, cyxla__shape *shape,
                          cyxla_error *error) {
  if (layout->rank != (size_t)shape->rank) return cyxla__fail_message(error, "LayoutProto");
  TRY(read_numbers(arena, layout->message, "LayoutProto", LAYOUT_MINOR_TO_MAJOR, layout->rank,
                   &shape->minor_to_major, error));
  if (!is_permutation(shape->minor_to_major, layout->rank))
    return cyxla__fail_message(error, "LayoutProto");
  if (is_dense(layout, cyxla__primitive_size(shape->type))) return CYXLA_OK;
  return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                     "the layout of an array of XLA's type %d is more than an order of dimensions",
                     (int)shape->type);
}

static int32_t check_static(cyxla__span message, size_t count, size_t rank, cyxla_error *error) {
  int64_t dynamic[MAX_RANK];
  if (count > rank) return cyxla__fail_message(error, "ShapeProto");
  TRY(cyxla__message_numbers(message, "ShapeProto", SHAPE_IS_DYNAMIC, dynamic, error));
  for (size_t i = 0; i < count; ++i)
    if (dynamic[i]) return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "an array's shape is dynamic");
  return CYXLA_OK;
}

int32_t cyxla__decode_shape(cyxla__arena *arena, cyxla__span message, cyxla__shape *out_shape,
                            cyxla_error *error) {
  uint64_t type = 0;
  size_t rank = 0, dynamic_count = 0;
  layout_fields layout = {0};
  const cyxla__member members[] = {
      {SHAPE_ELEMENT_TYPE, .number = &type},
      {SHAPE_DIMENSIONS, .numbers = &rank},
      {SHAPE_LAYOUT, .bytes = &layout.message},
      {SHAPE_IS_DYNAMIC, .numbers = &dynamic_count},
      {0},
  };
  TRY(cyxla__message_read(message, "ShapeProto", members, error));
  TRY(read_layout(&layout, error));
  if (type > INT32_MAX) return cyxla__fail_message(error, "ShapeProto");
  if (rank > MAX_RANK)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "an array has %zu dimensions", rank);
  TRY(check_static(message, dynamic_count, rank, error));
  *out_shape = (cyxla__shape){.type = (int32_t)type, .rank = (int32_t)rank};
  TRY(read_numbers(arena, message, "ShapeProto", SHAPE_DIMENSIONS, rank, &out_shape->dimensions,
                   error));
  TRY(read_order(arena, &layout, out_shape, error));
  return measure(out_shape) ? CYXLA_OK : cyxla__fail_message(error, "ShapeProto");
}

int32_t cyxla__decode_shapes(cyxla__arena *arena, cyxla__span message,
                             const cyxla__shape **out_shapes, size_t *out_count, bool *out_is_tuple,
                             cyxla_error *error) {
  uint64_t type = 0;
  size_t element_count = 0;
  const cyxla__member members[] = {
      {SHAPE_ELEMENT_TYPE, .number = &type},
      {SHAPE_TUPLE_SHAPES, .messages = &element_count},
      {0},
  };
  TRY(cyxla__message_read(message, "ShapeProto", members, error));
  *out_is_tuple = type == XLA_TUPLE;
  *out_count = *out_is_tuple ? element_count : 1;
  cyxla__shape *shapes = cyxla__arena_alloc(arena, *out_count, sizeof *shapes);
  *out_shapes = shapes;
  if (!shapes) return cyxla__fail_memory(error, *out_count * sizeof *shapes);
  if (!*out_is_tuple) return cyxla__decode_shape(arena, message, shapes, error);
  for (cyxla__span element; cyxla__message_next(&message, SHAPE_TUPLE_SHAPES, &element); ++shapes)
    TRY(cyxla__decode_shape(arena, element, shapes, error));
  return CYXLA_OK;
}

int32_t cyxla__decode_slice(cyxla__span message, cyxla__slice *out_slice, cyxla_error *error) {
  uint64_t allocation = 0;
  *out_slice = (cyxla__slice){0};
  const cyxla__member members[] = {
      {SLICE_OFFSET, .number = &out_slice->offset},
      {SLICE_SIZE, .number = &out_slice->size},
      {SLICE_ALLOCATION, .number = &allocation},
      {0},
  };
  TRY(cyxla__message_read(message, "BufferAllocationSliceProto", members, error));
  if (!message.data || allocation > UINT32_MAX)
    return cyxla__fail_message(error, "BufferAllocationSliceProto");
  out_slice->allocation = (uint32_t)allocation;
  return CYXLA_OK;
}

int32_t cyxla__decode_array(cyxla__arena *arena, cyxla__span message, cyxla__array *out_array,
                            cyxla_error *error) {
  cyxla__span shape = {0}, slice = {0};
  const cyxla__member members[] = {
      {ARRAY_SHAPE, .bytes = &shape},
      {ARRAY_SLICE, .bytes = &slice},
      {0},
  };
  TRY(cyxla__message_read(message, "ShapeBufferAllocationSliceProto", members, error));
  TRY(cyxla__decode_slice(slice, &out_array->slice, error));
  return cyxla__decode_shape(arena, shape, &out_array->shape, error);
}
