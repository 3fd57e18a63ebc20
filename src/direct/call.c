#include "direct/call.h"

#include <stdlib.h>

#include "base/memory.h"
#include "direct/direct.h"

/* ---- memory ---- */

static void set_address(const cyxla__call *call, const cyxla__address *address, void *base) {
  void *value = (char *)base + address->offset;
  memcpy(call->block + address->where, &value, sizeof value);
}

static void init_kernel_frame(const cyxla__call *call, const cyxla__op *op) {
  static const cyxla__dim3 one = {1, 1, 1}, first = {0, 0, 0};
  const cyxla__thunk *thunk = op->thunk;
  cyxla__kernel_argument *arguments =
      (cyxla__kernel_argument *)(call->block + op->frame + sizeof(cyxla__kernel_frame));
  for (size_t i = 0; i < thunk->as.kernel.count; ++i)
    arguments[i].size = (size_t)thunk->as.kernel.buffers[i].size;
  *(cyxla__kernel_frame *)(call->block + op->frame) =
      (cyxla__kernel_frame){.workgroups = &one,
                            .workgroup = &first,
                            .argument_count = thunk->as.kernel.count,
                            .arguments = arguments};
}

/* Fills what stays the same in all runs of the call. */
static void init_block(const cyxla__call *call) {
  const cyxla__plan *plan = &call->direct->plan;
  memset(call->block, 0, plan->frames_size);
  for (size_t i = 0; i < plan->op_count; ++i) {
    const cyxla__op *op = &plan->ops[i];
    if (op->kind == CYXLA__OP_KERNEL || op->kind == CYXLA__OP_GRID) init_kernel_frame(call, op);
    if (op->kind == CYXLA__OP_CUSTOM_CALL)
      cyxla__custom_call_frame_init(op->as.custom_call, call->block + op->frame);
  }
  for (size_t i = 0; i < plan->address_count; ++i) {
    const cyxla__address *address = &plan->addresses[i];
    const cyxla__allocation *allocation = &plan->image->allocations[address->allocation];
    if (allocation->kind == CYXLA__ALLOCATION_TEMP)
      set_address(call, address, call->block + plan->temps[address->allocation]);
    if (allocation->kind == CYXLA__ALLOCATION_CONSTANT)
      set_address(call, address, (void *)allocation->constant);
  }
}

cyxla__call *cyxla__call_create(const cyxla__direct *direct) {
  const size_t external_count = direct->external_count;
  /* Each run writes to it: its cache lines are its own. */
  cyxla__call *call = cyxla_aligned_alloc(sizeof *call);
  if (!call) return NULL;
  *call = (cyxla__call){.direct = direct};
  /* One more of each, so that no allocation is of size 0. */
  call->block = cyxla_aligned_alloc(direct->plan.block_size);
  call->inputs = calloc(direct->input_count + 1, sizeof *call->inputs);
  call->outputs = calloc(direct->output_count + 1, sizeof *call->outputs);
  call->staging = calloc(external_count + 1, sizeof *call->staging);
  call->moves_in = calloc(external_count + 1, sizeof *call->moves_in);
  call->moves_out = calloc(external_count + 1, sizeof *call->moves_out);
  if (!call->block || !call->inputs || !call->outputs || !call->staging || !call->moves_in ||
      !call->moves_out) {
    cyxla__call_destroy(call);
    return NULL;
  }
  init_block(call);
  return call;
}

void cyxla__call_destroy(cyxla__call *call) {
  if (!call) return;
  for (size_t i = 0; call->staging && i < call->direct->external_count; ++i)
    cyxla_aligned_free(call->staging[i]);
  cyxla_aligned_free(call->block);
  free(call->inputs);
  free(call->outputs);
  free(call->staging);
  free(call->moves_in);
  free(call->moves_out);
  cyxla_aligned_free(call);
}

/* ---- binding ---- */

static bool overlap(const void *a, size_t a_size, const void *b, size_t b_size) {
  return a && b && (uintptr_t)a < (uintptr_t)b + b_size && (uintptr_t)b < (uintptr_t)a + a_size;
}

