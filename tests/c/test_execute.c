/* Executions, with the fake plugin (in all its configurations, by the environment) or the real one:
 * what a caller may do with his memory, and what is refused. */
#include "support.h"

static cyxla_error error = CYXLA_ERROR_INIT;
static test_program program;

static cyxla_executable *compile_new(cyxla_array_type type, size_t inputs, size_t outputs,
                                     double factor) {
  make_program(&program, type, inputs, outputs, factor);
  return compile(&program);
}

static void execute(cyxla_executable *executable, const cyxla_input *inputs, void *const *outputs,
                    uint32_t flags) {
  CHECK_OK(cyxla_execute(executable, inputs, outputs, flags, &error), &error);
}

/* ---- alignment ---- */

/* Inputs and outputs at every offset, copied or in place where they happen to be aligned. */
static void takes_any_alignment(void) {
  enum { LENGTH = 33 };
  static const size_t offsets[] = {0, 1, 2, 3, 4, 8, 16, 32, 63, 64};
  const size_t offset_count = sizeof offsets / sizeof offsets[0];
  cyxla_executable *executable = compile_new(TYPE(CYXLA_F64, LENGTH), 1, 1, 3);
  unsigned char *source = cyxla_aligned_alloc(sizeof(double[LENGTH]) + 128);
  unsigned char *target = cyxla_aligned_alloc(sizeof(double[LENGTH]) + 128);
  CHECK(source && target);
  for (size_t i = 0; i < offset_count * offset_count * 2; ++i) {
    unsigned char *from = source + offsets[i % offset_count];
    unsigned char *to = target + offsets[i / offset_count % offset_count];
    double values[LENGTH], results[LENGTH];
    for (int k = 0; k < LENGTH; ++k) values[k] = k + (double)i;
    memcpy(from, values, sizeof values);
    memset(target, 0x77, sizeof values + 128);
    void *outputs[] = {to};
    const cyxla_input input = {from, CYXLA_F64, LENGTH};
    execute(executable, &input, outputs, i % 2 ? CYXLA_ZERO_COPY : 0);
    memcpy(results, to, sizeof results);
    for (int k = 0; k < LENGTH; ++k) CHECK_REAL(results[k], 3 * values[k]);
    /* Not a byte before or behind the output is touched. */
    for (unsigned char *byte = target; byte < target + sizeof results + 128; ++byte)
      if (byte < to || byte >= to + sizeof results) CHECK_INT(*byte, 0x77);
  }
  cyxla_aligned_free(source);
  cyxla_aligned_free(target);
  cyxla_executable_destroy(executable);
}

/* ---- element types, ranks, numbers of arrays ---- */

static void carries_every_element_type(void) {
  for (int32_t type = CYXLA_PRED; type <= CYXLA_C128; ++type)
    for (uint32_t flags = 0; flags <= CYXLA_ZERO_COPY; ++flags) {
      cyxla_executable *executable = compile_new(TYPE(type, 2, 3), 1, 1, 0);
      const size_t size = 6 * cyxla_element_size(type);
      unsigned char *values = cyxla_aligned_alloc(size), results[96] = {0};
      CHECK(values);
      for (size_t i = 0; i < size; ++i)
        values[i] = (unsigned char)(type == CYXLA_PRED ? i % 2 : 1 + i % 100);
      void *outputs[] = {results};
      const cyxla_input input = {values, type, 6};
      execute(executable, &input, outputs, flags);
      CHECK_BYTES(results, values, size);
      cyxla_aligned_free(values);
      cyxla_executable_destroy(executable);
    }
}

static void takes_rank_zero(void) {
  cyxla_executable *executable = compile_new(SCALAR(CYXLA_F32), 2, 2, 5);
  for (uint32_t flags = 0; flags <= CYXLA_ZERO_COPY; ++flags) {
    const float first = 3, second = 4;
    float results[2] = {0};
    void *outputs[] = {&results[0], &results[1]};
    const cyxla_input inputs[] = {{&first, CYXLA_F32, 1}, {&second, CYXLA_F32, 1}};
    execute(executable, inputs, outputs, flags);
    CHECK_REAL(results[0], 15);
    CHECK_REAL(results[1], 24);
  }
  cyxla_executable_destroy(executable);
}

