/* Exports, compiled and loaded: they must do what the direct engine does.  The executables are
 * made here, with kernels of this compiler and of clang (objects/kernels.c).  All have three
 * inputs and three outputs, of two floats each. */
#include <dirent.h>
#include <dlfcn.h>
#include <fenv.h>
#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

#include "cyxla/cyxla.h"
#include "executable_writer.h"

static cyxla_error error = CYXLA_ERROR_INIT;
static char folder[] = "/tmp/cyxla-export-XXXXXX";

/* ---- executables ---- */

enum { COUNT = 3, OUT = 0, IN = COUNT, TEMP = 2 * COUNT, TEMPS = 4, CONSTANT_PAIR = TEMP + TEMPS };
enum { TEMP_SIZE = 64 };

static const float constant[] = {17.5f, -0.25f};

static cyxla__proto make_module(void) {
  cyxla__proto module = {0}, main = {0}, tuple = {0}, literal = {0};
  for (uint64_t i = 0; i < COUNT; ++i)
    add_instruction(
        &main, (instruction){10 + (int64_t)i, "parameter", .shape = vector(F32, 2), .number = i});
  for (int64_t i = 0; i < COUNT; ++i) {
    add_instruction(&main, (instruction){20 + i, "copy", .shape = vector(F32, 2),
                                         .operands = {10 + i}, .operand_count = 1});
    add(&tuple, 4, vector(F32, 2));
  }
  cyxla__proto_varint(&tuple, 2, TUPLE);
  add(&literal, 1, vector(F32, 2));
  cyxla__proto_bytes(&literal, 8, constant, sizeof constant);
  add_instruction(&main,
                  (instruction){29, "constant", .shape = vector(F32, 2), .literal = literal});
  add_instruction(&main, (instruction){30, "tuple", .shape = tuple, .operands = {20, 21, 22},
                                       .operand_count = 3});
  add_computation(&module, 1, 30, main);
  return module;
}

/* With `is_donated`, input 0 becomes output 0. */
static cyxla__proto make_assignment(bool is_donated, uint64_t temp_size) {
  cyxla__proto assignment = {0};
  for (uint64_t i = 0; i < COUNT; ++i) {
    add_buffer(&assignment, i, 20 + (int64_t)i, -1);
    add_buffer(&assignment, COUNT + i, 10 + (int64_t)i, -1);
  }
  add_buffer(&assignment, CONSTANT_PAIR, 29, -1);
  for (uint64_t i = 0; i < COUNT; ++i) {
    const bool donated = is_donated && !i;
    add_allocation(&assignment, (allocation){i, 8, .flags = {LIVE_OUT, donated ? INPUT : 0},
                                             .buffers = {i, COUNT}, .buffer_count = 1 + donated});
  }
  for (uint64_t i = 0; i < COUNT; ++i) {
    if (is_donated && !i)
      add_allocation(&assignment, (allocation){IN, 8, .buffer_count = 0}); /* something else */
    else
      add_allocation(&assignment, (allocation){IN + i, 8, .flags = {INPUT}, .number = i,
                                               .buffers = {COUNT + i}, .buffer_count = 1});
  }
  for (uint64_t i = TEMP; i < CONSTANT_PAIR; ++i)
    add_allocation(&assignment, (allocation){i, temp_size, .buffer_count = 0});
  add_allocation(&assignment, (allocation){CONSTANT_PAIR, 8, .flags = {CONSTANT},
                                           .buffers = {CONSTANT_PAIR}, .buffer_count = 1});
  return assignment;
}

static const char *compiler; /* of the objects: "cc" or "clang" */

static void add_object(cyxla__proto *result, const char *name) {
  char path[4096];
  cyxla__proto object = {0};
  const char *objects = getenv("CYXLA_TEST_OBJECTS");
  CHECK(objects);
  snprintf(path, sizeof path, "%s/%s_%s_large.o", objects, compiler, name);
  FILE *file = fopen(path, "rb");
  if (!file) TEST_FAIL("can't read %s", path);
  static char data[1 << 16];
  const size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  cyxla__proto_bytes(&object, 1, data, size);
  add(result, 8, object);
}

typedef struct recipe {
  cyxla__proto thunks;
  bool is_donated;
  uint64_t temp_size;           /* 0: TEMP_SIZE */
  const char *objects[3];       /* NULL at the end */
  const char *features;         /* NULL: some */
  const cyxla_program *program; /* NULL: without names */
} recipe;

/* NULL: it is for a processor with features that this one does not have. */
static cyxla_executable *load(recipe recipe) {
  cyxla__proto result = {0};
  for (size_t i = 0; recipe.objects[i]; ++i) add_object(&result, recipe.objects[i]);
  cyxla__span bytes = write_executable((parts){
      .module = make_module(),
      .assignment =
          make_assignment(recipe.is_donated, recipe.temp_size ? recipe.temp_size : TEMP_SIZE),
      .thunks = recipe.thunks,
      .result = result,
      .features = recipe.features,
  });
  cyxla_executable *executable = NULL;
  const int32_t status = cyxla_executable_deserialize(NULL, recipe.program, bytes.data, bytes.size,
                                                      CYXLA_ENGINE_DIRECT, &executable, &error);
  free(bytes.data);
  if (status != CYXLA_FAILED_PRECONDITION) CHECK_OK(status, &error);
  return executable;
}

