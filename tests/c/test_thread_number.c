#include <pthread.h>
#include <stdbool.h>

#include "base/thread_number.h"
#include "test.h"

enum { THREADS = CYXLA__THREAD_LIMIT + 8 };

static pthread_barrier_t all_have_one, all_may_end;
static unsigned numbers[THREADS];

static void *take_number(void *index) {
  numbers[(size_t)index] = cyxla__thread_number();
  pthread_barrier_wait(&all_have_one);
  CHECK_INT(!cyxla__thread_number(), !numbers[(size_t)index]);
  pthread_barrier_wait(&all_may_end);
  return NULL;
}

/* Starts `count` threads that live at once, and waits for their end. */
static void run_threads(size_t count) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&all_have_one, NULL, (unsigned)count);
  pthread_barrier_init(&all_may_end, NULL, (unsigned)count);
  for (size_t i = 0; i < count; ++i)
    CHECK_INT(pthread_create(&threads[i], NULL, take_number, (void *)i), 0);
  for (size_t i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&all_have_one);
  pthread_barrier_destroy(&all_may_end);
}

static void a_thread_keeps_its_number(void) {
  const unsigned number = cyxla__thread_number();
  CHECK(number && number <= CYXLA__THREAD_LIMIT);
  CHECK_INT(cyxla__thread_number(), number);
}

static void living_threads_share_none(void) {
  bool seen[CYXLA__THREAD_LIMIT + 1] = {true};
  seen[cyxla__thread_number()] = true;
  run_threads(64);
  for (size_t i = 0; i < 64; ++i) {
    CHECK(!seen[numbers[i]]);
    seen[numbers[i]] = true;
  }
}

static void too_many_threads_get_none(void) {
  cyxla__thread_number(); /* this thread has one */
  run_threads(THREADS);
  size_t without = 0;
  for (size_t i = 0; i < THREADS; ++i) without += !numbers[i];
  CHECK_INT(without, THREADS - CYXLA__THREAD_LIMIT + 1);
}

/* Many times as many threads as there are numbers, but few at once. */
static void numbers_come_back(void) {
  for (int round = 0; round < 200; ++round) {
    run_threads(4);
    for (size_t i = 0; i < 4; ++i) CHECK(numbers[i]);
  }
}

int main(void) {
  RUN(a_thread_keeps_its_number);
  RUN(living_threads_share_none);
  RUN(too_many_threads_get_none);
  RUN(numbers_come_back);
  return 0;
}
