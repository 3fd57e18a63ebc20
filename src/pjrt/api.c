#include "pjrt/api.h"

#include <string.h>

#include "base/library.h"

/* Functions without which nothing runs.  Any other slot is asked for where it is used. */
#define REQUIRED_SLOTS(X)                \
  X(PJRT_Error_Destroy)                  \
  X(PJRT_Error_Message)                  \
  X(PJRT_Error_GetCode)                  \
  X(PJRT_Plugin_Initialize)              \
  X(PJRT_Event_Destroy)                  \
  X(PJRT_Event_Await)                    \
  X(PJRT_Client_Create)                  \
  X(PJRT_Client_Destroy)                 \
  X(PJRT_Client_PlatformName)            \
  X(PJRT_Client_AddressableDevices)      \
  X(PJRT_Client_Compile)                 \
  X(PJRT_Client_BufferFromHostBuffer)    \
  X(PJRT_Executable_Destroy)             \
  X(PJRT_Executable_NumOutputs)          \
  X(PJRT_LoadedExecutable_Destroy)       \
  X(PJRT_LoadedExecutable_GetExecutable) \
  X(PJRT_LoadedExecutable_Execute)       \
  X(PJRT_Buffer_Destroy)                 \
  X(PJRT_Buffer_ToHostBuffer)

static int32_t check_version(const PJRT_Api *table, const char *path, cyxla_error *error) {
  const size_t version_end = offsetof(PJRT_Api, pjrt_api_version) + sizeof table->pjrt_api_version;
  if (table->struct_size < version_end)
    return cyxla__fail(
        error, CYXLA_PLUGIN_INVALID,
        "%s: its PJRT table of %zu bytes is too small to hold a version; this is no PJRT plugin",
        path, table->struct_size);
  if (table->pjrt_api_version.major_version != PJRT_API_MAJOR)
    return cyxla__fail(error, CYXLA_PLUGIN_INVALID,
                       "%s: it speaks PJRT %d.%d, and this cyxla speaks major version %d", path,
                       table->pjrt_api_version.major_version, table->pjrt_api_version.minor_version,
                       PJRT_API_MAJOR);
  return CYXLA_OK;
}

static int32_t report_missing(const cyxla__pjrt_api *api, int32_t status, const char *function,
                              cyxla_error *error) {
  return cyxla__fail(error, status, "%s: it has no %s (its PJRT is %d.%d)", api->path, function,
                     api->table.pjrt_api_version.major_version,
                     api->table.pjrt_api_version.minor_version);
}

static int32_t check_slots(const cyxla__pjrt_api *api, cyxla_error *error) {
#define CHECK_SLOT(function) \
  if (!api->table.function) return report_missing(api, CYXLA_PLUGIN_INVALID, #function, error);
  REQUIRED_SLOTS(CHECK_SLOT)
#undef CHECK_SLOT
  return CYXLA_OK;
}

int32_t cyxla__pjrt_api_open(cyxla__pjrt_api *api, const char *path, cyxla_error *error) {
  *api = (cyxla__pjrt_api){.path = path};
  void *library;
  TRY(cyxla__library_open(path, &library, error));
  const PJRT_Api *(*get_api)(void) =
      (const PJRT_Api *(*)(void))cyxla__library_find(library, "GetPjrtApi");
  if (!get_api)
    return cyxla__fail(error, CYXLA_PLUGIN_INVALID,
                       "%s: it has no function GetPjrtApi; this is no PJRT plugin", path);
  const PJRT_Api *table = get_api();
  if (!table)
    return cyxla__fail(error, CYXLA_PLUGIN_INVALID, "%s: GetPjrtApi returned no table", path);
  TRY(check_version(table, path, error));
  const size_t size =
      table->struct_size < sizeof api->table ? table->struct_size : sizeof api->table;
  memcpy(&api->table, table, size);
  return check_slots(api, error);
}

int32_t cyxla__pjrt_check(const cyxla__pjrt_api *api, PJRT_Error *pjrt_error, const char *function,
                          cyxla_error *error) {
  if (!pjrt_error) return CYXLA_OK;
  PJRT_ARGS(PJRT_Error_Message, message, .error = pjrt_error);
  api->table.PJRT_Error_Message(&message.args);
  PJRT_ARGS(PJRT_Error_GetCode, get_code, .error = pjrt_error, .code = PJRT_Error_Code_UNKNOWN);
  PJRT_Error *failure = api->table.PJRT_Error_GetCode(&get_code.args);
  const int32_t status = failure ? CYXLA_UNKNOWN : cyxla__status_of_code(get_code.args.code);
  cyxla__fail(error, status, "%s: %.*s", function, (int)message.args.message_size,
              message.args.message ? message.args.message : "");
  PJRT_ARGS(PJRT_Error_Destroy, destroy, .error = pjrt_error);
  api->table.PJRT_Error_Destroy(&destroy.args);
  if (failure) {
    destroy.args.error = failure;
    api->table.PJRT_Error_Destroy(&destroy.args);
  }
  return status;
}

int32_t cyxla__pjrt_unsupported(const cyxla__pjrt_api *api, const char *function,
                                cyxla_error *error) {
  return report_missing(api, CYXLA_UNIMPLEMENTED, function, error);
}

void cyxla__pjrt_event_destroy(const cyxla__pjrt_api *api, PJRT_Event *event) {
  if (!event) return;
  PJRT_ARGS(PJRT_Event_Destroy, destroy, .event = event);
  PJRT_CALL(api, PJRT_Event_Destroy, destroy, NULL);
}

int32_t cyxla__pjrt_event_await(const cyxla__pjrt_api *api, PJRT_Event *event, cyxla_error *error) {
  if (!event) return CYXLA_OK;
  PJRT_ARGS(PJRT_Event_Await, await, .event = event);
  const int32_t status = PJRT_CALL(api, PJRT_Event_Await, await, error);
  cyxla__pjrt_event_destroy(api, event);
  return status;
}
