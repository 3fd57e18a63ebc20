#include "pjrt/ffi_extension.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "base/memory.h"
#include "ffi/bridge.h"
#include "ffi/error.h"
#include "ffi/host_api.h"
#include "ffi/registry.h"

/* ---- the extension (xla/pjrt/c/pjrt_c_api_ffi_extension.h) ----
 *
 * Its function that registers a handler takes only one for the stage execute, and reports no
 * failure of XLA's.  It serves to get hold of the FFI API itself: a probe is registered, and when
 * the plugin asks it for its metadata, the question brings the table. */

enum { EXTENSION_FFI = 5 };

struct PJRT_Extension_Base {
  size_t struct_size;
  int type;
  struct PJRT_Extension_Base *next;
};

typedef struct register_handler_args {
  size_t struct_size;
  const char *target_name;
  size_t target_name_size;
  void *handler;
  const char *platform_name;
  size_t platform_name_size;
  uint32_t traits;
} register_handler_args;

/* Before some minor between 81 and 115 there was a number before the handler: 1 for a typed one. */
typedef struct old_register_handler_args {
  size_t struct_size;
  const char *target_name;
  size_t target_name_size;
  int api_version;
  void *handler;
  const char *platform_name;
  size_t platform_name_size;
  uint32_t traits;
} old_register_handler_args;

typedef struct ffi_extension {
  struct PJRT_Extension_Base base;
  void (*type_id_register)(void);
  void (*user_data_add)(void);
  PJRT_Error *(*register_handler)(void *args);
} ffi_extension;

static const ffi_extension *find_extension(const cyxla_plugin *plugin) {
  const struct PJRT_Extension_Base *extension = plugin->api.table.extension_start;
  while (extension && extension->type != EXTENSION_FFI) extension = extension->next;
  if (!extension || extension->struct_size < sizeof(ffi_extension)) return NULL;
  return (const ffi_extension *)extension;
}

/* ---- the probe ---- */

static _Thread_local const XLA_FFI_Api *probed_api;

/* It accepts whatever version it is asked for: a refusal would be leaked by the plugin. */
static XLA_FFI_Error *probe(XLA_FFI_CallFrame *frame) {
  probed_api = frame->api;
  if (!frame->extension_start || frame->extension_start->type != XLA_FFI_Extension_Metadata)
    return cyxla__ffi_error(frame->api, XLA_FFI_Error_Code_UNIMPLEMENTED,
                            "cyxla's probe is not to be called");
  XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
  metadata->api_version.major_version = frame->api->api_version.major_version;
  metadata->api_version.minor_version = frame->api->api_version.minor_version;
  return NULL;
}

/* The plugin's FFI table, or NULL. */
static const XLA_FFI_Api *probe_api(const cyxla_plugin *plugin, const ffi_extension *extension) {
  char name[64]; /* another one for each cyxla in the process */
  snprintf(name, sizeof name, "cyxla.probe.%zx", (size_t)(uintptr_t)probe);
  const size_t platform_size = strlen(plugin->platform);
  probed_api = NULL;
  register_handler_args args = {.struct_size = sizeof args,
                                .target_name = name,
                                .target_name_size = strlen(name),
                                .handler = (void *)(uintptr_t)probe,
                                .platform_name = plugin->platform,
                                .platform_name_size = platform_size};
  old_register_handler_args old = {.struct_size = sizeof old,
                                   .target_name = name,
                                   .target_name_size = strlen(name),
                                   .api_version = 1,
                                   .handler = (void *)(uintptr_t)probe,
                                   .platform_name = plugin->platform,
                                   .platform_name_size = platform_size};
  /* Whether and how the plugin refuses is no matter.  One that has the old struct refuses the new
   * one, which is smaller, without looking into it. */
  cyxla__pjrt_check(&plugin->api, extension->register_handler(&args), "", NULL);
  if (!probed_api) cyxla__pjrt_check(&plugin->api, extension->register_handler(&old), "", NULL);
  return probed_api;
}

static int32_t open_ffi(cyxla_plugin *plugin, cyxla_error *error) {
  const ffi_extension *extension = find_extension(plugin);
  const XLA_FFI_Api *api = extension ? probe_api(plugin, extension) : NULL;
  if (!api)
    return cyxla__fail(
        error, CYXLA_UNIMPLEMENTED,
        "%s: it has no way to register FFI targets (its PJRT is %d.%d; XLA's CPU plugins "
        "have one in minor 81 and later)",
        plugin->path, plugin->api.table.pjrt_api_version.major_version,
        plugin->api.table.pjrt_api_version.minor_version);
  const int own_major = cyxla__ffi_host_api()->api_version.major_version;
  if (api->api_version.major_version != own_major)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                       "%s: its FFI has version %d.%d, and this cyxla knows major version %d",
                       plugin->path, api->api_version.major_version, api->api_version.minor_version,
                       own_major);
  TRY(cyxla__ffi_bridge_open(api, error));
  plugin->ffi.api = api;
  return CYXLA_OK;
}

/* ---- targets ---- */

