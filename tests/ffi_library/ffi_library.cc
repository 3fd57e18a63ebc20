// Handlers of XLA's typed FFI for tests, written against the headers that jaxlib ships.
//
// tests/python/test_custom_calls.py compiles this file and says what each handler is for.
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

// ---- attributes ----

// Writes into the result, bytes, all that the call frame holds of attributes: names in their order,
// kinds, element types and values.
static void WriteBytes(std::string &text, const void *data, size_t size) {
  char digits[3];
  for (size_t i = 0; i < size; ++i) {
    snprintf(digits, sizeof digits, "%02x", static_cast<const unsigned char *>(data)[i]);
    text += digits;
  }
}

static size_t SizeOf(XLA_FFI_DataType type) {
  return ffi::ByteWidth(static_cast<ffi::DataType>(type));
}

static void WriteAttributes(std::string &text, const XLA_FFI_Attrs &attributes) {
  text += '{';
  for (int64_t i = 0; i < attributes.size; ++i) {
    text.append(attributes.names[i]->ptr, attributes.names[i]->len);
    text += '=';
    const void *value = attributes.attrs[i];
    switch (attributes.types[i]) {
      case XLA_FFI_AttrType_ARRAY: {
        const auto *array = static_cast<const XLA_FFI_Array *>(value);
        text += "array " + std::to_string(array->dtype) + ' ' + std::to_string(array->size) + ' ';
        WriteBytes(text, array->data, array->size * SizeOf(array->dtype));
        break;
      }
      case XLA_FFI_AttrType_DICTIONARY:
        WriteAttributes(text, *static_cast<const XLA_FFI_Attrs *>(value));
        break;
      case XLA_FFI_AttrType_SCALAR: {
        const auto *scalar = static_cast<const XLA_FFI_Scalar *>(value);
        text += "scalar " + std::to_string(scalar->dtype) + ' ';
        WriteBytes(text, scalar->value, SizeOf(scalar->dtype));
        break;
      }
      case XLA_FFI_AttrType_STRING: {
        const auto *span = static_cast<const XLA_FFI_ByteSpan *>(value);
        text += "string ";
        WriteBytes(text, span->ptr, span->len);
        break;
      }
    }
    text += ';';
  }
  text += '}';
}

