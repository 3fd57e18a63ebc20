/* Loading plugins.  Each case runs in a process of its own, since plugins stay loaded. */
#include <pthread.h>
#include <unistd.h>

#include "support.h"

static cyxla_error error = CYXLA_ERROR_INIT;

static int32_t load(const char *platform) {
  return cyxla_plugin_load(fake_path(), platform, NULL, 0, &plugin, &error);
}

static cyxla_plugin_info info_of_plugin(void) {
  cyxla_plugin_info info = {.struct_size = sizeof info};
  cyxla_plugin_get_info(plugin, &info);
  return info;
}

/* The plugin under test does its work. */
static void check_usable(void) {
  using_fake = true;
  static test_program program;
  make_program(&program, TYPE(CYXLA_F32, 3), 1, 1, 2);
  cyxla_executable *executable = compile(&program);
  const float values[] = {1, 2, 3};
  float results[3] = {0};
  void *outputs[] = {results};
  const cyxla_input input = {values, CYXLA_F32, 3};
  CHECK_OK(cyxla_execute(executable, &input, outputs, 0, &error), &error);
  CHECK_REAL(results[2], 6);
  cyxla_executable_destroy(executable);
  check_nothing_alive(1);
}

/* ---- what is refused ---- */

typedef struct setting {
  const char *name, *value; /* of the fake plugin */
  int32_t status;
  const char *part; /* of the message */
} setting;

static void check_refusal(const void *argument) {
  const setting *given = argument;
  fake_set(given->name, given->value);
  cyxla_plugin *untouched = plugin;
  CHECK_STATUS(load("cpu"), given->status, &error);
  CHECK_CONTAINS(error.message, given->part);
  CHECK(plugin == untouched);
  CHECK(load(NULL)); /* the failure leaves nothing behind that a second try would stumble over */
  fake_set(given->name, NULL);
  if (strcmp(given->name, "API")) check_nothing_alive(0);
  CHECK_OK(load("cpu"), &error);
  check_usable();
}

