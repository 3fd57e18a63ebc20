#include "base/fork.h"

#include <pthread.h>
#include <time.h>

unsigned cyxla__forks_counted; /* written while there is one thread */

static void count_fork(void) {
  ++cyxla__forks_counted;
}

static void watch(void) {
  pthread_atfork(NULL, NULL, count_fork);
}

void cyxla__fork_watch(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch);
}

static pthread_mutex_t safe_mutex = PTHREAD_MUTEX_INITIALIZER;

void cyxla__fork_safe_lock(void) {
  pthread_mutex_lock(&safe_mutex);
}

void cyxla__fork_safe_unlock(void) {
  pthread_mutex_unlock(&safe_mutex);
}

/* When the library is loaded, and so before what uses it: handlers of forks run in the reverse order, and
 * locks of users come first. */
__attribute__((constructor)) static void make_safe(void) {
  pthread_atfork(cyxla__fork_safe_lock, cyxla__fork_safe_unlock, cyxla__fork_safe_unlock);
}

bool cyxla__fork_lock_take(cyxla__fork_lock *lock) {
  cyxla__fork_watch();
  const unsigned self = cyxla__fork_count() + 1;
  for (;;) {
    unsigned holder = 0;
    if (atomic_compare_exchange_strong_explicit(&lock->holder, &holder, self, memory_order_acquire,
                                                memory_order_relaxed))
      return true;
    if (holder != self) return false;
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  }
}

void cyxla__fork_lock_give(cyxla__fork_lock *lock) {
  atomic_store_explicit(&lock->holder, 0, memory_order_release);
}
