/* Relocations of both machines, on bytes: no code runs, so every host tests both. */
#include "direct/reloc.h"
#include "test.h"

enum { DONE, UNKNOWN, OUTSIDE, TOO_FAR }; /* as the results */

typedef struct relocation {
  uint32_t type;
  uint64_t address, target;
  int result;
  uint64_t before, after; /* the bytes of the place as a number */
} relocation;

static uint64_t load(const uint8_t *bytes, size_t size) {
  uint64_t value = 0;
  CHECK(cyxla__span_load((cyxla__span){(uint8_t *)bytes, size}, 0, size, &value));
  return value;
}

/* Checks each relocation in a place of exactly `size` bytes between others, and in one that is
 * shorter by a byte. */
static void check_all(const cyxla__machine *machine, size_t size, const relocation *relocations,
                      size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const relocation *relocation = &relocations[i];
    uint8_t bytes[24];
    memset(bytes, 0x5a, sizeof bytes);
    cyxla__store(bytes + 8, size, relocation->before);
    const cyxla__span place = {bytes + 8, size}, shorter = {bytes + 8, size - 1};
    if (relocation->result != UNKNOWN)
      CHECK_INT(
          machine->relocate(relocation->type, shorter, relocation->address, relocation->target),
          OUTSIDE);
    CHECK(load(bytes + 8, size) == relocation->before);
    const int result =
        (int)machine->relocate(relocation->type, place, relocation->address, relocation->target);
    if (result != relocation->result) TEST_FAIL("relocation %zu gives %d", i, result);
    const uint64_t found = load(bytes + 8, size);
    const uint64_t expected = result ? relocation->before : relocation->after;
    if (found != expected)
      TEST_FAIL("relocation %zu makes it 0x%llx", i, (unsigned long long)found);
    for (size_t k = 0; k < sizeof bytes; ++k)
      if (k < 8 || k >= 8 + size) CHECK_INT(bytes[k], 0x5a);
  }
}

#define CHECK_ALL(machine, size, relocations) \
  check_all(machine, size, relocations, sizeof(relocations) / sizeof *(relocations))

static const uint64_t high = 0x7fff12345678; /* where our memory is */
static const uint32_t ones = UINT32_MAX;

static void relocates_x86_64(void) {
  const relocation wide[] = {
      {1, high, 0x123456789abcdef0, DONE, UINT64_MAX, 0x123456789abcdef0},
      {1, high, UINT64_MAX, DONE, 0, UINT64_MAX},
      {24, high, high + 16, DONE, UINT64_MAX, 16},
      {24, high, high - 16, DONE, 0, (uint64_t)-16},
      {24, high, 1, DONE, 0, 1 - high},
  };
  const relocation narrow[] = {
      {2, high, high + 16, DONE, ones, 16},
      {2, high, high - 4, DONE, 0, 0xfffffffc},
      {2, high, high + 0x7fffffff, DONE, 0, 0x7fffffff},
      {2, high, high + 0x80000000, TOO_FAR, 7, 7},
      {2, high, high - 0x80000000, DONE, 0, 0x80000000},
      {2, high, high - 0x80000001, TOO_FAR, 7, 7},
      {2, 0xffffffffffffff00, 0x10, DONE, 0, 0x110},
      {4, high, high - 4, DONE, 0, 0xfffffffc},
      {4, high, high + ((uint64_t)1 << 31), TOO_FAR, 7, 7},
      {4, high, high + ((uint64_t)1 << 63), TOO_FAR, 7, 7},
      {10, high, UINT32_MAX, DONE, 0, UINT32_MAX},
      {10, high, 1ull << 32, TOO_FAR, 7, 7},
      {10, high, UINT64_MAX, TOO_FAR, 7, 7},
      {11, high, 0x7fffffff, DONE, 0, 0x7fffffff},
      {11, high, 0x80000000, TOO_FAR, 7, 7},
      {11, high, 0xffffffff80000000, DONE, 0, 0x80000000},
      {11, high, 0xffffffff7fffffff, TOO_FAR, 7, 7},
      {0, high, high, UNKNOWN, 7, 7},
      {9, high, high, UNKNOWN, 7, 7}, /* by a table of addresses */
      {14, high, 1, UNKNOWN, 7, 7},
      {257, high, high, UNKNOWN, 7, 7},
      {UINT32_MAX, high, high, UNKNOWN, 7, 7},
  };
  CHECK_ALL(&cyxla__machine_x86_64, 8, wide);
  CHECK_ALL(&cyxla__machine_x86_64, 4, narrow);
}

static void relocates_data_of_aarch64(void) {
  const relocation wide[] = {
      {257, high, 0x123456789abcdef0, DONE, UINT64_MAX, 0x123456789abcdef0},
      {260, high, high - 16, DONE, 0, (uint64_t)-16},
      {260, high, 1, DONE, 0, 1 - high},
  };
  const relocation narrow[] = {
      {258, high, UINT32_MAX, DONE, 0, UINT32_MAX},
      {258, high, 1ull << 32, TOO_FAR, 7, 7},
      {258, high, 0xffffffff80000000, DONE, 0, 0x80000000}, /* signed or not */
      {258, high, 0xffffffff7fffffff, TOO_FAR, 7, 7},
      {261, high, high + 0x7fffffff, DONE, 0, 0x7fffffff},
      {261, high, high + 0x80000000, TOO_FAR, 7, 7},
      {261, high, high - 0x80000000, DONE, 0, 0x80000000},
      {261, high, high - 0x80000001, TOO_FAR, 7, 7},
  };
  CHECK_ALL(&cyxla__machine_aarch64, 8, wide);
  CHECK_ALL(&cyxla__machine_aarch64, 4, narrow);
}

