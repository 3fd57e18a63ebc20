/* Calling a PJRT plugin: the function table, argument structs, and errors. */
#ifndef CYXLA_PJRT_API_H
#define CYXLA_PJRT_API_H

#include "base/status.h"
#include "pjrt/pjrt_abi.h"

/* The table of one plugin.  `table` is our copy: a slot that the plugin is too old to have is NULL,
 * just as one that it leaves unimplemented. */
typedef struct cyxla__pjrt_api {
  PJRT_Api table;
  const char *path; /* borrowed from the plugin, for messages */
} cyxla__pjrt_api;

/* Declares `name.args`, zeroed but for struct_size and the members given.
 *
 * A plugin that is newer than our declarations wants larger structs, and reads zero in what we
 * don't know, or writes to it: the spare room is announced as part of the struct.  (XLA's plugins
 * check only that a struct is not smaller than theirs; tried with minors 81 and 115.) */
#define PJRT_ARGS(function, name, ...) PJRT_STRUCT(function##_Args, name, __VA_ARGS__)
#define PJRT_STRUCT(type, name, ...) \
  struct {                           \
    type args;                       \
    char spare[64];                  \
  } name = {{.struct_size = sizeof name, __VA_ARGS__}, {0}}

/* Calls a slot and turns its PJRT_Error into a status. */
#define PJRT_CALL(api, function, named_args, error) \
  cyxla__pjrt_check(api, (api)->table.function(&(named_args).args), #function, error)

/* The same for a slot that not every plugin has: UNIMPLEMENTED, by name, where it is missing. */
#define PJRT_CALL_OPTIONAL(api, function, named_args, error)           \
  ((api)->table.function ? PJRT_CALL(api, function, named_args, error) \
                         : cyxla__pjrt_unsupported(api, #function, error))

/* Loads the library at `path`, takes its table and checks version and the functions that no plugin
 * can do without.  `path` must outlive `api`. */
int32_t cyxla__pjrt_api_open(cyxla__pjrt_api *api, const char *path, cyxla_error *error);

/* Status of `pjrt_error` (NULL: success), which is destroyed; the message goes to `error`. */
int32_t cyxla__pjrt_check(const cyxla__pjrt_api *api, PJRT_Error *pjrt_error, const char *function,
                          cyxla_error *error);

int32_t cyxla__pjrt_unsupported(const cyxla__pjrt_api *api, const char *function,
                                cyxla_error *error);

/* Destroys an event that nobody waits for; NULL is fine. */
void cyxla__pjrt_event_destroy(const cyxla__pjrt_api *api, PJRT_Event *event);

/* Waits for an event, destroys it, and gives its status; NULL is an event that has happened. */
int32_t cyxla__pjrt_event_await(const cyxla__pjrt_api *api, PJRT_Event *event, cyxla_error *error);

#endif
