#include <inttypes.h>

#include "base/memory.h"
#include "direct/decode.h"
#include "direct/name.h"
#include "xla_cpu/primitive_type.h"
#include "xla_cpu/schema.h"

/* Steps from an output to the instruction that defines its buffer, and calls that these lead
 * into. */
enum { MAX_STEPS = 256, MAX_CALLS = 16 };

/* ---- inputs ---- */

/* The parameters of the entry computation, numbered without a gap. */
static int32_t read_input(cyxla__image *image, const cyxla__instruction *parameter,
                          cyxla__shape *inputs, bool *seen, cyxla_error *error) {
  const uint64_t number = parameter->parameter_number;
  if (number >= image->input_count || seen[number])
    return cyxla__fail_message(error, "HloComputationProto");
  seen[number] = true;
  TRY(cyxla__decode_shape(&image->arena, parameter->shape, &inputs[number], error));
  if (inputs[number].type != XLA_TUPLE) return CYXLA_OK;
  return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "input %" PRIu64 " is a tuple", number);
}

static int32_t read_inputs(cyxla__image *image, cyxla__hlo *hlo, cyxla_error *error) {
  for (size_t i = 0; i < hlo->entry_count; ++i) image->input_count += hlo->entries[i].is_input;
  const size_t count = image->input_count;
  cyxla__shape *inputs = cyxla__arena_alloc(&image->arena, count, sizeof *inputs);
  bool *seen = cyxla__arena_alloc(hlo->scratch, count, sizeof *seen);
  if (!inputs || !seen) return cyxla__fail_memory(error, count * sizeof *inputs);
  image->inputs = inputs;
  const cyxla__instruction *parameter;
  for (size_t i = 0; i < hlo->entry_count; ++i) {
    if (!hlo->entries[i].is_input) continue;
    TRY(cyxla__hlo_find(hlo, hlo->entries[i].id, &parameter, error));
    TRY(read_input(image, parameter, inputs, seen, error));
  }
  return CYXLA_OK;
}

/* ---- outputs ---- */

/* A value on the way from an output to its definition: an instruction's, or an element of it. */
typedef struct walk {
  cyxla__hlo *hlo;
  const cyxla__instruction *instruction;
  int64_t element;
  const cyxla__instruction *calls[MAX_CALLS]; /* that were entered */
  size_t call_count;
} walk;

static int32_t fail_walk(const walk *walk, cyxla_error *error) {
  return cyxla__fail(
      error, CYXLA_UNIMPLEMENTED,
      "an output's memory can't be found: there is no way through the instruction %s",
      cyxla__name_of(walk->instruction->opcode).text);
}

static int32_t go_to_operand(walk *walk, uint64_t index, cyxla_error *error) {
  if (index >= walk->instruction->operand_count)
    return cyxla__fail_message(error, "HloInstructionProto");
  return cyxla__hlo_find(walk->hlo, walk->instruction->operands[index], &walk->instruction, error);
}

static int32_t step_tuple(walk *walk, cyxla_error *error) {
  if (walk->element == CYXLA__ELEMENT_NONE) return fail_walk(walk, error);
  const uint64_t index = (uint64_t)walk->element;
  walk->element = CYXLA__ELEMENT_NONE;
  return go_to_operand(walk, index, error);
}

static int32_t step_element(walk *walk, cyxla_error *error) {
  if (walk->element != CYXLA__ELEMENT_NONE) return fail_walk(walk, error);
  if (walk->instruction->tuple_index > INT64_MAX)
    return cyxla__fail_message(error, "HloInstructionProto");
  walk->element = (int64_t)walk->instruction->tuple_index;
  return go_to_operand(walk, 0, error);
}

static int32_t step_into_call(walk *walk, cyxla_error *error) {
  if (walk->instruction->called_count != 1 || walk->call_count == MAX_CALLS)
    return fail_walk(walk, error);
  walk->calls[walk->call_count++] = walk->instruction;
  return cyxla__hlo_root(walk->hlo, walk->instruction->called[0], &walk->instruction, error);
}

