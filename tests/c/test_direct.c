/* Stored executables of several compilers, run by the direct engine without a plugin: their results are
 * those that JAX gave, whatever the caller's memory is like. */
#include <math.h>
#include <pthread.h>

#include "cyxla/cyxla.h"
#include "data.h"
#include "ffi/xla_ffi_abi.h"

static cyxla_error error = CYXLA_ERROR_INIT;

static const char *const executables[] = {
    "sine-plugin-0.11.2",      "sine-jaxlib-0.10.2",      "sine-jaxlib-0.11.2",
    "sine-jaxlib-0.12.0",      "loop-plugin-0.11.2",      "loop-jaxlib-0.10.2",
    "loop-jaxlib-0.11.2",      "loop-jaxlib-0.12.0",      "sort-plugin-0.11.2",
    "sort-jaxlib-0.10.2",      "sort-jaxlib-0.11.2",      "sort-jaxlib-0.12.0",
    "constants-plugin-0.11.2", "constants-jaxlib-0.10.2", "constants-jaxlib-0.11.2",
    "constants-jaxlib-0.12.0", "several-plugin-0.11.2",   "unused-plugin-0.11.2",
    "top_k-plugin-0.11.2",     "donated-plugin-0.11.2",   "donated_both-plugin-0.11.2",
    "dot-plugin-0.11.2",       "empty-plugin-0.11.2"};
enum { EXECUTABLES = sizeof executables / sizeof executables[0], MAX_ARRAYS = 32 };

/* Loads the executable `name`.  They were compiled for a processor with AVX-512: elsewhere the test has
 * nothing to run. */
static cyxla_executable *load(const char *name) {
  char path[128];
  snprintf(path, sizeof path, "programs/%s", name);
  cyxla__span bytes = read_data(path);
  cyxla_executable *executable;
  const int32_t status = cyxla_executable_deserialize(NULL, NULL, bytes.data, bytes.size,
                                                      CYXLA_ENGINE_AUTO, &executable, &error);
  free(bytes.data);
  if (status == CYXLA_FAILED_PRECONDITION) {
    fprintf(stderr, "skipped: %s\n", error.message);
    exit(TEST_SKIPPED);
  }
  CHECK_OK(status, &error);
  return executable;
}

/* The arrays of a call, each in a block of its own with room on both sides. */
typedef struct arrays {
  cyxla_executable_info info;
  unsigned char *memory[MAX_ARRAYS];
  cyxla_input inputs[MAX_ARRAYS];
  void *outputs[MAX_ARRAYS];
  cyxla__span expected;
} arrays;

enum { ROOM = 64 };

static cyxla__span read_arrays(const char *name, const char *kind) {
  char path[128];
  snprintf(path, sizeof path, "programs/%.*s.%s", (int)strcspn(name, "-"), name, kind);
  return read_file(path);
}

static void open_arrays(arrays *arrays, const char *name, const cyxla_executable *executable,
                        size_t shift) {
  arrays->info = (cyxla_executable_info){.struct_size = sizeof arrays->info};
  cyxla_executable_get_info(executable, &arrays->info);
  const size_t input_count = arrays->info.input_count, output_count = arrays->info.output_count;
  CHECK(input_count + output_count <= MAX_ARRAYS);
  cyxla__span given = read_arrays(name, "in");
  arrays->expected = read_arrays(name, "out");
  size_t used = 0;
  for (size_t i = 0; i < input_count + output_count; ++i) {
    const bool is_input = i < input_count;
    const size_t size =
        is_input ? arrays->info.input_sizes[i] : arrays->info.output_sizes[i - input_count];
    CHECK((arrays->memory[i] = cyxla_aligned_alloc(size + 2 * ROOM)) != NULL);
    memset(arrays->memory[i], 0x5a, size + 2 * ROOM);
    unsigned char *data = arrays->memory[i] + shift;
    if (!is_input) {
      arrays->outputs[i - input_count] = data;
      continue;
    }
    const int32_t type = arrays->info.inputs[i].element_type;
    CHECK(used + size <= given.size);
    memcpy(data, given.data + used, size);
    arrays->inputs[i] = (cyxla_input){data, type, size / cyxla_element_size(type)};
    used += size;
  }
  CHECK_INT(used, given.size);
  free(given.data);
}

