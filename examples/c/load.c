/* A program file, run from C: neither Python nor a compiler is needed.
 *
 *   cc examples/c/load.c $(pkg-config --cflags --libs cyxla) -o load
 *   ./load tests/data/sine.cyxla
 *
 * Its inputs become 0, 1, 2, ... if they are floats or doubles, and zeros else. */
#include <cyxla/cyxla.h>
#include <stdio.h>
#include <stdlib.h>

static cyxla_input make_input(const cyxla_array_type *type, size_t size) {
  const size_t length = size / cyxla_element_size(type->element_type);
  void *data = cyxla_aligned_alloc(size);
  for (size_t i = 0; i < size; ++i) ((unsigned char *)data)[i] = 0;
  for (size_t i = 0; i < length; ++i) {
    if (type->element_type == CYXLA_F32) ((float *)data)[i] = (float)i;
    if (type->element_type == CYXLA_F64) ((double *)data)[i] = (double)i;
  }
  return (cyxla_input){data, type->element_type, length};
}

static void print_output(const cyxla_array_type *type, size_t size, const void *data) {
  printf("%s:", type->name);
  for (size_t i = 0; i < size / cyxla_element_size(type->element_type); ++i) {
    if (type->element_type == CYXLA_F32) printf(" %.6f", ((const float *)data)[i]);
    if (type->element_type == CYXLA_F64) printf(" %.6f", ((const double *)data)[i]);
  }
  printf("\n");
}

int main(int argc, char **argv) {
  if (argc != 2) return fprintf(stderr, "usage: %s FILE\n", argv[0]), 2;

  cyxla_executable *executable;
  cyxla_error error = CYXLA_ERROR_INIT;
  if (cyxla_load(argv[1], NULL, CYXLA_ENGINE_AUTO, &executable, &error)) {
    fprintf(stderr, "%s: %s\n", cyxla_status_name(error.code), error.message);
    return 1;
  }
  cyxla_executable_info info = {.struct_size = sizeof info};
  cyxla_executable_get_info(executable, &info);

  cyxla_input *inputs = calloc(info.input_count + 1, sizeof *inputs);
  void **outputs = calloc(info.output_count + 1, sizeof *outputs);
  for (size_t i = 0; i < info.input_count; ++i)
    inputs[i] = make_input(&info.inputs[i], info.input_sizes[i]);
  for (size_t i = 0; i < info.output_count; ++i)
    outputs[i] = cyxla_aligned_alloc(info.output_sizes[i]);

  const int failed = cyxla_execute(executable, inputs, outputs, CYXLA_ZERO_COPY, &error);
  if (failed) fprintf(stderr, "%s: %s\n", cyxla_status_name(error.code), error.message);
  for (size_t i = 0; i < info.output_count && !failed; ++i)
    print_output(&info.outputs[i], info.output_sizes[i], outputs[i]);

  for (size_t i = 0; i < info.input_count; ++i) cyxla_aligned_free((void *)inputs[i].data);
  for (size_t i = 0; i < info.output_count; ++i) cyxla_aligned_free(outputs[i]);
  free(inputs);
  free(outputs);
  cyxla_executable_destroy(executable);
  return failed != 0;
}
