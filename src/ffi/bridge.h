/* Between handlers and a plugin, whose FFI API may be another one than they were compiled for.
 *
 * A plugin refuses a handler that was compiled for a newer minor version than its own, keeps no state
 * of types that it does not know, and goes on in whatever floating-point environment a handler
 * leaves.  It is given trampolines instead, which tell a version that suits, call the handler with a
 * bridged table, and put the environment back.  The table is the plugin's, with our functions for
 * state, and filled up with functions that fail where a newer one may have others. */
#ifndef CYXLA_FFI_BRIDGE_H
#define CYXLA_FFI_BRIDGE_H

#include "base/status.h"
#include "ffi/xla_ffi_abi.h"

/* Makes the bridged table of a plugin, once for each; to be called before one of its executions can
 * meet a trampoline, by one thread at a time. */
int32_t cyxla__ffi_bridge_open(const XLA_FFI_Api *plugin_api, cyxla_error *error);

/* The trampoline of the target `index`, for each of its stages. */
XLA_FFI_Handler *cyxla__ffi_trampoline(size_t index);

#endif
