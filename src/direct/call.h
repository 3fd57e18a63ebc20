/* A call: the memory that one run at a time works in, bound to the caller's arrays.
 *
 * XLA's code wants its arrays aligned to 64.  Arrays that are so are used in place; others are *staged*:
 * copied to aligned memory of the call before a run, or from it after the run.  An input that overlaps an
 * output is staged too, for outputs are written while inputs are still read. */
#ifndef CYXLA_DIRECT_CALL_H
#define CYXLA_DIRECT_CALL_H

#include <stdbool.h>

#include "direct/plan.h"

/* What an allocation means for a call: the places that get the address of one input or output. */
typedef struct cyxla__external {
  bool is_output;
  uint32_t number;   /* of the input or output */
  size_t size;       /* bytes */
  int32_t parameter; /* of an output: the input whose copy it starts as; -1: none */
  cyxla__address *addresses;
  size_t address_count;
} cyxla__external;

/* Bytes to be copied before or after a run. */
typedef struct cyxla__move {
  void *to;
  const void *from;
  size_t size;
} cyxla__move;

typedef struct cyxla__call {
  const struct cyxla__direct *direct;
  uint8_t *block;
  bool busy;           /* running, in the one thread that uses it */
  cyxla_input *inputs; /* what it is bound to, as the caller gave it */
  void **outputs;
  void **staging; /* by external; NULL: none yet */
  cyxla__move *moves_in, *moves_out;
  size_t move_in_count, move_out_count;
} cyxla__call;

/* NULL: no memory. */
cyxla__call *cyxla__call_create(const struct cyxla__direct *direct);
void cyxla__call_destroy(cyxla__call *call);

/* Binds to the arrays of the caller, which were checked; RESOURCE_EXHAUSTED: no memory to stage one. */
int32_t cyxla__call_bind(cyxla__call *call, const cyxla_input *inputs, void *const *outputs,
                         cyxla_error *error);

/* Whether it is bound to just these: then they need no check. */
static inline bool cyxla__call_is_bound(const cyxla__call *call, const cyxla_input *inputs,
                                        size_t input_count, void *const *outputs,
                                        size_t output_count) {
  if ((!inputs && input_count) || (!outputs && output_count)) return false;
  for (size_t i = 0; i < input_count; ++i)
    if (call->inputs[i].data != inputs[i].data || call->inputs[i].type != inputs[i].type ||
        call->inputs[i].size != inputs[i].size)
      return false;
  for (size_t i = 0; i < output_count; ++i)
    if (call->outputs[i] != outputs[i]) return false;
  return true;
}

/* Runs once: copies in, executes the plan in XLA's floating-point environment, copies out. */
int32_t cyxla__call_run(cyxla__call *call, cyxla_error *error);

#endif