/* The plugin's struct grew in the middle when the bundle got another stage. */
enum { MINOR_WITH_RECORD = 4, MINOR_WITH_STAGES = 3 };

static int32_t register_handlers(const cyxla_plugin *plugin, const cyxla__ffi_target *target,
                                 XLA_FFI_Handler *const handlers[CYXLA__FFI_STAGE_COUNT],
                                 cyxla_error *error) {
  XLA_FFI_Handler_Register_Args args = {
      .struct_size = sizeof args,
      .name = {target->name, strlen(target->name)},
      .platform = {plugin->platform, strlen(plugin->platform)},
      .bundle = {.instantiate = handlers[XLA_FFI_ExecutionStage_INSTANTIATE],
                 .prepare = handlers[XLA_FFI_ExecutionStage_PREPARE],
                 .initialize = handlers[XLA_FFI_ExecutionStage_INITIALIZE],
                 .execute = handlers[XLA_FFI_ExecutionStage_EXECUTE]},
      .traits = target->traits};
  if (plugin->ffi.api->api_version.minor_version < MINOR_WITH_RECORD) {
    /* The traits come where `record` is now. */
    memcpy(&args.bundle.record, &args.traits, sizeof args.traits);
    args.struct_size -= sizeof args.bundle.record;
  }
  return cyxla__ffi_check(plugin->ffi.api, plugin->ffi.api->XLA_FFI_Handler_Register(&args),
                          target->name, error);
}

static int32_t register_target(cyxla_plugin *plugin, size_t index, cyxla_error *error) {
  const cyxla__ffi_target *target = cyxla__ffi_target_at(index);
  const int plugin_minor = plugin->ffi.api->api_version.minor_version;
  const bool has_state = cyxla__ffi_target_has_state(target);
  if (has_state && plugin_minor < MINOR_WITH_STAGES)
    return cyxla__fail(
        error, CYXLA_UNIMPLEMENTED,
        "FFI target %s keeps state (its handlers are for FFI 0.%d), which the plugin's FFI, "
        "0.%d, can't be given",
        target->name, target->minor, plugin_minor);
  const bool needs_bridge = has_state || target->minor > plugin_minor;
  XLA_FFI_Handler *trampolines[CYXLA__FFI_STAGE_COUNT];
  for (int stage = 0; stage < CYXLA__FFI_STAGE_COUNT; ++stage)
    trampolines[stage] = target->handlers[stage] ? cyxla__ffi_trampoline(index) : NULL;
  int32_t status = register_handlers(plugin, target, trampolines, error);
  /* Where others have registered the same handlers, the plugin wants them again, or nothing. */
  if (status && !needs_bridge) status = register_handlers(plugin, target, target->handlers, error);
  if (status) return status;
  plugin->ffi.targets[index].state = needs_bridge ? CYXLA_FFI_BRIDGED : CYXLA_FFI_REGISTERED;
  return CYXLA_OK;
}

static void keep_failure(cyxla_plugin *plugin, size_t index, const cyxla_error *error) {
  plugin->ffi.targets[index].state = CYXLA_FFI_FAILED;
  plugin->ffi.targets[index].failure = strdup(error->message);
}

static cyxla__fork_lock registration_lock;

void cyxla__pjrt_register_targets(cyxla_plugin *plugin) {
  /* In a fork of a process that was just registering, programs with custom calls are refused. */
  if (!cyxla__fork_lock_take(&registration_lock)) return;
  const size_t count = cyxla__ffi_target_count();
  for (; plugin->ffi.seen < count; ++plugin->ffi.seen) {
    if (strcmp(cyxla__ffi_target_at(plugin->ffi.seen)->platform, plugin->platform)) continue;
    cyxla_error error = CYXLA_ERROR_INIT;
    if ((!plugin->ffi.api && open_ffi(plugin, &error)) ||
        register_target(plugin, plugin->ffi.seen, &error))
      keep_failure(plugin, plugin->ffi.seen, &error);
  }
  cyxla__fork_lock_give(&registration_lock);
}

int32_t cyxla_ffi_target_get_info(size_t index, cyxla_plugin *plugin,
                                  cyxla_ffi_target_info *out_info, cyxla_error *error) {
  if (index >= cyxla__ffi_target_count())
    return cyxla__fail(error, CYXLA_OUT_OF_RANGE, "there is no FFI target %zu", index);
  const cyxla__ffi_target *target = cyxla__ffi_target_at(index);
  cyxla_ffi_target_info info = {
      .struct_size = out_info->struct_size,
      .name = target->name,
      .platform = target->platform,
      .ffi_minor = target->minor,
      .has_state = cyxla__ffi_target_has_state(target),
  };
  if (plugin) {
    TRY(cyxla__plugin_check_process(plugin, error));
    cyxla__pjrt_register_targets(plugin);
    if (cyxla__fork_lock_take(&registration_lock)) {
      info.state = plugin->ffi.targets[index].state;
      info.failure = plugin->ffi.targets[index].failure;
      cyxla__fork_lock_give(&registration_lock);
    }
  }
  cyxla__copy_info(out_info, &info, sizeof info);
  return CYXLA_OK;
}
