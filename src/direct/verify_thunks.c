#include "base/memory.h"
#include "direct/op_sort.h"
#include "direct/verify.h"
#include "xla_cpu/primitive_type.h"

/* Work groups of one kernel: XLA makes as many as there are cores, or fewer. */
enum { MAX_WORKGROUPS = 1 << 20 };
/* Operands of one sort, which are compared with each other. */
enum { MAX_SORTED = 64 };
/* Dimensions of an array, as decoding has it: a set of them is a word. */
enum { MAX_RANK = 64 };

/* "the sort sort.3: <rule>" */
static int32_t fail(const cyxla__thunk *thunk, int32_t status, const char *rule,
                    cyxla_error *error) {
  return cyxla__fail(error, status, "the %s %s: %s", cyxla__name_of(thunk->kind_name).text,
                     cyxla__name_of(thunk->op_name).text, rule);
}

static int32_t require(bool holds, const cyxla__thunk *thunk, const char *rule,
                       cyxla_error *error) {
  return holds ? CYXLA_OK : fail(thunk, CYXLA_INVALID_ARGUMENT, rule, error);
}

/* ---- slices and arrays ---- */

static int32_t check_slice(const cyxla__image *image, const cyxla__thunk *thunk,
                           const cyxla__slice *slice, cyxla_error *error) {
  if (slice->allocation >= image->allocation_count)
    return fail(thunk, CYXLA_INVALID_ARGUMENT, "a slice of an allocation that there is not", error);
  const cyxla__allocation *allocation = &image->allocations[slice->allocation];
  if (slice->offset > allocation->size || slice->size > allocation->size - slice->offset)
    return fail(thunk, CYXLA_INVALID_ARGUMENT, "a slice beyond its allocation", error);
  return require(allocation->kind != CYXLA__ALLOCATION_UNUSED, thunk,
                 "a slice of an allocation without memory", error);
}

/* Of a slice that was checked.  Inputs are the caller's and never written to. */
static int32_t check_written(const cyxla__image *image, const cyxla__thunk *thunk,
                             const cyxla__slice *slice, cyxla_error *error) {
  const cyxla__allocation_kind kind = image->allocations[slice->allocation].kind;
  TRY(require(kind != CYXLA__ALLOCATION_PARAMETER, thunk, "it writes to an input", error));
  return require(kind != CYXLA__ALLOCATION_CONSTANT, thunk, "it writes to a constant", error);
}

/* A slice of `size` bytes that holds numbers of `alignment` bytes. */
static int32_t check_sized(const cyxla__image *image, const cyxla__thunk *thunk,
                           const cyxla__slice *slice, uint64_t size, size_t alignment,
                           cyxla_error *error) {
  TRY(check_slice(image, thunk, slice, error));
  return require(slice->size == size && slice->offset % alignment == 0, thunk,
                 "a slice of another size or alignment than what it holds", error);
}

static int32_t check_array(const cyxla__image *image, const cyxla__thunk *thunk,
                           const cyxla__array *array, cyxla_error *error) {
  const size_t element_size = cyxla__primitive_size(array->shape.type);
  if (!element_size)
    return fail(thunk, CYXLA_UNIMPLEMENTED, "an array of a type that is not known", error);
  return check_sized(image, thunk, &array->slice, array->shape.size, element_size, error);
}

static bool overlap(const cyxla__slice *a, const cyxla__slice *b) {
  return a->allocation == b->allocation && a->size && b->size && a->offset < b->offset + b->size &&
         b->offset < a->offset + a->size;
}

static int32_t check_apart(const cyxla__thunk *thunk, const cyxla__slice *a, const cyxla__slice *b,
                           cyxla_error *error) {
  return require(!overlap(a, b), thunk, "slices that overlap", error);
}

