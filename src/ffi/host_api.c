#include "ffi/host_api.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ffi/error.h"
#include "ffi/future.h"
#include "ffi/state.h"

enum { HOST_MAJOR = 0, HOST_MINOR = 5 };

/* ---- errors ---- */

struct XLA_FFI_Error {
  XLA_FFI_Error_Code code;
  const char *message;
};

/* A failure must not get lost where there is no memory to tell it. */
static XLA_FFI_Error out_of_memory = {XLA_FFI_Error_Code_RESOURCE_EXHAUSTED,
                                      "out of memory, for an error's message too"};

static XLA_FFI_Error *create_error(XLA_FFI_Error_Create_Args *args) {
  const size_t size = strlen(args->message) + 1;
  XLA_FFI_Error *error = malloc(sizeof *error + size);
  if (!error) return &out_of_memory;
  char *message = memcpy(error + 1, args->message, size);
  *error = (XLA_FFI_Error){.code = args->errc, .message = message};
  return error;
}

static void get_details(XLA_FFI_Error_GetDetails_Args *args) {
  args->message = args->error->message;
  /* Handlers of before minor 4 bring a struct without the code. */
  if (args->struct_size > offsetof(XLA_FFI_Error_GetDetails_Args, errc))
    args->errc = args->error->code;
}

static void destroy_error(XLA_FFI_Error_Destroy_Args *args) {
  if (args->error != &out_of_memory) free(args->error);
}

/* ---- state ---- */

/* Codes of errors here are those of xla/ffi/execution_state.cc. */
static XLA_FFI_Error *set_state(XLA_FFI_State_Set_Args *args) {
  const cyxla__ffi_state_args given = cyxla__ffi_read_state_args(args);
  const XLA_FFI_Api *api = cyxla__ffi_host_api();
  if (!given.ctx->is_instantiating || given.stage != XLA_FFI_ExecutionStage_INSTANTIATE)
    return cyxla__ffi_error(api, XLA_FFI_Error_Code_FAILED_PRECONDITION,
                            "only the stage instantiate can set a state");
  if (!*given.state)
    return cyxla__ffi_error(api, XLA_FFI_Error_Code_INVALID_ARGUMENT, "a state can't be NULL");
  cyxla__ffi_state *kept = given.ctx->state;
  if (kept->state)
    return cyxla__ffi_error(api, XLA_FFI_Error_Code_FAILED_PRECONDITION,
                            "State is set already, with the type %lld", (long long)kept->type_id);
  XLA_FFI_Error *failure = cyxla__ffi_find_deleter(api, given.type_id, &kept->deleter);
  if (failure) return failure;
  kept->type_id = given.type_id;
  kept->state = *given.state;
  return NULL;
}

static XLA_FFI_Error *get_state(XLA_FFI_State_Get_Args *args) {
  const cyxla__ffi_state_args wanted = cyxla__ffi_read_state_args(args);
  const cyxla__ffi_state *kept = wanted.ctx->state;
  if (!kept->state || wanted.stage != XLA_FFI_ExecutionStage_INSTANTIATE)
    return cyxla__ffi_error(cyxla__ffi_host_api(), XLA_FFI_Error_Code_NOT_FOUND,
                            "State is not set");
  if (kept->type_id != wanted.type_id)
    return cyxla__ffi_error(
        cyxla__ffi_host_api(), XLA_FFI_Error_Code_INVALID_ARGUMENT,
        "the handler asks for a state of type %lld and has set one of type %lld",
        (long long)wanted.type_id, (long long)kept->type_id);
  *wanted.state = kept->state;
  return NULL;
}

/* What a failure of cyxla's is for a handler. */
static XLA_FFI_Error *convert_error(int32_t status, const cyxla_error *error) {
  if (!status) return NULL;
  return cyxla__ffi_error(cyxla__ffi_host_api(), (XLA_FFI_Error_Code)cyxla__status_of_code(status),
                          "%s", error->message);
}

static XLA_FFI_Error *register_type(XLA_FFI_Type_Register_Args *args) {
  cyxla_error error = CYXLA_ERROR_INIT;
  return convert_error(
      cyxla_register_ffi_type(&args->type_id->type_id, args->type_info->deleter, &error), &error);
}

/* ---- threads and futures ---- */

/* Handlers can rely on no other thread: c_api.h allows that tasks run in the one that schedules them. */
static XLA_FFI_Error *schedule(XLA_FFI_ThreadPool_Schedule_Args *args) {
  args->task(args->data);
  return NULL;
}

static XLA_FFI_Error *count_threads(XLA_FFI_ThreadPool_NumThreads_Args *args) {
  *args->num_threads = 1;
  return NULL;
}

static XLA_FFI_Error *create_future(XLA_FFI_Future_Create_Args *args) {
  return cyxla__ffi_future_create(cyxla__ffi_host_api(), args);
}

static XLA_FFI_Error *set_available(XLA_FFI_Future_SetAvailable_Args *args) {
  cyxla__ffi_future_set_available(args);
  return NULL;
}

