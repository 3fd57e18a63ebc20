#include "direct/direct.h"

#include <stdlib.h>

#include "base/memory.h"

/* ---- making one ---- */

/* Inputs, then outputs: the order of externals. */
static int32_t external_of(const cyxla__allocation *allocation) {
  if (allocation->kind == CYXLA__ALLOCATION_PARAMETER) return 0;
  return allocation->kind == CYXLA__ALLOCATION_OUTPUT ? 1 : -1;
}

static void add_external(cyxla__direct *direct, size_t allocation_index,
                         cyxla__address **addresses) {
  const cyxla__plan *plan = &direct->plan;
  const cyxla__allocation *allocation = &direct->image->allocations[allocation_index];
  cyxla__external *external = &direct->externals[direct->external_count++];
  *external = (cyxla__external){.is_output = allocation->kind == CYXLA__ALLOCATION_OUTPUT,
                                .number = allocation->number,
                                .size = (size_t)allocation->size,
                                .parameter = allocation->parameter,
                                .addresses = *addresses};
  for (size_t i = 0; i < plan->address_count; ++i)
    if (plan->addresses[i].allocation == allocation_index) *(*addresses)++ = plan->addresses[i];
  external->address_count = (size_t)(*addresses - external->addresses);
}

/* Collects the addresses of each input and output. */
static int32_t add_externals(cyxla__direct *direct, cyxla_error *error) {
  const cyxla__image *image = direct->image;
  cyxla__plan *plan = &direct->plan;
  cyxla__address *addresses =
      cyxla__arena_alloc(&plan->arena, plan->address_count, sizeof *addresses);
  direct->externals =
      cyxla__arena_alloc(&plan->arena, image->allocation_count, sizeof *direct->externals);
  if (!addresses || !direct->externals)
    return cyxla__fail_memory(error, plan->address_count * sizeof *addresses);
  for (int32_t role = 0; role < 2; ++role)
    for (size_t i = 0; i < image->allocation_count; ++i)
      if (external_of(&image->allocations[i]) == role) add_external(direct, i, &addresses);
  return CYXLA_OK;
}

static int32_t init(cyxla__direct *direct, cyxla_error *error) {
  TRY(cyxla__image_verify(direct->image, error));
  TRY(cyxla__plan_init(&direct->plan, direct->image, error));
  const int32_t status = add_externals(direct, error);
  if (status) cyxla__plan_deinit(&direct->plan);
  return status;
}

int32_t cyxla__direct_create(const cyxla__image *image, cyxla__direct **out_direct,
                             cyxla_error *error) {
  cyxla__direct *direct = calloc(1, sizeof *direct);
  if (!direct) return cyxla__fail_memory(error, sizeof *direct);
  direct->image = image;
  direct->input_count = image->input_count;
  direct->output_count = image->output_count;
  const int32_t status = init(direct, error);
  if (status) {
    free(direct);
    return status;
  }
  *out_direct = direct;
  return CYXLA_OK;
}

void cyxla__direct_destroy(cyxla__direct *direct) {
  if (!direct) return;
  for (size_t i = 0; i <= CYXLA__THREAD_LIMIT; ++i) cyxla__call_destroy(direct->calls[i]);
  cyxla__plan_deinit(&direct->plan);
  free(direct);
}

/* ---- executing ---- */

/* A call of its own: for threads without a number, and for handlers that run the executable which calls
 * them. */
static int32_t execute_alone(const cyxla__direct *direct, const cyxla_input *inputs,
                             void *const *outputs, cyxla_error *error) {
  cyxla__call *call = cyxla__call_create(direct);
  if (!call) return cyxla__fail_memory(error, direct->plan.block_size);
  int32_t status = cyxla__call_bind(call, inputs, outputs, error);
  if (!status) status = cyxla__call_run(call, error);
  cyxla__call_destroy(call);
  return status;
}

int32_t cyxla__direct_execute(cyxla__direct *direct, const cyxla_input *inputs,
                              void *const *outputs, cyxla_error *error) {
  const unsigned thread = cyxla__thread_number();
  if (!thread || (direct->calls[thread] && direct->calls[thread]->busy))
    return execute_alone(direct, inputs, outputs, error);
  if (!direct->calls[thread]) direct->calls[thread] = cyxla__call_create(direct);
  cyxla__call *call = direct->calls[thread];
  if (!call) return cyxla__fail_memory(error, direct->plan.block_size);
  TRY(cyxla__call_bind(call, inputs, outputs, error));
  return cyxla__call_run(call, error);
}
