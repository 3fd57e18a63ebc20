#define _GNU_SOURCE /* sched_getaffinity */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "base/threads.h"
#include "cyxla/cyxla.h"

enum { HELPER_LIMIT = 63 };

static atomic_int thread_limit; /* 0: as many as there are processors */

/* The work at hand.  `generation` tells a helper that there is new work, `working` tells the caller that
 * nobody is still at it. */
static struct pool {
  pthread_mutex_t caller_mutex; /* held by the caller whose work it is */
  pthread_mutex_t mutex;        /* guards what follows but for `next` */
  pthread_cond_t work, done;
  pid_t process; /* whose threads the helpers are: a fork has none of them */
  int helper_count;
  unsigned generation;
  int wanted;  /* helpers that may still join */
  int working; /* helpers at work */
  cyxla__pool_task task;
  void *context;
  size_t count;
  atomic_size_t next;
} pool = {.caller_mutex = PTHREAD_MUTEX_INITIALIZER, .process = -1};

void cyxla_set_thread_count(int32_t count) {
  atomic_store_explicit(&thread_limit, count > 0 ? count : 0, memory_order_relaxed);
}

static int count_processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

static int allowed_helpers(void) {
  static atomic_int processors;
  int limit = atomic_load_explicit(&thread_limit, memory_order_relaxed);
  if (!limit) limit = atomic_load_explicit(&processors, memory_order_relaxed);
  if (!limit) atomic_store_explicit(&processors, limit = count_processors(), memory_order_relaxed);
  return limit - 1 < HELPER_LIMIT ? limit - 1 : HELPER_LIMIT;
}

static void do_parts(cyxla__pool_task task, void *context, size_t count) {
  for (;;) {
    const size_t part = atomic_fetch_add_explicit(&pool.next, 1, memory_order_relaxed);
    if (part >= count) return;
    task(context, part);
  }
}

static void *help(void *unused) {
  (void)unused;
  unsigned seen = 0;
  pthread_mutex_lock(&pool.mutex);
  for (;;) {
    while (pool.generation == seen || !pool.wanted) {
      seen = pool.generation;
      pthread_cond_wait(&pool.work, &pool.mutex);
    }
    seen = pool.generation;
    --pool.wanted;
    ++pool.working;
    const cyxla__pool_task task = pool.task;
    void *context = pool.context;
    const size_t count = pool.count;
    pthread_mutex_unlock(&pool.mutex);
    do_parts(task, context, count);
    pthread_mutex_lock(&pool.mutex);
    if (!--pool.working) pthread_cond_signal(&pool.done);
  }
  return NULL;
}

static bool start_helper(void) {
  pthread_t thread;
  return cyxla__thread_start(help, NULL, 0, &thread) && !pthread_detach(thread);
}

/* A fork has copies of locks that helpers may have held, and no helper.  Called with pool.caller_mutex
 * held. */
static void forget_other_process(void) {
  if (pool.process == getpid()) return;
  pthread_mutex_init(&pool.mutex, NULL);
  pthread_cond_init(&pool.work, NULL);
  pthread_cond_init(&pool.done, NULL);
  pool.process = getpid();
  pool.helper_count = pool.wanted = pool.working = 0;
}

static void run_together(cyxla__pool_task task, void *context, size_t count, int helpers) {
  forget_other_process();
  pthread_mutex_lock(&pool.mutex);
  while (pool.helper_count < helpers && start_helper()) ++pool.helper_count;
  pool.task = task;
  pool.context = context;
  pool.count = count;
  atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
  pool.wanted = helpers < pool.helper_count ? helpers : pool.helper_count;
  ++pool.generation;
  pthread_cond_broadcast(&pool.work);
  pthread_mutex_unlock(&pool.mutex);

  do_parts(task, context, count);

  pthread_mutex_lock(&pool.mutex);
  pool.wanted = 0; /* who has not come yet finds nothing to do */
  while (pool.working) pthread_cond_wait(&pool.done, &pool.mutex);
  pthread_mutex_unlock(&pool.mutex);
}

void cyxla__pool_run(cyxla__pool_task task, void *context, size_t count) {
  int helpers = allowed_helpers();
  if ((size_t)helpers >= count) helpers = (int)count - 1;
  if (helpers > 0 && !pthread_mutex_trylock(&pool.caller_mutex)) {
    run_together(task, context, count, helpers);
    pthread_mutex_unlock(&pool.caller_mutex);
    return;
  }
  for (size_t part = 0; part < count; ++part) task(context, part);
}
