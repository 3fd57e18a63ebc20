/* Images of executables that XLA's compilers made, see tests/data/README.md. */
#include "data.h"
#include "direct/image.h"
#include "image_invariants.h"
#include "xla_cpu/container.h"

static const char *const compilers[] = {"plugin-0.11.2", "jaxlib-0.10.2", "jaxlib-0.11.2",
                                        "jaxlib-0.12.0"};

/* A program's executable, decoded; `*out_bytes` are the caller's. */
static cyxla__image decode(const char *program, const char *compiler, cyxla__span *out_bytes) {
  char name[64];
  snprintf(name, sizeof name, "programs/%s-%s", program, compiler);
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla__image image;
  *out_bytes = read_data(name);
  CHECK_OK(cyxla__image_decode(*out_bytes, &image, &error), &error);
  return image;
}

static void deinit(cyxla__image *image, cyxla__span bytes) {
  cyxla__image_deinit(image);
  free(bytes.data);
}

static void check_verified(const cyxla__image *image) {
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_OK(cyxla__image_verify(image, &error), &error);
  check_image(image);
}

static size_t count_of(const cyxla__image *image, const char *kind) {
  for (size_t i = 0; i < image->thunk_kind_count; ++i)
    if (!strcmp(image->thunk_counts[i].kind, kind)) return image->thunk_counts[i].count;
  return 0;
}

static void check_vector(const cyxla__shape *shape, int32_t type, int64_t length) {
  CHECK_INT(shape->type, type);
  CHECK_INT(shape->rank, 1);
  CHECK_INT(shape->dimensions[0], length);
  CHECK_INT(shape->minor_to_major[0], 0);
  CHECK_INT(shape->length, length);
}

/* One kernel, from allocation 1, the input, to allocation 0, the output. */
static void reads_all_of_a_small_one(void) {
  for (size_t i = 0; i < 4; ++i) {
    cyxla__span bytes;
    cyxla__image image = decode("sine", compilers[i], &bytes);
    check_verified(&image);
    CHECK(cyxla__span_is(image.name, "jit_sine"));
    CHECK(cyxla__span_is(image.triple, "x86_64-unknown-linux-gnu"));
    CHECK(cyxla__span_contains(image.features, "+avx2,", 6));
    CHECK_INT(image.input_count, 1);
    CHECK_INT(image.output_count, 1);
    check_vector(&image.inputs[0], XLA_F32, 8);
    check_vector(&image.outputs[0], XLA_F32, 8);
    CHECK_INT(image.allocation_count, 2);
    CHECK_INT(image.output_allocations[0], 0);
    CHECK_INT(image.allocations[0].kind, CYXLA__ALLOCATION_OUTPUT);
    CHECK_INT(image.allocations[0].parameter, -1);
    CHECK_INT(image.allocations[1].kind, CYXLA__ALLOCATION_PARAMETER);
    CHECK_INT(image.allocations[1].number, 0);
    CHECK_INT(image.allocations[1].size, 32);
    CHECK_INT(image.thunk_kind_count, 1);
    CHECK_INT(count_of(&image, "kernel"), 1);
    CHECK_INT(image.object_count, 1);
    CHECK_BYTES(image.objects[0].data,
                "\x7f"
                "ELF",
                4);
    const cyxla__thunk *thunk = image.sequence.thunks;
    CHECK_INT(thunk->kind, CYXLA__THUNK_KERNEL);
    CHECK(cyxla__span_is(thunk->kind_name, "kernel"));
    CHECK(cyxla__span_is(thunk->op_name, "broadcast_multiply_fusion"));
    CHECK(cyxla__span_is(thunk->as.kernel.name, "broadcast_multiply_fusion"));
    CHECK_INT(image.symbol_count, 1);
    CHECK(cyxla__span_is(image.symbols[0], "broadcast_multiply_fusion"));
    for (int k = 0; k < 3; ++k) CHECK_INT(thunk->as.kernel.workgroups[k], 1);
    CHECK_INT(thunk->as.kernel.alignment, 64);
    CHECK_INT(thunk->as.kernel.argument_count, 1);
    CHECK_INT(thunk->as.kernel.count, 2);
    CHECK_INT(thunk->as.kernel.buffers[0].allocation, 1);
    CHECK_INT(thunk->as.kernel.buffers[0].size, 32);
    CHECK_INT(thunk->as.kernel.buffers[1].allocation, 0);
    deinit(&image, bytes);
  }
}