static void check_results(const arrays *arrays, size_t shift) {
  size_t used = 0;
  for (size_t i = 0; i < arrays->info.output_count; ++i) {
    const size_t size = arrays->info.output_sizes[i];
    const unsigned char *memory = arrays->memory[arrays->info.input_count + i];
    CHECK(used + size <= arrays->expected.size);
    CHECK_BYTES(memory + shift, arrays->expected.data + used, size);
    for (size_t k = 0; k < size + 2 * ROOM; ++k)
      if (k < shift || k >= shift + size) CHECK_INT(memory[k], 0x5a);
    used += size;
  }
  CHECK_INT(used, arrays->expected.size);
}

static void close_arrays(arrays *arrays) {
  for (size_t i = 0; i < arrays->info.input_count + arrays->info.output_count; ++i)
    cyxla_aligned_free(arrays->memory[i]);
  free(arrays->expected.data);
}

/* ---- results ---- */

/* Every alignment, twice each: for a call that is bound anew, and for one that is bound already. */
static void gives_jax_results(void) {
  for (size_t e = 0; e < EXECUTABLES; ++e) {
    cyxla_executable *executable = load(executables[e]);
    for (size_t shift = 0; shift < ROOM; ++shift) {
      arrays arrays;
      open_arrays(&arrays, executables[e], executable, shift);
      for (uint32_t flags = 0; flags <= CYXLA_ZERO_COPY; ++flags) {
        CHECK_OK(cyxla_execute(executable, arrays.inputs, arrays.outputs, flags, &error), &error);
        check_results(&arrays, shift);
      }
      close_arrays(&arrays);
    }
    cyxla_executable_destroy(executable);
  }
}

static void bound_calls_give_jax_results(void) {
  for (size_t e = 0; e < EXECUTABLES; ++e) {
    cyxla_executable *executable = load(executables[e]);
    for (size_t shift = 0; shift < ROOM; shift += 32) {
      arrays arrays;
      open_arrays(&arrays, executables[e], executable, shift);
      cyxla_bound_call *call;
      CHECK_OK(cyxla_bind(executable, arrays.inputs, arrays.outputs, &call, &error), &error);
      for (int round = 0; round < 3; ++round) {
        CHECK_OK(cyxla_bound_call_execute(call, &error), &error);
        check_results(&arrays, shift);
      }
      cyxla_bound_call_destroy(call);
      close_arrays(&arrays);
    }
    cyxla_executable_destroy(executable);
  }
}

/* An output that is written where an input is read: at each distance that makes them overlap. */
static void outputs_may_overlap_inputs(void) {
  cyxla_executable *executable = load("sine-plugin-0.11.2");
  const size_t size = 8 * sizeof(float);
  cyxla__span given = read_arrays("sine-", "in"), expected = read_arrays("sine-", "out");
  unsigned char *memory = cyxla_aligned_alloc(256);
  CHECK(memory != NULL);
  for (size_t at = 64; at <= 128; at += 4)
    for (size_t to = 64; to <= 128; to += 4) {
      memcpy(memory + at, given.data, size);
      const cyxla_input input = {memory + at, CYXLA_F32, 8};
      void *const outputs[] = {memory + to};
      CHECK_OK(cyxla_execute(executable, &input, outputs, CYXLA_ZERO_COPY, &error), &error);
      CHECK_BYTES(memory + to, expected.data, size);
    }
  cyxla_aligned_free(memory);
  free(given.data);
  free(expected.data);
  cyxla_executable_destroy(executable);
}

/* Where the outputs lie in the inputs' places, each in the other's too, and where they overlap them. */
static void donated_inputs_may_be_overwritten(void) {
  enum { SIZE = 16 * sizeof(float) };
  static const size_t places[][2] = {{64, 512}, {512, 64}, {96, 480}, {480, 96}, {128, 64}};
  cyxla_executable *executable = load("donated_both-plugin-0.11.2");
  cyxla__span given = read_arrays("donated_both-", "in");
  cyxla__span expected = read_arrays("donated_both-", "out");
  unsigned char *memory = cyxla_aligned_alloc(1024);
  CHECK(memory != NULL);
  for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
    memcpy(memory + 64, given.data, SIZE);
    memcpy(memory + 512, given.data + SIZE, SIZE);
    const cyxla_input inputs[] = {{memory + 64, CYXLA_F32, 16}, {memory + 512, CYXLA_F32, 16}};
    void *const outputs[] = {memory + places[i][0], memory + places[i][1]};
    CHECK_OK(cyxla_execute(executable, inputs, outputs, 0, &error), &error);
    CHECK_BYTES(outputs[0], expected.data, SIZE);
    CHECK_BYTES(outputs[1], expected.data + SIZE, SIZE);
  }
  cyxla_aligned_free(memory);
  free(given.data);
  free(expected.data);
  cyxla_executable_destroy(executable);
}

