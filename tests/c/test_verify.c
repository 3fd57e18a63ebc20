/* Each rule of verification, by images that are made here: one that is right, and changes that
 * break it. */
#include "direct/image.h"
#include "image_invariants.h"

/* ---- a right image ---- */

/* Allocations, 64 bytes each, by what they are. */
enum { IN, OUT, TEMP, CONST, NONE, SMALL, ALLOCATIONS };

static const int64_t length_16[] = {16}, length_8[] = {8}, order_1[] = {0};
static const int64_t two_by_2[] = {2, 2}, two_by_8[] = {2, 8}, eight_by_2[] = {8, 2},
                     order_rows[] = {1, 0}, order_columns[] = {0, 1};

#define VECTOR(kind, bytes)                  \
  ((cyxla__shape){.type = kind,              \
                  .rank = 1,                 \
                  .dimensions = length_16,   \
                  .minor_to_major = order_1, \
                  .length = 16,              \
                  .size = bytes})
#define MATRIX(kind, sizes, order)         \
  ((cyxla__shape){.type = kind,            \
                  .rank = 2,               \
                  .dimensions = sizes,     \
                  .minor_to_major = order, \
                  .length = 16,            \
                  .size = 64})

static const cyxla__slice whole_of[ALLOCATIONS] = {{IN, 0, 64},    {OUT, 0, 64},  {TEMP, 0, 64},
                                                   {CONST, 0, 64}, {NONE, 0, 64}, {SMALL, 0, 16}};

static cyxla__array array_in(uint32_t allocation) {
  return (cyxla__array){.slice = whole_of[allocation], .shape = VECTOR(XLA_F32, 64)};
}

static cyxla__span span(const char *text) {
  return (cyxla__span){(uint8_t *)text, strlen(text)};
}

/* All that an image of one thunk points to; tests change it. */
typedef struct world {
  cyxla__image image;
  cyxla__allocation allocations[ALLOCATIONS];
  cyxla__shape inputs[1], outputs[1];
  uint32_t output_allocations[1];
  cyxla__thunk thunk;
  cyxla__slice slices[2];
  cyxla__array arrays[3];
  cyxla__sequence sequences[2];
} world;

static _Alignas(64) const uint8_t constant[64];

static void make(world *world, cyxla__thunk_kind kind, const char *kind_name) {
  *world = (struct world){
      .allocations =
          {
              {.kind = CYXLA__ALLOCATION_PARAMETER, .size = 64, .parameter = -1},
              {.kind = CYXLA__ALLOCATION_OUTPUT, .size = 64, .parameter = -1},
              {.kind = CYXLA__ALLOCATION_TEMP, .size = 64, .parameter = -1},
              {.kind = CYXLA__ALLOCATION_CONSTANT,
               .size = 64,
               .parameter = -1,
               .constant = constant},
              {.kind = CYXLA__ALLOCATION_UNUSED, .size = 64, .parameter = -1},
              {.kind = CYXLA__ALLOCATION_TEMP, .size = 16, .parameter = -1},
          },
      .inputs = {VECTOR(XLA_F32, 64)},
      .outputs = {VECTOR(XLA_F32, 64)},
      .output_allocations = {OUT},
      .thunk = {.kind = kind, .kind_name = span(kind_name), .op_name = span("op.1")},
  };
  world->image = (cyxla__image){
      .allocations = world->allocations,
      .allocation_count = ALLOCATIONS,
      .sequence = {&world->thunk, 1},
      .inputs = world->inputs,
      .input_count = 1,
      .outputs = world->outputs,
      .output_count = 1,
      .output_allocations = world->output_allocations,
  };
}

static void accept(const world *world) {
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_OK(cyxla__image_verify(&world->image, &error), &error);
}

static void refuse(const world *world, int32_t status, const char *message) {
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_STATUS(cyxla__image_verify(&world->image, &error), status, &error);
  CHECK_CONTAINS(error.message, message);
  CHECK_INT(cyxla__image_verify(&world->image, NULL), status);
}

