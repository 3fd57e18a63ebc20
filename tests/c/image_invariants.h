/* What holds of every image that was decoded and verified, whatever the bytes; also for fuzzing. */
#ifndef CYXLA_TEST_IMAGE_INVARIANTS_H
#define CYXLA_TEST_IMAGE_INVARIANTS_H

#include "direct/image.h"
#include "test.h"
#include "xla_cpu/primitive_type.h"

/* Reads all bytes, for sanitizers to see. */
static inline void touch(const void *data, size_t size) {
  volatile uint8_t sum = 0;
  for (size_t i = 0; i < size; ++i) sum = (uint8_t)(sum + ((const uint8_t *)data)[i]);
}

static inline void check_slice(const cyxla__image *image, const cyxla__slice *slice) {
  CHECK(slice->allocation < image->allocation_count);
  const cyxla__allocation *allocation = &image->allocations[slice->allocation];
  CHECK(allocation->kind != CYXLA__ALLOCATION_UNUSED);
  CHECK(slice->offset <= allocation->size && slice->size <= allocation->size - slice->offset);
}

static inline void check_written(const cyxla__image *image, const cyxla__slice *slice) {
  check_slice(image, slice);
  CHECK(image->allocations[slice->allocation].kind != CYXLA__ALLOCATION_PARAMETER);
}

static inline void check_shape(const cyxla__shape *shape) {
  size_t length = 1, order = 0;
  CHECK(shape->rank >= 0 && shape->rank <= 64);
  for (int32_t i = 0; i < shape->rank; ++i) {
    CHECK(shape->dimensions[i] >= 0);
    length *= (size_t)shape->dimensions[i];
    for (int32_t k = 0; k < shape->rank; ++k) order += shape->minor_to_major[k] == i;
  }
  CHECK_INT(order, shape->rank);
  CHECK_INT(shape->length, length);
  CHECK_INT(shape->size, length * cyxla__primitive_size(shape->type));
}

static inline void check_array(const cyxla__image *image, const cyxla__array *array) {
  check_slice(image, &array->slice);
  check_shape(&array->shape);
  CHECK(cyxla__primitive_size(array->shape.type));
  CHECK_INT(array->slice.size, array->shape.size);
}

static inline size_t check_sequence(const cyxla__image *image, const cyxla__sequence *sequence);

static inline void check_kernel(const cyxla__image *image, const cyxla__thunk *thunk) {
  const uint64_t *counts = thunk->as.kernel.workgroups;
  CHECK(counts[0] && counts[1] && counts[2] && counts[0] * counts[1] * counts[2] <= 1 << 20);
  CHECK(thunk->as.kernel.argument_count <= thunk->as.kernel.count);
  touch(thunk->as.kernel.name.data, thunk->as.kernel.name.size);
  for (size_t i = 0; i < thunk->as.kernel.count; ++i)
    check_slice(image, &thunk->as.kernel.buffers[i]);
}

static inline void check_sort(const cyxla__image *image, const cyxla__thunk *thunk) {
  CHECK(thunk->as.sort.count);
  const cyxla__shape *first = &thunk->as.sort.operands[0].shape;
  CHECK(thunk->as.sort.dimension >= 0 && thunk->as.sort.dimension < first->rank);
  for (size_t i = 0; i < thunk->as.sort.count; ++i) {
    check_array(image, &thunk->as.sort.operands[i]);
    check_written(image, &thunk->as.sort.operands[i].slice);
    CHECK_INT(thunk->as.sort.operands[i].shape.length, first->length);
  }
}

static inline void check_top_k(const cyxla__image *image, const cyxla__thunk *thunk) {
  const uint64_t rows = 4 * thunk->as.top_k.batch_size;
  CHECK(thunk->as.top_k.k <= thunk->as.top_k.input_size);
  CHECK_INT(thunk->as.top_k.values.size, rows * thunk->as.top_k.input_size);
  CHECK_INT(thunk->as.top_k.output.size, rows * thunk->as.top_k.k);
  CHECK_INT(thunk->as.top_k.indices.size, rows * thunk->as.top_k.k);
  check_slice(image, &thunk->as.top_k.values);
  check_written(image, &thunk->as.top_k.output);
  check_written(image, &thunk->as.top_k.indices);
}

static inline void check_custom_call(const cyxla__image *image, const cyxla__thunk *thunk) {
  CHECK(thunk->as.custom_call.argument_count <= thunk->as.custom_call.count);
  touch(thunk->as.custom_call.config.data, thunk->as.custom_call.config.size);
  for (size_t i = 0; i < thunk->as.custom_call.count; ++i)
    check_array(image, &thunk->as.custom_call.buffers[i]);
}

static inline void check_dimensions(const int64_t *numbers, size_t count, int32_t rank) {
  for (size_t i = 0; i < count; ++i) CHECK(numbers[i] >= 0 && numbers[i] < rank);
}

static inline void check_dot(const cyxla__image *image, const cyxla__thunk *thunk) {
  const int32_t left = thunk->as.dot.left.shape.rank, right = thunk->as.dot.right.shape.rank;
  check_array(image, &thunk->as.dot.left);
  check_array(image, &thunk->as.dot.right);
  check_array(image, &thunk->as.dot.result);
  check_written(image, &thunk->as.dot.result.slice);
  check_dimensions(thunk->as.dot.left_contracting, thunk->as.dot.contracting_count, left);
  check_dimensions(thunk->as.dot.right_contracting, thunk->as.dot.contracting_count, right);
  check_dimensions(thunk->as.dot.left_batch, thunk->as.dot.batch_count, left);
  check_dimensions(thunk->as.dot.right_batch, thunk->as.dot.batch_count, right);
}

