/* The part of the XLA FFI C API that cyxla uses, declared by us: how native functions are
 * registered with XLA and called by it.  tests/python/test_xla_ffi_abi.py compares it with the
 * `c_api.h` that jaxlib ships.
 *
 * The rules are those of the PJRT C API (src/pjrt/pjrt_abi.h).  Versions: major 0; minor 3 is that
 * of jaxlib 0.10.2, 4 of 0.11.2, 5 of 0.12.0.  Names are those of minor 4 and 5.
 */
#ifndef CYXLA_XLA_FFI_ABI_H
#define CYXLA_XLA_FFI_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct XLA_FFI_Api XLA_FFI_Api;
typedef struct XLA_FFI_Error XLA_FFI_Error;
typedef struct XLA_FFI_InvokeContext XLA_FFI_InvokeContext;
typedef struct XLA_FFI_Future XLA_FFI_Future;
typedef struct XLA_FFI_CallFrame XLA_FFI_CallFrame;

typedef enum { XLA_FFI_Extension_Metadata = 1 } XLA_FFI_InternalExtension_Type;

typedef struct XLA_FFI_InternalExtension {
  size_t struct_size;
  XLA_FFI_InternalExtension_Type type;
  struct XLA_FFI_InternalExtension *next;
} XLA_FFI_InternalExtension;

typedef struct XLA_FFI_Api_Version {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  int major_version; /* out */
  int minor_version; /* out */
} XLA_FFI_Api_Version;

/* The numbers of PJRT_Error_Code. */
typedef enum {
  XLA_FFI_Error_Code_INVALID_ARGUMENT = 3,
  XLA_FFI_Error_Code_NOT_FOUND = 5,
  XLA_FFI_Error_Code_FAILED_PRECONDITION = 9,
  XLA_FFI_Error_Code_RESOURCE_EXHAUSTED = 8,
  XLA_FFI_Error_Code_UNIMPLEMENTED = 12
} XLA_FFI_Error_Code;

typedef struct XLA_FFI_Error_Create_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  const char *message;
  XLA_FFI_Error_Code errc;
} XLA_FFI_Error_Create_Args;

/* Before minor 4 the function was GetMessage, and had no `errc`. */
typedef struct XLA_FFI_Error_GetDetails_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Error *error;
  const char *message;     /* out */
  XLA_FFI_Error_Code errc; /* out */
} XLA_FFI_Error_GetDetails_Args;

typedef struct XLA_FFI_Error_Destroy_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Error *error;
} XLA_FFI_Error_Destroy_Args;

/* The numbers of XLA's PrimitiveType. */
typedef enum {
  XLA_FFI_DataType_PRED = 1,
  XLA_FFI_DataType_S8 = 2,
  XLA_FFI_DataType_S16 = 3,
  XLA_FFI_DataType_S32 = 4,
  XLA_FFI_DataType_S64 = 5,
  XLA_FFI_DataType_U8 = 6,
  XLA_FFI_DataType_U16 = 7,
  XLA_FFI_DataType_U32 = 8,
  XLA_FFI_DataType_U64 = 9,
  XLA_FFI_DataType_F16 = 10,
  XLA_FFI_DataType_F32 = 11,
  XLA_FFI_DataType_F64 = 12,
  XLA_FFI_DataType_BF16 = 16
} XLA_FFI_DataType;

/* What the pointers in XLA_FFI_Args and XLA_FFI_Rets lead to. */
typedef struct XLA_FFI_Buffer {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_DataType dtype;
  void *data;
  int64_t rank;
  int64_t *dims;
} XLA_FFI_Buffer;

typedef enum { XLA_FFI_ArgType_BUFFER = 1 } XLA_FFI_ArgType;

typedef enum { XLA_FFI_RetType_BUFFER = 1 } XLA_FFI_RetType;

/* A dictionary is an XLA_FFI_Attrs, a string an XLA_FFI_ByteSpan. */
typedef enum {
  XLA_FFI_AttrType_ARRAY = 1,
  XLA_FFI_AttrType_DICTIONARY = 2,
  XLA_FFI_AttrType_SCALAR = 3,
  XLA_FFI_AttrType_STRING = 4
} XLA_FFI_AttrType;

typedef enum {
  XLA_FFI_ExecutionStage_INSTANTIATE = 0,
  XLA_FFI_ExecutionStage_PREPARE = 1,
  XLA_FFI_ExecutionStage_INITIALIZE = 2,
  XLA_FFI_ExecutionStage_EXECUTE = 3
} XLA_FFI_ExecutionStage;

typedef struct XLA_FFI_ByteSpan {
  const char *ptr;
  size_t len;
} XLA_FFI_ByteSpan;

typedef struct XLA_FFI_Scalar {
  XLA_FFI_DataType dtype;
  void *value;
} XLA_FFI_Scalar;

typedef struct XLA_FFI_Array {
  XLA_FFI_DataType dtype;
  size_t size; /* elements */
  void *data;
} XLA_FFI_Array;

typedef struct XLA_FFI_TypeId {
  int64_t type_id;
} XLA_FFI_TypeId;

typedef struct XLA_FFI_TypeInfo {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  void (*deleter)(void *object);
} XLA_FFI_TypeInfo;

typedef struct XLA_FFI_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  int64_t size;
  int *types;
  void **args;
} XLA_FFI_Args;

typedef struct XLA_FFI_Rets {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  int64_t size;
  int *types;
  void **rets;
} XLA_FFI_Rets;

typedef struct XLA_FFI_Attrs {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  int64_t size;
  int *types;
  XLA_FFI_ByteSpan **names; /* sorted, byte by byte: handlers rely on it */
  void **attrs;
} XLA_FFI_Attrs;

