/* Decoding, part by part, of executables that are made here. */
#include "decode_written.h"
#include "xla_cpu/container.h"

/* ---- the whole ---- */

static void reads_the_minimal_one(void) {
  cyxla__proto result = {0}, object = {0}, symbol = {0};
  add_text(&object, 1, "object");
  add_text(&object, 2, "name");
  add(&result, 8, object);
  cyxla__proto_varint(&symbol, 1, 1);
  add_text(&symbol, 2, "kernel");
  add(&result, 7, symbol);
  cyxla__image image = decoded((parts){.result = result});
  check_image(&image);
  CHECK(cyxla__span_is(image.name, "jit_f"));
  CHECK(cyxla__span_is(image.triple, "x86_64-unknown-linux-gnu"));
  CHECK(cyxla__span_is(image.features, "+avx,-sse4a"));
  CHECK_INT(image.object_count, 1);
  CHECK(cyxla__span_is(image.objects[0], "object"));
  CHECK_INT(image.symbol_count, 1);
  CHECK(cyxla__span_is(image.symbols[0], "kernel"));
  CHECK_INT(image.thunk_kind_count, 1);
  CHECK_TEXT(image.thunk_counts[0].kind, "copy");
  cyxla__image_deinit(&image);
  CHECK_INT(image.object_count, 0);
  cyxla__image_deinit(&image); /* once more is fine */
}

static void refuses_other_bytes(void) {
  static const char *const texts[] = {"", "\n", "text", "\x12\x01x", "\n\x05wxyz"};
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla__image image;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    cyxla__span bytes = copy_of(texts[i], strlen(texts[i]));
    CHECK_STATUS(cyxla__image_decode(bytes, &image, &error), CYXLA_INVALID_ARGUMENT, &error);
    CHECK_CONTAINS(error.message, "no serialized executable");
    CHECK_INT(cyxla__image_decode(bytes, &image, NULL), CYXLA_INVALID_ARGUMENT);
    free(bytes.data);
  }
  refuse((parts){.objects_kind = 1}, CYXLA_UNIMPLEMENTED, "obj_files_kind is 1, not 2");
}

