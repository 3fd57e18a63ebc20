/* Call states that threads keep without waiting for each other.
 *
 * A call needs working memory that no other call uses at the same time, and wants the memory of the
 * last call of the same thread, for what is prepared in it.  Slots hold idle states: a thread takes
 * from and puts back to the slot of its own number, with one atomic exchange each.  Where two
 * threads share a slot, or calls nest, a state is made anew and the surplus one is handed back for
 * destruction; nobody ever waits.
 */
#ifndef CYXLA_BASE_SLOTS_H
#define CYXLA_BASE_SLOTS_H

#include <stdatomic.h>
#include <stddef.h>

#define CYXLA__SLOT_COUNT 64

typedef struct cyxla__slots {
  _Atomic(void *) states[CYXLA__SLOT_COUNT];
} cyxla__slots;

/* Number of the calling thread's slot; threads get them in turn. */
unsigned cyxla__slot_of_thread(void);

/* The state of slot `number`, or NULL where it is empty; the caller owns it now. */
static inline void *cyxla__slots_take(cyxla__slots *slots, unsigned number) {
  return atomic_exchange_explicit(&slots->states[number], NULL, memory_order_acquire);
}

/* Puts `state` into slot `number`; returns what it replaced (NULL: nothing), which the caller owns.
 */
static inline void *cyxla__slots_put(cyxla__slots *slots, unsigned number, void *state) {
  return atomic_exchange_explicit(&slots->states[number], state, memory_order_acq_rel);
}

#endif
