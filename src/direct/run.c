/* The loop that runs a plan. */
#include <stdatomic.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/pool.h"
#include "direct/call.h"
#include "direct/direct.h"

static int32_t run_range(const cyxla__call *call, cyxla__range range, cyxla_error *error);

/* Address number `index` of an operation whose frame is a list of them. */
static void *operand(const cyxla__call *call, const cyxla__op *op, size_t index) {
  return ((void *const *)(call->block + op->frame))[index];
}

static const cyxla__kernel_frame *kernel_frame(const cyxla__call *call, const cyxla__op *op) {
  return (const cyxla__kernel_frame *)(call->block + op->frame);
}

static int32_t fail_kernel(const cyxla__op *op, cyxla_error *error) {
  const cyxla__span name = op->thunk->as.kernel.name;
  return cyxla__fail(error, CYXLA_INTERNAL, "its kernel %.*s failed", (int)name.size,
                     (const char *)name.data);
}

/* ---- kernels of several work groups ---- */

typedef struct grid {
  const cyxla__op *op;
  const cyxla__kernel_frame *frame;
  _Atomic(bool) failed;
} grid;

/* Runs one work group, in whatever thread. */
static void run_workgroup(void *context, size_t index) {
  grid *grid = context;
  const uint64_t *counts = grid->op->thunk->as.kernel.workgroups;
  const cyxla__dim3 workgroups = {counts[0], counts[1], counts[2]};
  const cyxla__dim3 workgroup = {index % counts[0], index / counts[0] % counts[1],
                                 index / counts[0] / counts[1]};
  cyxla__kernel_frame frame = *grid->frame;
  frame.workgroups = &workgroups;
  frame.workgroup = &workgroup;
  const cyxla__fpenv before = cyxla__fpenv_enter();
  if (grid->op->as.grid.kernel(&frame)) grid->failed = true;
  cyxla__fpenv_leave(before);
}

static int32_t run_grid(const cyxla__call *call, const cyxla__op *op, cyxla_error *error) {
  grid grid = {.op = op, .frame = kernel_frame(call, op)};
  const size_t count = op->as.grid.workgroup_count;
  if (op->as.grid.parallel)
    cyxla__pool_run(run_workgroup, &grid, count);
  else
    for (size_t i = 0; i < count; ++i) run_workgroup(&grid, i);
  return grid.failed ? fail_kernel(op, error) : CYXLA_OK;
}

/* ---- control flow ---- */

/* A bool of one byte, true being the first branch, or a number: one that is no branch is the last. */
static int32_t run_conditional(const cyxla__call *call, const cyxla__op *op, cyxla_error *error) {
  const void *data = operand(call, op, 0);
  const size_t count = op->as.conditional.count;
  size_t branch;
  if (op->thunk->as.conditional.index.size == 1) {
    branch = *(const uint8_t *)data ? 0 : 1;
  } else {
    int32_t number;
    memcpy(&number, data, sizeof number);
    branch = number < 0 ? count : (size_t)number;
  }
  return run_range(call, op->as.conditional.branches[branch < count ? branch : count - 1], error);
}

static int32_t run_while(const cyxla__call *call, const cyxla__op *op, cyxla_error *error) {
  const cyxla__thunk *thunk = op->thunk;
  if (thunk->as.loop.trip_count_known) { /* then the condition is not run at all */
    for (uint64_t i = 0; i < thunk->as.loop.trip_count; ++i)
      TRY(run_range(call, op->as.loop.body, error));
    return CYXLA_OK;
  }
  const uint8_t *go_on = operand(call, op, 0);
  TRY(run_range(call, op->as.loop.condition, error));
  while (*go_on) {
    TRY(run_range(call, op->as.loop.body, error));
    TRY(run_range(call, op->as.loop.condition, error));
  }
  return CYXLA_OK;
}

/* ---- other operations ---- */

/* The state in which XLA starts its generators: kRngStateInitial in
 * xla/backends/cpu/runtime/rng_state_thunk.h. */
#define RNG_STATE 0x7012395u

/* Counting the draws takes no lock, which a thread might hold while another one forks. */
static void run_rng_state(const cyxla__call *call, const cyxla__op *op) {
  __extension__ typedef unsigned __int128 wide;
  const uint64_t draws = atomic_fetch_add_explicit(&op->as.rng->draws, 1, memory_order_relaxed);
  const wide state = RNG_STATE + (wide)draws * op->thunk->as.rng_state.delta;
  const uint64_t halves[] = {(uint64_t)state, (uint64_t)(state >> 64)};
  memcpy(operand(call, op, 0), halves, sizeof halves);
}

