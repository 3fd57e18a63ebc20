/* What `execute` leaves for error_info(): a message per thread, and a count for the process. */
#ifndef CYXLA_THREAD_ERRORS_H
#define CYXLA_THREAD_ERRORS_H

#include <stdatomic.h>

#include "cyxla/cyxla.h"

static _Thread_local cyxla_error thread_error = CYXLA_ERROR_INIT;
static atomic_size_t error_count;

static inline void count_error(void) {
  atomic_fetch_add_explicit(&error_count, 1, memory_order_relaxed);
}

static inline size_t counted_errors(void) {
  return atomic_load_explicit(&error_count, memory_order_relaxed);
}

#endif
