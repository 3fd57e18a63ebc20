/* What can be done with an executable: the checks that all engines share, and the way to each. */
#include "cyxla/cyxla.h"

#include <stdlib.h>

#include "base/memory.h"
#include "direct/cpu.h"
#include "executable.h"

int32_t cyxla_abi_version(void) {
  return CYXLA_ABI_VERSION;
}

const char *cyxla_version(void) {
  return CYXLA_VERSION;
}

void cyxla_describe_cpu(char *out_text, size_t size) {
  if (size) cyxla__cpu_describe(out_text, size);
}

static int32_t report_input(const cyxla_executable *executable, const cyxla_input *input,
                            size_t index, cyxla_error *error) {
  const cyxla__signature *signature = &executable->signature;
  const cyxla_array_type *type = &signature->inputs.types[index];
  const int64_t found_size = (int64_t)input->size;
  char found[CYXLA__TYPE_TEXT_SIZE], expected[CYXLA__TYPE_TEXT_SIZE];
  if (input->type == type->element_type && input->size == signature->inputs.lengths[index])
    return cyxla__fail(error, CYXLA_INPUT_MISMATCH, "input %zu %s has no data", index, type->name);
  return cyxla__fail(
      error, CYXLA_INPUT_MISMATCH, "input %zu %s has elements %s and should be %s (%zu elements)",
      index, type->name, cyxla__type_text(found, sizeof found, input->type, 1, &found_size),
      cyxla__type_text(expected, sizeof expected, type->element_type, type->rank, type->dimensions),
      signature->inputs.lengths[index]);
}

/* The one place where what a call brings is compared with the signature. */
static int32_t check_call(const cyxla_executable *executable, const cyxla_input *inputs,
                          void *const *outputs, cyxla_error *error) {
  const cyxla__arrays *expected = &executable->signature.inputs;
  if ((expected->count && !inputs) || (executable->signature.outputs.count && !outputs))
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "its inputs or outputs are NULL");
  for (size_t i = 0; i < expected->count; ++i)
    if (inputs[i].type != expected->types[i].element_type ||
        inputs[i].size != expected->lengths[i] || (!inputs[i].data && inputs[i].size))
      return report_input(executable, &inputs[i], i, error);
  return CYXLA_OK;
}

static int32_t check_and_execute(cyxla_executable *executable, const cyxla_input *inputs,
                                 void *const *outputs, bool zero_copy, cyxla_error *error) {
  TRY(check_call(executable, inputs, outputs, error));
  if (executable->direct) return cyxla__direct_execute(executable->direct, inputs, outputs, error);
  return cyxla__pjrt_execute(&executable->pjrt, inputs, outputs, zero_copy, error);
}

int32_t cyxla_execute(cyxla_executable *executable, const cyxla_input *inputs, void *const *outputs,
                      uint32_t flags, cyxla_error *error) {
  cyxla__call *call =
      executable->direct ? cyxla__direct_bound_call(executable->direct, inputs, outputs) : NULL;
  const bool zero_copy = (flags & CYXLA_ZERO_COPY) != 0;
  const int32_t status = call ? cyxla__call_run(call, error)
                              : check_and_execute(executable, inputs, outputs, zero_copy, error);
  if (status) cyxla__add_context(error, executable->signature.name);
  return status;
}

/* ---- bound calls ---- */

static int32_t copy_lists(cyxla_bound_call *call, const cyxla_input *inputs, void *const *outputs,
                          cyxla_error *error) {
  const size_t input_count = call->executable->signature.inputs.count;
  const size_t output_count = call->executable->signature.outputs.count;
  call->inputs = calloc(input_count + 1, sizeof *inputs);
  call->outputs = calloc(output_count + 1, sizeof *outputs);
  if (!call->inputs || !call->outputs)
    return cyxla__fail_memory(error, input_count * sizeof *inputs);
  if (input_count) memcpy(call->inputs, inputs, input_count * sizeof *inputs);
  if (output_count) memcpy(call->outputs, outputs, output_count * sizeof *outputs);
  return CYXLA_OK;
}

static int32_t bind(cyxla_bound_call *call, const cyxla_input *inputs, void *const *outputs,
                    cyxla_error *error) {
  const cyxla__direct *direct = call->executable->direct;
  if (!direct) {
    TRY(cyxla__plugin_check_process(call->executable->pjrt.plugin, error));
    return copy_lists(call, inputs, outputs, error);
  }
  call->direct = cyxla__call_create(direct);
  if (!call->direct) return cyxla__fail_memory(error, direct->plan.block_size);
  return cyxla__call_bind(call->direct, inputs, outputs, error);
}

int32_t cyxla_bind(cyxla_executable *executable, const cyxla_input *inputs, void *const *outputs,
                   cyxla_bound_call **out_call, cyxla_error *error) {
  cyxla_bound_call *call = NULL;
  int32_t status = check_call(executable, inputs, outputs, error);
  if (!status && !(call = calloc(1, sizeof *call)))
    status = cyxla__fail_memory(error, sizeof *call);
  if (!status) {
    call->executable = executable;
    status = bind(call, inputs, outputs, error);
  }
  if (status) {
    cyxla_bound_call_destroy(call);
    cyxla__add_context(error, executable->signature.name);
    return status;
  }
  *out_call = call;
  return CYXLA_OK;
}

int32_t cyxla_bound_call_execute(cyxla_bound_call *call, cyxla_error *error) {
  const int32_t status = call->direct ? cyxla__call_run(call->direct, error)
                                      : cyxla__pjrt_execute(&call->executable->pjrt, call->inputs,
                                                            call->outputs, true, error);
  if (status) cyxla__add_context(error, call->executable->signature.name);
  return status;
}

void cyxla_bound_call_destroy(cyxla_bound_call *call) {
  if (!call) return;
  cyxla__call_destroy(call->direct);
  free(call->inputs);
  free(call->outputs);
  free(call);
}