static void refuse_wrong(const world *world, const char *message) {
  refuse(world, CYXLA_INVALID_ARGUMENT, message);
}

/* A change that is undone after the check. */
#define REFUSE_WITH(place, value, message) \
  do {                                     \
    const struct world before_ = world;    \
    (place) = value;                       \
    refuse_wrong(&world, message);         \
    world = before_;                       \
  } while (0)
#define ACCEPT_WITH(place, value)       \
  do {                                  \
    const struct world before_ = world; \
    (place) = value;                    \
    accept(&world);                     \
    world = before_;                    \
  } while (0)

/* What can be wrong with each slice. */
static void refuse_bad_slices(world *world, cyxla__slice *slice) {
  const cyxla__slice right = *slice;
  slice->allocation = ALLOCATIONS;
  refuse_wrong(world, "of an allocation that there is not");
  slice->allocation = UINT32_MAX;
  refuse_wrong(world, "of an allocation that there is not");
  *slice = right;
  slice->allocation = NONE;
  refuse_wrong(world, "without memory");
  *slice = right;
  slice->offset = 64;
  refuse_wrong(world, "beyond its allocation");
  slice->offset = UINT64_MAX;
  refuse_wrong(world, "beyond its allocation");
  *slice = right;
  slice->size = UINT64_MAX;
  refuse_wrong(world, "beyond its allocation");
  *slice = right;
}

static void refuse_bad_size(world *world, cyxla__slice *slice) {
  const cyxla__slice right = *slice;
  slice->size -= 1;
  refuse_wrong(world, "another size or alignment");
  *slice = right;
}

/* Where a thunk writes. */
static void refuse_bad_destination(world *world, cyxla__slice *slice) {
  const cyxla__slice right = *slice;
  slice->allocation = IN;
  refuse_wrong(world, "it writes to an input");
  slice->allocation = CONST;
  refuse_wrong(world, "it writes to a constant");
  *slice = right;
}

/* ---- inputs, outputs, allocations ---- */

static void checks_inputs_and_outputs(void) {
  world world;
  make(&world, CYXLA__THUNK_CALL, "call");
  accept(&world);
  world.inputs[0].type = XLA_F8E5M2;
  refuse(&world, CYXLA_UNIMPLEMENTED, "input 0 is of XLA's type 19");
  make(&world, CYXLA__THUNK_CALL, "call");
  world.outputs[0].type = XLA_TOKEN;
  refuse(&world, CYXLA_UNIMPLEMENTED, "output 0 is of XLA's type 17");
  make(&world, CYXLA__THUNK_CALL, "call");
  world.inputs[0] = MATRIX(XLA_F32, two_by_8, order_rows);
  accept(&world);
  world.inputs[0] = MATRIX(XLA_F32, two_by_8, order_columns);
  refuse(&world, CYXLA_UNIMPLEMENTED, "input 0 is not laid out row-major");
  world.inputs[0] = world.outputs[0];
  world.outputs[0] = MATRIX(XLA_F32, two_by_8, order_columns);
  refuse(&world, CYXLA_UNIMPLEMENTED, "output 0 is not laid out row-major");
}

static void checks_allocations(void) {
  world world;
  make(&world, CYXLA__THUNK_CALL, "call");
  REFUSE_WITH(world.allocations[IN].number, 1, "allocation 0 is not as large as its input");
  REFUSE_WITH(world.allocations[IN].size, 63, "allocation 0 is not as large as its input");
  REFUSE_WITH(world.allocations[OUT].parameter, 1, "allocation 1 is not as large as the input");
  ACCEPT_WITH(world.allocations[OUT].parameter, 0);
  world.allocations[OUT].parameter = 0;
  world.inputs[0].size = 60;
  world.allocations[IN].size = 60;
  refuse_wrong(&world, "allocation 1 is not as large as the input that is donated to it");
}

/* ---- what is not supported ---- */

