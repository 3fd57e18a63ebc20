/* PJRT buffers made of host arrays, and back. */
#ifndef CYXLA_PJRT_BUFFER_H
#define CYXLA_PJRT_BUFFER_H

#include "pjrt/plugin.h"

/* A buffer that is the host array itself: whatever `data` holds at the time of an execution is what
 * the execution reads.  NULL where the plugin can't, or copied (then nothing is left).  `data` must
 * be aligned to CYXLA__ALIGNMENT and valid at each execution that uses the buffer; destroying the
 * buffer does not touch it. */
PJRT_Buffer *cyxla__pjrt_buffer_alias(const cyxla_plugin *plugin, const cyxla_array_type *type,
                                      const void *data);

/* A buffer with a copy of the host array, which the caller has back when the function returns. */
int32_t cyxla__pjrt_buffer_copy(const cyxla_plugin *plugin, const cyxla_array_type *type,
                                const void *data, PJRT_Buffer **out_buffer, cyxla_error *error);

/* Copies a buffer, row-major, to `size` bytes at `destination`; waits until it is there. */
int32_t cyxla__pjrt_buffer_read(const cyxla_plugin *plugin, PJRT_Buffer *buffer,
                                const cyxla_array_type *type, void *destination, size_t size,
                                cyxla_error *error);

void cyxla__pjrt_buffer_destroy(const cyxla_plugin *plugin, PJRT_Buffer *buffer);

/* The address of a buffer in device memory. */
int32_t cyxla__pjrt_buffer_address(const cyxla_plugin *plugin, PJRT_Buffer *buffer,
                                   void **out_address, cyxla_error *error);

#endif