/* Each message in turn, with a field that has no end. */
static void names_ill_formed_messages(void) {
  static const struct {
    const char *program, *name;
    uint32_t path[9];
  } messages[] = {
      {"sine-plugin-0.11.2", "CompilationResultProto", {1}},
      {"sine-plugin-0.11.2", "HloModuleProtoWithConfig", {1, 1}},
      {"sine-plugin-0.11.2", "HloModuleProto", {1, 1, 1}},
      {"sine-plugin-0.11.2", "HloComputationProto", {1, 1, 1, 3}},
      {"sine-plugin-0.11.2", "HloInstructionProto", {1, 1, 1, 3, 2}},
      {"sine-plugin-0.11.2", "ShapeProto", {1, 1, 1, 3, 2, 3}},
      {"sine-plugin-0.11.2", "LayoutProto", {1, 1, 1, 3, 2, 3, 5}},
      {"sine-plugin-0.11.2", "BufferAssignmentProto", {1, 2}},
      {"sine-plugin-0.11.2", "LogicalBufferProto", {1, 2, 1}},
      {"sine-plugin-0.11.2", "Location", {1, 2, 1, 3}},
      {"sine-plugin-0.11.2", "BufferAllocationProto", {1, 2, 3}},
      {"sine-plugin-0.11.2", "Assigned", {1, 2, 3, 9}},
      {"sine-plugin-0.11.2", "ThunkSequenceProto", {1, 6}},
      {"sine-plugin-0.11.2", "ThunkProto", {1, 6, 1}},
      {"sine-plugin-0.11.2", "InfoProto", {1, 6, 1, 2}},
      {"sine-plugin-0.11.2", "KernelThunkProto", {1, 6, 1, 11}},
      {"sine-plugin-0.11.2", "NumWorkGroups", {1, 6, 1, 11, 2}},
      {"sine-plugin-0.11.2", "Int64Optional", {1, 6, 1, 11, 4}},
      {"sine-plugin-0.11.2", "ShapedSliceProto", {1, 6, 1, 11, 5}},
      {"sine-plugin-0.11.2", "BufferAllocationSliceProto", {1, 6, 1, 11, 6, 1}},
      {"sine-plugin-0.11.2", "SymbolProto", {1, 7}},
      {"sine-plugin-0.11.2", "ObjFileProto", {1, 8}},
      {"sine-plugin-0.11.2", "TargetMachineOptionsProto", {1, 9}},
      {"sort-plugin-0.11.2", "CopyThunkProto", {1, 6, 1, 12}},
      {"sort-plugin-0.11.2", "ShapeBufferAllocationSliceProto", {1, 6, 1, 12, 1}},
      {"sort-plugin-0.11.2", "SortThunkProto", {1, 6, 1, 5}},
      {"sort-plugin-0.11.2", "SortDirectionOptional", {1, 6, 1, 5, 3}},
      {"sort-plugin-0.11.2", "ShapeBufferAllocationSliceProto", {1, 6, 1, 5, 5}},
      {"loop-plugin-0.11.2", "WhileThunkProto", {1, 6, 1, 10}},
      {"loop-plugin-0.11.2", "ThunkSequenceProto", {1, 6, 1, 10, 1}},
      {"loop-plugin-0.11.2", "ThunkSequenceProto", {1, 6, 1, 10, 2}},
      {"loop-plugin-0.11.2", "Int64Optional", {1, 6, 1, 10, 3}},
      {"loop-plugin-0.11.2", "BufferAllocationSliceProto", {1, 6, 1, 10, 4}},
      {"loop-plugin-0.11.2", "ConditionalThunkProto", {1, 6, 1, 4}},
      {"loop-plugin-0.11.2", "ThunkSequenceProto", {1, 6, 1, 4, 1}},
      {"loop-plugin-0.11.2", "BufferAllocationSliceProto", {1, 6, 1, 4, 2}},
      {"top_k-plugin-0.11.2", "TopKThunkProto", {1, 6, 1, 9}},
      {"top_k-plugin-0.11.2", "BufferAllocationSliceProto", {1, 6, 1, 9, 4}},
      {"top_k-plugin-0.11.2", "BufferAllocationSliceProto", {1, 6, 1, 9, 5}},
      {"dot-plugin-0.11.2", "DotThunkProto", {1, 6, 1, 7}},
      {"dot-plugin-0.11.2", "DotDimensionNumbers", {1, 6, 1, 7, 1}},
      {"dot-plugin-0.11.2", "DotDimensionNumbers", {1, 6, 1, 7, 1, 1}},
      {"dot-plugin-0.11.2", "ShapeBufferAllocationSliceProto", {1, 6, 1, 7, 2}},
      {"dot-plugin-0.11.2", "ShapeBufferAllocationSliceProto", {1, 6, 1, 7, 3}},
      {"dot-plugin-0.11.2", "ShapeProto", {1, 6, 1, 7, 4, 1}},
      {"random-jaxlib-0.10.2", "RngGetAndUpdateStateThunkProto", {1, 6, 1, 8}},
      {"cholesky-jaxlib-0.11.2", "CustomCallThunkProto", {1, 6, 1, 16}},
      {"cholesky-jaxlib-0.11.2", "OpBuffers", {1, 6, 1, 16, 4}},
      {"cholesky-jaxlib-0.11.2", "ShapeBufferAllocationSliceProto", {1, 6, 1, 16, 4, 1}},
      {"constants-plugin-0.11.2", "LiteralProto", {1, 1, 1, 3, 2, 8}},
      {"constants-plugin-0.11.2", "ShapeProto", {1, 1, 1, 3, 2, 8, 1}},
      {"several-plugin-0.11.2", "ShapeProto", {1, 1, 1, 3, 2, 3, 4}},
      {"several-plugin-0.11.2", "HloInstructionProto", {1, 1, 1, 3, 2, 36}},
  };
  cyxla__span broken = copy_of("\x80", 1), rest, result;
  for (size_t i = 0; i < sizeof messages / sizeof messages[0]; ++i) {
    char name[64];
    snprintf(name, sizeof name, "programs/%s", messages[i].program);
    cyxla__span whole = read_data(name);
    CHECK(cyxla__container_unwrap(whole, &rest));
    cyxla__proto message = replaced(rest, messages[i].path, broken);
    cyxla__span bytes = bytes_of(&message);
    cyxla_error error = CYXLA_ERROR_INIT;
    cyxla__image image;
    CHECK(cyxla__container_open(bytes, &result));
    CHECK_STATUS(cyxla__image_decode(bytes, &image, &error), CYXLA_INVALID_ARGUMENT, &error);
    CHECK_CONTAINS(error.message, "ill-formed ");
    CHECK_TEXT(strstr(error.message, "ill-formed ") + strlen("ill-formed "), messages[i].name);
    free(bytes.data);
    free(whole.data);
  }
  free(broken.data);
}

