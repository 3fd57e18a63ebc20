#include "base/threads.h"

#include <fenv.h>
#include <signal.h>

enum { LARGE_STACK = 64 << 20 };

static bool start(const pthread_attr_t *attributes, void *(*run)(void *), void *context,
                  pthread_t *out_thread) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool started = !pthread_create(out_thread, attributes, run, context);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

bool cyxla__thread_start(void *(*run)(void *), void *context, size_t stack_size,
                         pthread_t *out_thread) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes)) return false;
  const bool started = (!stack_size || !pthread_attr_setstacksize(&attributes, stack_size)) &&
                       start(&attributes, run, context, out_thread);
  pthread_attr_destroy(&attributes);
  return started;
}

/* ---- a large stack ---- */

typedef struct job {
  void (*task)(void *);
  void *context;
} job;

static void *run_job(void *context) {
  const job *job = context;
  fenv_t before;
  fegetenv(&before);
  fesetenv(FE_DFL_ENV);
  job->task(job->context);
  fesetenv(&before);
  return NULL;
}

void cyxla__run_on_large_stack(void (*task)(void *), void *context) {
  job job = {task, context};
  pthread_t thread;
  if (cyxla__thread_start(run_job, &job, LARGE_STACK, &thread))
    pthread_join(thread, NULL);
  else
    run_job(&job);
}

/* ---- how many can be started ---- */

static void *wait_for_gate(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

/* More than that are not tried. */
enum { TRIED_LIMIT = 512 };

bool cyxla__threads_can_start(size_t count) {
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* none ends before the last one has started */
  pthread_t threads[TRIED_LIMIT];
  size_t started = 0;
  if (count > TRIED_LIMIT) count = TRIED_LIMIT;
  pthread_mutex_lock(&gate);
  while (started < count && cyxla__thread_start(wait_for_gate, &gate, 0, &threads[started]))
    ++started;
  pthread_mutex_unlock(&gate);
  for (size_t i = 0; i < started; ++i) pthread_join(threads[i], NULL);
  return started == count;
}
