#include "ffi/bridge.h"

#include <stdatomic.h>
#include <string.h>

#include "base/fpenv.h"
#include "ffi/error.h"
#include "ffi/registry.h"
#include "ffi/state.h"

/* Plugins from this minor on keep the stage of a state. */
enum { MINOR_WITH_STAGES = 3 };

/* Handlers call what was in the table that they were compiled for, and don't ask whether it is in
 * the one that they get: what newer versions than ours have added must be there too. */
enum { NEWER_SLOTS = 32 };

typedef struct bridged_table {
  XLA_FFI_Api api;
  void (*newer[NEWER_SLOTS])(void);
} bridged_table;

typedef struct bridge {
  const XLA_FFI_Api *plugin_api;
  bridged_table table;
  XLA_FFI_TypeId holder_type;
} bridge;

/* One for each plugin that is loaded; only ever added to. */
enum { BRIDGE_LIMIT = 16 };
static bridge bridges[BRIDGE_LIMIT];
static atomic_size_t bridge_count;

/* The bridge that the calling thread is on; NULL in a thread that a handler has started. */
static _Thread_local const bridge *current;

/* Without better knowledge, the bridge of the first plugin: few processes have another. */
static const bridge *current_bridge(void) {
  return current ? current : &bridges[0];
}

static const bridge *find_bridge(const XLA_FFI_Api *plugin_api) {
  const size_t count = atomic_load_explicit(&bridge_count, memory_order_acquire);
  for (size_t i = 0; i < count; ++i)
    if (bridges[i].plugin_api == plugin_api) return &bridges[i];
  return NULL;
}

/* ---- the bridged table ---- */

static XLA_FFI_Error *set_state(XLA_FFI_State_Set_Args *args) {
  const bridge *here = current_bridge();
  return cyxla__ffi_state_set(here->plugin_api, here->holder_type, args);
}

static XLA_FFI_Error *get_state(XLA_FFI_State_Get_Args *args) {
  const bridge *here = current_bridge();
  return cyxla__ffi_state_get(here->plugin_api, here->holder_type, args);
}

/* Stands in each slot that the plugin's table is too old to have. */
static XLA_FFI_Error *fail_unimplemented(void) {
  const XLA_FFI_Api *plugin_api = current_bridge()->plugin_api;
  return cyxla__ffi_error(plugin_api, XLA_FFI_Error_Code_UNIMPLEMENTED,
                          "the handler needs a newer XLA FFI API than the plugin's, which is %d.%d",
                          plugin_api->api_version.major_version,
                          plugin_api->api_version.minor_version);
}

static void fill_table(bridged_table *table, const XLA_FFI_Api *plugin_api) {
  const size_t size =
      plugin_api->struct_size < sizeof *table ? plugin_api->struct_size : sizeof *table;
  void (*const missing)(void) = (void (*)(void))fail_unimplemented;
  for (size_t at = size; at + sizeof missing <= sizeof *table; at += sizeof missing)
    memcpy((char *)table + at, &missing, sizeof missing);
  memcpy(table, plugin_api, size);
  table->api.struct_size = sizeof *table;
  table->api.XLA_FFI_State_Set = set_state;
  table->api.XLA_FFI_State_Get = get_state;
}

int32_t cyxla__ffi_bridge_open(const XLA_FFI_Api *plugin_api, cyxla_error *error) {
  if (find_bridge(plugin_api)) return CYXLA_OK;
  const size_t count = atomic_load_explicit(&bridge_count, memory_order_relaxed);
  if (count == BRIDGE_LIMIT)
    return cyxla__fail(error, CYXLA_RESOURCE_EXHAUSTED, "there are %zu plugins already", count);
  bridge *added = &bridges[count];
  added->plugin_api = plugin_api;
  fill_table(&added->table, plugin_api);
  if (plugin_api->api_version.minor_version >= MINOR_WITH_STAGES)
    TRY(cyxla__ffi_state_register(plugin_api, &added->holder_type, error));
  atomic_store_explicit(&bridge_count, count + 1, memory_order_release);
  return CYXLA_OK;
}

/* ---- trampolines ---- */

/* Tells the plugin a version that suits it.  Only what an answer needs is written: `state_type_id`
 * lies outside of what some plugins' structs announce, and our own states need none. */
static void answer_metadata(const cyxla__ffi_target *target, const XLA_FFI_CallFrame *frame) {
  XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
  const int plugin_minor = frame->api->api_version.minor_version;
  metadata->api_version.major_version = frame->api->api_version.major_version;
  metadata->api_version.minor_version = target->minor < plugin_minor ? target->minor : plugin_minor;
  metadata->traits = target->traits;
}

static XLA_FFI_Error *forward(size_t index, XLA_FFI_CallFrame *frame) {
  const cyxla__ffi_target *target = cyxla__ffi_target_at(index);
  if (frame->extension_start && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
    answer_metadata(target, frame);
    return NULL;
  }
  const XLA_FFI_Api *plugin_api = frame->api;
  const bridge *before = current; /* a handler may run another program */
  current = find_bridge(plugin_api);
  frame->api = &current->table.api;
  const cyxla__fpenv environment = cyxla__fpenv_get();
  XLA_FFI_Error *error = target->handlers[frame->stage](frame);
  cyxla__fpenv_restore(environment);
  frame->api = plugin_api;
  current = before;
  return error;
}

/* A function for each target: handlers have no argument that could tell which one is meant. */
#define TRAMPOLINE(n)                                              \
  static XLA_FFI_Error *trampoline_##n(XLA_FFI_CallFrame *frame) { \
    return forward(0##n, frame);                                   \
  }
/* Octal digits, so that 512 functions are three rows of eight. */
#define ROW1(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ROW2(X, n) \
  ROW1(X, n##0)    \
  ROW1(X, n##1) ROW1(X, n##2) ROW1(X, n##3) ROW1(X, n##4) ROW1(X, n##5) ROW1(X, n##6) ROW1(X, n##7)
#define ALL(X) \
  ROW2(X, 0) ROW2(X, 1) ROW2(X, 2) ROW2(X, 3) ROW2(X, 4) ROW2(X, 5) ROW2(X, 6) ROW2(X, 7)

ALL(TRAMPOLINE)

#define ENTRY(n) trampoline_##n,
static XLA_FFI_Handler *const trampolines[CYXLA__FFI_TARGET_LIMIT] = {ALL(ENTRY)};

XLA_FFI_Handler *cyxla__ffi_trampoline(size_t index) {
  return trampolines[index];
}
