/* A FAKE PJRT plugin, for tests of what no real plugin shows when asked: faults, other versions of
 * the interface, and platforms that can't be had everywhere.
 *
 * It has the entry point and the function table of a plugin, but no compiler.  Its programs are
 * texts of its own:
 *
 *     in f32[2,3]                  an input; rank 0 is f32[]
 *     out f32[2,3] = in 0 * 2.5    an output: an input, times a factor (f32, f64, s32, s64; with
 *                                  factor 1, a copy, any type of the same size)
 *     out f64[4] = fill 7          an output of one value (0 where the type is none of those four)
 *     donate 0                     executions consume the buffer of this input, unless it is
 *                                  among the non-donatable ones
 *
 * Before the text there may be the header of a portable StableHLO artifact, up to its first NUL.
 *
 * It does check what XLA's plugins check: sizes of argument structs, the number of arguments and
 * their size in bytes, donated buffers, row-major host layouts; and it poisons memory that is freed
 * or not yet computed.  It does not check element types of arguments, as they don't either, nor
 * does it look at the compile options, except that there must be some.
 *
 * Environment, read by GetPjrtApi and by fake_pjrt_configure:
 *
 *   FAKE_PJRT_API=null                 GetPjrtApi returns NULL
 *   FAKE_PJRT_MAJOR, FAKE_PJRT_MINOR   version that the table states (0 and 115)
 *   FAKE_PJRT_TABLE_SIZE=N             struct_size of the table
 *   FAKE_PJRT_TABLE_END=NAME           the table ends before this slot; what follows is poison
 *   FAKE_PJRT_EXTRA_TABLE=N            the table is N bytes longer than we know, up to 1024
 *   FAKE_PJRT_EXTRA_ARGS=N             argument structs are N bytes longer than we know (8 or
 * more): the first eight are read, the others written FAKE_PJRT_NULL=NAME,NAME           these
 * slots are NULL FAKE_PJRT_FAIL=RULE;RULE           faults; RULE is NAME:CODE[:N[+]][:MESSAGE]: the
 * N-th call of function NAME fails (N+: from the N-th on; none: each). Names of errors inside
 * events, found out when awaited: event.host_buffer, event.execute, event.read
 *   FAKE_PJRT_PLATFORM=NAME            name of the platform (cpu)
 *   FAKE_PJRT_DEVICES=N                number of devices (1)
 *   FAKE_PJRT_MEMORY=host|device       host: buffers alias host arrays where they are asked to and
 *                                      the address is a multiple of 64.  device: never, and
 *                                      addresses of buffers can't be read
 *   FAKE_PJRT_ASYNC=never|obeys|always an execution computes, and a copy is made, only when its
 *                                      event is awaited (obeys: unless the client was created with
 *                                      asynchronous = false)
 *   FAKE_PJRT_OPTIONS=known|none|any   create options: only cpu_device_count and asynchronous, each
 *                                      of its type, are accepted; none is; any is
 *   FAKE_PJRT_ATTRIBUTES=all|none|odd  odd: of other types and lengths than is usual
 *   FAKE_PJRT_STABLEHLO_CURRENT=1.2.3  StableHLO versions; "" leaves the attribute out
 *   FAKE_PJRT_STABLEHLO_MINIMUM=1.2.3
 *
 * Exported for tests, found by dlsym: fake_pjrt_configure() reads the environment anew and starts
 * the counts of calls at 0; fake_pjrt_calls(name); fake_pjrt_point_name(index), NULL after the
 * last; fake_pjrt_live_objects(kind), kinds in the order of fake_kind, -1 after the last;
 * fake_pjrt_create_options(), those of the last client as text.
 */
#include "fake_plugin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { ALIGNMENT = 64, MAX_DEVICES = 8 };
enum { POISON_FRESH = 0xAA, POISON_FREED = 0xDD, POISON_WRITTEN = 0xA5 };

/* ---- objects ---- */

struct PJRT_Device {
  int number;
};

struct PJRT_Client {
  PJRT_Device devices[MAX_DEVICES];
  PJRT_Device *device_list[MAX_DEVICES];
  bool asynchronous;
};

/* What buffers hold; an execution may need it longer than its buffer lives. */
typedef struct memory {
  atomic_int references;
  unsigned char *bytes;
  size_t size;
  bool owned;
} memory;