static int32_t step_out_of_call(walk *walk, cyxla_error *error) {
  if (!walk->call_count) return fail_walk(walk, error);
  const uint64_t number = walk->instruction->parameter_number;
  walk->instruction = walk->calls[--walk->call_count];
  return go_to_operand(walk, number, error);
}

/* From a value that has no buffer of its own to the one whose buffer it shares. */
static int32_t step(walk *walk, cyxla_error *error) {
  static const char *const passing[] = {"bitcast", "optimization-barrier", "add-dependency",
                                        "domain"};
  const cyxla__span opcode = walk->instruction->opcode;
  if (cyxla__span_is(opcode, "tuple")) return step_tuple(walk, error);
  if (cyxla__span_is(opcode, "get-tuple-element")) return step_element(walk, error);
  if (cyxla__span_is(opcode, "call")) return step_into_call(walk, error);
  if (cyxla__span_is(opcode, "parameter")) return step_out_of_call(walk, error);
  for (size_t i = 0; i < sizeof passing / sizeof passing[0]; ++i)
    if (cyxla__span_is(opcode, passing[i])) return go_to_operand(walk, 0, error);
  return fail_walk(walk, error);
}

static int32_t find_buffer(walk *walk, const cyxla__assignment *assignment,
                           const cyxla__buffer **out_buffer, cyxla_error *error) {
  for (int i = 0; i < MAX_STEPS; ++i) {
    *out_buffer = cyxla__assignment_find(assignment, walk->instruction->id, walk->element);
    if (*out_buffer) return CYXLA_OK;
    TRY(step(walk, error));
  }
  return fail_walk(walk, error);
}

/* An output is an allocation of its own, all of it; that's what XLA's runtime relies on too. */
static int32_t check_output(const cyxla__image *image, const cyxla__assignment *assignment,
                            size_t number, const cyxla__buffer *buffer, cyxla_error *error) {
  const uint64_t size = image->outputs[number].size;
  if (!buffer->is_assigned) return cyxla__fail_message(error, "BufferAssignmentProto");
  const cyxla__raw_allocation *allocation = &assignment->allocations[buffer->slice.allocation];
  if (!buffer->slice.offset && allocation->size == size && allocation->maybe_live_out &&
      !allocation->is_constant && !allocation->is_thread_local)
    return CYXLA_OK;
  return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                     "output %zu, of %" PRIu64
                     " bytes, has no memory of its own but is part of "
                     "allocation %u, at offset %" PRIu64 " of %" PRIu64 " bytes",
                     number, size, (unsigned)buffer->slice.allocation, buffer->slice.offset,
                     allocation->size);
}

static int32_t read_outputs(cyxla__image *image, cyxla__hlo *hlo,
                            const cyxla__assignment *assignment, cyxla_error *error) {
  bool is_tuple;
  const cyxla__instruction *root;
  const cyxla__buffer *buffer;
  TRY(cyxla__hlo_root(hlo, hlo->entry_id, &root, error));
  TRY(cyxla__decode_shapes(&image->arena, root->shape, &image->outputs, &image->output_count,
                           &is_tuple, error));
  const size_t count = image->output_count;
  uint32_t *allocations = cyxla__arena_alloc(&image->arena, count, sizeof *allocations);
  if (!allocations) return cyxla__fail_memory(error, count * sizeof *allocations);
  image->output_allocations = allocations;
  for (size_t i = 0; i < count; ++i) {
    walk walk = {.hlo = hlo, .instruction = root};
    walk.element = is_tuple ? (int64_t)i : CYXLA__ELEMENT_NONE;
    TRY(find_buffer(&walk, assignment, &buffer, error));
    TRY(check_output(image, assignment, i, buffer, error));
    allocations[i] = buffer->slice.allocation;
  }
  return CYXLA_OK;
}

/* ---- memory ---- */

