/* Inputs, outputs and constants of executables that are made here: which memory is whose. */
#include "decode_written.h"

/* An instruction with up to four operands. */
#define INSTRUCTION(number, name, result, ...)                                \
  (instruction) {                                                             \
    .id = number, .opcode = name, .shape = result, .operands = {__VA_ARGS__}, \
    .operand_count = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)       \
  }

static cyxla__proto f32(void) {
  return vector(F32, 2);
}

static cyxla__proto tuple(int count) {
  cyxla__proto shape = {0};
  cyxla__proto_varint(&shape, 2, TUPLE);
  for (int i = 0; i < count; ++i) add(&shape, 4, f32());
  return shape;
}

static instruction element_of(int64_t id, int64_t operand, uint64_t element) {
  instruction get = INSTRUCTION(id, "get-tuple-element", f32(), operand);
  get.element = element;
  return get;
}

static instruction call_of(int64_t id, cyxla__proto shape, int64_t computation, int64_t operand) {
  instruction call = INSTRUCTION(id, "call", shape, operand);
  call.called = computation;
  return call;
}

static instruction parameter(int64_t id, uint64_t number) {
  return (instruction){.id = id, .opcode = "parameter", .shape = f32(), .number = number};
}

/* An executable with this entry computation, whose root is instruction 11, of two outputs, whose
 * memory are allocations 2 and 1: instructions 20 and 21 define them, or elements of 20. */
static parts with_two_outputs(cyxla__proto module, bool as_elements) {
  cyxla__proto assignment = {0};
  add_buffer(&assignment, 7, 20, as_elements ? 0 : -1);
  add_buffer(&assignment, 3, as_elements ? 20 : 21, as_elements ? 1 : -1);
  add_buffer(&assignment, 5, 11, -1);
  add_allocation(&assignment,
                 (allocation){0, 16, .flags = {LIVE_OUT}, .buffers = {5}, .buffer_count = 1});
  add_allocation(&assignment,
                 (allocation){1, 8, .flags = {LIVE_OUT}, .buffers = {3}, .buffer_count = 1});
  add_allocation(&assignment,
                 (allocation){2, 8, .flags = {LIVE_OUT}, .buffers = {7}, .buffer_count = 1});
  cyxla__proto thunks = {0};
  add_thunk(&thunks, "copy", 12, copy_thunk(1, 2));
  return (parts){.module = module, .assignment = assignment, .thunks = thunks};
}

static void expect_two_outputs(parts parts) {
  cyxla__image image = decoded(parts);
  check_image(&image);
  CHECK_INT(image.output_count, 2);
  CHECK_INT(image.output_allocations[0], 2);
  CHECK_INT(image.output_allocations[1], 1);
  CHECK_INT(image.allocations[0].kind, CYXLA__ALLOCATION_TEMP); /* the table */
  CHECK_INT(image.allocations[2].number, 0);
  cyxla__image_deinit(&image);
}

/* ---- outputs ---- */

static void finds_elements_of_the_root(void) {
  cyxla__proto module = {0}, main = {0};
  add_instruction(&main, INSTRUCTION(20, "custom-call", tuple(2), 30));
  add_computation(&module, 1, 20, main);
  expect_two_outputs(with_two_outputs(module, true));
}

static void finds_operands_of_a_tuple(void) {
  cyxla__proto module = {0}, main = {0};
  add_instruction(&main, INSTRUCTION(20, "fusion", f32(), 0));
  add_instruction(&main, INSTRUCTION(21, "fusion", f32(), 0));
  add_instruction(&main, INSTRUCTION(11, "tuple", tuple(2), 20, 21));
  add_computation(&module, 1, 11, main);
  expect_two_outputs(with_two_outputs(module, false));
}

static void finds_what_passes_through(void) {
  static const char *const opcodes[] = {"bitcast", "optimization-barrier", "add-dependency",
                                        "domain"};
  for (size_t i = 0; i < 4; ++i) {
    cyxla__proto module = {0}, main = {0};
    add_instruction(&main, INSTRUCTION(20, "while", tuple(2), 0));
    add_instruction(&main, element_of(22, 20, 0));
    add_instruction(&main, element_of(23, 20, 1));
    add_instruction(&main, INSTRUCTION(24, opcodes[i], f32(), 22, 0));
    add_instruction(&main, INSTRUCTION(25, "tuple", tuple(2), 24, 23));
    add_instruction(&main, INSTRUCTION(11, opcodes[i], tuple(2), 25));
    add_computation(&module, 1, 11, main);
    expect_two_outputs(with_two_outputs(module, true));
  }
}

