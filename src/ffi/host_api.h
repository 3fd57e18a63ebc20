/* The FFI API that cyxla itself offers to handlers, for calls that no plugin makes: of custom calls in
 * programs that run without one, and questions for metadata.
 *
 * Its version is the newest in xla_ffi_abi.h.  Handlers that were compiled for an older one call the same
 * functions; of a newer one, what is missing here fails with a message. */
#ifndef CYXLA_FFI_HOST_API_H
#define CYXLA_FFI_HOST_API_H

#include <stdbool.h>

#include "base/status.h"
#include "ffi/xla_ffi_abi.h"

/* What a handler's stage instantiate has made; `state` is NULL where it has not. */
typedef struct cyxla__ffi_state {
  void *state;
  int64_t type_id;
  cyxla_state_deleter deleter; /* NULL: nothing to do */
} cyxla__ffi_state;

/* What handlers know as an opaque context, and hand to the functions of the table. */
struct XLA_FFI_InvokeContext {
  cyxla__ffi_state *state;
  bool is_instantiating; /* later, calls in other threads have the same state */
  int64_t run_id;        /* 0 until the handler asks for it */
};

const XLA_FFI_Api *cyxla__ffi_host_api(void);

/* Asks a handler which version of the FFI API it was compiled for, and for its traits.  A handler
 * that fails, or answers with another major version, is an error that names `target`. */
int32_t cyxla__ffi_ask_metadata(XLA_FFI_Handler *handler, const char *target, int *out_minor,
                                uint32_t *out_traits, cyxla_error *error);

#endif