static void refuses_bad_plugins(void) {
  static const setting cases[] = {
      {"API", "null", CYXLA_PLUGIN_INVALID, "GetPjrtApi returned no table"},
      {"MAJOR", "1", CYXLA_PLUGIN_INVALID, "speaks PJRT 1.115"},
      {"TABLE_SIZE", "0x10", CYXLA_PLUGIN_INVALID, "too small"},
      {"TABLE_SIZE", "0x27", CYXLA_PLUGIN_INVALID, "too small"},
      {"TABLE_SIZE", "0x28", CYXLA_PLUGIN_INVALID, "PJRT_Error_Destroy"},
      {"DEVICES", "0", CYXLA_UNAVAILABLE, "no device"},
      {"FAIL", "PJRT_Plugin_Initialize:14:no accelerator", CYXLA_UNAVAILABLE,
       "PJRT_Plugin_Initialize: no accelerator"},
      {"FAIL", "PJRT_Client_Create:13:no client", CYXLA_INTERNAL, "PJRT_Client_Create: no client"},
      {"FAIL", "PJRT_Client_Create:3", CYXLA_INVALID_ARGUMENT, "PJRT_Client_Create: made to fail"},
      {"FAIL", "PJRT_Client_PlatformName:2", CYXLA_UNKNOWN, "PJRT_Client_PlatformName"},
      {"FAIL", "PJRT_Client_AddressableDevices:16", CYXLA_UNAUTHENTICATED,
       "PJRT_Client_AddressableDevices"},
      /* Argument structs that have grown beyond the spare room: the code can't be asked for. */
      {"EXTRA_ARGS", "72", CYXLA_UNKNOWN, "Unexpected PJRT_Plugin_Initialize_Args size"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) in_child(check_refusal, &cases[i]);
}

static void refuses_missing_functions(void) {
  static const char *const required[] = {
      "PJRT_Error_Destroy",
      "PJRT_Error_Message",
      "PJRT_Error_GetCode",
      "PJRT_Plugin_Initialize",
      "PJRT_Event_Destroy",
      "PJRT_Event_Await",
      "PJRT_Client_Create",
      "PJRT_Client_Destroy",
      "PJRT_Client_PlatformName",
      "PJRT_Client_AddressableDevices",
      "PJRT_Client_Compile",
      "PJRT_Client_BufferFromHostBuffer",
      "PJRT_Executable_Destroy",
      "PJRT_Executable_NumOutputs",
      "PJRT_LoadedExecutable_Destroy",
      "PJRT_LoadedExecutable_GetExecutable",
      "PJRT_LoadedExecutable_Execute",
      "PJRT_Buffer_Destroy",
      "PJRT_Buffer_ToHostBuffer",
  };
  for (size_t i = 0; i < sizeof required / sizeof required[0]; ++i) {
    in_child(check_refusal, &(setting){"NULL", required[i], CYXLA_PLUGIN_INVALID, required[i]});
    in_child(check_refusal,
             &(setting){"TABLE_END", required[i], CYXLA_PLUGIN_INVALID, required[i]});
  }
}

static void refuses_another_platform(const void *unused) {
  (void)unused;
  fake_set("PLATFORM", "tpu");
  CHECK_STATUS(load("cpu"), CYXLA_PLUGIN_INVALID, &error);
  CHECK_CONTAINS(error.message, "\"tpu\"");
  CHECK_CONTAINS(error.message, "\"cpu\"");
  check_nothing_alive(0);
  CHECK_OK(load("tpu"), &error);
  CHECK_TEXT(fake_create_options(), ""); /* only a CPU gets the CPU's options */
  check_usable();
  CHECK_STATUS(load("cpu"), CYXLA_PLUGIN_INVALID, &error); /* again, of the loaded one */
  CHECK_CONTAINS(error.message, "\"tpu\"");
}

static void refuses_other_files(const void *unused) {
  (void)unused;
  cyxla_plugin *loaded;
  CHECK_STATUS(cyxla_plugin_load("/nowhere/libpjrt.so", "cpu", NULL, 0, &loaded, &error),
               CYXLA_PLUGIN_NOT_LOADED, &error);
  CHECK_CONTAINS(error.message, "/nowhere/libpjrt.so");
  CHECK_CONTAINS(error.message, "No such file");
  CHECK_INT(cyxla_plugin_load("/nowhere/libpjrt.so", NULL, NULL, 0, &loaded, NULL),
            CYXLA_PLUGIN_NOT_LOADED);
  CHECK_STATUS(cyxla_plugin_load("/", "cpu", NULL, 0, &loaded, &error), CYXLA_PLUGIN_NOT_LOADED,
               &error);
  CHECK_STATUS(cyxla_plugin_load("/proc/self/cmdline", "cpu", NULL, 0, &loaded, &error),
               CYXLA_PLUGIN_NOT_LOADED, &error);
  const char *not_a_plugin = getenv("CYXLA_TEST_NOT_A_PLUGIN");
  if (!not_a_plugin) return;
  CHECK_STATUS(cyxla_plugin_load(not_a_plugin, "cpu", NULL, 0, &loaded, &error),
               CYXLA_PLUGIN_INVALID, &error);
  CHECK_CONTAINS(error.message, "GetPjrtApi");
}

/* ---- what is fine ---- */

static void check_acceptance(const void *argument) {
  const setting *given = argument;
  fake_set(given->name, given->value);
  CHECK_OK(load("cpu"), &error);
  check_usable();
}

static void accepts_other_versions(void) {
  static const setting cases[] = {
      {.name = "MINOR", .value = "1"},
      {.name = "MINOR", .value = "999"},
      {.name = "EXTRA_TABLE", .value = "1024"},
      {.name = "EXTRA_ARGS", .value = "8"},
      {.name = "EXTRA_ARGS", .value = "64"},
      {.name = "TABLE_END", .value = "PJRT_Executable_GetCompiledMemoryStats"},
      {.name = "TABLE_END", .value = "PJRT_Executable_OutputDimensions"},
      {.name = "TABLE_END", .value = "PJRT_Executable_OutputElementTypes"},
      {.name = "TABLE_END", .value = "PJRT_Buffer_OpaqueDeviceMemoryDataPointer"},
      {.name = "NULL", .value = "PJRT_Plugin_Attributes"},
      {.name = "NULL", .value = "PJRT_Client_PlatformVersion"},
      {.name = "NULL", .value = "PJRT_Executable_Serialize,PJRT_Executable_DeserializeAndLoad"},
      {.name = "NULL", .value = "PJRT_Buffer_OpaqueDeviceMemoryDataPointer"},
      {.name = "NULL", .value = "PJRT_Executable_OutputElementTypes"},
      {.name = "NULL", .value = "PJRT_Executable_OutputDimensions"},
      {.name = "NULL", .value = "PJRT_Executable_GetCompiledMemoryStats"},
      {.name = "OPTIONS", .value = "any"},
      {.name = "OPTIONS", .value = "none"},
      {.name = "FAIL", .value = "PJRT_Plugin_Attributes:13"},
      {.name = "FAIL", .value = "PJRT_Client_PlatformVersion:13"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) in_child(check_acceptance, &cases[i]);
}

static void describes_a_plugin(const void *unused) {
  (void)unused;
  fake_set("DEVICES", "3");
  CHECK_OK(load("cpu"), &error);
  cyxla_plugin_info info = info_of_plugin();
  CHECK_INT(info.struct_size, sizeof info);
  CHECK_INT(info.path[0], '/');
  CHECK_TEXT(info.platform, "cpu");
  CHECK_TEXT(info.platform_version, "fake 1.0");
  CHECK_INT(info.pjrt_major, 0);
  CHECK_INT(info.pjrt_minor, 115);
  CHECK_INT(info.stablehlo_current[1], 20);
  CHECK_INT(info.stablehlo_minimum[1], 9);
  CHECK_INT(info.xla_version, 2);
  CHECK_INT(info.device_count, 3);
  CHECK_INT(info.reads_in_place, 1);
  /* A caller who knows less gets less. */
  cyxla_plugin_info older = {.struct_size = offsetof(cyxla_plugin_info, platform_version),
                             .pjrt_minor = -1};
  cyxla_plugin_get_info(plugin, &older);
  CHECK_TEXT(older.platform, "cpu");
  CHECK(!older.platform_version);
  CHECK_INT(older.pjrt_minor, -1);
}

static void reads_attributes(const void *argument) {
  const setting *given = argument;
  fake_set(given->name, given->value);
  CHECK_OK(load("cpu"), &error);
  const cyxla_plugin_info info = info_of_plugin();
  char text[100];
  snprintf(text, sizeof text, "%d.%d.%d %d.%d.%d %d", (int)info.stablehlo_current[0],
           (int)info.stablehlo_current[1], (int)info.stablehlo_current[2],
           (int)info.stablehlo_minimum[0], (int)info.stablehlo_minimum[1],
           (int)info.stablehlo_minimum[2], (int)info.xla_version);
  CHECK_TEXT(text, given->part);
}

static void reads_all_attributes(void) {
  static const setting cases[] = {
      {.name = "ATTRIBUTES", .value = "all", .part = "1.20.0 0.9.0 2"},
      {.name = "ATTRIBUTES", .value = "none", .part = "0.0.0 0.0.0 0"},
      {.name = "ATTRIBUTES", .value = "odd", .part = "0.0.0 0.0.0 0"},
      {.name = "STABLEHLO_CURRENT", .value = "3.14.15", .part = "3.14.15 0.9.0 2"},
      {.name = "STABLEHLO_CURRENT", .value = "", .part = "0.0.0 0.9.0 2"},
      {.name = "STABLEHLO_MINIMUM", .value = "", .part = "1.20.0 0.0.0 2"},
      {.name = "NULL", .value = "PJRT_Plugin_Attributes", .part = "0.0.0 0.0.0 0"},
      {.name = "FAIL", .value = "PJRT_Plugin_Attributes:12", .part = "0.0.0 0.0.0 0"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) in_child(reads_attributes, &cases[i]);
}

/* ---- create options ---- */

static const int64_t list[] = {1, -2, 3};

static void passes_options(const void *unused) {
  (void)unused;
  fake_set("OPTIONS", "any");
  const cyxla_option options[] = {
      {.name = "text", .kind = CYXLA_OPTION_STRING, .value.string = "some"},
      {.name = "number", .kind = CYXLA_OPTION_INT64, .value.int64 = -5},
      {.name = "list", .kind = CYXLA_OPTION_INT64_LIST, .list_count = 3, .value.int64_list = list},
      {.name = "real", .kind = CYXLA_OPTION_DOUBLE, .value.float64 = 0.5},
      {.name = "flag", .kind = CYXLA_OPTION_BOOL, .value.boolean = 2}};
  CHECK_OK(cyxla_plugin_load(fake_path(), "cpu", options, 5, &plugin, &error), &error);
  CHECK_TEXT(fake_create_options(),
             "text=\"some\";number=-5;list=[1,-2,3];real=0.5f;flag=true;"
             "cpu_device_count=1;asynchronous=false");
}

static void keeps_options_of_the_caller(const void *unused) {
  (void)unused;
  const cyxla_option options[] = {
      {.name = "asynchronous", .kind = CYXLA_OPTION_BOOL, .value.boolean = 1},
      {.name = "cpu_device_count", .kind = CYXLA_OPTION_INT64, .value.int64 = 2}};
  fake_set("ASYNC", "obeys");
  CHECK_OK(cyxla_plugin_load(fake_path(), "cpu", options, 2, &plugin, &error), &error);
  CHECK_TEXT(fake_create_options(), "asynchronous=true;cpu_device_count=2");
  check_usable(); /* asynchronous, as it is wished */
}

static void names_a_bad_option(const void *unused) {
  (void)unused;
  cyxla_option option = {.name = "no_such", .kind = CYXLA_OPTION_INT64, .value.int64 = 1};
  CHECK_STATUS(cyxla_plugin_load(fake_path(), "cpu", &option, 1, &plugin, &error),
               CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "no_such");
  option.kind = 17;
  CHECK_STATUS(cyxla_plugin_load(fake_path(), "cpu", &option, 1, &plugin, &error),
               CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "no_such");
  option = (cyxla_option){.name = "cpu_device_count", .kind = CYXLA_OPTION_INT64};
  CHECK_STATUS(cyxla_plugin_load(fake_path(), "cpu", &option, 1, &plugin, &error),
               CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "cpu_device_count: 0 devices");
  check_nothing_alive(0);
}

static void lives_without_its_own_options(const void *unused) {
  (void)unused;
  fake_set("OPTIONS", "none");
  fake_set("ASYNC", "obeys");
  CHECK_OK(load("cpu"), &error);
  CHECK_TEXT(fake_create_options(), "");
  CHECK_INT(fake_calls("PJRT_Client_Create"), 2);
  check_usable(); /* asynchronous, since nobody could tell it not to be */
}

/* ---- loading again ---- */

static void loads_once(const void *unused) {
  (void)unused;
  CHECK_OK(load("cpu"), &error);
  cyxla_plugin *first = plugin;
  CHECK_OK(load("cpu"), &error);
  CHECK(plugin == first);
  CHECK_OK(load(NULL), &error);
  CHECK(plugin == first);
  char link[] = "/tmp/cyxla-test-XXXXXX";
  CHECK(mkdtemp(link));
  char path[64];
  snprintf(path, sizeof path, "%s/link.so", link);
  CHECK_INT(symlink(fake_path(), path), 0);
  CHECK_OK(cyxla_plugin_load(path, "cpu", NULL, 0, &plugin, &error), &error);
  CHECK(plugin == first);
  unlink(path);
  rmdir(link);
  const cyxla_option option = {.name = "asynchronous", .kind = CYXLA_OPTION_BOOL};
  CHECK_STATUS(cyxla_plugin_load(fake_path(), "cpu", &option, 1, &plugin, &error),
               CYXLA_FAILED_PRECONDITION, &error);
  CHECK_CONTAINS(error.message, "loaded already");
  check_nothing_alive(1);
}

static void *load_in_thread(void *out) {
  cyxla_error own_error = CYXLA_ERROR_INIT;
  CHECK_OK(cyxla_plugin_load(fake_path(), "cpu", NULL, 0, out, &own_error), &own_error);
  return NULL;
}

static void loads_once_from_many_threads(const void *unused) {
  (void)unused;
  enum { THREADS = 8 };
  pthread_t threads[THREADS];
  cyxla_plugin *loaded[THREADS];
  for (int i = 0; i < THREADS; ++i)
    CHECK_INT(pthread_create(&threads[i], NULL, load_in_thread, &loaded[i]), 0);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i) CHECK(loaded[i] == loaded[0]);
  check_nothing_alive(1);
}

/* ---- memory ---- */

static void check_in_place(const void *argument) {
  const setting *given = argument;
  fake_set(given->name, given->value);
  CHECK_OK(load("cpu"), &error);
  CHECK_INT(info_of_plugin().reads_in_place, given->status);
}

/* Whether memory is the host's is tried out; whatever fails at it means no. */
static void finds_out_about_memory(void) {
  static const setting cases[] = {
      {"MEMORY", "host", 1, NULL},
      {"MEMORY", "device", 0, NULL},
      {"NULL", "PJRT_Buffer_OpaqueDeviceMemoryDataPointer", 0, NULL},
      {"FAIL", "PJRT_Buffer_OpaqueDeviceMemoryDataPointer:13", 0, NULL},
      {"FAIL", "PJRT_Client_BufferFromHostBuffer:13", 0, NULL},
      {"FAIL", "event.host_buffer:13", 1, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) in_child(check_in_place, &cases[i]);
}

int main(void) {
  fake_path();
  RUN(refuses_bad_plugins);
  RUN(refuses_missing_functions);
  in_child(refuses_another_platform, NULL);
  in_child(refuses_other_files, NULL);
  RUN(accepts_other_versions);
  in_child(describes_a_plugin, NULL);
  RUN(reads_all_attributes);
  in_child(passes_options, NULL);
  in_child(keeps_options_of_the_caller, NULL);
  in_child(names_a_bad_option, NULL);
  in_child(lives_without_its_own_options, NULL);
  in_child(loads_once, NULL);
  in_child(loads_once_from_many_threads, NULL);
  RUN(finds_out_about_memory);
}
