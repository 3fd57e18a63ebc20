/* How executables are made, and which engine they get.
 *
 * XLA's CPU executables are looked into as bytes, whoever compiled them: known faults are mended, the
 * processor and the signature are compared, and the direct engine tries to take them.  What it refuses, and
 * all other platforms, is for PJRT's engine. */
#include "executable.h"

#include <stdlib.h>

#include "base/memory.h"
#include "direct/cpu.h"
#include "pjrt/ffi_extension.h"
#include "xla_cpu/container.h"
#include "xla_cpu/elf.h"
#include "xla_cpu/faults.h"
#include "xla_cpu/primitive_type.h"

static bool is_cpu(const cyxla_plugin *plugin) {
  return !plugin || cyxla__plugin_is_cpu(plugin);
}

/* ---- beginning and end ---- */

static int32_t check_arguments(const cyxla_program *program, int32_t engine, cyxla_error *error) {
  if (program && program->struct_size < sizeof *program)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                       "cyxla_program: struct_size is %zu, and at least %zu is needed",
                       program->struct_size, sizeof *program);
  if (engine < CYXLA_ENGINE_AUTO || engine > CYXLA_ENGINE_PJRT)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "%d is no cyxla_engine", (int)engine);
  return CYXLA_OK;
}

/* An executable that has its signature, where it is known, and no engine yet. */
static int32_t create(const cyxla_program *program, int32_t engine,
                      cyxla_executable **out_executable, cyxla_error *error) {
  TRY(check_arguments(program, engine, error));
  cyxla_executable *executable = calloc(1, sizeof *executable);
  if (!executable) return cyxla__fail_memory(error, sizeof *executable);
  const int32_t status =
      program ? cyxla__signature_init(&executable->signature, program, error) : CYXLA_OK;
  if (status)
    cyxla_executable_destroy(executable);
  else
    *out_executable = executable;
  return status;
}

/* Ends the making of an executable: hands it out, or destroys it where that failed. */
static int32_t finish(cyxla_executable *executable, int32_t status,
                      cyxla_executable **out_executable, cyxla_error *error) {
  if (!status) {
    *out_executable = executable;
    return CYXLA_OK;
  }
  if (executable->signature.name) cyxla__add_context(error, executable->signature.name);
  cyxla_executable_destroy(executable);
  return status;
}

void cyxla_executable_destroy(cyxla_executable *executable) {
  if (!executable) return;
  cyxla__direct_destroy(executable->direct);
  if (executable->pjrt.loaded) cyxla__pjrt_executable_deinit(&executable->pjrt);
  cyxla__image_deinit(&executable->image);
  cyxla_aligned_free(executable->bytes);
  cyxla__signature_deinit(&executable->signature);
  free(executable->reason);
  free(executable);
}

/* ---- looking into bytes ---- */

static bool is_decoded(const cyxla_executable *executable) {
  return executable->image.allocations != NULL;
}

static int32_t check_shapes(const cyxla__arrays *arrays, const char *role,
                            const cyxla__shape *shapes, size_t count, cyxla_error *error) {
  TRY(cyxla__signature_check_count(arrays, role, count, error));
  for (size_t i = 0; i < count; ++i)
    TRY(cyxla__signature_check(arrays, role, i, cyxla__primitive_element_type(shapes[i].type),
                               shapes[i].rank, shapes[i].dimensions, error));
  return CYXLA_OK;
}

static void copy_shapes(cyxla_array_type *types, const cyxla__shape *shapes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    types[i] = (cyxla_array_type){.element_type = cyxla__primitive_element_type(shapes[i].type),
                                  .rank = shapes[i].rank,
                                  .dimensions = shapes[i].dimensions};
}

/* The executable's own signature, for one without a program. */
static int32_t take_signature(cyxla_executable *executable, cyxla_error *error) {
  const cyxla__image *image = &executable->image;
  const size_t input_count = image->input_count, output_count = image->output_count;
  cyxla_array_type *types = calloc(input_count + output_count + 1, sizeof *types);
  char *name = strndup((const char *)image->name.data, image->name.size);
  int32_t status;
  if (types && name) {
    copy_shapes(types, image->inputs, input_count);
    copy_shapes(types + input_count, image->outputs, output_count);
    const cyxla_program program = {.struct_size = sizeof program,
                                   .name = name,
                                   .inputs = types,
                                   .input_count = input_count,
                                   .outputs = types + input_count,
                                   .output_count = output_count};
    status = cyxla__signature_init(&executable->signature, &program, error);
  } else {
    status = cyxla__fail_memory(error, image->name.size);
  }
  free(types);
  free(name);
  return status;
}

