#include <stdio.h>

#include "direct/verify.h"
#include "element_types.h"
#include "xla_cpu/primitive_type.h"

/* Different reasons that a message names; the rest is counted. */
enum { MAX_REASONS = 12 };

typedef struct reason {
  char text[192];
  size_t count;
  cyxla__name example;
} reason;

typedef struct reasons {
  reason items[MAX_REASONS];
  size_t count, others;
} reasons;

/* ---- one thunk ---- */

/* They call back into the Python that is inside of jaxlib. */
static bool is_python_callback(cyxla__span target) {
  return cyxla__span_is(target, "xla_ffi_python_cpu_callback") ||
         cyxla__span_is(target, "xla_ffi_partitioned_python_cpu_callback");
}

/* A token, or numbers of less than a byte. */
static bool has_unknown_types(const cyxla__array *arrays, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!cyxla__primitive_size(arrays[i].shape.type)) return true;
  return false;
}

enum { API_TYPED_FFI = 4 }; /* CustomCallApiVersion of xla/service/hlo.proto */

static bool reject_custom_call(const cyxla__thunk *thunk, char *text, size_t capacity) {
  const cyxla__name target = cyxla__name_of(thunk->as.custom_call.target);
  const char *why = NULL;
  if (thunk->as.custom_call.api_version != API_TYPED_FFI)
    why = ", which is not of the typed FFI";
  else if (is_python_callback(thunk->as.custom_call.target))
    why = ", which calls Python";
  else if (has_unknown_types(thunk->as.custom_call.buffers, thunk->as.custom_call.count))
    why = " with a token, or a type that is not known";
  if (why) snprintf(text, capacity, "custom-call of %s%s", target.text, why);
  return why != NULL;
}

static const char *type_name(const cyxla__array *array) {
  const char *name = cyxla__element_name(cyxla__primitive_element_type(array->shape.type));
  return name ? name : "another type";
}

/* Sums of floating-point numbers depend on their order, which XLA leaves to a library. */
static bool reject_dot(const cyxla__thunk *thunk, char *text, size_t capacity) {
  const int32_t type = thunk->as.dot.result.shape.type;
  if (type >= XLA_S8 && type <= XLA_U64 && thunk->as.dot.left.shape.type == type &&
      thunk->as.dot.right.shape.type == type)
    return false;
  snprintf(text, capacity, "dot of %s", type_name(&thunk->as.dot.left));
  return true;
}

/* Writes why the engine does not run `thunk`; false where it does. */
static bool reject(const cyxla__thunk *thunk, char *text, size_t capacity) {
  switch (thunk->kind) {
    case CYXLA__THUNK_UNSUPPORTED:
      snprintf(text, capacity, "%s", cyxla__name_of(thunk->kind_name).text);
      return true;
    case CYXLA__THUNK_CUSTOM_CALL:
      return reject_custom_call(thunk, text, capacity);
    case CYXLA__THUNK_DOT:
      return reject_dot(thunk, text, capacity);
    default:
      return false;
  }
}

/* ---- all of them ---- */

static int32_t add_reason(void *context, const cyxla__thunk *thunk, cyxla_error *error) {
  (void)error;
  reasons *reasons = context;
  reason next = {.count = 1};
  if (!reject(thunk, next.text, sizeof next.text)) return CYXLA_OK;
  for (size_t i = 0; i < reasons->count; ++i) {
    if (strcmp(reasons->items[i].text, next.text)) continue;
    ++reasons->items[i].count;
    return CYXLA_OK;
  }
  next.example = cyxla__name_of(thunk->op_name);
  if (reasons->count < MAX_REASONS)
    reasons->items[reasons->count++] = next;
  else
    ++reasons->others;
  return CYXLA_OK;
}

static int32_t fail_support(const reasons *reasons, cyxla_error *error) {
  char list[MAX_REASONS * (sizeof(reason) + 32)];
  size_t used = 0;
  for (size_t i = 0; i < reasons->count; ++i) {
    const reason *reason = &reasons->items[i];
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%zu x %s (%s)", i ? ", " : "",
                             reason->count, reason->text, reason->example.text);
  }
  if (reasons->others) snprintf(list + used, sizeof list - used, ", %zu others", reasons->others);
  return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "thunks that are not supported: %s", list);
}

int32_t cyxla__verify_support(const cyxla__sequence *sequence, cyxla_error *error) {
  reasons reasons = {.count = 0};
  TRY(cyxla__visit(sequence, add_reason, &reasons, error));
  return reasons.count ? fail_support(&reasons, error) : CYXLA_OK;
}