/* A run that may still have to be done. */
typedef struct execution {
  atomic_int references;
  atomic_bool done;
  fake_program *program;
  memory *inputs[MAX_ARRAYS];
  memory *outputs[MAX_ARRAYS];
} execution;

struct PJRT_Buffer {
  memory *memory;
  execution *execution; /* that computes it; NULL: it is there */
  bool donated;
};

/* Something to be done or awaited: an execution, a copy to or from the host. */
struct PJRT_Event {
  fake_point point;
  execution *execution;
  memory *memory;    /* keeps what is copied alive */
  void *destination; /* NULL: no copy */
  const void *source;
  size_t size;
};

struct PJRT_LoadedExecutable {
  const PJRT_Client *client;
  fake_program *program;
};

struct PJRT_Executable {
  fake_program *program;
};

struct PJRT_SerializedExecutable {
  size_t size;
  char bytes[];
};

static memory *memory_create(void *bytes, size_t size) {
  memory *made = fake__new(KIND_MEMORY, sizeof *made);
  made->references = 1;
  made->size = size;
  made->bytes = bytes;
  if (!bytes) {
    const size_t padded = (size / ALIGNMENT + 1) * ALIGNMENT;
    made->bytes = aligned_alloc(ALIGNMENT, padded);
    if (!made->bytes) abort();
    memset(made->bytes, POISON_FRESH, padded);
    made->owned = true;
  }
  return made;
}

static memory *memory_share(memory *shared) {
  ++shared->references;
  return shared;
}

static void memory_release(memory *released) {
  if (!released || --released->references) return;
  if (released->owned) {
    memset(released->bytes, POISON_FREED, released->size);
    free(released->bytes);
  }
  fake__delete(KIND_MEMORY, released);
}

static execution *execution_share(execution *shared) {
  if (shared) ++shared->references;
  return shared;
}

static void execution_release(execution *released) {
  if (!released || --released->references) return;
  const fake_program *program = released->program;
  for (size_t i = 0; i < program->input_count; ++i) memory_release(released->inputs[i]);
  for (size_t i = 0; i < program->output_count; ++i) memory_release(released->outputs[i]);
  fake__program_release(released->program);
  free(released);
}

static void execution_finish(execution *finished) {
  if (!finished || finished->done) return;
  const fake_program *program = finished->program;
  for (size_t i = 0; i < program->output_count; ++i) {
    const fake_array *output = &program->outputs[i];
    const void *source = output->source < 0 ? NULL : finished->inputs[output->source]->bytes;
    fake__program_run(output, source, finished->outputs[i]->bytes);
  }
  finished->done = true;
}

static PJRT_Event *event_create(fake_point point) {
  PJRT_Event *event = fake__new(KIND_EVENT, sizeof *event);
  event->point = point;
  return event;
}

static void event_finish(PJRT_Event *event) {
  execution_finish(event->execution);
  if (event->destination) memcpy(event->destination, event->source, event->size);
  event->destination = NULL;
}

/* ---- entering a function ---- */

/* What XLA checks of an argument struct, and what a newer plugin does with it: it reads what it
 * expects in the first eight bytes that we don't know, and writes to the others. */
static PJRT_Error *check_args(const char *name, void *args, size_t known_size) {
  size_t size;
  memcpy(&size, args, sizeof size);
  const size_t extra = fake__config.extra_args;
  if (size < known_size + extra)
    return fake__error(PJRT_Error_Code_INVALID_ARGUMENT,
                       "Unexpected %s size: expected %zu, got %zu. Check installed software "
                       "versions.",
                       name, known_size + extra, size);
  if (!extra) return NULL;
  unsigned char *spare = (unsigned char *)args + known_size;
  uint64_t given;
  memcpy(&given, spare, sizeof given);
  memset(spare + sizeof given, POISON_WRITTEN, extra - sizeof given);
  if (!given) return NULL;
  return fake__error(PJRT_Error_Code_INVALID_ARGUMENT, "%s has %" PRIx64 " where nothing was given",
                     name, given);
}

static PJRT_Error *enter(fake_point point, const char *name, void *args, size_t known_size) {
  PJRT_Error *fault = fake__visit(point);
  PJRT_Error *mistake = check_args(name, args, known_size);
  if (!fault) return mistake;
  if (mistake) fake__delete(KIND_ERROR, mistake);
  return fault;
}

#define FUNCTION(name) static PJRT_Error *fake_##name(name##_Args *args)

