/* The direct engine: an XLA:CPU executable, run without XLA's runtime.
 *
 * bytes --decode--> image --verify, link, plan--> plan --run--> results, see image.h, code.h, plan.h and
 * call.h. */
#ifndef CYXLA_DIRECT_DIRECT_H
#define CYXLA_DIRECT_DIRECT_H

#include "base/thread_number.h"
#include "direct/call.h"
#include "direct/image.h"
#include "direct/plan.h"

typedef struct cyxla__direct {
  const cyxla__image *image; /* borrowed */
  cyxla__plan plan;
  cyxla__external *externals; /* inputs, then outputs, that code refers to */
  size_t external_count;
  size_t input_count, output_count;
  /* By thread number: each thread keeps the call that it used last; 0 is no thread, and has none. */
  cyxla__call *calls[CYXLA__THREAD_LIMIT + 1];
} cyxla__direct;

/* Makes a decoded image runnable, which must outlive it.
 *
 * Returns: UNIMPLEMENTED (it can't run directly: the message tells why), INVALID_ARGUMENT, NOT_FOUND (an
 *          FFI target), RESOURCE_EXHAUSTED. */
int32_t cyxla__direct_create(const cyxla__image *image, cyxla__direct **out_direct,
                             cyxla_error *error);

/* NULL is fine. */
void cyxla__direct_destroy(cyxla__direct *direct);

/* The call of this thread that is bound to just these arrays, and may be run without more ado; NULL: there is
 * none. */
static inline cyxla__call *cyxla__direct_bound_call(const cyxla__direct *direct,
                                                    const cyxla_input *inputs,
                                                    void *const *outputs) {
  cyxla__call *call = direct->calls[cyxla__own_thread_number];
  if (!call || call->busy ||
      !cyxla__call_is_bound(call, inputs, direct->input_count, outputs, direct->output_count))
    return NULL;
  return call;
}

/* Runs once, in the calling thread; inputs have been checked.  Threads: shared. */
int32_t cyxla__direct_execute(cyxla__direct *direct, const cyxla_input *inputs,
                              void *const *outputs, cyxla_error *error);

#endif
