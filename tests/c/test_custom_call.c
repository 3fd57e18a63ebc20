/* Custom calls that cyxla makes itself: frames, each function of its FFI table, states, futures, and lack of
 * memory.  The handlers are written as their C ABI has it. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/memory.h"
#include "ffi/custom_call.h"
#include "ffi/xla_ffi_abi.h"
#include "test.h"

static cyxla_error error = CYXLA_ERROR_INIT;

/* ---- lack of memory: the linker sends the library's calls here ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

/* Number of allocations of this thread until one fails; 0: none does. */
static _Thread_local int failing_allocation;

static bool fails(void) {
  return failing_allocation && --failing_allocation == 0;
}

void *__wrap_malloc(size_t size) {
  return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

/* ---- what handlers do ---- */

static XLA_FFI_Error *make_error(const XLA_FFI_Api *api, int code, const char *message) {
  XLA_FFI_Error_Create_Args args = {
      .struct_size = sizeof args, .message = message, .errc = (XLA_FFI_Error_Code)code};
  return api->XLA_FFI_Error_Create(&args);
}

/* Takes an error, which must be there, from an XLA_FFI function. */
static void check_failure(const XLA_FFI_Api *api, XLA_FFI_Error *failure, int code,
                          const char *message) {
  CHECK(failure);
  XLA_FFI_Error_GetDetails_Args details = {.struct_size = sizeof details, .error = failure};
  api->XLA_FFI_Error_GetDetails(&details);
  CHECK_INT(details.errc, code);
  CHECK_CONTAINS(details.message, message);
  XLA_FFI_Error_Destroy_Args destroy = {.struct_size = sizeof destroy, .error = failure};
  api->XLA_FFI_Error_Destroy(&destroy);
}

/* True: the frame was a question for metadata. */
static bool answer(XLA_FFI_CallFrame *call, int minor) {
  if (!call->extension_start) return false;
  XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)call->extension_start)->metadata;
  metadata->api_version.major_version = 0;
  metadata->api_version.minor_version = minor;
  return true;
}

/* A handler that does what the function `name_body` says. */
#define HANDLER(name, minor)                                  \
  static XLA_FFI_Error *name##_body(XLA_FFI_CallFrame *call); \
  static XLA_FFI_Error *name(XLA_FFI_CallFrame *call) {       \
    return answer(call, minor) ? NULL : name##_body(call);    \
  }                                                           \
  static XLA_FFI_Error *name##_body(XLA_FFI_CallFrame *call)

static void register_target(const char *name, XLA_FFI_Handler *instantiate,
                            XLA_FFI_Handler *execute) {
  const cyxla_ffi_target target = {.struct_size = sizeof target,
                                   .name = name,
                                   .platform = "cpu",
                                   .instantiate = instantiate,
                                   .execute = execute};
  CHECK_OK(cyxla_register_ffi_target(&target, &error), &error);
}

/* ---- calls ---- */

static cyxla__span span_of(const char *text) {
  return (cyxla__span){(uint8_t *)text, strlen(text)};
}

static int32_t create(const char *name, const char *config, cyxla__custom_call **out_call) {
  return cyxla__custom_call_create(span_of(name), span_of(config), NULL, 0, 0, out_call, &error);
}

static void *make_frame(const cyxla__custom_call *call) {
  const size_t size = cyxla__custom_call_frame_size(call);
  CHECK_INT(size % 64, 0);
  void *memory = cyxla_aligned_alloc(size);
  CHECK(memory);
  memset(memory, 0xab, size);
  cyxla__custom_call_frame_init(call, memory);
  return memory;
}

/* Runs `execute` once as the target `name`. */
static int32_t run(const char *name, XLA_FFI_Handler *instantiate, XLA_FFI_Handler *execute) {
  register_target(name, instantiate, execute);
  cyxla__custom_call *call;
  int32_t status = create(name, "", &call);
  if (status) return status;
  void *memory = make_frame(call);
  status = cyxla__custom_call_run(call, memory, &error);
  cyxla_aligned_free(memory);
  cyxla__custom_call_destroy(call);
  return status;
}