static void takes_empty_arrays(void) {
  const cyxla_array_type types[] = {TYPE(CYXLA_F32, 0), TYPE(CYXLA_F64, 3, 0, 2)};
  for (int i = 0; i < 2; ++i) {
    cyxla_executable *executable = compile_new(types[i], 1, 1, 2);
    char byte = 7;
    void *nowhere[] = {NULL}, *somewhere[] = {&byte};
    const cyxla_input nothing = {NULL, types[i].element_type, 0};
    const cyxla_input something = {&byte, types[i].element_type, 0};
    for (int round = 0; round < 4; ++round) {
      execute(executable, round % 2 ? &something : &nothing, round % 2 ? nowhere : somewhere,
              round / 2 ? CYXLA_ZERO_COPY : 0);
      CHECK_INT(byte, 7);
    }
    cyxla_executable_destroy(executable);
  }
}

static void needs_no_inputs(void) {
  cyxla_executable *executable = compile_new(TYPE(CYXLA_F64, 2), 0, 2, 10);
  double results[4] = {0};
  void *outputs[] = {results, results + 2};
  execute(executable, NULL, outputs, 0);
  execute(executable, NULL, outputs, CYXLA_ZERO_COPY);
  CHECK_REAL(results[1], 10);
  CHECK_REAL(results[3], 11);
  cyxla_executable_destroy(executable);
}

static void needs_no_outputs(void) {
  cyxla_executable *executable = compile_new(TYPE(CYXLA_F64, 2), 1, 0, 2);
  const double values[2] = {1, 2};
  const cyxla_input input = {values, CYXLA_F64, 2};
  execute(executable, &input, NULL, 0);
  execute(executable, &input, NULL, CYXLA_ZERO_COPY);
  cyxla_executable_destroy(executable);
  executable = compile_new(TYPE(CYXLA_F64, 2), 0, 0, 2);
  execute(executable, NULL, NULL, 0);
  cyxla_executable_destroy(executable);
}

static void takes_many_arrays(void) {
  enum { INPUTS = 200, OUTPUTS = 100, LENGTH = 3 };
  cyxla_executable *executable = compile_new(TYPE(CYXLA_F64, LENGTH), INPUTS, OUTPUTS, 2);
  static double values[INPUTS][LENGTH], results[OUTPUTS][LENGTH];
  cyxla_input inputs[INPUTS];
  void *outputs[OUTPUTS];
  for (int i = 0; i < INPUTS; ++i) inputs[i] = (cyxla_input){values[i], CYXLA_F64, LENGTH};
  for (int k = 0; k < OUTPUTS; ++k) outputs[k] = k % 7 == 3 ? NULL : results[k];
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < INPUTS; ++i)
      for (int j = 0; j < LENGTH; ++j) values[i][j] = i + 1000 * j + round;
    memset(results, 0, sizeof results);
    execute(executable, inputs, outputs, round % 2 ? CYXLA_ZERO_COPY : 0);
    for (int k = 0; k < OUTPUTS; ++k)
      for (int j = 0; j < LENGTH; ++j)
        CHECK_REAL(results[k][j], outputs[k] ? (2 + k) * values[k][j] : 0);
  }
  cyxla_executable_destroy(executable);
}

/* ---- whose memory is whose, and when ---- */

/* Outputs that nobody wants are dropped. */
static void drops_outputs(void) {
  cyxla_executable *executable = compile_new(TYPE(CYXLA_F32, 2), 1, 3, 2);
  const float values[] = {1, 2};
  const cyxla_input input = {values, CYXLA_F32, 2};
  for (int mask = 0; mask < 8; ++mask) {
    float results[3][2] = {{0}};
    void *outputs[3];
    for (int k = 0; k < 3; ++k) outputs[k] = mask >> k & 1 ? results[k] : NULL;
    execute(executable, &input, outputs, 0);
    for (int k = 0; k < 3; ++k) CHECK_REAL(results[k][1], mask >> k & 1 ? 2 * (2 + k) : 0);
  }
  cyxla_executable_destroy(executable);
}

