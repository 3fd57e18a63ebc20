/* Shared libraries that are opened at run time and stay open. */
#ifndef CYXLA_BASE_LIBRARY_H
#define CYXLA_BASE_LIBRARY_H

#include "cyxla/cyxla.h"

/* Opens the library at `path` with all symbols bound and none exported to others (RTLD_LOCAL). */
int32_t cyxla__library_open(const char *path, void **out_library, cyxla_error *error);

/* A function of an open library, or NULL. */
typedef void (*cyxla__function)(void);
cyxla__function cyxla__library_find(void *library, const char *symbol);

/* The absolute path of `path` with links resolved, to be freed by free(); NULL: there is no such
 * file, and `error` is filled. */
char *cyxla__library_resolve(const char *path, cyxla_error *error);

#endif
