/* The PJRT engine's executable: made by the plugin's compiler or from bytes, and run by the plugin.
 */
#ifndef CYXLA_PJRT_EXECUTABLE_H
#define CYXLA_PJRT_EXECUTABLE_H

#include "base/slots.h"
#include "pjrt/plugin.h"
#include "signature.h"

typedef struct cyxla__pjrt_executable {
  const cyxla_plugin *plugin;
  const cyxla__signature *signature; /* borrowed */
  PJRT_LoadedExecutable *loaded;
  PJRT_Executable *executable;
  int64_t code_size; /* -1: not known */
  int64_t temp_size; /* -1: not known */
  /* Outputs may be copied straight from device memory: it is host memory, and the plugin confirmed
   * their types, and so their sizes. */
  bool outputs_in_place;
  /* Inputs that must not be donated, for programs that alias inputs and outputs: all of them, since
   * cyxla uses input buffers again.  NULL where the program aliases nothing. */
  int64_t *kept_inputs;

  cyxla__slots calls; /* idle call states, see execute.c */
} cyxla__pjrt_executable;

/* `executable` is the caller's memory; on failure there is nothing to deinit. */
int32_t cyxla__pjrt_compile(cyxla__pjrt_executable *executable, const cyxla_plugin *plugin,
                            const cyxla__signature *signature, const void *code, size_t code_size,
                            const cyxla_option *options, size_t option_count, cyxla_error *error);
int32_t cyxla__pjrt_deserialize(cyxla__pjrt_executable *executable, const cyxla_plugin *plugin,
                                const cyxla__signature *signature, const void *data, size_t size,
                                cyxla_error *error);
void cyxla__pjrt_executable_deinit(cyxla__pjrt_executable *executable);

/* `*out_data` is to be freed by cyxla_aligned_free.  XLA's CPU plugins leave the machine code out where the
 * executable was itself loaded from bytes: those have to be kept. */
int32_t cyxla__pjrt_serialize(const cyxla__pjrt_executable *executable, void **out_data,
                              size_t *out_size, cyxla_error *error);

/* Runs once.  The inputs have been checked against the signature. */
int32_t cyxla__pjrt_execute(cyxla__pjrt_executable *executable, const cyxla_input *inputs,
                            void *const *outputs, bool zero_copy, cyxla_error *error);

/* Destroys the idle call states. */
void cyxla__pjrt_calls_deinit(cyxla__pjrt_executable *executable);

#endif
