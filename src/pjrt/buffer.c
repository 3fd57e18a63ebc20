#include "pjrt/buffer.h"

#include <stdlib.h>

static int32_t create(const cyxla_plugin *plugin, const cyxla_array_type *type, const void *data,
                      PJRT_HostBufferSemantics semantics, PJRT_Buffer **out_buffer,
                      PJRT_Event **out_done, cyxla_error *error) {
  PJRT_ARGS(PJRT_Client_BufferFromHostBuffer, create, .client = plugin->client, .data = data,
            .type = (PJRT_Buffer_Type)type->element_type, .dims = type->dimensions,
            .num_dims = (size_t)type->rank, .host_buffer_semantics = semantics,
            .device = plugin->device);
  TRY(PJRT_CALL(&plugin->api, PJRT_Client_BufferFromHostBuffer, create, error));
  *out_buffer = create.args.buffer;
  *out_done = create.args.done_with_host_buffer;
  return CYXLA_OK;
}

PJRT_Buffer *cyxla__pjrt_buffer_alias(const cyxla_plugin *plugin, const cyxla_array_type *type,
                                      const void *data) {
  PJRT_Buffer *buffer;
  PJRT_Event *done;
  if (create(plugin, type, data, PJRT_HostBufferSemantics_kImmutableZeroCopy, &buffer, &done, NULL))
    return NULL;
  void *address;
  if (!cyxla__pjrt_buffer_address(plugin, buffer, &address, NULL) && address == data) {
    cyxla__pjrt_event_destroy(&plugin->api, done); /* it happens when the buffer is destroyed */
    return buffer;
  }
  /* A copy is under way: the array must not be touched before it has ended. */
  cyxla__pjrt_event_await(&plugin->api, done, NULL);
  cyxla__pjrt_buffer_destroy(plugin, buffer);
  return NULL;
}

int32_t cyxla__pjrt_buffer_copy(const cyxla_plugin *plugin, const cyxla_array_type *type,
                                const void *data, PJRT_Buffer **out_buffer, cyxla_error *error) {
  PJRT_Event *done;
  TRY(create(plugin, type, data, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, out_buffer,
             &done, error));
  cyxla__pjrt_event_destroy(&plugin->api, done); /* it has happened, says the semantics */
  return CYXLA_OK;
}

int32_t cyxla__pjrt_buffer_read(const cyxla_plugin *plugin, PJRT_Buffer *buffer,
                                const cyxla_array_type *type, void *destination, size_t size,
                                cyxla_error *error) {
  int64_t *minor_to_major = malloc(((size_t)type->rank + 1) * sizeof *minor_to_major);
  if (!minor_to_major)
    return cyxla__fail_memory(error, (size_t)type->rank * sizeof *minor_to_major);
  for (int32_t i = 0; i < type->rank; ++i) minor_to_major[i] = type->rank - 1 - i;
  PJRT_Buffer_MemoryLayout row_major = {
      .struct_size = sizeof row_major,
      .tiled = {.struct_size = sizeof row_major.tiled,
                .minor_to_major = minor_to_major,
                .minor_to_major_size = (size_t)type->rank},
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
  };
  PJRT_ARGS(PJRT_Buffer_ToHostBuffer, read, .src = buffer, .host_layout = &row_major,
            .dst = destination, .dst_size = size);
  int32_t status = PJRT_CALL(&plugin->api, PJRT_Buffer_ToHostBuffer, read, error);
  if (!status) status = cyxla__pjrt_event_await(&plugin->api, read.args.event, error);
  free(minor_to_major);
  return status;
}

void cyxla__pjrt_buffer_destroy(const cyxla_plugin *plugin, PJRT_Buffer *buffer) {
  PJRT_ARGS(PJRT_Buffer_Destroy, destroy, .buffer = buffer);
  PJRT_CALL(&plugin->api, PJRT_Buffer_Destroy, destroy, NULL);
}

int32_t cyxla__pjrt_buffer_address(const cyxla_plugin *plugin, PJRT_Buffer *buffer,
                                   void **out_address, cyxla_error *error) {
  PJRT_ARGS(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, find, .buffer = buffer);
  TRY(PJRT_CALL_OPTIONAL(&plugin->api, PJRT_Buffer_OpaqueDeviceMemoryDataPointer, find, error));
  *out_address = find.args.device_memory_ptr;
  return CYXLA_OK;
}
