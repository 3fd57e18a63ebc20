#include "export/program.h"

#include <stdio.h>

#include "base/memory.h"
#include "direct/verify.h"
#include "export/identifier.h"

/* ---- what can be exported ---- */

static bool is_supported(const char *kind) {
  static const char *const kinds[] = {"kernel", "copy",         "call",      "conditional",
                                      "while",  "partition-id", "replica-id"};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
    if (!strcmp(kinds[i], kind)) return true;
  return false;
}

static int32_t check_thunks(const cyxla__image *image, cyxla_error *error) {
  char list[256];
  size_t used = 0;
  for (size_t i = 0; i < image->thunk_kind_count && used < sizeof list; ++i) {
    const cyxla_thunk_count *thunks = &image->thunk_counts[i];
    if (!is_supported(thunks->kind))
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%zu x %s", used ? ", " : "",
                               thunks->count, thunks->kind);
  }
  if (!used) return CYXLA_OK;
  return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                     "it can't be exported: only kernels, copies and control flow run without "
                     "cyxla, and it has %s",
                     list);
}

/* ---- what thunks refer to ---- */

static void use(cyxla__export *export, const cyxla__slice *slice) {
  export->used[slice->allocation] = true;
}

static void use_kernel(cyxla__export *export, const cyxla__thunk *thunk) {
  const cyxla__span name = thunk->as.kernel.name;
  for (size_t i = 0; i < thunk->as.kernel.count; ++i) use(export, &thunk->as.kernel.buffers[i]);
  if (cyxla__export_kernel(export, name) == export->kernel_count)
    export->kernels[export->kernel_count++] = name;
}

static int32_t use_thunk(void *context, const cyxla__thunk *thunk, cyxla_error *error) {
  cyxla__export *export = context;
  (void)error;
  switch (thunk->kind) {
    case CYXLA__THUNK_KERNEL:
      use_kernel(export, thunk);
      break;
    case CYXLA__THUNK_COPY:
      use(export, &thunk->as.copy.source.slice);
      use(export, &thunk->as.copy.destination.slice);
      break;
    case CYXLA__THUNK_CONDITIONAL:
      use(export, &thunk->as.conditional.index);
      break;
    case CYXLA__THUNK_WHILE:
      use(export, &thunk->as.loop.predicate);
      break;
    case CYXLA__THUNK_DEVICE_ID:
      use(export, &thunk->as.device_id.id);
      break;
    default: /* a call; what it calls is visited too */
      break;
  }
  return CYXLA_OK;
}

static int32_t use_all(cyxla__export *export, cyxla_error *error) {
  const cyxla__image *image = export->image;
  const size_t thunk_count = cyxla__image_thunk_count(image);
  export->used = cyxla__arena_alloc(&export->arena, image->allocation_count, sizeof *export->used);
  export->kernels = cyxla__arena_alloc(&export->arena, thunk_count, sizeof *export->kernels);
  if (!export->used || !export->kernels)
    return cyxla__fail_memory(error, thunk_count * sizeof *export->kernels);
  return cyxla__visit(&image->sequence, use_thunk, export, error);
}

/* ---- parameters ---- */

static void add_parameters(cyxla__export *export, const cyxla__arrays *arrays, size_t first,
                           const char *const *names) {
  for (size_t i = 0; i < arrays->count; ++i)
    export->parameters[first + i] = (cyxla__parameter){.type = &arrays->types[i],
                                                       .name = names[first + i],
                                                       .size = arrays->sizes[i],
                                                       .donated = -1};
}

/* Names for inputs and outputs; `names` has room for them, and for the paths of either after that. */
static bool make_names(cyxla__export *export, const char **names) {
  const cyxla__arrays *const roles[] = {&export->executable->signature.inputs,
                                        &export->executable->signature.outputs};
  const char **paths = names + export->parameter_count;
  size_t made = 0;
  for (size_t k = 0; k < 2; ++k) {
    for (size_t i = 0; i < roles[k]->count; ++i) paths[i] = roles[k]->types[i].name;
    if (!cyxla__identifiers_make(&export->arena, paths, roles[k]->count, k ? "output" : "input",
                                 made, names))
      return false;
    made += roles[k]->count;
  }
  return true;
}

