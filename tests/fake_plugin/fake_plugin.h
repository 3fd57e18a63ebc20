/* Inside of the fake plugin: what its files share.  See fake_plugin.c for what it is. */
#ifndef FAKE_PLUGIN_H
#define FAKE_PLUGIN_H

#include <stdatomic.h>

#include "pjrt/pjrt_abi.h"

/* ---- points: where a fault can be put, and what is counted ---- */

#define FAKE_FUNCTIONS(X)                      \
  X(PJRT_Error_Destroy)                        \
  X(PJRT_Error_Message)                        \
  X(PJRT_Error_GetCode)                        \
  X(PJRT_Plugin_Initialize)                    \
  X(PJRT_Plugin_Attributes)                    \
  X(PJRT_Event_Destroy)                        \
  X(PJRT_Event_Await)                          \
  X(PJRT_Client_Create)                        \
  X(PJRT_Client_Destroy)                       \
  X(PJRT_Client_PlatformName)                  \
  X(PJRT_Client_PlatformVersion)               \
  X(PJRT_Client_AddressableDevices)            \
  X(PJRT_Client_Compile)                       \
  X(PJRT_Client_BufferFromHostBuffer)          \
  X(PJRT_Executable_Destroy)                   \
  X(PJRT_Executable_NumOutputs)                \
  X(PJRT_Executable_Serialize)                 \
  X(PJRT_LoadedExecutable_Destroy)             \
  X(PJRT_LoadedExecutable_GetExecutable)       \
  X(PJRT_LoadedExecutable_Execute)             \
  X(PJRT_Executable_DeserializeAndLoad)        \
  X(PJRT_Buffer_Destroy)                       \
  X(PJRT_Buffer_ToHostBuffer)                  \
  X(PJRT_Buffer_OpaqueDeviceMemoryDataPointer) \
  X(PJRT_Executable_OutputElementTypes)        \
  X(PJRT_Executable_OutputDimensions)          \
  X(PJRT_Executable_GetCompiledMemoryStats)

typedef enum fake_point {
#define FAKE_POINT(name) POINT_##name,
  FAKE_FUNCTIONS(FAKE_POINT)
#undef FAKE_POINT
      FUNCTION_COUNT,
  /* Errors inside events: found out when the event is awaited. */
  POINT_EVENT_HOST_BUFFER = FUNCTION_COUNT, /* "event.host_buffer": done with the host array */
  POINT_EVENT_EXECUTE,                      /* "event.execute": an execution is complete */
  POINT_EVENT_READ,                         /* "event.read": a copy to the host is complete */
  POINT_COUNT
} fake_point;

/* ---- configuration, from the environment ---- */

typedef enum fake_async { SYNCHRONOUS, OBEYS_OPTION, ALWAYS_ASYNCHRONOUS } fake_async;
typedef enum fake_options { KNOWN_OPTIONS, NO_OPTIONS, ANY_OPTIONS } fake_options;

typedef struct fake_config {
  bool no_api;
  int major, minor;
  size_t table_size; /* 0: all of it */
  size_t extra_table;
  size_t extra_args;
  bool null_slots[FUNCTION_COUNT];
  char platform[64];
  size_t device_count;
  bool device_memory;
  fake_async async;
  fake_options options;
  bool no_attributes, odd_attributes;
  int64_t stablehlo_current[3], stablehlo_minimum[3]; /* {-1, ..}: not said */
} fake_config;

extern fake_config fake__config;

/* Counts a visit of `point`; the error that a rule wants there, or NULL. */
PJRT_Error *fake__visit(fake_point point);

/* ---- objects ---- */

typedef enum fake_kind {
  KIND_ERROR,
  KIND_EVENT,
  KIND_CLIENT,
  KIND_BUFFER,
  KIND_MEMORY, /* of buffers; outlives them where an execution still uses it */
  KIND_LOADED_EXECUTABLE,
  KIND_EXECUTABLE,
  KIND_SERIALIZED_EXECUTABLE,
  KIND_COUNT
} fake_kind;

/* calloc, or the end of the process: lack of memory is no fault of this plugin's to show. */
void *fake__new(fake_kind kind, size_t size);
void fake__delete(fake_kind kind, void *object);

PJRT_Error *fake__error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct PJRT_Error {
  int code;
  char message[256];
};

/* ---- programs ---- */

enum { MAX_RANK = 8, MAX_ARRAYS = 256 };

typedef struct fake_array {
  PJRT_Buffer_Type type;
  size_t rank;
  int64_t dimensions[MAX_RANK];
  size_t size;   /* bytes */
  bool donated;  /* inputs only */
  int source;    /* outputs only: input that it is made of; -1: none */
  double factor; /* outputs only: what it is multiplied by, or filled with */
} fake_array;

typedef struct fake_program {
  atomic_int references;
  size_t input_count, output_count;
  fake_array inputs[MAX_ARRAYS], outputs[MAX_ARRAYS];
  /* What OutputElementTypes and OutputDimensions hand out. */
  PJRT_Buffer_Type output_types[MAX_ARRAYS];
  int64_t output_dimensions[MAX_ARRAYS * MAX_RANK];
  size_t output_ranks[MAX_ARRAYS];
  size_t text_size;
  char text[];
} fake_program;

PJRT_Error *fake__program_parse(const char *text, size_t size, fake_program **out_program);
fake_program *fake__program_share(fake_program *program);
void fake__program_release(fake_program *program);

/* Computes one output. */
void fake__program_run(const fake_array *output, const void *source, void *destination);

#endif
