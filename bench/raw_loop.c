/* What cyxla's calls are compared with.
 *
 * raw: the cheapest loop that the PJRT C API allows.  Inputs are buffers that alias host memory and are
 * made once; a call is one Execute, and for each output its address, a copy to the caller's memory and the
 * end of its buffer.  Nothing is checked but errors.
 *
 * bare: the kernels of the same executable called one after the other, with frames that are filled already
 * and with XLA's floating-point state set outside of the loop: what any caller of these kernels pays.
 * state: the same with that state set and put back for each run, which no engine can do without.
 *
 * A library for execute.py and direct.py; one plugin, which cyxla has loaded already, and any number of
 * executables. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fpenv.h"
#include "cyxla/cyxla.h"
#include "executable.h"

enum { MAX_ARRAYS = 8 };

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

typedef struct loop {
  const PJRT_Api *api;
  PJRT_LoadedExecutable *executable;
  cyxla_executable *cyxla, *direct; /* by engine; `direct` is NULL where it can't run */
  cyxla_bound_call *bound;
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

/* A loop over the executable that is serialized in `bytes`.  `data` and `outputs` are the arrays, 64-byte
 * aligned. */
loop *loop_create(cyxla_plugin *plugin, const cyxla_program *program, const void *bytes,
                  size_t size, void *const *data, void *const *outputs) {
  loop *self = calloc(1, sizeof *self);
  must(!self || program->input_count > MAX_ARRAYS || program->output_count > MAX_ARRAYS);
  self->api = &plugin->api.table;
  must(cyxla_executable_deserialize(plugin, program, bytes, size, CYXLA_ENGINE_PJRT, &self->cyxla,
                                    NULL));
  PJRT_Executable_DeserializeAndLoad_Args load = {.struct_size = sizeof load,
                                                  .client = plugin->client,
                                                  .serialized_executable = bytes,
                                                  .serialized_executable_size = size};
  must(self->api->PJRT_Executable_DeserializeAndLoad(&load) != NULL);
  self->executable = load.loaded_executable;

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
  if (!cyxla_executable_deserialize(NULL, program, bytes, size, CYXLA_ENGINE_DIRECT, &self->direct,
                                    NULL))
    must(cyxla_bind(self->direct, self->inputs, self->outputs, &self->bound, NULL));
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

/* What the executable consists of: only kernels and copies can be called bare. */
int loop_has_bare(const loop *self) {
  if (!self->direct) return 0;
  const cyxla__plan *plan = &self->direct->direct->plan;
  for (size_t i = 0; i < plan->op_count; ++i)
    if (plan->ops[i].kind != CYXLA__OP_KERNEL && plan->ops[i].kind != CYXLA__OP_MOVE) return 0;
  return 1;
}

size_t loop_thunk_count(const loop *self) {
  return self->direct ? self->direct->direct->plan.op_count : 0;
}

/* The kernels of a bound call, one after the other; `with_state`: the floating-point state is set and put
 * back around each run. */
static void run_bare(const cyxla_bound_call *bound, long count, int with_state) {
  const cyxla__plan *plan = &bound->direct->direct->plan;
  const size_t op_count = plan->op_count;
  const uint8_t *block = bound->direct->block;
  struct {
    cyxla__kernel *kernel; /* NULL: a copy */
    const void *frame;
    size_t size;
  } ops[op_count + 1];
  for (size_t i = 0; i < op_count; ++i) {
    const cyxla__op *op = &plan->ops[i];
    const int is_kernel = op->kind == CYXLA__OP_KERNEL;
    ops[i].kernel = is_kernel ? op->as.kernel : NULL;
    ops[i].frame = block + op->frame;
    ops[i].size = is_kernel ? 0 : op->thunk->as.copy.source.shape.size;
  }
  const cyxla__fpenv before = cyxla__fpenv_enter();
  for (long k = 0; k < count; ++k) {
    if (with_state) cyxla__fpenv_leave(before);
    if (with_state) cyxla__fpenv_enter();
    for (size_t i = 0; i < op_count; ++i)
      if (ops[i].kernel)
        ops[i].kernel(ops[i].frame);
      else
        memcpy(((void *const *)ops[i].frame)[1], ((void *const *)ops[i].frame)[0], ops[i].size);
  }
  cyxla__fpenv_leave(before);
}

enum { RAW, COPY, ZERO_COPY, DIRECT, BOUND, BARE, STATE };

/* ns per call of `count` calls. */
double loop_time(loop *self, int kind, long count) {
  const uint32_t flags = kind == COPY ? 0 : CYXLA_ZERO_COPY;
  cyxla_executable *executable = kind == DIRECT ? self->direct : self->cyxla;
  const double start = now_ns();
  if (kind == BARE || kind == STATE)
    run_bare(self->bound, count, kind == STATE);
  else if (kind == RAW)
    for (long i = 0; i < count; ++i) raw_call(self);
  else if (kind == BOUND)
    for (long i = 0; i < count; ++i) must(cyxla_bound_call_execute(self->bound, NULL));
  else
    for (long i = 0; i < count; ++i)
      must(cyxla_execute(executable, self->inputs, self->outputs, flags, NULL));
  return (now_ns() - start) / (double)count;
}

/* ---- several threads on one executable ---- */

typedef struct share {
  const loop *loop;
  int kind; /* DIRECT or BARE */
  long count;
  pthread_barrier_t *start;
  double seconds;
  char room[64]; /* a thread's results are in cache lines of its own */
} share;

static void *run_share(void *argument) {
  share *share = argument;
  const loop *loop = share->loop;
  void *outputs[MAX_ARRAYS];
  cyxla_bound_call *bound;
  for (size_t i = 0; i < loop->output_count; ++i)
    outputs[i] = cyxla_aligned_alloc(loop->output_sizes[i]);
  must(cyxla_bind(loop->direct, loop->inputs, outputs, &bound, NULL));
  pthread_barrier_wait(share->start);
  const double start = now_ns();
  if (share->kind == BARE)
    run_bare(bound, share->count, 0);
  else
    for (long i = 0; i < share->count; ++i)
      must(cyxla_execute(loop->direct, loop->inputs, outputs, CYXLA_ZERO_COPY, NULL));
  share->seconds = (now_ns() - start) * 1e-9;
  cyxla_bound_call_destroy(bound);
  for (size_t i = 0; i < loop->output_count; ++i) cyxla_aligned_free(outputs[i]);
  return NULL;
}

/* Calls per second of all of `thread_count` threads together, each of which makes `count` calls. */
double loop_throughput(loop *self, int kind, int thread_count, long count) {
  pthread_t threads[MAX_ARRAYS];
  share shares[MAX_ARRAYS];
  pthread_barrier_t start;
  double rate = 0;
  must(thread_count > MAX_ARRAYS);
  pthread_barrier_init(&start, NULL, (unsigned)thread_count);
  for (int i = 0; i < thread_count; ++i) {
    shares[i] = (share){.loop = self, .kind = kind, .count = count, .start = &start};
    must(pthread_create(&threads[i], NULL, run_share, &shares[i]));
  }
  for (int i = 0; i < thread_count; ++i) {
    pthread_join(threads[i], NULL);
    rate += (double)count / shares[i].seconds;
  }
  pthread_barrier_destroy(&start);
  return rate;
}

/* ns to load the executable for the direct engine, and to destroy it. */
double load_time(const cyxla_program *program, const void *bytes, size_t size, long count) {
  const double start = now_ns();
  for (long i = 0; i < count; ++i) {
    cyxla_executable *executable;
    must(cyxla_executable_deserialize(NULL, program, bytes, size, CYXLA_ENGINE_DIRECT, &executable,
                                      NULL));
    cyxla_executable_destroy(executable);
  }
  return (now_ns() - start) / (double)count;
}
