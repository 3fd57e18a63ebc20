#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "base/status.h"

int32_t cyxla__library_open(const char *path, void **out_library, cyxla_error *error) {
  *out_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*out_library) return CYXLA_OK;
  const char *reason = dlerror();
  return cyxla__fail(error, CYXLA_PLUGIN_NOT_LOADED,
                     "can't load the plugin %s: %s (ldd tells which library is missing)", path,
                     reason ? reason : "no reason given");
}

cyxla__function cyxla__library_find(void *library, const char *symbol) {
  /* POSIX lets a data pointer of dlsym hold a function; ISO C has no conversion between the two. */
  cyxla__function function;
  void *address = dlsym(library, symbol);
  memcpy(&function, &address, sizeof function);
  return function;
}

char *cyxla__library_resolve(const char *path, cyxla_error *error) {
  char *resolved = realpath(path, NULL);
  if (!resolved)
    cyxla__fail(error, CYXLA_PLUGIN_NOT_LOADED, "can't load the plugin %s: %s", path,
                strerror(errno));
  return resolved;
}
