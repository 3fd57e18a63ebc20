/* The FFI API that cyxla itself offers to handlers, for calls that no plugin makes: so far,
 * questions for their metadata. */
#ifndef CYXLA_FFI_HOST_API_H
#define CYXLA_FFI_HOST_API_H

#include "base/status.h"
#include "ffi/xla_ffi_abi.h"

/* Asks a handler which version of the FFI API it was compiled for, and for its traits.  A handler
 * that fails, or answers with another major version, is an error that names `target`. */
int32_t cyxla__ffi_ask_metadata(XLA_FFI_Handler *handler, const char *target, int *out_minor,
                                uint32_t *out_traits, cyxla_error *error);

#endif
