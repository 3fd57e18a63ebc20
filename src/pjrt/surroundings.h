/* What is around a plugin of XLA's when it starts: environment variables, and room for its threads. */
#ifndef CYXLA_PJRT_SURROUNDINGS_H
#define CYXLA_PJRT_SURROUNDINGS_H

#include <stdbool.h>

#include "base/status.h"

/* The log level that was there before. */
typedef struct cyxla__log_level {
  bool changed;
  char *before; /* NULL: it was not set */
} cyxla__log_level;

/* Sets how much a plugin writes to stderr: XLA's libraries read it once, while they are loaded and
 * their client is created.  Errors are returned anyway, and so the default is nothing; CYXLA_LOG says
 * otherwise.
 *
 * Returns: INVALID_ARGUMENT (CYXLA_LOG is no level), RESOURCE_EXHAUSTED. */
int32_t cyxla__log_level_set(cyxla__log_level *level, cyxla_error *error);
void cyxla__log_level_reset(cyxla__log_level *level);

/* RESOURCE_EXHAUSTED: there is no room for the threads that XLA's CPU plugin starts.  It would end the
 * process where it can't start one. */
int32_t cyxla__check_room_for_threads(const char *path, cyxla_error *error);

#endif
