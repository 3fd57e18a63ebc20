/* FFI targets: the registry and its limits, handlers that don't behave, and, with a real plugin,
 * bridged handlers, states and errors.  Its first argument: unit, fake or real. */
#include <pthread.h>
#include <stdatomic.h>

#include "ffi/xla_ffi_abi.h"
#include "pjrt/plugin.h"
#include "support.h"

static cyxla_error error = CYXLA_ERROR_INIT;
static test_program program;

/* ---- lack of memory: the linker sends the library's calls here ---- */

void *__real_malloc(size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
char *__wrap_strdup(const char *text);

/* Number of allocations of this thread until one fails; 0: none does. */
static _Thread_local int failing_allocation;

static bool fails(void) {
  return failing_allocation && --failing_allocation == 0;
}

void *__wrap_malloc(size_t size) {
  return fails() ? NULL : __real_malloc(size);
}

char *__wrap_strdup(const char *text) {
  return fails() ? NULL : __real_strdup(text);
}

/* ---- handlers ---- */

/* XLA_FFI_Buffer, which the library has no need of. */
typedef struct buffer {
  size_t struct_size;
  void *extension_start;
  int type;
  void *data;
  int64_t rank;
  int64_t *dimensions;
} buffer;

/* True: the frame was a question for metadata. */
static bool answer(XLA_FFI_CallFrame *frame, int major, int minor, uint32_t traits) {
  if (!frame->extension_start) return false;
  CHECK_INT(frame->extension_start->type, XLA_FFI_Extension_Metadata);
  XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
  metadata->api_version.major_version = major;
  metadata->api_version.minor_version = minor;
  metadata->traits = traits;
  return true;
}

static XLA_FFI_Error *make_error(const XLA_FFI_Api *api, int code, const char *message) {
  XLA_FFI_Error_Create_Args args = {
      .struct_size = sizeof args, .message = message, .errc = (XLA_FFI_Error_Code)code};
  return api->XLA_FFI_Error_Create(&args);
}

static double *data_of(void *argument) {
  return ((buffer *)argument)->data;
}

/* y = factor * x, or an error where x[0] is negative. */
static XLA_FFI_Error *multiply(XLA_FFI_CallFrame *frame, double factor) {
  CHECK_INT(frame->stage, XLA_FFI_ExecutionStage_EXECUTE);
  const double *x = data_of(frame->args.args[0]);
  double *y = data_of(frame->rets.rets[0]);
  if (x[0] < 0) return make_error(frame->api, CYXLA_OUT_OF_RANGE, "x is negative");
  for (int i = 0; i < 3; ++i) y[i] = factor * x[i];
  return NULL;
}

static XLA_FFI_Error *old_twice(XLA_FFI_CallFrame *frame) {
  return answer(frame, 0, 1, 0) ? NULL : multiply(frame, 2);
}

static XLA_FFI_Error *new_thrice(XLA_FFI_CallFrame *frame) {
  return answer(frame, 0, 9, 0) ? NULL : multiply(frame, 3);
}

/* Calls slots that no table has yet. */
static XLA_FFI_Error *from_the_future(XLA_FFI_CallFrame *frame) {
  if (answer(frame, 0, 9, 0)) return NULL;
  XLA_FFI_Error *(*const *after)(void *) = (XLA_FFI_Error * (*const *)(void *))(frame->api + 1);
  CHECK(frame->api->struct_size >= sizeof *frame->api + 8 * sizeof *after);
  CHECK(after[0] && after[7]);
  XLA_FFI_Error *first = after[0](NULL);
  CHECK(first);
  XLA_FFI_Error_Destroy_Args destroy = {.struct_size = sizeof destroy, .error = first};
  frame->api->XLA_FFI_Error_Destroy(&destroy);
  return after[7](NULL);
}

static XLA_FFI_Error *other_major(XLA_FFI_CallFrame *frame) {
  CHECK(answer(frame, 1, 2, 0));
  return NULL;
}

static XLA_FFI_Error *silent(XLA_FFI_CallFrame *frame) {
  (void)frame;
  return NULL;
}

/* Fails when it is asked, after it has made, read and destroyed another error. */
static XLA_FFI_Error *failing(XLA_FFI_CallFrame *frame) {
  const XLA_FFI_Api *api = frame->api;
  XLA_FFI_Error *made = make_error(api, CYXLA_ABORTED, "first");
  XLA_FFI_Error_GetDetails_Args details = {.struct_size = sizeof details, .error = made};
  api->XLA_FFI_Error_GetDetails(&details);
  CHECK_TEXT(details.message, "first");
  CHECK_INT(details.errc, CYXLA_ABORTED);
  /* As a handler of before minor 4 asks. */
  details = (XLA_FFI_Error_GetDetails_Args){
      .struct_size = offsetof(XLA_FFI_Error_GetDetails_Args, errc), .error = made, .errc = 0};
  api->XLA_FFI_Error_GetDetails(&details);
  CHECK_TEXT(details.message, "first");
  CHECK_INT(details.errc, 0);
  XLA_FFI_Error_Destroy_Args destroy = {.struct_size = sizeof destroy, .error = made};
  api->XLA_FFI_Error_Destroy(&destroy);
  return make_error(api, CYXLA_DATA_LOSS, "no version today");
}

static int32_t register_stages(const char *name, cyxla_ffi_handler instantiate,
                               cyxla_ffi_handler execute) {
  const cyxla_ffi_target target = {.struct_size = sizeof target,
                                   .name = name,
                                   .platform = "cpu",
                                   .instantiate = instantiate,
                                   .execute = execute};
  return cyxla_register_ffi_target(&target, &error);
}

static int32_t register_one(const char *name, cyxla_ffi_handler execute) {
  return register_stages(name, NULL, execute);
}

static cyxla_ffi_target_info info_of(const char *name, cyxla_plugin *of_plugin) {
  for (size_t i = 0; i < cyxla_ffi_target_count(); ++i) {
    cyxla_ffi_target_info info = {.struct_size = sizeof info};
    CHECK_OK(cyxla_ffi_target_get_info(i, of_plugin, &info, &error), &error);
    if (!strcmp(info.name, name)) return info;
  }
  TEST_FAIL("there is no target %s", name);
}

/* ---- the registry ---- */

static void keeps_targets(void) {
  const size_t before = cyxla_ffi_target_count();
  char name[] = "old_twice";
  CHECK_OK(register_one(name, old_twice), &error);
  name[0] = 'X'; /* names are copied */
  CHECK_INT(cyxla_ffi_target_count(), before + 1);
  cyxla_ffi_target_info info = info_of("old_twice", NULL);
  CHECK_TEXT(info.platform, "cpu");
  CHECK_INT(info.ffi_minor, 1);
  CHECK_INT(info.has_state, 0);
  CHECK_INT(info.state, CYXLA_FFI_NOT_SEEN);
  CHECK(!info.failure);
  info = (cyxla_ffi_target_info){.struct_size = offsetof(cyxla_ffi_target_info, ffi_minor),
                                 .ffi_minor = -5};
  CHECK_OK(cyxla_ffi_target_get_info(before, NULL, &info, &error), &error);
  CHECK_TEXT(info.name, "old_twice");
  CHECK_INT(info.ffi_minor, -5); /* a caller with an older struct */
  CHECK_STATUS(cyxla_ffi_target_get_info(before + 1, NULL, &info, &error), CYXLA_OUT_OF_RANGE,
               &error);
}

static void refuses_another_handler(void) {
  CHECK_OK(register_one("unique", old_twice), &error);
  const size_t count = cyxla_ffi_target_count();
  CHECK_OK(register_one("unique", old_twice), &error);
  CHECK_STATUS(register_one("unique", new_thrice), CYXLA_ALREADY_EXISTS, &error);
  CHECK_CONTAINS(error.message, "FFI target unique for the platform cpu");
  CHECK_STATUS(register_stages("unique", old_twice, old_twice), CYXLA_ALREADY_EXISTS, &error);
  const cyxla_ffi_target elsewhere = {
      .struct_size = sizeof elsewhere, .name = "unique", .platform = "gpu", .execute = new_thrice};
  CHECK_INT(cyxla_ffi_target_count(), count);
  CHECK_OK(cyxla_register_ffi_target(&elsewhere, &error), &error);
  CHECK_INT(cyxla_ffi_target_count(), count + 1);
}

static void refuses_what_is_no_target(void) {
  const size_t count = cyxla_ffi_target_count();
  cyxla_ffi_target target = {.struct_size = sizeof target, .name = "bad", .platform = "cpu"};
  CHECK_STATUS(cyxla_register_ffi_target(&target, &error), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "FFI target bad");
  target.execute = old_twice;
  target.platform = NULL;
  CHECK_STATUS(cyxla_register_ffi_target(&target, &error), CYXLA_INVALID_ARGUMENT, &error);
  target.platform = "cpu";
  target.name = NULL;
  CHECK_STATUS(cyxla_register_ffi_target(&target, &error), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "without a name");
  CHECK_INT(cyxla_register_ffi_target(&target, NULL), CYXLA_INVALID_ARGUMENT);
  target.struct_size = 8;
  CHECK_STATUS(cyxla_register_ffi_target(&target, &error), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "struct_size is 8");
  CHECK_STATUS(register_one("bad", other_major), CYXLA_UNIMPLEMENTED, &error);
  CHECK_CONTAINS(error.message, "bad");
  CHECK_CONTAINS(error.message, "1.2");
  CHECK_STATUS(register_one("bad", silent), CYXLA_UNIMPLEMENTED, &error);
  CHECK_STATUS(register_one("bad", failing), CYXLA_DATA_LOSS, &error);
  CHECK_CONTAINS(error.message, "FFI target bad");
  CHECK_CONTAINS(error.message, "no version today");
  CHECK_STATUS(register_stages("bad", failing, old_twice), CYXLA_DATA_LOSS, &error);
  CHECK_INT(cyxla_ffi_target_count(), count);
  CHECK_OK(register_one("bad", old_twice), &error); /* the name is still free */
}

static void counts_the_newest_stage(void) {
  CHECK_OK(register_stages("two stages", old_twice, new_thrice), &error);
  const cyxla_ffi_target_info info = info_of("two stages", NULL);
  CHECK_INT(info.ffi_minor, 9);
  CHECK_INT(info.has_state, 1);
}

static void delete_nothing(void *state) {
  (void)state;
}

static void keeps_types(void) {
  int64_t first = 0, second = 0, given = 7;
  CHECK_OK(cyxla_register_ffi_type(&first, NULL, &error), &error);
  CHECK_OK(cyxla_register_ffi_type(&second, NULL, &error), &error);
  CHECK(first && second && first != second);
  CHECK_OK(cyxla_register_ffi_type(&given, delete_nothing, &error), &error);
  CHECK_INT(given, 7);
  CHECK_OK(cyxla_register_ffi_type(&given, delete_nothing, &error), &error);
  CHECK_STATUS(cyxla_register_ffi_type(&given, NULL, &error), CYXLA_ALREADY_EXISTS, &error);
  CHECK_CONTAINS(error.message, "FFI type 7");
}

static void survives_lack_of_memory(void) {
  const size_t count = cyxla_ffi_target_count();
  for (int i = 1; i <= 2; ++i) {
    failing_allocation = i;
    CHECK_STATUS(register_one("no memory", old_twice), CYXLA_RESOURCE_EXHAUSTED, &error);
    CHECK_INT(failing_allocation, 0);
    CHECK_INT(cyxla_ffi_target_count(), count);
  }
  CHECK_OK(register_one("no memory", old_twice), &error);
  int64_t type = 0;
  failing_allocation = 1;
  CHECK_STATUS(cyxla_register_ffi_type(&type, NULL, &error), CYXLA_RESOURCE_EXHAUSTED, &error);
  CHECK_INT(type, 0);
}

/* ---- threads ---- */

enum { THREADS = 8, NAMES = 40 };

static void *register_many(void *argument) {
  cyxla_error own = CYXLA_ERROR_INIT;
  for (int i = 0; i < NAMES; ++i) {
    char name[32];
    snprintf(name, sizeof name, "thread %d", i);
    const cyxla_ffi_target target = {
        .struct_size = sizeof target, .name = name, .platform = "cpu", .execute = old_twice};
    CHECK_OK(cyxla_register_ffi_target(&target, &own), &own);
    for (size_t k = 0, count = cyxla_ffi_target_count(); k < count; k += 7) {
      cyxla_ffi_target_info info = {.struct_size = sizeof info};
      CHECK_OK(cyxla_ffi_target_get_info(k, plugin, &info, &own), &own);
      CHECK(info.name[0]);
    }
    int64_t type = 1000 + i;
    CHECK_OK(cyxla_register_ffi_type(&type, delete_nothing, &own), &own);
  }
  return argument;
}

static void registers_in_threads(void) {
  const size_t before = cyxla_ffi_target_count();
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    CHECK_INT(pthread_create(&threads[i], NULL, register_many, NULL), 0);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  CHECK_INT(cyxla_ffi_target_count(), before + NAMES);
}

/* ---- the limit ---- */

static void fill_the_registry(void) {
  char name[32];
  while (cyxla_ffi_target_count() < 512) {
    snprintf(name, sizeof name, "number %zu", cyxla_ffi_target_count());
    CHECK_OK(register_one(name, new_thrice), &error);
  }
  CHECK_STATUS(register_one("one too many", new_thrice), CYXLA_RESOURCE_EXHAUSTED, &error);
  CHECK_CONTAINS(error.message, "one too many");
  CHECK_CONTAINS(error.message, "512");
  CHECK_OK(register_one(name, new_thrice), &error); /* the last one again */
}

/* ---- a plugin without an FFI ---- */

static void explains_a_plugin_without_ffi(void) {
  CHECK_OK(register_one("twice", old_twice), &error);
  const cyxla_ffi_target_info info = info_of("twice", plugin);
  CHECK_INT(info.state, CYXLA_FFI_FAILED);
  CHECK_CONTAINS(info.failure, "no way to register FFI targets");
  CHECK_CONTAINS(info.failure, fake_path());
  /* That is no reason to refuse other programs. */
  make_program(&program, TYPE(CYXLA_F64, 3), 1, 1, 2);
  cyxla_executable_destroy(compile(&program));
}

/* ---- a real plugin ---- */

/* Compiles y = name(x). */
static int32_t compile_call(const char *name, cyxla_executable **out_executable) {
  char code[1024];
  snprintf(code, sizeof code,
           "module @m { func.func public @main(%%a: tensor<3xf64>) -> (tensor<3xf64>) {\n"
           "  %%0 = stablehlo.custom_call @\"%s\"(%%a) {api_version = 4 : i32, backend_config = {}}"
           " : (tensor<3xf64>) -> tensor<3xf64>\n  return %%0 : tensor<3xf64> } }",
           name);
  make_unary_program(&program, code, TYPE(CYXLA_F64, 3));
  return cyxla_compile(plugin, &program.program, NULL, 0, engine, out_executable, &error);
}

static int32_t run(cyxla_executable *executable, double x, double results[3]) {
  const double values[] = {x, x + 1, x + 2};
  const cyxla_input input = {values, CYXLA_F64, 3};
  void *outputs[] = {results};
  return cyxla_execute(executable, &input, outputs, 0, &error);
}

static void check_factor(const char *name, double factor, int state) {
  cyxla_executable *executable;
  CHECK_OK(compile_call(name, &executable), &error);
  CHECK_INT(info_of(name, plugin).state, state);
  double results[3];
  for (int round = 0; round < 3; ++round) {
    CHECK_OK(run(executable, 5, results), &error);
    for (int i = 0; i < 3; ++i) CHECK_REAL(results[i], factor * (5 + i));
    CHECK_STATUS(run(executable, -5, results), CYXLA_OUT_OF_RANGE, &error);
    CHECK_CONTAINS(error.message, "x is negative");
  }
  cyxla_executable_destroy(executable);
}

static void calls_handlers_old_and_new(void) {
  CHECK_OK(register_one("twice", old_twice), &error);
  CHECK_OK(register_one("thrice", new_thrice), &error);
  check_factor("twice", 2, CYXLA_FFI_REGISTERED);
  check_factor("thrice", 3, CYXLA_FFI_BRIDGED);
}

/* As another cyxla in the process, or JAX, may have done it. */
static void lets_others_register_first(void) {
  const XLA_FFI_Api *api = plugin->ffi.api;
  if (api->api_version.minor_version < 4) return; /* its struct is another one */
  const char name[] = "known already";
  XLA_FFI_Handler_Register_Args args = {.struct_size = sizeof args,
                                        .name = {name, strlen(name)},
                                        .platform = {"cpu", strlen("cpu")},
                                        .bundle = {.execute = old_twice}};
  CHECK(!api->XLA_FFI_Handler_Register(&args));
  CHECK_OK(register_one(name, old_twice), &error);
  check_factor(name, 2, CYXLA_FFI_REGISTERED);
}

static void fails_where_a_handler_needs_a_newer_table(void) {
  CHECK_OK(register_one("future", from_the_future), &error);
  cyxla_executable *executable;
  CHECK_OK(compile_call("future", &executable), &error);
  double results[3];
  CHECK(run(executable, 5, results));
  CHECK_CONTAINS(error.message, "the handler needs a newer XLA FFI API than the plugin's");
  cyxla_executable_destroy(executable);
}

static void names_a_missing_target(void) {
  cyxla_executable *executable;
  CHECK_STATUS(compile_call("missing", &executable), CYXLA_NOT_FOUND, &error);
  CHECK_CONTAINS(error.message, "missing");
}

/* ---- state ---- */

static XLA_FFI_TypeId state_type, unknown_type = {12345};
static atomic_int states_made, states_freed;

static void free_state(void *state) {
  atomic_fetch_add(&states_freed, 1);
  free(state);
}

static XLA_FFI_Error *set_state(XLA_FFI_CallFrame *frame, XLA_FFI_TypeId *type) {
  CHECK_INT(frame->stage, XLA_FFI_ExecutionStage_INSTANTIATE);
  double *state = malloc(sizeof *state);
  CHECK(state);
  *state = 0;
  XLA_FFI_State_Set_Args args = {.struct_size = sizeof args,
                                 .ctx = frame->ctx,
                                 .stage = frame->stage,
                                 .type_id = type,
                                 .state = state};
  XLA_FFI_Error *failure = frame->api->XLA_FFI_State_Set(&args);
  if (failure)
    free(state);
  else
    atomic_fetch_add(&states_made, 1);
  return failure;
}

static int allocation_that_fails; /* when a state is set */

static XLA_FFI_Error *make_state(XLA_FFI_CallFrame *frame) {
  if (answer(frame, 0, 4, 0)) return NULL;
  XLA_FFI_Error *failure;
  if (allocation_that_fails) {
    XLA_FFI_State_Set_Args args = {.struct_size = sizeof args,
                                   .ctx = frame->ctx,
                                   .stage = frame->stage,
                                   .type_id = &state_type};
    failing_allocation = allocation_that_fails;
    failure = frame->api->XLA_FFI_State_Set(&args);
    failing_allocation = 0;
  } else {
    failure = set_state(frame, &state_type);
  }
  return failure;
}

static XLA_FFI_Error *make_unknown_state(XLA_FFI_CallFrame *frame) {
  return answer(frame, 0, 4, 0) ? NULL : set_state(frame, &unknown_type);
}

static XLA_FFI_Error *get_state(XLA_FFI_CallFrame *frame, XLA_FFI_TypeId *type, double **out) {
  XLA_FFI_State_Get_Args args = {.struct_size = sizeof args,
                                 .ctx = frame->ctx,
                                 .stage = XLA_FFI_ExecutionStage_INSTANTIATE,
                                 .type_id = type};
  XLA_FFI_Error *failure = frame->api->XLA_FFI_State_Get(&args);
  *out = args.state;
  return failure;
}

/* y = x * number of calls. */
static XLA_FFI_Error *use_state(XLA_FFI_CallFrame *frame) {
  if (answer(frame, 0, 4, 0)) return NULL;
  double *state;
  XLA_FFI_Error *failure = get_state(frame, &state_type, &state);
  return failure ? failure : multiply(frame, ++*state);
}

/* The same, as a handler of before minor 3 asks for it: its struct has no stage. */
static XLA_FFI_Error *use_state_as_before(XLA_FFI_CallFrame *frame) {
  if (answer(frame, 0, 4, 0)) return NULL;
  struct {
    size_t struct_size;
    void *extension_start;
    XLA_FFI_InvokeContext *ctx;
    XLA_FFI_TypeId *type_id;
    double *state;
  } args = {sizeof args, NULL, frame->ctx, &state_type, NULL};
  XLA_FFI_Error *failure = frame->api->XLA_FFI_State_Get((XLA_FFI_State_Get_Args *)&args);
  return failure ? failure : multiply(frame, ++*args.state);
}

static XLA_FFI_Error *use_other_state(XLA_FFI_CallFrame *frame) {
  if (answer(frame, 0, 4, 0)) return NULL;
  double *state;
  return get_state(frame, &unknown_type, &state);
}

static void check_state(const char *name) {
  const int made = states_made, freed = states_freed;
  cyxla_executable *executables[2];
  for (int i = 0; i < 2; ++i) CHECK_OK(compile_call(name, &executables[i]), &error);
  CHECK_INT(states_made, made + 2);
  double results[3];
  for (int round = 1; round < 4; ++round) {
    CHECK_OK(run(executables[0], 5, results), &error);
    CHECK_REAL(results[1], 6 * round);
  }
  CHECK_OK(run(executables[1], 5, results), &error);
  CHECK_REAL(results[1], 6);
  cyxla_executable_destroy(executables[0]);
  CHECK_INT(states_freed, freed + 1);
  CHECK_OK(run(executables[1], 5, results), &error);
  CHECK_REAL(results[1], 12);
  cyxla_executable_destroy(executables[1]);
  CHECK_INT(states_freed, freed + 2);
  CHECK_INT(states_made, made + 2);
}

static void keeps_states(void) {
  CHECK_OK(cyxla_register_ffi_type(&state_type.type_id, free_state, &error), &error);
  CHECK_OK(register_stages("state", make_state, use_state), &error);
  CHECK_OK(register_stages("state as before", make_state, use_state_as_before), &error);
  CHECK_OK(register_stages("unknown state", make_unknown_state, use_state), &error);
  CHECK_OK(register_stages("other state", make_state, use_other_state), &error);
  const cyxla_ffi_target_info info = info_of("state", plugin);
  if (info.state == CYXLA_FFI_FAILED) {
    CHECK_CONTAINS(info.failure, "FFI target state keeps state");
    fprintf(stderr, "  %s\n", info.failure);
    return;
  }
  CHECK_INT(info.state, CYXLA_FFI_BRIDGED);
  check_state("state");
  check_state("state as before");
  cyxla_executable *executable;
  CHECK(compile_call("unknown state", &executable));
  CHECK_CONTAINS(error.message, "number 12345");
  CHECK_CONTAINS(error.message, "cyxla.register_ffi_type");
  double results[3];
  CHECK_OK(compile_call("other state", &executable), &error);
  CHECK(run(executable, 5, results));
  CHECK_CONTAINS(error.message, "asks for a state of type 12345");
  cyxla_executable_destroy(executable);
  allocation_that_fails = 1;
  CHECK(compile_call("state", &executable));
  CHECK_CONTAINS(error.message, "out of memory");
  allocation_that_fails = 0;
  check_state("state");
  CHECK_INT(states_made, states_freed);
}

static void test_registry(void) {
  RUN(keeps_targets);
  RUN(refuses_another_handler);
  RUN(refuses_what_is_no_target);
  RUN(counts_the_newest_stage);
  RUN(keeps_types);
  RUN(survives_lack_of_memory);
  RUN(registers_in_threads);
  RUN(fill_the_registry);
}

static void test_real(void) {
  RUN(calls_handlers_old_and_new);
  RUN(lets_others_register_first);
  RUN(fails_where_a_handler_needs_a_newer_table);
  RUN(names_a_missing_target);
  RUN(keeps_states);
  RUN(registers_in_threads);
  RUN(fill_the_registry);
  check_factor("number 511", 3, CYXLA_FFI_BRIDGED);
}

int main(int argument_count, char **arguments) {
  if (argument_count < 2 || !strcmp(arguments[1], "unit")) {
    test_registry();
    return 0;
  }
  use_plugin(argument_count, arguments);
  if (using_fake)
    RUN(explains_a_plugin_without_ffi);
  else
    test_real();
}
