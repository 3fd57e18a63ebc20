#include "base/memory.h"
#include "cyxla/cyxla.h"
#include "element_types.h"
#include "test.h"

static void aligns(void) {
  for (size_t size = 0; size < 300; ++size) {
    unsigned char *memory = cyxla_aligned_alloc(size);
    CHECK(memory);
    CHECK(cyxla__is_aligned(memory));
    memset(memory, 1, size);
    cyxla_aligned_free(memory);
  }
  CHECK(!cyxla__is_aligned((const void *)32));
}

static void gives_unique_pointers_for_nothing(void) {
  void *first = cyxla_aligned_alloc(0), *second = cyxla_aligned_alloc(0);
  CHECK(first && second && first != second);
  cyxla_aligned_free(first);
  cyxla_aligned_free(second);
  cyxla_aligned_free(NULL);
}

static void refuses_what_no_memory_can_hold(void) {
  CHECK(!cyxla_aligned_alloc(SIZE_MAX));
  CHECK(!cyxla_aligned_alloc(SIZE_MAX - 63));
  CHECK(!cyxla_aligned_alloc(SIZE_MAX - 64));
}

static void detects_overflow(void) {
  size_t out = 0;
  CHECK(cyxla__multiply(6, 7, &out));
  CHECK_INT(out, 42);
  CHECK(!cyxla__multiply(SIZE_MAX / 2 + 1, 2, &out));
  CHECK(cyxla__multiply(0, SIZE_MAX, &out));
  CHECK_INT(out, 0);
  CHECK(cyxla__add(SIZE_MAX - 1, 1, &out));
  CHECK(out == SIZE_MAX);
  CHECK(!cyxla__add(SIZE_MAX, 1, &out));
}

typedef struct info {
  size_t struct_size;
  int first, second, third;
} info;

static void copies_what_the_caller_knows(void) {
  const info all = {sizeof all, 1, 2, 3};
  info older = {offsetof(info, second), -1, -1, -1};
  cyxla__copy_info(&older, &all, sizeof all);
  CHECK_INT(older.first, 1);
  CHECK_INT(older.second, -1);
  struct {
    info known;
    int newer;
  } larger = {{sizeof larger, -1, -1, -1}, -1};
  cyxla__copy_info(&larger, &all, sizeof all);
  CHECK_INT(larger.known.third, 3);
  CHECK_INT(larger.newer, -1);
}

static void knows_element_types(void) {
  static const size_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16, 0, 0};
  for (int type = 0; type < 18; ++type) CHECK_INT(cyxla_element_size(type), sizes[type]);
  CHECK_INT(cyxla_element_size(-1), 0);
  CHECK_INT(cyxla_element_size(INT32_MAX), 0);
  CHECK_INT(cyxla_element_size(INT32_MIN), 0);
  CHECK_TEXT(cyxla__element_name(CYXLA_BF16), "bf16");
  CHECK_TEXT(cyxla__element_name(CYXLA_C128), "c128");
  CHECK(!cyxla__element_name(0));
  CHECK(!cyxla__element_name(16));
}

int main(void) {
  RUN(aligns);
  RUN(gives_unique_pointers_for_nothing);
  RUN(refuses_what_no_memory_can_hold);
  RUN(detects_overflow);
  RUN(copies_what_the_caller_knows);
  RUN(knows_element_types);
}
