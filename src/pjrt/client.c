#include "pjrt/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "pjrt/buffer.h"
#include "pjrt/surroundings.h"

/* What cyxla asks of a CPU client: one device, and executions that stay in the calling thread. */
static const cyxla_option cpu_defaults[] = {
    {.name = "cpu_device_count", .kind = CYXLA_OPTION_INT64, .value.int64 = 1},
    {.name = "asynchronous", .kind = CYXLA_OPTION_BOOL, .value.boolean = 0},
};
enum { CPU_DEFAULT_COUNT = sizeof cpu_defaults / sizeof cpu_defaults[0] };

/* Older CPU plugins take `asynchronous` without a word and ignore it (minor 81 does).  From this
 * minor on it is known to be obeyed. */
enum { MINOR_THAT_OBEYS_ASYNCHRONOUS = 115 };

static const cyxla_option *find_option(const cyxla_option *options, size_t count,
                                       const char *name) {
  for (size_t i = 0; i < count; ++i)
    if (!strcmp(options[i].name, name)) return &options[i];
  return NULL;
}

static int32_t named_value(const cyxla_option *option, PJRT_NamedValue *out, cyxla_error *error) {
  *out = (PJRT_NamedValue){.struct_size = sizeof *out,
                           .name = option->name,
                           .name_size = strlen(option->name),
                           .value_size = 1};
  switch (option->kind) {
    case CYXLA_OPTION_STRING:
      out->type = PJRT_NamedValue_kString;
      out->string_value = option->value.string;
      out->value_size = strlen(option->value.string);
      return CYXLA_OK;
    case CYXLA_OPTION_INT64:
      out->type = PJRT_NamedValue_kInt64;
      out->int64_value = option->value.int64;
      return CYXLA_OK;
    case CYXLA_OPTION_INT64_LIST:
      out->type = PJRT_NamedValue_kInt64List;
      out->int64_array_value = option->value.int64_list;
      out->value_size = (size_t)option->list_count;
      return CYXLA_OK;
    case CYXLA_OPTION_DOUBLE:
      out->type = PJRT_NamedValue_kFloat;
      out->float_value = (float)option->value.float64;
      return CYXLA_OK;
    case CYXLA_OPTION_BOOL:
      out->type = PJRT_NamedValue_kBool;
      out->bool_value = option->value.boolean != 0;
      return CYXLA_OK;
    default:
      return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "client option %s: %d is no kind of value",
                         option->name, (int)option->kind);
  }
}

/* Creates the client with `options` and those of `defaults` that they don't name. */
static int32_t create(cyxla_plugin *plugin, const cyxla_option *options, size_t option_count,
                      const cyxla_option *defaults, size_t default_count, cyxla_error *error) {
  PJRT_NamedValue *values = calloc(option_count + default_count + 1, sizeof *values);
  if (!values) return cyxla__fail_memory(error, option_count * sizeof *values);
  size_t count = 0;
  int32_t status = CYXLA_OK;
  for (size_t i = 0; i < option_count && !status; ++i)
    status = named_value(&options[i], &values[count++], error);
  for (size_t i = 0; i < default_count && !status; ++i)
    if (!find_option(options, option_count, defaults[i].name))
      status = named_value(&defaults[i], &values[count++], error);
  if (!status) {
    PJRT_ARGS(PJRT_Client_Create, create, .create_options = values, .num_options = count);
    status = PJRT_CALL(&plugin->api, PJRT_Client_Create, create, error);
    plugin->client = create.args.client;
  }
  free(values);
  return status;
}

/* CPU plugins that don't know our options refuse them; they get a client all the same. */
static int32_t create_cpu(cyxla_plugin *plugin, const cyxla_option *options, size_t option_count,
                          cyxla_error *error) {
  const int32_t status =
      create(plugin, options, option_count, cpu_defaults, CPU_DEFAULT_COUNT, error);
  if (status == CYXLA_INVALID_ARGUMENT)
    return create(plugin, options, option_count, NULL, 0, error);
  if (status) return status;
  const cyxla_option *asynchronous = find_option(options, option_count, "asynchronous");
  plugin->synchronous =
      plugin->api.table.pjrt_api_version.minor_version >= MINOR_THAT_OBEYS_ASYNCHRONOUS &&
      (!asynchronous || (asynchronous->kind == CYXLA_OPTION_BOOL && !asynchronous->value.boolean));
  return CYXLA_OK;
}

/* Copies text that has a length and no end; NULL where there is no memory. */
static char *copy_text(const char *text, size_t size) {
  char *copy = malloc(size + 1);
  if (!copy) return NULL;
  if (size) memcpy(copy, text, size);
  copy[size] = 0;
  return copy;
}

int32_t cyxla__pjrt_check_platform(const cyxla_plugin *plugin, const char *expected,
                                   cyxla_error *error) {
  if (!expected || !strcmp(expected, plugin->platform)) return CYXLA_OK;
  return cyxla__fail(error, CYXLA_PLUGIN_INVALID,
                     "%s: its platform is \"%s\", and \"%s\" was asked for", plugin->path,
                     plugin->platform, expected);
}

