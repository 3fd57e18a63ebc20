/* Whether this process is a fork of one that did something earlier: a child has the memory of its
 * parent, but of its threads only the one that forked. */
#ifndef CYXLA_BASE_FORK_H
#define CYXLA_BASE_FORK_H

#include <stdatomic.h>
#include <stdbool.h>

/* Counts forks from here on; a second call does nothing.  (vfork and posix_spawn don't count: nothing
 * of ours runs in such a child.) */
void cyxla__fork_watch(void);

/* Number of forks between this process and the ancestor that began to count. */
extern unsigned cyxla__forks_counted;
static inline unsigned cyxla__fork_count(void) {
  return cyxla__forks_counted;
}

/* The lock of what is rare and short, and calls nobody else's code: a fork waits for it, and so a child finds
 * it free, and what it guards whole. */
void cyxla__fork_safe_lock(void);
void cyxla__fork_safe_unlock(void);

/* A lock that is of no use in a child, and says so, where another thread held it at the time of the
 * fork: what it guards is half done then.  For what is rare and takes long: who has to wait, polls.
 * Starts as {0}. */
typedef struct cyxla__fork_lock {
  atomic_uint holder; /* the holding process's count of forks + 1; 0: it is free */
} cyxla__fork_lock;

/* False: it will never be free in this process. */
bool cyxla__fork_lock_take(cyxla__fork_lock *lock);
void cyxla__fork_lock_give(cyxla__fork_lock *lock);

#endif
