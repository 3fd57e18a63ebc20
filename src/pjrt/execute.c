/* The hot path of the PJRT engine.
 *
 * A call works in a call state: the argument and result lists that the plugin reads and writes, and
 * for each input a buffer that stays from call to call.  Such a buffer aliases host memory, either
 * the caller's array (zero-copy) or staging memory of the state, into which the array is copied:
 * the plugin reads what is there at the time of the execution, and so the same buffer serves again
 * as long as the address is the same.  Only what can't be aliased (a platform with memory of its
 * own) or is too large to be held twice is copied by the plugin, into a buffer of that call.
 *
 * With a synchronous client whose memory is host memory, a call is PJRT_LoadedExecutable_Execute,
 * and for each output PJRT_Buffer_OpaqueDeviceMemoryDataPointer and PJRT_Buffer_Destroy: results
 * are new buffers on each execution, and that is the least the API allows.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/memory.h"
#include "pjrt/buffer.h"
#include "pjrt/executable.h"

/* Arrays up to this size are staged, larger ones are copied by the plugin: staging memory is held
 * as long as the executable, by each thread that calls it. */
enum { STAGING_LIMIT = 1 << 20 };

typedef struct input_state {
  PJRT_Buffer *alias;  /* NULL: none yet */
  const void *address; /* what `alias` aliases */
  void *staging;       /* NULL: none yet */
  bool cannot_alias;   /* the plugin copied when asked to alias */
} input_state;

typedef struct call_state {
  input_state *inputs;
  PJRT_Buffer **arguments;
  PJRT_Buffer **results;
  PJRT_Buffer *const *argument_list[1]; /* by device */
  PJRT_Buffer **result_list[1];
  struct {
    PJRT_ExecuteOptions args;
    char spare[64];
  } options;
  struct {
    PJRT_LoadedExecutable_Execute_Args args;
    char spare[64];
  } execute;
} call_state;

static void call_destroy(const cyxla__pjrt_executable *executable, call_state *call) {
  if (!call) return;
  for (size_t i = 0; call->inputs && i < executable->signature->inputs.count; ++i) {
    if (call->inputs[i].alias && !cyxla__plugin_is_of_parent(executable->plugin))
      cyxla__pjrt_buffer_destroy(executable->plugin, call->inputs[i].alias);
    cyxla_aligned_free(call->inputs[i].staging);
  }
  free(call->inputs);
  free(call->arguments);
  free(call->results);
  free(call);
}

static call_state *call_create(const cyxla__pjrt_executable *executable) {
  const size_t input_count = executable->signature->inputs.count;
  call_state *call = calloc(1, sizeof *call);
  if (!call) return NULL;
  /* One more of each, so that no allocation is of size 0. */
  call->inputs = calloc(input_count + 1, sizeof *call->inputs);
  call->arguments = calloc(input_count + 1, sizeof *call->arguments);
  call->results = calloc(executable->signature->outputs.count + 1, sizeof *call->results);
  if (!call->inputs || !call->arguments || !call->results) {
    call_destroy(executable, call);
    return NULL;
  }
  call->argument_list[0] = call->arguments;
  call->result_list[0] = call->results;
  call->options.args = (PJRT_ExecuteOptions){
      .struct_size = sizeof call->options,
      .non_donatable_input_indices = executable->kept_inputs,
      .num_non_donatable_input_indices = executable->kept_inputs ? input_count : 0,
  };
  call->execute.args = (PJRT_LoadedExecutable_Execute_Args){
      .struct_size = sizeof call->execute,
      .executable = executable->loaded,
      .options = &call->options.args,
      .argument_lists = call->argument_list,
      .num_devices = 1,
      .num_args = input_count,
      .output_lists = call->result_list,
  };
  return call;
}

/* Makes `input->alias` alias `address`; false where the plugin can't. */
static bool alias_input(const cyxla_plugin *plugin, const cyxla_array_type *type,
                        input_state *input, const void *address) {
  if (input->alias) {
    if (input->address == address) return true;
    cyxla__pjrt_buffer_destroy(plugin, input->alias);
  }
  input->alias = cyxla__pjrt_buffer_alias(plugin, type, address);
  input->address = address;
  input->cannot_alias = !input->alias;
  return !input->cannot_alias;
}

/* Copies `data` to staging memory and aliases that; false where there is none or the plugin can't.
 */
static bool stage_input(const cyxla_plugin *plugin, const cyxla_array_type *type,
                        input_state *input, const void *data, size_t size) {
  if (!input->staging) input->staging = cyxla_aligned_alloc(size);
  if (!input->staging) return false;
  if (size) memcpy(input->staging, data, size);
  return alias_input(plugin, type, input, input->staging);
}