static void lists_what_is_not_supported(void) {
  world world;
  cyxla__thunk thunks[5];
  make(&world, CYXLA__THUNK_UNSUPPORTED, "fft");
  for (int i = 0; i < 4; ++i) thunks[i] = world.thunk;
  thunks[1].kind_name = span("convolution");
  thunks[1].op_name = span("conv.7");
  thunks[2].op_name = span("op.2");
  world.sequences[0] = (cyxla__sequence){&world.thunk, 1};
  thunks[3] = (cyxla__thunk){.kind = CYXLA__THUNK_CALL, .as.call.sequence = world.sequences[0]};
  thunks[4] = (cyxla__thunk){.kind = CYXLA__THUNK_COPY};
  world.image.sequence = (cyxla__sequence){thunks, 5};
  refuse(&world, CYXLA_UNIMPLEMENTED,
         "thunks that are not supported: 3 x fft (op.1), 1 x convolution (conv.7)");
}

/* Those inside of loops and branches, too, whose own faults come later. */
static void looks_into_nested_ones(void) {
  world world;
  cyxla__thunk inner = {
      .kind = CYXLA__THUNK_UNSUPPORTED, .kind_name = span("fft"), .op_name = span("inner")};
  const cyxla__sequence none = {NULL, 0}, one = {&inner, 1};
  for (int i = 0; i < 5; ++i) {
    make(&world,
         i < 2   ? CYXLA__THUNK_WHILE
         : i < 4 ? CYXLA__THUNK_CONDITIONAL
                 : CYXLA__THUNK_CALL,
         "outer");
    if (i < 2) {
      world.thunk.as.loop.condition = i == 0 ? one : none;
      world.thunk.as.loop.body = i == 1 ? one : none;
    } else if (i < 4) {
      world.sequences[0] = i == 2 ? one : none;
      world.sequences[1] = i == 3 ? one : none;
      world.thunk.as.conditional.branches = world.sequences;
      world.thunk.as.conditional.count = 2;
    } else {
      world.thunk.as.call.sequence = one;
    }
    refuse(&world, CYXLA_UNIMPLEMENTED, "1 x fft (inner)");
  }
}

static void bounds_the_list(void) {
  world world;
  char names[30][100];
  cyxla__thunk thunks[30];
  make(&world, CYXLA__THUNK_UNSUPPORTED, "");
  for (int i = 0; i < 30; ++i) {
    memset(names[i], 'k', sizeof names[i]);
    names[i][0] = (char)(i ? 'A' + i : '\n'); /* printable, but for the first */
    thunks[i] = world.thunk;
    thunks[i].kind_name = thunks[i].op_name = (cyxla__span){(uint8_t *)names[i], sizeof names[i]};
  }
  world.image.sequence = (cyxla__sequence){thunks, 30};
  refuse(&world, CYXLA_UNIMPLEMENTED, ": 1 x ?kkkkkk");
  refuse(&world, CYXLA_UNIMPLEMENTED, "kk), 18 others");
  world.image.sequence.count = 12;
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_INT(cyxla__image_verify(&world.image, &error), CYXLA_UNIMPLEMENTED);
  CHECK(!strstr(error.message, "others"));
}

static void make_custom_call(world *world) {
  make(world, CYXLA__THUNK_CUSTOM_CALL, "custom-call");
  world->arrays[0] = array_in(IN);
  world->arrays[1] = array_in(OUT);
  world->thunk.as.custom_call.api_version = 4;
  world->thunk.as.custom_call.target = span("target");
  world->thunk.as.custom_call.buffers = world->arrays;
  world->thunk.as.custom_call.count = 2;
  world->thunk.as.custom_call.argument_count = 1;
}

