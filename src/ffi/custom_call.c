#include "ffi/custom_call.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fpenv.h"
#include "base/memory.h"
#include "ffi/attributes.h"
#include "ffi/error.h"
#include "ffi/future.h"
#include "ffi/host_api.h"
#include "ffi/registry.h"

/* The name by which targets for XLA's CPU code are registered. */
static const char platform[] = "cpu";

/* Handlers insist on this size, which leaves out the future. */
enum { FRAME_STRUCT_SIZE = offsetof(XLA_FFI_CallFrame, attrs) + sizeof(XLA_FFI_Attrs) };

struct cyxla__custom_call {
  cyxla__arena arena;
  XLA_FFI_Handler *execute;
  const char *label; /* for messages */
  XLA_FFI_Attrs attributes;
  cyxla__ffi_state state;
  size_t count, argument_count;
  const cyxla__custom_call_buffer *buffers;
  int *types; /* of arguments and results, for handlers: all are buffers */
};

/* After the buffers come the pointers to them. */
typedef struct frame {
  XLA_FFI_CallFrame call;
  XLA_FFI_InvokeContext context;
  XLA_FFI_Buffer buffers[];
} frame;

/* ---- calling ---- */

static int32_t finish(const cyxla__custom_call *self, XLA_FFI_CallFrame *call,
                      XLA_FFI_Error *failure, cyxla_error *error) {
  if (!failure && call->future) failure = cyxla__ffi_future_await(call->future);
  return cyxla__ffi_check(cyxla__ffi_host_api(), failure, self->label, error);
}

/* As XLA's CPU runtime does it: with attributes only, and without the stages prepare and initialize (see
 * xla/backends/cpu/runtime/custom_call_thunk.cc). */
static int32_t instantiate(cyxla__custom_call *self, XLA_FFI_Handler *handler, cyxla_error *error) {
  XLA_FFI_InvokeContext context = {.state = &self->state, .is_instantiating = true};
  XLA_FFI_CallFrame call = {.struct_size = FRAME_STRUCT_SIZE,
                            .api = cyxla__ffi_host_api(),
                            .ctx = &context,
                            .stage = XLA_FFI_ExecutionStage_INSTANTIATE,
                            .args = {.struct_size = sizeof call.args},
                            .rets = {.struct_size = sizeof call.rets},
                            .attrs = self->attributes};
  const cyxla__fpenv before = cyxla__fpenv_get();
  const int32_t status = finish(self, &call, handler(&call), error);
  cyxla__fpenv_restore(before);
  return status;
}

int32_t cyxla__custom_call_run(const cyxla__custom_call *self, void *memory, cyxla_error *error) {
  frame *own = memory;
  own->call.extension_start = NULL;
  own->call.stage = XLA_FFI_ExecutionStage_EXECUTE;
  own->call.future = NULL;
  own->context.run_id = 0;
  XLA_FFI_Error *failure = self->execute(&own->call);
  if (!failure && !own->call.future) return CYXLA_OK;
  return finish(self, &own->call, failure, error);
}

/* ---- frames ---- */

size_t cyxla__custom_call_frame_size(const cyxla__custom_call *self) {
  const size_t size = sizeof(frame) + self->count * (sizeof(XLA_FFI_Buffer) + sizeof(void *));
  return (size + CYXLA__ALIGNMENT - 1) / CYXLA__ALIGNMENT * CYXLA__ALIGNMENT;
}

size_t cyxla__custom_call_address_offset(const cyxla__custom_call *self, size_t buffer) {
  (void)self;
  return offsetof(frame, buffers) + buffer * sizeof(XLA_FFI_Buffer) +
         offsetof(XLA_FFI_Buffer, data);
}

/* Handlers may look for dimensions where there are none: anything but NULL will do. */
static void init_buffer(const cyxla__custom_call_buffer *type, XLA_FFI_Buffer *out) {
  *out = (XLA_FFI_Buffer){.struct_size = sizeof *out,
                          .dtype = (XLA_FFI_DataType)type->type,
                          .rank = type->rank,
                          .dims = type->rank ? (int64_t *)type->dimensions : &out->rank};
}