/* ---- fields ---- */

static void refuses_fields_of_another_type(void) {
  cyxla__proto thunks = {0}, thunk = {0};
  cyxla__proto_varint(&thunks, 1, 3);
  refuse((parts){.thunks = thunks}, CYXLA_INVALID_ARGUMENT, "ThunkSequenceProto");
  thunks = (cyxla__proto){0};
  cyxla__proto_varint(&thunk, 1, 3);
  add(&thunks, 1, thunk);
  refuse((parts){.thunks = thunks}, CYXLA_INVALID_ARGUMENT, "ThunkProto");
  thunks = (cyxla__proto){0};
  cyxla__proto copy = {0}, array = {0}, slice = {0};
  add_text(&slice, 1, "text");
  add(&array, 2, slice);
  add(&copy, 1, array);
  add_thunk(&thunks, "copy", 12, copy);
  refuse((parts){.thunks = thunks}, CYXLA_INVALID_ARGUMENT, "BufferAllocationSliceProto");
}

/* Merging them is not what a writer asks for. */
static void refuses_messages_that_occur_twice(void) {
  cyxla__proto thunks = {0}, copy = copy_thunk(1, 0);
  add(&copy, 1, pair(1));
  add_thunk(&thunks, "copy", 12, copy);
  refuse((parts){.thunks = thunks}, CYXLA_INVALID_ARGUMENT, "CopyThunkProto");
}

/* Dimensions one by one, as proto2 writes them, are the same as packed ones. */
static void reads_unpacked_numbers(void) {
  cyxla__proto shape = {0}, layout = {0}, thunks = {0}, copy = {0};
  cyxla__proto_varint(&shape, 2, F32);
  cyxla__proto_varint(&shape, 3, 1);
  add_numbers(&shape, 3, NUMBERS(2));
  cyxla__proto_varint(&layout, 1, 1);
  cyxla__proto_varint(&layout, 1, 0);
  add(&shape, 5, layout);
  add(&copy, 1, array_of(shape, slice_of(1, 0, 8)));
  add(&copy, 2, array_of(shape_of(F32, 2, 1, 2), slice_of(0, 0, 8)));
  add_thunk(&thunks, "copy", 12, copy);
  accept((parts){.thunks = thunks});
}

/* ---- shapes ---- */

/* An executable whose copy has this source. */
static parts with_shape(cyxla__proto shape) {
  cyxla__proto thunks = {0}, copy = {0};
  add(&copy, 1, array_of(shape, slice_of(1, 0, 8)));
  add(&copy, 2, pair(0));
  add_thunk(&thunks, "copy", 12, copy);
  return (parts){.thunks = thunks};
}