static ffi::Error DumpAttributes(ffi::Dictionary, ffi::ResultBuffer<ffi::U8>) {
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER(kDumpAttributes, DumpAttributes,
                       ffi::Ffi::Bind().Attrs().Ret<ffi::Buffer<ffi::U8>>());

// The C++ interface shows no names of attributes: so this one looks into the frame.
extern "C" XLA_FFI_Error *dump_attributes(XLA_FFI_CallFrame *frame) {
  if (!frame->extension_start) {
    std::string text;
    WriteAttributes(text, frame->attrs);
    auto *buffer = static_cast<XLA_FFI_Buffer *>(frame->rets.rets[0]);
    strncpy(static_cast<char *>(buffer->data), text.c_str(), static_cast<size_t>(buffer->dims[0]));
  }
  return kDumpAttributes(frame);
}

// Decodes each type of attribute as handlers do, and writes what it finds.
static ffi::Error DecodeAttributes(int32_t i32, int64_t i64, float f32, double f64, bool boolean,
                                   std::string_view text, ffi::Span<const int32_t> i32s,
                                   ffi::Span<const int64_t> i64s, ffi::Span<const float> f32s,
                                   ffi::Span<const double> f64s, ffi::Dictionary nested,
                                   ffi::Dictionary empty, ffi::ResultBuffer<ffi::F64> result) {
  double *out = result->typed_data();
  *out++ = i32;
  *out++ = static_cast<double>(i64);
  *out++ = f32;
  *out++ = f64;
  *out++ = boolean;
  *out++ = static_cast<double>(text.size());
  for (int32_t each : i32s) *out++ = each;
  for (int64_t each : i64s) *out++ = static_cast<double>(each);
  for (float each : f32s) *out++ = each;
  for (double each : f64s) *out++ = each;
  auto inner = nested.get<ffi::Dictionary>("inner");
  if (!inner) return ffi::Error::InvalidArgument("no inner dictionary");
  auto value = inner->get<double>("value");
  if (!value) return ffi::Error::InvalidArgument("no value");
  *out++ = *value;
  *out++ = static_cast<double>(nested.size());
  *out++ = static_cast<double>(empty.size());
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(decode_attributes, DecodeAttributes,
                              ffi::Ffi::Bind()
                                  .Attr<int32_t>("i32")
                                  .Attr<int64_t>("i64")
                                  .Attr<float>("f32")
                                  .Attr<double>("f64")
                                  .Attr<bool>("boolean")
                                  .Attr<std::string_view>("text")
                                  .Attr<ffi::Span<const int32_t>>("i32s")
                                  .Attr<ffi::Span<const int64_t>>("i64s")
                                  .Attr<ffi::Span<const float>>("f32s")
                                  .Attr<ffi::Span<const double>>("f64s")
                                  .Attr<ffi::Dictionary>("nested")
                                  .Attr<ffi::Dictionary>("empty")
                                  .Ret<ffi::Buffer<ffi::F64>>());

// ---- errors ----

// Copies its operand, or fails with the given code where that is negative.
static ffi::Error Fail(int32_t code, std::string_view message, ffi::Buffer<ffi::F32> x,
                       ffi::ResultBuffer<ffi::F32> y) {
  if (x.typed_data()[0] < 0)
    return ffi::Error(static_cast<ffi::ErrorCode>(code), std::string(message));
  memcpy(y->typed_data(), x.typed_data(), x.size_bytes());
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(fail, Fail,
                              ffi::Ffi::Bind()
                                  .Attr<int32_t>("code")
                                  .Attr<std::string_view>("message")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

// ---- operands and results ----

// Quotients and remainders, and the sum of the former.
static ffi::Error Divide(ffi::Buffer<ffi::S32> a, ffi::Buffer<ffi::S32> b,
                         ffi::ResultBuffer<ffi::S32> quotients,
                         ffi::ResultBuffer<ffi::S32> remainders,
                         ffi::Result<ffi::BufferR0<ffi::S64>> sum) {
  int64_t total = 0;
  for (size_t i = 0; i < a.element_count(); ++i) {
    const int32_t divisor = b.typed_data()[i];
    if (divisor == 0) return ffi::Error::InvalidArgument("division by zero");
    quotients->typed_data()[i] = a.typed_data()[i] / divisor;
    remainders->typed_data()[i] = a.typed_data()[i] % divisor;
    total += quotients->typed_data()[i];
  }
  *sum->typed_data() = total;
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(divide, Divide,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::BufferR0<ffi::S64>>());

// A copy of any operand, and what the frame says of it: element type, rank, dimensions.
static ffi::Error Echo(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y,
                       ffi::ResultBuffer<ffi::S64> type) {
  if (x.size_bytes() > 0) memcpy(y->untyped_data(), x.untyped_data(), x.size_bytes());
  int64_t *out = type->typed_data();
  *out++ = static_cast<int64_t>(x.element_type());
  *out++ = static_cast<int64_t>(x.dimensions().size());
  for (int64_t dimension : x.dimensions()) *out++ = dimension;
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    echo, Echo,
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>().Ret<ffi::Buffer<ffi::S64>>());

// ---- state ----

struct Counter {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  explicit Counter(int64_t start) : next(start) { ++made; }
  ~Counter() { ++freed; }
  std::atomic<int64_t> next;
  static std::atomic<int64_t> made, freed, prepared, initialized;
};

ffi::TypeId Counter::id = {};
ffi::TypeInfo Counter::info = ffi::MakeTypeInfo<Counter>();
std::atomic<int64_t> Counter::made, Counter::freed, Counter::prepared, Counter::initialized;

extern "C" void *counter_type_id() {
  return &Counter::id;
}
extern "C" void *counter_type_info() {
  return &Counter::info;
}
extern "C" int64_t counters_made() {
  return Counter::made;
}
extern "C" int64_t counters_freed() {
  return Counter::freed;
}
extern "C" int64_t counters_prepared() {
  return Counter::prepared;
}
extern "C" int64_t counters_initialized() {
  return Counter::initialized;
}

static ffi::ErrorOr<std::unique_ptr<Counter>> MakeCounter(int64_t start) {
  if (start < 0)
    return ffi::Unexpected(ffi::Error::InvalidArgument("counters start at 0 or later"));
  return std::make_unique<Counter>(start);
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(counter_instantiate, MakeCounter,
                              ffi::Ffi::BindInstantiate().Attr<int64_t>("start"));

static ffi::Error PrepareCounter(int64_t) {
  ++Counter::prepared;
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(counter_prepare, PrepareCounter,
                              ffi::Ffi::BindPrepare().Attr<int64_t>("start"));

static ffi::Error InitializeCounter(Counter *, int64_t) {
  ++Counter::initialized;
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    counter_initialize, InitializeCounter,
    ffi::Ffi::BindInitialize().Ctx<ffi::State<Counter>>().Attr<int64_t>("start"));

// The operand and the number of this call.
static ffi::Error Count(Counter *counter, int64_t, ffi::BufferR0<ffi::S64> x,
                        ffi::Result<ffi::BufferR0<ffi::S64>> y) {
  *y->typed_data() = *x.typed_data() + counter->next++;
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(counter_execute, Count,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::State<Counter>>()
                                  .Attr<int64_t>("start")
                                  .Arg<ffi::BufferR0<ffi::S64>>()
                                  .Ret<ffi::BufferR0<ffi::S64>>());

// A state of another type than the one that was set.
struct Other {
  static ffi::TypeId id;
};
ffi::TypeId Other::id = {};
extern "C" void *other_type_id() {
  return &Other::id;
}

static ffi::Error ReadOther(Other *, int64_t, ffi::BufferR0<ffi::S64>,
                            ffi::Result<ffi::BufferR0<ffi::S64>>) {
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(other_execute, ReadOther,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::State<Other>>()
                                  .Attr<int64_t>("start")
                                  .Arg<ffi::BufferR0<ffi::S64>>()
                                  .Ret<ffi::BufferR0<ffi::S64>>());

// ---- threads and nesting ----

static ffi::Error ThreadId(ffi::Result<ffi::BufferR0<ffi::U64>> result) {
  *result->typed_data() = static_cast<uint64_t>(pthread_self());
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(thread_id, ThreadId, ffi::Ffi::Bind().Ret<ffi::BufferR0<ffi::U64>>());

// Calls a C function, whose address the attribute is.
static ffi::Error CallBack(int64_t address, ffi::BufferR0<ffi::F64> x,
                           ffi::Result<ffi::BufferR0<ffi::F64>> y) {
  const auto function = reinterpret_cast<double (*)(double)>(address);
  *y->typed_data() = function(*x.typed_data());
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(call_back, CallBack,
                              ffi::Ffi::Bind()
                                  .Attr<int64_t>("address")
                                  .Arg<ffi::BufferR0<ffi::F64>>()
                                  .Ret<ffi::BufferR0<ffi::F64>>());