static XLA_FFI_Error *set_error(XLA_FFI_Future_SetError_Args *args) {
  return cyxla__ffi_future_set_error(cyxla__ffi_host_api(), args);
}

/* ---- the call ---- */

/* Each call is a run of its own: it tells apart what is XLA's "logical execution", but not what belongs to the
 * same one. */
static XLA_FFI_Error *get_run_id(XLA_FFI_RunId_Get_Args *args) {
  static atomic_int_least64_t last;
  if (!args->ctx->run_id) args->ctx->run_id = atomic_fetch_add(&last, 1) + 1;
  args->run_id = args->ctx->run_id;
  return NULL;
}

static XLA_FFI_Error *get_device_ordinal(XLA_FFI_DeviceOrdinal_Get_Args *args) {
  args->device_ordinal = 0;
  return NULL;
}

static XLA_FFI_Error *find_extension(XLA_FFI_InvokeContext_FindExtension_Args *args) {
  args->extension = NULL; /* there is none */
  return NULL;
}

static XLA_FFI_Error *get_custom_options(XLA_FFI_CustomOptions_Get_Args *args) {
  static const XLA_FFI_Attrs none = {.struct_size = sizeof none};
  args->attrs = &none;
  return NULL;
}

/* ---- what there is not ---- */

static XLA_FFI_Error *refuse(const char *what) {
  return cyxla__ffi_error(cyxla__ffi_host_api(), XLA_FFI_Error_Code_UNIMPLEMENTED, "%s", what);
}

static XLA_FFI_Error *refuse_handlers(XLA_FFI_Handler_Register_Args *args) {
  (void)args;
  return refuse("handlers are registered by cyxla_register_ffi_target");
}

/* As in XLA, streams and memory of a device are GPUs' only. */
static XLA_FFI_Error *refuse_streams(void) {
  return refuse("a CPU has no streams");
}

static XLA_FFI_Error *refuse_memory(void) {
  return refuse("a CPU has no device memory");
}

static XLA_FFI_Error *refuse_user_data(void) {
  return refuse("there is no user data in the context of this call");
}

static XLA_FFI_Error *refuse_newer(void) {
  return cyxla__ffi_error(cyxla__ffi_host_api(), XLA_FFI_Error_Code_UNIMPLEMENTED,
                          "the handler needs a newer XLA FFI API than cyxla's, which is %d.%d",
                          HOST_MAJOR, HOST_MINOR);
}

/* ---- the table ---- */

#define OTHER(function) ((void (*)(void))(function))
#define EIGHT_NEWER                                                                   \
  OTHER(refuse_newer), OTHER(refuse_newer), OTHER(refuse_newer), OTHER(refuse_newer), \
      OTHER(refuse_newer), OTHER(refuse_newer), OTHER(refuse_newer), OTHER(refuse_newer)

/* Handlers don't ask how long the table is before they call what was in theirs. */
static const struct {
  XLA_FFI_Api api;
  void (*newer[32])(void);
} host = {
    .api = {.struct_size = sizeof host.api,
            .api_version = {.struct_size = sizeof host.api.api_version,
                            .major_version = HOST_MAJOR,
                            .minor_version = HOST_MINOR},
            .XLA_FFI_Error_Create = create_error,
            .XLA_FFI_Error_GetDetails = get_details,
            .XLA_FFI_Error_Destroy = destroy_error,
            .XLA_FFI_Handler_Register = refuse_handlers,
            .XLA_FFI_Stream_Get = {OTHER(refuse_streams)},
            .XLA_FFI_Type_Register = register_type,
            .XLA_FFI_InvokeContext_Get = {OTHER(refuse_user_data)},
            .XLA_FFI_State_Set = set_state,
            .XLA_FFI_State_Get = get_state,
            .XLA_FFI_DeviceMemory_Allocate = {OTHER(refuse_memory), OTHER(refuse_memory)},
            .XLA_FFI_ThreadPool_Schedule = schedule,
            .XLA_FFI_ThreadPool_NumThreads = count_threads,
            .XLA_FFI_Future_Create = create_future,
            .XLA_FFI_Future_SetAvailable = set_available,
            .XLA_FFI_Future_SetError = set_error,
            .XLA_FFI_RunId_Get = get_run_id,
            .XLA_FFI_DeviceOrdinal_Get = get_device_ordinal,
            .XLA_FFI_InvokeContext_FindExtension = find_extension,
            .XLA_FFI_CustomOptions_Get = get_custom_options},
    .newer = {EIGHT_NEWER, EIGHT_NEWER, EIGHT_NEWER, EIGHT_NEWER},
};

const XLA_FFI_Api *cyxla__ffi_host_api(void) {
  return &host.api;
}

/* ---- metadata ---- */

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
      .api = &host.api,
      .stage = XLA_FFI_ExecutionStage_EXECUTE,
  };
  XLA_FFI_Error *failure = handler(&frame);
  if (failure) {
    char what[256];
    snprintf(what, sizeof what, "FFI target %s: its handler does not tell its version", target);
    return cyxla__ffi_check(&host.api, failure, what, error);
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