static inline size_t check_conditional(const cyxla__image *image, const cyxla__thunk *thunk) {
  size_t count = 0;
  check_slice(image, &thunk->as.conditional.index);
  CHECK(thunk->as.conditional.index.size == 1 || thunk->as.conditional.index.size == 4);
  CHECK(thunk->as.conditional.count >= (thunk->as.conditional.index.size == 1 ? 2 : 1));
  for (size_t i = 0; i < thunk->as.conditional.count; ++i)
    count += check_sequence(image, &thunk->as.conditional.branches[i]);
  return count;
}

static inline size_t check_while(const cyxla__image *image, const cyxla__thunk *thunk) {
  check_slice(image, &thunk->as.loop.predicate);
  CHECK_INT(thunk->as.loop.predicate.size, 1);
  return check_sequence(image, &thunk->as.loop.condition) +
         check_sequence(image, &thunk->as.loop.body);
}

/* The number of thunks nested in one. */
static inline size_t check_thunk(const cyxla__image *image, const cyxla__thunk *thunk) {
  switch (thunk->kind) {
    case CYXLA__THUNK_KERNEL:
      check_kernel(image, thunk);
      break;
    case CYXLA__THUNK_COPY:
      check_array(image, &thunk->as.copy.source);
      check_array(image, &thunk->as.copy.destination);
      check_written(image, &thunk->as.copy.destination.slice);
      CHECK_INT(thunk->as.copy.source.shape.size, thunk->as.copy.destination.shape.size);
      break;
    case CYXLA__THUNK_CALL:
      return check_sequence(image, &thunk->as.call.sequence);
    case CYXLA__THUNK_CONDITIONAL:
      return check_conditional(image, thunk);
    case CYXLA__THUNK_WHILE:
      return check_while(image, thunk);
    case CYXLA__THUNK_SORT:
      check_sort(image, thunk);
      break;
    case CYXLA__THUNK_TOP_K:
      check_top_k(image, thunk);
      break;
    case CYXLA__THUNK_RNG_STATE:
      check_written(image, &thunk->as.rng_state.state);
      CHECK_INT(thunk->as.rng_state.state.size, 16);
      break;
    case CYXLA__THUNK_DEVICE_ID:
      check_written(image, &thunk->as.device_id.id);
      CHECK_INT(thunk->as.device_id.id.size, 4);
      break;
    case CYXLA__THUNK_CUSTOM_CALL:
      check_custom_call(image, thunk);
      break;
    case CYXLA__THUNK_DOT:
      check_dot(image, thunk);
      break;
    case CYXLA__THUNK_UNSUPPORTED:
      TEST_FAIL("a thunk that is not supported was let through");
  }
  return 0;
}

/* The number of thunks of a sequence, nested ones too. */
static inline size_t check_sequence(const cyxla__image *image, const cyxla__sequence *sequence) {
  size_t count = sequence->count;
  for (size_t i = 0; i < sequence->count; ++i) count += check_thunk(image, &sequence->thunks[i]);
  return count;
}

static inline void check_allocation(const cyxla__image *image, size_t index) {
  const cyxla__allocation *allocation = &image->allocations[index];
  if (allocation->kind == CYXLA__ALLOCATION_PARAMETER) {
    CHECK(allocation->number < image->input_count);
    CHECK_INT(allocation->size, image->inputs[allocation->number].size);
  }
  if (allocation->kind == CYXLA__ALLOCATION_OUTPUT) {
    CHECK(allocation->number < image->output_count);
    CHECK_INT(image->output_allocations[allocation->number], index);
    CHECK_INT(allocation->size, image->outputs[allocation->number].size);
    CHECK(allocation->parameter < (int64_t)image->input_count);
  }
  if (allocation->kind == CYXLA__ALLOCATION_CONSTANT) {
    CHECK((uintptr_t)allocation->constant % 64 == 0);
    touch(allocation->constant, (size_t)allocation->size);
  }
}

static inline void check_image(const cyxla__image *image) {
  size_t counted = 0;
  for (size_t i = 0; i < image->allocation_count; ++i) check_allocation(image, i);
  for (size_t i = 0; i < image->input_count; ++i) check_shape(&image->inputs[i]);
  for (size_t i = 0; i < image->output_count; ++i) {
    check_shape(&image->outputs[i]);
    CHECK(image->output_allocations[i] < image->allocation_count);
    CHECK_INT(image->allocations[image->output_allocations[i]].kind, CYXLA__ALLOCATION_OUTPUT);
  }
  for (size_t i = 0; i < image->object_count; ++i)
    touch(image->objects[i].data, image->objects[i].size);
  for (size_t i = 0; i < image->symbol_count; ++i)
    touch(image->symbols[i].data, image->symbols[i].size);
  touch(image->name.data, image->name.size);
  touch(image->features.data, image->features.size);
  touch(image->triple.data, image->triple.size);
  for (size_t i = 0; i < image->thunk_kind_count; ++i) counted += image->thunk_counts[i].count;
  CHECK_INT(check_sequence(image, &image->sequence), counted);
}

/* Decodes and verifies any bytes; checks what was let through. */
static inline bool check_any_bytes(cyxla__span bytes) {
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla__image image;
  if (cyxla__image_decode(bytes, &image, &error)) {
    CHECK(error.code && error.message[0]);
    return false;
  }
  const int32_t status = cyxla__image_verify(&image, &error);
  if (!status) check_image(&image);
  CHECK(status == CYXLA_OK || status == CYXLA_UNIMPLEMENTED || status == CYXLA_INVALID_ARGUMENT);
  cyxla__image_deinit(&image);
  return !status;
}

#endif
