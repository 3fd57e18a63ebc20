/* Custom calls that cyxla itself makes, with no plugin: XLA's typed FFI, from the caller's side.
 *
 * A cyxla__custom_call is what does not change between calls: the handler, the attributes, and the
 * state that the stage `instantiate` made.  A frame is the working memory of one call at a time: what
 * the handler gets, made once and used again; only the addresses of its buffers change. */
#ifndef CYXLA_FFI_CUSTOM_CALL_H
#define CYXLA_FFI_CUSTOM_CALL_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

typedef struct cyxla__custom_call cyxla__custom_call;

/* The type of a buffer; `dimensions` must live as long as the custom call. */
typedef struct cyxla__custom_call_buffer {
  int32_t type; /* XLA's PrimitiveType */
  int64_t rank;
  const int64_t *dimensions;
} cyxla__custom_call_buffer;

/* Finds the handlers of `target` for the platform cpu in the registry, parses `config` (the text of an
 * MLIR dictionary, or nothing), and runs the stages `instantiate`, where there is one.
 *
 *   buffers  `argument_count` arguments, then the results, `count` in all; copied.
 *
 * Returns: NOT_FOUND (no such target), INVALID_ARGUMENT or UNIMPLEMENTED (the config can't be parsed: the
 *          message tells where), or what the handler says. */
int32_t cyxla__custom_call_create(cyxla__span target, cyxla__span config,
                                  const cyxla__custom_call_buffer *buffers, size_t count,
                                  size_t argument_count, cyxla__custom_call **out_call,
                                  cyxla_error *error);

/* Destroys its state too; NULL is fine. */
void cyxla__custom_call_destroy(cyxla__custom_call *call);

/* Bytes of a frame, a multiple of 64, and where in them the addresses of the buffers lie. */
size_t cyxla__custom_call_frame_size(const cyxla__custom_call *call);
size_t cyxla__custom_call_address_offset(const cyxla__custom_call *call, size_t buffer);

/* Makes a frame in `memory`, aligned to 64; it needs no deinit, and may not be moved. */
void cyxla__custom_call_frame_init(const cyxla__custom_call *call, void *memory);

/* Calls the handler with the frame in `memory`; on failure the handler's own status and message, with
 * the target's name.  No allocation but for errors.  Threads: shared, with a frame each. */
int32_t cyxla__custom_call_run(const cyxla__custom_call *call, void *memory, cyxla_error *error);

#endif
