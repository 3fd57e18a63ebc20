#include "data.h"
#include "xla_cpu/container.h"
#include "xla_cpu/elf.h"

/* What `readelf -a` says of the object in plugin_arctan_f32.bin. */
enum {
  OBJECT_SIZE = 1792,
  SECTIONS = 0x480, /* offset of the section headers, of 64 bytes each */
  SECTION_COUNT = 10,
  CODE = 0x40, /* offset of .ltext, the section with code */
  CODE_SIZE = 0x20e,
  CODE_SECTION = 3,
  ARCTAN = 0x140, /* offset of the function in .ltext */
  ARCTAN_SIZE = 206,
  KERNEL_SIZE = 315,
  RELOCATIONS = 0x370, /* the kernel's, then that of arctan */
  SYMBOLS = 0x2e0,
  SYMBOL_COUNT = 6,
};
static const char arctan[] = "xla.atan.v8f32", kernel[] = "broadcast_atan2_fusion";

static cyxla__span read_object(void) {
  cyxla__span bytes = read_data("plugin_arctan_f32"), rest, object;
  CHECK(cyxla__container_open(bytes, &rest) && cyxla__container_next_object(&rest, &object));
  CHECK_INT(object.size, OBJECT_SIZE);
  object = copy_of(object.data, object.size);
  free(bytes.data);
  return object;
}

static bool has_function(cyxla__span object, const char *name) {
  cyxla__elf_function function;
  return cyxla__elf_find_function(object, name, &function);
}

/* Where the record of the symbol with this code begins; both functions have different sizes. */
static size_t symbol_of(cyxla__span object, uint64_t size) {
  for (size_t at = SYMBOLS; at < SYMBOLS + 24 * SYMBOL_COUNT; at += 24) {
    uint64_t found;
    CHECK(cyxla__span_load(object, at + 16, 8, &found));
    if (found == size) return at;
  }
  TEST_FAIL("no symbol of %d bytes", (int)size);
}

static void finds_functions(void) {
  cyxla__span object = read_object();
  cyxla__elf_function function;
  CHECK(cyxla__elf_find_function(object, arctan, &function));
  CHECK_INT(function.section, CODE_SECTION);
  CHECK_INT(function.offset, ARCTAN);
  CHECK_INT(function.code.data - object.data, CODE + ARCTAN);
  CHECK_INT(function.code.size, ARCTAN_SIZE);
  CHECK(cyxla__elf_find_function(object, kernel, &function));
  CHECK_INT(function.code.data - object.data, CODE);
  CHECK_INT(function.code.size, KERNEL_SIZE);
  CHECK(!has_function(object, "xla.atan.v8f3") && !has_function(object, "xla.atan.v8f322"));
  CHECK(!has_function(object, "atanf")); /* used, not defined */
  CHECK(!has_function(object, ".ltext") && !has_function(object, ""));
  free(object.data);
}

static void finds_the_relocation(void) {
  cyxla__span object = read_object(), record;
  cyxla__elf_function function;
  CHECK(cyxla__elf_find_function(object, arctan, &function));
  CHECK(cyxla__elf_find_address(object, &function, &record));
  CHECK_INT(record.data - object.data, RELOCATIONS + 24);
  CHECK_INT(record.size, 24);
  CHECK(cyxla__elf_find_function(object, kernel, &function));
  CHECK(!cyxla__elf_find_address(object, &function, &record)); /* with an addend */
  store(object, RELOCATIONS + 16, 8, 0);
  CHECK(cyxla__elf_find_address(object, &function, &record));
  CHECK_INT(record.data - object.data, RELOCATIONS);
  store(object, RELOCATIONS + 8, 4, 2); /* relative to its place */
  CHECK(!cyxla__elf_find_address(object, &function, &record));
  store(object, RELOCATIONS + 8, 4, 1);
  function =
      (cyxla__elf_function){.section = CODE_SECTION, .code = {object.data + CODE, CODE_SIZE}};
  CHECK(!cyxla__elf_find_address(object, &function, &record)); /* two */
  function.offset = CODE_SIZE;
  CHECK(!cyxla__elf_find_address(object, &function, &record)); /* none */
  function = (cyxla__elf_function){.section = 1, .code = {object.data + CODE, CODE_SIZE}};
  CHECK(!cyxla__elf_find_address(object, &function, &record)); /* of another section */
  free(object.data);
}

/* The first and the last byte of a function, and those next to them. */
static void takes_relocations_inside_only(void) {
  static const struct {
    int64_t offset;
    bool inside;
  } places[] = {
      {-1, false},          {0, true}, {ARCTAN_SIZE - 8, true}, {ARCTAN_SIZE - 1, true},
      {ARCTAN_SIZE, false},
  };
  cyxla__span object = read_object(), record;
  cyxla__elf_function function;
  CHECK(cyxla__elf_find_function(object, arctan, &function));
  for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
    store(object, RELOCATIONS + 24, 8, (uint64_t)(ARCTAN + places[i].offset));
    CHECK_INT(cyxla__elf_find_address(object, &function, &record), places[i].inside);
  }
  free(object.data);
}