/* ---- thunks ---- */

static void add_kernel(cyxla__proto *thunks, const char *name, const uint64_t groups[3],
                       const cyxla__proto *slices, size_t count) {
  cyxla__proto kernel = {0}, dimensions = {0};
  add_text(&kernel, 1, name);
  for (uint32_t i = 0; i < 3; ++i) cyxla__proto_varint(&dimensions, i + 1, groups[i]);
  add(&kernel, 2, dimensions);
  for (size_t i = 0; i < count; ++i) {
    cyxla__proto array = {0};
    add(&array, 1, slices[i]);
    add(&array, 2, vector(F32, 2));
    add(&kernel, i + 1 < count ? 5 : 6, array);
  }
  add_thunk(thunks, "kernel", 11, kernel);
}

/* Of one work group, from one pair to another. */
static void add_map(cyxla__proto *thunks, const char *name, uint64_t from, uint64_t to) {
  const cyxla__proto slices[] = {slice_of(from, 0, 8), slice_of(to, 0, 8)};
  add_kernel(thunks, name, (const uint64_t[]){1, 1, 1}, slices, 2);
}

static void add_copy(cyxla__proto *thunks, uint64_t from, uint64_t from_offset, uint64_t to,
                     uint64_t to_offset) {
  cyxla__proto copy = {0};
  add(&copy, 1, array_of(vector(F32, 2), slice_of(from, from_offset, 8)));
  add(&copy, 2, array_of(vector(F32, 2), slice_of(to, to_offset, 8)));
  add_thunk(thunks, "copy", 12, copy);
}

/* Copies each input to the output of the same number. */
static void add_copies(cyxla__proto *thunks) {
  for (uint64_t i = 0; i < COUNT; ++i) add_copy(thunks, IN + i, 0, OUT + i, 0);
}

static void add_while(cyxla__proto *thunks, cyxla__proto condition, cyxla__proto body,
                      int64_t rounds, uint64_t predicate) {
  cyxla__proto loop = {0}, trip_count = {0};
  add(&loop, 1, condition);
  add(&loop, 2, body);
  if (rounds >= 0) {
    if (rounds) cyxla__proto_varint(&trip_count, 1, (uint64_t)rounds);
    cyxla__proto_varint(&trip_count, 2, 1);
    add(&loop, 3, trip_count);
  }
  add(&loop, 4, slice_of(predicate, 0, 1));
  add_thunk(thunks, "while", 10, loop);
}

/* Copies input `branch` to output 0, chosen by what lies in an array. */
static void add_conditional(cyxla__proto *thunks, uint64_t index, uint64_t index_size,
                            size_t count) {
  cyxla__proto conditional = {0};
  for (size_t i = 0; i < count; ++i) {
    cyxla__proto branch = {0};
    add_copy(&branch, IN + i, 0, OUT, 0);
    add(&conditional, 1, branch);
  }
  add(&conditional, 2, slice_of(index, 0, index_size));
  add_thunk(thunks, "conditional", 4, conditional);
}

/* ---- exports ---- */

typedef int function(const float *, const float *, const float *, float *, float *, float *);
typedef int function_with_scratch(const float *, const float *, const float *, float *, float *,
                                  float *, void *);

typedef struct library {
  void *handle;
  function *call; /* NULL: it wants scratch */
  function_with_scratch *call_with_scratch;
  size_t (*scratch_size)(void);
  int (*supported)(void);
} library;

static int32_t export_to(const cyxla_executable *executable, const char *directory,
                         const char *name) {
  const cyxla_export_options options = {
      .struct_size = sizeof options, .directory = directory, .name = name, .producer = "a test"};
  return cyxla_export(executable, &options, &error);
}

static void run_command(const char *format, ...) {
  char command[8192];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(command, sizeof command, format, arguments);
  va_end(arguments);
  if (system(command)) TEST_FAIL("failed: %s", command);
}

static const char *cc(void) {
  const char *given = getenv("CYXLA_TEST_CC");
  return given ? given : "cc";
}

static void *find(void *handle, const char *name, const char *ending) {
  char symbol[256];
  snprintf(symbol, sizeof symbol, "%s%s", name, ending);
  return dlsym(handle, symbol);
}

/* Exports an executable, makes a library of it with no warning, and opens that. */
static library open_export(const cyxla_executable *executable, const char *name) {
  char path[4096];
  CHECK_OK(export_to(executable, folder, name), &error);
  snprintf(path, sizeof path, "%s/lib%s.so", folder, name);
  run_command(
      "%s -std=c99 -Wall -Wextra -Wpedantic -Werror -O1 -fPIC -shared -Wl,-z,text "
      "-Wl,-z,defs -o %s %s/%s.c %s/%s_kernels.S -lm",
      cc(), path, folder, name, folder, name);
  library library = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
  if (!library.handle) TEST_FAIL("%s", dlerror());
  void *call = find(library.handle, name, "");
  void *scratch_size = find(library.handle, name, "_scratch_size");
  void *supported = find(library.handle, name, "_supported");
  CHECK(call && supported);
  if (scratch_size)
    memcpy(&library.call_with_scratch, &call, sizeof call);
  else
    memcpy(&library.call, &call, sizeof call);
  memcpy(&library.scratch_size, &scratch_size, sizeof call);
  memcpy(&library.supported, &supported, sizeof call);
  CHECK_INT(library.supported(), 1);
  return library;
}