/* Each output is a copy of a constant, whose bytes are those of the expected results. */
static void reads_constants(void) {
  static const int32_t types[] = {XLA_PRED, XLA_S8,  XLA_U8,  XLA_S16, XLA_U16,
                                  XLA_S32,  XLA_U32, XLA_S64, XLA_U64, XLA_F16,
                                  XLA_BF16, XLA_F32, XLA_F64, XLA_C64, XLA_C128};
  for (size_t i = 0; i < 4; ++i) {
    cyxla__span bytes, expected = read_file("programs/constants.out");
    cyxla__image image = decode("constants", compilers[i], &bytes);
    check_verified(&image);
    CHECK_INT(image.input_count, 0);
    CHECK_INT(image.output_count, 15);
    CHECK_INT(count_of(&image, "copy"), 15);
    const void *constants[15] = {0};
    for (size_t k = 0; k < image.sequence.count; ++k) {
      const cyxla__thunk *thunk = &image.sequence.thunks[k];
      const cyxla__allocation *to = &image.allocations[thunk->as.copy.destination.slice.allocation];
      constants[to->number] = image.allocations[thunk->as.copy.source.slice.allocation].constant;
    }
    size_t at = 0;
    for (size_t k = 0; k < 15; at += image.outputs[k++].size) {
      CHECK_INT(image.outputs[k].type, types[k]);
      CHECK(constants[k]);
      CHECK_BYTES(constants[k], expected.data + at, image.outputs[k].size);
    }
    CHECK_INT(at, expected.size);
    free(expected.data);
    deinit(&image, bytes);
  }
}

static const cyxla__thunk *find(const cyxla__sequence *sequence, cyxla__thunk_kind kind,
                                size_t number) {
  for (size_t i = 0; i < sequence->count; ++i)
    if (sequence->thunks[i].kind == kind && !number--) return &sequence->thunks[i];
  TEST_FAIL("no thunk of kind %d", (int)kind);
}

static void reads_control_flow(void) {
  for (size_t i = 0; i < 4; ++i) {
    cyxla__span bytes;
    cyxla__image image = decode("loop", compilers[i], &bytes);
    check_verified(&image);
    CHECK_INT(count_of(&image, "while"), 1);
    CHECK_INT(count_of(&image, "conditional"), 2);
    CHECK_INT(count_of(&image, "sort"), 2);
    const cyxla__thunk *loop = find(&image.sequence, CYXLA__THUNK_WHILE, 0);
    CHECK(!loop->as.loop.trip_count_known);
    CHECK_INT(loop->as.loop.predicate.size, 1);
    CHECK(loop->as.loop.condition.count > 0);
    const cyxla__thunk *choice = find(&loop->as.loop.body, CYXLA__THUNK_CONDITIONAL, 0);
    CHECK_INT(choice->as.conditional.count, 3);
    CHECK_INT(choice->as.conditional.index.size, 4);
    const cyxla__thunk *last = find(&image.sequence, CYXLA__THUNK_CONDITIONAL, 0);
    CHECK_INT(last->as.conditional.count, 2);
    /* The tables of tuples are memory, outputs or not. */
    size_t temps = 0;
    for (size_t k = 0; k < image.allocation_count; ++k)
      temps += image.allocations[k].kind == CYXLA__ALLOCATION_TEMP;
    CHECK(temps > 1);
    deinit(&image, bytes);
  }
}

