#include "pjrt/plugin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/library.h"
#include "base/memory.h"
#include "pjrt/client.h"
#include "pjrt/fingerprint.h"
#include "pjrt/surroundings.h"

/* Plugins that are loaded; guarded by the lock, never shortened. */
static cyxla__fork_lock plugins_lock;
static cyxla_plugin *plugins;

static cyxla_plugin *find_plugin(const char *resolved_path) {
  for (cyxla_plugin *plugin = plugins; plugin; plugin = plugin->next)
    if (!strcmp(plugin->path, resolved_path)) return plugin;
  return NULL;
}

static int32_t initialize(cyxla_plugin *plugin, cyxla_error *error) {
  PJRT_ARGS(PJRT_Plugin_Initialize, initialize, .extension_start = NULL);
  TRY(PJRT_CALL(&plugin->api, PJRT_Plugin_Initialize, initialize, error));
  PJRT_ARGS(PJRT_Plugin_Attributes, attributes, .extension_start = NULL);
  /* Plugins before attributes existed, or failing at them, have none to tell. */
  if (!PJRT_CALL_OPTIONAL(&plugin->api, PJRT_Plugin_Attributes, attributes, NULL)) {
    plugin->attributes = attributes.args.attributes;
    plugin->attribute_count = attributes.args.num_attributes;
  }
  return CYXLA_OK;
}

static void free_plugin(cyxla_plugin *plugin) {
  free(plugin->path);
  free(plugin->platform);
  free(plugin->platform_version);
  free(plugin->fingerprint);
  free(plugin);
}

static int32_t start(cyxla_plugin *plugin, const char *platform, const cyxla_option *options,
                     size_t option_count, cyxla_error *error) {
  TRY(cyxla_check_xla_flags(plugin->path, error));
  TRY(cyxla__pjrt_api_open(&plugin->api, plugin->path, error));
  TRY(initialize(plugin, error));
  TRY(cyxla__pjrt_fingerprint_init(plugin, error));
  return cyxla__pjrt_client_create(plugin, platform, options, option_count, error);
}

static int32_t start_quietly(cyxla_plugin *plugin, const char *platform,
                             const cyxla_option *options, size_t option_count, cyxla_error *error) {
  cyxla__log_level level;
  TRY(cyxla__log_level_set(&level, error));
  const int32_t status = start(plugin, platform, options, option_count, error);
  cyxla__log_level_reset(&level);
  return status;
}

/* Takes over `path`.  Called with the lock held. */
static int32_t load(char *path, const char *platform, const cyxla_option *options,
                    size_t option_count, cyxla_plugin **out_plugin, cyxla_error *error) {
  cyxla_plugin *plugin = calloc(1, sizeof *plugin);
  if (!plugin) {
    free(path);
    return cyxla__fail_memory(error, sizeof *plugin);
  }
  plugin->path = path;
  plugin->process = getpid();
  plugin->forks = cyxla__fork_count();
  const int32_t status = start_quietly(plugin, platform, options, option_count, error);
  if (status) {
    free_plugin(plugin);
    return status;
  }
  plugin->next = plugins;
  plugins = plugin;
  *out_plugin = plugin;
  return CYXLA_OK;
}

/* A plugin that is there already serves again, unless the caller expects something else of it. */
static int32_t load_again(cyxla_plugin *plugin, const char *platform, size_t option_count,
                          cyxla_plugin **out_plugin, cyxla_error *error) {
  if (option_count)
    return cyxla__fail(error, CYXLA_FAILED_PRECONDITION,
                       "%s is loaded already: its options can't be set any more", plugin->path);
  TRY(cyxla__plugin_check_process(plugin, error));
  TRY(cyxla__pjrt_check_platform(plugin, platform, error));
  *out_plugin = plugin;
  return CYXLA_OK;
}

int32_t cyxla_plugin_load(const char *path, const char *platform, const cyxla_option *options,
                          size_t option_count, cyxla_plugin **out_plugin, cyxla_error *error) {
  char *resolved = cyxla__library_resolve(path, error);
  if (!resolved) return CYXLA_PLUGIN_NOT_LOADED;
  if (!cyxla__fork_lock_take(&plugins_lock)) {
    free(resolved);
    return cyxla__fail(
        error, CYXLA_FAILED_PRECONDITION,
        "a plugin was being loaded when this process was forked: none can be loaded here");
  }
  cyxla_plugin *loaded = find_plugin(resolved);
  int32_t status;
  if (loaded) {
    free(resolved);
    status = load_again(loaded, platform, option_count, out_plugin, error);
  } else {
    status = load(resolved, platform, options, option_count, out_plugin, error);
  }
  cyxla__fork_lock_give(&plugins_lock);
  return status;
}

int32_t cyxla__plugin_check_process(const cyxla_plugin *plugin, cyxla_error *error) {
  /* The numbers differ where a child was made without the usual fork. */
  if (!cyxla__plugin_is_of_parent(plugin) && plugin->process == getpid()) return CYXLA_OK;
  return cyxla__fail(
      error, CYXLA_FAILED_PRECONDITION,
      "%s was loaded in process %ld, of which this one is a fork, without the plugin's threads: "
      "here only "
      "the direct engine works; for all else, load it after the fork, or spawn processes instead",
      plugin->path, (long)plugin->process);
}

/* The value after `value` in an array of the plugin's, whose structs may be larger than ours. */
static const PJRT_NamedValue *next_value(const PJRT_NamedValue *value) {
  const size_t size = value->struct_size > sizeof *value ? value->struct_size : sizeof *value;
  return (const PJRT_NamedValue *)((const char *)value + size);
}

static const PJRT_NamedValue *find_attribute(const cyxla_plugin *plugin, const char *name,
                                             PJRT_NamedValue_Type type) {
  const PJRT_NamedValue *value = plugin->attributes;
  for (size_t i = 0; i < plugin->attribute_count; ++i, value = next_value(value)) {
    if (value->type == type && value->name_size == strlen(name) &&
        !memcmp(value->name, name, value->name_size))
      return value;
  }
  return NULL;
}

static void read_version(const cyxla_plugin *plugin, const char *name, int32_t version[3]) {
  const PJRT_NamedValue *value = find_attribute(plugin, name, PJRT_NamedValue_kInt64List);
  for (size_t i = 0; i < 3; ++i)
    version[i] = value && value->value_size == 3 ? (int32_t)value->int64_array_value[i] : 0;
}

void cyxla_plugin_get_info(const cyxla_plugin *plugin, cyxla_plugin_info *out_info) {
  const PJRT_NamedValue *xla = find_attribute(plugin, "xla_version", PJRT_NamedValue_kInt64);
  cyxla_plugin_info info = {
      .struct_size = out_info->struct_size,
      .path = plugin->path,
      .platform = plugin->platform,
      .platform_version = plugin->platform_version,
      .pjrt_major = plugin->api.table.pjrt_api_version.major_version,
      .pjrt_minor = plugin->api.table.pjrt_api_version.minor_version,
      .xla_version = xla ? xla->int64_value : 0,
      .device_count = plugin->device_count,
      .reads_in_place = plugin->host_memory,
      .fingerprint = plugin->fingerprint,
  };
  read_version(plugin, "stablehlo_current_version", info.stablehlo_current);
  read_version(plugin, "stablehlo_minimum_version", info.stablehlo_minimum);
  cyxla__copy_info(out_info, &info, sizeof info);
}
