#define _GNU_SOURCE /* sched_getaffinity */
#include "pjrt/surroundings.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/threads.h"

/* ---- log level ---- */

static const char variable[] = "TF_CPP_MIN_LOG_LEVEL";

/* XLA's levels; at the last one, only what ends the process is written. */
static const char *const levels[] = {"info", "warning", "error", "none"};
enum { LEVEL_COUNT = sizeof levels / sizeof levels[0] };

/* The number of the level called `text`, as text; NULL: it is none. */
static const char *number_of_level(const char *text) {
  static const char *const numbers[LEVEL_COUNT] = {"0", "1", "2", "3"};
  for (size_t i = 0; i < LEVEL_COUNT; ++i)
    if (!strcmp(text, numbers[i]) || !strcasecmp(text, levels[i])) return numbers[i];
  return NULL;
}

int32_t cyxla__log_level_set(cyxla__log_level *level, cyxla_error *error) {
  *level = (cyxla__log_level){0};
  const char *asked = getenv("CYXLA_LOG"), *before = getenv(variable);
  const bool is_asked = asked && *asked;
  const char *number = number_of_level(is_asked ? asked : "none");
  if (!number)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                       "CYXLA_LOG is \"%s\": it should be info, warning, error, none, or 0 to 3",
                       asked);
  if (before && !is_asked) return CYXLA_OK; /* the user knows XLA's own variable */
  if (before && !(level->before = strdup(before))) return cyxla__fail_memory(error, strlen(before));
  level->changed = !setenv(variable, number, 1);
  return CYXLA_OK;
}

void cyxla__log_level_reset(cyxla__log_level *level) {
  if (level->changed && level->before)
    setenv(variable, level->before, 1);
  else if (level->changed)
    unsetenv(variable);
  free(level->before);
}

/* ---- threads ---- */

static size_t count_processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) ? 1 : (size_t)CPU_COUNT(&set);
}

/* Of each of its two pools, see DefaultThreadPoolSize in xla/pjrt/utils.cc. */
static size_t pool_size(void) {
  const char *text = getenv("NPROC");
  const long size = text ? strtol(text, NULL, 10) : 0;
  return size > 0 ? (size_t)size : count_processors();
}

int32_t cyxla__check_room_for_threads(const char *path, cyxla_error *error) {
  /* The compiler has some more, and runs in one of ours (counted with minors 81 and 115). */
  const size_t count = 2 * pool_size() + count_processors() + 2;
  if (cyxla__threads_can_start(count)) return CYXLA_OK;
  return cyxla__fail(error, CYXLA_RESOURCE_EXHAUSTED,
                     "%s: it starts up to %zu threads, and this process can't start as many: "
                     "ulimit -u, or the limit of "
                     "a container, is too low (with NPROC=1 in its environment it starts fewer)",
                     path, count);
}
