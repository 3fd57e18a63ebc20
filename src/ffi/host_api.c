#include "ffi/host_api.h"

#include <stdlib.h>
#include <string.h>

/* The version of the API that our table claims: the newest in xla_ffi_abi.h. */
enum { HOST_MAJOR = 0, HOST_MINOR = 4 };

struct XLA_FFI_Error {
  XLA_FFI_Error_Code code;
  char message[];
};

static XLA_FFI_Error *create_error(XLA_FFI_Error_Create_Args *args) {
  const size_t size = strlen(args->message) + 1;
  XLA_FFI_Error *error = malloc(sizeof *error + size);
  if (!error) return NULL; /* the handler's failure is lost: there is no memory to tell it */
  error->code = args->errc;
  memcpy(error->message, args->message, size);
  return error;
}

static void get_details(XLA_FFI_Error_GetDetails_Args *args) {
  args->message = args->error->message;
  /* Handlers of before minor 4 bring a struct without the code. */
  if (args->struct_size > offsetof(XLA_FFI_Error_GetDetails_Args, errc))
    args->errc = args->error->code;
}

static void destroy_error(XLA_FFI_Error_Destroy_Args *args) {
  free(args->error);
}

static const XLA_FFI_Api host_api = {
    .struct_size = sizeof host_api,
    .api_version = {.struct_size = sizeof host_api.api_version,
                    .major_version = HOST_MAJOR,
                    .minor_version = HOST_MINOR},
    .XLA_FFI_Error_Create = create_error,
    .XLA_FFI_Error_GetDetails = get_details,
    .XLA_FFI_Error_Destroy = destroy_error,
};

int32_t cyxla__ffi_ask_metadata(XLA_FFI_Handler *handler, const char *target, int *out_minor,
                                uint32_t *out_traits, cyxla_error *error) {
  XLA_FFI_Metadata metadata = {
      .struct_size = offsetof(XLA_FFI_Metadata, traits) + sizeof metadata.traits,
      .api_version = {.struct_size = sizeof metadata.api_version, .major_version = -1}};
  XLA_FFI_Metadata_Extension extension = {
      .extension_base = {.struct_size = sizeof extension, .type = XLA_FFI_Extension_Metadata},
      .metadata = &metadata};
  XLA_FFI_CallFrame frame = {
      .struct_size = offsetof(XLA_FFI_CallFrame, attrs) + sizeof frame.attrs,
      .extension_start = &extension.extension_base,
      .api = &host_api,
      .stage = XLA_FFI_ExecutionStage_EXECUTE,
  };
  XLA_FFI_Error *failure = handler(&frame);
  if (failure) {
    const int32_t status = cyxla__fail(error, cyxla__status_of_code(failure->code),
                                       "FFI target %s: its handler does not tell its version: %s",
                                       target, failure->message);
    free(failure);
    return status;
  }
  if (metadata.api_version.major_version != HOST_MAJOR)
    return cyxla__fail(
        error, CYXLA_UNIMPLEMENTED,
        "FFI target %s: its handler was compiled for version %d.%d of the XLA FFI API, "
        "and this cyxla knows major version %d",
        target, metadata.api_version.major_version, metadata.api_version.minor_version, HOST_MAJOR);
  *out_minor = metadata.api_version.minor_version;
  *out_traits = metadata.traits;
  return CYXLA_OK;
}