static void reads_sorts(void) {
  for (size_t i = 0; i < 4; ++i) {
    cyxla__span bytes;
    cyxla__image image = decode("sort", compilers[i], &bytes);
    check_verified(&image);
    const cyxla__thunk *stable = find(&image.sequence, CYXLA__THUNK_SORT, 0);
    CHECK(stable->as.sort.stable);
    CHECK_INT(stable->as.sort.direction, 0);
    CHECK_INT(stable->as.sort.dimension, 1);
    CHECK_INT(stable->as.sort.count, 1);
    CHECK(cyxla__span_is(stable->as.sort.comparator, "region_0.1"));
    const cyxla__thunk *first = find(&image.sequence, CYXLA__THUNK_SORT, 1);
    CHECK_INT(first->as.sort.dimension, 0);
    const cyxla__thunk *unstable = find(&image.sequence, CYXLA__THUNK_SORT, 2);
    CHECK(!unstable->as.sort.stable);
    CHECK_INT(unstable->as.sort.count, 2);
    CHECK_INT(unstable->as.sort.operands[0].shape.type, XLA_S32);
    CHECK_INT(unstable->as.sort.operands[1].shape.type, XLA_F32);
    /* Only newer compilers tell the direction. */
    CHECK_INT(unstable->as.sort.direction, i != 1);
    deinit(&image, bytes);
  }
}

static void reads_custom_calls(void) {
  for (size_t i = 1; i < 4; ++i) {
    cyxla__span bytes;
    cyxla__image image = decode("cholesky", compilers[i], &bytes);
    check_verified(&image);
    const cyxla__thunk *thunk = find(&image.sequence, CYXLA__THUNK_CUSTOM_CALL, 0);
    CHECK_INT(thunk->as.custom_call.api_version, 4);
    CHECK(cyxla__span_is(thunk->as.custom_call.target, "lapack_dpotrf_ffi"));
    CHECK(cyxla__span_is(thunk->as.custom_call.config, "{uplo = 76 : ui8}"));
    CHECK_INT(thunk->as.custom_call.argument_count, 1);
    CHECK_INT(thunk->as.custom_call.count, 3);
    const cyxla__shape *matrix = &thunk->as.custom_call.buffers[0].shape;
    CHECK_INT(matrix->type, XLA_F64);
    CHECK_INT(matrix->minor_to_major[0], 0); /* column-major, as LAPACK wants it */
    CHECK_INT(thunk->as.custom_call.buffers[2].shape.type, XLA_S32);
    deinit(&image, bytes);
  }
}

static void reads_outputs_of_tuples(void) {
  cyxla__span bytes;
  cyxla__image image = decode("several", compilers[0], &bytes);
  check_verified(&image);
  CHECK_INT(image.input_count, 2);
  CHECK_INT(image.output_count, 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK_INT(image.outputs[i].type, XLA_F64);
    CHECK_INT(image.outputs[i].rank, i != 3);
    CHECK_INT(image.allocations[image.output_allocations[i]].number, i);
  }
  deinit(&image, bytes);
}

static void reads_unused_inputs(void) {
  cyxla__span bytes;
  cyxla__image image = decode("unused", compilers[0], &bytes);
  check_verified(&image);
  CHECK_INT(image.input_count, 2);
  CHECK_INT(image.allocations[1].number, 0);
  CHECK_INT(image.allocations[2].number, 1);
  deinit(&image, bytes);
}

/* The output's memory starts as a copy of the input. */
static void reads_donated_inputs(void) {
  cyxla__span bytes;
  cyxla__image image = decode("donated", compilers[0], &bytes);
  check_verified(&image);
  CHECK_INT(image.allocations[0].kind, CYXLA__ALLOCATION_OUTPUT);
  CHECK_INT(image.allocations[0].number, 0);
  CHECK_INT(image.allocations[0].parameter, 0);
  CHECK_INT(image.allocations[1].kind, CYXLA__ALLOCATION_PARAMETER);
  CHECK_INT(image.allocations[1].number, 1);
  CHECK_INT(image.allocations[1].parameter, -1);
  deinit(&image, bytes);
}

