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
  /* By thread number: each thread keeps the call that it used last. */
  cyxla__call *calls[CYXLA__THREAD_LIMIT];
} cyxla__direct;

/* Makes a decoded image runnable, which must outlive it.
 *
 * Returns: UNIMPLEMENTED (it can't run directly: the message tells why), INVALID_ARGUMENT, NOT_FOUND (an
 *          FFI target), RESOURCE_EXHAUSTED. */
int32_t cyxla__direct_create(const cyxla__image *image, cyxla__direct **out_direct,
                             cyxla_error *error);

/* NULL is fine. */
void cyxla__direct_destroy(cyxla__direct *direct);

/* Runs once, in the calling thread; inputs have been checked.  Threads: shared. */
int32_t cyxla__direct_execute(cyxla__direct *direct, const cyxla_input *inputs,
                              void *const *outputs, cyxla_error *error);

#endif
