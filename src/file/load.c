/* Program files to executables: the stored one where it fits, else one that is compiled again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ffi/registry.h"
#include "file/file.h"

/* ---- FFI targets ---- */

/* A list of names for a message, which may be cut. */
typedef struct name_list {
  char text[1024];
  size_t size;
} name_list;

static void add_name(name_list *list, const char *name) {
  const size_t room = sizeof list->text - list->size;
  const int size = snprintf(list->text + list->size, room, "%s%s", list->size ? ", " : "", name);
  if (size > 0 && (size_t)size < room)
    list->size += (size_t)size;
  else
    list->text[list->size] = 0;
}

static bool is_registered(const char *target, const char *platform) {
  return cyxla__ffi_find_target((cyxla__span){(uint8_t *)target, strlen(target)}, platform) != NULL;
}

static int32_t check_targets(const cyxla_file_info *info, cyxla_error *error) {
  name_list missing = {.size = 0};
  bool of_lapack = false;
  for (size_t i = 0; i < info->target_count; ++i) {
    if (is_registered(info->targets[i], info->platform)) continue;
    add_name(&missing, info->targets[i]);
    of_lapack = of_lapack || !strncmp(info->targets[i], "lapack_", strlen("lapack_"));
  }
  if (!missing.size) return CYXLA_OK;
  return cyxla__fail(error, CYXLA_NOT_FOUND,
                     "needs FFI targets that are not registered for %s: %s (see "
                     "cyxla_register_ffi_target%s)",
                     info->platform, missing.text,
                     of_lapack ? "; jaxlib's LAPACK needs Python" : "");
}

/* ---- the stored executable ---- */

static int32_t deserialize(const cyxla_file *file, cyxla_plugin *plugin, int32_t engine,
                           cyxla_executable **out_executable, cyxla_error *error) {
  const cyxla_file_info *info = &file->description.info;
  return cyxla_executable_deserialize(plugin, &file->description.program, info->executable,
                                      info->executable_size, engine, out_executable, error);
}

/* Whether a failure says nothing against compiling again. */
static bool may_compile(int32_t status) {
  return status && status != CYXLA_RESOURCE_EXHAUSTED && status != CYXLA_NOT_FOUND &&
         status != CYXLA_SIGNATURE_MISMATCH;
}

/* Tries the executable without a plugin; `reason` gets why that does not do. */
static int32_t try_direct(const cyxla_file *file, int32_t engine, cyxla_executable **out_executable,
                          cyxla_error *reason) {
  const cyxla_file_info *info = &file->description.info;
  if (!info->executable)
    return cyxla__fail(reason, CYXLA_FAILED_PRECONDITION, "there is no executable in it");
  if (strcmp(info->platform, "cpu"))
    return cyxla__fail(reason, CYXLA_FAILED_PRECONDITION, "its platform is %s", info->platform);
  if (engine == CYXLA_ENGINE_PJRT)
    return cyxla__fail(reason, CYXLA_FAILED_PRECONDITION, "PJRT's engine was asked for");
  return deserialize(file, NULL, engine, out_executable, reason);
}

/* Tries the executable with the plugin that compiled it: PJRT takes no others, but need not notice. */
static int32_t try_plugin(const cyxla_file *file, cyxla_plugin *plugin, int32_t engine,
                          cyxla_executable **out_executable, cyxla_error *reason) {
  const cyxla_file_info *info = &file->description.info;
  cyxla_plugin_info plugin_info = {.struct_size = sizeof plugin_info};
  cyxla_plugin_get_info(plugin, &plugin_info);
  if (!info->executable || engine == CYXLA_ENGINE_DIRECT || !*info->fingerprint ||
      strcmp(info->fingerprint, plugin_info.fingerprint))
    return CYXLA_FAILED_PRECONDITION;
  return deserialize(file, plugin, engine, out_executable, reason);
}

/* ---- compiling again ---- */

static int32_t check_platform(const cyxla_plugin *plugin, const char *platform,
                              cyxla_error *error) {
  cyxla_plugin_info info = {.struct_size = sizeof info};
  cyxla_plugin_get_info(plugin, &info);
  if (!strcmp(info.platform, platform)) return CYXLA_OK;
  return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "it is for %s, and the plugin %s for %s",
                     platform, info.path, info.platform);
}

/* The caller's plugin, or that which the environment names. */
static int32_t find_plugin(const char *platform, cyxla_plugin **plugin, const cyxla_error *reason,
                           cyxla_error *error) {
  if (*plugin) return check_platform(*plugin, platform, error);
  const char *path = getenv("CYXLA_PLUGIN");
  if (!path || !*path)
    return cyxla__fail(error, CYXLA_FAILED_PRECONDITION,
                       "%s; another way needs a plugin: give one, or set the environment variable "
                       "CYXLA_PLUGIN to its path",
                       reason->message);
  const int32_t status = cyxla_plugin_load(path, platform, NULL, 0, plugin, error);
  if (status) cyxla__add_context(error, "the environment variable CYXLA_PLUGIN");
  return status;
}

static int32_t compile(const cyxla_file *file, cyxla_plugin *plugin, int32_t engine,
                       const cyxla_error *reason, cyxla_executable **out_executable,
                       cyxla_error *error) {
  const cyxla_program *program = &file->description.program;
  const cyxla_file_info *info = &file->description.info;
  if (!program->code_size)
    return cyxla__fail(error, CYXLA_FAILED_PRECONDITION,
                       "%s; there is no StableHLO in it that could be compiled", reason->message);
  return cyxla_compile(plugin, program, info->options, info->option_count, engine, out_executable,
                       error);
}

int32_t cyxla_file_load(const cyxla_file *file, cyxla_plugin *plugin, int32_t engine,
                        cyxla_executable **out_executable, cyxla_error *error) {
  const cyxla_file_info *info = &file->description.info;
  cyxla_error reason = CYXLA_ERROR_INIT;
  TRY(check_targets(info, error));
  int32_t status = try_direct(file, engine, out_executable, &reason);
  if (may_compile(status)) {
    TRY(find_plugin(info->platform, &plugin, &reason, error));
    status = try_plugin(file, plugin, engine, out_executable, &reason);
  }
  if (may_compile(status)) return compile(file, plugin, engine, &reason, out_executable, error);
  return status ? cyxla__fail(error, status, "%s", reason.message) : CYXLA_OK;
}

int32_t cyxla_load(const char *path, cyxla_plugin *plugin, int32_t engine,
                   cyxla_executable **out_executable, cyxla_error *error) {
  cyxla_file *file;
  TRY(cyxla_file_open(path, &file, error));
  const int32_t status = cyxla_file_load(file, plugin, engine, out_executable, error);
  cyxla_file_close(file);
  if (status) cyxla__add_context(error, path);
  return status;
}