/* f32[2], with this field of its layout, and of itself. */
static cyxla__proto shape_with(cyxla__proto layout, cyxla__proto shape) {
  cyxla__proto_varint(&shape, 2, F32);
  add_numbers(&shape, 3, NUMBERS(2));
  add_numbers(&layout, 1, NUMBERS(0));
  add(&shape, 5, layout);
  return shape;
}

static cyxla__proto number(uint32_t field, uint64_t value) {
  cyxla__proto message = {0};
  cyxla__proto_varint(&message, field, value);
  return message;
}

static void refuses_layouts_that_are_more_than_an_order(void) {
  const cyxla__proto none = {0};
  static const struct {
    uint32_t field;
    uint64_t value;
  } members[] = {{7, 4}, {7, 64}, {8, 1}, {15, 8}, {16, 2}};
  for (size_t i = 0; i < sizeof members / sizeof members[0]; ++i)
    refuse(with_shape(shape_with(number(members[i].field, members[i].value), none)),
           CYXLA_UNIMPLEMENTED, "XLA's type 11 is more than an order");
  for (uint32_t i = 0; i < 3; ++i) {
    static const uint32_t fields[] = {6, 10, 17};
    cyxla__proto layout = {0};
    add(&layout, fields[i], none);
    refuse(with_shape(shape_with(layout, none)), CYXLA_UNIMPLEMENTED,
           "XLA's type 11 is more than an order");
  }
  accept(with_shape(shape_with(number(7, 32), none)));
  accept(with_shape(shape_with(number(16, 1), none)));
}

static void refuses_dynamic_shapes(void) {
  const cyxla__proto none = {0};
  cyxla__proto shape = {0};
  add_numbers(&shape, 6, NUMBERS(1));
  refuse(with_shape(shape_with(none, shape)), CYXLA_UNIMPLEMENTED, "dynamic");
  shape = none;
  add_numbers(&shape, 6, NUMBERS(0));
  accept(with_shape(shape_with(none, shape)));
  shape = none;
  add_numbers(&shape, 6, NUMBERS(0, 0));
  refuse(with_shape(shape_with(none, shape)), CYXLA_INVALID_ARGUMENT, "ShapeProto");
}

static void refuses_shapes_that_cannot_be(void) {
  static const struct {
    uint64_t type;
    int64_t dimensions[3], order[3];
    size_t rank, order_count;
    const char *name;
  } shapes[] = {
      {F32, {-1}, {0}, 1, 1, "ShapeProto"},
      {F32, {INT64_MAX}, {0}, 1, 1, "ShapeProto"},
      {F32, {1ll << 32, 1ll << 32}, {1, 0}, 2, 2, "ShapeProto"},
      {F32, {0, 1ll << 32, 1ll << 32}, {2, 1, 0}, 3, 3, "ShapeProto"},
      {1ull << 31, {1}, {0}, 1, 1, "ShapeProto"},
      {F32, {2}, {0}, 1, 0, "LayoutProto"},
      {F32, {2}, {0, 1}, 1, 2, "LayoutProto"},
      {F32, {2}, {1}, 1, 1, "LayoutProto"},
      {F32, {2}, {-1}, 1, 1, "LayoutProto"},
      {F32, {2, 1}, {0, 0}, 2, 2, "LayoutProto"},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) {
    cyxla__proto shape = {0}, layout = {0};
    cyxla__proto_varint(&shape, 2, shapes[i].type);
    add_numbers(&shape, 3, shapes[i].dimensions, shapes[i].rank);
    add_numbers(&layout, 1, shapes[i].order, shapes[i].order_count);
    add(&shape, 5, layout);
    refuse(with_shape(shape), CYXLA_INVALID_ARGUMENT, shapes[i].name);
  }
}

