#include "base/thread_number.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

_Thread_local unsigned cyxla__own_thread_number; /* the number + 1; 0: none yet */

/* No lock: a thread might hold it while another one forks, and in the child it would stay held. */
static atomic_bool taken[CYXLA__THREAD_LIMIT];

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* its destructor is how we learn that a thread ends */
static bool have_key;

static void release(void *number_plus_one) {
  atomic_store_explicit(&taken[(uintptr_t)number_plus_one - 1], false, memory_order_release);
  /* Destructors of other keys may still call us: they get a number anew. */
  cyxla__own_thread_number = 0;
}

static void make_key(void) {
  have_key = !pthread_key_create(&key, release);
}

static unsigned take_free_number(void) {
  unsigned number = 0;
  while (number < CYXLA__THREAD_LIMIT &&
         atomic_exchange_explicit(&taken[number], true, memory_order_acquire))
    ++number;
  return number;
}

unsigned cyxla__thread_number_assign(void) {
  pthread_once(&key_once, make_key);
  if (!have_key) return CYXLA__THREAD_LIMIT;
  const unsigned number = take_free_number();
  if (number == CYXLA__THREAD_LIMIT) return number;
  if (pthread_setspecific(key, (void *)(uintptr_t)(number + 1))) {
    release((void *)(uintptr_t)(number + 1));
    return CYXLA__THREAD_LIMIT;
  }
  return (cyxla__own_thread_number = number + 1) - 1;
}
