#include <stdlib.h>

#include "direct/decode.h"
#include "xla_cpu/schema.h"

/* ---- values ---- */

static int compare_buffers(const void *a, const void *b) {
  const uint64_t left = ((const cyxla__buffer *)a)->id, right = ((const cyxla__buffer *)b)->id;
  return (left > right) - (left < right);
}

static int compare_definitions(const void *a, const void *b) {
  const cyxla__buffer *left = *(cyxla__buffer *const *)a, *right = *(cyxla__buffer *const *)b;
  if (left->instruction != right->instruction)
    return left->instruction < right->instruction ? -1 : 1;
  return (left->element > right->element) - (left->element < right->element);
}

static int32_t read_element(cyxla__span location, size_t depth, int64_t *out_element,
                            cyxla_error *error) {
  *out_element = depth ? CYXLA__ELEMENT_DEEPER : CYXLA__ELEMENT_NONE;
  if (depth != 1) return CYXLA_OK;
  TRY(cyxla__message_numbers(location, "Location", LOCATION_SHAPE_INDEX, out_element, error));
  return *out_element < 0 ? cyxla__fail_message(error, "Location") : CYXLA_OK;
}

static int32_t read_buffer(cyxla__span message, cyxla__buffer *buffer, cyxla_error *error) {
  cyxla__span location = {0};
  uint64_t instruction = 0;
  size_t depth = 0;
  const cyxla__member members[] = {
      {BUFFER_ID, .number = &buffer->id},
      {BUFFER_DEFINED_AT, .bytes = &location},
      {0},
  };
  const cyxla__member location_members[] = {
      {LOCATION_SHAPE_INDEX, .numbers = &depth},
      {LOCATION_INSTRUCTION_ID, .number = &instruction},
      {0},
  };
  TRY(cyxla__message_read(message, "LogicalBufferProto", members, error));
  TRY(cyxla__message_read(location, "Location", location_members, error));
  buffer->instruction = (int64_t)instruction;
  return read_element(location, depth, &buffer->element, error);
}

/* Two buffers of one id or definition are an error, but for those that are not told apart. */
static bool is_unique(const cyxla__assignment *assignment) {
  for (size_t i = 1; i < assignment->buffer_count; ++i) {
    const cyxla__buffer *definition = assignment->by_definition[i];
    if (assignment->buffers[i - 1].id == assignment->buffers[i].id ||
        (definition->element != CYXLA__ELEMENT_DEEPER &&
         !compare_definitions(&assignment->by_definition[i - 1], &definition)))
      return false;
  }
  return true;
}

static int32_t read_buffers(cyxla__arena *scratch, cyxla__span message,
                            cyxla__assignment *assignment, cyxla_error *error) {
  const size_t count = assignment->buffer_count;
  cyxla__buffer *buffers = cyxla__arena_alloc(scratch, count, sizeof *buffers);
  cyxla__buffer **by_definition = cyxla__arena_alloc(scratch, count, sizeof *by_definition);
  if (!buffers || !by_definition) return cyxla__fail_memory(error, count * sizeof *buffers);
  assignment->buffers = buffers;
  assignment->by_definition = by_definition;
  for (cyxla__span next; cyxla__message_next(&message, ASSIGNMENT_LOGICAL_BUFFERS, &next);
       ++buffers)
    TRY(read_buffer(next, buffers, error));
  qsort(assignment->buffers, count, sizeof *buffers, compare_buffers);
  for (size_t i = 0; i < count; ++i) by_definition[i] = &assignment->buffers[i];
  qsort(by_definition, count, sizeof *by_definition, compare_definitions);
  return is_unique(assignment) ? CYXLA_OK : cyxla__fail_message(error, "BufferAssignmentProto");
}

const cyxla__buffer *cyxla__assignment_find(const cyxla__assignment *assignment,
                                            int64_t instruction, int64_t element) {
  const cyxla__buffer definition = {.instruction = instruction, .element = element};
  const cyxla__buffer *key = &definition;
  cyxla__buffer **found = bsearch(&key, assignment->by_definition, assignment->buffer_count,
                                  sizeof key, compare_definitions);
  return found ? *found : NULL;
}

