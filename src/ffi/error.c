#include "ffi/error.h"

#include <stdarg.h>
#include <stdio.h>

XLA_FFI_Error *cyxla__ffi_error(const XLA_FFI_Api *plugin_api, XLA_FFI_Error_Code code,
                                const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  XLA_FFI_Error_Create_Args args = {.struct_size = sizeof args, .message = message, .errc = code};
  return plugin_api->XLA_FFI_Error_Create(&args);
}

int32_t cyxla__ffi_check(const XLA_FFI_Api *plugin_api, XLA_FFI_Error *failure, const char *what,
                         cyxla_error *error) {
  if (!failure) return CYXLA_OK;
  /* Plugins of before minor 4 fill no code. */
  XLA_FFI_Error_GetDetails_Args details = {
      .struct_size = sizeof details, .error = failure, .errc = (XLA_FFI_Error_Code)CYXLA_UNKNOWN};
  plugin_api->XLA_FFI_Error_GetDetails(&details);
  const int32_t status =
      cyxla__fail(error, cyxla__status_of_code(details.errc), "%s: %s", what, details.message);
  XLA_FFI_Error_Destroy_Args destroy = {.struct_size = sizeof destroy, .error = failure};
  plugin_api->XLA_FFI_Error_Destroy(&destroy);
  return status;
}