static void knows_custom_calls_that_need_xla(void) {
  static const char *const callbacks[] = {"xla_ffi_python_cpu_callback",
                                          "xla_ffi_partitioned_python_cpu_callback"};
  world world;
  make_custom_call(&world);
  world.thunk.as.custom_call.api_version = 3;
  refuse(&world, CYXLA_UNIMPLEMENTED,
         "1 x custom-call of target, which is not of the typed FFI (op.1)");
  for (int i = 0; i < 2; ++i) {
    char message[128];
    make_custom_call(&world);
    world.thunk.as.custom_call.target = span(callbacks[i]);
    snprintf(message, sizeof message, "1 x custom-call of %s, which calls Python (op.1)",
             callbacks[i]);
    refuse(&world, CYXLA_UNIMPLEMENTED, message);
  }
  make_custom_call(&world);
  world.arrays[1].shape.type = XLA_TOKEN;
  refuse(&world, CYXLA_UNIMPLEMENTED,
         "1 x custom-call of target with a token, or a type that is not known (op.1)");
}

static void make_dot(world *world) {
  static const int64_t first[] = {0};
  make(world, CYXLA__THUNK_DOT, "dot");
  cyxla__array *left = &world->thunk.as.dot.left, *right = &world->thunk.as.dot.right;
  left->slice = whole_of[IN];
  left->shape = MATRIX(XLA_S32, eight_by_2, order_rows);
  right->slice = whole_of[CONST];
  right->shape = MATRIX(XLA_S32, eight_by_2, order_columns);
  world->thunk.as.dot.result = (cyxla__array){.slice = whole_of[SMALL],
                                              .shape = {.type = XLA_S32,
                                                        .rank = 2,
                                                        .dimensions = two_by_2,
                                                        .minor_to_major = order_rows,
                                                        .length = 4,
                                                        .size = 16}};
  world->thunk.as.dot.left_contracting = world->thunk.as.dot.right_contracting = first;
  world->thunk.as.dot.contracting_count = 1;
}

static void knows_dots_of_other_types(void) {
  world world;
  make_dot(&world);
  world.thunk.as.dot.left.shape.type = XLA_F32;
  world.thunk.as.dot.right.shape.type = XLA_F32;
  world.thunk.as.dot.result.shape.type = XLA_F32;
  refuse(&world, CYXLA_UNIMPLEMENTED, "1 x dot of f32 (op.1)");
  for (int i = 0; i < 3; ++i) {
    make_dot(&world);
    (i == 0   ? &world.thunk.as.dot.left
     : i == 1 ? &world.thunk.as.dot.right
              : &world.thunk.as.dot.result)
        ->shape.type = XLA_S8;
    refuse(&world, CYXLA_UNIMPLEMENTED, "1 x dot of s");
  }
  make_dot(&world);
  world.thunk.as.dot.left.shape.type = XLA_PRED;
  refuse(&world, CYXLA_UNIMPLEMENTED, "1 x dot of pred (op.1)");
  world.thunk.as.dot.left.shape.type = 99;
  refuse(&world, CYXLA_UNIMPLEMENTED, "1 x dot of another type (op.1)");
}

/* ---- kinds ---- */

static void make_kernel(world *world) {
  make(world, CYXLA__THUNK_KERNEL, "kernel");
  world->slices[0] = whole_of[IN];
  world->slices[1] = whole_of[OUT];
  world->thunk.as.kernel.name = span("f");
  for (int i = 0; i < 3; ++i) world->thunk.as.kernel.workgroups[i] = 1;
  world->thunk.as.kernel.buffers = world->slices;
  world->thunk.as.kernel.count = 2;
  world->thunk.as.kernel.argument_count = 1;
  world->thunk.as.kernel.alignment = 64;
}

static void checks_kernels(void) {
  world world;
  make_kernel(&world);
  accept(&world);
  refuse_bad_slices(&world, &world.slices[0]);
  refuse_bad_slices(&world, &world.slices[1]);
  /* What a loop passes on is listed among the results of its kernel. */
  ACCEPT_WITH(world.slices[1].allocation, IN);
  ACCEPT_WITH(world.slices[1].allocation, CONST);
  REFUSE_WITH(world.thunk.as.kernel.name.size, 0, "a kernel without a name");
  world.slices[0].offset = 32;
  world.slices[0].size = 32;
  refuse_wrong(&world, "a buffer that is not aligned");
  ACCEPT_WITH(world.thunk.as.kernel.alignment, 32);
  ACCEPT_WITH(world.thunk.as.kernel.alignment, 0);
  world.thunk.as.kernel.alignment = 128;
  refuse(&world, CYXLA_UNIMPLEMENTED, "more alignment than 64");
  world.thunk.as.kernel.alignment = 48;
  refuse(&world, CYXLA_UNIMPLEMENTED, "more alignment than 64");
}