static void limits_the_rank(void) {
  static const size_t ranks[] = {64, 65};
  for (size_t i = 0; i < 2; ++i) {
    cyxla__proto shape = {0}, layout = {0};
    int64_t ones[65], order[65];
    for (size_t k = 0; k < 65; ++k) {
      ones[k] = 1;
      order[k] = (int64_t)k;
    }
    cyxla__proto_varint(&shape, 2, F32);
    add_numbers(&shape, 3, ones, ranks[i]);
    add_numbers(&layout, 1, order, ranks[i]);
    add(&shape, 5, layout);
    if (ranks[i] > 64) {
      refuse(with_shape(shape), CYXLA_UNIMPLEMENTED, "65 dimensions");
      continue;
    }
    cyxla__image image = decoded(with_shape(shape));
    CHECK_INT(image.sequence.thunks[0].as.copy.source.shape.length, 1);
    cyxla__image_deinit(&image);
  }
}

static void refuses_wide_allocation_numbers(void) {
  cyxla__proto thunks = {0}, copy = {0};
  add(&copy, 1, array_of(vector(F32, 2), slice_of(1ull << 32, 0, 8)));
  add(&copy, 2, pair(0));
  add_thunk(&thunks, "copy", 12, copy);
  refuse((parts){.thunks = thunks}, CYXLA_INVALID_ARGUMENT, "BufferAllocationSliceProto");
}

/* ---- thunks ---- */

static parts with_thunk(const char *kind, uint32_t field, cyxla__proto member) {
  cyxla__proto thunks = {0};
  add_thunk(&thunks, kind, field, member);
  return (parts){.thunks = thunks};
}

static void reads_calls_and_ids(void) {
  cyxla__proto thunks = {0}, call = {0}, id = {0}, nested = minimal_thunks();
  add(&id, 1, slice_of(0, 4, 4));
  add_thunk(&nested, "partition-id", 19, id);
  id = (cyxla__proto){0};
  add(&id, 1, slice_of(0, 0, 4));
  add_thunk(&nested, "replica-id", 20, id);
  add(&call, 1, nested);
  add_thunk(&thunks, "call", 3, call);
  cyxla__image image = decoded((parts){.thunks = thunks});
  check_image(&image);
  CHECK_INT(image.thunk_kind_count, 4);
  const cyxla__sequence *sequence = &image.sequence.thunks[0].as.call.sequence;
  CHECK_INT(sequence->count, 3);
  CHECK_INT(sequence->thunks[1].kind, CYXLA__THUNK_DEVICE_ID);
  CHECK_INT(sequence->thunks[1].as.device_id.id.offset, 4);
  CHECK(cyxla__span_is(sequence->thunks[2].kind_name, "replica-id"));
  cyxla__image_deinit(&image);
}

static void reads_trip_counts(void) {
  for (uint64_t set = 0; set < 2; ++set) {
    cyxla__proto loop = {0}, count = {0};
    cyxla__proto_varint(&count, 1, 5);
    cyxla__proto_varint(&count, 2, set);
    add(&loop, 1, (cyxla__proto){0});
    add(&loop, 2, minimal_thunks());
    add(&loop, 3, count);
    add(&loop, 4, slice_of(0, 0, 1));
    cyxla__image image = decoded(with_thunk("while", 10, loop));
    CHECK_INT(image.sequence.thunks[0].as.loop.trip_count_known, set);
    CHECK_INT(image.sequence.thunks[0].as.loop.trip_count, 5);
    CHECK_INT(image.sequence.thunks[0].as.loop.condition.count, 0);
    cyxla__image_deinit(&image);
  }
  cyxla__proto loop = {0}, count = {0};
  cyxla__proto_varint(&count, 1, (uint64_t)-1);
  add(&loop, 1, (cyxla__proto){0});
  add(&loop, 2, (cyxla__proto){0});
  add(&loop, 3, count);
  refuse(with_thunk("while", 10, loop), CYXLA_INVALID_ARGUMENT, "WhileThunkProto");
}

