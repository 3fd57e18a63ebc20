/* Lack of memory in the direct engine: each allocation of loading, executing and binding fails in turn.
 * The status says so, and the same works afterwards; what stays behind is for the checkers to see. */
#include "allocations.h"
#include "cyxla/cyxla.h"
#include "data.h"

enum { MAX_ARRAYS = 32, SHIFT = 4 /* all arrays are staged */ };

static cyxla_error error = CYXLA_ERROR_INIT;

typedef struct arrays {
  cyxla_input inputs[MAX_ARRAYS];
  void *outputs[MAX_ARRAYS];
  unsigned char *memory[MAX_ARRAYS];
  size_t count;
} arrays;

static unsigned char *add_array(arrays *arrays, size_t size) {
  CHECK(arrays->count < MAX_ARRAYS);
  unsigned char *memory = cyxla_aligned_alloc(size + SHIFT);
  CHECK(memory != NULL);
  memset(memory, 0, size + SHIFT);
  return (arrays->memory[arrays->count++] = memory) + SHIFT;
}

static void open_arrays(arrays *arrays, const cyxla_executable *executable) {
  cyxla_executable_info info = {.struct_size = sizeof info};
  cyxla_executable_get_info(executable, &info);
  arrays->count = 0;
  for (size_t i = 0; i < info.input_count; ++i) {
    const int32_t type = info.inputs[i].element_type;
    arrays->inputs[i] = (cyxla_input){add_array(arrays, info.input_sizes[i]), type,
                                      info.input_sizes[i] / cyxla_element_size(type)};
  }
  for (size_t i = 0; i < info.output_count; ++i)
    arrays->outputs[i] = add_array(arrays, info.output_sizes[i]);
}

static void close_arrays(const arrays *arrays) {
  for (size_t i = 0; i < arrays->count; ++i) cyxla_aligned_free(arrays->memory[i]);
}

static int32_t use(cyxla_executable *executable, const arrays *arrays) {
  cyxla_bound_call *call = NULL;
  int32_t status = cyxla_execute(executable, arrays->inputs, arrays->outputs, 0, &error);
  if (!status) status = cyxla_bind(executable, arrays->inputs, arrays->outputs, &call, &error);
  if (!status) status = cyxla_bound_call_execute(call, &error);
  cyxla_bound_call_destroy(call);
  return status;
}

static int32_t load(cyxla__span bytes, cyxla_executable **out_executable) {
  return cyxla_executable_deserialize(NULL, NULL, bytes.data, bytes.size, CYXLA_ENGINE_DIRECT,
                                      out_executable, &error);
}

static int32_t load_and_use(cyxla__span bytes, const arrays *arrays) {
  cyxla_executable *executable = NULL;
  int32_t status = load(bytes, &executable);
  if (!status) status = use(executable, arrays);
  cyxla_executable_destroy(executable);
  return status;
}

/* False: the executable is for another processor. */
static bool check_all_failures(const char *name) {
  char path[128];
  snprintf(path, sizeof path, "programs/%s", name);
  cyxla__span bytes = read_data(path);
  cyxla_executable *executable;
  const int32_t status = load(bytes, &executable);
  if (status == CYXLA_FAILED_PRECONDITION) {
    free(bytes.data);
    return false;
  }
  CHECK_OK(status, &error);
  arrays arrays;
  open_arrays(&arrays, executable);
  cyxla_executable_destroy(executable);
  fail_allocations(0, 0);
  CHECK_OK(load_and_use(bytes, &arrays), &error);
  const long total = allocations;
  CHECK(total > 10);
  for (long i = 1; i <= total; ++i) {
    fail_allocations(i, i);
    CHECK_STATUS(load_and_use(bytes, &arrays), CYXLA_RESOURCE_EXHAUSTED, &error);
    CHECK_CONTAINS(error.message, "out of memory");
    fail_allocations(0, 0);
    CHECK_OK(load_and_use(bytes, &arrays), &error);
  }
  close_arrays(&arrays);
  free(bytes.data);
  return true;
}

int main(void) {
  static const char *const names[] = {"sine-plugin-0.11.2",      "several-plugin-0.11.2",
                                      "sort-jaxlib-0.12.0",      "donated_both-plugin-0.11.2",
                                      "constants-jaxlib-0.12.0", "dot-plugin-0.11.2"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (!check_all_failures(names[i])) return TEST_SKIPPED;
}