/* Inputs may be overwritten and freed at once; the next call brings others, or the same address
 * with other contents. */
static void lets_inputs_go(void) {
  enum { LENGTH = 1000 };
  cyxla_executable *executable = compile_new(TYPE(CYXLA_F64, LENGTH), 1, 1, 2);
  for (int round = 0; round < 200; ++round) {
    double *values = cyxla_aligned_alloc(sizeof(double[LENGTH]));
    double *results = malloc(sizeof(double[LENGTH]));
    CHECK(values && results);
    for (int i = 0; i < LENGTH; ++i) values[i] = i + round;
    void *outputs[] = {results};
    const cyxla_input input = {values, CYXLA_F64, LENGTH};
    execute(executable, &input, outputs, round % 3 ? CYXLA_ZERO_COPY : 0);
    memset(values, 0xff, sizeof(double[LENGTH]));
    cyxla_aligned_free(values);
    for (int i = 0; i < LENGTH; ++i) CHECK_REAL(results[i], 2.0 * (i + round));
    free(results);
  }
  cyxla_executable_destroy(executable);
}

static void sees_changed_contents(void) {
  cyxla_executable *executable = compile_new(TYPE(CYXLA_F64, 8), 1, 1, 2);
  double *values = cyxla_aligned_alloc(sizeof(double[8])), results[8];
  CHECK(values);
  void *outputs[] = {results};
  const cyxla_input input = {values, CYXLA_F64, 8};
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 8; ++i) values[i] = i * round;
    execute(executable, &input, outputs, CYXLA_ZERO_COPY);
    for (int i = 0; i < 8; ++i) CHECK_REAL(results[i], 2.0 * i * round);
  }
  cyxla_aligned_free(values);
  cyxla_executable_destroy(executable);
}

/* In place from two arrays in turn, and copied from a third: no call takes the buffer of another.
 */
static void alternates(void) {
  cyxla_executable *executable = compile_new(TYPE(CYXLA_F64, 8), 2, 2, 2);
  double *arrays[3], results[2][8];
  for (int i = 0; i < 3; ++i) CHECK((arrays[i] = cyxla_aligned_alloc(sizeof(double[8]))) != NULL);
  void *outputs[] = {results[0], results[1]};
  for (int round = 0; round < 90; ++round) {
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 8; ++j) arrays[i][j] = round + 100 * i + j;
    const int first = round % 3, second = round / 2 % 3;
    const cyxla_input inputs[] = {{arrays[first], CYXLA_F64, 8}, {arrays[second], CYXLA_F64, 8}};
    execute(executable, inputs, outputs, round % 5 < 3 ? CYXLA_ZERO_COPY : 0);
    CHECK_REAL(results[0][7], 2 * (round + 100 * first + 7));
    CHECK_REAL(results[1][7], 3 * (round + 100 * second + 7));
    for (int i = 0; i < 3; ++i) CHECK_REAL(arrays[i][0], round + 100 * i);
  }
  for (int i = 0; i < 3; ++i) cyxla_aligned_free(arrays[i]);
  cyxla_executable_destroy(executable);
}

/* Arrays around and above the size up to which the library holds a copy of its own. */
static void takes_large_arrays(void) {
  for (int64_t length = (1 << 17) - 1; length <= (1 << 17) + 1; ++length) {
    cyxla_executable *executable = compile_new(TYPE(CYXLA_F64, length), 1, 1, 2);
    double *values = cyxla_aligned_alloc((size_t)length * sizeof *values);
    double *results = cyxla_aligned_alloc((size_t)length * sizeof *results);
    CHECK(values && results);
    void *outputs[] = {results};
    const cyxla_input input = {values, CYXLA_F64, (size_t)length};
    for (int round = 0; round < 6; ++round) {
      for (int64_t i = 0; i < length; ++i) values[i] = (double)i + round;
      execute(executable, &input, outputs, round % 2 ? CYXLA_ZERO_COPY : 0);
      for (int64_t i = 0; i < length; ++i) CHECK_REAL(results[i], 2 * ((double)i + round));
    }
    cyxla_aligned_free(values);
    cyxla_aligned_free(results);
    cyxla_executable_destroy(executable);
  }
}

