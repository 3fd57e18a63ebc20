/* Threads for work in equal parts.  They start with the first work and stay. */
#ifndef CYXLA_BASE_POOL_H
#define CYXLA_BASE_POOL_H

#include <stddef.h>

typedef void (*cyxla__pool_task)(void *context, size_t part);

/* Calls `task` for each part 0 .. count - 1 and returns when all are done.  The calling thread does its
 * share; others help where they are allowed (see cyxla_set_thread_count), can be started and are idle: a
 * second caller at the same time does its work alone. */
void cyxla__pool_run(cyxla__pool_task task, void *context, size_t count);

#endif
