/* An executable's thunks as a flat list of operations, with everything resolved that can be.
 *
 * A call needs memory that no other call uses at the same time: the *block*.  It holds, one after the
 * other, the frames (what kernels and handlers get: addresses and sizes of their buffers), working memory
 * of sorts, and the temporary allocations.  A plan says where in the block what lies, and which addresses
 * belong where; it is shared by all calls and does not change. */
#ifndef CYXLA_DIRECT_PLAN_H
#define CYXLA_DIRECT_PLAN_H

#include <stdatomic.h>

#include "direct/code.h"
#include "direct/image.h"
#include "direct/op_copy.h"
#include "direct/op_dot.h"
#include "direct/op_sort.h"
#include "ffi/custom_call.h"

/* What XLA's compiler makes of a fusion: a function of one work group, XLA_CPU_Kernel in
 * xla/backends/cpu/runtime/kernel_c_api.h. */
typedef struct cyxla__dim3 {
  uint64_t x, y, z;
} cyxla__dim3;

typedef struct cyxla__kernel_argument {
  void *data;
  size_t size;
} cyxla__kernel_argument;

typedef struct cyxla__kernel_frame {
  const cyxla__dim3 *workgroups;
  const cyxla__dim3 *workgroup;
  size_t argument_count;
  const cyxla__kernel_argument *arguments;
} cyxla__kernel_frame;

/* NULL: success. */
typedef void *cyxla__kernel(const cyxla__kernel_frame *frame);

typedef enum cyxla__op_kind {
  CYXLA__OP_KERNEL, /* of one work group */
  CYXLA__OP_GRID,   /* a kernel of several */
  CYXLA__OP_MOVE,   /* a copy of one piece of memory */
  CYXLA__OP_COPY,
  CYXLA__OP_CALL,
  CYXLA__OP_CONDITIONAL,
  CYXLA__OP_WHILE,
  CYXLA__OP_SORT,
  CYXLA__OP_TOP_K,
  CYXLA__OP_RNG_STATE,
  CYXLA__OP_DEVICE_ID,
  CYXLA__OP_CUSTOM_CALL,
  CYXLA__OP_DOT
} cyxla__op_kind;

/* Operations of a plan, one after the other up to `end`. */
typedef struct cyxla__range {
  const struct cyxla__op *first, *end;
} cyxla__range;

/* The one thing that calls share and change: XLA keeps a state for each such thunk. */
typedef struct cyxla__rng {
  _Atomic(uint64_t) draws;
} cyxla__rng;

typedef struct cyxla__op {
  cyxla__op_kind kind;
  size_t
      frame; /* where in the block: a kernel's or custom call's frame, else a list of addresses */
  union {
    cyxla__kernel *kernel;
    struct {
      cyxla__kernel *kernel;
      size_t workgroup_count;
      bool parallel; /* it is worth waking other threads */
    } grid;
    size_t move_size;
    const cyxla__copy *copy;
    cyxla__range call;
    struct {
      const cyxla__range *branches;
      size_t count;
    } conditional;
    struct {
      cyxla__range condition, body;
    } loop;
    const cyxla__sort *sort;
    cyxla__rng *rng;
    cyxla__custom_call *custom_call;
    const cyxla__dot *dot;
  } as;
  const cyxla__thunk *thunk; /* what it was made of */
} cyxla__op;

/* An address in the block: `where` gets the address of `offset` in an allocation. */
typedef struct cyxla__address {
  size_t where;
  uint32_t allocation;
  uint64_t offset;
} cyxla__address;

typedef struct cyxla__plan {
  cyxla__arena arena;
  const cyxla__image *image; /* borrowed */
  cyxla__code *code;
  cyxla__op *ops;
  size_t op_count;
  cyxla__range entry;
  size_t frames_size, scratch,
      block_size; /* of the block: where frames end, where working memory lies */
  size_t *temps;  /* by allocation: where in the block */
  cyxla__address *addresses;
  size_t address_count;
  size_t temp_size;
} cyxla__plan;

/* Plans `image`, which was verified and must outlive the plan: links its code, finds its handlers.
 *
 * Returns: what cyxla__code_link and cyxla__custom_call_create do; RESOURCE_EXHAUSTED.  On failure there
 *          is nothing to deinit. */
int32_t cyxla__plan_init(cyxla__plan *plan, const cyxla__image *image, cyxla_error *error);

void cyxla__plan_deinit(cyxla__plan *plan);

#endif