/* Compares signature and processor. */
static int32_t check_image(cyxla_executable *executable, cyxla_error *error) {
  const cyxla__image *image = &executable->image;
  cyxla__signature *signature = &executable->signature;
  TRY(cyxla__cpu_check(image->triple, image->features, error));
  if (!signature->name) return take_signature(executable, error);
  TRY(check_shapes(&signature->inputs, "input", image->inputs, image->input_count, error));
  return check_shapes(&signature->outputs, "output", image->outputs, image->output_count, error);
}

/* Keeps why the executable has its engine. */
static int32_t keep_reason(cyxla_executable *executable, const char *reason, cyxla_error *error) {
  executable->reason = strdup(reason);
  return executable->reason ? CYXLA_OK : cyxla__fail_memory(error, strlen(reason));
}

/* Gives the bytes of a CPU executable to the direct engine where it takes them.  `reason` gets why it
 * does not; a failure is what no engine could help. */
static int32_t try_direct(cyxla_executable *executable, int32_t engine, cyxla_error *reason,
                          cyxla_error *error) {
  const cyxla__span bytes = {executable->bytes, executable->bytes_size};
  TRY(cyxla__faults_mend(bytes, &executable->mended, error));
  cyxla__image image;
  int32_t status = cyxla__image_decode(bytes, &image, reason);
  if (!status) {
    executable->image = image;
    TRY(check_image(executable, error));
  }
  if (!status && engine == CYXLA_ENGINE_PJRT)
    status = cyxla__fail(reason, CYXLA_CANCELLED, "it was asked for");
  if (!status) status = cyxla__direct_create(&executable->image, &executable->direct, reason);
  if (status == CYXLA_RESOURCE_EXHAUSTED) return cyxla__fail(error, status, "%s", reason->message);
  return CYXLA_OK;
}

/* ---- compile ---- */

/* Bytes of an executable that the plugin has compiled; those that it can't give stay NULL. */
static int32_t take_bytes(cyxla_executable *executable, cyxla_error *reason, cyxla_error *error) {
  const int32_t status =
      cyxla__pjrt_serialize(&executable->pjrt, &executable->bytes, &executable->bytes_size, reason);
  if (status == CYXLA_RESOURCE_EXHAUSTED)
    return cyxla__fail(error, status,
                       "out of memory: no copy of the executable's code can be made");
  return CYXLA_OK;
}

/* Puts an executable that is loaded from the bytes in the place of the one that they came from. */
static int32_t reload(cyxla_executable *executable, cyxla_error *error) {
  cyxla__pjrt_executable original = executable->pjrt;
  const int32_t status =
      cyxla__pjrt_deserialize(&executable->pjrt, original.plugin, original.signature,
                              executable->bytes, executable->bytes_size, error);
  if (status) executable->pjrt.loaded = NULL;
  cyxla__pjrt_executable_deinit(&original);
  return status;
}

/* The choice for an executable that the plugin has just compiled. */
static int32_t choose(cyxla_executable *executable, int32_t engine, cyxla_error *error) {
  cyxla_error reason = CYXLA_ERROR_INIT;
  const cyxla_plugin *plugin = executable->pjrt.plugin;
  if (!is_cpu(plugin)) {
    cyxla__fail(&reason, CYXLA_UNIMPLEMENTED, "the platform is %s", plugin->platform);
  } else {
    TRY(take_bytes(executable, &reason, error));
    if (executable->bytes) TRY(try_direct(executable, engine, &reason, error));
  }
  if (executable->direct) {
    cyxla__pjrt_executable_deinit(&executable->pjrt);
    executable->pjrt.loaded = NULL;
    return keep_reason(executable, "every thunk is supported", error);
  }
  if (engine == CYXLA_ENGINE_DIRECT)
    return cyxla__fail(error, reason.code, "the direct engine can't run it: %s", reason.message);
  if (executable->mended) TRY(reload(executable, error));
  return keep_reason(executable, reason.message, error);
}

