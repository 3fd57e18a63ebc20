#define _GNU_SOURCE /* setresuid, setfsuid */
#include "support.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

bool using_fake;
int32_t engine = CYXLA_ENGINE_PJRT;
cyxla_plugin *plugin;

/* ---- plugins ---- */

static const char *path_from(const char *variable) {
  const char *path = getenv(variable);
  if (!path || !*path) {
    fprintf(stderr, "skipped: %s is not set\n", variable);
    exit(TEST_SKIPPED);
  }
  return path;
}

const char *fake_path(void) {
  return path_from("CYXLA_TEST_FAKE_PLUGIN");
}

const char *real_path(void) {
  return path_from("CYXLA_TEST_PLUGIN");
}

void use_plugin(int argument_count, char **arguments) {
  const char *what = argument_count < 2 ? "fake" : arguments[1];
  using_fake = !strcmp(what, "fake");
  engine = strcmp(what, "direct") ? CYXLA_ENGINE_PJRT : CYXLA_ENGINE_DIRECT;
  cyxla_error error = CYXLA_ERROR_INIT;
  CHECK_OK(cyxla_plugin_load(using_fake ? fake_path() : real_path(),
                             getenv("FAKE_PJRT_PLATFORM") ? NULL : "cpu", NULL, 0, &plugin, &error),
           &error);
}

/* ---- programs ---- */

cyxla_array_type typed(int32_t type, const int64_t *dimensions_after_first, size_t rank) {
  static int64_t kept[4096];
  static size_t used;
  CHECK(used + rank <= sizeof kept / sizeof kept[0]);
  int64_t *dimensions = kept + used;
  for (size_t i = 0; i < rank; ++i) dimensions[i] = dimensions_after_first[i + 1];
  used += rank;
  return (cyxla_array_type){
      .element_type = type, .rank = (int32_t)rank, .dimensions = rank ? dimensions : NULL};
}

size_t length_of(const cyxla_array_type *type) {
  size_t length = 1;
  for (int32_t i = 0; i < type->rank; ++i) length *= (size_t)type->dimensions[i];
  return length;
}

static void write_code(test_program *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void write_code(test_program *program, const char *format, ...) {
  const size_t used = program->program.code_size;
  va_list arguments;
  va_start(arguments, format);
  const int size = vsnprintf(program->code + used, MAX_CODE - used, format, arguments);
  va_end(arguments);
  CHECK(size >= 0 && used + (size_t)size < MAX_CODE);
  program->program.code_size += (size_t)size;
}

/* Names of element types: in a program of the fake plugin, and in MLIR. */
static const char *type_name(int32_t type) {
  static const char *const fake[] = {"",    "pred", "s8",  "s16", "s32", "s64",  "u8",  "u16",
                                     "u32", "u64",  "f16", "f32", "f64", "bf16", "c64", "c128"};
  static const char *const mlir[] = {"",    "i1",   "i8",           "i16",         "i32", "i64",
                                     "ui8", "ui16", "ui32",         "ui64",        "f16", "f32",
                                     "f64", "bf16", "complex<f32>", "complex<f64>"};
  return using_fake ? fake[type] : mlir[type];
}

static void write_type(test_program *program, const cyxla_array_type *type) {
  if (using_fake) {
    write_code(program, "%s[", type_name(type->element_type));
    for (int32_t i = 0; i < type->rank; ++i)
      write_code(program, "%s%" PRId64, i ? "," : "", type->dimensions[i]);
    write_code(program, "]");
  } else {
    write_code(program, "tensor<");
    for (int32_t i = 0; i < type->rank; ++i)
      write_code(program, "%" PRId64 "x", type->dimensions[i]);
    write_code(program, "%s>", type_name(type->element_type));
  }
}

void make_text_program(test_program *program, const char *code) {
  program->program = (cyxla_program){.struct_size = sizeof program->program,
                                     .name = "test",
                                     .code = program->code,
                                     .inputs = program->inputs,
                                     .outputs = program->outputs};
  write_code(program, "%s", code);
}

void add_input(test_program *program, cyxla_array_type type) {
  CHECK(program->program.input_count < MAX_ARRAYS);
  program->inputs[program->program.input_count++] = type;
}

void add_output(test_program *program, cyxla_array_type type) {
  CHECK(program->program.output_count < MAX_ARRAYS);
  program->outputs[program->program.output_count++] = type;
}

void make_unary_program(test_program *program, const char *code, cyxla_array_type type) {
  make_text_program(program, code);
  add_input(program, type);
  add_output(program, type);
}

static void write_fake(test_program *program, double factor) {
  const cyxla_program *made = &program->program;
  for (size_t i = 0; i < made->input_count; ++i) {
    write_code(program, "in ");
    write_type(program, &program->inputs[i]);
    write_code(program, "\n");
  }
  for (size_t k = 0; k < made->output_count; ++k) {
    write_code(program, "out ");
    write_type(program, &program->outputs[k]);
    if (made->input_count)
      write_code(program, " = in %zu * %.17g\n", k % made->input_count,
                 factor ? factor + (double)k : 1);
    else
      write_code(program, " = fill %.17g\n", factor + (double)k);
  }
  if (!made->code_size) write_code(program, "\n"); /* a program without arrays */
}

static void write_types(test_program *program, const cyxla_array_type *types, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (i) write_code(program, ", ");
    write_type(program, &types[i]);
  }
}

