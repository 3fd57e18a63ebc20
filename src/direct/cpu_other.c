/* Processors for which the direct engine links no code. */
#include "direct/cpu_features.h"

#if !defined(__x86_64__) && !(defined(__aarch64__) && defined(__linux__))
const char cyxla__cpu_architecture[] = "another one";

cyxla__feature_state cyxla__cpu_feature(cyxla__span name) {
  (void)name;
  return CYXLA__FEATURE_UNKNOWN;
}

const char *cyxla__cpu_feature_name(size_t index) {
  (void)index;
  return NULL;
}

uint32_t cyxla__cpu_model(void) {
  return 0;
}
#endif