/* What a sequence would do where there is none can't be told. */
static void refuses_absent_parts(void) {
  cyxla__proto none = {0}, copy = {0}, array = {0}, kernel = {0};
  refuse(with_thunk("call", 3, none), CYXLA_INVALID_ARGUMENT, "ThunkSequenceProto");
  refuse(with_thunk("copy", 12, none), CYXLA_INVALID_ARGUMENT, "BufferAllocationSliceProto");
  add(&array, 2, slice_of(0, 0, 8));
  add(&copy, 1, array);
  refuse(with_thunk("copy", 12, copy), CYXLA_INVALID_ARGUMENT, "BufferAllocationSliceProto");
  add(&kernel, 5, none);
  refuse(with_thunk("kernel", 11, kernel), CYXLA_INVALID_ARGUMENT, "BufferAllocationSliceProto");
}

static void reads_alignments(void) {
  for (uint64_t set = 0; set < 2; ++set) {
    cyxla__proto kernel = {0}, alignment = {0};
    cyxla__proto_varint(&alignment, 1, 32);
    cyxla__proto_varint(&alignment, 2, set);
    add(&kernel, 4, alignment);
    cyxla__image image = decoded(with_thunk("kernel", 11, kernel));
    CHECK_INT(image.sequence.thunks[0].as.kernel.alignment, set ? 32 : 0);
    cyxla__image_deinit(&image);
  }
  cyxla__proto kernel = {0};
  add(&kernel, 4, number(2, 1));
  refuse(with_thunk("kernel", 11, kernel), CYXLA_INVALID_ARGUMENT, "KernelThunkProto");
}

static void reads_directions(void) {
  static const uint64_t directions[] = {0, 1, 2, 3};
  for (size_t i = 0; i < 4; ++i) {
    cyxla__proto sort = {0}, direction = {0};
    cyxla__proto_varint(&direction, 1, directions[i]);
    cyxla__proto_varint(&direction, 2, 1);
    add(&sort, 3, direction);
    add(&sort, 5, pair(0));
    if (directions[i] == 0 || directions[i] == 3) {
      refuse(with_thunk("sort", 5, sort), CYXLA_INVALID_ARGUMENT, "SortDirectionOptional");
      continue;
    }
    cyxla__image image = decoded(with_thunk("sort", 5, sort));
    CHECK_INT(image.sequence.thunks[0].as.sort.direction, directions[i]);
    cyxla__image_deinit(&image);
  }
  refuse(with_thunk("sort", 5, number(1, (uint64_t)-1)), CYXLA_INVALID_ARGUMENT, "SortThunkProto");
}

static void refuses_unpaired_dimensions(void) {
  for (uint32_t field = 1; field <= 4; ++field) {
    cyxla__proto dot = {0}, dimensions = {0};
    add_numbers(&dimensions, field, NUMBERS(0));
    add(&dot, 1, dimensions);
    refuse(with_thunk("dot", 7, dot), CYXLA_INVALID_ARGUMENT, "DotDimensionNumbers");
  }
}

static void keeps_kinds_that_are_not_supported(void) {
  static const struct {
    const char *kind;
    uint32_t field;
  } kinds[] = {{"xnn-fusion", 6},   {"fft", 13},         {"infeed", 14},     {"outfeed", 15},
               {"convolution", 17}, {"collective", 18},  {"ynn-fusion", 21}, {"rng-seed", 22},
               {"new kind", 23},    {"newer kind", 1000}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    cyxla__image image = decoded(with_thunk(kinds[i].kind, kinds[i].field, (cyxla__proto){0}));
    CHECK_INT(image.sequence.thunks[0].kind, CYXLA__THUNK_UNSUPPORTED);
    CHECK(cyxla__span_is(image.sequence.thunks[0].kind_name, kinds[i].kind));
    CHECK(cyxla__span_is(image.sequence.thunks[0].op_name, "op.1"));
    CHECK_TEXT(image.thunk_counts[0].kind, kinds[i].kind);
    cyxla__image_deinit(&image);
  }
}