static void outputs_may_be_dropped(void) {
  cyxla_executable *executable = load("several-plugin-0.11.2");
  for (unsigned wanted = 0; wanted < 16; ++wanted) {
    arrays arrays;
    open_arrays(&arrays, "several-", executable, 0);
    CHECK_INT(arrays.info.output_count, 4);
    void *outputs[4];
    for (size_t i = 0; i < 4; ++i) outputs[i] = wanted >> i & 1 ? arrays.outputs[i] : NULL;
    CHECK_OK(cyxla_execute(executable, arrays.inputs, outputs, 0, &error), &error);
    size_t used = 0;
    for (size_t i = 0; i < 4; ++i) {
      if (outputs[i])
        CHECK_BYTES(outputs[i], arrays.expected.data + used, arrays.info.output_sizes[i]);
      used += arrays.info.output_sizes[i];
    }
    close_arrays(&arrays);
  }
  cyxla_executable_destroy(executable);
}

/* ---- refusals ---- */

static void check_refused(const char *name, int32_t status, const char *part) {
  cyxla__span bytes = read_data(name);
  cyxla_executable *executable;
  CHECK_STATUS(cyxla_executable_deserialize(NULL, NULL, bytes.data, bytes.size, CYXLA_ENGINE_AUTO,
                                            &executable, &error),
               status, &error);
  CHECK_CONTAINS(error.message, part);
  free(bytes.data);
}

static void says_what_stands_in_the_way(void) {
  check_refused("programs/fft-plugin-0.11.2", CYXLA_UNIMPLEMENTED, "1 x fft (");
  check_refused("programs/cholesky-jaxlib-0.11.2", CYXLA_NOT_FOUND, "lapack_dpotrf_ffi");
}

/* A feature that no processor has. */
static void refuses_code_for_other_processors(void) {
  static const char feature[] = "+avx2,";
  cyxla__span bytes = read_data("programs/sine-plugin-0.11.2");
  size_t at = 0;
  while (memcmp(bytes.data + at, feature, sizeof feature - 1)) ++at;
  memcpy(bytes.data + at, "+xyz2,", sizeof feature - 1);
  cyxla_executable *executable;
  for (int32_t engine = CYXLA_ENGINE_AUTO; engine <= CYXLA_ENGINE_PJRT; ++engine) {
    CHECK_STATUS(cyxla_executable_deserialize(NULL, NULL, bytes.data, bytes.size, engine,
                                              &executable, &error),
                 CYXLA_FAILED_PRECONDITION, &error);
    CHECK_CONTAINS(error.message, "xyz2");
  }
  free(bytes.data);
}

/* ---- states of random numbers ---- */

/* Two calls give two states, however many threads made them. */
static void states_go_on(void) {
  cyxla_executable *executable = load("random-jaxlib-0.10.2"),
                   *other = load("random-jaxlib-0.10.2");
  unsigned char first[16], second[16], others[16];
  void *outputs[] = {first};
  cyxla__span expected = read_arrays("random-", "out");
  CHECK_OK(cyxla_execute(executable, NULL, outputs, 0, &error), &error);
  CHECK_BYTES(first, expected.data, 16);
  outputs[0] = second;
  CHECK_OK(cyxla_execute(executable, NULL, outputs, 0, &error), &error);
  CHECK(memcmp(first, second, 16));
  outputs[0] = others;
  CHECK_OK(cyxla_execute(other, NULL, outputs, 0, &error), &error);
  CHECK_BYTES(others, expected.data, 16);
  free(expected.data);
  cyxla_executable_destroy(executable);
  cyxla_executable_destroy(other);
}

/* ---- custom calls ---- */