static void checks_workgroups(void) {
  static const uint64_t wrong[][3] = {{0, 1, 1},
                                      {1, 0, 1},
                                      {1, 1, 0},
                                      {(1 << 20) + 1, 1, 1},
                                      {1 << 10, 1 << 10, 2},
                                      {1ull << 32, 1ull << 32, 1},
                                      {UINT64_MAX, 1, 1}};
  world world;
  make_kernel(&world);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    memcpy(world.thunk.as.kernel.workgroups, wrong[i], sizeof wrong[i]);
    refuse_wrong(&world, "no work groups, or too many of them");
  }
  memcpy(world.thunk.as.kernel.workgroups, (uint64_t[]){1 << 10, 1, 1 << 10}, 24);
  accept(&world);
}

static void checks_copies(void) {
  world world;
  make(&world, CYXLA__THUNK_COPY, "copy");
  cyxla__array *source = &world.thunk.as.copy.source,
               *destination = &world.thunk.as.copy.destination;
  *source = array_in(IN);
  *destination = array_in(OUT);
  accept(&world);
  refuse_bad_slices(&world, &source->slice);
  refuse_bad_slices(&world, &destination->slice);
  refuse_bad_size(&world, &source->slice);
  refuse_bad_size(&world, &destination->slice);
  refuse_bad_destination(&world, &destination->slice);
  REFUSE_WITH(source->shape.type, XLA_S32, "of different types");
  REFUSE_WITH(source->shape, MATRIX(XLA_F32, two_by_8, order_rows), "of different types");
  REFUSE_WITH(source->slice.allocation, OUT, "slices that overlap");
  source->shape = MATRIX(XLA_F32, two_by_8, order_rows);
  destination->shape = MATRIX(XLA_F32, two_by_8, order_columns);
  accept(&world);
  destination->shape = MATRIX(XLA_F32, eight_by_2, order_columns);
  refuse_wrong(&world, "of different types");
  destination->shape.type = 21;
  refuse(&world, CYXLA_UNIMPLEMENTED, "an array of a type that is not known");
}

/* Neighbours don't, and nothing overlaps what is empty. */
static void knows_overlaps(void) {
  static const struct {
    uint64_t offset;
    int64_t length;
    bool overlaps;
  } places[] = {{0, 4, true},   {4, 4, true},   {12, 4, true},
                {16, 4, false}, {32, 4, false}, {8, 0, false}};
  world world;
  make(&world, CYXLA__THUNK_COPY, "copy");
  for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
    const int64_t length[] = {places[i].length};
    const size_t size = 4 * (size_t)places[i].length;
    cyxla__array array = {{OUT, places[i].offset, size},
                          {XLA_F32, 1, length, order_1, size / 4, size}};
    world.thunk.as.copy.destination = array;
    array.slice.offset = 0;
    world.thunk.as.copy.source = array;
    if (places[i].overlaps)
      refuse_wrong(&world, "slices that overlap");
    else
      accept(&world);
  }
}

static void checks_alignment_of_elements(void) {
  world world;
  make(&world, CYXLA__THUNK_COPY, "copy");
  cyxla__array array = {{OUT, 2, 32}, {XLA_F32, 1, length_8, order_1, 8, 32}};
  world.thunk.as.copy.destination = array;
  array.slice = (cyxla__slice){IN, 0, 32};
  world.thunk.as.copy.source = array;
  refuse_wrong(&world, "another size or alignment");
  world.thunk.as.copy.destination.slice.offset = 4;
  accept(&world);
}