/* Arrays of a call, at any distance from aligned memory. */
typedef struct call {
  _Alignas(64) uint8_t memory[2 * COUNT][128];
  size_t shift;
} call;

static float *array_of_call(call *call, size_t index) {
  return (float *)(call->memory[index] + call->shift);
}

static void fill(call *call, size_t shift) {
  static const float values[COUNT][2] = {{0.5f, 3}, {-2, 1e-3f}, {5, -7.25f}};
  memset(call, 0xee, sizeof *call);
  call->shift = shift;
  for (size_t i = 0; i < COUNT; ++i) memcpy(array_of_call(call, i), values[i], 8);
}

static int32_t execute(cyxla_executable *executable, call *call) {
  cyxla_input inputs[COUNT];
  void *outputs[COUNT];
  for (size_t i = 0; i < COUNT; ++i) {
    inputs[i] = (cyxla_input){array_of_call(call, i), CYXLA_F32, 2};
    outputs[i] = array_of_call(call, COUNT + i);
  }
  return cyxla_execute(executable, inputs, outputs, 0, &error);
}

static int execute_export(const library *library, call *call, void *scratch) {
  float *arrays[2 * COUNT];
  for (size_t i = 0; i < 2 * COUNT; ++i) arrays[i] = array_of_call(call, i);
  return library->call
             ? library->call(arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], arrays[5])
             : library->call_with_scratch(arrays[0], arrays[1], arrays[2], arrays[3], arrays[4],
                                          arrays[5], scratch);
}

/* The whole memory of both must be equal: nothing else is written. */
static void compare(cyxla_executable *executable, const library *library) {
  static call expected, found;
  uint8_t *scratch = library->scratch_size ? malloc(library->scratch_size() + 1) : NULL;
  for (size_t shift = 0; shift <= 64; shift += 4) {
    fill(&expected, shift);
    fill(&found, shift);
    CHECK_OK(execute(executable, &expected), &error);
    CHECK_INT(execute_export(library, &found, scratch ? scratch + shift % 3 % 2 : NULL), 0);
    CHECK_BYTES(&found, &expected, sizeof found);
  }
  free(scratch);
}

static void check_export(recipe recipe, const char *name) {
  cyxla_executable *executable = load(recipe);
  const library library = open_export(executable, name);
  compare(executable, &library);
  dlclose(library.handle);
  cyxla_executable_destroy(executable);
}

/* ---- control flow and copies ---- */

static void copies(void) {
  recipe recipe = {0};
  add_copies(&recipe.thunks);
  check_export(recipe, "copies");
}

static void copies_constants(void) {
  recipe recipe = {0};
  add_copy(&recipe.thunks, CONSTANT_PAIR, 0, OUT, 0);
  add_copy(&recipe.thunks, IN, 0, TEMP + 1, 8);
  add_copy(&recipe.thunks, TEMP + 1, 8, OUT + 1, 0);
  add_copy(&recipe.thunks, CONSTANT_PAIR, 0, OUT + 2, 0);
  check_export(recipe, "constants");
}

static cyxla__proto matrix(int64_t first, int64_t second, bool is_row_major) {
  cyxla__proto shape = {0}, layout = {0};
  cyxla__proto_varint(&shape, 2, F32);
  add_numbers(&shape, 3, NUMBERS(first, second));
  add_numbers(&layout, 1, (const int64_t[]){is_row_major, !is_row_major}, 2);
  add(&shape, 5, layout);
  return shape;
}

/* To the other layout, by loops. */
static void copies_between_layouts(void) {
  recipe recipe = {0};
  cyxla__proto copy = {0}, nothing = {0};
  for (uint64_t i = 0; i < COUNT; ++i) add_copy(&recipe.thunks, IN + i, 0, TEMP, 8 * i);
  add(&copy, 1, array_of(matrix(2, 3, true), slice_of(TEMP, 0, 24)));
  add(&copy, 2, array_of(matrix(2, 3, false), slice_of(TEMP + 1, 0, 24)));
  add_thunk(&recipe.thunks, "copy", 12, copy);
  add(&nothing, 1, array_of(matrix(0, 3, true), slice_of(TEMP, 0, 0)));
  add(&nothing, 2, array_of(matrix(0, 3, false), slice_of(TEMP + 1, 0, 0)));
  add_thunk(&recipe.thunks, "copy", 12, nothing);
  for (uint64_t i = 0; i < COUNT; ++i) add_copy(&recipe.thunks, TEMP + 1, 8 * i, OUT + i, 0);
  check_export(recipe, "layouts");
}

