/* What one kind of processor answers about a feature: cpu_x86_64.c or cpu_aarch64.c. */
#ifndef CYXLA_DIRECT_CPU_FEATURES_H
#define CYXLA_DIRECT_CPU_FEATURES_H

#include "base/bytes.h"

typedef enum cyxla__feature_state {
  CYXLA__FEATURE_PRESENT, /* or no matter to compiled code */
  CYXLA__FEATURE_MISSING,
  CYXLA__FEATURE_UNKNOWN /* a name that this release does not know */
} cyxla__feature_state;

/* The first part of LLVM's triples for this processor. */
extern const char cyxla__cpu_architecture[];

/* State of the feature with LLVM's `name`, such as "avx2".  Threads: shared. */
cyxla__feature_state cyxla__cpu_feature(cyxla__span name);

/* The names that can be missing, by number; NULL behind the last one. */
const char *cyxla__cpu_feature_name(size_t index);

/* The model, which compilers tune for; 0 where it is not told. */
uint32_t cyxla__cpu_model(void);

#endif
