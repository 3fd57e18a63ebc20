/* Errors of the FFI API of a plugin: made for it, and taken from it. */
#ifndef CYXLA_FFI_ERROR_H
#define CYXLA_FFI_ERROR_H

#include "base/status.h"
#include "ffi/xla_ffi_abi.h"

/* An error that the plugin's XLA understands. */
XLA_FFI_Error *cyxla__ffi_error(const XLA_FFI_Api *plugin_api, XLA_FFI_Error_Code code,
                                const char *format, ...) CYXLA__PRINTF(3, 4);

/* Status of `failure` (NULL: success), which is destroyed; the message goes to `error`, after
 * `what`. */
int32_t cyxla__ffi_check(const XLA_FFI_Api *plugin_api, XLA_FFI_Error *failure, const char *what,
                         cyxla_error *error);

#endif
