/* The part of the PJRT C API that cyxla uses, declared by us.
 *
 * PJRT is a binary interface: a plugin exports `GetPjrtApi()`, which returns a table of function
 * pointers; every function takes one argument struct.  Only layouts, numbers and names cross the
 * border, so they are all that this file states.  tests/python/test_pjrt_abi.py compiles each size,
 * offset and number below against the `pjrt_c_api.h` that the PyPI package `xla-cpu-pjrt` ships.
 *
 * Rules of the interface (versions: major 0; minor 81 to 115 were tried):
 *  - a struct starts with its size, and so the callee sees which fields the caller knows.  Fields
 *    and table slots are only ever appended.  A plugin refuses a struct that is smaller than its
 * own and accepts a larger one; see PJRT_ARGS in api.h for what follows from it.
 *  - NULL as an error means success; any other PJRT_Error is the caller's to destroy.
 *  - fields marked "out" are written by the plugin.
 */
#ifndef CYXLA_PJRT_ABI_H
#define CYXLA_PJRT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PJRT_API_MAJOR 0

typedef struct PJRT_Error PJRT_Error;
typedef struct PJRT_Event PJRT_Event;
typedef struct PJRT_Client PJRT_Client;
typedef struct PJRT_Device PJRT_Device;
typedef struct PJRT_Memory PJRT_Memory;
typedef struct PJRT_Executable PJRT_Executable;
typedef struct PJRT_LoadedExecutable PJRT_LoadedExecutable;
typedef struct PJRT_SerializedExecutable PJRT_SerializedExecutable;
typedef struct PJRT_Buffer PJRT_Buffer;
typedef struct PJRT_ExecuteContext PJRT_ExecuteContext;
typedef struct PJRT_SendCallbackInfo PJRT_SendCallbackInfo;
typedef struct PJRT_RecvCallbackInfo PJRT_RecvCallbackInfo;
typedef struct PJRT_Extension_Base PJRT_Extension_Base;

/* ---- enumerations ---- */

typedef enum {
  PJRT_Error_Code_OK = 0,
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_ALREADY_EXISTS = 6,
  PJRT_Error_Code_PERMISSION_DENIED = 7,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_ABORTED = 10,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
  PJRT_Error_Code_DATA_LOSS = 15,
  PJRT_Error_Code_UNAUTHENTICATED = 16
} PJRT_Error_Code;

typedef enum {
  PJRT_NamedValue_kString = 0,
  PJRT_NamedValue_kInt64 = 1,
  PJRT_NamedValue_kInt64List = 2,
  PJRT_NamedValue_kFloat = 3,
  PJRT_NamedValue_kBool = 4
} PJRT_NamedValue_Type;

typedef enum {
  PJRT_Buffer_Type_INVALID = 0,
  PJRT_Buffer_Type_PRED = 1,
  PJRT_Buffer_Type_S8 = 2,
  PJRT_Buffer_Type_S16 = 3,
  PJRT_Buffer_Type_S32 = 4,
  PJRT_Buffer_Type_S64 = 5,
  PJRT_Buffer_Type_U8 = 6,
  PJRT_Buffer_Type_U16 = 7,
  PJRT_Buffer_Type_U32 = 8,
  PJRT_Buffer_Type_U64 = 9,
  PJRT_Buffer_Type_F16 = 10,
  PJRT_Buffer_Type_F32 = 11,
  PJRT_Buffer_Type_F64 = 12,
  PJRT_Buffer_Type_BF16 = 13,
  PJRT_Buffer_Type_C64 = 14,
  PJRT_Buffer_Type_C128 = 15
} PJRT_Buffer_Type;

typedef enum {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,
  PJRT_HostBufferSemantics_kImmutableZeroCopy = 2
} PJRT_HostBufferSemantics;

typedef enum { PJRT_Buffer_MemoryLayout_Type_Tiled = 0 } PJRT_Buffer_MemoryLayout_Type;

/* ---- structs that are not arguments ---- */