static void checks_conditionals(void) {
  world world;
  make(&world, CYXLA__THUNK_CONDITIONAL, "conditional");
  cyxla__slice *index = &world.thunk.as.conditional.index;
  world.thunk.as.conditional.branches = world.sequences;
  world.thunk.as.conditional.count = 2;
  *index = (cyxla__slice){IN, 0, 4};
  accept(&world);
  refuse_bad_slices(&world, index);
  ACCEPT_WITH(world.thunk.as.conditional.count, 1);
  REFUSE_WITH(world.thunk.as.conditional.count, 0, "too few branches");
  REFUSE_WITH(index->offset, 2, "another size or alignment");
  REFUSE_WITH(index->size, 2, "another size or alignment");
  REFUSE_WITH(index->size, 8, "another size or alignment");
  index->size = 1;
  accept(&world);
  ACCEPT_WITH(index->offset, 3);
  REFUSE_WITH(world.thunk.as.conditional.count, 1, "too few branches");
}

static void checks_loops(void) {
  world world;
  make(&world, CYXLA__THUNK_WHILE, "while");
  world.thunk.as.loop.predicate = (cyxla__slice){TEMP, 5, 1};
  accept(&world);
  refuse_bad_slices(&world, &world.thunk.as.loop.predicate);
  REFUSE_WITH(world.thunk.as.loop.predicate.size, 0, "another size or alignment");
  REFUSE_WITH(world.thunk.as.loop.predicate.size, 4, "another size or alignment");
}

static void make_sort(world *world) {
  make(world, CYXLA__THUNK_SORT, "sort");
  world->arrays[0] = array_in(OUT);
  world->arrays[1] = array_in(TEMP);
  world->arrays[1].shape.type = XLA_S32;
  world->thunk.as.sort.operands = world->arrays;
  world->thunk.as.sort.count = 2;
  world->thunk.as.sort.comparator = span("less");
}

static void checks_sorts(void) {
  world world;
  make_sort(&world);
  accept(&world);
  for (int i = 0; i < 2; ++i) {
    refuse_bad_slices(&world, &world.arrays[i].slice);
    refuse_bad_size(&world, &world.arrays[i].slice);
    refuse_bad_destination(&world, &world.arrays[i].slice);
  }
  REFUSE_WITH(world.thunk.as.sort.count, 0, "no operands");
  REFUSE_WITH(world.thunk.as.sort.dimension, 1, "a dimension that there is not");
  REFUSE_WITH(world.arrays[1].slice.allocation, OUT, "slices that overlap");
  REFUSE_WITH(world.arrays[1].shape, MATRIX(XLA_F32, two_by_8, order_rows), "different dimensions");
  world.arrays[0].shape = MATRIX(XLA_F32, two_by_8, order_rows);
  world.arrays[1].shape = MATRIX(XLA_F32, two_by_8, order_columns);
  refuse_wrong(&world, "different dimensions");
  world.arrays[0].shape = world.arrays[1].shape;
  accept(&world);
  ACCEPT_WITH(world.thunk.as.sort.dimension, 1);
  world.arrays[1].shape.type = 21;
  refuse(&world, CYXLA_UNIMPLEMENTED, "an array of a type that is not known");
}

/* A direction takes the comparator's place, but not for all types. */
static void checks_comparators(void) {
  world world;
  make_sort(&world);
  world.thunk.as.sort.comparator = (cyxla__span){0};
  refuse_wrong(&world, "no comparator");
  world.thunk.as.sort.direction = 1;
  accept(&world);
  for (int i = 0; i < 2; ++i) world.arrays[i].shape.type = XLA_PRED;
  for (int i = 0; i < 2; ++i) world.arrays[i].shape.size = world.arrays[i].slice.size = 16;
  refuse_wrong(&world, "no comparator");
}

