#include "xla_cpu/container.h"

#include "xla_cpu/schema.h"

/* Whether `bytes` are one well-formed ExecutableAndOptionsProto.  Fields are written in order, so that it
 * begins with its first one: the size that jaxlib puts in front may be a tag of another. */
static bool is_executable(cyxla__span bytes) {
  cyxla__field field;
  if (!cyxla__proto_next(&bytes, &field) || field.number != EXECUTABLE_SERIALIZED ||
      !field.is_bytes)
    return false;
  while (bytes.size)
    if (!cyxla__proto_next(&bytes, &field)) return false;
  return true;
}

/* jaxlib puts a message of its own in front, SerializedXlaExecutableMetadata, with its size as a
 * varint: xla/python/pjrt_ifrt/pjrt_executable.cc; seen in jaxlib 0.10.2, 0.11.2 and 0.12.0. */
static bool skip_metadata(cyxla__span *serialized) {
  uint64_t size;
  return cyxla__proto_next_varint(serialized, &size) && size <= serialized->size &&
         cyxla__span_part(*serialized, size, serialized->size - size, serialized);
}

bool cyxla__container_unwrap(cyxla__span serialized, cyxla__span *out_executable) {
  *out_executable = serialized;
  return is_executable(serialized) ||
         (skip_metadata(out_executable) && is_executable(*out_executable));
}

bool cyxla__container_open(cyxla__span serialized, cyxla__span *out_result) {
  cyxla__span executable;
  return cyxla__container_unwrap(serialized, &executable) &&
         cyxla__proto_find(executable, EXECUTABLE_SERIALIZED, out_result);
}

bool cyxla__container_next_object(cyxla__span *rest, cyxla__span *out_object) {
  cyxla__field field;
  while (cyxla__proto_next(rest, &field))
    if (field.number == RESULT_OBJECT_FILES && field.is_bytes &&
        cyxla__proto_find(field.bytes, OBJECT_CONTENTS, out_object))
      return true;
  return false;
}

bool cyxla__container_has_feature(cyxla__span result, const char *feature) {
  cyxla__span target, features;
  if (!cyxla__proto_find(result, RESULT_TARGET_MACHINE, &target) ||
      !cyxla__proto_find(target, TARGET_FEATURES, &features))
    return false;
  /* A list of features between commas. */
  for (size_t start = 0, i = 0; i <= features.size; ++i) {
    if (i < features.size && features.data[i] != ',') continue;
    if (cyxla__span_is((cyxla__span){features.data + start, i - start}, feature)) return true;
    start = i + 1;
  }
  return false;
}