static void calls_and_device_ids(void) {
  recipe recipe = {0};
  cyxla__proto nested = {0}, call = {0}, partition = {0}, replica = {0};
  add_copies(&nested);
  add(&partition, 1, slice_of(OUT, 0, 4));
  add_thunk(&nested, "partition-id", 19, partition);
  add(&replica, 1, slice_of(OUT + 1, 4, 4));
  add_thunk(&nested, "replica-id", 20, replica);
  add(&call, 1, nested);
  add_thunk(&recipe.thunks, "call", 3, call);
  check_export(recipe, "ids");
}

/* An input that is donated starts as an output, which the program then reads. */
static void donates(void) {
  recipe recipe = {.is_donated = true};
  add_copy(&recipe.thunks, OUT, 0, OUT + 1, 0);
  add_copy(&recipe.thunks, IN + 1, 0, OUT + 2, 0);
  check_export(recipe, "donated");
}

static void loops_a_known_number_of_times(void) {
  for (int64_t rounds = 0; rounds <= 3; rounds += 3) {
    recipe recipe = {.objects = {"kernels", "other_kernels"}};
    cyxla__proto body = {0}, never = {0};
    add_copies(&recipe.thunks);
    add_map(&body, "weigh", OUT, TEMP);
    add_copy(&body, TEMP, 0, OUT, 0);
    add_copy(&never, IN, 0, OUT + 1, 0);
    add_while(&recipe.thunks, never, body, rounds, TEMP + 1);
    check_export(recipe, rounds ? "rounds" : "no_rounds");
  }
}

/* A loop inside of a loop, of unknown lengths: input 2 says how many rounds there are. */
static void loops_while_it_holds(void) {
  recipe recipe = {.objects = {"kernels", "other_kernels"}};
  cyxla__proto condition = {0}, body = {0}, inner_condition = {0}, inner_body = {0};
  const cyxla__proto counted[] = {slice_of(TEMP, 0, 8), slice_of(TEMP + 1, 0, 1)};
  const cyxla__proto inner_counted[] = {slice_of(TEMP + 2, 0, 8), slice_of(TEMP + 3, 0, 1)};
  add_copies(&recipe.thunks);
  add_copy(&recipe.thunks, IN + 2, 0, TEMP, 0);
  add_kernel(&condition, "count", (const uint64_t[]){1, 1, 1}, counted, 2);
  add_kernel(&inner_condition, "count", (const uint64_t[]){1, 1, 1}, inner_counted, 2);
  add_map(&inner_body, "weigh", OUT + 1, OUT);
  add_copy(&inner_body, OUT, 0, OUT + 1, 0);
  add_copy(&body, TEMP, 0, TEMP + 2, 0);
  add_while(&body, inner_condition, inner_body, -1, TEMP + 3);
  add_while(&recipe.thunks, condition, body, -1, TEMP + 1);
  check_export(recipe, "nested_loops");
}

/* The bits of a number as a bool or an index. */
static void branches(void) {
  static const int32_t indices[] = {0, 1, 2, 3, -1, 1000};
  for (size_t i = 0; i < 6; ++i) {
    recipe by_number = {0}, by_bool = {0};
    add_copies(&by_number.thunks);
    add_conditional(&by_number.thunks, IN + 1, 4, 3);
    add_copies(&by_bool.thunks);
    add_conditional(&by_bool.thunks, IN + 1, 1, 2);
    cyxla_executable *executables[] = {load(by_number), load(by_bool)};
    for (size_t k = 0; k < 2; ++k) {
      const library library = open_export(executables[k], k ? "by_bool" : "by_number");
      static call expected, found;
      fill(&expected, 0);
      memcpy(array_of_call(&expected, 1), &indices[i], 4);
      found = expected;
      CHECK_OK(execute(executables[k], &expected), &error);
      CHECK_INT(execute_export(&library, &found, NULL), 0);
      CHECK_BYTES(&found, &expected, sizeof found);
      dlclose(library.handle);
      cyxla_executable_destroy(executables[k]);
    }
  }
}

/* ---- kernels ---- */

static void kernels(void) {
  static const char *const names[] = {"sine",    "weigh",      "halve",     "apply",
                                      "helpers", "logarithms", "remainders"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    recipe recipe = {.objects = {"kernels", "other_kernels"}};
    char name[64];
    for (uint64_t k = 0; k < COUNT; ++k) add_map(&recipe.thunks, names[i], IN + k, OUT + k);
    snprintf(name, sizeof name, "%s_%s", compiler, names[i]);
    check_export(recipe, name);
  }
}

static void runs_all_work_groups(void) {
  recipe recipe = {.objects = {"other_kernels", "kernels"}};
  const cyxla__proto slices[] = {slice_of(IN, 0, 8), slice_of(OUT, 0, 8)};
  add_copies(&recipe.thunks);
  add_kernel(&recipe.thunks, "groups", (const uint64_t[]){2, 3, 5}, slices, 2);
  check_export(recipe, "groups");
}

