#include "pjrt/executable.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "pjrt/compile_options.h"

/* What JAX sets for its CPU backend, and XLA's plugins don't by themselves: with fast min and max,
 * NaN would not win in jnp.minimum and jnp.maximum. */
static const cyxla_option jax_cpu_options[] = {
    {.name = "xla_cpu_enable_fast_min_max", .kind = CYXLA_OPTION_BOOL, .value.boolean = 0},
};

/* Compares the outputs with the signature as far as the plugin can tell them: `*out_sure` is false
 * where it tells only how many there are. */
static int32_t check_outputs(const cyxla__pjrt_executable *executable, bool *out_sure,
                             cyxla_error *error) {
  const cyxla__pjrt_api *api = &executable->plugin->api;
  const cyxla__signature *signature = executable->signature;
  PJRT_ARGS(PJRT_Executable_NumOutputs, outputs, .executable = executable->executable);
  TRY(PJRT_CALL(api, PJRT_Executable_NumOutputs, outputs, error));
  TRY(cyxla__signature_check_count(&signature->outputs, "output", outputs.args.num_outputs, error));

  PJRT_ARGS(PJRT_Executable_OutputElementTypes, types, .executable = executable->executable);
  PJRT_ARGS(PJRT_Executable_OutputDimensions, shapes, .executable = executable->executable);
  *out_sure = !PJRT_CALL_OPTIONAL(api, PJRT_Executable_OutputElementTypes, types, NULL) &&
              !PJRT_CALL_OPTIONAL(api, PJRT_Executable_OutputDimensions, shapes, NULL);
  if (!*out_sure) return CYXLA_OK;
  TRY(cyxla__signature_check_count(&signature->outputs, "output", types.args.num_output_types,
                                   error));
  TRY(cyxla__signature_check_count(&signature->outputs, "output", shapes.args.num_outputs, error));
  const int64_t *dimensions = shapes.args.dims;
  for (size_t i = 0; i < signature->outputs.count; ++i) {
    const size_t rank = shapes.args.dim_sizes[i];
    TRY(cyxla__signature_check(&signature->outputs, "output", i,
                               (int32_t)types.args.output_types[i], (int32_t)rank, dimensions,
                               error));
    if (rank) dimensions += rank; /* of none, they may be NULL */
  }
  return CYXLA_OK;
}

static int32_t keep_inputs(cyxla__pjrt_executable *executable, cyxla_error *error) {
  const size_t count = executable->signature->inputs.count;
  executable->kept_inputs = malloc((count + 1) * sizeof *executable->kept_inputs);
  if (!executable->kept_inputs) return cyxla__fail_memory(error, count * sizeof(int64_t));
  for (size_t i = 0; i < count; ++i) executable->kept_inputs[i] = (int64_t)i;
  return CYXLA_OK;
}

/* Takes over `loaded`: learns what there is to know of it. */
static int32_t adopt(cyxla__pjrt_executable *executable, const cyxla_plugin *plugin,
                     const cyxla__signature *signature, PJRT_LoadedExecutable *loaded,
                     cyxla_error *error) {
  *executable = (cyxla__pjrt_executable){
      .plugin = plugin, .signature = signature, .loaded = loaded, .code_size = -1, .temp_size = -1};
  const cyxla__pjrt_api *api = &plugin->api;
  PJRT_ARGS(PJRT_LoadedExecutable_GetExecutable, get, .loaded_executable = loaded);
  TRY(PJRT_CALL(api, PJRT_LoadedExecutable_GetExecutable, get, error));
  executable->executable = get.args.executable;

  bool sure;
  TRY(check_outputs(executable, &sure, error));
  executable->outputs_in_place = sure && plugin->host_memory;

  PJRT_ARGS(PJRT_Executable_GetCompiledMemoryStats, stats, .executable = executable->executable);
  if (PJRT_CALL_OPTIONAL(api, PJRT_Executable_GetCompiledMemoryStats, stats, NULL))
    return keep_inputs(executable, error); /* aliased or not: nobody tells */
  /* Without inputs the compile options hold no layout for the plugin to compare. */
  if (!signature->inputs.count && stats.args.argument_size_in_bytes)
    return cyxla__fail(error, CYXLA_SIGNATURE_MISMATCH,
                       "the executable has inputs, of %lld bytes, and the program has none",
                       (long long)stats.args.argument_size_in_bytes);
  executable->code_size = stats.args.generated_code_size_in_bytes;
  executable->temp_size = stats.args.temp_size_in_bytes;
  return stats.args.alias_size_in_bytes ? keep_inputs(executable, error) : CYXLA_OK;
}

static int32_t adopt_or_destroy(cyxla__pjrt_executable *executable, const cyxla_plugin *plugin,
                                const cyxla__signature *signature, PJRT_LoadedExecutable *loaded,
                                cyxla_error *error) {
  const int32_t status = adopt(executable, plugin, signature, loaded, error);
  if (status) cyxla__pjrt_executable_deinit(executable);
  return status;
}

