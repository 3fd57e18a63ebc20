#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"
#include "cyxla/cyxla.h"
#include "test.h"

enum { PARTS = 1000 };

typedef struct work {
  atomic_int done[PARTS];
  pthread_t caller;
  atomic_int by_others;
} work;

static void do_part(void *context, size_t part) {
  work *work = context;
  atomic_fetch_add(&work->done[part], 1);
  if (!pthread_equal(pthread_self(), work->caller)) atomic_fetch_add(&work->by_others, 1);
}

/* Long enough for others to come. */
static void do_slow_part(void *context, size_t part) {
  const struct timespec moment = {.tv_nsec = 100000};
  nanosleep(&moment, NULL);
  do_part(context, part);
}

static int run(cyxla__pool_task task, size_t count) {
  work work = {.caller = pthread_self()};
  cyxla__pool_run(task, &work, count);
  for (size_t i = 0; i < PARTS; ++i) CHECK_INT(work.done[i], i < count);
  return work.by_others;
}

static void each_part_is_done_once(void) {
  for (int round = 0; round < 2000; ++round) run(do_part, (size_t)round % 17);
  run(do_part, PARTS);
}

static void one_thread_means_the_caller(void) {
  cyxla_set_thread_count(1);
  CHECK_INT(run(do_slow_part, 20), 0);
  cyxla_set_thread_count(0);
}

static void others_help(void) {
  cyxla_set_thread_count(4);
  CHECK(run(do_slow_part, 200) > 0);
  cyxla_set_thread_count(0);
}

static void *run_much(void *unused) {
  for (int i = 0; i < 500; ++i) run(do_part, 8);
  return unused;
}

static void callers_do_not_wait_for_each_other(void) {
  pthread_t threads[4];
  cyxla_set_thread_count(3);
  for (size_t i = 0; i < 4; ++i) CHECK_INT(pthread_create(&threads[i], NULL, run_much, NULL), 0);
  for (size_t i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  cyxla_set_thread_count(0);
}

/* A part that itself has work: it does that alone. */
static void nest(void *context, size_t part) {
  run(do_part, 5);
  do_part(context, part);
}

static void parts_may_have_work_themselves(void) {
  cyxla_set_thread_count(3);
  run(nest, 20);
  cyxla_set_thread_count(0);
}

static void a_fork_has_helpers_of_its_own(void) {
  cyxla_set_thread_count(3);
  run(do_slow_part, 50);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (!child) {
      alarm(60);
      _exit(run(do_slow_part, 50) > 0 ? 0 : 1);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
  }
  cyxla_set_thread_count(0);
}

int main(void) {
  RUN(each_part_is_done_once);
  RUN(one_thread_means_the_caller);
  RUN(others_help);
  RUN(callers_do_not_wait_for_each_other);
  RUN(parts_may_have_work_themselves);
  RUN(a_fork_has_helpers_of_its_own);
  return 0;
}
