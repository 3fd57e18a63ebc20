#include "ffi/state.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/fork.h"

/* ---- types of handlers' states ---- */

typedef struct state_type {
  int64_t id;
  cyxla_state_deleter deleter;
  struct state_type *next;
} state_type;

static state_type *types; /* guarded by the lock that forks wait for */

/* Numbers of types that nobody has registered with an XLA, far from those which XLA gives. */
static int64_t next_id = INT64_C(1) << 48;

static state_type *find_type(int64_t id) {
  state_type *type = types;
  while (type && type->id != id) type = type->next;
  return type;
}

int32_t cyxla_register_ffi_type(int64_t *type_id, void (*deleter)(void *state),
                                cyxla_error *error) {
  state_type *added = malloc(sizeof *added);
  if (!added) return cyxla__fail_memory(error, sizeof *added);
  int32_t status = CYXLA_OK;
  cyxla__fork_safe_lock();
  state_type *known = *type_id ? find_type(*type_id) : NULL;
  if (known) {
    if (known->deleter != deleter)
      status = cyxla__fail(error, CYXLA_ALREADY_EXISTS,
                           "FFI type %lld is registered already, with another deleter",
                           (long long)*type_id);
    free(added);
  } else {
    if (!*type_id) *type_id = next_id++;
    *added = (state_type){.id = *type_id, .deleter = deleter, .next = types};
    types = added;
  }
  cyxla__fork_safe_unlock();
  return status;
}

XLA_FFI_Error *cyxla__ffi_find_deleter(const XLA_FFI_Api *api, int64_t type_id,
                                       cyxla_state_deleter *out_deleter) {
  cyxla__fork_safe_lock();
  const state_type *type = find_type(type_id);
  if (type) *out_deleter = type->deleter;
  cyxla__fork_safe_unlock();
  if (type) return NULL;
  return cyxla__ffi_error(
      api, XLA_FFI_Error_Code_FAILED_PRECONDITION,
      "the type of the handler's state (number %lld) is not registered with cyxla: call "
      "cyxla.register_ffi_type, or jax.ffi.register_ffi_type after cyxla has been imported",
      (long long)type_id);
}

/* ---- arguments ---- */

/* Handlers that were compiled for minor 2 or older have a shorter struct, without the stage, and
 * mean instantiate: see XLA_FFI_State_Set in xla/ffi/ffi_api.cc. */
typedef struct old_state_args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_TypeId *type_id;
  void *state;
} old_state_args;

_Static_assert(sizeof(XLA_FFI_State_Set_Args) == sizeof(XLA_FFI_State_Get_Args),
               "setting and getting have the same struct");

cyxla__ffi_state_args cyxla__ffi_read_state_args(void *args) {
  old_state_args *old = args;
  if (old->struct_size == sizeof *old)
    return (cyxla__ffi_state_args){.ctx = old->ctx,
                                   .stage = XLA_FFI_ExecutionStage_INSTANTIATE,
                                   .type_id = old->type_id->type_id,
                                   .state = &old->state};
  XLA_FFI_State_Get_Args *known = args;
  return (cyxla__ffi_state_args){.ctx = known->ctx,
                                 .stage = known->stage,
                                 .type_id = known->type_id->type_id,
                                 .state = &known->state};
}

/* ---- holders ---- */

typedef struct holder {
  int64_t type_id;
  void *state;
  cyxla_state_deleter deleter;
} holder;

static void destroy_holder(void *object) {
  holder *self = object;
  if (self->deleter) self->deleter(self->state);
  free(self);
}

int32_t cyxla__ffi_state_register(const XLA_FFI_Api *plugin_api, XLA_FFI_TypeId *out_type,
                                  cyxla_error *error) {
  static const char name[] = "cyxla.state";
  static const XLA_FFI_TypeInfo info = {.struct_size = sizeof info, .deleter = destroy_holder};
  out_type->type_id = 0;
  XLA_FFI_Type_Register_Args args = {.struct_size = sizeof args,
                                     .name = {name, sizeof name - 1},
                                     .type_id = out_type,
                                     .type_info = &info};
  return cyxla__ffi_check(plugin_api, plugin_api->XLA_FFI_Type_Register(&args),
                          "XLA_FFI_Type_Register", error);
}

XLA_FFI_Error *cyxla__ffi_state_set(const XLA_FFI_Api *plugin_api, XLA_FFI_TypeId holder_type,
                                    XLA_FFI_State_Set_Args *args) {
  const cyxla__ffi_state_args given = cyxla__ffi_read_state_args(args);
  holder *kept = malloc(sizeof *kept);
  if (!kept)
    return cyxla__ffi_error(plugin_api, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "out of memory");
  *kept = (holder){.type_id = given.type_id, .state = *given.state};
  XLA_FFI_Error *failure = cyxla__ffi_find_deleter(plugin_api, given.type_id, &kept->deleter);
  if (!failure) {
    XLA_FFI_State_Set_Args own = {.struct_size = sizeof own,
                                  .ctx = given.ctx,
                                  .stage = given.stage,
                                  .type_id = &holder_type,
                                  .state = kept};
    failure = plugin_api->XLA_FFI_State_Set(&own);
  }
  if (failure) free(kept); /* the state itself stays the handler's */
  return failure;
}

XLA_FFI_Error *cyxla__ffi_state_get(const XLA_FFI_Api *plugin_api, XLA_FFI_TypeId holder_type,
                                    XLA_FFI_State_Get_Args *args) {
  const cyxla__ffi_state_args wanted = cyxla__ffi_read_state_args(args);
  XLA_FFI_State_Get_Args own = {
      .struct_size = sizeof own, .ctx = wanted.ctx, .stage = wanted.stage, .type_id = &holder_type};
  XLA_FFI_Error *failure = plugin_api->XLA_FFI_State_Get(&own);
  if (failure) return failure;
  const holder *kept = own.state;
  if (kept->type_id != wanted.type_id)
    return cyxla__ffi_error(
        plugin_api, XLA_FFI_Error_Code_FAILED_PRECONDITION,
        "the handler asks for a state of type %lld and has set one of type %lld",
        (long long)wanted.type_id, (long long)kept->type_id);
  *wanted.state = kept->state;
  return NULL;
}
