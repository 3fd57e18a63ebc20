#include "direct/plan.h"

#include <stdlib.h>

#include "base/memory.h"

/* Kernels of several work groups share them among threads where they touch at least as many bytes:
 * waking a thread costs some microseconds. */
enum { PARALLEL_SIZE = 256 << 10 };

static size_t round_up(size_t size) {
  return (size + CYXLA__ALIGNMENT - 1) & ~(size_t)(CYXLA__ALIGNMENT - 1);
}

/* ---- addresses ---- */

/* Lists of addresses grow while operations are planned. */
typedef struct planner {
  cyxla__plan *plan;
  size_t address_capacity;
  size_t scratch_size;
  cyxla_error *error;
} planner;

static int32_t add_address(planner *planner, size_t where, const cyxla__slice *slice) {
  cyxla__plan *plan = planner->plan;
  if (plan->address_count == planner->address_capacity) {
    const size_t capacity = planner->address_capacity * 2 + 64;
    cyxla__address *grown = realloc(plan->addresses, capacity * sizeof *grown);
    if (!grown) return cyxla__fail_memory(planner->error, capacity * sizeof *grown);
    plan->addresses = grown;
    planner->address_capacity = capacity;
  }
  plan->addresses[plan->address_count++] =
      (cyxla__address){.where = where, .allocation = slice->allocation, .offset = slice->offset};
  return CYXLA_OK;
}

/* Room in the block for the frame of `op`. */
static void add_frame(planner *planner, cyxla__op *op, size_t size) {
  op->frame = planner->plan->frames_size;
  planner->plan->frames_size += round_up(size);
}

/* A frame that is a list of addresses. */
static int32_t add_list(planner *planner, cyxla__op *op, const cyxla__slice *const *slices,
                        size_t count) {
  add_frame(planner, op, count * sizeof(void *));
  for (size_t i = 0; i < count; ++i)
    TRY(add_address(planner, op->frame + i * sizeof(void *), slices[i]));
  return CYXLA_OK;
}

static int32_t fail_arena(planner *planner, const void *made) {
  return made ? CYXLA_OK : cyxla__fail_memory(planner->error, sizeof(cyxla__op));
}

/* ---- one function for each kind of thunk ---- */

static int32_t find_function(planner *planner, cyxla__span name,
                             cyxla__code_function *out_function) {
  *out_function = cyxla__code_find(planner->plan->code, name);
  if (*out_function) return CYXLA_OK;
  return cyxla__fail(planner->error, CYXLA_INVALID_ARGUMENT,
                     "the executable has no code for its function %.*s", (int)name.size,
                     (const char *)name.data);
}

static int32_t plan_kernel(planner *planner, cyxla__op *op) {
  const cyxla__thunk *thunk = op->thunk;
  const uint64_t *groups = thunk->as.kernel.workgroups;
  const size_t count = thunk->as.kernel.count;
  cyxla__code_function function;
  TRY(find_function(planner, thunk->as.kernel.name, &function));
  uint64_t touched = 0;
  add_frame(planner, op, sizeof(cyxla__kernel_frame) + count * sizeof(cyxla__kernel_argument));
  for (size_t i = 0; i < count; ++i) {
    const cyxla__slice *slice = &thunk->as.kernel.buffers[i];
    touched += slice->size;
    TRY(add_address(planner,
                    op->frame + sizeof(cyxla__kernel_frame) + i * sizeof(cyxla__kernel_argument) +
                        offsetof(cyxla__kernel_argument, data),
                    slice));
  }
  const size_t group_count = (size_t)(groups[0] * groups[1] * groups[2]);
  if (group_count == 1) {
    op->kind = CYXLA__OP_KERNEL;
    op->as.kernel = (cyxla__kernel *)function;
  } else {
    op->kind = CYXLA__OP_GRID;
    op->as.grid.kernel = (cyxla__kernel *)function;
    op->as.grid.workgroup_count = group_count;
    op->as.grid.parallel = touched >= PARALLEL_SIZE;
  }
  return CYXLA_OK;
}

static int32_t plan_copy(planner *planner, cyxla__op *op) {
  const cyxla__array *source = &op->thunk->as.copy.source;
  const cyxla__array *destination = &op->thunk->as.copy.destination;
  const cyxla__copy *copy =
      cyxla__copy_plan(&planner->plan->arena, &source->shape, &destination->shape);
  TRY(fail_arena(planner, copy));
  const size_t piece_size = cyxla__copy_piece_size(copy);
  op->kind = piece_size ? CYXLA__OP_MOVE : CYXLA__OP_COPY;
  if (piece_size)
    op->as.move_size = piece_size;
  else
    op->as.copy = copy;
  return add_list(planner, op, (const cyxla__slice *[]){&source->slice, &destination->slice}, 2);
}

static int32_t plan_sequence(planner *planner, cyxla__sequence sequence, cyxla__range *out_range);

