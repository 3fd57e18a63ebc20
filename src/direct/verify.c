#include "direct/verify.h"

#include <inttypes.h>

#include "xla_cpu/primitive_type.h"

int32_t cyxla__visit(const cyxla__sequence *sequence, cyxla__visitor *visit, void *context,
                     cyxla_error *error) {
  for (size_t i = 0; i < sequence->count; ++i) {
    const cyxla__thunk *thunk = &sequence->thunks[i];
    TRY(visit(context, thunk, error));
    if (thunk->kind == CYXLA__THUNK_CALL)
      TRY(cyxla__visit(&thunk->as.call.sequence, visit, context, error));
    if (thunk->kind == CYXLA__THUNK_WHILE) {
      TRY(cyxla__visit(&thunk->as.loop.condition, visit, context, error));
      TRY(cyxla__visit(&thunk->as.loop.body, visit, context, error));
    }
    if (thunk->kind == CYXLA__THUNK_CONDITIONAL)
      for (size_t k = 0; k < thunk->as.conditional.count; ++k)
        TRY(cyxla__visit(&thunk->as.conditional.branches[k], visit, context, error));
  }
  return CYXLA_OK;
}

/* ---- inputs and outputs ---- */

static bool is_row_major(const cyxla__shape *shape) {
  for (int32_t i = 0; i < shape->rank; ++i)
    if (shape->minor_to_major[i] != shape->rank - 1 - i) return false;
  return true;
}

static int32_t check_arrays(const cyxla__shape *shapes, size_t count, const char *role,
                            cyxla_error *error) {
  for (size_t i = 0; i < count; ++i) {
    if (!cyxla__primitive_element_type(shapes[i].type))
      return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                         "%s %zu is of XLA's type %d, which is not supported", role, i,
                         (int)shapes[i].type);
    if (!is_row_major(&shapes[i]))
      return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "%s %zu is not laid out row-major", role, i);
  }
  return CYXLA_OK;
}

/* ---- allocations ---- */

static int32_t fail_allocation(size_t index, const char *what, cyxla_error *error) {
  return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                     "allocation %zu is not as large as %s, or there is none", index, what);
}

static bool is_input(const cyxla__image *image, uint32_t number, uint64_t size) {
  return number < image->input_count && image->inputs[number].size == size;
}

static int32_t check_allocations(const cyxla__image *image, cyxla_error *error) {
  for (size_t i = 0; i < image->allocation_count; ++i) {
    const cyxla__allocation *allocation = &image->allocations[i];
    if (allocation->kind == CYXLA__ALLOCATION_PARAMETER &&
        !is_input(image, allocation->number, allocation->size))
      return fail_allocation(i, "its input", error);
    if (allocation->parameter >= 0 &&
        !is_input(image, (uint32_t)allocation->parameter, allocation->size))
      return fail_allocation(i, "the input that is donated to it", error);
  }
  return CYXLA_OK;
}

int32_t cyxla__image_verify(const cyxla__image *image, cyxla_error *error) {
  TRY(cyxla__verify_support(&image->sequence, error));
  TRY(check_arrays(image->inputs, image->input_count, "input", error));
  TRY(check_arrays(image->outputs, image->output_count, "output", error));
  TRY(check_allocations(image, error));
  return cyxla__visit(&image->sequence, cyxla__verify_thunk, (void *)image, error);
}
