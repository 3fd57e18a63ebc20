/* Executables of tests/data, each in a block of exactly its size: a sanitizer sees a step beyond.
 */
#ifndef CYXLA_TEST_DATA_H
#define CYXLA_TEST_DATA_H

#include "base/bytes.h"
#include "test.h"

static inline cyxla__span copy_of(const void *data, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  CHECK(copy);
  memcpy(copy, data, size);
  return (cyxla__span){copy, size};
}

/* Reads a file of the folder that CYXLA_TEST_DATA names. */
static inline cyxla__span read_file(const char *name) {
  static _Thread_local uint8_t data[1 << 16];
  char path[4096];
  const char *folder = getenv("CYXLA_TEST_DATA");
  CHECK(folder);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file) TEST_FAIL("can't read %s", path);
  const size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  CHECK(size < sizeof data);
  return copy_of(data, size);
}

/* Reads the executable `name`.bin. */
static inline cyxla__span read_data(const char *name) {
  char file[256];
  snprintf(file, sizeof file, "%s.bin", name);
  return read_file(file);
}

/* Writes a little-endian number of `size` bytes at a place that is inside. */
static inline void store(cyxla__span span, size_t offset, size_t size, uint64_t value) {
  CHECK(offset + size <= span.size);
  for (size_t i = 0; i < size; ++i) span.data[offset + i] = (uint8_t)(value >> (8 * i));
}

#endif