typedef struct PJRT_Api_Version {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  int major_version;
  int minor_version;
} PJRT_Api_Version;

typedef struct PJRT_NamedValue {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *name;
  size_t name_size;
  PJRT_NamedValue_Type type;
  union {
    const char *string_value;
    int64_t int64_value;
    const int64_t *int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size; /* elements of an array or string, 1 for a scalar */
} PJRT_NamedValue;

typedef struct PJRT_Program {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  char *code;
  size_t code_size;
  const char *format;
  size_t format_size;
} PJRT_Program;

typedef struct PJRT_Buffer_MemoryLayout_Tiled {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const int64_t *minor_to_major;
  size_t minor_to_major_size;
  const int64_t *tile_dims;
  const size_t *tile_dim_sizes;
  size_t num_tiles;
} PJRT_Buffer_MemoryLayout_Tiled;

typedef struct PJRT_Buffer_MemoryLayout {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  union {
    PJRT_Buffer_MemoryLayout_Tiled tiled; /* the other member, strides, is smaller */
  };
  PJRT_Buffer_MemoryLayout_Type type;
} PJRT_Buffer_MemoryLayout;

typedef struct PJRT_ExecuteOptions {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_SendCallbackInfo **send_callbacks;
  PJRT_RecvCallbackInfo **recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int launch_id;
  const int64_t *non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext *context;
  const char *call_location;
  size_t num_tasks;
  int *task_ids;
  int64_t *incarnation_ids;
} PJRT_ExecuteOptions;

/* ---- argument structs, one per function, in the order of the table ---- */

typedef struct PJRT_Error_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Error *error;
} PJRT_Error_Destroy_Args;

typedef struct PJRT_Error_Message_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_Error *error;
  const char *message; /* out; lives as long as `error` */
  size_t message_size; /* out */
} PJRT_Error_Message_Args;

typedef struct PJRT_Error_GetCode_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_Error *error;
  PJRT_Error_Code code; /* out */
} PJRT_Error_GetCode_Args;

typedef struct PJRT_Plugin_Initialize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
} PJRT_Plugin_Initialize_Args;

typedef struct PJRT_Plugin_Attributes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_NamedValue *attributes; /* out; lives as long as the process */
  size_t num_attributes;             /* out */
} PJRT_Plugin_Attributes_Args;

typedef struct PJRT_Event_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
} PJRT_Event_Destroy_Args;

typedef struct PJRT_Event_Await_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Event *event;
} PJRT_Event_Await_Args;

typedef struct PJRT_Client_Create_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_NamedValue *create_options;
  size_t num_options;
  void (*kv_get_callback)(void); /* the key-value callbacks are for several hosts: always NULL */
  void *kv_get_user_arg;
  void (*kv_put_callback)(void);
  void *kv_put_user_arg;
  PJRT_Client *client; /* out */
  void (*kv_try_get_callback)(void);
  void *kv_try_get_user_arg;
} PJRT_Client_Create_Args;

typedef struct PJRT_Client_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
} PJRT_Client_Destroy_Args;

typedef struct PJRT_Client_PlatformName_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const char *platform_name; /* out; lives as long as `client` */
  size_t platform_name_size; /* out */
} PJRT_Client_PlatformName_Args;

typedef struct PJRT_Client_PlatformVersion_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const char *platform_version; /* out; lives as long as `client` */
  size_t platform_version_size; /* out */
} PJRT_Client_PlatformVersion_Args;

typedef struct PJRT_Client_AddressableDevices_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Device *const *addressable_devices; /* out; lives as long as `client` */
  size_t num_addressable_devices;          /* out */
} PJRT_Client_AddressableDevices_Args;

typedef struct PJRT_Client_Compile_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const PJRT_Program *program;
  const char *compile_options; /* an xla.CompileOptionsProto, see compile_options.h */
  size_t compile_options_size;
  PJRT_LoadedExecutable *executable; /* out */
} PJRT_Client_Compile_Args;