/* Instructions as `aarch64-linux-gnu-as` writes them. */
static void relocates_instructions_of_aarch64(void) {
  const uint64_t value = 0xfedcba9876543210;
  const relocation instructions[] = {
      {263, high, 0x3210, DONE, 0xd2800003, 0xd2864203}, /* movz x3, #0x3210 */
      {263, high, 0x10000, TOO_FAR, 7, 7},
      {263, high, UINT64_MAX, TOO_FAR, 7, 7},
      {264, high, value, DONE, 0xd2800003, 0xd2864203},
      {264, high, value, DONE, 0xd29fffe3, 0xd2864203},      /* what was there goes */
      {265, high, 0x76543210, DONE, 0xf2a00003, 0xf2aeca83}, /* movk x3, #0x7654, lsl #16 */
      {265, high, 1ull << 32, TOO_FAR, 7, 7},
      {266, high, value, DONE, 0xf2a00003, 0xf2aeca83},
      {267, high, 0xba9876543210, DONE, 0xf2c00003, 0xf2d75303}, /* movk x3, #0xba98, lsl #32 */
      {267, high, 1ull << 48, TOO_FAR, 7, 7},
      {268, high, value, DONE, 0xf2c00003, 0xf2d75303},
      {269, high, value, DONE, 0xf2e00003, 0xf2ffdb83}, /* movk x3, #0xfedc, lsl #48 */

      {275, 0x400000, 0x400fff, DONE, 0x90000003, 0x90000003}, /* adrp x3, the same page */
      {275, 0x400ffc, 0x401000, DONE, 0x90000003, 0xb0000003}, /* the next */
      {275, 0x400000, 0x3fffff, DONE, 0x90000003, 0xf0ffffe3}, /* the one before */
      {275, 0x400000, 0x100400000 - 1, DONE, 0x90000003, 0xf07fffe3},
      {275, 0x400000, 0x100400000, TOO_FAR, 7, 7},
      {275, 0x200400000, 0x100400000, DONE, 0x90000003, 0x90800003},
      {275, 0x200401000, 0x100400fff, TOO_FAR, 7, 7},

      {277, high, 0x12345fff, DONE, 0x91000063, 0x913ffc63}, /* add x3, x3, #0xfff */
      {277, high, 0x12345000, DONE, 0x913ffc63, 0x91000063},
      {278, high, 0x12345fff, DONE, 0x39400063, 0x397ffc63}, /* ldrb w3, [x3, #0xfff] */
      {284, high, 0x12345ffe, DONE, 0x79400063, 0x795ffc63}, /* ldrh w3, [x3, #0xffe] */
      {284, high, 0x12345fff, TOO_FAR, 7, 7},
      {285, high, 0x12345ffc, DONE, 0xb9400063, 0xb94ffc63}, /* ldr w3, [x3, #0xffc] */
      {285, high, 0x12345ffe, TOO_FAR, 7, 7},
      {286, high, 0x12345ff8, DONE, 0xf9400063, 0xf947fc63}, /* ldr x3, [x3, #0xff8] */
      {286, high, 0x12345ffc, TOO_FAR, 7, 7},
      {299, high, 0x12345ff0, DONE, 0x3dc00063, 0x3dc3fc63}, /* ldr q3, [x3, #0xff0] */
      {299, high, 0x12345ff8, TOO_FAR, 7, 7},

      {283, high, high + 8, DONE, 0x94000000, 0x94000002}, /* bl */
      {283, high, high - 4, DONE, 0x94000000, 0x97ffffff},
      {283, high, high + 0x7fffffc, DONE, 0x94000000, 0x95ffffff},
      {283, high, high + 0x8000000, TOO_FAR, 7, 7},
      {283, high, high - 0x8000000, DONE, 0x94000000, 0x96000000},
      {283, high, high - 0x8000004, TOO_FAR, 7, 7},
      {283, high, high + 2, TOO_FAR, 7, 7},
      {282, high, high - 4, DONE, 0x14000000, 0x17ffffff}, /* b */

      {0, high, high, UNKNOWN, 7, 7},
      {1, high, high, UNKNOWN, 7, 7},
      {311, high, high, UNKNOWN, 7, 7}, /* by a table of addresses */
      {UINT32_MAX, high, high, UNKNOWN, 7, 7},
  };
  CHECK_ALL(&cyxla__machine_aarch64, 4, instructions);
}

static void knows_calls(void) {
  for (uint32_t type = 0; type < 1200; ++type) {
    CHECK_INT(cyxla__machine_x86_64.is_call(type), type == 4);
    CHECK_INT(cyxla__machine_aarch64.is_call(type), type == 282 || type == 283);
  }
}

static void writes_veneers(void) {
  static const uint8_t x86_64[] = {0xff, 0x25, 2, 0, 0, 0},
                       aarch64[] = {0x50, 0, 0, 0x58, 0, 2, 0x1f, 0xd6};
  uint8_t veneer[CYXLA__VENEER_SIZE];
  cyxla__machine_x86_64.write_veneer(veneer, high);
  CHECK_BYTES(veneer, x86_64, sizeof x86_64);
  CHECK(load(veneer + 8, 8) == high);
  cyxla__machine_aarch64.write_veneer(veneer, high);
  CHECK_BYTES(veneer, aarch64, sizeof aarch64);
  CHECK(load(veneer + 8, 8) == high);
}

int main(void) {
  RUN(relocates_x86_64);
  RUN(relocates_data_of_aarch64);
  RUN(relocates_instructions_of_aarch64);
  RUN(knows_calls);
  RUN(writes_veneers);
}