/* In a function of its own struct `args`: the error with which it starts, or NULL. */
#define ENTER(name) enter(POINT_##name, #name "_Args", args, sizeof *args)

#define RETURN_IF_ERROR(call)    \
  do {                           \
    PJRT_Error *error_ = (call); \
    if (error_) return error_;   \
  } while (0)

/* ---- errors ---- */

/* The first two can't fail, and so take structs of any size. */
static void fake_PJRT_Error_Destroy(PJRT_Error_Destroy_Args *args) {
  PJRT_Error *fault = fake__visit(POINT_PJRT_Error_Destroy);
  if (fault) fake__delete(KIND_ERROR, fault);
  fake__delete(KIND_ERROR, args->error);
}

static void fake_PJRT_Error_Message(PJRT_Error_Message_Args *args) {
  PJRT_Error *fault = fake__visit(POINT_PJRT_Error_Message);
  if (fault) {
    /* It can't report that it fails; a plugin might leave the members alone then. */
    fake__delete(KIND_ERROR, fault);
    return;
  }
  args->message = args->error->message;
  args->message_size = strlen(args->error->message);
}

FUNCTION(PJRT_Error_GetCode) {
  RETURN_IF_ERROR(ENTER(PJRT_Error_GetCode));
  args->code = (PJRT_Error_Code)args->error->code;
  return NULL;
}

/* ---- plugin ---- */

FUNCTION(PJRT_Plugin_Initialize) {
  return ENTER(PJRT_Plugin_Initialize);
}

FUNCTION(PJRT_Plugin_Attributes) {
  RETURN_IF_ERROR(ENTER(PJRT_Plugin_Attributes));
  static PJRT_NamedValue values[3];
  if (fake__config.no_attributes) {
    args->attributes = NULL;
    args->num_attributes = 0;
    return NULL;
  }
#define VALUE(text) \
  (PJRT_NamedValue){.struct_size = sizeof(PJRT_NamedValue), .name = text, .name_size = strlen(text)}
  size_t count = 0;
  values[count] = VALUE("xla_version");
  values[count].type =
      fake__config.odd_attributes ? PJRT_NamedValue_kFloat : PJRT_NamedValue_kInt64;
  values[count].int64_value = 2;
  values[count++].value_size = 1;
  if (fake__config.stablehlo_current[0] >= 0) {
    values[count] = VALUE("stablehlo_current_version");
    values[count].type = PJRT_NamedValue_kInt64List;
    values[count].int64_array_value = fake__config.stablehlo_current;
    values[count++].value_size = fake__config.odd_attributes ? 2 : 3;
  }
  if (fake__config.stablehlo_minimum[0] >= 0) {
    values[count] = VALUE("stablehlo_minimum_version");
    values[count].type = PJRT_NamedValue_kInt64List;
    values[count].int64_array_value = fake__config.stablehlo_minimum;
    values[count++].value_size = fake__config.odd_attributes ? 1 : 3;
  }
#undef VALUE
  args->attributes = values;
  args->num_attributes = count;
  return NULL;
}

/* ---- events ---- */

FUNCTION(PJRT_Event_Destroy) {
  PJRT_Error *fault = ENTER(PJRT_Event_Destroy);
  execution_release(args->event->execution);
  memory_release(args->event->memory);
  fake__delete(KIND_EVENT, args->event);
  return fault;
}

FUNCTION(PJRT_Event_Await) {
  RETURN_IF_ERROR(ENTER(PJRT_Event_Await));
  RETURN_IF_ERROR(fake__visit(args->event->point));
  event_finish(args->event);
  return NULL;
}

/* ---- client ---- */

static char create_options[512];

EXPORT const char *fake_pjrt_create_options(void);
EXPORT const char *fake_pjrt_create_options(void) {
  return create_options;
}