typedef struct PJRT_Client_BufferFromHostBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const void *data;
  PJRT_Buffer_Type type;
  const int64_t *dims;
  size_t num_dims;
  const int64_t *byte_strides; /* NULL: row-major */
  size_t num_byte_strides;
  PJRT_HostBufferSemantics host_buffer_semantics;
  PJRT_Device *device;
  PJRT_Memory *memory;
  PJRT_Buffer_MemoryLayout *device_layout;
  PJRT_Event *done_with_host_buffer; /* out */
  PJRT_Buffer *buffer;               /* out */
} PJRT_Client_BufferFromHostBuffer_Args;

typedef struct PJRT_Executable_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
} PJRT_Executable_Destroy_Args;

typedef struct PJRT_Executable_NumOutputs_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_outputs; /* out */
} PJRT_Executable_NumOutputs_Args;

typedef struct PJRT_Executable_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const PJRT_Executable *executable;
  const char *serialized_bytes;                     /* out */
  size_t serialized_bytes_size;                     /* out */
  PJRT_SerializedExecutable *serialized_executable; /* out; owns the bytes */
  void (*serialized_executable_deleter)(PJRT_SerializedExecutable *executable); /* out */
} PJRT_Executable_Serialize_Args;

typedef struct PJRT_LoadedExecutable_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_LoadedExecutable *executable;
} PJRT_LoadedExecutable_Destroy_Args;

typedef struct PJRT_LoadedExecutable_GetExecutable_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_LoadedExecutable *loaded_executable;
  PJRT_Executable *executable; /* out; the caller destroys it */
} PJRT_LoadedExecutable_GetExecutable_Args;

typedef struct PJRT_LoadedExecutable_Execute_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_LoadedExecutable *executable;
  PJRT_ExecuteOptions *options;
  PJRT_Buffer *const *const *argument_lists; /* [num_devices][num_args] */
  size_t num_devices;
  size_t num_args;
  PJRT_Buffer **const *output_lists;   /* [num_devices][outputs]; the innermost array is out */
  PJRT_Event **device_complete_events; /* NULL: none wanted */
  PJRT_Device *execute_device;
} PJRT_LoadedExecutable_Execute_Args;

typedef struct PJRT_Executable_DeserializeAndLoad_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  const char *serialized_executable;
  size_t serialized_executable_size;
  PJRT_LoadedExecutable *loaded_executable; /* out */
  const char *overridden_serialized_compile_options;
  size_t overridden_serialized_compile_options_size;
} PJRT_Executable_DeserializeAndLoad_Args;

typedef struct PJRT_Buffer_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
} PJRT_Buffer_Destroy_Args;

typedef struct PJRT_Buffer_ToHostBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *src;
  PJRT_Buffer_MemoryLayout *host_layout;
  void *dst;
  size_t dst_size;
  PJRT_Event *event; /* out */
} PJRT_Buffer_ToHostBuffer_Args;

typedef struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  void *device_memory_ptr; /* out */
} PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args;

typedef struct PJRT_Executable_OutputElementTypes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  PJRT_Buffer_Type *output_types; /* out; lives as long as `executable` */
  size_t num_output_types;        /* out */
} PJRT_Executable_OutputElementTypes_Args;

typedef struct PJRT_Executable_OutputDimensions_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_outputs;
  const int64_t *dims;     /* out; all dimensions in a row, lives as long as `executable` */
  const size_t *dim_sizes; /* out; the rank of each output */
} PJRT_Executable_OutputDimensions_Args;

typedef struct PJRT_Executable_GetCompiledMemoryStats_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  int64_t generated_code_size_in_bytes; /* this and all that follow: out */
  int64_t argument_size_in_bytes;
  int64_t output_size_in_bytes;
  int64_t alias_size_in_bytes;
  int64_t temp_size_in_bytes;
  int64_t host_generated_code_size_in_bytes;
  int64_t host_argument_size_in_bytes;
  int64_t host_output_size_in_bytes;
  int64_t host_alias_size_in_bytes;
  int64_t host_temp_size_in_bytes;
  int64_t peak_memory_in_bytes;
} PJRT_Executable_GetCompiledMemoryStats_Args;