void cyxla__custom_call_frame_init(const cyxla__custom_call *self, void *memory) {
  frame *own = memory;
  void **pointers = (void **)&own->buffers[self->count];
  for (size_t i = 0; i < self->count; ++i) {
    init_buffer(&self->buffers[i], &own->buffers[i]);
    pointers[i] = &own->buffers[i];
  }
  own->context = (XLA_FFI_InvokeContext){.state = (cyxla__ffi_state *)&self->state};
  own->call = (XLA_FFI_CallFrame){.struct_size = FRAME_STRUCT_SIZE,
                                  .api = cyxla__ffi_host_api(),
                                  .ctx = &own->context,
                                  .stage = XLA_FFI_ExecutionStage_EXECUTE,
                                  .args = {.struct_size = sizeof own->call.args,
                                           .size = (int64_t)self->argument_count,
                                           .types = self->types,
                                           .args = pointers},
                                  .rets = {.struct_size = sizeof own->call.rets,
                                           .size = (int64_t)(self->count - self->argument_count),
                                           .types = self->types,
                                           .rets = pointers + self->argument_count},
                                  .attrs = self->attributes};
}

/* ---- making ---- */

_Static_assert((int)XLA_FFI_ArgType_BUFFER == (int)XLA_FFI_RetType_BUFFER,
               "arguments and results share an array of types");

static int32_t copy_buffers(cyxla__custom_call *self, const cyxla__custom_call_buffer *buffers,
                            size_t count, cyxla_error *error) {
  cyxla__custom_call_buffer *copy = cyxla__arena_alloc(&self->arena, count, sizeof *copy);
  self->types = cyxla__arena_alloc(&self->arena, count, sizeof *self->types);
  if (!copy || !self->types)
    return cyxla__fail_memory(error, count * (sizeof *copy + sizeof *self->types));
  for (size_t i = 0; i < count; ++i) {
    copy[i] = buffers[i];
    self->types[i] = XLA_FFI_ArgType_BUFFER;
  }
  self->buffers = copy;
  self->count = count;
  return CYXLA_OK;
}

static int32_t make_label(cyxla__custom_call *self, const char *name, cyxla_error *error) {
  static const char prefix[] = "FFI target ";
  const size_t size = sizeof prefix + strlen(name);
  char *label = cyxla__arena_alloc(&self->arena, size, 1);
  if (!label) return cyxla__fail_memory(error, size);
  snprintf(label, size, "%s%s", prefix, name);
  self->label = label;
  return CYXLA_OK;
}

static int32_t parse_config(cyxla__custom_call *self, cyxla__span config, cyxla_error *error) {
  const int32_t status = cyxla__attributes_parse(config, &self->arena, &self->attributes, error);
  if (status) cyxla__add_context(error, self->label);
  return status;
}

static int32_t init(cyxla__custom_call *self, const cyxla__ffi_target *target, cyxla__span config,
                    cyxla_error *error) {
  self->execute = target->handlers[XLA_FFI_ExecutionStage_EXECUTE];
  TRY(make_label(self, target->name, error));
  TRY(parse_config(self, config, error));
  XLA_FFI_Handler *handler = target->handlers[XLA_FFI_ExecutionStage_INSTANTIATE];
  return handler ? instantiate(self, handler, error) : CYXLA_OK;
}

int32_t cyxla__custom_call_create(cyxla__span target, cyxla__span config,
                                  const cyxla__custom_call_buffer *buffers, size_t count,
                                  size_t argument_count, cyxla__custom_call **out_call,
                                  cyxla_error *error) {
  const cyxla__ffi_target *found = cyxla__ffi_find_target(target, platform);
  if (!found)
    return cyxla__fail(
        error, CYXLA_NOT_FOUND, "FFI target %.*s: it is not registered for the platform %s",
        (int)(target.size < 256 ? target.size : 256), (const char *)target.data, platform);
  cyxla__custom_call *self = calloc(1, sizeof *self);
  if (!self) return cyxla__fail_memory(error, sizeof *self);
  self->argument_count = argument_count;
  int32_t status = copy_buffers(self, buffers, count, error);
  if (!status) status = init(self, found, config, error);
  if (status)
    cyxla__custom_call_destroy(self);
  else
    *out_call = self;
  return status;
}

void cyxla__custom_call_destroy(cyxla__custom_call *self) {
  if (!self) return;
  if (self->state.state && self->state.deleter) self->state.deleter(self->state.state);
  cyxla__arena_deinit(&self->arena);
  free(self);
}
