#include "ffi/future.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "ffi/error.h"

struct XLA_FFI_Future {
  pthread_mutex_t mutex;
  pthread_cond_t completed;
  bool is_completed;
  XLA_FFI_Error *error;
};

XLA_FFI_Error *cyxla__ffi_future_create(const XLA_FFI_Api *api, XLA_FFI_Future_Create_Args *args) {
  XLA_FFI_Future *future = calloc(1, sizeof *future);
  if (!future) return cyxla__ffi_error(api, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "out of memory");
  pthread_mutex_init(&future->mutex, NULL);
  pthread_cond_init(&future->completed, NULL);
  args->future = future;
  return NULL;
}

/* The waiting thread destroys the future as soon as it gets the mutex: nothing may come after that is
 * unlocked. */
static void complete(XLA_FFI_Future *future, XLA_FFI_Error *error) {
  pthread_mutex_lock(&future->mutex);
  future->is_completed = true;
  future->error = error;
  pthread_cond_signal(&future->completed);
  pthread_mutex_unlock(&future->mutex);
}

void cyxla__ffi_future_set_available(const XLA_FFI_Future_SetAvailable_Args *args) {
  complete(args->future, NULL);
}

XLA_FFI_Error *cyxla__ffi_future_set_error(const XLA_FFI_Api *api,
                                           const XLA_FFI_Future_SetError_Args *args) {
  if (!args->error)
    return cyxla__ffi_error(api, XLA_FFI_Error_Code_INVALID_ARGUMENT,
                            "a future needs an error that is not NULL");
  complete(args->future, args->error);
  return NULL;
}

XLA_FFI_Error *cyxla__ffi_future_await(XLA_FFI_Future *future) {
  pthread_mutex_lock(&future->mutex);
  while (!future->is_completed) pthread_cond_wait(&future->completed, &future->mutex);
  XLA_FFI_Error *error = future->error;
  pthread_mutex_unlock(&future->mutex);
  pthread_cond_destroy(&future->completed);
  pthread_mutex_destroy(&future->mutex);
  free(future);
  return error;
}
