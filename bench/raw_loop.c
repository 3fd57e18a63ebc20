/* The cheapest loop that the PJRT C API allows, to compare `cyxla_execute` with: inputs are buffers that
 * alias host memory and are made once; a call is one Execute, and for each output its address, a copy to
 * the caller's memory and the end of its buffer.  Nothing is checked but errors.
 *
 * A library for execute.py; one plugin, which cyxla has loaded already, and any number of programs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cyxla/cyxla.h"
#include "pjrt/executable.h"

enum { MAX_ARRAYS = 8 };

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

typedef struct loop {
  const PJRT_Api *api;
  PJRT_LoadedExecutable *executable;
  cyxla_executable *cyxla;
  size_t input_count, output_count;
  cyxla_input inputs[MAX_ARRAYS];
  PJRT_Buffer *buffers[MAX_ARRAYS];
  void *outputs[MAX_ARRAYS];
  size_t output_sizes[MAX_ARRAYS];
} loop;

static void must(int failed) {
  if (failed) abort();
}

static PJRT_Buffer *alias(const cyxla_plugin *plugin, const cyxla_array_type *type, void *data) {
  PJRT_Client_BufferFromHostBuffer_Args create = {
      .struct_size = sizeof create,
      .client = plugin->client,
      .data = data,
      .type = (PJRT_Buffer_Type)type->element_type,
      .dims = type->dimensions,
      .num_dims = (size_t)type->rank,
      .host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy,
      .device = plugin->device,
  };
  must(plugin->api.table.PJRT_Client_BufferFromHostBuffer(&create) != NULL);
  PJRT_Event_Destroy_Args destroy = {.struct_size = sizeof destroy,
                                     .event = create.done_with_host_buffer};
  must(plugin->api.table.PJRT_Event_Destroy(&destroy) != NULL);
  return create.buffer;
}

/* A loop over the executable of `program`, which the raw API loads from cyxla's bytes.  `data` and
 * `outputs` are the arrays, 64-byte aligned. */
loop *loop_create(cyxla_plugin *plugin, const cyxla_program *program, void *const *data,
                  void *const *outputs) {
  loop *self = calloc(1, sizeof *self);
  must(!self || program->input_count > MAX_ARRAYS || program->output_count > MAX_ARRAYS);
  self->api = &plugin->api.table;
  must(cyxla_compile(plugin, program, NULL, 0, CYXLA_ENGINE_PJRT, &self->cyxla, NULL));
  void *bytes;
  size_t size;
  must(cyxla_executable_serialize(self->cyxla, &bytes, &size, NULL));
  PJRT_Executable_DeserializeAndLoad_Args load = {.struct_size = sizeof load,
                                                  .client = plugin->client,
                                                  .serialized_executable = bytes,
                                                  .serialized_executable_size = size};
  must(self->api->PJRT_Executable_DeserializeAndLoad(&load) != NULL);
  self->executable = load.loaded_executable;
  cyxla_aligned_free(bytes);

  cyxla_executable_info info = {.struct_size = sizeof info};
  cyxla_executable_get_info(self->cyxla, &info);
  self->input_count = info.input_count;
  self->output_count = info.output_count;
  for (size_t i = 0; i < info.input_count; ++i) {
    self->buffers[i] = alias(plugin, &info.inputs[i], data[i]);
    self->inputs[i] =
        (cyxla_input){data[i], info.inputs[i].element_type,
                      info.input_sizes[i] / cyxla_element_size(info.inputs[i].element_type)};
  }
  for (size_t i = 0; i < info.output_count; ++i) {
    self->outputs[i] = outputs[i];
    self->output_sizes[i] = info.output_sizes[i];
  }
  return self;
}

static void raw_call(loop *self) {
  PJRT_Buffer *results[MAX_ARRAYS];
  PJRT_Buffer *const *arguments[1] = {self->buffers};
  PJRT_Buffer **result_list[1] = {results};
  PJRT_ExecuteOptions options = {.struct_size = sizeof options};
  PJRT_LoadedExecutable_Execute_Args execute = {.struct_size = sizeof execute,
                                                .executable = self->executable,
                                                .options = &options,
                                                .argument_lists = arguments,
                                                .num_devices = 1,
                                                .num_args = self->input_count,
                                                .output_lists = result_list};
  must(self->api->PJRT_LoadedExecutable_Execute(&execute) != NULL);
  for (size_t i = 0; i < self->output_count; ++i) {
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args address = {.struct_size = sizeof address,
                                                              .buffer = results[i]};
    must(self->api->PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&address) != NULL);
    memcpy(self->outputs[i], address.device_memory_ptr, self->output_sizes[i]);
    PJRT_Buffer_Destroy_Args destroy = {.struct_size = sizeof destroy, .buffer = results[i]};
    must(self->api->PJRT_Buffer_Destroy(&destroy) != NULL);
  }
}

/* ns per call of `count` calls.  kind 0: raw; 1: cyxla, copying inputs; 2: cyxla, zero-copy. */
double loop_time(loop *self, int kind, long count) {
  const double start = now_ns();
  for (long i = 0; i < count; ++i) {
    if (kind == 0)
      raw_call(self);
    else
      must(cyxla_execute(self->cyxla, self->inputs, self->outputs, kind == 2 ? CYXLA_ZERO_COPY : 0,
                         NULL));
  }
  return (now_ns() - start) / (double)count;
}
