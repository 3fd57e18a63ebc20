/* From nothing to the first result without a plugin: reads a program file (.cyxla) or a serialized executable,
 * loads it for the direct engine, runs it once on zeros, and tells when it had the result (ns of
 * CLOCK_MONOTONIC) and the most memory that was resident until then (KiB).
 *
 *     start file */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cyxla/cyxla.h"

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void *read_file(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) fail("can't open the file");
  *out_size = (size_t)ftell(file);
  rewind(file);
  void *data = malloc(*out_size);
  if (!data || fread(data, 1, *out_size, file) != *out_size) fail("can't read the file");
  fclose(file);
  return data;
}

static cyxla_executable *load(const char *path) {
  cyxla_executable *executable;
  cyxla_error error = CYXLA_ERROR_INIT;
  const char *ending = strrchr(path, '.');
  if (ending && !strcmp(ending, ".cyxla")) {
    if (cyxla_load(path, NULL, CYXLA_ENGINE_DIRECT, &executable, &error)) fail(error.message);
    return executable;
  }
  size_t size;
  void *data = read_file(path, &size);
  if (cyxla_executable_deserialize(NULL, NULL, data, size, CYXLA_ENGINE_DIRECT, &executable,
                                   &error))
    fail(error.message);
  return executable;
}

static void report(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  /* Not getrusage: what it tells is that of the parent, where that had more. */
  FILE *status = fopen("/proc/self/status", "r");
  char line[256];
  long peak = 0;
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &peak);
  printf("%lld %ld\n", now.tv_sec * 1000000000LL + now.tv_nsec, peak);
}

int main(int argument_count, char **arguments) {
  if (argument_count != 2) fail("usage: start file");
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla_executable *executable = load(arguments[1]);
  cyxla_executable_info info = {.struct_size = sizeof info};
  cyxla_executable_get_info(executable, &info);
  cyxla_input *inputs = calloc(info.input_count + 1, sizeof *inputs);
  void **outputs = calloc(info.output_count + 1, sizeof *outputs);
  for (size_t i = 0; i < info.input_count; ++i) {
    const int32_t type = info.inputs[i].element_type;
    inputs[i] = (cyxla_input){calloc(1, info.input_sizes[i]), type,
                              info.input_sizes[i] / cyxla_element_size(type)};
  }
  for (size_t i = 0; i < info.output_count; ++i)
    outputs[i] = cyxla_aligned_alloc(info.output_sizes[i]);
  if (cyxla_execute(executable, inputs, outputs, 0, &error)) fail(error.message);
  report();
  return 0;
}
