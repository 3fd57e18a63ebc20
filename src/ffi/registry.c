#include "ffi/registry.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "base/status.h"
#include "ffi/host_api.h"

/* Adding takes the lock that forks wait for. */
static cyxla__ffi_target targets[CYXLA__FFI_TARGET_LIMIT];
static atomic_size_t target_count;

size_t cyxla__ffi_target_count(void) {
  return atomic_load_explicit(&target_count, memory_order_acquire);
}

const cyxla__ffi_target *cyxla__ffi_target_at(size_t index) {
  return &targets[index];
}

const cyxla__ffi_target *cyxla__ffi_find_target(cyxla__span name, const char *platform) {
  for (size_t i = 0; i < cyxla__ffi_target_count(); ++i)
    if (cyxla__span_is(name, targets[i].name) && !strcmp(targets[i].platform, platform))
      return &targets[i];
  return NULL;
}

/* The version that all handlers of a target can be called with is that of the newest. */
static int32_t read_metadata(cyxla__ffi_target *target, cyxla_error *error) {
  for (int stage = 0; stage < CYXLA__FFI_STAGE_COUNT; ++stage) {
    if (!target->handlers[stage]) continue;
    int minor;
    uint32_t traits;
    TRY(cyxla__ffi_ask_metadata(target->handlers[stage], target->name, &minor, &traits, error));
    if (minor > target->minor) target->minor = minor;
    if (stage == XLA_FFI_ExecutionStage_EXECUTE) target->traits |= traits;
  }
  return CYXLA_OK;
}

/* Called with the lock held. */
static int32_t add(const cyxla__ffi_target *target, cyxla_error *error) {
  const cyxla__span name = {(uint8_t *)target->name, strlen(target->name)};
  const cyxla__ffi_target *known = cyxla__ffi_find_target(name, target->platform);
  if (known) {
    if (!memcmp(known->handlers, target->handlers, sizeof known->handlers)) return CYXLA_OK;
    return cyxla__fail(
        error, CYXLA_ALREADY_EXISTS,
        "FFI target %s for the platform %s is registered already, with another handler",
        target->name, target->platform);
  }
  const size_t count = cyxla__ffi_target_count();
  if (count == CYXLA__FFI_TARGET_LIMIT)
    return cyxla__fail(error, CYXLA_RESOURCE_EXHAUSTED,
                       "FFI target %s: there are %zu targets already", target->name, count);
  cyxla__ffi_target *added = &targets[count];
  *added = *target;
  added->name = strdup(target->name);
  added->platform = strdup(target->platform);
  if (!added->name || !added->platform) {
    free(added->name);
    free(added->platform);
    return cyxla__fail_memory(error, strlen(target->name) + strlen(target->platform) + 2);
  }
  atomic_store_explicit(&target_count, count + 1, memory_order_release);
  return CYXLA_OK;
}

int32_t cyxla_register_ffi_target(const cyxla_ffi_target *target, cyxla_error *error) {
  if (target->struct_size < sizeof *target)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                       "cyxla_ffi_target: struct_size is %zu, and at least %zu is needed",
                       target->struct_size, sizeof *target);
  if (!target->name || !*target->name || !target->platform || !target->execute)
    return cyxla__fail(
        error, CYXLA_INVALID_ARGUMENT,
        "FFI target %s: a name, a platform and a handler for the stage execute are needed",
        target->name && *target->name ? target->name : "without a name");
  /* `add` copies the names. */
  cyxla__ffi_target added = {
      .name = (char *)target->name,
      .platform = (char *)target->platform,
      .handlers = {[XLA_FFI_ExecutionStage_INSTANTIATE] = target->instantiate,
                   [XLA_FFI_ExecutionStage_PREPARE] = target->prepare,
                   [XLA_FFI_ExecutionStage_INITIALIZE] = target->initialize,
                   [XLA_FFI_ExecutionStage_EXECUTE] = target->execute},
      .traits = target->traits,
  };
  /* Before the lock: handlers are not ours, and may do anything. */
  TRY(read_metadata(&added, error));
  cyxla__fork_safe_lock();
  const int32_t status = add(&added, error);
  cyxla__fork_safe_unlock();
  return status;
}

size_t cyxla_ffi_target_count(void) {
  return cyxla__ffi_target_count();
}