static bool same_numbers(const int64_t *a, const int64_t *b, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

static bool same_dimensions(const cyxla__shape *a, const cyxla__shape *b) {
  return a->rank == b->rank && same_numbers(a->dimensions, b->dimensions, a->rank);
}

/* ---- kinds ---- */

static bool good_workgroups(const uint64_t counts[3]) {
  size_t product = 1;
  for (int i = 0; i < 3; ++i)
    if (!counts[i] || !cyxla__multiply(product, counts[i], &product)) return false;
  return product <= MAX_WORKGROUPS;
}

/* Inputs and constants may be among the results: a loop that became one kernel lists its whole
 * state, also what each of its steps passes on as it is. */
static int32_t check_kernel(const cyxla__image *image, const cyxla__thunk *thunk,
                            cyxla_error *error) {
  const uint64_t alignment = thunk->as.kernel.alignment ? thunk->as.kernel.alignment : 1;
  TRY(require(thunk->as.kernel.name.size > 0, thunk, "a kernel without a name", error));
  TRY(require(good_workgroups(thunk->as.kernel.workgroups), thunk,
              "no work groups, or too many of them", error));
  if (CYXLA__ALIGNMENT % alignment)
    return fail(thunk, CYXLA_UNIMPLEMENTED, "its buffers need more alignment than 64", error);
  for (size_t i = 0; i < thunk->as.kernel.count; ++i) {
    const cyxla__slice *slice = &thunk->as.kernel.buffers[i];
    TRY(check_slice(image, thunk, slice, error));
    TRY(require(slice->offset % alignment == 0, thunk, "a buffer that is not aligned", error));
  }
  return CYXLA_OK;
}

static int32_t check_copy(const cyxla__image *image, const cyxla__thunk *thunk,
                          cyxla_error *error) {
  const cyxla__array *source = &thunk->as.copy.source, *destination = &thunk->as.copy.destination;
  TRY(check_array(image, thunk, source, error));
  TRY(check_array(image, thunk, destination, error));
  TRY(require(source->shape.type == destination->shape.type &&
                  same_dimensions(&source->shape, &destination->shape),
              thunk, "source and destination are of different types", error));
  TRY(check_written(image, thunk, &destination->slice, error));
  return check_apart(thunk, &source->slice, &destination->slice, error);
}

/* A bool chooses among two branches. */
static int32_t check_conditional(const cyxla__image *image, const cyxla__thunk *thunk,
                                 cyxla_error *error) {
  const cyxla__slice *index = &thunk->as.conditional.index;
  const uint64_t size = index->size == 1 ? 1 : sizeof(int32_t);
  TRY(require(thunk->as.conditional.count >= (size == 1 ? 2 : 1), thunk, "too few branches",
              error));
  return check_sized(image, thunk, index, size, size, error);
}

static int32_t check_while(const cyxla__image *image, const cyxla__thunk *thunk,
                           cyxla_error *error) {
  return check_sized(image, thunk, &thunk->as.loop.predicate, 1, 1, error);
}

static int32_t check_operand(const cyxla__image *image, const cyxla__thunk *thunk, size_t index,
                             cyxla_error *error) {
  const cyxla__array *operand = &thunk->as.sort.operands[index];
  const cyxla__shape *shape = &operand->shape, *first = &thunk->as.sort.operands[0].shape;
  TRY(check_array(image, thunk, operand, error));
  TRY(check_written(image, thunk, &operand->slice, error));
  TRY(require(same_dimensions(shape, first) &&
                  same_numbers(shape->minor_to_major, first->minor_to_major, first->rank),
              thunk, "operands of different dimensions", error));
  for (size_t i = 0; i < index; ++i)
    TRY(check_apart(thunk, &thunk->as.sort.operands[i].slice, &operand->slice, error));
  return CYXLA_OK;
}

static int32_t check_sort(const cyxla__image *image, const cyxla__thunk *thunk,
                          cyxla_error *error) {
  const size_t count = thunk->as.sort.count;
  TRY(require(count > 0, thunk, "no operands", error));
  if (count > MAX_SORTED) return fail(thunk, CYXLA_UNIMPLEMENTED, "more operands than 64", error);
  for (size_t i = 0; i < count; ++i) TRY(check_operand(image, thunk, i, error));
  TRY(require(thunk->as.sort.dimension < thunk->as.sort.operands[0].shape.rank, thunk,
              "a dimension that there is not", error));
  return require(thunk->as.sort.comparator.size || !cyxla__sort_needs_comparator(thunk), thunk,
                 "no comparator", error);
}

/* The values are f32, the indices s32. */
static int32_t check_top_k(const cyxla__image *image, const cyxla__thunk *thunk,
                           cyxla_error *error) {
  const uint64_t k = thunk->as.top_k.k, input_size = thunk->as.top_k.input_size;
  const cyxla__slice *values = &thunk->as.top_k.values, *output = &thunk->as.top_k.output,
                     *indices = &thunk->as.top_k.indices;
  size_t row = 0, whole = 0, best = 0;
  TRY(require(k <= input_size && input_size <= INT32_MAX &&
                  cyxla__multiply(thunk->as.top_k.batch_size, 4, &row) &&
                  cyxla__multiply(row, input_size, &whole) && cyxla__multiply(row, k, &best),
              thunk, "sizes that can't be", error));
  TRY(check_sized(image, thunk, values, whole, sizeof(float), error));
  TRY(check_sized(image, thunk, output, best, sizeof(float), error));
  TRY(check_sized(image, thunk, indices, best, sizeof(int32_t), error));
  TRY(check_written(image, thunk, output, error));
  TRY(check_written(image, thunk, indices, error));
  TRY(check_apart(thunk, values, output, error));
  TRY(check_apart(thunk, values, indices, error));
  return check_apart(thunk, output, indices, error);
}

static int32_t check_rng_state(const cyxla__image *image, const cyxla__thunk *thunk,
                               cyxla_error *error) {
  TRY(check_sized(image, thunk, &thunk->as.rng_state.state, 16, 8, error));
  return check_written(image, thunk, &thunk->as.rng_state.state, error);
}

static int32_t check_device_id(const cyxla__image *image, const cyxla__thunk *thunk,
                               cyxla_error *error) {
  TRY(check_sized(image, thunk, &thunk->as.device_id.id, 4, 4, error));
  return check_written(image, thunk, &thunk->as.device_id.id, error);
}

static int32_t check_custom_call(const cyxla__image *image, const cyxla__thunk *thunk,
                                 cyxla_error *error) {
  TRY(require(thunk->as.custom_call.target.size > 0, thunk, "no target", error));
  for (size_t i = 0; i < thunk->as.custom_call.count; ++i) {
    const cyxla__array *buffer = &thunk->as.custom_call.buffers[i];
    TRY(check_array(image, thunk, buffer, error));
    if (i >= thunk->as.custom_call.argument_count)
      TRY(check_written(image, thunk, &buffer->slice, error));
  }
  return CYXLA_OK;
}

/* ---- dot ---- */

/* Adds dimensions to a set; false where one is there already, or none of the array's. */
static bool add_dimensions(const int64_t *dimensions, size_t count, int32_t rank, uint64_t *set) {
  for (size_t i = 0; i < count; ++i) {
    if (dimensions[i] < 0 || dimensions[i] >= rank || *set >> dimensions[i] & 1) return false;
    *set |= UINT64_C(1) << dimensions[i];
  }
  return true;
}

/* Whether the dimensions of left and right that belong together are equal. */
static bool equal_pairs(const cyxla__thunk *thunk, const int64_t *left, const int64_t *right,
                        size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (thunk->as.dot.left.shape.dimensions[left[i]] !=
        thunk->as.dot.right.shape.dimensions[right[i]])
      return false;
  return true;
}

/* Adds the sizes of dimensions that are not in `set`. */
static void add_free(const cyxla__shape *shape, uint64_t set, int64_t *sizes, int32_t *count) {
  for (int32_t i = 0; i < shape->rank; ++i)
    if (!(set >> i & 1)) sizes[(*count)++] = shape->dimensions[i];
}

/* The result's dimensions are those of batches, the free ones of left, and the free ones of
 * right. */
static bool good_dot_result(const cyxla__thunk *thunk, uint64_t left_set, uint64_t right_set) {
  const cyxla__shape *left = &thunk->as.dot.left.shape, *result = &thunk->as.dot.result.shape;
  int64_t sizes[2 * MAX_RANK];
  int32_t count = 0;
  for (size_t i = 0; i < thunk->as.dot.batch_count; ++i)
    sizes[count++] = left->dimensions[thunk->as.dot.left_batch[i]];
  add_free(left, left_set, sizes, &count);
  add_free(&thunk->as.dot.right.shape, right_set, sizes, &count);
  return count == result->rank && same_numbers(sizes, result->dimensions, count);
}

static bool good_dot(const cyxla__thunk *thunk) {
  const int32_t left_rank = thunk->as.dot.left.shape.rank,
                right_rank = thunk->as.dot.right.shape.rank;
  const size_t contracting = thunk->as.dot.contracting_count, batch = thunk->as.dot.batch_count;
  uint64_t left = 0, right = 0;
  return add_dimensions(thunk->as.dot.left_contracting, contracting, left_rank, &left) &&
         add_dimensions(thunk->as.dot.left_batch, batch, left_rank, &left) &&
         add_dimensions(thunk->as.dot.right_contracting, contracting, right_rank, &right) &&
         add_dimensions(thunk->as.dot.right_batch, batch, right_rank, &right) &&
         equal_pairs(thunk, thunk->as.dot.left_contracting, thunk->as.dot.right_contracting,
                     contracting) &&
         equal_pairs(thunk, thunk->as.dot.left_batch, thunk->as.dot.right_batch, batch) &&
         good_dot_result(thunk, left, right);
}

static int32_t check_dot(const cyxla__image *image, const cyxla__thunk *thunk, cyxla_error *error) {
  const cyxla__array *left = &thunk->as.dot.left, *right = &thunk->as.dot.right,
                     *result = &thunk->as.dot.result;
  TRY(check_array(image, thunk, left, error));
  TRY(check_array(image, thunk, right, error));
  TRY(check_array(image, thunk, result, error));
  TRY(check_written(image, thunk, &result->slice, error));
  TRY(check_apart(thunk, &left->slice, &result->slice, error));
  TRY(check_apart(thunk, &right->slice, &result->slice, error));
  return require(good_dot(thunk), thunk, "dimensions that don't fit each other", error);
}

int32_t cyxla__verify_thunk(void *context, const cyxla__thunk *thunk, cyxla_error *error) {
  const cyxla__image *image = context;
  switch (thunk->kind) {
    case CYXLA__THUNK_KERNEL:
      return check_kernel(image, thunk, error);
    case CYXLA__THUNK_COPY:
      return check_copy(image, thunk, error);
    case CYXLA__THUNK_CONDITIONAL:
      return check_conditional(image, thunk, error);
    case CYXLA__THUNK_WHILE:
      return check_while(image, thunk, error);
    case CYXLA__THUNK_SORT:
      return check_sort(image, thunk, error);
    case CYXLA__THUNK_TOP_K:
      return check_top_k(image, thunk, error);
    case CYXLA__THUNK_RNG_STATE:
      return check_rng_state(image, thunk, error);
    case CYXLA__THUNK_DEVICE_ID:
      return check_device_id(image, thunk, error);
    case CYXLA__THUNK_CUSTOM_CALL:
      return check_custom_call(image, thunk, error);
    case CYXLA__THUNK_DOT:
      return check_dot(image, thunk, error);
    case CYXLA__THUNK_CALL:
    case CYXLA__THUNK_UNSUPPORTED:
      break; /* what is inside of a call is checked on its own */
  }
  return CYXLA_OK;
}