/* Into a computation, through its parameter, and on. */
static void finds_what_a_call_returns(void) {
  cyxla__proto module = {0}, main = {0}, called = {0}, inner = {0};
  add_instruction(&main, INSTRUCTION(20, "fusion", f32(), 0));
  add_instruction(&main, call_of(11, tuple(2), 2, 20));
  add_instruction(&called, parameter(30, 0));
  add_instruction(&called, INSTRUCTION(21, "fusion", f32(), 30));
  add_instruction(&called, call_of(32, f32(), 3, 30));
  add_instruction(&called, INSTRUCTION(31, "tuple", tuple(2), 32, 21));
  add_instruction(&inner, parameter(40, 0));
  add_computation(&module, 3, 40, inner);
  add_computation(&module, 1, 11, main);
  add_computation(&module, 2, 31, called);
  expect_two_outputs(with_two_outputs(module, false));
}

static void refuses_ways_that_lead_nowhere(void) {
  static const char unknown[] = "no way through the instruction";
  static const struct {
    const char *opcode;
    int64_t operand, called;
    uint64_t element;
    int32_t status;
    const char *message;
  } roots[] = {
      {"add", 10, 0, 0, CYXLA_UNIMPLEMENTED, "through the instruction add"},
      {"tuple", 10, 0, 0, CYXLA_UNIMPLEMENTED, unknown},     /* where an array is wanted */
      {"parameter", 10, 0, 0, CYXLA_UNIMPLEMENTED, unknown}, /* of no call */
      {"call", 10, 0, 0, CYXLA_UNIMPLEMENTED, unknown},
      {"call", 10, 9, 0, CYXLA_INVALID_ARGUMENT, "HloModuleProto"},
      {"call", 10, 1, 0, CYXLA_UNIMPLEMENTED, unknown},    /* itself, endlessly */
      {"bitcast", 11, 0, 0, CYXLA_UNIMPLEMENTED, unknown}, /* the same */
      {"bitcast", 99, 0, 0, CYXLA_INVALID_ARGUMENT, "HloModuleProto"},
      {"bitcast", 0, 0, 0, CYXLA_INVALID_ARGUMENT, "HloInstructionProto"}, /* no operand */
      {"get-tuple-element", 11, 0, 0, CYXLA_UNIMPLEMENTED, unknown},       /* of an element */
      {"get-tuple-element", 10, 0, UINT64_MAX, CYXLA_INVALID_ARGUMENT, "HloInstructionProto"},
  };
  for (size_t i = 0; i < sizeof roots / sizeof roots[0]; ++i) {
    cyxla__proto module = {0}, main = {0}, assignment = {0};
    instruction root = INSTRUCTION(11, roots[i].opcode, f32(), roots[i].operand);
    if (!roots[i].operand) root.operand_count = 0;
    root.called = roots[i].called;
    root.element = roots[i].element;
    if (strcmp(roots[i].opcode, "parameter")) add_instruction(&main, parameter(10, 0));
    add_instruction(&main, root);
    add_computation(&module, 1, 11, main);
    add_buffer(&assignment, 0, 77, -1);
    refuse((parts){.module = module, .assignment = assignment}, roots[i].status, roots[i].message);
  }
}

static void refuses_broken_links(void) {
  cyxla__proto module = {0}, main = {0};
  add_instruction(&main, INSTRUCTION(20, "fusion", f32(), 0));
  add_instruction(&main, INSTRUCTION(11, "tuple", tuple(2), 20)); /* without the other element */
  add_computation(&module, 1, 11, main);
  refuse(with_two_outputs(module, false), CYXLA_INVALID_ARGUMENT, "HloInstructionProto");
  module = main = (cyxla__proto){0};
  add_instruction(&main, parameter(10, 0));
  add_computation(&module, 1, 12, main); /* without the root */
  refuse((parts){.module = module}, CYXLA_INVALID_ARGUMENT, "HloModuleProto");
  module = main = (cyxla__proto){0};
  add_computation(&module, 2, 12, main); /* without the entry */
  refuse((parts){.module = module}, CYXLA_INVALID_ARGUMENT, "HloModuleProto");
}

static void refuses_modules_with_ids_twice(void) {
  for (int i = 0; i < 2; ++i) {
    cyxla__proto module = minimal_module(), more = {0};
    if (!i) add_instruction(&more, parameter(10, 0));
    add_computation(&module, i ? 1 : 2, 12, more);
    refuse((parts){.module = module}, CYXLA_INVALID_ARGUMENT, "HloModuleProto");
  }
}