/* ---- frames ---- */

static const int64_t two_by_three[] = {2, 3};
static float first[6], second, sum[6];

static void check_buffer(const void *argument, int type, const void *data, int64_t rank) {
  const XLA_FFI_Buffer *buffer = argument;
  CHECK_INT(buffer->struct_size, sizeof *buffer);
  CHECK(!buffer->extension_start);
  CHECK_INT(buffer->dtype, type);
  CHECK(buffer->data == data);
  CHECK_INT(buffer->rank, rank);
  CHECK(buffer->dims);
}

HANDLER(add, 4) {
  CHECK_INT(call->struct_size, 168);
  CHECK(!call->extension_start && !call->future);
  CHECK_INT(call->stage, XLA_FFI_ExecutionStage_EXECUTE);
  CHECK_INT(call->args.struct_size, 40);
  CHECK_INT(call->args.size, 2);
  CHECK_INT(call->args.types[0], XLA_FFI_ArgType_BUFFER);
  CHECK_INT(call->args.types[1], XLA_FFI_ArgType_BUFFER);
  CHECK_INT(call->rets.struct_size, 40);
  CHECK_INT(call->rets.size, 1);
  CHECK_INT(call->rets.types[0], XLA_FFI_RetType_BUFFER);
  check_buffer(call->args.args[0], XLA_FFI_DataType_F32, first, 2);
  check_buffer(call->args.args[1], XLA_FFI_DataType_F32, &second, 0);
  check_buffer(call->rets.rets[0], XLA_FFI_DataType_F32, sum, 2);
  const XLA_FFI_Buffer *result = call->rets.rets[0];
  CHECK_INT(result->dims[0], 2);
  CHECK_INT(result->dims[1], 3);
  CHECK_INT(call->attrs.size, 2);
  CHECK_BYTES(call->attrs.names[0]->ptr, "factor", 7);
  CHECK_BYTES(call->attrs.names[1]->ptr, "name", 5);
  const float factor = *(const float *)((const XLA_FFI_Scalar *)call->attrs.attrs[0])->value;
  for (int i = 0; i < 6; ++i) sum[i] = factor * (first[i] + second);
  return NULL;
}

static void set_address(const cyxla__custom_call *call, void *memory, size_t buffer,
                        void *address) {
  char *place = (char *)memory + cyxla__custom_call_address_offset(call, buffer);
  memcpy(place, &address, sizeof address);
}

static void makes_frames(void) {
  register_target("add", NULL, add);
  cyxla__custom_call_buffer buffers[] = {{XLA_FFI_DataType_F32, 2, two_by_three},
                                         {XLA_FFI_DataType_F32, 0, NULL},
                                         {XLA_FFI_DataType_F32, 2, two_by_three}};
  char name[] = "add", config[] = "{name = \"x\", factor = 2.0 : f32}";
  cyxla__custom_call *call;
  CHECK_OK(cyxla__custom_call_create(span_of(name), span_of(config), buffers, 3, 2, &call, &error),
           &error);
  memset(name, 'x', sizeof name);
  memset(config, 'x', sizeof config);
  memset(buffers, 'x', sizeof buffers);
  void *memory = make_frame(call);
  set_address(call, memory, 0, first);
  set_address(call, memory, 1, &second);
  set_address(call, memory, 2, sum);
  second = 10;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 6; ++i) first[i] = (float)(i + round);
    CHECK_OK(cyxla__custom_call_run(call, memory, &error), &error);
    for (int i = 0; i < 6; ++i) CHECK_REAL(sum[i], 2 * (i + round + 10));
  }
  cyxla_aligned_free(memory);
  cyxla__custom_call_destroy(call);
  cyxla__custom_call_destroy(NULL);
}