/* Appends one option to `create_options`, as name=value. */
static void record_option(const PJRT_NamedValue *option) {
  size_t used = strlen(create_options);
#define APPEND(...) \
  used += (size_t)snprintf(create_options + used, sizeof create_options - used, __VA_ARGS__)
  APPEND("%s%.*s=", used ? ";" : "", (int)option->name_size, option->name);
  switch (option->type) {
    case PJRT_NamedValue_kString:
      APPEND("\"%.*s\"", (int)option->value_size, option->string_value);
      break;
    case PJRT_NamedValue_kInt64:
      APPEND("%" PRId64, option->int64_value);
      break;
    case PJRT_NamedValue_kInt64List:
      for (size_t i = 0; i < option->value_size; ++i)
        APPEND("%s%" PRId64, i ? "," : "[", option->int64_array_value[i]);
      APPEND("]");
      break;
    case PJRT_NamedValue_kFloat:
      APPEND("%gf", (double)option->float_value);
      break;
    case PJRT_NamedValue_kBool:
      APPEND("%s", option->bool_value ? "true" : "false");
      break;
  }
#undef APPEND
}

static bool is_named(const PJRT_NamedValue *option, const char *name, PJRT_NamedValue_Type type) {
  return option->type == type && option->name_size == strlen(name) &&
         !strncmp(option->name, name, option->name_size);
}

static PJRT_Error *apply_option(PJRT_Client *client, const PJRT_NamedValue *option) {
  if (option->struct_size < sizeof *option)
    return fake__error(PJRT_Error_Code_INVALID_ARGUMENT, "Unexpected PJRT_NamedValue size: %zu",
                       option->struct_size);
  record_option(option);
  if (fake__config.options == ANY_OPTIONS) return NULL;
  if (fake__config.options == KNOWN_OPTIONS) {
    if (is_named(option, "cpu_device_count", PJRT_NamedValue_kInt64)) return NULL;
    if (is_named(option, "asynchronous", PJRT_NamedValue_kBool)) {
      if (fake__config.async == OBEYS_OPTION) client->asynchronous = option->bool_value;
      return NULL;
    }
  }
  return fake__error(PJRT_Error_Code_INVALID_ARGUMENT, "Unexpected option name passed to %s: %.*s",
                     "PJRT_Client_Create", (int)option->name_size, option->name);
}

FUNCTION(PJRT_Client_Create) {
  RETURN_IF_ERROR(ENTER(PJRT_Client_Create));
  PJRT_Client *client = fake__new(KIND_CLIENT, sizeof *client);
  client->asynchronous = fake__config.async != SYNCHRONOUS;
  create_options[0] = 0;
  PJRT_Error *error = NULL;
  for (size_t i = 0; i < args->num_options && !error; ++i)
    error = apply_option(client, &args->create_options[i]);
  if (error) {
    fake__delete(KIND_CLIENT, client);
    return error;
  }
  for (int i = 0; i < MAX_DEVICES; ++i) {
    client->devices[i].number = i;
    client->device_list[i] = &client->devices[i];
  }
  args->client = client;
  return NULL;
}

FUNCTION(PJRT_Client_Destroy) {
  PJRT_Error *fault = ENTER(PJRT_Client_Destroy);
  fake__delete(KIND_CLIENT, args->client);
  return fault;
}

FUNCTION(PJRT_Client_PlatformName) {
  RETURN_IF_ERROR(ENTER(PJRT_Client_PlatformName));
  args->platform_name = fake__config.platform;
  args->platform_name_size = strlen(fake__config.platform);
  return NULL;
}

FUNCTION(PJRT_Client_PlatformVersion) {
  RETURN_IF_ERROR(ENTER(PJRT_Client_PlatformVersion));
  args->platform_version = "fake 1.0, not terminated";
  args->platform_version_size = strlen("fake 1.0");
  return NULL;
}

FUNCTION(PJRT_Client_AddressableDevices) {
  RETURN_IF_ERROR(ENTER(PJRT_Client_AddressableDevices));
  args->addressable_devices = args->client->device_list;
  args->num_addressable_devices = fake__config.device_count;
  return NULL;
}

/* ---- executables ---- */

static PJRT_Error *load_program(const PJRT_Client *client, const char *text, size_t size,
                                PJRT_LoadedExecutable **out_executable) {
  fake_program *program;
  RETURN_IF_ERROR(fake__program_parse(text, size, &program));
  *out_executable = fake__new(KIND_LOADED_EXECUTABLE, sizeof **out_executable);
  **out_executable = (PJRT_LoadedExecutable){.client = client, .program = program};
  return NULL;
}

