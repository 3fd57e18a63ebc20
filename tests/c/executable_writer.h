/* Serialized executables made for tests, message by message; fields are those of
 * xla_cpu/schema.h, but given as numbers: a test that shares the reader's table would share its
 * faults. */
#ifndef CYXLA_TEST_EXECUTABLE_WRITER_H
#define CYXLA_TEST_EXECUTABLE_WRITER_H

#include "base/proto_reader.h"
#include "base/proto_writer.h"
#include "data.h"

/* Adds a message and empties it. */
static inline void add(cyxla__proto *message, uint32_t field, cyxla__proto child) {
  cyxla__proto_message(message, field, &child);
}

static inline void add_text(cyxla__proto *message, uint32_t field, const char *text) {
  cyxla__proto_bytes(message, field, text, strlen(text));
}

/* A field of packed numbers. */
static inline void add_numbers(cyxla__proto *message, uint32_t field, const int64_t *numbers,
                               size_t count) {
  cyxla__proto packed = {0};
  for (size_t i = 0; i < count; ++i) cyxla__proto_raw_varint(&packed, (uint64_t)numbers[i]);
  add(message, field, packed);
}
#define NUMBERS(...) \
  (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

/* The bytes of a message, which is emptied, in a block of their size. */
static inline cyxla__span bytes_of(cyxla__proto *message) {
  CHECK(!message->failed);
  cyxla__span bytes = copy_of(message->data, message->size);
  cyxla__proto_deinit(message);
  return bytes;
}

/* ---- shapes, slices ---- */

enum { F32 = 11, S32 = 4, PRED = 1, TUPLE = 13, TOKEN = 17 };

/* A row-major array of up to two dimensions. */
static inline cyxla__proto shape_of(int type, int rank, int64_t first, int64_t second) {
  cyxla__proto shape = {0}, layout = {0};
  cyxla__proto_varint(&shape, 2, (uint64_t)type);
  if (rank) add_numbers(&shape, 3, (const int64_t[]){first, second}, (size_t)rank);
  if (rank) add_numbers(&layout, 1, (const int64_t[]){rank - 1, 0}, (size_t)rank);
  cyxla__proto_varint(&layout, 16, 1);
  add(&shape, 5, layout);
  return shape;
}

static inline cyxla__proto vector(int type, int64_t length) {
  return shape_of(type, 1, length, 0);
}

static inline cyxla__proto slice_of(uint64_t allocation, uint64_t offset, uint64_t size) {
  cyxla__proto slice = {0};
  if (offset) cyxla__proto_varint(&slice, 1, offset);
  cyxla__proto_varint(&slice, 2, size);
  if (allocation) cyxla__proto_varint(&slice, 3, allocation);
  return slice;
}

static inline cyxla__proto array_of(cyxla__proto shape, cyxla__proto slice) {
  cyxla__proto array = {0};
  add(&array, 1, shape);
  add(&array, 2, slice);
  return array;
}

/* f32[2], which all arrays of the minimal executable are. */
static inline cyxla__proto pair(uint64_t allocation) {
  return array_of(vector(F32, 2), slice_of(allocation, 0, 8));
}

/* ---- thunks ---- */

static inline void add_thunk(cyxla__proto *sequence, const char *kind, uint32_t field,
                             cyxla__proto member) {
  cyxla__proto thunk = {0}, info = {0};
  add_text(&thunk, 1, kind);
  add_text(&info, 1, "op.1");
  add(&thunk, 2, info);
  add(&thunk, field, member);
  add(sequence, 1, thunk);
}

static inline cyxla__proto copy_thunk(uint64_t source, uint64_t destination) {
  cyxla__proto copy = {0};
  add(&copy, 1, pair(source));
  add(&copy, 2, pair(destination));
  return copy;
}

/* ---- a minimal executable: it copies its input, f32[2], to its output ---- */

typedef struct instruction {
  int64_t id;
  const char *opcode;
  cyxla__proto shape;
  int64_t operands[4];
  size_t operand_count;
  uint64_t number, element; /* of a parameter; of get-tuple-element */
  int64_t called;           /* 0: no computation */
  cyxla__proto literal;
} instruction;

static inline void add_instruction(cyxla__proto *computation, instruction instruction) {
  cyxla__proto message = {0};
  add_text(&message, 1, "name");
  add_text(&message, 2, instruction.opcode);
  add(&message, 3, instruction.shape);
  if (instruction.literal.size) add(&message, 8, instruction.literal);
  if (instruction.number) cyxla__proto_varint(&message, 9, instruction.number);
  if (instruction.element) cyxla__proto_varint(&message, 13, instruction.element);
  cyxla__proto_varint(&message, 35, (uint64_t)instruction.id);
  if (instruction.operand_count)
    add_numbers(&message, 36, instruction.operands, instruction.operand_count);
  if (instruction.called) add_numbers(&message, 38, &instruction.called, 1);
  add(computation, 2, message);
}

static inline void add_computation(cyxla__proto *module, int64_t id, int64_t root,
                                   cyxla__proto instructions) {
  add_text(&instructions, 1, "computation");
  cyxla__proto_varint(&instructions, 5, (uint64_t)id);
  cyxla__proto_varint(&instructions, 6, (uint64_t)root);
  add(module, 3, instructions);
}

/* A logical buffer that an instruction, or an element of its tuple (-1: none), defines. */
static inline void add_buffer(cyxla__proto *assignment, uint64_t id, int64_t instruction,
                              int64_t element) {
  cyxla__proto buffer = {0}, location = {0};
  if (element >= 0) add_numbers(&location, 3, &element, 1);
  cyxla__proto_varint(&location, 4, (uint64_t)instruction);
  if (id) cyxla__proto_varint(&buffer, 1, id);
  add(&buffer, 3, location);
  add(assignment, 1, buffer);
}

/* Field numbers of flags. */
enum { UNUSED = 3, INPUT = 5, LIVE_OUT = 7, CONSTANT = 12 };

typedef struct allocation {
  uint64_t index, size;
  int flags[3];
  uint64_t number; /* of a parameter */
  uint64_t buffers[3];
  size_t buffer_count;
  uint64_t offset; /* of the buffers */
} allocation;

static inline cyxla__proto allocation_of(allocation allocation) {
  cyxla__proto message = {0};
  if (allocation.index) cyxla__proto_varint(&message, 1, allocation.index);
  if (allocation.size) cyxla__proto_varint(&message, 2, allocation.size);
  for (size_t i = 0; i < 3; ++i)
    if (allocation.flags[i]) cyxla__proto_varint(&message, (uint32_t)allocation.flags[i], 1);
  if (allocation.number) cyxla__proto_varint(&message, 6, allocation.number);
  for (size_t i = 0; i < allocation.buffer_count; ++i) {
    cyxla__proto assigned = {0};
    cyxla__proto_varint(&assigned, 1, allocation.buffers[i]);
    if (allocation.offset) cyxla__proto_varint(&assigned, 2, allocation.offset);
    cyxla__proto_varint(&assigned, 3, allocation.size);
    add(&message, 9, assigned);
  }
  return message;
}

static inline void add_allocation(cyxla__proto *assignment, allocation allocation) {
  add(assignment, 3, allocation_of(allocation));
}

/* The parts of an executable; what is left empty becomes that of the minimal one. */
typedef struct parts {
  cyxla__proto module; /* without name and entry, whose id is 1 */
  cyxla__proto assignment, thunks;
  cyxla__proto result;  /* further fields of the result */
  int objects_kind;     /* 0: the right one */
  const char *features; /* of the processor; NULL: some */
} parts;

/* Instructions 10 and 11. */
static inline cyxla__proto minimal_module(void) {
  cyxla__proto module = {0}, main = {0};
  add_instruction(&main, (instruction){10, "parameter", .shape = vector(F32, 2)});
  add_instruction(&main, (instruction){11, "copy", .shape = vector(F32, 2), .operands = {10},
                                       .operand_count = 1});
  add_computation(&module, 1, 11, main);
  return module;
}

/* Allocation 0 is the output, 1 the input. */
static inline cyxla__proto minimal_assignment(void) {
  cyxla__proto assignment = {0};
  add_buffer(&assignment, 0, 10, -1);
  add_buffer(&assignment, 1, 11, -1);
  add_allocation(&assignment,
                 (allocation){0, 8, .flags = {LIVE_OUT}, .buffers = {1}, .buffer_count = 1});
  add_allocation(&assignment,
                 (allocation){1, 8, .flags = {INPUT}, .buffers = {0}, .buffer_count = 1});
  return assignment;
}

static inline cyxla__proto minimal_thunks(void) {
  cyxla__proto thunks = {0};
  add_thunk(&thunks, "copy", 12, copy_thunk(1, 0));
  return thunks;
}

static inline cyxla__span write_executable(parts parts) {
  cyxla__proto executable = {0}, result = parts.result, hlo = {0}, target = {0};
  if (!parts.module.size) parts.module = minimal_module();
  if (!parts.assignment.size) parts.assignment = minimal_assignment();
  if (!parts.thunks.size) parts.thunks = minimal_thunks();
  add_text(&parts.module, 1, "jit_f");
  cyxla__proto_varint(&parts.module, 6, 1);
  add(&hlo, 1, parts.module);
  add(&result, 1, hlo);
  add(&result, 2, parts.assignment);
  cyxla__proto_varint(&result, 5, parts.objects_kind ? (uint64_t)parts.objects_kind : 2);
  add(&result, 6, parts.thunks);
  add_text(&target, 1, "x86_64-unknown-linux-gnu");
  add_text(&target, 3, parts.features ? parts.features : "+avx,-sse4a");
  add(&result, 9, target);
  add(&executable, 1, result);
  return bytes_of(&executable);
}

/* ---- changes of what is there ---- */

/* Writes `message` with all messages at `path`, field numbers that end with 0, replaced. */
static inline cyxla__proto replaced(cyxla__span message, const uint32_t *path,
                                    cyxla__span replacement) {
  cyxla__proto copy = {0};
  cyxla__field field;
  while (cyxla__proto_next(&message, &field)) {
    if (!field.is_bytes)
      cyxla__proto_varint(&copy, field.number, field.value);
    else if (field.number != path[0])
      cyxla__proto_bytes(&copy, field.number, field.bytes.data, field.bytes.size);
    else if (!path[1])
      cyxla__proto_bytes(&copy, field.number, replacement.data, replacement.size);
    else
      add(&copy, field.number, replaced(field.bytes, path + 1, replacement));
  }
  return copy;
}

#endif
