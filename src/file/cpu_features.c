#include "file/cpu_features.h"

#include <stdlib.h>

#include "xla_cpu/container.h"
#include "xla_cpu/schema.h"

/* How LLVM's names of features begin that say what is fast, not what is there. */
static const char *const tuning[] = {"prefer-", "fast-", "slow-", "false-deps-"};

/* Whether code may contain what `feature`, a name with a sign, stands for. */
static bool is_needed(cyxla__span feature) {
  if (feature.size < 2 || feature.data[0] != '+') return false;
  for (size_t i = 0; i < sizeof tuning / sizeof tuning[0]; ++i) {
    const size_t size = strlen(tuning[i]);
    if (feature.size > size && !memcmp(feature.data + 1, tuning[i], size)) return false;
  }
  return true;
}

/* The part of `list` before the first `separator`. */
static cyxla__span first_of(cyxla__span list, char separator) {
  const uint8_t *end = list.size ? memchr(list.data, separator, list.size) : NULL;
  return (cyxla__span){list.data, end ? (size_t)(end - list.data) : list.size};
}

static char *append(char *end, cyxla__span text) {
  if (text.size) memcpy(end, text.data, text.size);
  return end + text.size;
}

int32_t cyxla__cpu_features_of(cyxla__span executable, char **out_text, cyxla_error *error) {
  cyxla__span result, target, triple = {0}, features = {0};
  if (cyxla__container_open(executable, &result) &&
      cyxla__proto_find(result, RESULT_TARGET_MACHINE, &target)) {
    cyxla__proto_find(target, TARGET_TRIPLE, &triple);
    cyxla__proto_find(target, TARGET_FEATURES, &features);
  }
  char *text = malloc(triple.size + features.size + sizeof ",");
  if (!text) return cyxla__fail_memory(error, triple.size + features.size);
  char *end = append(text, first_of(triple, '-'));
  while (features.size) {
    const cyxla__span feature = first_of(features, ',');
    const size_t size = feature.size + (feature.size < features.size); /* with the comma */
    features = (cyxla__span){features.data + size, features.size - size};
    if (!is_needed(feature)) continue;
    *end++ = ',';
    end = append(end, (cyxla__span){feature.data + 1, feature.size - 1});
  }
  *end = 0;
  *out_text = text;
  return CYXLA_OK;
}
