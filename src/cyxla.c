/* The facade: what the public functions of executables do, and which engine does it.
 *
 * An executable has one engine.  Today that is PJRT's; another one takes its place beside `pjrt` in
 * the struct, is chosen in `build`, and is reached from cyxla_execute after the checks that all
 * share. */
#include "cyxla/cyxla.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "pjrt/executable.h"
#include "pjrt/ffi_extension.h"
#include "signature.h"

struct cyxla_executable {
  cyxla__signature signature;
  cyxla__pjrt_executable pjrt;
};

int32_t cyxla_abi_version(void) {
  return CYXLA_ABI_VERSION;
}

const char *cyxla_version(void) {
  return CYXLA_VERSION;
}

/* An executable that has its signature and no engine yet. */
static int32_t create(const cyxla_plugin *plugin, const cyxla_program *program,
                      cyxla_executable **out_executable, cyxla_error *error) {
  if (program->struct_size < sizeof *program)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                       "cyxla_program: struct_size is %zu, and at least %zu is needed",
                       program->struct_size, sizeof *program);
  if (plugin->process != getpid())
    return cyxla__fail(
        error, CYXLA_FAILED_PRECONDITION,
        "%s was loaded in process %ld, of which this one is a fork: it can't compile or "
        "load here; load it after the fork, or spawn processes instead",
        plugin->path, (long)plugin->process);
  cyxla_executable *executable = calloc(1, sizeof *executable);
  if (!executable) return cyxla__fail_memory(error, sizeof *executable);
  const int32_t status = cyxla__signature_init(&executable->signature, program, error);
  if (status) {
    cyxla__signature_deinit(&executable->signature);
    free(executable);
    return status;
  }
  *out_executable = executable;
  return CYXLA_OK;
}

/* Ends the making of an executable: hands it out, or frees it where its engine failed. */
static int32_t finish(cyxla_executable *executable, int32_t status,
                      cyxla_executable **out_executable, cyxla_error *error) {
  if (status) {
    cyxla__add_context(error, executable->signature.name);
    cyxla__signature_deinit(&executable->signature);
    free(executable);
    return status;
  }
  *out_executable = executable;
  return CYXLA_OK;
}

int32_t cyxla_compile(cyxla_plugin *plugin, const cyxla_program *program,
                      const cyxla_option *options, size_t option_count,
                      cyxla_executable **out_executable, cyxla_error *error) {
  cyxla_executable *executable = NULL;
  TRY(create(plugin, program, &executable, error));
  cyxla__pjrt_register_targets(plugin);
  const int32_t status =
      cyxla__pjrt_compile(&executable->pjrt, plugin, &executable->signature, program->code,
                          program->code_size, options, option_count, error);
  return finish(executable, status, out_executable, error);
}

int32_t cyxla_executable_deserialize(cyxla_plugin *plugin, const cyxla_program *program,
                                     const void *data, size_t size,
                                     cyxla_executable **out_executable, cyxla_error *error) {
  cyxla_executable *executable = NULL;
  TRY(create(plugin, program, &executable, error));
  cyxla__pjrt_register_targets(plugin);
  const int32_t status =
      cyxla__pjrt_deserialize(&executable->pjrt, plugin, &executable->signature, data, size, error);
  return finish(executable, status, out_executable, error);
}

int32_t cyxla_executable_serialize(const cyxla_executable *executable, void **out_data,
                                   size_t *out_size, cyxla_error *error) {
  return cyxla__pjrt_serialize(&executable->pjrt, out_data, out_size, error);
}

void cyxla_executable_get_info(const cyxla_executable *executable,
                               cyxla_executable_info *out_info) {
  const cyxla__signature *signature = &executable->signature;
  const cyxla_executable_info info = {
      .struct_size = out_info->struct_size,
      .name = signature->name,
      .inputs = signature->inputs.types,
      .input_sizes = signature->inputs.sizes,
      .input_count = signature->inputs.count,
      .outputs = signature->outputs.types,
      .output_sizes = signature->outputs.sizes,
      .output_count = signature->outputs.count,
      .code_size = executable->pjrt.code_size,
      .temp_size = executable->pjrt.temp_size,
      .workaround = executable->pjrt.mended,
  };
  cyxla__copy_info(out_info, &info, sizeof info);
}

void cyxla_executable_destroy(cyxla_executable *executable) {
  if (!executable) return;
  cyxla__pjrt_executable_deinit(&executable->pjrt);
  cyxla__signature_deinit(&executable->signature);
  free(executable);
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

int32_t cyxla_execute(cyxla_executable *executable, const cyxla_input *inputs, void *const *outputs,
                      uint32_t flags, cyxla_error *error) {
  const bool zero_copy = (flags & CYXLA_ZERO_COPY) != 0;
  int32_t status = check_call(executable, inputs, outputs, error);
  if (!status) status = cyxla__pjrt_execute(&executable->pjrt, inputs, outputs, zero_copy, error);
  if (status) cyxla__add_context(error, executable->signature.name);
  return status;
}