static void reports_a_kernel_that_fails(void) {
  recipe recipe = {.objects = {"kernels", "other_kernels"}};
  static call arrays;
  add_copies(&recipe.thunks);
  add_map(&recipe.thunks, "fail", IN, OUT);
  cyxla_executable *executable = load(recipe);
  const library library = open_export(executable, "failing");
  fill(&arrays, 0);
  CHECK_INT(execute_export(&library, &arrays, NULL), 1);
  CHECK_STATUS(execute(executable, &arrays), CYXLA_INTERNAL, &error);
  CHECK_CONTAINS(error.message, "its kernel fail failed");
  array_of_call(&arrays, 0)[0] = -1;
  CHECK_INT(execute_export(&library, &arrays, NULL), 0);
  CHECK_OK(execute(executable, &arrays), &error);
  dlclose(library.handle);
  cyxla_executable_destroy(executable);
}

/* Subnormal numbers are zero and rounding is to nearest, and the caller's settings stay. */
static void keeps_the_environment(void) {
  static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  recipe recipe = {.objects = {"kernels", "other_kernels"}};
  static call arrays;
  for (uint64_t k = 0; k < COUNT; ++k) add_map(&recipe.thunks, "environment", IN + k, OUT + k);
  cyxla_executable *executable = load(recipe);
  const library library = open_export(executable, "environment");
  for (size_t i = 0; i < 4; ++i) {
    fill(&arrays, 0);
    array_of_call(&arrays, 0)[0] = 3;
    array_of_call(&arrays, 0)[1] = 1e-40f;
    fesetround(roundings[i]);
    feclearexcept(FE_ALL_EXCEPT);
    const int status = execute_export(&library, &arrays, NULL);
    const int rounding = fegetround(), flags = fetestexcept(FE_ALL_EXCEPT);
    volatile float subnormal = 1e-40f;
    const int is_kept = subnormal * 0.5f > 0;
    fesetround(FE_TONEAREST);
    CHECK_INT(status, 0);
    CHECK_INT(rounding, roundings[i]);
    CHECK_INT(flags, 0);
    CHECK(is_kept);
    CHECK_REAL(array_of_call(&arrays, COUNT)[0], 1 / 3.f);
    CHECK_REAL(array_of_call(&arrays, COUNT)[1], 0);
  }
  dlclose(library.handle);
  cyxla_executable_destroy(executable);
}

/* ---- memory ---- */

/* Outputs that lie where inputs do, wholly and in part, and outputs that nobody wants. */
static void inputs_may_overlap_outputs(void) {
  recipe recipe = {.objects = {"kernels", "other_kernels"}};
  _Alignas(64) float memory[64];
  /* The last output is written first: what overlaps it must have been read. */
  for (uint64_t i = COUNT; i-- > 0;) add_map(&recipe.thunks, "weigh", IN + i, OUT + i);
  cyxla_executable *executable = load(recipe);
  const library library = open_export(executable, "overlapping");
  for (size_t distance = 0; distance <= 18; ++distance) {
    for (int i = 0; i < 64; ++i) memory[i] = (float)i;
    float *in = memory + 16, *out = memory + 16 + distance;
    CHECK_INT(library.call(in, in + 2, in + 1, out, out + 16, out + 2), 0);
    static const float weights[] = {0.25f, -3.5f};
    for (int i = 0; i < 2; ++i) {
      CHECK_REAL(out[i], (float)(16 + i) * weights[i]);
      CHECK_REAL(out[16 + i], (float)(18 + i) * weights[i]);
      CHECK_REAL(out[2 + i], (float)(17 + i) * weights[i]);
    }
  }
  memory[0] = memory[1] = 4;
  CHECK_INT(library.call(memory, memory, memory, NULL, memory + 16, NULL), 0);
  CHECK_REAL(memory[16], 1);
  dlclose(library.handle);
  cyxla_executable_destroy(executable);
}

/* Input 0 becomes output 0 and its memory is that of output 1. */
static void donated_inputs_may_overlap_outputs(void) {
  recipe recipe = {.is_donated = true};
  _Alignas(64) float memory[64] = {1, 2};
  add_copy(&recipe.thunks, IN + 1, 0, OUT + 1, 0);
  add_copy(&recipe.thunks, OUT, 0, OUT + 2, 0);
  cyxla_executable *executable = load(recipe);
  const library library = open_export(executable, "donated_overlapping");
  memory[48] = 9;
  CHECK_INT(library.call(memory, memory + 48, NULL, memory + 16, memory, memory + 32), 0);
  CHECK_REAL(memory[0], 9);
  CHECK_REAL(memory[16], 1);
  CHECK_REAL(memory[33], 2);
  CHECK_INT(library.call(memory, memory + 48, NULL, memory, memory + 16, memory + 32), 0);
  CHECK_REAL(memory[0], 9);
  CHECK_REAL(memory[32], 9);
  dlclose(library.handle);
  cyxla_executable_destroy(executable);
}

static void much_memory_is_the_callers(void) {
  recipe recipe = {.temp_size = 100000};
  static call arrays;
  for (uint64_t i = 0; i < COUNT; ++i) {
    add_copy(&recipe.thunks, IN + i, 0, TEMP + i, 99992);
    add_copy(&recipe.thunks, TEMP + i, 99992, OUT + i, 0);
  }
  cyxla_executable *executable = load(recipe);
  const library library = open_export(executable, "large");
  CHECK(library.scratch_size);
  const size_t size = library.scratch_size();
  CHECK(size > 300000 && size < 310000); /* three temporaries of four are used */
  compare(executable, &library);
  fill(&arrays, 0);
  CHECK_INT(execute_export(&library, &arrays, NULL), 2);
  dlclose(library.handle);
  cyxla_executable_destroy(executable);
}

