/* Executables that were tampered with: whatever the bytes, what is let through holds together; see
 * image_invariants.h.  And too little memory. */
#include "executable_writer.h"
#include "image_invariants.h"
#include "xla_cpu/container.h"

/* ---- lack of memory ---- */

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static int failing_allocation = -1; /* -1: none */

/* The linker puts this in the place of libc's. */
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return failing_allocation-- == 0 ? NULL : __real_aligned_alloc(alignment, size);
}

/* An executable with a table of `count` numbers and `count` bytes in each place that may hold
 * some, so that each allocation needs a block of its own and can fail. */
static cyxla__span write_large(size_t count) {
  cyxla__proto thunks = {0}, kernel = {0}, sort = {0}, call = {0}, dot = {0}, dimensions = {0};
  cyxla__proto conditional = {0}, buffers = {0}, result = {0}, module = minimal_module(),
               other = {0};
  cyxla__proto assignment = {0};
  char *name = malloc(count);
  CHECK(name);
  memset(name, 'x', count);
  for (size_t i = 0; i < count; ++i) {
    cyxla__proto shaped = {0}, none = {0}, object = {0}, symbol = {0};
    add(&shaped, 1, slice_of(0, 0, 8));
    add(&kernel, 5, shaped);
    add(&sort, 5, pair(0));
    add(&buffers, 1, pair(1));
    add(&conditional, 1, none);
    add(&result, 8, object);
    add(&result, 7, symbol);
    cyxla__proto_varint(&dimensions, 1, 0);
    cyxla__proto_varint(&dimensions, 2, 0);
    cyxla__proto_varint(&dimensions, 3, 0);
    cyxla__proto_varint(&dimensions, 4, 0);
    add_computation(&module, 100 + (int64_t)i, 0, none);
    add_instruction(&other, (instruction){.id = 1000 + (int64_t)i, .opcode = "add"});
    add_buffer(&assignment, 5 + i, 1000 + (int64_t)i, -1);
    add_allocation(&assignment, (allocation){.index = i, .size = 8});
  }
  add_computation(&module, 2, 1000, other);
  add_thunk(&thunks, "kernel", 11, kernel);
  add_thunk(&thunks, "sort", 5, sort);
  add(&conditional, 2, slice_of(0, 0, 4));
  add_thunk(&thunks, "conditional", 4, conditional);
  add(&call, 4, buffers);
  add_thunk(&thunks, "custom-call", 16, call);
  add(&dot, 1, dimensions);
  for (uint32_t i = 2; i <= 4; ++i) add(&dot, i, pair(0));
  add_thunk(&thunks, "dot", 7, dot);
  cyxla__proto unknown = {0};
  cyxla__proto_bytes(&unknown, 1, name, count);
  add(&unknown, 99, (cyxla__proto){0});
  add(&thunks, 1, unknown);
  free(name);
  add_buffer(&assignment, 0, 10, -1);
  add_buffer(&assignment, 1, 11, -1);
  add_allocation(
      &assignment,
      (allocation){
          .index = count, .size = 8, .flags = {LIVE_OUT}, .buffers = {1}, .buffer_count = 1});
  return write_executable(
      (parts){.module = module, .assignment = assignment, .thunks = thunks, .result = result});
}

/* Each allocation fails in turn. */
static size_t count_allocations(cyxla__span bytes) {
  cyxla_error error = CYXLA_ERROR_INIT;
  cyxla__image image;
  for (int i = 0;; ++i) {
    failing_allocation = i;
    const int32_t status = cyxla__image_decode(bytes, &image, &error);
    if (failing_allocation < 0) {
      CHECK_STATUS(status, CYXLA_RESOURCE_EXHAUSTED, &error);
      continue;
    }
    failing_allocation = -1;
    CHECK_OK(status, &error);
    cyxla__image_deinit(&image);
    return (size_t)i;
  }
}

static void survives_lack_of_memory(void) {
  cyxla__span bytes = read_data("programs/loop-plugin-0.11.2");
  CHECK(count_allocations(bytes) > 2);
  free(bytes.data);
  bytes = write_large(3000);
  CHECK(count_allocations(bytes) > 15);
  free(bytes.data);
}

/* ---- tampering ---- */