struct XLA_FFI_CallFrame {
  size_t struct_size; /* up to and with `attrs`: handlers insist on it */
  XLA_FFI_InternalExtension *extension_start;
  const XLA_FFI_Api *api;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_Args args;
  XLA_FFI_Rets rets;
  XLA_FFI_Attrs attrs;
  XLA_FFI_Future *future; /* out */
};

/* Returns NULL: success. */
typedef XLA_FFI_Error *XLA_FFI_Handler(XLA_FFI_CallFrame *call_frame);

typedef struct XLA_FFI_Handler_Bundle {
  XLA_FFI_Handler *instantiate; /* this and the next two may be NULL */
  XLA_FFI_Handler *prepare;
  XLA_FFI_Handler *initialize;
  XLA_FFI_Handler *execute;
  XLA_FFI_Handler *record; /* from minor 4 on; always NULL here */
} XLA_FFI_Handler_Bundle;

typedef struct XLA_FFI_Handler_Register_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_ByteSpan name;
  XLA_FFI_ByteSpan platform;
  XLA_FFI_Handler_Bundle bundle;
  uint32_t traits;
} XLA_FFI_Handler_Register_Args;

typedef struct XLA_FFI_Type_Register_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_ByteSpan name;
  XLA_FFI_TypeId *type_id; /* in: 0; out: what XLA calls the type */
  const XLA_FFI_TypeInfo *type_info;
} XLA_FFI_Type_Register_Args;

typedef struct XLA_FFI_State_Set_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId *type_id;
  void *state;
} XLA_FFI_State_Set_Args;

typedef struct XLA_FFI_State_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId *type_id;
  void *state; /* out */
} XLA_FFI_State_Get_Args;

typedef struct XLA_FFI_ThreadPool_Schedule_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  void (*task)(void *data);
  void *data;
} XLA_FFI_ThreadPool_Schedule_Args;

typedef struct XLA_FFI_ThreadPool_NumThreads_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  int64_t *num_threads; /* out */
} XLA_FFI_ThreadPool_NumThreads_Args;

typedef struct XLA_FFI_Future_Create_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Future *future; /* out */
} XLA_FFI_Future_Create_Args;

typedef struct XLA_FFI_Future_SetAvailable_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Future *future;
} XLA_FFI_Future_SetAvailable_Args;

typedef struct XLA_FFI_Future_SetError_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Future *future;
  XLA_FFI_Error *error; /* handed over */
} XLA_FFI_Future_SetError_Args;

typedef struct XLA_FFI_RunId_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  int64_t run_id; /* out */
} XLA_FFI_RunId_Get_Args;

typedef struct XLA_FFI_DeviceOrdinal_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  int32_t device_ordinal; /* out */
} XLA_FFI_DeviceOrdinal_Get_Args;

typedef struct XLA_FFI_InvokeContext_FindExtension_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  int64_t extension_type;
  const void *extension; /* out */
} XLA_FFI_InvokeContext_FindExtension_Args;

/* From minor 5 on. */
typedef struct XLA_FFI_CustomOptions_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  const XLA_FFI_Attrs *attrs; /* out */
} XLA_FFI_CustomOptions_Get_Args;

typedef struct XLA_FFI_Metadata {
  size_t struct_size; /* up to and with `traits` */
  XLA_FFI_Api_Version api_version;
  uint32_t traits;
  XLA_FFI_TypeId state_type_id;
} XLA_FFI_Metadata;

typedef struct XLA_FFI_Metadata_Extension {
  XLA_FFI_InternalExtension extension_base;
  XLA_FFI_Metadata *metadata;
} XLA_FFI_Metadata_Extension;

/* A slot whose arguments cyxla knows, and slots that it only hands on, or fills with a refusal. */
#define XLA_FFI_SLOT(name) XLA_FFI_Error *(*name)(name##_Args *)
#define XLA_FFI_OTHER_SLOTS(first, count) void (*first[count])(void)

struct XLA_FFI_Api {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Api_Version api_version;
  const void *internal_api;
  XLA_FFI_SLOT(XLA_FFI_Error_Create);
  void (*XLA_FFI_Error_GetDetails)(XLA_FFI_Error_GetDetails_Args *);
  void (*XLA_FFI_Error_Destroy)(XLA_FFI_Error_Destroy_Args *);
  XLA_FFI_SLOT(XLA_FFI_Handler_Register);
  XLA_FFI_OTHER_SLOTS(XLA_FFI_Stream_Get, 1);
  XLA_FFI_SLOT(XLA_FFI_Type_Register);
  XLA_FFI_OTHER_SLOTS(XLA_FFI_InvokeContext_Get, 1);
  XLA_FFI_SLOT(XLA_FFI_State_Set);
  XLA_FFI_SLOT(XLA_FFI_State_Get);
  XLA_FFI_OTHER_SLOTS(XLA_FFI_DeviceMemory_Allocate, 2);
  XLA_FFI_SLOT(XLA_FFI_ThreadPool_Schedule);
  XLA_FFI_SLOT(XLA_FFI_ThreadPool_NumThreads);
  XLA_FFI_SLOT(XLA_FFI_Future_Create);
  XLA_FFI_SLOT(XLA_FFI_Future_SetAvailable);
  XLA_FFI_SLOT(XLA_FFI_Future_SetError);
  XLA_FFI_SLOT(XLA_FFI_RunId_Get);
  XLA_FFI_SLOT(XLA_FFI_DeviceOrdinal_Get);
  XLA_FFI_SLOT(XLA_FFI_InvokeContext_FindExtension); /* from minor 4 on */
  XLA_FFI_SLOT(XLA_FFI_CustomOptions_Get);           /* from minor 5 on */
};

#endif