/* ---- memory of outputs ---- */

/* The minimal assignment with other allocations: number 0, and 1 where it has a size. */
static cyxla__proto assignment_of(allocation output, allocation input) {
  cyxla__proto assignment = {0};
  add_buffer(&assignment, 0, 10, -1);
  add_buffer(&assignment, 1, 11, -1);
  add_allocation(&assignment, output);
  if (input.size) add_allocation(&assignment, input);
  return assignment;
}

static const allocation output = {0, 8, .flags = {LIVE_OUT}, .buffers = {1}, .buffer_count = 1};
static const allocation input = {1, 8, .flags = {INPUT}, .buffers = {0}, .buffer_count = 1};

static void refuses_outputs_in_other_memory(void) {
  for (int i = 0; i < 6; ++i) {
    allocation changed = output;
    if (i == 0) changed.size = 16;
    if (i == 1) changed.size = 0;
    if (i == 2) changed.offset = 8;
    if (i == 3) changed.flags[0] = 0;
    if (i == 4) changed.flags[1] = CONSTANT;
    if (i == 5) changed.flags[1] = UNUSED;
    refuse((parts){.assignment = assignment_of(changed, input)}, CYXLA_UNIMPLEMENTED,
           "output 0, of 8 bytes, has no memory of its own");
  }
  allocation empty = output;
  empty.buffer_count = 0;
  refuse((parts){.assignment = assignment_of(empty, input)}, CYXLA_INVALID_ARGUMENT,
         "BufferAssignmentProto");
}

static void refuses_outputs_that_share_memory(void) {
  cyxla__proto module = {0}, main = {0}, assignment = {0};
  add_instruction(&main, parameter(10, 0));
  add_instruction(&main, INSTRUCTION(20, "fusion", f32(), 10));
  add_instruction(&main, INSTRUCTION(11, "tuple", tuple(2), 20, 20));
  add_computation(&module, 1, 11, main);
  add_buffer(&assignment, 0, 10, -1);
  add_buffer(&assignment, 1, 20, -1);
  add_allocation(&assignment, output);
  add_allocation(&assignment, input);
  refuse((parts){.module = module, .assignment = assignment}, CYXLA_UNIMPLEMENTED,
         "outputs 0 and 1 share their memory");
}

static void knows_donated_inputs(void) {
  allocation both = output;
  both.flags[1] = INPUT;
  both.buffers[1] = 0;
  both.buffer_count = 2;
  cyxla__proto thunks = {0}, kernel = {0}, shaped = {0};
  add(&shaped, 1, slice_of(0, 0, 8));
  add(&kernel, 6, shaped);
  add_thunk(&thunks, "kernel", 11, kernel);
  cyxla__image image =
      decoded((parts){.assignment = assignment_of(both, (allocation){0}), .thunks = thunks});
  CHECK_INT(image.allocations[0].kind, CYXLA__ALLOCATION_OUTPUT);
  CHECK_INT(image.allocations[0].parameter, 0);
  cyxla__image_deinit(&image);
  allocation donated = input;
  donated.flags[1] = LIVE_OUT;
  refuse((parts){.assignment = assignment_of(output, donated)}, CYXLA_UNIMPLEMENTED,
         "input 0 is donated, but to no output");
}

static void knows_other_memory(void) {
  cyxla__proto assignment = assignment_of(output, input);
  add_allocation(&assignment, (allocation){.index = 2, .size = 640});
  add_allocation(&assignment, (allocation){3, 4, .flags = {UNUSED}});
  add_allocation(&assignment, (allocation){4, 16, .flags = {LIVE_OUT}});
  cyxla__image image = decoded((parts){.assignment = assignment});
  CHECK_INT(image.allocation_count, 5);
  CHECK_INT(image.allocations[2].kind, CYXLA__ALLOCATION_TEMP);
  CHECK_INT(image.allocations[2].size, 640);
  CHECK_INT(image.allocations[2].parameter, -1);
  CHECK_INT(image.allocations[3].kind, CYXLA__ALLOCATION_UNUSED);
  CHECK_INT(image.allocations[4].kind, CYXLA__ALLOCATION_TEMP);
  cyxla__image_deinit(&image);
}

