#include <pthread.h>
#include <stdbool.h>

#include "base/slots.h"
#include "test.h"

enum { THREADS = 8, ROUNDS = 100000 };

typedef struct state {
  atomic_int users;
} state;

static cyxla__slots slots;
static atomic_long made, freed;

static void *number_of_thread(void *out) {
  unsigned *number = out;
  *number = cyxla__slot_of_thread();
  for (int i = 0; i < 10; ++i) CHECK_INT(cyxla__slot_of_thread(), *number);
  return NULL;
}

/* Threads keep their number, and as many as there are slots have different ones. */
static void numbers_threads_in_turn(void) {
  bool seen[CYXLA__SLOT_COUNT] = {false};
  for (int i = 0; i < 2 * CYXLA__SLOT_COUNT; ++i) {
    pthread_t thread;
    unsigned number = ~0u;
    CHECK_INT(pthread_create(&thread, NULL, number_of_thread, &number), 0);
    pthread_join(thread, NULL);
    CHECK(number < CYXLA__SLOT_COUNT);
    CHECK(seen[number] == (i >= CYXLA__SLOT_COUNT));
    seen[number] = true;
  }
}

static void takes_what_was_put(void) {
  int first, second;
  CHECK(!cyxla__slots_take(&slots, 3));
  CHECK(!cyxla__slots_put(&slots, 3, &first));
  CHECK(cyxla__slots_put(&slots, 3, &second) == &first);
  CHECK(!cyxla__slots_take(&slots, 4));
  CHECK(cyxla__slots_take(&slots, 3) == &second);
  CHECK(!cyxla__slots_take(&slots, 3));
}

/* All threads fight for two slots: a state never has two users, and none is lost. */
static void *fight(void *unused) {
  for (int i = 0; i < ROUNDS; ++i) {
    const unsigned number = (unsigned)i % 2;
    state *mine = cyxla__slots_take(&slots, number);
    if (!mine) {
      mine = calloc(1, sizeof *mine);
      CHECK(mine);
      ++made;
    }
    CHECK_INT(atomic_fetch_add(&mine->users, 1), 0);
    atomic_fetch_sub(&mine->users, 1);
    state *surplus = cyxla__slots_put(&slots, number, mine);
    if (surplus) {
      free(surplus);
      ++freed;
    }
  }
  return unused;
}

static void survives_threads(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) CHECK_INT(pthread_create(&threads[i], NULL, fight, NULL), 0);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (unsigned number = 0; number < CYXLA__SLOT_COUNT; ++number) {
    state *left = cyxla__slots_take(&slots, number);
    if (left) ++freed;
    free(left);
  }
  CHECK_INT(freed, made);
}

int main(void) {
  RUN(takes_what_was_put);
  RUN(numbers_threads_in_turn);
  RUN(survives_threads);
}