static bool overlaps_outputs(const cyxla__call *call, const void *data, size_t size) {
  const cyxla__direct *direct = call->direct;
  for (size_t i = 0; i < direct->external_count; ++i) {
    const cyxla__external *external = &direct->externals[i];
    if (external->is_output && overlap(data, size, call->outputs[external->number], external->size))
      return true;
  }
  return false;
}

/* The input that is copied to where an allocation lies before a run; -1: none is. */
static int64_t source_of(const cyxla__external *external) {
  return external->is_output ? external->parameter : (int64_t)external->number;
}

/* Whether the copy that a donated output starts as would spoil an input before it is copied itself. */
static bool overlaps_sources(const cyxla__call *call, const cyxla__external *output,
                             const void *data) {
  const cyxla__direct *direct = call->direct;
  if (output->parameter < 0) return false;
  for (size_t i = 0; i < direct->external_count; ++i) {
    const int64_t source = source_of(&direct->externals[i]);
    if (source < 0 || (source == output->parameter && call->inputs[source].data == data)) continue;
    if (overlap(data, output->size, call->inputs[source].data, direct->externals[i].size))
      return true;
  }
  return false;
}

/* The memory that code uses for an input or output: the caller's, or the call's own. */
static void *choose_memory(cyxla__call *call, size_t index) {
  const cyxla__external *external = &call->direct->externals[index];
  void *data = external->is_output ? call->outputs[external->number]
                                   : (void *)call->inputs[external->number].data;
  if (!external->size) return call->block; /* never read nor written, but not NULL */
  if (data && cyxla__is_aligned(data) &&
      !(external->is_output ? overlaps_sources(call, external, data)
                            : overlaps_outputs(call, data, external->size)))
    return data;
  if (!call->staging[index]) call->staging[index] = cyxla_aligned_alloc(external->size);
  return call->staging[index];
}

static void add_move(cyxla__move *moves, size_t *count, void *to, const void *from, size_t size) {
  if (to && to != from && size)
    moves[(*count)++] = (cyxla__move){.to = to, .from = from, .size = size};
}

static int32_t bind_external(cyxla__call *call, size_t index, cyxla_error *error) {
  const cyxla__external *external = &call->direct->externals[index];
  void *memory = choose_memory(call, index);
  if (!memory) return cyxla__fail_memory(error, external->size);
  for (size_t i = 0; i < external->address_count; ++i)
    set_address(call, &external->addresses[i], memory);
  if (!external->is_output) {
    add_move(call->moves_in, &call->move_in_count, memory, call->inputs[external->number].data,
             external->size);
    return CYXLA_OK;
  }
  if (external->parameter >= 0)
    add_move(call->moves_in, &call->move_in_count, memory, call->inputs[external->parameter].data,
             external->size);
  add_move(call->moves_out, &call->move_out_count, call->outputs[external->number], memory,
           external->size);
  return CYXLA_OK;
}

/* Half-bound is bound to nothing: no array of the caller's lies where the call itself does. */
static void unbind(cyxla__call *call) {
  for (size_t i = 0; i < call->direct->input_count; ++i) call->inputs[i].data = call;
  for (size_t i = 0; i < call->direct->output_count; ++i) call->outputs[i] = call;
}

int32_t cyxla__call_bind(cyxla__call *call, const cyxla_input *inputs, void *const *outputs,
                         cyxla_error *error) {
  const cyxla__direct *direct = call->direct;
  for (size_t i = 0; i < direct->input_count; ++i) call->inputs[i] = inputs[i];
  for (size_t i = 0; i < direct->output_count; ++i) call->outputs[i] = outputs[i];
  call->move_in_count = call->move_out_count = 0;
  int32_t status = CYXLA_OK;
  for (size_t i = 0; i < direct->external_count && !status; ++i)
    status = bind_external(call, i, error);
  if (status) unbind(call);
  return status;
}