/* ---- memory ---- */

static int32_t read_assigned(cyxla__assignment *assignment, cyxla__span message,
                             cyxla__raw_allocation *allocation, cyxla_error *error) {
  uint64_t id = 0;
  cyxla__slice slice = {.allocation = (uint32_t)allocation->index};
  const cyxla__member members[] = {
      {ASSIGNED_BUFFER_ID, .number = &id},
      {ASSIGNED_OFFSET, .number = &slice.offset},
      {ASSIGNED_SIZE, .number = &slice.size},
      {0},
  };
  TRY(cyxla__message_read(message, "Assigned", members, error));
  const cyxla__buffer key = {.id = id};
  cyxla__buffer *buffer =
      bsearch(&key, assignment->buffers, assignment->buffer_count, sizeof key, compare_buffers);
  if (!buffer || buffer->is_assigned) return cyxla__fail_message(error, "BufferAllocationProto");
  buffer->is_assigned = true;
  buffer->slice = slice;
  buffer->next = allocation->buffers;
  allocation->buffers = buffer;
  return CYXLA_OK;
}

static int32_t read_allocation(cyxla__assignment *assignment, cyxla__span message, size_t index,
                               cyxla__raw_allocation *allocation, cyxla_error *error) {
  const cyxla__member members[] = {
      {ALLOCATION_INDEX, .number = &allocation->index},
      {ALLOCATION_SIZE, .number = &allocation->size},
      {ALLOCATION_IS_THREAD_LOCAL, .boolean = &allocation->is_thread_local},
      {ALLOCATION_IS_PARAMETER, .boolean = &allocation->is_parameter},
      {ALLOCATION_PARAMETER_NUMBER, .number = &allocation->parameter_number},
      {ALLOCATION_MAYBE_LIVE_OUT, .boolean = &allocation->maybe_live_out},
      {ALLOCATION_COLOR, .number = &allocation->color},
      {ALLOCATION_PARAMETER_SHAPE_INDEX, .numbers = &allocation->parameter_index_count},
      {ALLOCATION_IS_CONSTANT, .boolean = &allocation->is_constant},
      {0},
  };
  TRY(cyxla__message_read(message, "BufferAllocationProto", members, error));
  if (allocation->index != index || index > UINT32_MAX)
    return cyxla__fail_message(error, "BufferAssignmentProto");
  for (cyxla__span assigned; cyxla__message_next(&message, ALLOCATION_ASSIGNED, &assigned);)
    TRY(read_assigned(assignment, assigned, allocation, error));
  return CYXLA_OK;
}

static int32_t read_allocations(cyxla__arena *scratch, cyxla__span message,
                                cyxla__assignment *assignment, cyxla_error *error) {
  const size_t count = assignment->allocation_count;
  cyxla__raw_allocation *allocations = cyxla__arena_alloc(scratch, count, sizeof *allocations);
  if (!allocations) return cyxla__fail_memory(error, count * sizeof *allocations);
  assignment->allocations = allocations;
  cyxla__span next;
  for (size_t i = 0; cyxla__message_next(&message, ASSIGNMENT_ALLOCATIONS, &next); ++i)
    TRY(read_allocation(assignment, next, i, &allocations[i], error));
  return CYXLA_OK;
}

int32_t cyxla__assignment_open(cyxla__arena *scratch, cyxla__span message,
                               cyxla__assignment *out_assignment, cyxla_error *error) {
  *out_assignment = (cyxla__assignment){0};
  const cyxla__member members[] = {
      {ASSIGNMENT_LOGICAL_BUFFERS, .messages = &out_assignment->buffer_count},
      {ASSIGNMENT_ALLOCATIONS, .messages = &out_assignment->allocation_count},
      {0},
  };
  TRY(cyxla__message_read(message, "BufferAssignmentProto", members, error));
  TRY(read_buffers(scratch, message, out_assignment, error));
  return read_allocations(scratch, message, out_assignment, error);
}
