#include "signature.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "element_types.h"

const char *cyxla__type_text(char *buffer, size_t capacity, int32_t element_type, int32_t rank,
                             const int64_t *dimensions) {
  const char *name = cyxla__element_name(element_type);
  size_t used = name ? (size_t)snprintf(buffer, capacity, "%s[", name)
                     : (size_t)snprintf(buffer, capacity, "unknown type %d[", (int)element_type);
  for (int32_t i = 0; i < rank && used < capacity; ++i)
    used +=
        (size_t)snprintf(buffer + used, capacity - used, "%s%" PRId64, i ? "," : "", dimensions[i]);
  if (used < capacity) snprintf(buffer + used, capacity - used, "]");
  return buffer;
}

/* Works out the number of elements and bytes of `type`, which is the `index`-th `role`. */
static int32_t measure(const cyxla_array_type *type, const char *role, size_t index, size_t *length,
                       size_t *size, cyxla_error *error) {
  const size_t element_size = cyxla_element_size(type->element_type);
  const char *name = type->name ? type->name : "";
  if (!element_size)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "%s %zu %s: %d is no element type", role,
                       index, name, (int)type->element_type);
  if (type->rank < 0 || (type->rank > 0 && !type->dimensions))
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "%s %zu %s: rank %d without dimensions", role,
                       index, name, (int)type->rank);
  bool empty = false;
  *length = 1;
  for (int32_t i = 0; i < type->rank; ++i) {
    if (type->dimensions[i] < 0)
      return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "%s %zu %s: dimension %d is %" PRId64, role,
                         index, name, (int)i, type->dimensions[i]);
    if (type->dimensions[i] == 0)
      empty = true;
    else if (!cyxla__multiply(*length, (size_t)type->dimensions[i], length))
      goto too_large;
  }
  if (empty) *length = 0;
  if (cyxla__multiply(*length, element_size, size) && *size <= PTRDIFF_MAX) return CYXLA_OK;
too_large:
  return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "%s %zu %s: more bytes than memory can hold",
                     role, index, name);
}

static int32_t copy_arrays(cyxla__arrays *arrays, const cyxla_array_type *types, size_t count,
                           const char *role, cyxla_error *error) {
  if (count && !types)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "%zu %ss are announced, but none is given",
                       count, role);
  /* calloc refuses products that overflow; one more item, so that no allocation is of size 0. */
  if (count == SIZE_MAX) return cyxla__fail_memory(error, count);
  arrays->types = calloc(count + 1, sizeof *arrays->types);
  arrays->lengths = calloc(count + 1, sizeof *arrays->lengths);
  arrays->sizes = calloc(count + 1, sizeof *arrays->sizes);
  if (!arrays->types || !arrays->lengths || !arrays->sizes)
    return cyxla__fail_memory(error, count * sizeof *arrays->types);

  for (size_t i = 0; i < count; ++i) {
    TRY(measure(&types[i], role, i, &arrays->lengths[i], &arrays->sizes[i], error));
    cyxla_array_type *copy = &arrays->types[i];
    *copy = types[i];
    copy->name = NULL;
    copy->dimensions = NULL;
    arrays->count = i + 1; /* from here on deinit frees this item */

    const size_t dimensions_size = (size_t)copy->rank * sizeof *copy->dimensions;
    char *name = strdup(types[i].name ? types[i].name : "");
    int64_t *dimensions = malloc(dimensions_size ? dimensions_size : 1);
    copy->name = name;
    copy->dimensions = dimensions;
    if (!name || !dimensions) return cyxla__fail_memory(error, dimensions_size);
    if (dimensions_size) memcpy(dimensions, types[i].dimensions, dimensions_size);
  }
  return CYXLA_OK;
}

static void free_arrays(cyxla__arrays *arrays) {
  for (size_t i = 0; i < arrays->count; ++i) {
    free((void *)arrays->types[i].name);
    free((void *)arrays->types[i].dimensions);
  }
  free(arrays->types);
  free(arrays->lengths);
  free(arrays->sizes);
}

int32_t cyxla__signature_init(cyxla__signature *signature, const cyxla_program *program,
                              cyxla_error *error) {
  *signature = (cyxla__signature){0};
  signature->name = strdup(program->name ? program->name : "main");
  if (!signature->name) return cyxla__fail_memory(error, 1);
  TRY(copy_arrays(&signature->inputs, program->inputs, program->input_count, "input", error));
  return copy_arrays(&signature->outputs, program->outputs, program->output_count, "output", error);
}

void cyxla__signature_deinit(cyxla__signature *signature) {
  free(signature->name);
  free_arrays(&signature->inputs);
  free_arrays(&signature->outputs);
  *signature = (cyxla__signature){0};
}

int32_t cyxla__signature_check_count(const cyxla__arrays *arrays, const char *role, size_t count,
                                     cyxla_error *error) {
  if (count == arrays->count) return CYXLA_OK;
  return cyxla__fail(error, CYXLA_SIGNATURE_MISMATCH,
                     "the executable has %zu %ss and the program %zu", count, role, arrays->count);
}

int32_t cyxla__signature_check(const cyxla__arrays *arrays, const char *role, size_t index,
                               int32_t element_type, int32_t rank, const int64_t *dimensions,
                               cyxla_error *error) {
  const cyxla_array_type *type = &arrays->types[index];
  if (element_type == type->element_type && rank == type->rank &&
      (!rank || !memcmp(dimensions, type->dimensions, (size_t)rank * sizeof *dimensions)))
    return CYXLA_OK;
  char found[CYXLA__TYPE_TEXT_SIZE], expected[CYXLA__TYPE_TEXT_SIZE];
  return cyxla__fail(error, CYXLA_SIGNATURE_MISMATCH,
                     "%s %zu %s is %s in the executable and %s in the program", role, index,
                     type->name,
                     cyxla__type_text(found, sizeof found, element_type, rank, dimensions),
                     cyxla__type_text(expected, sizeof expected, type->element_type, type->rank,
                                      type->dimensions));
}