static void refuses_wrong_assignments(void) {
  for (int i = 0; i < 7; ++i) {
    allocation other = {.index = 2, .size = 8};
    cyxla__proto assignment = assignment_of(output, input);
    if (i == 0) other.index = 3;
    if (i == 1) other.index = 1;
    if (i == 2) other = (allocation){2, 8, .buffers = {1}, .buffer_count = 1}; /* taken */
    if (i == 3) other = (allocation){2, 8, .buffers = {9}, .buffer_count = 1}; /* there is none */
    if (i == 4) other = (allocation){2, 8, .flags = {INPUT}, .number = 1ull << 31};
    if (i == 5) add_buffer(&assignment, 1, 12, -1); /* the id again */
    if (i == 6) add_buffer(&assignment, 2, 11, -1); /* the definition again */
    add_allocation(&assignment, other);
    refuse((parts){.assignment = assignment}, CYXLA_INVALID_ARGUMENT, "Buffer");
  }
  cyxla__proto assignment = assignment_of(output, input), buffer = {0}, location = {0};
  add_numbers(&location, 3, NUMBERS(-1));
  add(&buffer, 3, location);
  add(&assignment, 1, buffer);
  refuse((parts){.assignment = assignment}, CYXLA_INVALID_ARGUMENT, "Location");
}

/* Two of them may have one definition, as far as it is read. */
static void passes_over_deeper_elements(void) {
  cyxla__proto assignment = assignment_of(output, input);
  for (int64_t i = 0; i < 2; ++i) {
    cyxla__proto buffer = {0}, location = {0};
    add_numbers(&location, 3, NUMBERS(0, i));
    cyxla__proto_varint(&location, 4, 11);
    cyxla__proto_varint(&buffer, 1, (uint64_t)(5 + i));
    add(&buffer, 3, location);
    add(&assignment, 1, buffer);
  }
  accept((parts){.assignment = assignment});
}

static void refuses_colors(void) {
  cyxla__proto assignment = assignment_of(output, input);
  cyxla__proto allocation = allocation_of((struct allocation){.index = 2, .size = 8});
  cyxla__proto_varint(&allocation, 8, 3);
  add(&assignment, 3, allocation);
  refuse((parts){.assignment = assignment}, CYXLA_UNIMPLEMENTED, "allocation 2 has the color 3");
}

/* ---- inputs ---- */

static void reads_inputs_by_their_number(void) {
  cyxla__proto module = {0}, main = {0}, other = {0};
  add_instruction(
      &main, (instruction){.id = 12, .opcode = "parameter", .shape = vector(S32, 5), .number = 1});
  add_instruction(&main, parameter(10, 0));
  add_instruction(&main, INSTRUCTION(11, "copy", f32(), 10));
  add_instruction(&other, parameter(99, 7)); /* of another computation */
  add_computation(&module, 2, 99, other);
  add_computation(&module, 1, 11, main);
  cyxla__image image = decoded((parts){.module = module});
  CHECK_INT(image.input_count, 2);
  CHECK_INT(image.inputs[0].type, F32);
  CHECK_INT(image.inputs[1].type, S32);
  CHECK_INT(image.inputs[1].size, 20);
  cyxla__image_deinit(&image);
}

static void refuses_gaps_among_inputs(void) {
  for (uint64_t number = 0; number < 3; number += 2) {
    cyxla__proto module = {0}, main = {0};
    add_instruction(&main, parameter(10, 0));
    add_instruction(&main, parameter(12, number));
    add_instruction(&main, INSTRUCTION(11, "copy", f32(), 10));
    add_computation(&module, 1, 11, main);
    refuse((parts){.module = module}, CYXLA_INVALID_ARGUMENT, "HloComputationProto");
  }
}

static void refuses_inputs_that_are_tuples(void) {
  cyxla__proto module = {0}, main = {0};
  add_instruction(&main, (instruction){.id = 10, .opcode = "parameter", .shape = tuple(1)});
  add_instruction(&main, INSTRUCTION(11, "copy", f32(), 10));
  add_computation(&module, 1, 11, main);
  refuse((parts){.module = module}, CYXLA_UNIMPLEMENTED, "input 0 is a tuple");
  cyxla__proto assignment = {0}, allocation = allocation_of(input);
  add_buffer(&assignment, 0, 10, -1);
  add_buffer(&assignment, 1, 11, -1);
  add_allocation(&assignment, output);
  add_numbers(&allocation, 10, NUMBERS(0));
  add(&assignment, 3, allocation);
  refuse((parts){.assignment = assignment}, CYXLA_UNIMPLEMENTED, "input 0 is a tuple");
}

/* ---- constants ---- */