static int32_t plan_call(planner *planner, cyxla__op *op) {
  op->kind = CYXLA__OP_CALL;
  return plan_sequence(planner, op->thunk->as.call.sequence, &op->as.call);
}

static int32_t plan_conditional(planner *planner, cyxla__op *op) {
  const size_t count = op->thunk->as.conditional.count;
  cyxla__range *branches = cyxla__arena_alloc(&planner->plan->arena, count, sizeof *branches);
  TRY(fail_arena(planner, branches));
  op->kind = CYXLA__OP_CONDITIONAL;
  op->as.conditional.branches = branches;
  op->as.conditional.count = count;
  for (size_t i = 0; i < count; ++i)
    TRY(plan_sequence(planner, op->thunk->as.conditional.branches[i], &branches[i]));
  return add_list(planner, op, (const cyxla__slice *[]){&op->thunk->as.conditional.index}, 1);
}

static int32_t plan_while(planner *planner, cyxla__op *op) {
  op->kind = CYXLA__OP_WHILE;
  TRY(plan_sequence(planner, op->thunk->as.loop.condition, &op->as.loop.condition));
  TRY(plan_sequence(planner, op->thunk->as.loop.body, &op->as.loop.body));
  return add_list(planner, op, (const cyxla__slice *[]){&op->thunk->as.loop.predicate}, 1);
}

static void need_scratch(planner *planner, size_t size) {
  if (size > planner->scratch_size) planner->scratch_size = size;
}

static int32_t plan_sort(planner *planner, cyxla__op *op) {
  const cyxla__thunk *thunk = op->thunk;
  const size_t count = thunk->as.sort.count;
  cyxla__code_function comparator = NULL;
  if (cyxla__sort_needs_comparator(thunk))
    TRY(find_function(planner, thunk->as.sort.comparator, &comparator));
  op->kind = CYXLA__OP_SORT;
  op->as.sort = cyxla__sort_plan(&planner->plan->arena, thunk, comparator);
  TRY(fail_arena(planner, op->as.sort));
  need_scratch(planner, cyxla__sort_scratch_size(op->as.sort));
  add_frame(planner, op, count * sizeof(void *));
  for (size_t i = 0; i < count; ++i)
    TRY(add_address(planner, op->frame + i * sizeof(void *), &thunk->as.sort.operands[i].slice));
  return CYXLA_OK;
}

static int32_t plan_top_k(planner *planner, cyxla__op *op) {
  const cyxla__thunk *thunk = op->thunk;
  op->kind = CYXLA__OP_TOP_K;
  need_scratch(planner, cyxla__top_k_scratch_size(thunk));
  return add_list(planner, op,
                  (const cyxla__slice *[]){&thunk->as.top_k.values, &thunk->as.top_k.output,
                                           &thunk->as.top_k.indices},
                  3);
}

static int32_t plan_rng_state(planner *planner, cyxla__op *op) {
  cyxla__rng *rng = cyxla__arena_alloc(&planner->plan->arena, 1, sizeof *rng);
  TRY(fail_arena(planner, rng));
  op->kind = CYXLA__OP_RNG_STATE;
  op->as.rng = rng;
  return add_list(planner, op, (const cyxla__slice *[]){&op->thunk->as.rng_state.state}, 1);
}

static int32_t plan_device_id(planner *planner, cyxla__op *op) {
  op->kind = CYXLA__OP_DEVICE_ID;
  return add_list(planner, op, (const cyxla__slice *[]){&op->thunk->as.device_id.id}, 1);
}

static int32_t plan_custom_call(planner *planner, cyxla__op *op) {
  const cyxla__thunk *thunk = op->thunk;
  const size_t count = thunk->as.custom_call.count;
  cyxla__custom_call_buffer *buffers =
      cyxla__arena_alloc(&planner->plan->arena, count, sizeof *buffers);
  TRY(fail_arena(planner, buffers));
  for (size_t i = 0; i < count; ++i) {
    const cyxla__shape *shape = &thunk->as.custom_call.buffers[i].shape;
    buffers[i] = (cyxla__custom_call_buffer){
        .type = shape->type, .rank = shape->rank, .dimensions = shape->dimensions};
  }
  TRY(cyxla__custom_call_create(thunk->as.custom_call.target, thunk->as.custom_call.config, buffers,
                                count, thunk->as.custom_call.argument_count, &op->as.custom_call,
                                planner->error));
  op->kind = CYXLA__OP_CUSTOM_CALL; /* from here on deinit destroys the call */
  add_frame(planner, op, cyxla__custom_call_frame_size(op->as.custom_call));
  for (size_t i = 0; i < count; ++i)
    TRY(add_address(planner, op->frame + cyxla__custom_call_address_offset(op->as.custom_call, i),
                    &thunk->as.custom_call.buffers[i].slice));
  return CYXLA_OK;
}

