#include "xla_cpu/container.h"

/* Field numbers of xla.ExecutableAndOptionsProto (xla/pjrt/proto), xla.cpu.CompilationResultProto
 * (xla/service/cpu/executable.proto) and what is in it; the same in the XLA of jaxlib 0.10.2,
 * 0.11.2 and 0.12.0, whose descriptors they were read from. */
enum { EXECUTABLE_SERIALIZED = 1 };
enum { RESULT_OBJECT_FILES = 8, RESULT_TARGET_MACHINE = 9 };
enum { OBJECT_CONTENTS = 1 };
enum { TARGET_FEATURES = 3 };

bool cyxla__container_open(cyxla__span serialized, cyxla__span *out_result) {
  return cyxla__proto_find(serialized, EXECUTABLE_SERIALIZED, out_result);
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
