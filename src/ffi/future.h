/* Futures by which asynchronous handlers say that they are done. */
#ifndef CYXLA_FFI_FUTURE_H
#define CYXLA_FFI_FUTURE_H

#include "ffi/xla_ffi_abi.h"

/* What handlers get as the functions of these names; `api` makes the errors. */
XLA_FFI_Error *cyxla__ffi_future_create(const XLA_FFI_Api *api, XLA_FFI_Future_Create_Args *args);
void cyxla__ffi_future_set_available(const XLA_FFI_Future_SetAvailable_Args *args);
XLA_FFI_Error *cyxla__ffi_future_set_error(const XLA_FFI_Api *api,
                                           const XLA_FFI_Future_SetError_Args *args);

/* Waits until some thread has completed the future, and destroys it; the error that it was completed
 * with, or NULL. */
XLA_FFI_Error *cyxla__ffi_future_await(XLA_FFI_Future *future);

#endif