static int32_t read_constant(cyxla__image *image, cyxla__hlo *hlo, const cyxla__raw_allocation *raw,
                             cyxla__allocation *allocation, cyxla_error *error) {
  allocation->kind = CYXLA__ALLOCATION_CONSTANT;
  const cyxla__instruction *instruction;
  for (const cyxla__buffer *buffer = raw->buffers; buffer; buffer = buffer->next) {
    if (buffer->element != CYXLA__ELEMENT_NONE) continue;
    TRY(cyxla__hlo_find(hlo, buffer->instruction, &instruction, error));
    if (cyxla__span_is(instruction->opcode, "constant"))
      return cyxla__decode_literal(&image->arena, instruction->literal, raw->size,
                                   &allocation->constant, error);
  }
  return cyxla__fail_message(error, "BufferAllocationProto");
}

static int32_t read_parameter(const cyxla__raw_allocation *raw, cyxla__allocation *allocation,
                              cyxla_error *error) {
  if (raw->parameter_index_count)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "input %" PRIu64 " is a tuple",
                       raw->parameter_number);
  if (raw->parameter_number > INT32_MAX) return cyxla__fail_message(error, "BufferAllocationProto");
  /* Of a donated input, which code may write to; it is an output's memory, as will be seen. */
  if (raw->maybe_live_out) allocation->parameter = (int32_t)raw->parameter_number;
  allocation->kind = CYXLA__ALLOCATION_PARAMETER;
  allocation->number = (uint32_t)raw->parameter_number;
  return CYXLA_OK;
}

static int32_t read_allocation(cyxla__image *image, cyxla__hlo *hlo,
                               const cyxla__raw_allocation *raw, cyxla__allocation *allocation,
                               cyxla_error *error) {
  *allocation = (cyxla__allocation){.size = raw->size, .parameter = -1};
  if (raw->color)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "allocation %" PRIu64 " has the color %" PRIu64,
                       raw->index, raw->color);
  if (raw->is_parameter) return read_parameter(raw, allocation, error);
  if (raw->is_constant) return read_constant(image, hlo, raw, allocation, error);
  /* The table of an output that is a tuple is live out and yet no output: kernels may use it. */
  allocation->kind = raw->is_thread_local ? CYXLA__ALLOCATION_UNUSED : CYXLA__ALLOCATION_TEMP;
  return CYXLA_OK;
}

static int32_t mark_outputs(const cyxla__image *image, cyxla__allocation *allocations,
                            cyxla_error *error) {
  for (size_t i = 0; i < image->output_count; ++i) {
    cyxla__allocation *allocation = &allocations[image->output_allocations[i]];
    if (allocation->kind == CYXLA__ALLOCATION_OUTPUT)
      return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "outputs %u and %zu share their memory",
                         (unsigned)allocation->number, i);
    allocation->kind = CYXLA__ALLOCATION_OUTPUT;
    allocation->number = (uint32_t)i;
  }
  for (size_t i = 0; i < image->allocation_count; ++i)
    if (allocations[i].parameter >= 0 && allocations[i].kind != CYXLA__ALLOCATION_OUTPUT)
      return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "input %d is donated, but to no output",
                         (int)allocations[i].parameter);
  return CYXLA_OK;
}

static int32_t read_allocations(cyxla__image *image, cyxla__hlo *hlo,
                                const cyxla__assignment *assignment, cyxla_error *error) {
  const size_t count = assignment->allocation_count;
  cyxla__allocation *allocations = cyxla__arena_alloc(&image->arena, count, sizeof *allocations);
  if (!allocations) return cyxla__fail_memory(error, count * sizeof *allocations);
  image->allocations = allocations;
  image->allocation_count = count;
  for (size_t i = 0; i < count; ++i)
    TRY(read_allocation(image, hlo, &assignment->allocations[i], &allocations[i], error));
  return mark_outputs(image, allocations, error);
}

int32_t cyxla__decode_values(cyxla__image *image, cyxla__hlo *hlo,
                             const cyxla__assignment *assignment, cyxla_error *error) {
  TRY(read_inputs(image, hlo, error));
  TRY(read_outputs(image, hlo, assignment, error));
  return read_allocations(image, hlo, assignment, error);
}