/* ---- the table ---- */

/* A slot that cyxla calls, and slots that it does not (only their room matters). */
#define PJRT_SLOT(name) PJRT_Error *(*name)(name##_Args *)
#define PJRT_UNUSED_SLOTS(first, count) void (*first[count])(void)

typedef struct PJRT_Api {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Api_Version pjrt_api_version;
  void (*PJRT_Error_Destroy)(PJRT_Error_Destroy_Args *);
  void (*PJRT_Error_Message)(PJRT_Error_Message_Args *);
  PJRT_SLOT(PJRT_Error_GetCode);
  PJRT_SLOT(PJRT_Plugin_Initialize);
  PJRT_SLOT(PJRT_Plugin_Attributes);
  PJRT_SLOT(PJRT_Event_Destroy);
  PJRT_UNUSED_SLOTS(PJRT_Event_IsReady, 2);
  PJRT_SLOT(PJRT_Event_Await);
  PJRT_UNUSED_SLOTS(PJRT_Event_OnReady, 1);
  PJRT_SLOT(PJRT_Client_Create);
  PJRT_SLOT(PJRT_Client_Destroy);
  PJRT_SLOT(PJRT_Client_PlatformName);
  PJRT_UNUSED_SLOTS(PJRT_Client_ProcessIndex, 1);
  PJRT_SLOT(PJRT_Client_PlatformVersion);
  PJRT_UNUSED_SLOTS(PJRT_Client_Devices, 1);
  PJRT_SLOT(PJRT_Client_AddressableDevices);
  PJRT_UNUSED_SLOTS(PJRT_Client_LookupDevice, 3);
  PJRT_SLOT(PJRT_Client_Compile);
  PJRT_UNUSED_SLOTS(PJRT_Client_DefaultDeviceAssignment, 1);
  PJRT_SLOT(PJRT_Client_BufferFromHostBuffer);
  PJRT_UNUSED_SLOTS(PJRT_DeviceDescription_Id, 17);
  PJRT_SLOT(PJRT_Executable_Destroy);
  PJRT_UNUSED_SLOTS(PJRT_Executable_Name, 3);
  PJRT_SLOT(PJRT_Executable_NumOutputs);
  PJRT_UNUSED_SLOTS(PJRT_Executable_SizeOfGeneratedCodeInBytes, 4);
  PJRT_SLOT(PJRT_Executable_Serialize);
  PJRT_SLOT(PJRT_LoadedExecutable_Destroy);
  PJRT_SLOT(PJRT_LoadedExecutable_GetExecutable);
  PJRT_UNUSED_SLOTS(PJRT_LoadedExecutable_AddressableDevices, 3);
  PJRT_SLOT(PJRT_LoadedExecutable_Execute);
  PJRT_SLOT(PJRT_Executable_DeserializeAndLoad);
  PJRT_UNUSED_SLOTS(PJRT_LoadedExecutable_Fingerprint, 1);
  PJRT_SLOT(PJRT_Buffer_Destroy);
  PJRT_UNUSED_SLOTS(PJRT_Buffer_ElementType, 11);
  PJRT_SLOT(PJRT_Buffer_ToHostBuffer);
  PJRT_UNUSED_SLOTS(PJRT_Buffer_IsOnCpu, 5);
  PJRT_SLOT(PJRT_Buffer_OpaqueDeviceMemoryDataPointer);
  PJRT_UNUSED_SLOTS(PJRT_CopyToDeviceStream_Destroy, 13);
  PJRT_SLOT(PJRT_Executable_OutputElementTypes);
  PJRT_SLOT(PJRT_Executable_OutputDimensions);
  PJRT_UNUSED_SLOTS(PJRT_Buffer_CopyToMemory, 4);
  PJRT_SLOT(PJRT_Executable_GetCompiledMemoryStats);
} PJRT_Api;

#endif