static int32_t read_platform(cyxla_plugin *plugin, const char *expected, cyxla_error *error) {
  PJRT_ARGS(PJRT_Client_PlatformName, name, .client = plugin->client);
  TRY(PJRT_CALL(&plugin->api, PJRT_Client_PlatformName, name, error));
  plugin->platform = copy_text(name.args.platform_name, name.args.platform_name_size);
  PJRT_ARGS(PJRT_Client_PlatformVersion, version, .client = plugin->client);
  /* A plugin without it, or failing at it, has no version to tell: the name is what counts. */
  if (PJRT_CALL_OPTIONAL(&plugin->api, PJRT_Client_PlatformVersion, version, NULL))
    version.args.platform_version_size = 0;
  plugin->platform_version =
      copy_text(version.args.platform_version, version.args.platform_version_size);
  if (!plugin->platform || !plugin->platform_version) return cyxla__fail_memory(error, 1);
  return cyxla__pjrt_check_platform(plugin, expected, error);
}

static int32_t read_devices(cyxla_plugin *plugin, cyxla_error *error) {
  PJRT_ARGS(PJRT_Client_AddressableDevices, devices, .client = plugin->client);
  TRY(PJRT_CALL(&plugin->api, PJRT_Client_AddressableDevices, devices, error));
  plugin->device_count = devices.args.num_addressable_devices;
  if (!plugin->device_count)
    return cyxla__fail(error, CYXLA_UNAVAILABLE, "%s: its client has no device", plugin->path);
  plugin->device = devices.args.addressable_devices[0];
  return CYXLA_OK;
}

/* Finds out whether device memory is host memory by aliasing an array.  A plugin that fails at it
 * is one that can't. */
static bool probe_host_memory(cyxla_plugin *plugin) {
  if (!plugin->api.table.PJRT_Buffer_OpaqueDeviceMemoryDataPointer) return false;
  float *array = cyxla_aligned_alloc(sizeof *array);
  if (!array) return false;
  *array = 0;
  const cyxla_array_type scalar = {.element_type = CYXLA_F32};
  PJRT_Buffer *buffer = cyxla__pjrt_buffer_alias(plugin, &scalar, array);
  if (buffer) cyxla__pjrt_buffer_destroy(plugin, buffer);
  cyxla_aligned_free(array);
  return buffer != NULL;
}

/* XLA's CPU client would end the process. */
static int32_t check_device_count(const cyxla_option *options, size_t option_count,
                                  cyxla_error *error) {
  const cyxla_option *devices = find_option(options, option_count, "cpu_device_count");
  if (!devices || devices->kind != CYXLA_OPTION_INT64 || devices->value.int64 >= 1) return CYXLA_OK;
  return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                     "client option cpu_device_count: %lld devices are too few",
                     (long long)devices->value.int64);
}

static void destroy_client(cyxla_plugin *plugin) {
  PJRT_ARGS(PJRT_Client_Destroy, destroy, .client = plugin->client);
  PJRT_CALL(&plugin->api, PJRT_Client_Destroy, destroy, NULL);
  plugin->client = NULL;
}

/* Whether the plugin is for the CPU, where the caller does not say: a client tells. */
static int32_t ask_platform(cyxla_plugin *plugin, const cyxla_option *options, size_t option_count,
                            bool *out_cpu, cyxla_error *error) {
  TRY(create(plugin, options, option_count, NULL, 0, error));
  PJRT_ARGS(PJRT_Client_PlatformName, name, .client = plugin->client);
  const int32_t status = PJRT_CALL(&plugin->api, PJRT_Client_PlatformName, name, error);
  *out_cpu = !status && name.args.platform_name_size == strlen("cpu") &&
             !memcmp(name.args.platform_name, "cpu", strlen("cpu"));
  if (status || *out_cpu) destroy_client(plugin);
  return status;
}

int32_t cyxla__pjrt_client_create(cyxla_plugin *plugin, const char *platform,
                                  const cyxla_option *options, size_t option_count,
                                  cyxla_error *error) {
  TRY(check_device_count(options, option_count, error));
  bool cpu = platform && !strcmp(platform, "cpu");
  if (cpu || !platform) TRY(cyxla__check_room_for_threads(plugin->path, error));
  if (!platform) TRY(ask_platform(plugin, options, option_count, &cpu, error));
  if (cpu)
    TRY(create_cpu(plugin, options, option_count, error));
  else if (!plugin->client)
    TRY(create(plugin, options, option_count, NULL, 0, error));
  int32_t status = read_platform(plugin, platform, error);
  if (!status) status = read_devices(plugin, error);
  if (status) {
    destroy_client(plugin);
    return status;
  }
  plugin->host_memory = probe_host_memory(plugin);
  return CYXLA_OK;
}