FUNCTION(PJRT_Client_Compile) {
  RETURN_IF_ERROR(ENTER(PJRT_Client_Compile));
  const PJRT_Program *program = args->program;
  if (program->struct_size < sizeof *program || program->format_size != strlen("mlir") ||
      strncmp(program->format, "mlir", program->format_size))
    return fake__error(PJRT_Error_Code_INVALID_ARGUMENT, "this is no PJRT_Program of format mlir");
  if (!args->compile_options || !args->compile_options_size)
    return fake__error(PJRT_Error_Code_INVALID_ARGUMENT, "there are no compile options");
  return load_program(args->client, program->code, program->code_size, &args->executable);
}

static const char serialized_magic[8] = "FAKEEXE1";

static void delete_serialized(PJRT_SerializedExecutable *serialized) {
  memset(serialized->bytes, POISON_FREED, serialized->size);
  fake__delete(KIND_SERIALIZED_EXECUTABLE, serialized);
}

FUNCTION(PJRT_Executable_Serialize) {
  RETURN_IF_ERROR(ENTER(PJRT_Executable_Serialize));
  const fake_program *program = args->executable->program;
  const size_t size = sizeof serialized_magic + program->text_size;
  PJRT_SerializedExecutable *serialized =
      fake__new(KIND_SERIALIZED_EXECUTABLE, sizeof *serialized + size);
  serialized->size = size;
  memcpy(serialized->bytes, serialized_magic, sizeof serialized_magic);
  memcpy(serialized->bytes + sizeof serialized_magic, program->text, program->text_size);
  args->serialized_bytes = serialized->bytes;
  args->serialized_bytes_size = size;
  args->serialized_executable = serialized;
  args->serialized_executable_deleter = delete_serialized;
  return NULL;
}

FUNCTION(PJRT_Executable_DeserializeAndLoad) {
  RETURN_IF_ERROR(ENTER(PJRT_Executable_DeserializeAndLoad));
  const size_t header_size = sizeof serialized_magic;
  if (args->serialized_executable_size < header_size ||
      memcmp(args->serialized_executable, serialized_magic, header_size))
    return fake__error(PJRT_Error_Code_INVALID_ARGUMENT, "this is no serialized executable");
  return load_program(args->client, args->serialized_executable + header_size,
                      args->serialized_executable_size - header_size, &args->loaded_executable);
}

FUNCTION(PJRT_LoadedExecutable_Destroy) {
  PJRT_Error *fault = ENTER(PJRT_LoadedExecutable_Destroy);
  fake__program_release(args->executable->program);
  fake__delete(KIND_LOADED_EXECUTABLE, args->executable);
  return fault;
}

FUNCTION(PJRT_LoadedExecutable_GetExecutable) {
  RETURN_IF_ERROR(ENTER(PJRT_LoadedExecutable_GetExecutable));
  PJRT_Executable *executable = fake__new(KIND_EXECUTABLE, sizeof *executable);
  executable->program = fake__program_share(args->loaded_executable->program);
  args->executable = executable;
  return NULL;
}

FUNCTION(PJRT_Executable_Destroy) {
  PJRT_Error *fault = ENTER(PJRT_Executable_Destroy);
  fake__program_release(args->executable->program);
  fake__delete(KIND_EXECUTABLE, args->executable);
  return fault;
}

FUNCTION(PJRT_Executable_NumOutputs) {
  RETURN_IF_ERROR(ENTER(PJRT_Executable_NumOutputs));
  args->num_outputs = args->executable->program->output_count;
  return NULL;
}

FUNCTION(PJRT_Executable_OutputElementTypes) {
  RETURN_IF_ERROR(ENTER(PJRT_Executable_OutputElementTypes));
  args->output_types = args->executable->program->output_types;
  args->num_output_types = args->executable->program->output_count;
  return NULL;
}

FUNCTION(PJRT_Executable_OutputDimensions) {
  RETURN_IF_ERROR(ENTER(PJRT_Executable_OutputDimensions));
  args->num_outputs = args->executable->program->output_count;
  args->dims = args->executable->program->output_dimensions;
  args->dim_sizes = args->executable->program->output_ranks;
  return NULL;
}

FUNCTION(PJRT_Executable_GetCompiledMemoryStats) {
  RETURN_IF_ERROR(ENTER(PJRT_Executable_GetCompiledMemoryStats));
  const fake_program *program = args->executable->program;
  args->generated_code_size_in_bytes = 1234;
  args->temp_size_in_bytes = 56;
  args->alias_size_in_bytes = 0;
  for (size_t i = 0; i < program->input_count; ++i)
    if (program->inputs[i].donated) args->alias_size_in_bytes += (int64_t)program->inputs[i].size;
  return NULL;
}