/* Leaves nothing in the frame as it was, but for what is not the handler's. */
HANDLER(scribble, 3) {
  static XLA_FFI_InternalExtension extension;
  CHECK(!call->future);
  CHECK_INT(call->stage, XLA_FFI_ExecutionStage_EXECUTE);
  call->extension_start = &extension;
  call->stage = XLA_FFI_ExecutionStage_PREPARE;
  call->future = (XLA_FFI_Future *)&extension; /* not waited for: there is an error */
  return make_error(call->api, CYXLA_ABORTED, "scribbled");
}

static void resets_frames(void) {
  register_target("scribble", NULL, scribble);
  cyxla__custom_call *call;
  CHECK_OK(create("scribble", "{}", &call), &error);
  void *memory = make_frame(call);
  for (int round = 0; round < 3; ++round)
    CHECK_STATUS(cyxla__custom_call_run(call, memory, &error), CYXLA_ABORTED, &error);
  cyxla_aligned_free(memory);
  cyxla__custom_call_destroy(call);
}

/* ---- errors ---- */

static int next_code;

HANDLER(fail, 4) {
  return make_error(call->api, next_code, "there is no x");
}

HANDLER(fail_as_before, 3) {
  XLA_FFI_Error *failure = make_error(call->api, CYXLA_DATA_LOSS, "a lost byte");
  XLA_FFI_Error_GetDetails_Args details = {
      .struct_size = offsetof(XLA_FFI_Error_GetDetails_Args, errc), .error = failure, .errc = 0};
  call->api->XLA_FFI_Error_GetDetails(&details);
  CHECK_TEXT(details.message, "a lost byte");
  CHECK_INT(details.errc, 0);
  return failure;
}

HANDLER(fail_without_memory, 4) {
  failing_allocation = 1;
  XLA_FFI_Error *failure = make_error(call->api, CYXLA_DATA_LOSS, "a lost byte");
  CHECK_INT(failing_allocation, 0);
  return failure;
}

static void reports_errors(void) {
  for (next_code = CYXLA_CANCELLED; next_code <= CYXLA_UNAUTHENTICATED; ++next_code) {
    CHECK_STATUS(run("fail", NULL, fail), next_code, &error);
    CHECK_TEXT(error.message, "FFI target fail: there is no x");
  }
  next_code = 0; /* an error that says that it is none */
  CHECK_STATUS(run("fail", NULL, fail), CYXLA_UNKNOWN, &error);
  CHECK_STATUS(run("fail as before", NULL, fail_as_before), CYXLA_DATA_LOSS, &error);
  CHECK_TEXT(error.message, "FFI target fail as before: a lost byte");
  CHECK_STATUS(run("no memory", NULL, fail_without_memory), CYXLA_RESOURCE_EXHAUSTED, &error);
  CHECK_CONTAINS(error.message, "out of memory");
}

HANDLER(succeed, 4) {
  CHECK(call->ctx);
  return NULL;
}