/* LAPACK's dpotrf of a lower triangle, column-major, as far as the program of the tests needs it. */
static XLA_FFI_Error *factorize(XLA_FFI_CallFrame *call) {
  if (call->extension_start) { /* a question for the version */
    XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)call->extension_start)->metadata;
    metadata->api_version.major_version = 0;
    metadata->api_version.minor_version = 3;
    return NULL;
  }
  const XLA_FFI_Buffer *in = call->args.args[0], *out = call->rets.rets[0],
                       *info = call->rets.rets[1];
  const int64_t n = in->dims[0];
  double *a = out->data;
  if (a != in->data) memcpy(a, in->data, (size_t)(n * n) * sizeof *a);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t k = 0; k < j; ++k) a[j + n * j] -= a[j + n * k] * a[j + n * k];
    a[j + n * j] = sqrt(a[j + n * j]);
    for (int64_t i = j + 1; i < n; ++i) {
      for (int64_t k = 0; k < j; ++k) a[i + n * j] -= a[i + n * k] * a[j + n * k];
      a[i + n * j] /= a[j + n * j];
    }
  }
  *(int32_t *)info->data = 0;
  return NULL;
}

/* Of the results of LAPACK's own code these may be a rounding or two away. */
static void check_factor(const void *found, const cyxla__span expected) {
  double factor[9], lapack[9];
  memcpy(factor, found, sizeof factor);
  memcpy(lapack, expected.data, sizeof lapack);
  for (int i = 0; i < 9; ++i) CHECK(fabs(factor[i] - lapack[i]) <= 4e-16);
}

static void calls_handlers(void) {
  static const char *const names[] = {"cholesky-jaxlib-0.10.2", "cholesky-jaxlib-0.11.2",
                                      "cholesky-jaxlib-0.12.0"};
  const cyxla_ffi_target target = {.struct_size = sizeof target,
                                   .name = "lapack_dpotrf_ffi",
                                   .platform = "cpu",
                                   .execute = factorize};
  CHECK_OK(cyxla_register_ffi_target(&target, &error), &error);
  for (size_t i = 0; i < 3; ++i) {
    cyxla_executable *executable = load(names[i]);
    arrays arrays;
    open_arrays(&arrays, names[i], executable, 0);
    CHECK_OK(cyxla_execute(executable, arrays.inputs, arrays.outputs, 0, &error), &error);
    check_factor(arrays.outputs[0], arrays.expected);
    close_arrays(&arrays);
    cyxla_executable_destroy(executable);
  }
}

/* ---- threads ---- */

enum { THREADS = 8, SHARED = 6, CHOLESKY = 5 };
static cyxla_executable *shared[SHARED];
static const char *const shared_names[SHARED] = {"sine-plugin-0.11.2",  "loop-plugin-0.11.2",
                                                 "sort-plugin-0.11.2",  "several-plugin-0.11.2",
                                                 "top_k-plugin-0.11.2", "cholesky-jaxlib-0.11.2"};
static long rounds = 1000000;

static void *run_all(void *argument) {
  const size_t first = (size_t)argument;
  cyxla_error own = CYXLA_ERROR_INIT;
  arrays all[SHARED];
  for (size_t i = 0; i < SHARED; ++i)
    open_arrays(&all[i], shared_names[i], shared[i], first % 2 * 8);
  for (long round = 0; round < rounds; ++round) {
    const size_t i = (first + (size_t)round) % SHARED;
    CHECK_OK(cyxla_execute(shared[i], all[i].inputs, all[i].outputs, 0, &own), &own);
    if (round % 100 >= SHARED) continue;
    if (i == CHOLESKY)
      check_factor(all[i].outputs[0], all[i].expected);
    else
      check_results(&all[i], first % 2 * 8);
  }
  for (size_t i = 0; i < SHARED; ++i) close_arrays(&all[i]);
  return NULL;
}

static void threads_share_executables(void) {
  if (getenv("CYXLA_TEST_ROUNDS")) rounds = strtol(getenv("CYXLA_TEST_ROUNDS"), NULL, 10);
  for (size_t i = 0; i < SHARED; ++i) shared[i] = load(shared_names[i]);
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; ++i)
    CHECK_INT(pthread_create(&threads[i], NULL, run_all, (void *)i), 0);
  for (size_t i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (size_t i = 0; i < SHARED; ++i) cyxla_executable_destroy(shared[i]);
}

int main(void) {
  cyxla_executable_destroy(load(executables[0])); /* or the test is skipped */
  RUN(says_what_stands_in_the_way);
  RUN(refuses_code_for_other_processors);
  RUN(gives_jax_results);
  RUN(bound_calls_give_jax_results);
  RUN(outputs_may_overlap_inputs);
  RUN(donated_inputs_may_be_overwritten);
  RUN(outputs_may_be_dropped);
  RUN(states_go_on);
  RUN(calls_handlers);
  RUN(threads_share_executables);
}