static void counts_code(void) {
  cyxla__span object = read_object();
  CHECK_INT(cyxla__elf_code_size(object), CODE_SIZE);
  free(object.data);
}

/* What makes it another kind of file. */
static void refuses_other_files(void) {
  static const struct {
    size_t offset, size;
    uint64_t value;
  } changes[] = {
      {0, 1, 0x7e},         /* the mark */
      {4, 1, 1},            /* 32 bits */
      {5, 1, 2},            /* big-endian */
      {58, 2, 40},          /* section headers of another size */
      {60, 2, 0},           /* no sections */
      {40, 8, OBJECT_SIZE}, /* section headers beyond the end, in several ways */
      {40, 8, OBJECT_SIZE + 1},
      {40, 8, 1ull << 63},
      {40, 8, UINT64_MAX - 63},
      {40, 8, UINT64_MAX},
  };
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; ++i) {
    cyxla__span object = read_object();
    store(object, changes[i].offset, changes[i].size, changes[i].value);
    CHECK_INT(cyxla__elf_code_size(object), 0);
    CHECK(!has_function(object, arctan));
    free(object.data);
  }
}

/* Numbers in section headers and symbols that point to the outside. */
static void refuses_outside(void) {
  static const uint64_t outside[] = {OBJECT_SIZE + 1, UINT32_MAX, 1ull << 63, UINT64_MAX - 8,
                                     UINT64_MAX};
  const size_t code_section = SECTIONS + 64 * CODE_SECTION, symbols_section = SECTIONS + 64 * 9;
  for (size_t i = 0; i < sizeof outside / sizeof outside[0]; ++i) {
    const struct {
      size_t offset, size;
    } changes[] = {
        {code_section + 24, 8},                               /* offset */
        {code_section + 32, 8},                               /* size */
        {symbols_section + 24, 8},                            /* the same */
        {symbols_section + 32, 8}, {symbols_section + 40, 4}, /* the section with the names */
    };
    for (size_t k = 0; k < sizeof changes / sizeof changes[0]; ++k) {
      cyxla__span object = read_object();
      store(object, changes[k].offset, changes[k].size, outside[i]);
      CHECK(!has_function(object, arctan));
      free(object.data);
    }
  }
}

static void refuses_wrong_symbols(void) {
  cyxla__span object = read_object();
  const size_t symbol = symbol_of(object, ARCTAN_SIZE);
  free(object.data);
  const struct {
    size_t offset, size;
    uint64_t value;
  } changes[] = {
      {symbol, 4, UINT32_MAX}, /* the name beyond the strings */
      {symbol + 4, 1, 1},      /* data, no function */
      {symbol + 6, 2, 0},      /* defined nowhere */
      {symbol + 6, 2, SECTION_COUNT},
      {symbol + 6, 2, 0xfff1}, /* absolute */
      {symbol + 8, 8, CODE_SIZE},
      {symbol + 8, 8, UINT64_MAX},
      {symbol + 16, 8, CODE_SIZE - ARCTAN + 1},
      {symbol + 16, 8, UINT64_MAX - ARCTAN + 1},
  };
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; ++i) {
    object = read_object();
    store(object, changes[i].offset, changes[i].size, changes[i].value);
    CHECK(!has_function(object, arctan));
    CHECK(has_function(object, kernel));
    free(object.data);
  }
}

/* A name that has no end before that of the object. */
static void refuses_endless_names(void) {
  cyxla__span object = read_object();
  const size_t symbol = symbol_of(object, ARCTAN_SIZE), strings_section = SECTIONS + 64;
  uint64_t name;
  CHECK(cyxla__span_load(object, symbol, 4, &name));
  store(object, strings_section + 32, 8, name + sizeof arctan - 1);
  CHECK(!has_function(object, arctan));
  store(object, strings_section + 32, 8, name + sizeof arctan);
  CHECK(has_function(object, arctan));
  free(object.data);
}

static void reads_truncated_ones(void) {
  cyxla__span whole = read_object();
  for (size_t size = 0; size <= whole.size; ++size) {
    cyxla__span object = copy_of(whole.data, size), record;
    cyxla__elf_function function;
    CHECK(cyxla__elf_code_size(object) <= size);
    if (cyxla__elf_find_function(object, arctan, &function)) {
      CHECK(function.code.data + function.code.size <= object.data + size);
      cyxla__elf_find_address(object, &function, &record);
    }
    free(object.data);
  }
  free(whole.data);
}

int main(void) {
  RUN(finds_functions);
  RUN(finds_the_relocation);
  RUN(takes_relocations_inside_only);
  RUN(counts_code);
  RUN(refuses_other_files);
  RUN(refuses_outside);
  RUN(refuses_wrong_symbols);
  RUN(refuses_endless_names);
  RUN(reads_truncated_ones);
}