/* ---- names ---- */

/* Exports with these paths for the inputs and outputs. */
static cyxla_executable *load_named(const char *const paths[2 * COUNT]) {
  static const int64_t dimensions[] = {2};
  cyxla_array_type types[2 * COUNT];
  for (size_t i = 0; i < 2 * COUNT; ++i)
    types[i] = (cyxla_array_type){
        .name = paths[i], .element_type = CYXLA_F32, .rank = 1, .dimensions = dimensions};
  const cyxla_program program = {.struct_size = sizeof program,
                                 .name = "a */ name \\ \x01 ?\?/",
                                 .inputs = types,
                                 .input_count = COUNT,
                                 .outputs = types + COUNT,
                                 .output_count = COUNT};
  recipe recipe = {.program = &program};
  add_copies(&recipe.thunks);
  return load(recipe);
}

/* Reads a text that an export has written. */
static const char *read_text(const char *name, const char *ending) {
  static char text[1 << 16];
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
  FILE *file = fopen(path, "rb");
  if (!file) TEST_FAIL("can't read %s", path);
  const size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = 0;
  return text;
}

static void names_parameters_after_their_paths(void) {
  char long_path[100];
  memset(long_path, 'w', sizeof long_path);
  long_path[sizeof long_path - 1] = 0;
  const char *const paths[][2 * COUNT] = {
      {"params['w'][0]", "x", NULL, "result", "result['x']", "x"},
      {"int", "_x", "x_", "x", "2x", "scratch"},
      {"\xc3\xbc", "I", "size_t", "", "a b", "a_b"},
      {long_path, long_path, "input_0", "input_1", "output[0]", "[0]"},
  };
  static const char *const expected[] = {
      "(const float *params_w_0, const float *x, const float *input_2, float *result,\n"
      "    float *result_x, float *x_2);",
      "(const float *int_2, const float *x, const float *x_2, float *x_3, float *output_2x,\n"
      "    float *scratch_2);",
      "(const float *input_0, const float *I_2, const float *size_t_2, float *output_0,\n"
      "    float *a_b, float *a_b_2);",
      "    float *input_1, float *output_0, float *output_0_2);",
  };
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; ++i) {
    cyxla_executable *executable = load_named(paths[i]);
    dlclose(open_export(executable, "named").handle);
    CHECK_CONTAINS(read_text("named", ".h"), expected[i]);
    CHECK_CONTAINS(read_text("named", ".h"), "named: a _/ name _ _ __/, a function");
    cyxla_executable_destroy(executable);
  }
}

/* Finds the next identifier from `*text` on; false where there is none. */
static bool next_identifier(const char **text, char *identifier, size_t capacity) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  const size_t start = strcspn(*text, letters), size = strspn(*text + start, letters);
  snprintf(identifier, capacity, "%.*s", (int)size, *text + start);
  *text += start + size;
  return size > 0;
}

/* Whatever word the driver uses, functions and parameters may be called by it, or it is refused. */
static void names_are_never_those_of_the_driver(void) {
  enum { MAX = 400, CAPACITY = 64 };
  static char words[MAX][CAPACITY];
  static const char *const paths[2 * COUNT] = {"a", "b", "c", "d", "e", "f"};
  size_t count = 0;
  cyxla_executable *executable = load_named(paths);
  CHECK_OK(export_to(executable, folder, "function"), &error);
  cyxla_executable_destroy(executable);
  const char *text = read_text("function", ".c");
  while (count < MAX && next_identifier(&text, words[count], CAPACITY)) {
    size_t i = 0;
    while (strcmp(words[i], words[count])) ++i;
    if (i == count) ++count;
  }
  CHECK(count > 80 && count < MAX);
  for (size_t i = 0; i < count; ++i) {
    const char *names[2 * COUNT];
    for (size_t k = 0; k < 2 * COUNT; ++k) names[k] = words[(i + k) % count];
    executable = load_named(names);
    const int32_t status = export_to(executable, folder, words[i]);
    if (status)
      CHECK_INT(status, CYXLA_INVALID_ARGUMENT);
    else
      run_command("%s -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only %s/%s.c", cc(),
                  folder, words[i]);
    cyxla_executable_destroy(executable);
  }
}

/* ---- processors ---- */

