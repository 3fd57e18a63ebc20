/* Plugins: one loaded library with one client, for the rest of the process. */
#ifndef CYXLA_PJRT_PLUGIN_H
#define CYXLA_PJRT_PLUGIN_H

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#include "base/fork.h"
#include "ffi/registry.h"
#include "pjrt/api.h"

struct cyxla_plugin {
  cyxla__pjrt_api api;
  PJRT_Client *client;
  PJRT_Device *device; /* the first addressable one: programs run there */
  size_t device_count;
  char *path; /* resolved */
  char *platform;
  char *platform_version;
  char *fingerprint;
  const PJRT_NamedValue *attributes; /* the plugin's */
  size_t attribute_count;

  /* Its device memory is host memory: input arrays can be aliased and outputs read in place. */
  bool host_memory;
  /* An execution has ended, and its outputs are there, when PJRT_LoadedExecutable_Execute returns.
   */
  bool synchronous;

  /* The process that loaded it, and its count of forks. */
  pid_t process;
  unsigned forks;

  /* What the plugin knows of FFI targets, see ffi_extension.c. */
  struct {
    const XLA_FFI_Api *api; /* NULL: not asked for yet, or there is none */
    size_t seen;            /* number of targets that it was offered */
    struct {
      int32_t state;
      char *failure;
    } targets[CYXLA__FFI_TARGET_LIMIT];
  } ffi;

  cyxla_plugin *next;
};

/* Whether this process is a fork of the one that loaded the plugin.  It has none of the plugin's
 * threads, and who calls the plugin may wait for them for ever: nothing of it is touched here, not even
 * to destroy it. */
static inline bool cyxla__plugin_is_of_parent(const cyxla_plugin *plugin) {
  return plugin->forks != cyxla__fork_count();
}

/* FAILED_PRECONDITION: the plugin is of another process. */
int32_t cyxla__plugin_check_process(const cyxla_plugin *plugin, cyxla_error *error);

/* XLA's CPU plugins are known better than others. */
static inline bool cyxla__plugin_is_cpu(const cyxla_plugin *plugin) {
  return !strcmp(plugin->platform, "cpu");
}

#endif
