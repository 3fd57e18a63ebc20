/* Threads of ours: they get no signals, which are for the program's own. */
#ifndef CYXLA_BASE_THREADS_H
#define CYXLA_BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Starts a thread, to be joined or detached; `stack_size` 0 is the usual one.  False: it can't be
 * started. */
bool cyxla__thread_start(void *(*run)(void *), void *context, size_t stack_size,
                         pthread_t *out_thread);

/* Calls `task` on a stack of 64 MiB, of which only what is used takes memory, in the usual
 * floating-point environment, and returns when it has ended.  Compilers need some MiB, and the calling
 * thread may have less than one; how it rounds is not meant for them.  Where no thread can be started,
 * the caller's stack has to do. */
void cyxla__run_on_large_stack(void (*task)(void *), void *context);

/* Whether `count` more threads can run at the same time, found out by starting them (some hundreds at
 * most). */
bool cyxla__threads_can_start(size_t count);

#endif
