/* FFI targets: native functions that programs call by name, for all plugins and engines.
 *
 * Targets are only ever added, and don't change: whoever has seen a count may read that many of
 * them without a lock. */
#ifndef CYXLA_FFI_REGISTRY_H
#define CYXLA_FFI_REGISTRY_H

#include <stdbool.h>

#include "base/bytes.h"
#include "cyxla/cyxla.h"
#include "ffi/xla_ffi_abi.h"

enum { CYXLA__FFI_TARGET_LIMIT = 512, CYXLA__FFI_STAGE_COUNT = 4 };

typedef struct cyxla__ffi_target {
  char *name;
  char *platform;
  XLA_FFI_Handler *handlers[CYXLA__FFI_STAGE_COUNT]; /* by XLA_FFI_ExecutionStage; NULL: none */
  uint32_t traits;
  int minor; /* of the FFI API that its handlers were compiled for */
} cyxla__ffi_target;

size_t cyxla__ffi_target_count(void);
const cyxla__ffi_target *cyxla__ffi_target_at(size_t index);

/* The target of that name for a platform, or NULL. */
const cyxla__ffi_target *cyxla__ffi_find_target(cyxla__span name, const char *platform);

/* Whether a target keeps state between stages. */
static inline bool cyxla__ffi_target_has_state(const cyxla__ffi_target *target) {
  return target->handlers[XLA_FFI_ExecutionStage_INSTANTIATE] != NULL;
}

#endif