static void limits_the_operands_of_sorts(void) {
  static cyxla__array arrays[65];
  static cyxla__allocation allocations[65];
  world world;
  make_sort(&world);
  for (uint32_t i = 0; i < 65; ++i) {
    allocations[i] = world.allocations[TEMP];
    arrays[i] = world.arrays[0];
    arrays[i].slice.allocation = i;
  }
  world.image.allocations = allocations;
  world.image.allocation_count = 65;
  world.thunk.as.sort.operands = arrays;
  world.thunk.as.sort.count = 64;
  accept(&world);
  world.thunk.as.sort.count = 65;
  refuse(&world, CYXLA_UNIMPLEMENTED, "more operands than 64");
}

static void checks_top_k(void) {
  world world;
  make(&world, CYXLA__THUNK_TOP_K, "topk");
  world.thunk.as.top_k.batch_size = 2;
  world.thunk.as.top_k.input_size = 8;
  world.thunk.as.top_k.k = 3;
  world.thunk.as.top_k.values = whole_of[IN];
  world.thunk.as.top_k.output = (cyxla__slice){OUT, 0, 24};
  world.thunk.as.top_k.indices = (cyxla__slice){OUT, 24, 24};
  cyxla__slice *const slices[] = {&world.thunk.as.top_k.values, &world.thunk.as.top_k.output,
                                  &world.thunk.as.top_k.indices};
  accept(&world);
  for (int i = 0; i < 3; ++i) {
    refuse_bad_slices(&world, slices[i]);
    refuse_bad_size(&world, slices[i]);
    if (i) refuse_bad_destination(&world, slices[i]);
  }
  REFUSE_WITH(world.thunk.as.top_k.k, 9, "sizes that can't be");
  REFUSE_WITH(world.thunk.as.top_k.k, UINT64_MAX, "sizes that can't be");
  REFUSE_WITH(world.thunk.as.top_k.input_size, 1ull << 31, "sizes that can't be");
  REFUSE_WITH(world.thunk.as.top_k.batch_size, 1ull << 62, "sizes that can't be");
  REFUSE_WITH(world.thunk.as.top_k.batch_size, 1ull << 59, "sizes that can't be");
  REFUSE_WITH(world.thunk.as.top_k.indices.offset, 20, "slices that overlap");
  REFUSE_WITH(world.thunk.as.top_k.indices.offset, 26, "another size or alignment");
  world.thunk.as.top_k.values = (cyxla__slice){OUT, 0, 64};
  refuse_wrong(&world, "slices that overlap");
  world.thunk.as.top_k.output.allocation = TEMP;
  refuse_wrong(&world, "slices that overlap");
  world.thunk.as.top_k.indices.allocation = TEMP;
  accept(&world);
}

static void checks_states_and_ids(void) {
  world world;
  make(&world, CYXLA__THUNK_RNG_STATE, "rng-get-and-update-state");
  cyxla__slice *slice = &world.thunk.as.rng_state.state;
  *slice = (cyxla__slice){TEMP, 16, 16};
  accept(&world);
  refuse_bad_slices(&world, slice);
  refuse_bad_size(&world, slice);
  refuse_bad_destination(&world, slice);
  REFUSE_WITH(slice->offset, 4, "another size or alignment");
  make(&world, CYXLA__THUNK_DEVICE_ID, "replica-id");
  slice = &world.thunk.as.device_id.id;
  *slice = (cyxla__slice){OUT, 4, 4};
  accept(&world);
  refuse_bad_slices(&world, slice);
  refuse_bad_size(&world, slice);
  refuse_bad_destination(&world, slice);
}

static void checks_custom_calls(void) {
  world world;
  make_custom_call(&world);
  accept(&world);
  for (int i = 0; i < 2; ++i) {
    refuse_bad_slices(&world, &world.arrays[i].slice);
    refuse_bad_size(&world, &world.arrays[i].slice);
  }
  refuse_bad_destination(&world, &world.arrays[1].slice);
  ACCEPT_WITH(world.arrays[0].slice.allocation, OUT); /* in place */
  REFUSE_WITH(world.thunk.as.custom_call.target.size, 0, "no target");
}

