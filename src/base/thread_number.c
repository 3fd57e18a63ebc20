#include "base/thread_number.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

_Thread_local unsigned cyxla__own_thread_number;

/* No lock: a thread might hold it while another one forks, and in the child it would stay held. */
static atomic_bool taken[CYXLA__THREAD_LIMIT + 1]; /* 0 is no number */

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* its destructor is how we learn that a thread ends */
static bool have_key;

static void release(void *number) {
  atomic_store_explicit(&taken[(uintptr_t)number], false, memory_order_release);
  /* Destructors of other keys may still call us: they get a number anew. */
  cyxla__own_thread_number = 0;
}

static void make_key(void) {
  have_key = !pthread_key_create(&key, release);
}

static unsigned take_free_number(void) {
  for (unsigned number = 1; number <= CYXLA__THREAD_LIMIT; ++number)
    if (!atomic_exchange_explicit(&taken[number], true, memory_order_acquire)) return number;
  return 0;
}

unsigned cyxla__thread_number_assign(void) {
  pthread_once(&key_once, make_key);
  const unsigned number = have_key ? take_free_number() : 0;
  if (number && pthread_setspecific(key, (void *)(uintptr_t)number)) {
    release((void *)(uintptr_t)number);
    return 0;
  }
  return cyxla__own_thread_number = number;
}