/* Finds out which are used: what thunks refer to and what is donated, but for what holds nothing. */
static void use_parameters(cyxla__export *export) {
  const cyxla__image *image = export->image;
  for (size_t i = 0; i < image->allocation_count; ++i) {
    const cyxla__allocation *allocation = &image->allocations[i];
    cyxla__parameter *inputs = export->parameters, *outputs = inputs + export->input_count;
    if (!allocation->size) continue;
    if (allocation->kind == CYXLA__ALLOCATION_PARAMETER && export->used[i])
      inputs[allocation->number].used = true;
    if (allocation->kind != CYXLA__ALLOCATION_OUTPUT) continue;
    outputs[allocation->number].used = true;
    outputs[allocation->number].donated = allocation->parameter;
    if (allocation->parameter >= 0) inputs[allocation->parameter].used = true;
  }
}

static int32_t make_parameters(cyxla__export *export, cyxla_error *error) {
  const cyxla__arrays *inputs = &export->executable->signature.inputs;
  const cyxla__arrays *outputs = &export->executable->signature.outputs;
  export->input_count = inputs->count;
  export->parameter_count = inputs->count + outputs->count;
  const size_t count = export->parameter_count;
  const char **names = cyxla__arena_alloc(&export->arena, 2 * count, sizeof *names);
  export->parameters = cyxla__arena_alloc(&export->arena, count, sizeof *export->parameters);
  if (!names || !export->parameters || !make_names(export, names))
    return cyxla__fail_memory(error, count * sizeof *export->parameters);
  add_parameters(export, inputs, 0, names);
  add_parameters(export, outputs, inputs->count, names);
  use_parameters(export);
  return CYXLA_OK;
}

/* ---- working memory ---- */

/* Adds `size` bytes, aligned; false where memory can't hold as much. */
static bool place(cyxla__export *export, size_t size, size_t *out_place) {
  if (size > PTRDIFF_MAX / 2 - export->work_size) return false;
  *out_place = export->work_size;
  export->work_size += (size + CYXLA__ALIGNMENT - 1) & ~(size_t)(CYXLA__ALIGNMENT - 1);
  return true;
}

/* At the front of all is room that arrays without elements point to. */
static int32_t place_all(cyxla__export *export, cyxla_error *error) {
  const cyxla__image *image = export->image;
  const size_t count = image->allocation_count;
  size_t front;
  export->places = cyxla__arena_alloc(&export->arena, count, sizeof *export->places);
  if (!export->places) return cyxla__fail_memory(error, count * sizeof *export->places);
  bool fits = place(export, 1, &front);
  for (size_t i = 0; i < count && fits; ++i)
    if (image->allocations[i].kind == CYXLA__ALLOCATION_TEMP && export->used[i])
      fits = place(export, (size_t)image->allocations[i].size, &export->places[i]);
  for (size_t i = 0; i < export->parameter_count && fits; ++i)
    if (export->parameters[i].used)
      fits = place(export, export->parameters[i].size, &export->parameters[i].place);
  if (fits) return CYXLA_OK;
  return cyxla__fail(error, CYXLA_RESOURCE_EXHAUSTED,
                     "its arrays need more bytes than memory can hold");
}

/* ---- all of it ---- */

int32_t cyxla__export_init(cyxla__export *export, const cyxla_executable *executable,
                           const char *name, const char *producer, cyxla_error *error) {
  *export = (cyxla__export){
      .name = name, .producer = producer, .executable = executable, .image = &executable->image};
  TRY(check_thunks(export->image, error));
  TRY(use_all(export, error));
  TRY(make_parameters(export, error));
  return place_all(export, error);
}

void cyxla__export_deinit(cyxla__export *export) {
  cyxla__arena_deinit(&export->arena);
}

size_t cyxla__export_kernel(const cyxla__export *export, cyxla__span name) {
  size_t i = 0;
  while (i < export->kernel_count && (export->kernels[i].size != name.size ||
                                      memcmp(export->kernels[i].data, name.data, name.size)))
    ++i;
  return i;
}

bool cyxla__export_has_scratch(const cyxla__export *export) {
  return export->work_size > CYXLA__EXPORT_STACK_SIZE;
}