/* Fills `call->arguments[index]`: with the input's lasting buffer, or with one of this call. */
static int32_t bind_input(const cyxla__pjrt_executable *executable, call_state *call, size_t index,
                          const void *data, bool zero_copy, cyxla_error *error) {
  const cyxla_plugin *plugin = executable->plugin;
  const cyxla_array_type *type = &executable->signature->inputs.types[index];
  const size_t size = executable->signature->inputs.sizes[index];
  input_state *input = &call->inputs[index];
  if (plugin->host_memory && !input->cannot_alias) {
    const bool in_place = zero_copy && size && cyxla__is_aligned(data);
    if (in_place ? alias_input(plugin, type, input, data)
                 : size <= STAGING_LIMIT && stage_input(plugin, type, input, data, size)) {
      call->arguments[index] = input->alias;
      return CYXLA_OK;
    }
  }
  static const char nothing[1];
  return cyxla__pjrt_buffer_copy(plugin, type, size ? data : nothing, &call->arguments[index],
                                 error);
}

/* Destroys the buffers of this call among the first `count` arguments. */
static void release_inputs(const cyxla_plugin *plugin, call_state *call, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (call->arguments[i] != call->inputs[i].alias)
      cyxla__pjrt_buffer_destroy(plugin, call->arguments[i]);
}

static int32_t read_result(const cyxla__pjrt_executable *executable, PJRT_Buffer *result,
                           size_t index, void *destination, cyxla_error *error) {
  const size_t size = executable->signature->outputs.sizes[index];
  if (!destination || !size) return CYXLA_OK;
  if (!executable->outputs_in_place)
    return cyxla__pjrt_buffer_read(executable->plugin, result,
                                   &executable->signature->outputs.types[index], destination, size,
                                   error);
  void *address;
  TRY(cyxla__pjrt_buffer_address(executable->plugin, result, &address, error));
  memcpy(destination, address, size);
  return CYXLA_OK;
}

/* Copies the results to where they are wanted, unless `status` says that they are not worth it, and
 * destroys them in any case. */
static int32_t read_results(const cyxla__pjrt_executable *executable, call_state *call,
                            void *const *outputs, int32_t status, cyxla_error *error) {
  for (size_t i = 0; i < executable->signature->outputs.count; ++i) {
    if (!status) status = read_result(executable, call->results[i], i, outputs[i], error);
    cyxla__pjrt_buffer_destroy(executable->plugin, call->results[i]);
  }
  return status;
}

static int32_t run(const cyxla__pjrt_executable *executable, call_state *call, void *const *outputs,
                   cyxla_error *error) {
  const cyxla_plugin *plugin = executable->plugin;
  PJRT_Event *complete[1] = {NULL};
  call->execute.args.device_complete_events = plugin->synchronous ? NULL : complete;
  TRY(PJRT_CALL(&plugin->api, PJRT_LoadedExecutable_Execute, call->execute, error));
  const int32_t status = cyxla__pjrt_event_await(&plugin->api, complete[0], error);
  return read_results(executable, call, outputs, status, error);
}

static int32_t execute_in(const cyxla__pjrt_executable *executable, call_state *call,
                          const cyxla_input *inputs, void *const *outputs, bool zero_copy,
                          cyxla_error *error) {
  const size_t input_count = executable->signature->inputs.count;
  int32_t status = CYXLA_OK;
  size_t bound = 0;
  while (bound < input_count && !status) {
    status = bind_input(executable, call, bound, inputs[bound].data, zero_copy, error);
    if (!status) ++bound;
  }
  if (!status) status = run(executable, call, outputs, error);
  release_inputs(executable->plugin, call, bound);
  return status;
}

int32_t cyxla__pjrt_execute(cyxla__pjrt_executable *executable, const cyxla_input *inputs,
                            void *const *outputs, bool zero_copy, cyxla_error *error) {
  if (cyxla__plugin_is_of_parent(executable->plugin))
    return cyxla__plugin_check_process(executable->plugin, error);
  const unsigned slot = cyxla__slot_of_thread();
  call_state *call = cyxla__slots_take(&executable->calls, slot);
  if (!call) call = call_create(executable);
  if (!call) return cyxla__fail_memory(error, sizeof *call);
  /* XLA sets its own environment, but does not put back all of the caller's. */
  const cyxla__fpenv before = cyxla__fpenv_get();
  const int32_t status = execute_in(executable, call, inputs, outputs, zero_copy, error);
  cyxla__fpenv_restore(before);
  call_destroy(executable, cyxla__slots_put(&executable->calls, slot, call));
  return status;
}

void cyxla__pjrt_calls_deinit(cyxla__pjrt_executable *executable) {
  for (unsigned i = 0; i < CYXLA__SLOT_COUNT; ++i)
    call_destroy(executable, cyxla__slots_take(&executable->calls, i));
}
