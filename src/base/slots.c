#include "base/slots.h"

static atomic_uint thread_count;
static _Thread_local unsigned thread_number; /* 0: not given yet */

unsigned cyxla__slot_of_thread(void) {
  if (!thread_number)
    thread_number =
        1 + atomic_fetch_add_explicit(&thread_count, 1, memory_order_relaxed) % CYXLA__SLOT_COUNT;
  return thread_number - 1;
}
