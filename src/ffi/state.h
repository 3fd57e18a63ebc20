/* State that handlers make in the stage instantiate and find again in later ones.
 *
 * XLA keeps a state for each custom call of an executable, under a type that must be registered
 * with that very XLA.  Handlers' types are registered with jaxlib's, whose numbers mean nothing, or
 * something else, to a plugin.  And so a plugin gets to keep states of one type only, our own: a
 * holder of the handler's state and of the number of its type. */
#ifndef CYXLA_FFI_STATE_H
#define CYXLA_FFI_STATE_H

#include "cyxla/cyxla.h"
#include "ffi/error.h"
#include "ffi/xla_ffi_abi.h"

/* What handlers give and take as XLA_FFI_State_Set_Args and XLA_FFI_State_Get_Args, in any version. */
typedef struct cyxla__ffi_state_args {
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_ExecutionStage stage;
  int64_t type_id;
  void **state; /* in the handler's struct */
} cyxla__ffi_state_args;

/* `args`: either of both structs, which have the same members. */
cyxla__ffi_state_args cyxla__ffi_read_state_args(void *args);

/* Finds how states of a type are freed; an error of `api`: it is not registered with cyxla. */
XLA_FFI_Error *cyxla__ffi_find_deleter(const XLA_FFI_Api *api, int64_t type_id,
                                       cyxla_state_deleter *out_deleter);

/* Registers the type of our holders with a plugin. */
int32_t cyxla__ffi_state_register(const XLA_FFI_Api *plugin_api, XLA_FFI_TypeId *out_type,
                                  cyxla_error *error);

/* What handlers get as XLA_FFI_State_Set and XLA_FFI_State_Get: `plugin_api` keeps a holder of type
 * `holder_type`. */
XLA_FFI_Error *cyxla__ffi_state_set(const XLA_FFI_Api *plugin_api, XLA_FFI_TypeId holder_type,
                                    XLA_FFI_State_Set_Args *args);
XLA_FFI_Error *cyxla__ffi_state_get(const XLA_FFI_Api *plugin_api, XLA_FFI_TypeId holder_type,
                                    XLA_FFI_State_Get_Args *args);

#endif