/* As versions of XLA before 2025 numbered them. */
static void refuses_other_numbers_of_thunks(void) {
  const cyxla__proto none = {0};
  refuse(with_thunk("kernel", 12, none), CYXLA_UNIMPLEMENTED, "field 12 of a thunk is a kernel");
  refuse(with_thunk("copy", 11, none), CYXLA_UNIMPLEMENTED, "field 11 of a thunk is not a kernel");
  refuse(with_thunk("kernel", 50, none), CYXLA_UNIMPLEMENTED, "field 50 of a thunk is a kernel");
  refuse(with_thunk("new kind", 12, none), CYXLA_UNIMPLEMENTED,
         "field 12 of a thunk is not a copy");
  refuse(with_thunk("", 50, none), CYXLA_INVALID_ARGUMENT, "ThunkProto");
}

static void refuses_thunks_without_one_member(void) {
  for (int i = 0; i < 3; ++i) {
    cyxla__proto thunks = {0}, thunk = {0};
    add_text(&thunk, 1, "copy");
    if (i == 1) cyxla__proto_varint(&thunk, 12, 1);
    if (i == 2) {
      add(&thunk, 12, copy_thunk(1, 0));
      add(&thunk, 12, copy_thunk(1, 0));
    }
    add(&thunks, 1, thunk);
    refuse((parts){.thunks = thunks}, CYXLA_INVALID_ARGUMENT, "ThunkProto");
  }
}

static parts nested_calls(int depth) {
  cyxla__proto sequence = minimal_thunks();
  for (int i = 1; i < depth; ++i) {
    cyxla__proto call = {0}, outer = {0};
    add(&call, 1, sequence);
    add_thunk(&outer, "call", 3, call);
    sequence = outer;
  }
  return (parts){.thunks = sequence};
}

static void limits_the_depth(void) {
  accept(nested_calls(64));
  refuse(nested_calls(65), CYXLA_UNIMPLEMENTED, "nested more than 64 deep");
  /* What was left is not inside any more. */
  cyxla__proto thunks = {0};
  for (int i = 0; i < 100; ++i) {
    cyxla__proto call = {0};
    add(&call, 1, minimal_thunks());
    add_thunk(&thunks, "call", 3, call);
  }
  accept((parts){.thunks = thunks});
}

static void limits_the_kinds(void) {
  for (int count = 64; count <= 65; ++count) {
    cyxla__proto thunks = {0};
    for (int i = 0; i < 2 * count; ++i) {
      char kind[16];
      snprintf(kind, sizeof kind, "kind %d", i / 2);
      add_thunk(&thunks, kind, 99, (cyxla__proto){0});
    }
    if (count > 64) {
      refuse((parts){.thunks = thunks}, CYXLA_UNIMPLEMENTED, "more than 64 kinds");
      continue;
    }
    cyxla__image image = decoded((parts){.thunks = thunks});
    CHECK_INT(image.thunk_kind_count, 64);
    CHECK_TEXT(image.thunk_counts[63].kind, "kind 63");
    CHECK_INT(image.thunk_counts[63].count, 2);
    cyxla__image_deinit(&image);
  }
}

int main(void) {
  RUN(reads_the_minimal_one);
  RUN(refuses_other_bytes);
  RUN(names_ill_formed_messages);
  RUN(refuses_fields_of_another_type);
  RUN(refuses_messages_that_occur_twice);
  RUN(reads_unpacked_numbers);
  RUN(refuses_layouts_that_are_more_than_an_order);
  RUN(refuses_dynamic_shapes);
  RUN(refuses_shapes_that_cannot_be);
  RUN(limits_the_rank);
  RUN(refuses_wide_allocation_numbers);
  RUN(reads_calls_and_ids);
  RUN(reads_trip_counts);
  RUN(refuses_absent_parts);
  RUN(reads_alignments);
  RUN(reads_directions);
  RUN(refuses_unpaired_dimensions);
  RUN(keeps_kinds_that_are_not_supported);
  RUN(refuses_other_numbers_of_thunks);
  RUN(refuses_thunks_without_one_member);
  RUN(limits_the_depth);
  RUN(limits_the_kinds);
}