int32_t cyxla_compile(cyxla_plugin *plugin, const cyxla_program *program,
                      const cyxla_option *options, size_t option_count, int32_t engine,
                      cyxla_executable **out_executable, cyxla_error *error) {
  cyxla_executable *executable = NULL;
  TRY(cyxla__plugin_check_process(plugin, error));
  TRY(create(program, engine, &executable, error));
  cyxla__pjrt_register_targets(plugin);
  int32_t status =
      cyxla__pjrt_compile(&executable->pjrt, plugin, &executable->signature, program->code,
                          program->code_size, options, option_count, error);
  if (status)
    executable->pjrt.loaded = NULL;
  else
    status = choose(executable, engine, error);
  return finish(executable, status, out_executable, error);
}

/* ---- load ---- */

static int32_t load(cyxla_executable *executable, cyxla_plugin *plugin, int32_t engine,
                    cyxla_error *error) {
  cyxla_error reason = CYXLA_ERROR_INIT;
  if (is_cpu(plugin))
    TRY(try_direct(executable, engine, &reason, error));
  else
    cyxla__fail(&reason, CYXLA_UNIMPLEMENTED, "the platform is %s", plugin->platform);
  if (executable->direct) return keep_reason(executable, "every thunk is supported", error);
  if (engine == CYXLA_ENGINE_DIRECT || !plugin)
    return cyxla__fail(error, reason.code, "the direct engine can't run it%s: %s",
                       plugin ? "" : ", and there is no plugin", reason.message);
  TRY(cyxla__plugin_check_process(plugin, error));
  cyxla__pjrt_register_targets(plugin);
  const int32_t status = cyxla__pjrt_deserialize(&executable->pjrt, plugin, &executable->signature,
                                                 executable->bytes, executable->bytes_size, error);
  if (status) {
    executable->pjrt.loaded = NULL;
    return status;
  }
  return keep_reason(executable, reason.message, error);
}

int32_t cyxla_executable_deserialize(cyxla_plugin *plugin, const cyxla_program *program,
                                     const void *data, size_t size, int32_t engine,
                                     cyxla_executable **out_executable, cyxla_error *error) {
  cyxla_executable *executable = NULL;
  TRY(create(program, engine, &executable, error));
  cyxla__span bytes = {(uint8_t *)data, size}, unwrapped; /* only read here */
  if (cyxla__container_unwrap(bytes, &unwrapped)) bytes = unwrapped;
  int32_t status =
      cyxla__copy_bytes(bytes.data, bytes.size, &executable->bytes, &executable->bytes_size, error);
  if (!status) status = load(executable, plugin, engine, error);
  return finish(executable, status, out_executable, error);
}

int32_t cyxla_executable_serialize(const cyxla_executable *executable, void **out_data,
                                   size_t *out_size, cyxla_error *error) {
  if (!executable->bytes)
    return cyxla__pjrt_serialize(&executable->pjrt, out_data, out_size, error);
  return cyxla__copy_bytes(executable->bytes, executable->bytes_size, out_data, out_size, error);
}

/* ---- info ---- */

static int64_t code_size_of(const cyxla_executable *executable) {
  if (!is_decoded(executable)) return executable->pjrt.code_size;
  int64_t size = 0;
  for (size_t i = 0; i < executable->image.object_count; ++i)
    size += (int64_t)cyxla__elf_code_size(executable->image.objects[i]);
  return size;
}

void cyxla_executable_get_info(const cyxla_executable *executable,
                               cyxla_executable_info *out_info) {
  const cyxla__signature *signature = &executable->signature;
  const cyxla__direct *direct = executable->direct;
  const cyxla_executable_info info = {
      .struct_size = out_info->struct_size,
      .name = signature->name,
      .inputs = signature->inputs.types,
      .input_sizes = signature->inputs.sizes,
      .input_count = signature->inputs.count,
      .outputs = signature->outputs.types,
      .output_sizes = signature->outputs.sizes,
      .output_count = signature->outputs.count,
      .code_size = code_size_of(executable),
      .temp_size = direct ? (int64_t)direct->plan.temp_size : executable->pjrt.temp_size,
      .workaround = executable->mended,
      .engine = direct ? CYXLA_ENGINE_DIRECT : CYXLA_ENGINE_PJRT,
      .engine_reason = executable->reason,
      .thunks = executable->image.thunk_counts,
      .thunk_kind_count = executable->image.thunk_kind_count,
  };
  cyxla__copy_info(out_info, &info, sizeof info);
}