/* JAX's options for the platform, then the caller's. */
static int32_t write_options(cyxla__proto *message, const cyxla_plugin *plugin,
                             const cyxla__signature *signature, const cyxla_option *options,
                             size_t option_count, cyxla_error *error) {
  const size_t default_count =
      cyxla__plugin_is_cpu(plugin) ? sizeof jax_cpu_options / sizeof jax_cpu_options[0] : 0;
  cyxla_option *all = calloc(default_count + option_count + 1, sizeof *all);
  if (!all) return cyxla__fail_memory(error, option_count * sizeof *all);
  if (default_count) memcpy(all, jax_cpu_options, default_count * sizeof *all);
  if (option_count) memcpy(all + default_count, options, option_count * sizeof *all);
  const int32_t status =
      cyxla__compile_options_write(message, signature, all, default_count + option_count, error);
  free(all);
  return status;
}

/* What the plugin does on a large stack. */
typedef struct job {
  const cyxla__pjrt_api *api;
  PJRT_Client_Compile_Args *compile;
  PJRT_Executable_DeserializeAndLoad_Args *load;
  PJRT_Error *failure;
} job;

static void run_compile(void *context) {
  job *job = context;
  job->failure = job->api->table.PJRT_Client_Compile(job->compile);
}

static void run_load(void *context) {
  job *job = context;
  job->failure = job->api->table.PJRT_Executable_DeserializeAndLoad(job->load);
}

int32_t cyxla__pjrt_compile(cyxla__pjrt_executable *executable, const cyxla_plugin *plugin,
                            const cyxla__signature *signature, const void *code, size_t code_size,
                            const cyxla_option *options, size_t option_count, cyxla_error *error) {
  cyxla__proto message = {0};
  /* The plugin only reads the code: it is "in" for this function. */
  PJRT_STRUCT(PJRT_Program, program, .code = (char *)code, .code_size = code_size, .format = "mlir",
              .format_size = strlen("mlir"));
  int32_t status = write_options(&message, plugin, signature, options, option_count, error);
  PJRT_LoadedExecutable *loaded = NULL;
  if (!status) {
    PJRT_ARGS(PJRT_Client_Compile, compile, .client = plugin->client, .program = &program.args,
              .compile_options = (const char *)message.data, .compile_options_size = message.size);
    job job = {.api = &plugin->api, .compile = &compile.args};
    cyxla__run_on_large_stack(run_compile, &job);
    status = cyxla__pjrt_check(&plugin->api, job.failure, "PJRT_Client_Compile", error);
    loaded = compile.args.executable;
  }
  cyxla__proto_deinit(&message);
  TRY(status);
  return adopt_or_destroy(executable, plugin, signature, loaded, error);
}

int32_t cyxla__pjrt_deserialize(cyxla__pjrt_executable *executable, const cyxla_plugin *plugin,
                                const cyxla__signature *signature, const void *data, size_t size,
                                cyxla_error *error) {
  static const char function[] = "PJRT_Executable_DeserializeAndLoad";
  if (!plugin->api.table.PJRT_Executable_DeserializeAndLoad)
    return cyxla__pjrt_unsupported(&plugin->api, function, error);
  PJRT_ARGS(PJRT_Executable_DeserializeAndLoad, load, .client = plugin->client,
            .serialized_executable = (const char *)data, .serialized_executable_size = size);
  job job = {.api = &plugin->api, .load = &load.args};
  cyxla__run_on_large_stack(run_load, &job);
  TRY(cyxla__pjrt_check(&plugin->api, job.failure, function, error));
  return adopt_or_destroy(executable, plugin, signature, load.args.loaded_executable, error);
}

int32_t cyxla__pjrt_serialize(const cyxla__pjrt_executable *executable, void **out_data,
                              size_t *out_size, cyxla_error *error) {
  TRY(cyxla__plugin_check_process(executable->plugin, error));
  PJRT_ARGS(PJRT_Executable_Serialize, serialize, .executable = executable->executable);
  TRY(PJRT_CALL_OPTIONAL(&executable->plugin->api, PJRT_Executable_Serialize, serialize, error));
  const int32_t status =
      cyxla__copy_bytes(serialize.args.serialized_bytes, serialize.args.serialized_bytes_size,
                        out_data, out_size, error);
  serialize.args.serialized_executable_deleter(serialize.args.serialized_executable);
  return status;
}

void cyxla__pjrt_executable_deinit(cyxla__pjrt_executable *executable) {
  const cyxla__pjrt_api *api = &executable->plugin->api;
  cyxla__pjrt_calls_deinit(executable);
  free(executable->kept_inputs);
  if (cyxla__plugin_is_of_parent(executable->plugin)) return;
  if (executable->executable) {
    PJRT_ARGS(PJRT_Executable_Destroy, destroy, .executable = executable->executable);
    PJRT_CALL(api, PJRT_Executable_Destroy, destroy, NULL);
  }
  PJRT_ARGS(PJRT_LoadedExecutable_Destroy, destroy, .executable = executable->loaded);
  PJRT_CALL(api, PJRT_LoadedExecutable_Destroy, destroy, NULL);
}
