/* Decoding of executables that tests write. */
#ifndef CYXLA_TEST_DECODE_WRITTEN_H
#define CYXLA_TEST_DECODE_WRITTEN_H

#include "executable_writer.h"
#include "image_invariants.h"

/* Decodes an executable, whose bytes stay until the next one: the image points into them. */
static inline int32_t decode(parts parts, cyxla__image *image, cyxla_error *error) {
  static cyxla__span last;
  free(last.data);
  last = write_executable(parts);
  return cyxla__image_decode(last, image, error);
}

static inline cyxla__image decoded(parts parts) {
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla__image image;
  CHECK_OK(decode(parts, &image, &error), &error);
  return image;
}

static inline void refuse(parts parts, int32_t status, const char *message) {
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla__image image = {.object_count = 77};
  CHECK_STATUS(decode(parts, &image, &error), status, &error);
  CHECK_CONTAINS(error.message, message);
  CHECK_INT(image.object_count, 77);
}

static inline void accept(parts parts) {
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla__image image = decoded(parts);
  CHECK_OK(cyxla__image_verify(&image, &error), &error);
  check_image(&image);
  cyxla__image_deinit(&image);
}

#endif