/* ---- buffers ---- */

static size_t element_size(PJRT_Buffer_Type type) {
  static const unsigned char sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16};
  return (size_t)type < sizeof sizes ? sizes[type] : 0;
}

static PJRT_Buffer *buffer_create(memory *taken) {
  PJRT_Buffer *buffer = fake__new(KIND_BUFFER, sizeof *buffer);
  buffer->memory = taken;
  return buffer;
}

FUNCTION(PJRT_Client_BufferFromHostBuffer) {
  RETURN_IF_ERROR(ENTER(PJRT_Client_BufferFromHostBuffer));
  size_t size = element_size(args->type);
  for (size_t i = 0; i < args->num_dims; ++i) size *= (size_t)args->dims[i];
  if (!element_size(args->type) || !args->data || args->device != &args->client->devices[0])
    return fake__error(PJRT_Error_Code_INVALID_ARGUMENT, "bad type, data or device of a buffer");
  const bool zero_copy = args->host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy;
  const bool alias =
      zero_copy && !fake__config.device_memory && (uintptr_t)args->data % ALIGNMENT == 0;
  memory *made = memory_create(alias ? (void *)args->data : NULL, size);
  PJRT_Event *done = event_create(POINT_EVENT_HOST_BUFFER);
  if (!alias) {
    done->memory = memory_share(made);
    done->source = args->data;
    done->destination = made->bytes;
    done->size = size;
    /* The array is the caller's again at once, unless he agreed to wait for the event. */
    if (!zero_copy || !args->client->asynchronous) event_finish(done);
  }
  args->done_with_host_buffer = done;
  args->buffer = buffer_create(made);
  return NULL;
}

FUNCTION(PJRT_Buffer_Destroy) {
  PJRT_Error *fault = ENTER(PJRT_Buffer_Destroy);
  memory_release(args->buffer->memory);
  execution_release(args->buffer->execution);
  fake__delete(KIND_BUFFER, args->buffer);
  return fault;
}

static bool is_row_major(const PJRT_Buffer_MemoryLayout *layout) {
  if (!layout) return true;
  if (layout->struct_size < sizeof *layout || layout->type != PJRT_Buffer_MemoryLayout_Type_Tiled ||
      layout->tiled.struct_size < sizeof layout->tiled || layout->tiled.num_tiles)
    return false;
  const size_t rank = layout->tiled.minor_to_major_size;
  for (size_t i = 0; i < rank; ++i)
    if (layout->tiled.minor_to_major[i] != (int64_t)(rank - 1 - i)) return false;
  return true;
}

FUNCTION(PJRT_Buffer_ToHostBuffer) {
  RETURN_IF_ERROR(ENTER(PJRT_Buffer_ToHostBuffer));
  PJRT_Buffer *buffer = args->src;
  if (!is_row_major(args->host_layout))
    return fake__error(PJRT_Error_Code_UNIMPLEMENTED, "host layout is not row-major");
  if (args->dst_size < buffer->memory->size)
    return fake__error(PJRT_Error_Code_INVALID_ARGUMENT, "dst_size is %zu and must be %zu",
                       args->dst_size, buffer->memory->size);
  PJRT_Event *event = event_create(POINT_EVENT_READ);
  event->execution = execution_share(buffer->execution);
  event->memory = memory_share(buffer->memory);
  event->source = buffer->memory->bytes;
  event->destination = args->dst;
  event->size = buffer->memory->size;
  if (fake__config.async == SYNCHRONOUS) event_finish(event);
  args->event = event;
  return NULL;
}

FUNCTION(PJRT_Buffer_OpaqueDeviceMemoryDataPointer) {
  RETURN_IF_ERROR(ENTER(PJRT_Buffer_OpaqueDeviceMemoryDataPointer));
  /* An address of device memory means nothing to the host: reading there ends the process. */
  const uintptr_t address = (uintptr_t)args->buffer->memory->bytes;
  args->device_memory_ptr =
      fake__config.device_memory ? (void *)(address | (uintptr_t)1 << 63) : (void *)address;
  return NULL;
}

/* ---- execution ---- */

static PJRT_Error *check_options(PJRT_ExecuteOptions *options) {
  return check_args("PJRT_ExecuteOptions", options, sizeof *options);
}