static void run_top_k(const cyxla__call *call, const cyxla__op *op) {
  const cyxla__thunk *thunk = op->thunk;
  cyxla__top_k_run(thunk->as.top_k.batch_size, thunk->as.top_k.input_size, thunk->as.top_k.k,
                   operand(call, op, 0), operand(call, op, 1), operand(call, op, 2),
                   call->block + call->direct->plan.scratch);
}

/* A handler may leave another environment behind, and what comes after it must not notice. */
static int32_t run_custom_call(const cyxla__call *call, const cyxla__op *op, cyxla_error *error) {
  const int32_t status = cyxla__custom_call_run(op->as.custom_call, call->block + op->frame, error);
  cyxla__fpenv_enter();
  return status;
}

static int32_t run_other(const cyxla__call *call, const cyxla__op *op, cyxla_error *error) {
  switch (op->kind) {
    case CYXLA__OP_KERNEL: /* run_ops does these two */
    case CYXLA__OP_MOVE:
      break;
    case CYXLA__OP_GRID:
      return run_grid(call, op, error);
    case CYXLA__OP_COPY:
      cyxla__copy_run(op->as.copy, operand(call, op, 0), operand(call, op, 1));
      break;
    case CYXLA__OP_CALL:
      return run_range(call, op->as.call, error);
    case CYXLA__OP_CONDITIONAL:
      return run_conditional(call, op, error);
    case CYXLA__OP_WHILE:
      return run_while(call, op, error);
    case CYXLA__OP_SORT:
      cyxla__sort_run(op->as.sort, (void *const *)(call->block + op->frame),
                      call->block + call->direct->plan.scratch);
      break;
    case CYXLA__OP_TOP_K:
      run_top_k(call, op);
      break;
    case CYXLA__OP_RNG_STATE:
      run_rng_state(call, op);
      break;
    case CYXLA__OP_DEVICE_ID: /* there is one device */
      memset(operand(call, op, 0), 0, sizeof(uint32_t));
      break;
    case CYXLA__OP_CUSTOM_CALL:
      return run_custom_call(call, op, error);
    case CYXLA__OP_DOT:
      cyxla__dot_run(op->as.dot, operand(call, op, 0), operand(call, op, 1), operand(call, op, 2));
      break;
  }
  return CYXLA_OK;
}

/* Most are of one number, for which a call of memcpy takes longer than the copy. */
static inline void move(void *to, const void *from, size_t size) {
  if (size == 8)
    memcpy(to, from, 8);
  else if (size == 4)
    memcpy(to, from, 4);
  else
    memcpy(to, from, size);
}

/* Inlined where a call starts, as most have no further range. */
__attribute__((always_inline)) static inline int32_t run_ops(const cyxla__call *call,
                                                             cyxla__range range,
                                                             cyxla_error *error) {
  for (const cyxla__op *op = range.first; op != range.end; ++op) {
    if (op->kind == CYXLA__OP_KERNEL) {
      if (op->as.kernel(kernel_frame(call, op))) return fail_kernel(op, error);
    } else if (op->kind == CYXLA__OP_MOVE) {
      move(operand(call, op, 1), operand(call, op, 0), op->as.move_size);
    } else {
      TRY(run_other(call, op, error));
    }
  }
  return CYXLA_OK;
}

static int32_t run_range(const cyxla__call *call, cyxla__range range, cyxla_error *error) {
  return run_ops(call, range, error);
}

int32_t cyxla__call_run(cyxla__call *call, cyxla_error *error) {
  call->busy = true;
  for (size_t i = 0; i < call->move_in_count; ++i)
    memcpy(call->moves_in[i].to, call->moves_in[i].from, call->moves_in[i].size);
  const cyxla__fpenv before = cyxla__fpenv_enter();
  const int32_t status = run_ops(call, call->direct->plan.entry, error);
  cyxla__fpenv_leave(before);
  for (size_t i = 0; i < call->move_out_count; ++i)
    memcpy(call->moves_out[i].to, call->moves_out[i].from, call->moves_out[i].size);
  call->busy = false;
  return status;
}