/* The same array may be several inputs. */
static void takes_one_array_twice(void) {
  cyxla_executable *executable = compile_new(TYPE(CYXLA_F64, 8), 2, 2, 2);
  double *values = cyxla_aligned_alloc(sizeof(double[8])), results[2][8];
  CHECK(values);
  for (int i = 0; i < 8; ++i) values[i] = i;
  void *outputs[] = {results[0], results[1]};
  const cyxla_input inputs[] = {{values, CYXLA_F64, 8}, {values, CYXLA_F64, 8}};
  for (uint32_t flags = 0; flags <= CYXLA_ZERO_COPY; ++flags) {
    execute(executable, inputs, outputs, flags);
    CHECK_REAL(results[0][7], 14);
    CHECK_REAL(results[1][7], 21);
  }
  cyxla_aligned_free(values);
  cyxla_executable_destroy(executable);
}

/* ---- what is refused ---- */

static void check_refused(cyxla_executable *executable, cyxla_input input, const char *part) {
  float results[6];
  void *outputs[] = {results};
  for (uint32_t flags = 0; flags <= CYXLA_ZERO_COPY; ++flags) {
    error.message[0] = 0;
    CHECK_STATUS(cyxla_execute(executable, &input, outputs, flags, &error), CYXLA_INPUT_MISMATCH,
                 &error);
    CHECK_CONTAINS(error.message, part);
    CHECK_CONTAINS(error.message, "input 0 position");
    CHECK_INT(cyxla_execute(executable, &input, outputs, flags, NULL), CYXLA_INPUT_MISMATCH);
  }
}

static void refuses_wrong_inputs(void) {
  make_program(&program, TYPE(CYXLA_F32, 2, 3), 1, 1, 2);
  program.inputs[0].name = "position";
  cyxla_executable *executable = compile(&program);
  const float values[6] = {1, 2, 3, 4, 5, 6};
  check_refused(executable, (cyxla_input){values, CYXLA_F32, 5}, "f32[5]");
  check_refused(executable, (cyxla_input){values, CYXLA_F32, 7}, "f32[2,3] (6 elements)");
  check_refused(executable, (cyxla_input){values, CYXLA_F64, 3}, "f64[3]");
  check_refused(executable, (cyxla_input){values, CYXLA_S32, 6}, "s32[6]");
  check_refused(executable, (cyxla_input){values, 0, 6}, "unknown type 0[6]");
  check_refused(executable, (cyxla_input){values, -7, 6}, "unknown type -7[6]");
  check_refused(executable, (cyxla_input){NULL, CYXLA_F32, 6}, "has no data");
  check_refused(executable, (cyxla_input){NULL, CYXLA_F32, 0}, "f32[0]");
  check_refused(executable, (cyxla_input){values, CYXLA_F32, SIZE_MAX}, "f32[");

  float results[6];
  void *outputs[] = {results};
  const cyxla_input good = {values, CYXLA_F32, 6};
  CHECK_STATUS(cyxla_execute(executable, NULL, outputs, 0, &error), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_STATUS(cyxla_execute(executable, &good, NULL, 0, &error), CYXLA_INVALID_ARGUMENT, &error);
  execute(executable, &good, outputs, 0); /* it is none the worse for it */
  CHECK_REAL(results[5], 12);
  cyxla_executable_destroy(executable);
}

int main(int argument_count, char **arguments) {
  use_plugin(argument_count, arguments);
  RUN(takes_any_alignment);
  RUN(carries_every_element_type);
  RUN(takes_rank_zero);
  RUN(takes_empty_arrays);
  RUN(needs_no_inputs);
  RUN(needs_no_outputs);
  RUN(takes_many_arrays);
  RUN(drops_outputs);
  RUN(lets_inputs_go);
  RUN(sees_changed_contents);
  RUN(alternates);
  RUN(takes_large_arrays);
  RUN(takes_one_array_twice);
  RUN(refuses_wrong_inputs);
  if (using_fake) check_nothing_alive(1);
}