static void survives_truncation(void) {
  static const char *const programs[] = {"sine-plugin-0.11.2", "sine-jaxlib-0.12.0",
                                         "dot-plugin-0.11.2", "top_k-plugin-0.11.2"};
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; ++i) {
    char name[64];
    snprintf(name, sizeof name, "programs/%s", programs[i]);
    cyxla__span whole = read_data(name);
    for (size_t size = 0; size < whole.size; ++size) {
      cyxla__span bytes = copy_of(whole.data, size);
      /* Before the end of the first field there is nothing to read; after it, only options are
       * missing. */
      CHECK(!check_any_bytes(bytes) || size > whole.size / 2);
      free(bytes.data);
    }
    CHECK(check_any_bytes(whole));
    free(whole.data);
  }
}

/* Every byte, or each `stride`-th one. */
static void flip_bytes(const char *program, size_t stride) {
  cyxla__span bytes = read_data(program);
  for (size_t i = 0; i < bytes.size; i += stride) {
    const uint8_t original = bytes.data[i];
    const uint8_t others[] = {0, 0xff, original ^ 1, original ^ 0x80};
    for (size_t k = 0; k < sizeof others; ++k) {
      bytes.data[i] = others[k];
      check_any_bytes(bytes);
    }
    bytes.data[i] = original;
  }
  CHECK(check_any_bytes(bytes));
  free(bytes.data);
}

static void survives_changed_bytes(void) {
  flip_bytes("programs/sine-plugin-0.11.2", 1);
  flip_bytes("programs/sine-jaxlib-0.10.2", 1);
  flip_bytes("programs/dot-plugin-0.11.2", 1);
  flip_bytes("programs/top_k-plugin-0.11.2", 1);
  flip_bytes("programs/cholesky-jaxlib-0.11.2", 2);
  flip_bytes("programs/sort-plugin-0.11.2", 3);
  flip_bytes("programs/constants-plugin-0.11.2", 3);
  flip_bytes("programs/several-plugin-0.11.2", 3);
  flip_bytes("programs/loop-plugin-0.11.2", 17);
}

/* Whether bytes could be a message: those of names could, too, which does no harm. */
static bool is_message(cyxla__span bytes) {
  cyxla__field field;
  if (!bytes.size) return false;
  while (cyxla__proto_next(&bytes, &field)) {
  }
  return !bytes.size;
}

/* Writes `message` with its number `*countdown` (in the order of bytes) replaced; -1: it was. */
static cyxla__proto with_number(cyxla__span message, long *countdown, uint64_t value, int depth) {
  cyxla__proto copy = {0};
  cyxla__field field;
  while (cyxla__proto_next(&message, &field)) {
    if (!field.is_bytes) {
      const bool here = (*countdown)-- == 0;
      cyxla__proto_varint(&copy, field.number, here ? value : field.value);
    } else if (*countdown >= 0 && depth < 12 && is_message(field.bytes)) {
      add(&copy, field.number, with_number(field.bytes, countdown, value, depth + 1));
    } else {
      cyxla__proto_bytes(&copy, field.number, field.bytes.data, field.bytes.size);
    }
  }
  return copy;
}

/* An extreme in each number of the compilation result. */
static void change_numbers(const char *program) {
  static const uint64_t values[] = {0,          1,         2,          INT32_MAX, UINT32_MAX,
                                    1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX};
  cyxla__span file = read_data(program), bare, result;
  CHECK(cyxla__container_unwrap(file, &bare) && cyxla__container_open(file, &result));
  for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i)
    for (long number = 0, rest = -1; rest < 0; ++number) {
      rest = number;
      cyxla__proto executable = {0};
      add(&executable, 1, with_number(result, &rest, values[i], 0));
      cyxla__span bytes = bytes_of(&executable);
      check_any_bytes(bytes);
      free(bytes.data);
    }
  free(file.data);
}

static void survives_extreme_numbers(void) {
  change_numbers("programs/sine-plugin-0.11.2");
  change_numbers("programs/dot-plugin-0.11.2");
  change_numbers("programs/top_k-plugin-0.11.2");
  change_numbers("programs/donated-plugin-0.11.2");
  change_numbers("programs/cholesky-jaxlib-0.12.0");
}

int main(void) {
  RUN(survives_lack_of_memory);
  RUN(survives_truncation);
  RUN(survives_changed_bytes);
  RUN(survives_extreme_numbers);
}