static void refuses_to_create(void) {
  cyxla__custom_call *call;
  CHECK_STATUS(create("missing", "{}", &call), CYXLA_NOT_FOUND, &error);
  CHECK_CONTAINS(error.message, "FFI target missing: it is not registered for the platform cpu");
  const cyxla_ffi_target elsewhere = {
      .struct_size = sizeof elsewhere, .name = "gpu only", .platform = "gpu", .execute = succeed};
  CHECK_OK(cyxla_register_ffi_target(&elsewhere, &error), &error);
  CHECK_STATUS(create("gpu only", "{}", &call), CYXLA_NOT_FOUND, &error);
  register_target("succeed", NULL, succeed);
  CHECK_STATUS(create("succeeds", "{}", &call), CYXLA_NOT_FOUND, &error);
  CHECK_STATUS(create("succee", "{}", &call), CYXLA_NOT_FOUND, &error);
  char long_name[1000];
  memset(long_name, 'x', sizeof long_name);
  CHECK_INT(cyxla__custom_call_create((cyxla__span){(uint8_t *)long_name, sizeof long_name},
                                      span_of(""), NULL, 0, 0, &call, &error),
            CYXLA_NOT_FOUND);
  CHECK_STATUS(create("succeed", "{a = }", &call), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_TEXT(error.message, "FFI target succeed: attributes: at byte 5, \"}\": a value is missing");
  CHECK_STATUS(create("succeed", "{a = @f}", &call), CYXLA_UNIMPLEMENTED, &error);
}

/* ---- the table ---- */

static void set_flag(void *flag) {
  *(int *)flag = 1;
}

static void check_threads(XLA_FFI_CallFrame *call) {
  int64_t count = 0;
  XLA_FFI_ThreadPool_NumThreads_Args threads = {
      .struct_size = sizeof threads, .ctx = call->ctx, .num_threads = &count};
  CHECK(!call->api->XLA_FFI_ThreadPool_NumThreads(&threads));
  CHECK_INT(count, 1);
  int flag = 0;
  XLA_FFI_ThreadPool_Schedule_Args schedule = {
      .struct_size = sizeof schedule, .ctx = call->ctx, .task = set_flag, .data = &flag};
  CHECK(!call->api->XLA_FFI_ThreadPool_Schedule(&schedule));
  CHECK_INT(flag, 1);
}

static int64_t last_run;

static void check_ids(XLA_FFI_CallFrame *call) {
  XLA_FFI_RunId_Get_Args run_id = {.struct_size = sizeof run_id, .ctx = call->ctx};
  CHECK(!call->api->XLA_FFI_RunId_Get(&run_id));
  CHECK(run_id.run_id > last_run);
  last_run = run_id.run_id;
  CHECK(!call->api->XLA_FFI_RunId_Get(&run_id));
  CHECK_INT(run_id.run_id, last_run);
  XLA_FFI_DeviceOrdinal_Get_Args ordinal = {
      .struct_size = sizeof ordinal, .ctx = call->ctx, .device_ordinal = -1};
  CHECK(!call->api->XLA_FFI_DeviceOrdinal_Get(&ordinal));
  CHECK_INT(ordinal.device_ordinal, 0);
}

static void check_extras(XLA_FFI_CallFrame *call) {
  XLA_FFI_InvokeContext_FindExtension_Args extension = {
      .struct_size = sizeof extension, .ctx = call->ctx, .extension = &extension};
  CHECK(!call->api->XLA_FFI_InvokeContext_FindExtension(&extension));
  CHECK(!extension.extension);
  XLA_FFI_CustomOptions_Get_Args options = {.struct_size = sizeof options, .ctx = call->ctx};
  CHECK(!call->api->XLA_FFI_CustomOptions_Get(&options));
  CHECK_INT(options.attrs->struct_size, sizeof *options.attrs);
  CHECK_INT(options.attrs->size, 0);
}

static void check_types(XLA_FFI_CallFrame *call) {
  const XLA_FFI_TypeInfo info = {.struct_size = sizeof info, .deleter = free};
  const XLA_FFI_TypeInfo other_info = {.struct_size = sizeof other_info, .deleter = set_flag};
  XLA_FFI_TypeId type = {0};
  XLA_FFI_Type_Register_Args args = {
      .struct_size = sizeof args, .name = {"type", 4}, .type_id = &type, .type_info = &info};
  CHECK(!call->api->XLA_FFI_Type_Register(&args));
  CHECK(type.type_id);
  CHECK(!call->api->XLA_FFI_Type_Register(&args));
  args.type_info = &other_info;
  check_failure(call->api, call->api->XLA_FFI_Type_Register(&args), CYXLA_ALREADY_EXISTS,
                "registered already, with another deleter");
}

typedef XLA_FFI_Error *other_function(void *args);

static void check_refused(XLA_FFI_CallFrame *call, void (*function)(void), const char *message) {
  check_failure(call->api, ((other_function *)function)(NULL), CYXLA_UNIMPLEMENTED, message);
}

static void check_missing(XLA_FFI_CallFrame *call) {
  const XLA_FFI_Api *api = call->api;
  XLA_FFI_Handler_Register_Args handler = {.struct_size = sizeof handler};
  check_failure(api, api->XLA_FFI_Handler_Register(&handler), CYXLA_UNIMPLEMENTED,
                "cyxla_register_ffi_target");
  check_refused(call, api->XLA_FFI_Stream_Get[0], "streams");
  check_refused(call, api->XLA_FFI_InvokeContext_Get[0], "user data");
  check_refused(call, api->XLA_FFI_DeviceMemory_Allocate[0], "device memory");
  check_refused(call, api->XLA_FFI_DeviceMemory_Allocate[1], "device memory");
  void (*const *newer)(void) = (void (*const *)(void))(api + 1);
  check_refused(call, newer[0], "needs a newer XLA FFI API than cyxla's, which is 0.5");
  check_refused(call, newer[31], "needs a newer XLA FFI API than cyxla's, which is 0.5");
}

HANDLER(use_all, 5) {
  CHECK_INT(call->api->struct_size, sizeof *call->api);
  CHECK_INT(call->api->api_version.major_version, 0);
  CHECK_INT(call->api->api_version.minor_version, 5);
  check_threads(call);
  check_ids(call);
  check_extras(call);
  check_types(call);
  check_missing(call);
  return NULL;
}

static void offers_a_table(void) {
  register_target("use all", NULL, use_all);
  cyxla__custom_call *call;
  CHECK_OK(create("use all", "", &call), &error);
  void *memory = make_frame(call);
  for (int round = 0; round < 3; ++round)
    CHECK_OK(cyxla__custom_call_run(call, memory, &error), &error);
  cyxla_aligned_free(memory);
  cyxla__custom_call_destroy(call);
}

/* ---- state ---- */

static XLA_FFI_TypeId counter_type, plain_type, unknown_type = {12345};
static atomic_int states_alive;

static void free_counter(void *state) {
  atomic_fetch_sub(&states_alive, 1);
  free(state);
}

static XLA_FFI_Error *set_state_as(XLA_FFI_CallFrame *call, int stage, XLA_FFI_TypeId *type,
                                   void *state) {
  XLA_FFI_State_Set_Args args = {.struct_size = sizeof args,
                                 .ctx = call->ctx,
                                 .stage = (XLA_FFI_ExecutionStage)stage,
                                 .type_id = type,
                                 .state = state};
  return call->api->XLA_FFI_State_Set(&args);
}

static XLA_FFI_Error *set_state(XLA_FFI_CallFrame *call, XLA_FFI_TypeId *type, void *state) {
  return set_state_as(call, XLA_FFI_ExecutionStage_INSTANTIATE, type, state);
}

static XLA_FFI_Error *get_state(XLA_FFI_CallFrame *call, int stage, XLA_FFI_TypeId *type,
                                void **out_state) {
  XLA_FFI_State_Get_Args args = {.struct_size = sizeof args,
                                 .ctx = call->ctx,
                                 .stage = (XLA_FFI_ExecutionStage)stage,
                                 .type_id = type};
  XLA_FFI_Error *failure = call->api->XLA_FFI_State_Get(&args);
  *out_state = args.state;
  return failure;
}

static void make_counter(XLA_FFI_CallFrame *call) {
  CHECK_INT(call->struct_size, 168);
  CHECK_INT(call->stage, XLA_FFI_ExecutionStage_INSTANTIATE);
  CHECK_INT(call->args.struct_size, sizeof call->args);
  CHECK_INT(call->rets.struct_size, sizeof call->rets);
  CHECK_INT(call->args.size, 0);
  CHECK_INT(call->rets.size, 0);
  CHECK_INT(call->attrs.size, 1);
  CHECK_INT(call->attrs.types[0], XLA_FFI_AttrType_SCALAR);
  const XLA_FFI_Scalar *start = call->attrs.attrs[0];
  CHECK_INT(start->dtype, XLA_FFI_DataType_S32);
  atomic_int *counter = malloc(sizeof *counter);
  CHECK(counter);
  atomic_init(counter, *(const int32_t *)start->value);
  CHECK(!set_state(call, &counter_type, counter));
  atomic_fetch_add(&states_alive, 1);
}

HANDLER(instantiate_counter, 4) {
  void *state;
  check_failure(call->api,
                get_state(call, XLA_FFI_ExecutionStage_INSTANTIATE, &counter_type, &state),
                CYXLA_NOT_FOUND, "State is not set");
  make_counter(call);
  CHECK(!get_state(call, XLA_FFI_ExecutionStage_INSTANTIATE, &counter_type, &state));
  check_failure(call->api, set_state(call, &counter_type, state), CYXLA_FAILED_PRECONDITION,
                "State is set already");
  return NULL;
}

static int32_t last_count;

HANDLER(count, 4) {
  void *state;
  CHECK(!get_state(call, XLA_FFI_ExecutionStage_INSTANTIATE, &counter_type, &state));
  last_count = atomic_fetch_add((atomic_int *)state, 1);
  check_failure(call->api, get_state(call, XLA_FFI_ExecutionStage_PREPARE, &counter_type, &state),
                CYXLA_NOT_FOUND, "State is not set");
  check_failure(call->api, get_state(call, XLA_FFI_ExecutionStage_INSTANTIATE, &plain_type, &state),
                CYXLA_INVALID_ARGUMENT, "asks for a state of type");
  check_failure(call->api, set_state(call, &counter_type, state), CYXLA_FAILED_PRECONDITION,
                "only the stage instantiate");
  return NULL;
}

static void keeps_states(void) {
  CHECK_OK(cyxla_register_ffi_type(&counter_type.type_id, free_counter, &error), &error);
  CHECK_OK(cyxla_register_ffi_type(&plain_type.type_id, NULL, &error), &error);
  register_target("count", instantiate_counter, count);
  cyxla__custom_call *calls[2];
  CHECK_OK(create("count", "{start = 100 : i32}", &calls[0]), &error);
  CHECK_OK(create("count", "{start = 200 : i32}", &calls[1]), &error);
  CHECK_INT(states_alive, 2);
  void *memory[] = {make_frame(calls[0]), make_frame(calls[1])};
  for (int round = 0; round < 5; ++round)
    for (int i = 0; i < 2; ++i) {
      CHECK_OK(cyxla__custom_call_run(calls[i], memory[i], &error), &error);
      CHECK_INT(last_count, 100 * (i + 1) + round);
    }
  for (int i = 0; i < 2; ++i) {
    cyxla_aligned_free(memory[i]);
    cyxla__custom_call_destroy(calls[i]);
    CHECK_INT(states_alive, 1 - i);
  }
}

/* The struct of before minor 3, without the stage. */
typedef struct old_state_args {
  size_t struct_size;
  void *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_TypeId *type_id;
  void *state;
} old_state_args;

static int constant_state;

HANDLER(instantiate_as_before, 1) {
  old_state_args args = {sizeof args, NULL, call->ctx, &plain_type, &constant_state};
  return call->api->XLA_FFI_State_Set((XLA_FFI_State_Set_Args *)&args);
}

HANDLER(execute_as_before, 1) {
  old_state_args args = {sizeof args, NULL, call->ctx, &plain_type, NULL};
  CHECK(!call->api->XLA_FFI_State_Get((XLA_FFI_State_Get_Args *)&args));
  CHECK(args.state == &constant_state);
  return NULL;
}

HANDLER(use_no_state, 4) {
  void *state;
  return get_state(call, XLA_FFI_ExecutionStage_INSTANTIATE, &plain_type, &state);
}

static void keeps_states_of_all_kinds(void) {
  CHECK_OK(run("state as before", instantiate_as_before, execute_as_before), &error);
  CHECK_STATUS(run("no state", succeed, use_no_state), CYXLA_NOT_FOUND, &error);
  CHECK_TEXT(error.message, "FFI target no state: State is not set");
}

HANDLER(set_nothing, 4) {
  return set_state(call, &plain_type, NULL);
}

HANDLER(set_unknown, 4) {
  return set_state(call, &unknown_type, &constant_state);
}

HANDLER(set_elsewhere, 4) {
  return set_state_as(call, XLA_FFI_ExecutionStage_PREPARE, &plain_type, &constant_state);
}

HANDLER(set_and_fail, 4) {
  make_counter(call);
  return make_error(call->api, CYXLA_OUT_OF_RANGE, "it starts at 100");
}

static void fails_to_instantiate(void) {
  CHECK_STATUS(run("null state", set_nothing, succeed), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_STATUS(run("unknown state", set_unknown, succeed), CYXLA_FAILED_PRECONDITION, &error);
  CHECK_CONTAINS(error.message,
                 "FFI target unknown state: the type of the handler's state (number 12345)");
  CHECK_STATUS(run("state elsewhere", set_elsewhere, succeed), CYXLA_FAILED_PRECONDITION, &error);
  register_target("set and fail", set_and_fail, succeed);
  cyxla__custom_call *call;
  CHECK_STATUS(create("set and fail", "{start = 100 : i32}", &call), CYXLA_OUT_OF_RANGE, &error);
  CHECK_TEXT(error.message, "FFI target set and fail: it starts at 100");
  CHECK_INT(states_alive, 0);
}

/* ---- futures ---- */

static XLA_FFI_Future *make_future(XLA_FFI_CallFrame *call) {
  XLA_FFI_Future_Create_Args args = {.struct_size = sizeof args};
  CHECK(!call->api->XLA_FFI_Future_Create(&args));
  CHECK(args.future);
  return args.future;
}

static void set_available(const XLA_FFI_Api *api, XLA_FFI_Future *future) {
  XLA_FFI_Future_SetAvailable_Args args = {.struct_size = sizeof args, .future = future};
  CHECK(!api->XLA_FFI_Future_SetAvailable(&args));
}

static XLA_FFI_Error *set_error(const XLA_FFI_Api *api, XLA_FFI_Future *future,
                                XLA_FFI_Error *failure) {
  XLA_FFI_Future_SetError_Args args = {
      .struct_size = sizeof args, .future = future, .error = failure};
  return api->XLA_FFI_Future_SetError(&args);
}

HANDLER(complete_at_once, 4) {
  call->future = make_future(call);
  set_available(call->api, call->future);
  return NULL;
}

HANDLER(complete_with_error, 4) {
  call->future = make_future(call);
  check_failure(call->api, set_error(call->api, call->future, NULL), CYXLA_INVALID_ARGUMENT,
                "not NULL");
  CHECK(!set_error(call->api, call->future, make_error(call->api, CYXLA_DATA_LOSS, "too late")));
  return NULL;
}

typedef struct later {
  const XLA_FFI_Api *api;
  XLA_FFI_Future *future;
  bool fails;
  atomic_int *done;
} later;

static void *complete_later(void *argument) {
  const later work = *(later *)argument;
  free(argument);
  nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  atomic_fetch_add(work.done, 1);
  if (work.fails)
    CHECK(!set_error(work.api, work.future, make_error(work.api, CYXLA_ABORTED, "in a thread")));
  else
    set_available(work.api, work.future);
  return NULL;
}

static atomic_int completed;

static void start_later(XLA_FFI_CallFrame *call, bool fails_then) {
  later *work = malloc(sizeof *work);
  CHECK(work);
  call->future = make_future(call);
  *work = (later){call->api, call->future, fails_then, &completed};
  pthread_t thread;
  CHECK_INT(pthread_create(&thread, NULL, complete_later, work), 0);
  pthread_detach(thread);
}

HANDLER(complete_in_thread, 4) {
  start_later(call, false);
  return NULL;
}

HANDLER(fail_in_thread, 4) {
  start_later(call, true);
  return NULL;
}

HANDLER(no_future, 4) {
  XLA_FFI_Future_Create_Args args = {.struct_size = sizeof args};
  failing_allocation = 1;
  return call->api->XLA_FFI_Future_Create(&args);
}

static void waits_for_futures(void) {
  CHECK_OK(run("at once", NULL, complete_at_once), &error);
  CHECK_STATUS(run("with error", NULL, complete_with_error), CYXLA_DATA_LOSS, &error);
  CHECK_TEXT(error.message, "FFI target with error: too late");
  for (int i = 1; i <= 10; ++i) {
    CHECK_OK(run("in thread", NULL, complete_in_thread), &error);
    CHECK_INT(completed, i);
  }
  CHECK_STATUS(run("fails in thread", NULL, fail_in_thread), CYXLA_ABORTED, &error);
  CHECK_STATUS(run("instantiated later", fail_in_thread, succeed), CYXLA_ABORTED, &error);
  CHECK_OK(run("instantiated in thread", complete_in_thread, complete_at_once), &error);
  CHECK_STATUS(run("no future", NULL, no_future), CYXLA_RESOURCE_EXHAUSTED, &error);
}

/* ---- threads ---- */

enum { THREADS = 6, ROUNDS = 500 };

typedef struct worker {
  const cyxla__custom_call *call;
  cyxla_error error;
} worker;

HANDLER(count_fast, 4) {
  void *state;
  CHECK(!get_state(call, XLA_FFI_ExecutionStage_INSTANTIATE, &counter_type, &state));
  const int found = atomic_fetch_add((atomic_int *)state, 1);
  return found % 5 ? NULL : make_error(call->api, CYXLA_ABORTED, "every fifth");
}

static void *work(void *argument) {
  worker *self = argument;
  void *memory = make_frame(self->call);
  int failures = 0;
  for (int i = 0; i < ROUNDS; ++i)
    failures += cyxla__custom_call_run(self->call, memory, &self->error) != CYXLA_OK;
  cyxla_aligned_free(memory);
  return (void *)(intptr_t)failures;
}

static void runs_in_threads(void) {
  register_target("count fast", instantiate_counter, count_fast);
  cyxla__custom_call *call;
  CHECK_OK(create("count fast", "{start = 0 : i32}", &call), &error);
  worker workers[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    workers[i] = (worker){call, CYXLA_ERROR_INIT};
    CHECK_INT(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  intptr_t failures = 0;
  for (int i = 0; i < THREADS; ++i) {
    void *result;
    pthread_join(threads[i], &result);
    failures += (intptr_t)result;
  }
  CHECK_INT(failures, THREADS * ROUNDS / 5);
  cyxla__custom_call_destroy(call);
  CHECK_INT(states_alive, 0);
}

/* ---- lack of memory ---- */

static void survives_lack_of_memory(void) {
  static char config[1 << 16] = "{start = 100 : i32, ";
  for (int i = 0; i < 200; ++i) sprintf(config + strlen(config), "name%d = \"%*d\", ", i, 150, i);
  strcat(config, "z = {a = array<i64: 1>, b = dense<1.0> : tensor<3000xf64>}}");
  register_target("memory", NULL, succeed);
  const cyxla__custom_call_buffer buffers[] = {{XLA_FFI_DataType_F32, 2, two_by_three}};
  cyxla__custom_call *call;
  int count = 0;
  for (bool succeeded = false; !succeeded; ++count) {
    failing_allocation = count + 1;
    const int32_t status =
        cyxla__custom_call_create(span_of("memory"), span_of(config), buffers, 1, 1, &call, &error);
    succeeded = failing_allocation > 0;
    failing_allocation = 0;
    CHECK_STATUS(status, succeeded ? CYXLA_OK : CYXLA_RESOURCE_EXHAUSTED, &error);
  }
  CHECK(count > 5);
  cyxla__custom_call_destroy(call);
}

int main(void) {
  RUN(makes_frames);
  RUN(resets_frames);
  RUN(reports_errors);
  RUN(refuses_to_create);
  RUN(offers_a_table);
  RUN(keeps_states);
  RUN(keeps_states_of_all_kinds);
  RUN(fails_to_instantiate);
  RUN(waits_for_futures);
  RUN(runs_in_threads);
  RUN(survives_lack_of_memory);
}