/* The minimal executable with allocation 2, of `size` bytes, for a constant with this literal. */
static parts with_constant(uint64_t size, cyxla__proto literal) {
  cyxla__proto module = {0}, main = {0}, assignment = assignment_of(output, input);
  add_instruction(&main, parameter(10, 0));
  add_instruction(&main, INSTRUCTION(11, "copy", f32(), 10));
  add_instruction(
      &main, (instruction){.id = 12, .opcode = "constant", .shape = f32(), .literal = literal});
  add_computation(&module, 1, 11, main);
  add_buffer(&assignment, 2, 12, -1);
  add_allocation(&assignment,
                 (allocation){2, size, .flags = {CONSTANT}, .buffers = {2}, .buffer_count = 1});
  return (parts){.module = module, .assignment = assignment};
}

/* A literal of `length` elements with this field of `size` bytes. */
static cyxla__proto literal_of(int type, int64_t length, uint32_t field, const void *data,
                               size_t size) {
  cyxla__proto literal = {0};
  add(&literal, 1, vector(type, length));
  cyxla__proto_bytes(&literal, field, data, size);
  return literal;
}

static void reads_literals(void) {
  static const struct {
    int type;
    uint32_t field;
    size_t length, size, packed_size;
    const char *packed, *memory;
  } literals[] = {
      {PRED, 2, 3, 3, 3, "\1\0\1", "\1\0\1"},
      {2, 15, 2, 2, 2, "\xff\2", "\xff\2"},
      {3, 17, 1, 2, 2, "\xfe\xff", "\xfe\xff"},
      {S32, 4, 2, 8, 11, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\7", "\xff\xff\xff\xff\7\0\0\0"},
      {5, 5, 1, 8, 2, "\x80\1", "\x80\0\0\0\0\0\0\0"},
      {6, 3, 2, 2, 2, "\1\2", "\1\2"},
      {7, 16, 1, 2, 2, "\1\2", "\1\2"},
      {8, 6, 1, 4, 5, "\xff\xff\xff\xff\xf", "\xff\xff\xff\xff"},
      {9, 7, 1, 8, 1, "\1", "\1\0\0\0\0\0\0\0"},
      {10, 11, 1, 2, 2, "\1\2", "\1\2"},
      {F32, 8, 1, 4, 4, "\1\2\3\4", "\1\2\3\4"},
      {12, 9, 1, 8, 8, "\1\2\3\4\5\6\7\10", "\1\2\3\4\5\6\7\10"},
      {15, 12, 1, 8, 8, "\1\2\3\4\5\6\7\10", "\1\2\3\4\5\6\7\10"},
      {16, 13, 1, 2, 2, "\1\2", "\1\2"},
      {18, 18, 1, 16, 16, "0123456789abcdef", "0123456789abcdef"},
      {19, 19, 2, 2, 2, "\1\2", "\1\2"},
      {20, 20, 2, 2, 2, "\1\2", "\1\2"},
      {F32, 8, 0, 0, 0, "", ""},
  };
  for (size_t i = 0; i < sizeof literals / sizeof literals[0]; ++i) {
    const int64_t length = (int64_t)literals[i].length;
    const size_t size = literals[i].size, packed_size = literals[i].packed_size;
    cyxla__image image =
        decoded(with_constant(size, literal_of(literals[i].type, length, literals[i].field,
                                               literals[i].packed, packed_size)));
    CHECK_INT(image.allocations[2].kind, CYXLA__ALLOCATION_CONSTANT);
    CHECK_BYTES(image.allocations[2].constant, literals[i].memory, size);
    check_image(&image);
    cyxla__image_deinit(&image);
    /* Too few, too many, and of another size than the allocation. */
    if (!size) continue;
    refuse(with_constant(size, literal_of(literals[i].type, length, literals[i].field,
                                          literals[i].packed, packed_size - 1)),
           CYXLA_INVALID_ARGUMENT, "LiteralProto");
    char longer[32] = {0};
    memcpy(longer, literals[i].packed, packed_size);
    refuse(with_constant(size, literal_of(literals[i].type, length, literals[i].field, longer,
                                          packed_size + 1)),
           CYXLA_INVALID_ARGUMENT, "LiteralProto");
    refuse(with_constant(size + 1, literal_of(literals[i].type, length, literals[i].field,
                                              literals[i].packed, packed_size)),
           CYXLA_INVALID_ARGUMENT, "LiteralProto");
  }
}

static void reads_literals_one_by_one(void) {
  cyxla__proto literal = {0};
  add(&literal, 1, vector(S32, 3));
  cyxla__proto_varint(&literal, 4, (uint64_t)-1);
  add_numbers(&literal, 4, NUMBERS(2, 3));
  cyxla__image image = decoded(with_constant(12, literal));
  CHECK_BYTES(image.allocations[2].constant, ((int32_t[]){-1, 2, 3}), 12);
  cyxla__image_deinit(&image);
  literal = (cyxla__proto){0};
  add(&literal, 1, vector(12, 1));
  cyxla__proto_double(&literal, 9, 1.5);
  image = decoded(with_constant(8, literal));
  CHECK_BYTES(image.allocations[2].constant, &(double){1.5}, 8);
  cyxla__image_deinit(&image);
  /* Bytes don't come like that. */
  literal = literal_of(6, 1, 99, "xxxx", 4);
  cyxla__proto_varint(&literal, 3, 7);
  refuse(with_constant(1, literal), CYXLA_INVALID_ARGUMENT, "LiteralProto");
  /* More numbers than elements. */
  literal = literal_of(S32, 1, 4, "\1", 1);
  cyxla__proto_varint(&literal, 4, 7);
  refuse(with_constant(4, literal), CYXLA_INVALID_ARGUMENT, "LiteralProto");
}

/* A few bytes that announce an exabyte don't get it. */
static void asks_for_no_memory_without_numbers(void) {
  const int64_t length = 1ll << 58;
  refuse(with_constant((uint64_t)length, literal_of(PRED, length, 2, "\1", 1)),
         CYXLA_INVALID_ARGUMENT, "LiteralProto");
}

static void refuses_constants_without_a_literal(void) {
  refuse(with_constant(8, (cyxla__proto){0}), CYXLA_INVALID_ARGUMENT, "LiteralProto");
  refuse(with_constant(1, literal_of(21, 2, 21, "\1", 1)), CYXLA_UNIMPLEMENTED,
         "a constant is of XLA's type 21");
  cyxla__proto assignment = assignment_of(output, input);
  add_allocation(&assignment, (allocation){2, 8, .flags = {CONSTANT}});
  refuse((parts){.assignment = assignment}, CYXLA_INVALID_ARGUMENT, "BufferAllocationProto");
}

/* The values of a constant's allocation: one of them is the constant, others share its memory. */
static void finds_the_constant_among_values(void) {
  const float values[] = {1, 2};
  cyxla__proto module = {0}, main = {0}, assignment = assignment_of(output, input);
  add_instruction(&main, parameter(10, 0));
  add_instruction(&main, INSTRUCTION(11, "copy", f32(), 10));
  add_instruction(&main, (instruction){.id = 12,
                                       .opcode = "constant",
                                       .shape = f32(),
                                       .literal = literal_of(F32, 2, 8, values, 8)});
  add_instruction(&main, INSTRUCTION(13, "bitcast", f32(), 12));
  add_computation(&module, 1, 11, main);
  add_buffer(&assignment, 2, 12, -1);
  add_buffer(&assignment, 3, 13, -1);
  add_buffer(&assignment, 4, 13, 0);
  add_allocation(&assignment,
                 (allocation){2, 8, .flags = {CONSTANT}, .buffers = {2, 3, 4}, .buffer_count = 3});
  cyxla__image image = decoded((parts){.module = module, .assignment = assignment});
  CHECK_BYTES(image.allocations[2].constant, values, sizeof values);
  cyxla__image_deinit(&image);
}

int main(void) {
  RUN(finds_elements_of_the_root);
  RUN(finds_operands_of_a_tuple);
  RUN(finds_what_passes_through);
  RUN(finds_what_a_call_returns);
  RUN(refuses_ways_that_lead_nowhere);
  RUN(refuses_broken_links);
  RUN(refuses_modules_with_ids_twice);
  RUN(refuses_outputs_in_other_memory);
  RUN(refuses_outputs_that_share_memory);
  RUN(knows_donated_inputs);
  RUN(knows_other_memory);
  RUN(refuses_wrong_assignments);
  RUN(passes_over_deeper_elements);
  RUN(refuses_colors);
  RUN(reads_inputs_by_their_number);
  RUN(refuses_gaps_among_inputs);
  RUN(refuses_inputs_that_are_tuples);
  RUN(reads_literals);
  RUN(reads_literals_one_by_one);
  RUN(asks_for_no_memory_without_numbers);
  RUN(refuses_constants_without_a_literal);
  RUN(finds_the_constant_among_values);
}