static PJRT_Error *check_arguments(const fake_program *program,
                                   const PJRT_LoadedExecutable_Execute_Args *args) {
  if (args->num_devices != 1 || args->num_args != program->input_count)
    return fake__error(PJRT_Error_Code_INVALID_ARGUMENT,
                       "Execution supplied %zu buffers but compiled program expected %zu buffers",
                       args->num_args, program->input_count);
  for (size_t i = 0; i < args->num_args; ++i) {
    const PJRT_Buffer *buffer = args->argument_lists[0][i];
    if (buffer->donated)
      return fake__error(PJRT_Error_Code_INVALID_ARGUMENT,
                         "Buffer passed to Execute() as argument %zu has been deleted or donated.",
                         i);
    if (buffer->memory->size != program->inputs[i].size)
      return fake__error(PJRT_Error_Code_INVALID_ARGUMENT,
                         "Program expected parameter %zu of size %zu but got buffer with "
                         "incompatible size %zu",
                         i, program->inputs[i].size, buffer->memory->size);
  }
  return NULL;
}

static bool may_donate(const PJRT_ExecuteOptions *options, size_t index) {
  for (size_t i = 0; i < options->num_non_donatable_input_indices; ++i)
    if (options->non_donatable_input_indices[i] == (int64_t)index) return false;
  return true;
}

static execution *execution_create(fake_program *program,
                                   const PJRT_LoadedExecutable_Execute_Args *args) {
  execution *made = calloc(1, sizeof *made);
  if (!made) abort();
  made->references = 1;
  made->program = fake__program_share(program);
  for (size_t i = 0; i < program->input_count; ++i) {
    PJRT_Buffer *buffer = args->argument_lists[0][i];
    made->inputs[i] = memory_share(buffer->memory);
    if (program->inputs[i].donated && may_donate(args->options, i)) buffer->donated = true;
  }
  for (size_t i = 0; i < program->output_count; ++i)
    made->outputs[i] = memory_create(NULL, program->outputs[i].size);
  return made;
}

FUNCTION(PJRT_LoadedExecutable_Execute) {
  RETURN_IF_ERROR(ENTER(PJRT_LoadedExecutable_Execute));
  RETURN_IF_ERROR(check_options(args->options));
  fake_program *program = args->executable->program;
  RETURN_IF_ERROR(check_arguments(program, args));
  execution *run = execution_create(program, args);
  for (size_t i = 0; i < program->output_count; ++i) {
    PJRT_Buffer *buffer = buffer_create(memory_share(run->outputs[i]));
    buffer->execution = execution_share(run);
    args->output_lists[0][i] = buffer;
  }
  if (!args->executable->client->asynchronous) execution_finish(run);
  if (args->device_complete_events) {
    PJRT_Event *complete = event_create(POINT_EVENT_EXECUTE);
    complete->execution = execution_share(run);
    args->device_complete_events[0] = complete;
  }
  execution_release(run);
  return NULL;
}

/* ---- the table ---- */

EXPORT void fake_pjrt_configure(void);
EXPORT const PJRT_Api *GetPjrtApi(void);

EXPORT const PJRT_Api *GetPjrtApi(void) {
  static union {
    PJRT_Api api;
    unsigned char bytes[sizeof(PJRT_Api) + 1024];
  } table;
  static const PJRT_Api functions = {
#define FAKE_SLOT(name) .name = fake_##name,
      FAKE_FUNCTIONS(FAKE_SLOT)
#undef FAKE_SLOT
  };
  fake_pjrt_configure();
  if (fake__config.no_api) return NULL;
  memset(&table, POISON_WRITTEN, sizeof table);
  table.api = functions;
#define FAKE_NULL(slot) \
  if (fake__config.null_slots[POINT_##slot]) table.api.slot = NULL;
  FAKE_FUNCTIONS(FAKE_NULL)
#undef FAKE_NULL
  size_t size = sizeof table.api + fake__config.extra_table;
  if (fake__config.table_size) {
    size = fake__config.table_size;
    if (size < sizeof table) memset(table.bytes + size, POISON_WRITTEN, sizeof table - size);
  }
  table.api.pjrt_api_version = (PJRT_Api_Version){.struct_size = sizeof(PJRT_Api_Version),
                                                  .major_version = fake__config.major,
                                                  .minor_version = fake__config.minor};
  table.api.struct_size = size;
  return &table.api;
}