/* One output value: %rK. */
static void write_operation(test_program *program, size_t k, double factor) {
  const cyxla_array_type *type = &program->outputs[k];
  write_code(program, "    %%%s%zu = stablehlo.constant dense<%.17e> : ",
             program->program.input_count ? "c" : "r", k, factor + (double)k);
  write_type(program, type);
  write_code(program, "\n");
  if (!program->program.input_count) return;
  write_code(program, "    %%r%zu = stablehlo.multiply %%a%zu, %%c%zu : ", k,
             k % program->program.input_count, k);
  write_type(program, type);
  write_code(program, "\n");
}

static void write_mlir(test_program *program, double factor) {
  const cyxla_program *made = &program->program;
  write_code(program, "module @test {\n  func.func public @main(");
  for (size_t i = 0; i < made->input_count; ++i) {
    write_code(program, "%s%%a%zu: ", i ? ", " : "", i);
    write_type(program, &program->inputs[i]);
  }
  write_code(program, ") -> (");
  write_types(program, program->outputs, made->output_count);
  write_code(program, ") {\n");
  const bool computes = factor != 0 || !made->input_count;
  for (size_t k = 0; computes && k < made->output_count; ++k) write_operation(program, k, factor);
  write_code(program, "    return ");
  for (size_t k = 0; k < made->output_count; ++k)
    write_code(program, "%s%%%s%zu", k ? ", " : "", computes ? "r" : "a",
               computes ? k : k % made->input_count);
  if (made->output_count) write_code(program, " : ");
  write_types(program, program->outputs, made->output_count);
  write_code(program, "\n  }\n}\n");
}

void make_program(test_program *program, cyxla_array_type type, size_t input_count,
                  size_t output_count, double factor) {
  make_text_program(program, "");
  for (size_t i = 0; i < input_count; ++i) add_input(program, type);
  for (size_t i = 0; i < output_count; ++i) add_output(program, type);
  (using_fake ? write_fake : write_mlir)(program, factor);
}

cyxla_executable *compile(const test_program *program) {
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla_executable *executable;
  CHECK_OK(cyxla_compile(plugin, &program->program, NULL, 0, engine, &executable, &error), &error);
  return executable;
}

/* ---- the fake plugin ---- */

bool fake_is_loaded(void) {
  void *library = dlopen(fake_path(), RTLD_LAZY | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != NULL;
}

/* A function of the fake plugin, which is loaded already. */
static void *fake_symbol(const char *name) {
  void *library = dlopen(fake_path(), RTLD_LAZY | RTLD_NOLOAD);
  if (!library) TEST_FAIL("the fake plugin is not loaded");
  void *symbol = dlsym(library, name);
  CHECK(symbol);
  dlclose(library);
  return symbol;
}

/* Declares `function` as the fake plugin's function of the given name. */
#define FAKE_FUNCTION(type, function, parameters, name) \
  type(*function) parameters;                           \
  do {                                                  \
    void *symbol_ = fake_symbol(name);                  \
    memcpy(&function, &symbol_, sizeof symbol_);        \
  } while (0)

void fake_set(const char *name, const char *value) {
  char variable[64];
  snprintf(variable, sizeof variable, "FAKE_PJRT_%s", name);
  if (value)
    setenv(variable, value, 1);
  else
    unsetenv(variable);
  if (!fake_is_loaded()) return; /* it reads the environment when it is loaded */
  FAKE_FUNCTION(void, configure, (void), "fake_pjrt_configure");
  configure();
}

long fake_calls(const char *function) {
  FAKE_FUNCTION(long, calls, (const char *), "fake_pjrt_calls");
  return calls(function);
}

const char *fake_point_name(int index) {
  FAKE_FUNCTION(const char *, name, (int), "fake_pjrt_point_name");
  return name(index);
}

const char *fake_create_options(void) {
  FAKE_FUNCTION(const char *, options, (void), "fake_pjrt_create_options");
  return options();
}

long fake_live_objects(int kind) {
  FAKE_FUNCTION(long, live, (int), "fake_pjrt_live_objects");
  return live(kind);
}

void check_nothing_alive(int clients) {
  static const char *const kinds[] = {"errors",   "events",      "clients",     "buffers",
                                      "memories", "executables", "executables", "serialized"};
  static const size_t kind_count = sizeof kinds / sizeof kinds[0];
  for (size_t kind = 0; kind < kind_count; ++kind) {
    const long expected = strcmp(kinds[kind], "clients") ? 0 : clients;
    const long found = fake_live_objects((int)kind);
    if (found != expected) TEST_FAIL("%ld %s are alive, not %ld", found, kinds[kind], expected);
  }
  CHECK_INT(fake_live_objects((int)kind_count), -1);
}

/* ---- processes ---- */

void in_child(void (*test)(const void *), const void *argument) {
  fflush(NULL);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (!child) {
    test(argument);
    exit(0);
  }
  int status;
  CHECK_INT(waitpid(child, &status, 0), child);
  if (!WIFEXITED(status) || WEXITSTATUS(status))
    TEST_FAIL("a child ended with %s %d", WIFEXITED(status) ? "exit code" : "signal",
              WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

void forbid_threads(void) {
  if (!geteuid()) {
    CHECK_INT(setresuid(54321, 54321, 0), 0);
    setfsuid(0);
  }
  CHECK_INT(setrlimit(RLIMIT_NPROC, &(struct rlimit){1, 1}), 0);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KEEPS_FREED_MEMORY 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEPS_FREED_MEMORY 1
#endif

long resident_bytes(void) {
#ifdef KEEPS_FREED_MEMORY
  return 0;
#endif
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  long total = 0, resident = 0;
  if (fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
  fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}