/* A feature that the compiler may have used is named where the code has an instruction of it. */
static void names_the_features_that_are_used(void) {
  static const char *const features[][2] = {
      {"movbe", "movbe"}, {"popcnt", "popcnt"}, {"bmi", "bmi"},
      {"bmi2", "bmi2"},   {"gfni", "gfni"},     {"gfni", "gfni_avx"},
      {"lzcnt", "lzcnt"}, {"sse4a", "sse4a"},   {"gfni", "gfni_avx512"},
  };
  static const char all[] = "+movbe,+popcnt,-avx2,+bmi,+bmi2,+gfni,+lzcnt,+aes,+sse4a";
  for (size_t i = 0; i < sizeof features / sizeof features[0]; ++i) {
    char expected[64], name[64];
    recipe recipe = {.objects = {features[i][1]}, .features = all};
    add_map(&recipe.thunks, "instructions", IN, OUT);
    cyxla_executable *executable = load(recipe);
    if (!executable) return;
    snprintf(name, sizeof name, "has_%s", features[i][1]);
    snprintf(expected, sizeof expected, "Processor: x86-64 with %s. */", features[i][0]);
    dlclose(open_export(executable, name).handle);
    CHECK_CONTAINS(read_text(name, ".h"), expected);
    cyxla_executable_destroy(executable);
  }
}

static void names_no_features_that_are_not_used(void) {
  recipe recipe = {.objects = {"other_kernels"}, .features = "+lzcnt,+sse2,+popcnt"};
  add_map(&recipe.thunks, "other_half", IN, OUT);
  cyxla_executable *executable = load(recipe);
  dlclose(open_export(executable, "without").handle);
  CHECK_CONTAINS(read_text("without", ".h"), "Processor: x86-64. */");
  cyxla_executable_destroy(executable);
}

static void names_all_vectors(void) {
  recipe recipe = {.features =
                       "+avx512f,+avx512bf16,+avx2,+sse4.1,+avx512vpopcntdq,+avx512vbmi2,"
                       "+avx512bitalg,+avx512ifma,+avx512vnni"};
  add_copies(&recipe.thunks);
  cyxla_executable *executable = load(recipe);
  if (!executable) return;
  dlclose(open_export(executable, "vectors").handle);
  CHECK_CONTAINS(
      read_text("vectors", ".h"),
      "Processor: x86-64 with sse4.1, avx2, avx512f, avx512ifma, avx512vbmi2, avx512vnni, "
      "avx512bitalg,\n * avx512vpopcntdq, avx512bf16. */");
  CHECK_CONTAINS(read_text("vectors", ".c"), "(a & 0xe6u) != 0xe6u");
  cyxla_executable_destroy(executable);
}

/* ---- threads ---- */

static library shared_library;

static void *call_often(void *argument) {
  (void)argument;
  for (int i = 0; i < 10000; ++i) {
    call own;
    fill(&own, 4 * (size_t)(i % 3));
    array_of_call(&own, 0)[0] = (float)i;
    CHECK_INT(execute_export(&shared_library, &own, NULL), 0);
    CHECK_REAL(array_of_call(&own, COUNT)[0], (float)i * 0.25f);
  }
  return NULL;
}

static void threads(void) {
  recipe recipe = {.objects = {"kernels", "other_kernels"}};
  pthread_t workers[8];
  add_map(&recipe.thunks, "weigh", IN, TEMP);
  add_copy(&recipe.thunks, TEMP, 0, OUT, 0);
  cyxla_executable *executable = load(recipe);
  shared_library = open_export(executable, "threaded");
  for (int i = 0; i < 8; ++i) CHECK_INT(pthread_create(&workers[i], NULL, call_often, NULL), 0);
  for (int i = 0; i < 8; ++i) pthread_join(workers[i], NULL);
  dlclose(shared_library.handle);
  cyxla_executable_destroy(executable);
}

/* ---- refusals ---- */

static void check_nothing_written(const char *directory) {
  DIR *listing = opendir(directory);
  CHECK(listing);
  for (struct dirent *entry; (entry = readdir(listing));) CHECK(entry->d_name[0] == '.');
  closedir(listing);
}

static void refuse(const cyxla_executable *executable, int32_t status, const char *message) {
  char empty[] = "/tmp/cyxla-export-XXXXXX";
  CHECK(mkdtemp(empty));
  CHECK_STATUS(export_to(executable, empty, "refused"), status, &error);
  CHECK_CONTAINS(error.message, message);
  check_nothing_written(empty);
  rmdir(empty);
}

static void refuses_other_thunks(void) {
  recipe recipe = {0};
  cyxla__proto states[2] = {{0}, {0}};
  for (uint64_t i = 0; i < 2; ++i) {
    cyxla__proto_varint(&states[i], 1, 1);
    add(&states[i], 2, slice_of(TEMP + i, 0, 16));
    add_thunk(&recipe.thunks, "rng-get-and-update-state", 8, states[i]);
  }
  add_copies(&recipe.thunks);
  cyxla_executable *executable = load(recipe);
  refuse(executable, CYXLA_UNIMPLEMENTED, "it has 2 x rng-get-and-update-state");
  CHECK_CONTAINS(error.message, "jit_f: it can't be exported");
  cyxla_executable_destroy(executable);
}

static void refuses_code_of_fixed_addresses(void) {
  static const char *const kernels[][2] = {
      {"fixed", "is of no instruction that loads an address"},
      {"relative", "is not of the large code model"},
      {"distances", "is not of the large code model"},
      {"tables", "is of a function, in a table of addresses"},
      {"inside", "leads into a function"},
  };
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; ++i) {
    recipe recipe = {.objects = {kernels[i][0]}};
    add_map(&recipe.thunks, kernels[i][0], IN, OUT);
    cyxla_executable *executable = load(recipe);
    refuse(executable, CYXLA_UNIMPLEMENTED, kernels[i][1]);
    cyxla_executable_destroy(executable);
  }
}