static int32_t plan_dot(planner *planner, cyxla__op *op) {
  const cyxla__thunk *thunk = op->thunk;
  op->kind = CYXLA__OP_DOT;
  op->as.dot = cyxla__dot_plan(&planner->plan->arena, thunk);
  TRY(fail_arena(planner, op->as.dot));
  return add_list(planner, op,
                  (const cyxla__slice *[]){&thunk->as.dot.left.slice, &thunk->as.dot.right.slice,
                                           &thunk->as.dot.result.slice},
                  3);
}

static int32_t plan_op(planner *planner, cyxla__op *op) {
  switch (op->thunk->kind) {
    case CYXLA__THUNK_KERNEL:
      return plan_kernel(planner, op);
    case CYXLA__THUNK_COPY:
      return plan_copy(planner, op);
    case CYXLA__THUNK_CALL:
      return plan_call(planner, op);
    case CYXLA__THUNK_CONDITIONAL:
      return plan_conditional(planner, op);
    case CYXLA__THUNK_WHILE:
      return plan_while(planner, op);
    case CYXLA__THUNK_SORT:
      return plan_sort(planner, op);
    case CYXLA__THUNK_TOP_K:
      return plan_top_k(planner, op);
    case CYXLA__THUNK_RNG_STATE:
      return plan_rng_state(planner, op);
    case CYXLA__THUNK_DEVICE_ID:
      return plan_device_id(planner, op);
    case CYXLA__THUNK_CUSTOM_CALL:
      return plan_custom_call(planner, op);
    case CYXLA__THUNK_DOT:
      return plan_dot(planner, op);
    case CYXLA__THUNK_UNSUPPORTED:
      break;
  }
  return cyxla__fail(planner->error, CYXLA_INTERNAL, "a thunk that was not verified");
}

/* A sequence lies in one piece; those that are nested in it come after it. */
static int32_t plan_sequence(planner *planner, cyxla__sequence sequence, cyxla__range *out_range) {
  cyxla__plan *plan = planner->plan;
  cyxla__op *first = &plan->ops[plan->op_count];
  plan->op_count += sequence.count;
  for (size_t i = 0; i < sequence.count; ++i) {
    first[i].thunk = &sequence.thunks[i];
    TRY(plan_op(planner, &first[i]));
  }
  *out_range = (cyxla__range){first, first + sequence.count};
  return CYXLA_OK;
}

/* ---- the block ---- */

/* Adds `size` bytes to the block, aligned; false where it would be larger than memory can be. */
static bool extend_block(cyxla__plan *plan, uint64_t size, size_t *out_where) {
  if (size > PTRDIFF_MAX / 2 - plan->block_size) return false;
  *out_where = plan->block_size;
  plan->block_size += round_up((size_t)size);
  return true;
}

static int32_t place_temps(planner *planner) {
  cyxla__plan *plan = planner->plan;
  const cyxla__image *image = plan->image;
  plan->temps = cyxla__arena_alloc(&plan->arena, image->allocation_count, sizeof *plan->temps);
  TRY(fail_arena(planner, plan->temps));
  plan->block_size = plan->frames_size;
  bool fits = extend_block(plan, planner->scratch_size, &plan->scratch);
  for (size_t i = 0; fits && i < image->allocation_count; ++i) {
    if (image->allocations[i].kind != CYXLA__ALLOCATION_TEMP) continue;
    fits = extend_block(plan, image->allocations[i].size, &plan->temps[i]);
    plan->temp_size += (size_t)image->allocations[i].size;
  }
  if (fits) return CYXLA_OK;
  return cyxla__fail(planner->error, CYXLA_RESOURCE_EXHAUSTED,
                     "its temporaries need more bytes than memory can hold");
}

static int32_t init(planner *planner) {
  cyxla__plan *plan = planner->plan;
  const cyxla__image *image = plan->image;
  TRY(cyxla__code_link(image->objects, image->object_count, &plan->code, planner->error));
  plan->ops = cyxla__arena_alloc(&plan->arena, cyxla__image_thunk_count(image), sizeof *plan->ops);
  TRY(fail_arena(planner, plan->ops));
  TRY(plan_sequence(planner, image->sequence, &plan->entry));
  return place_temps(planner);
}

int32_t cyxla__plan_init(cyxla__plan *plan, const cyxla__image *image, cyxla_error *error) {
  *plan = (cyxla__plan){.image = image};
  planner planner = {.plan = plan, .error = error};
  const int32_t status = init(&planner);
  if (status) cyxla__plan_deinit(plan);
  return status;
}

void cyxla__plan_deinit(cyxla__plan *plan) {
  for (size_t i = 0; i < plan->op_count; ++i)
    if (plan->ops[i].kind == CYXLA__OP_CUSTOM_CALL)
      cyxla__custom_call_destroy(plan->ops[i].as.custom_call);
  cyxla__code_unload(plan->code);
  free(plan->addresses);
  cyxla__arena_deinit(&plan->arena);
}