static void reads_empty_arrays(void) {
  cyxla__span bytes;
  cyxla__image image = decode("empty", compilers[0], &bytes);
  check_verified(&image);
  CHECK_INT(image.inputs[0].rank, 2);
  CHECK_INT(image.inputs[0].size, 0);
  CHECK_INT(image.allocations[0].size, 0);
  deinit(&image, bytes);
}

static void reads_library_thunks(void) {
  cyxla__span bytes;
  cyxla__image image = decode("top_k", compilers[0], &bytes);
  check_verified(&image);
  const cyxla__thunk *top = find(&image.sequence, CYXLA__THUNK_TOP_K, 0);
  CHECK_INT(top->as.top_k.batch_size, 2);
  CHECK_INT(top->as.top_k.input_size, 8);
  CHECK_INT(top->as.top_k.k, 3);
  CHECK_INT(top->as.top_k.indices.size, 24);
  deinit(&image, bytes);

  image = decode("dot", compilers[0], &bytes);
  check_verified(&image);
  const cyxla__thunk *dot = find(&image.sequence, CYXLA__THUNK_DOT, 0);
  CHECK_INT(dot->as.dot.contracting_count, 1);
  CHECK_INT(dot->as.dot.left_contracting[0], 2);
  CHECK_INT(dot->as.dot.right_contracting[0], 1);
  CHECK_INT(dot->as.dot.batch_count, 1);
  CHECK_INT(dot->as.dot.left_batch[0], 0);
  CHECK_INT(dot->as.dot.result.shape.length, 3 * 4 * 6);
  deinit(&image, bytes);

  image = decode("random", compilers[1], &bytes);
  check_verified(&image);
  const cyxla__thunk *state = find(&image.sequence, CYXLA__THUNK_RNG_STATE, 0);
  CHECK(state->as.rng_state.delta > 0);
  CHECK_INT(state->as.rng_state.state.size, 16);
  deinit(&image, bytes);
}

/* Decoded all the same: what is in it can be told. */
static void refuses_unsupported_thunks(void) {
  cyxla__span bytes;
  cyxla__image image = decode("fft", compilers[0], &bytes);
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_INT(count_of(&image, "fft"), 1);
  CHECK_INT(count_of(&image, "kernel"), 1);
  CHECK_STATUS(cyxla__image_verify(&image, &error), CYXLA_UNIMPLEMENTED, &error);
  CHECK_TEXT(error.message, "thunks that are not supported: 1 x fft (fft.0)");
  CHECK_INT(cyxla__image_verify(&image, NULL), CYXLA_UNIMPLEMENTED);
  deinit(&image, bytes);
}

/* What is in jaxlib's wrapper is what a plugin reads. */
static void unwraps(void) {
  for (size_t i = 1; i < 4; ++i) {
    cyxla__span bytes, bare, again;
    cyxla__image image = decode("sine", compilers[i], &bytes);
    CHECK(cyxla__container_unwrap(bytes, &bare));
    CHECK(bare.size < bytes.size && bare.data[0] == 0x0a);
    CHECK(bare.data + bare.size == bytes.data + bytes.size);
    CHECK(cyxla__container_unwrap(bare, &again) && again.data == bare.data);
    deinit(&image, bytes);
  }
}

int main(void) {
  RUN(reads_all_of_a_small_one);
  RUN(reads_constants);
  RUN(reads_control_flow);
  RUN(reads_sorts);
  RUN(reads_custom_calls);
  RUN(reads_outputs_of_tuples);
  RUN(reads_unused_inputs);
  RUN(reads_donated_inputs);
  RUN(reads_empty_arrays);
  RUN(reads_library_thunks);
  RUN(refuses_unsupported_thunks);
  RUN(unwraps);
}