static void checks_dots(void) {
  world world;
  make_dot(&world);
  accept(&world);
  cyxla__array *const arrays[] = {&world.thunk.as.dot.left, &world.thunk.as.dot.right,
                                  &world.thunk.as.dot.result};
  for (int i = 0; i < 3; ++i) {
    refuse_bad_slices(&world, &arrays[i]->slice);
    refuse_bad_size(&world, &arrays[i]->slice);
  }
  refuse_bad_destination(&world, &world.thunk.as.dot.result.slice);
  world.thunk.as.dot.result.slice.allocation = OUT;
  REFUSE_WITH(world.thunk.as.dot.left.slice.allocation, OUT, "slices that overlap");
  REFUSE_WITH(world.thunk.as.dot.right.slice.allocation, OUT, "slices that overlap");
}

static void checks_dimensions_of_dots(void) {
  static const char unfit[] = "dimensions that don't fit each other";
  static const int64_t zero[] = {0}, one[] = {1}, two[] = {2}, negative[] = {-1}, both[] = {0, 0};
  static const int64_t vector_8[] = {8}, two_by_4[] = {2, 4};
  world world;
  make_dot(&world);
  REFUSE_WITH(world.thunk.as.dot.left_contracting, one, unfit);
  REFUSE_WITH(world.thunk.as.dot.left_contracting, two, unfit);
  REFUSE_WITH(world.thunk.as.dot.left_contracting, negative, unfit);
  REFUSE_WITH(world.thunk.as.dot.right_contracting, two, unfit);
  REFUSE_WITH(world.thunk.as.dot.contracting_count, 0, unfit); /* a result of more dimensions */
  REFUSE_WITH(world.thunk.as.dot.result.shape.dimensions, two_by_4, unfit);
  REFUSE_WITH(world.thunk.as.dot.result.shape.rank, 1, unfit);
  const struct world plain = world;
  world.thunk.as.dot.left_contracting = world.thunk.as.dot.right_contracting = both;
  world.thunk.as.dot.contracting_count = 2;
  refuse_wrong(&world, unfit);
  /* Of batches: (8, 2) and (8, 2) with the result (8). */
  world = plain;
  world.thunk.as.dot.left_batch = world.thunk.as.dot.right_batch = zero;
  world.thunk.as.dot.batch_count = 1;
  refuse_wrong(&world, unfit); /* contracted and of batches */
  world.thunk.as.dot.left_contracting = world.thunk.as.dot.right_contracting = one;
  world.thunk.as.dot.result.shape = (cyxla__shape){XLA_S32, 1, vector_8, order_1, 8, 32};
  world.thunk.as.dot.result.slice = (cyxla__slice){OUT, 0, 32};
  accept(&world);
  REFUSE_WITH(world.thunk.as.dot.right_batch, two, unfit);
  REFUSE_WITH(world.thunk.as.dot.left_batch, two, unfit);
  world.thunk.as.dot.right.shape = MATRIX(XLA_S32, two_by_8, order_rows);
  refuse_wrong(&world, unfit);
}

int main(void) {
  RUN(checks_inputs_and_outputs);
  RUN(checks_allocations);
  RUN(lists_what_is_not_supported);
  RUN(looks_into_nested_ones);
  RUN(bounds_the_list);
  RUN(knows_custom_calls_that_need_xla);
  RUN(knows_dots_of_other_types);
  RUN(checks_kernels);
  RUN(checks_workgroups);
  RUN(checks_copies);
  RUN(knows_overlaps);
  RUN(checks_alignment_of_elements);
  RUN(checks_conditionals);
  RUN(checks_loops);
  RUN(checks_sorts);
  RUN(checks_comparators);
  RUN(limits_the_operands_of_sorts);
  RUN(checks_top_k);
  RUN(checks_states_and_ids);
  RUN(checks_custom_calls);
  RUN(checks_dots);
  RUN(checks_dimensions_of_dots);
}