static void refuses_bad_options(void) {
  static const char *const names[] = {"",      "1st",  "with space", "_x",     "x_",     "int",
                                      "class", "main", "sin",        "memcpy", "ünlaut", "size_t"};
  recipe recipe = {0};
  add_copies(&recipe.thunks);
  cyxla_executable *executable = load(recipe);
  char long_name[80];
  memset(long_name, 'a', sizeof long_name);
  long_name[64] = 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    CHECK_STATUS(export_to(executable, folder, names[i]), CYXLA_INVALID_ARGUMENT, &error);
    CHECK_CONTAINS(error.message, "can't be the name of a C function");
  }
  CHECK_STATUS(export_to(executable, folder, long_name), CYXLA_INVALID_ARGUMENT, &error);
  long_name[63] = 0;
  dlclose(open_export(executable, long_name).handle);
  CHECK_STATUS(export_to(executable, folder, NULL), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_STATUS(export_to(executable, NULL, "x"), CYXLA_INVALID_ARGUMENT, &error);
  const cyxla_export_options options = {.struct_size = 8};
  CHECK_STATUS(cyxla_export(executable, &options, &error), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "struct_size is 8");
  CHECK_STATUS(export_to(executable, "/no/such/directory", "x"), CYXLA_NOT_FOUND, &error);
  CHECK_CONTAINS(error.message, "/no/such/directory/x.h");
  static char directory[10000];
  memset(directory, 'a', sizeof directory - 1);
  CHECK_STATUS(export_to(executable, directory, "x"), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "too long");
  cyxla_executable_destroy(executable);
}

/* ---- lack of memory ---- */

/* The allocations from number `failing` on fail; 0: none does. */
static size_t allocations, failing;

static bool fails(void) {
  return failing && ++allocations >= failing;
}

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size) {
  return fails() ? NULL : __real_realloc(memory, size);
}

void *__real_cyxla_aligned_alloc(size_t size);
void *__wrap_cyxla_aligned_alloc(size_t size);
void *__wrap_cyxla_aligned_alloc(size_t size) {
  return fails() ? NULL : __real_cyxla_aligned_alloc(size);
}

static void reports_lack_of_memory(void) {
  recipe recipe = {.objects = {"kernels", "other_kernels"}, .temp_size = 30000};
  const cyxla__proto slices[] = {slice_of(IN, 0, 8), slice_of(OUT, 0, 8)};
  cyxla__proto body = {0};
  for (int i = 0; i < 200; ++i) add_map(&body, "helpers", IN, OUT);
  add_copies(&recipe.thunks);
  add_kernel(&recipe.thunks, "groups", (const uint64_t[]){2, 1, 1}, slices, 2);
  add_while(&recipe.thunks, (cyxla__proto){0}, body, 2, TEMP);
  cyxla_executable *executable = load(recipe);
  char empty[] = "/tmp/cyxla-export-XXXXXX";
  CHECK(mkdtemp(empty));
  int32_t status = CYXLA_RESOURCE_EXHAUSTED;
  for (size_t number = 1; status; ++number) {
    CHECK(number < 100);
    check_nothing_written(empty);
    allocations = 0;
    failing = number;
    status = export_to(executable, empty, "refused");
    failing = 0;
    if (status) CHECK_STATUS(status, CYXLA_RESOURCE_EXHAUSTED, &error);
  }
  run_command("rm -r %s", empty);
  cyxla_executable_destroy(executable);
}

/* ---- */

static void run_with(const char *objects_compiler) {
  compiler = objects_compiler;
  RUN(kernels);
}

int main(void) {
  CHECK(mkdtemp(folder));
  compiler = "cc";
  RUN(copies);
  RUN(copies_constants);
  RUN(copies_between_layouts);
  RUN(calls_and_device_ids);
  RUN(donates);
  RUN(loops_a_known_number_of_times);
  RUN(loops_while_it_holds);
  RUN(branches);
  RUN(runs_all_work_groups);
  RUN(reports_a_kernel_that_fails);
  RUN(keeps_the_environment);
  RUN(inputs_may_overlap_outputs);
  RUN(donated_inputs_may_overlap_outputs);
  RUN(much_memory_is_the_callers);
  RUN(names_parameters_after_their_paths);
  RUN(names_are_never_those_of_the_driver);
  RUN(names_the_features_that_are_used);
  RUN(names_no_features_that_are_not_used);
  RUN(names_all_vectors);
  RUN(threads);
  RUN(refuses_other_thunks);
  RUN(refuses_code_of_fixed_addresses);
  RUN(refuses_bad_options);
  RUN(reports_lack_of_memory);
  run_with("cc");
  if (strcmp(getenv("CYXLA_TEST_CLANG"), "")) run_with("clang");
  run_command("rm -r %s", folder);
  return 0;
}
