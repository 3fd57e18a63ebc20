/* The linker: functions that a compiler made, kernels that XLA made, and objects that nobody should
 * trust. */
#define _GNU_SOURCE 1 /* sincos */
#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/execmem.h"
#include "base/proto_reader.h"
#include "data.h"
#include "direct/code.h"
#include "direct/cpu.h"
#include "xla_cpu/container.h"

static cyxla_error error = CYXLA_ERROR_INIT;

/* ---- lack of memory: the linker sends the library's calls here ---- */

void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int32_t __real_cyxla__execmem_reserve(size_t size, void **out_memory, cyxla_error *error);
int32_t __real_cyxla__execmem_seal(void *memory, size_t code_size, size_t size, cyxla_error *error);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int32_t __wrap_cyxla__execmem_reserve(size_t size, void **out_memory, cyxla_error *error);
int32_t __wrap_cyxla__execmem_seal(void *memory, size_t code_size, size_t size, cyxla_error *error);

/* Number of requests for memory until one fails; 0: none does. */
static int failing_request;

static bool fails(void) {
  return failing_request && --failing_request == 0;
}

void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

/* Where the code should be; NULL: anywhere. */
static void *wanted_address;

int32_t __wrap_cyxla__execmem_reserve(size_t size, void **out_memory, cyxla_error *failure) {
  if (fails()) return cyxla__fail_memory(failure, size);
  if (!wanted_address) return __real_cyxla__execmem_reserve(size, out_memory, failure);
  *out_memory =
      mmap(wanted_address, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(*out_memory != MAP_FAILED);
  return CYXLA_OK;
}

int32_t __wrap_cyxla__execmem_seal(void *memory, size_t code_size, size_t size,
                                   cyxla_error *failure) {
  return fails() ? cyxla__fail_memory(failure, size)
                 : __real_cyxla__execmem_seal(memory, code_size, size, failure);
}

/* ---- objects of a compiler ---- */

/* Reads an object file that the build made; false where it made none. */
static bool read_object(const char *compiler, const char *name, cyxla__span *out_object) {
  static uint8_t data[1 << 16];
  char path[4096];
  const char *folder = getenv("CYXLA_TEST_OBJECTS");
  CHECK(folder);
  snprintf(path, sizeof path, "%s/%s_%s.o", folder, compiler, name);
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  const size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  CHECK(size && size < sizeof data);
  *out_object = copy_of(data, size);
  return true;
}

static cyxla__span span_of(const char *text) {
  return (cyxla__span){(uint8_t *)text, strlen(text)};
}

static cyxla__code *link_all(const cyxla__span *objects, size_t count) {
  cyxla__code *code;
  CHECK_OK(cyxla__code_link(objects, count, &code, &error), &error);
  return code;
}

#define FIND(code, name, result, ...) ((result(*)(__VA_ARGS__))find_function(code, name))

static cyxla__code_function find_function(const cyxla__code *code, const char *name) {
  const cyxla__code_function function = cyxla__code_find(code, span_of(name));
  if (!function) TEST_FAIL("no function %s", name);
  return function;
}

static void check_switch(const cyxla__code *code) {
  static const int expected[] = {13, 84, 36, 4, 15, -12, 96, 42};
  for (int i = 0; i < 8; ++i)
    CHECK_INT(FIND(code, "linked_switch", int, int, int)(i, 12), expected[i]);
}

static void check_functions(const cyxla__code *code) {
  char text[100] = "nothing";
  double sine, cosine;
  sincos(1.25f, &sine, &cosine);
  CHECK_REAL(FIND(code, "linked_sines", double, float)(1.25f), sinf(1.25f) + sine + cosine);
  CHECK_REAL(FIND(code, "linked_power", double, double, int)(3, 5), 243);
  FIND(code, "linked_copy", void, void *, const void *, size_t)(text, "something", 10);
  CHECK_TEXT(text, "something");
  CHECK_REAL(FIND(code, "linked_constant", double, int)(1), -2.5);
  CHECK_REAL(FIND(code, "linked_constant", double, int)(2), 1e300);
  CHECK_REAL(FIND(code, "linked_sum", double, float, double)(2, 3), 2 * 1.25 + 3 * 1.75);
  CHECK_INT(FIND(code, "linked_call", int, int)(4), 21);
  check_switch(code);
  CHECK(!cyxla__code_find(code, span_of("linked_table"))); /* data */
  CHECK(!cyxla__code_find(code, span_of("linked_switc")));
  CHECK(!cyxla__code_find(code, span_of("linked_switch2")));
  CHECK(!cyxla__code_find(code, span_of("add")));  /* local */
  CHECK(!cyxla__code_find(code, span_of("sinf"))); /* not its own */
  CHECK(!cyxla__code_find(code, span_of("")));
  CHECK(cyxla__code_size(code) > 100 && cyxla__code_size(code) < 4096);
}

static void runs_functions_of(const char *compiler, const char *model) {
  char name[64];
  cyxla__span objects[2];
  snprintf(name, sizeof name, "functions_%s", model);
  if (!read_object(compiler, name, &objects[0])) return;
  snprintf(name, sizeof name, "other_%s", model);
  CHECK(read_object(compiler, name, &objects[1]));
  cyxla__code *code = link_all(objects, 2);
  for (int i = 0; i < 2; ++i) {
    memset(objects[i].data, 0xcc, objects[i].size); /* they are not kept */
    free(objects[i].data);
  }
  check_functions(code);
  if (!strcmp(model, "large"))
    CHECK_TEXT(FIND(code, "linked_text", const char *, int)(1), "another");
  cyxla__code_unload(code);
}

static void runs_functions(void) {
  runs_functions_of("cc", "large");
  runs_functions_of("cc", "small");
  runs_functions_of("clang", "large");
  runs_functions_of("clang", "small");
}

/* Far from libm and from us: calls need veneers. */
static void runs_functions_far_away(void) {
  wanted_address = (void *)(uintptr_t)0x300000000000;
  runs_functions();
  wanted_address = NULL;
}

/* Addresses of 4 bytes do not reach our memory. */
static void refuses_small_addresses(void) {
  cyxla__span object;
  cyxla__code *code;
  if (!read_object("cc", "other_absolute", &object)) return;
  free(object.data);
  cyxla__span objects[2];
  CHECK(read_object("cc", "functions_absolute", &objects[0]));
  CHECK(read_object("cc", "other_absolute", &objects[1]));
  CHECK_STATUS(cyxla__code_link(objects, 2, &code, &error), CYXLA_UNIMPLEMENTED, &error);
  CHECK_CONTAINS(error.message, "object file 0: relocation of type ");
  CHECK_CONTAINS(error.message, " does not reach its symbol");
  for (int i = 0; i < 2; ++i) free(objects[i].data);
}

/* ---- executables of XLA ---- */

enum { MAX_OBJECTS = 16 };

/* Takes the object files out of an executable; they point into `*bytes`. */
static size_t read_objects(const char *name, cyxla__span *bytes, cyxla__span *objects) {
  size_t count = 0;
  cyxla__span rest;
  *bytes = read_data(name);
  CHECK(cyxla__container_open(*bytes, &rest));
  while (count < MAX_OBJECTS && cyxla__container_next_object(&rest, &objects[count])) ++count;
  CHECK(count);
  return count;
}

#if defined(__x86_64__)
/* What XLA's kernels get (format of its CPU runtime: workgroups, and an address and a size for each
 * array). */
typedef struct extent {
  uint64_t x, y, z;
} extent;
typedef struct kernel_array {
  void *data;
  size_t size;
} kernel_array;
typedef struct kernel_frame {
  const extent *workgroups, *workgroup;
  size_t array_count;
  const kernel_array *arrays;
} kernel_frame;

/* Whether this processor executes what was compiled (fields of XLA's CompilationResultProto). */
static bool can_run(cyxla__span serialized) {
  cyxla__span result, machine, triple, features;
  CHECK(cyxla__container_open(serialized, &result) && cyxla__proto_find(result, 9, &machine));
  CHECK(cyxla__proto_find(machine, 1, &triple) && cyxla__proto_find(machine, 3, &features));
  const int32_t status = cyxla__cpu_check(triple, features, &error);
  CHECK(!strstr(status ? error.message : "", "unknown"));
  return !status;
}

static void runs_a_kernel(void) {
  cyxla__span bytes, objects[MAX_OBJECTS];
  cyxla__code *code = link_all(objects, read_objects("plugin_sine_f32", &bytes, objects));
  const bool runs = can_run(bytes);
  free(bytes.data);
  _Alignas(64) float input[64], output[64];
  for (int i = 0; i < 64; ++i) input[i] = 0.37f * (float)(i - 20);
  const extent one = {1, 1, 1}, first = {0, 0, 0};
  const kernel_array arrays[] = {{input, sizeof input}, {output, sizeof output}};
  const kernel_frame frame = {&one, &first, 2, arrays};
  void *(*const kernel)(const kernel_frame *) =
      FIND(code, "wrapped_sine", void *, const kernel_frame *);
  if (runs) {
    CHECK(!kernel(&frame));
    for (int i = 0; i < 64; ++i) CHECK_REAL(output[i], sinf(input[i]));
  }
  cyxla__code_unload(code);
}

static void links_executables(void) {
  static const char *const names[] = {"plugin_arctan_f32",   "plugin_arctan_f64",
                                      "plugin_both_arctans", "plugin_arctan_v16f32",
                                      "plugin_arctan_v8f64", "jaxlib_arctan_f32"};
  cyxla__span bytes, objects[MAX_OBJECTS];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    const size_t count = read_objects(names[i], &bytes, objects);
    cyxla__code *code = link_all(objects, count);
    CHECK(cyxla__code_size(code) > 0x200 * count);
    cyxla__code_unload(code);
    free(bytes.data);
  }
}
#else
static void runs_a_kernel(void) {}

static void links_executables(void) {
  cyxla__span bytes, objects[MAX_OBJECTS];
  cyxla__code *code;
  const size_t count = read_objects("plugin_sine_f32", &bytes, objects);
  CHECK_STATUS(cyxla__code_link(objects, count, &code, &error), CYXLA_UNIMPLEMENTED, &error);
  CHECK_CONTAINS(error.message, "object file 0: code for ELF machine 62, while this machine is ");
  free(bytes.data);
}
#endif

/* ---- an object by hand ---- */

/* Where its parts begin.  Sections: none, .text, .rodata, .rela.text, .symtab, .strtab, .shstrtab.
 * Symbols: none, the section .rodata, the function f, the constant g, and sinf, which it uses.
 * Relocations, in .text: at 0 the address of .rodata + 4, at 8 of g, at 16 of sinf. */
enum {
  TEXT = 64,
  TEXT_SIZE = 32,
  CONSTANTS = 96,
  CONSTANTS_SIZE = 16,
  RELOCATIONS = 112,
  SYMBOLS = 184,
  STRINGS = 304,
  NAMES = 336,
  SECTIONS = 400,
  SECTION_COUNT = 7,
  OBJECT_SIZE = SECTIONS + 64 * SECTION_COUNT
};
#if defined(__x86_64__)
enum { MACHINE = 62, ADDRESS = 1, DISTANCE = 2, CALL = 4, CALL_ADDEND = -4, BYTE = 14 };
#else
enum { MACHINE = 183, ADDRESS = 257, DISTANCE = 261, CALL = 283, CALL_ADDEND = 0, BYTE = 1 };
#endif

#define SECTION(index) (SECTIONS + 64 * (index))
#define SYMBOL(index) (SYMBOLS + 24 * (index))
#define RELOCATION(index) (RELOCATIONS + 24 * (index))

static void store_section(cyxla__span object, size_t index, uint64_t name, uint64_t type,
                          uint64_t flags, uint64_t offset, uint64_t size, uint64_t item_size) {
  store(object, SECTION(index), 4, name);
  store(object, SECTION(index) + 4, 4, type);
  store(object, SECTION(index) + 8, 8, flags);
  store(object, SECTION(index) + 24, 8, offset);
  store(object, SECTION(index) + 32, 8, size);
  store(object, SECTION(index) + 48, 8, 16);
  store(object, SECTION(index) + 56, 8, item_size);
}

static void store_symbol(cyxla__span object, size_t index, uint64_t name, uint64_t binding,
                         uint64_t kind, uint64_t section) {
  store(object, SYMBOL(index), 4, name);
  store(object, SYMBOL(index) + 4, 1, binding << 4 | kind);
  store(object, SYMBOL(index) + 6, 2, section);
}

static void store_relocation(cyxla__span object, size_t index, uint64_t offset, uint64_t symbol,
                             uint64_t type, uint64_t addend) {
  store(object, RELOCATION(index), 8, offset);
  store(object, RELOCATION(index) + 8, 4, type);
  store(object, RELOCATION(index) + 12, 4, symbol);
  store(object, RELOCATION(index) + 16, 8, addend);
}

static void store_sections(cyxla__span object) {
  static const char names[] = "\0.text\0.rodata\0.rela.text\0.symtab\0.strtab\0.shstrtab";
  memcpy(object.data + NAMES, names, sizeof names);
  store_section(object, 1, 1, 1, 6, TEXT, TEXT_SIZE, 0);
  store_section(object, 2, 7, 1, 2, CONSTANTS, CONSTANTS_SIZE, 0);
  store_section(object, 3, 15, 4, 0x40, RELOCATIONS, SYMBOLS - RELOCATIONS, 24);
  store(object, SECTION(3) + 40, 4, 4); /* link */
  store(object, SECTION(3) + 44, 4, 1); /* info */
  store_section(object, 4, 26, 2, 0, SYMBOLS, STRINGS - SYMBOLS, 24);
  store(object, SECTION(4) + 40, 4, 5); /* link */
  store_section(object, 5, 34, 3, 0, STRINGS, NAMES - STRINGS, 0);
  store_section(object, 6, 42, 3, 0, NAMES, SECTIONS - NAMES, 0);
}

static cyxla__span make_object(void) {
  static const uint8_t identity[] = {0x7f, 'E', 'L', 'F', 2, 1, 1}, zeros[OBJECT_SIZE];
  cyxla__span object = copy_of(zeros, OBJECT_SIZE);
  memcpy(object.data, identity, sizeof identity);
  store(object, 16, 2, 1);
  store(object, 18, 2, MACHINE);
  store(object, 40, 8, SECTIONS);
  store(object, 58, 2, 64);
  store(object, 60, 2, SECTION_COUNT);
  store(object, 62, 2, 6);
  memcpy(object.data + CONSTANTS, "constants, of 16", CONSTANTS_SIZE);
  memcpy(object.data + STRINGS, "\0f\0g\0sinf", 10);
  store_sections(object);
  store_symbol(object, 1, 0, 0, 3, 2);
  store_symbol(object, 2, 1, 1, 2, 1);
  store_symbol(object, 3, 3, 1, 1, 2);
  store(object, SYMBOL(3) + 8, 8, 11);
  store_symbol(object, 4, 5, 1, 0, 0);
  store_relocation(object, 0, 0, 1, ADDRESS, 4);
  store_relocation(object, 1, 8, 3, ADDRESS, 0);
  store_relocation(object, 2, 16, 4, ADDRESS, 0);
  return object;
}

/* Protection of the page at `address`, such as "r-xp". */
static void get_protection(const void *address, char protection[5]) {
  char line[512];
  FILE *file = fopen("/proc/self/maps", "r");
  CHECK(file);
  protection[0] = 0;
  while (fgets(line, sizeof line, file)) {
    unsigned long start, end;
    char found[5];
    if (sscanf(line, "%lx-%lx %4s", &start, &end, found) == 3 && (uintptr_t)address >= start &&
        (uintptr_t)address < end)
      memcpy(protection, found, 5);
  }
  fclose(file);
}

static void relocates_and_seals(void) {
  cyxla__span object = make_object();
  char protection[5];
  cyxla__code *code = link_all(&object, 1);
  const uint8_t *text = (const uint8_t *)(uintptr_t)find_function(code, "f");
  const char *places[3];
  memcpy(places, text, sizeof places);
  CHECK(!memcmp(places[0], "tants, of 16", 12));
  CHECK(!memcmp(places[1], "of 16", 5));
  CHECK((uintptr_t)places[2] == (uintptr_t)sinf);
  CHECK_INT((uintptr_t)text % 16, 0);
  CHECK_INT(cyxla__code_size(code), TEXT_SIZE);
  get_protection(text, protection);
  CHECK_TEXT(protection, "r-xp");
  get_protection(places[0], protection);
#if defined(__x86_64__)
  CHECK_TEXT(protection, "r--p");
#else
  CHECK_INT(protection[1], '-'); /* qemu shows neighbours as one mapping */
#endif
  cyxla__code_unload(code);
  free(object.data);
}

static void links_nothing(void) {
  cyxla__code *code = link_all(NULL, 0);
  CHECK_INT(cyxla__code_size(code), 0);
  CHECK(!cyxla__code_find(code, span_of("f")));
  cyxla__code_unload(code);
  cyxla__code_unload(NULL);
}

static void aligns_sections(void) {
  cyxla__span object = make_object();
  store(object, SECTION(1) + 48, 8, 4096);
  store(object, SECTION(2) + 48, 8, 64);
  cyxla__span objects[] = {make_object(), object};
  store(objects[0], SYMBOL(2) + 4, 1, 2);   /* f local */
  store(objects[0], SYMBOL(3) + 4, 1, 1);   /* g local */
  store(objects[0], SECTION(2) + 48, 8, 0); /* no alignment */
  cyxla__code *code = link_all(objects, 2);
  const char *const *text = (const char *const *)(uintptr_t)find_function(code, "f");
  CHECK_INT((uintptr_t)text % 4096, 0);
  CHECK_INT((uintptr_t)(text[0] - 4) % 64, 0);
  CHECK_INT(cyxla__code_size(code), 2 * TEXT_SIZE);
  cyxla__code_unload(code);
  for (int i = 0; i < 2; ++i) free(objects[i].data);
}

static void finds_functions_only(void) {
  static const struct {
    size_t offset, size;
    uint64_t value;
  } changes[] = {
      {SYMBOL(2) + 4, 1, 0x11},     /* data */
      {SYMBOL(2) + 4, 1, 2},        /* local */
      {SYMBOL(2) + 6, 2, 2},        /* in constants */
      {SYMBOL(2) + 8, 8, TEXT_SIZE} /* at the end */
  };
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; ++i) {
    cyxla__span object = make_object();
    store(object, changes[i].offset, changes[i].size, changes[i].value);
    cyxla__code *code = link_all(&object, 1);
    CHECK(!cyxla__code_find(code, span_of("f")));
    cyxla__code_unload(code);
    free(object.data);
  }
}

/* A call may need a veneer, according to where things happen to be. */
static void calls_the_outside(void) {
  cyxla__span object = make_object();
  cyxla__code *code;
  memcpy(object.data + STRINGS + 5, "__powidf2", 10); /* of the library */
  store(object, RELOCATION(2) + 8, 4, CALL);
  store(object, RELOCATION(2) + 16, 8, (uint64_t)CALL_ADDEND);
  code = link_all(&object, 1);
  cyxla__code_unload(code);
  /* Not the start of a function: no veneer. */
  store(object, RELOCATION(2) + 16, 8, (uint64_t)1 << 40);
  CHECK_STATUS(cyxla__code_link(&object, 1, &code, &error), CYXLA_UNIMPLEMENTED, &error);
  CHECK_CONTAINS(error.message, "at 0x10 of section .text does not reach its symbol");
  /* Not a call: no veneer, though sinf may be near enough. */
  store(object, RELOCATION(2) + 8, 4, DISTANCE);
  CHECK_STATUS(cyxla__code_link(&object, 1, &code, &error), CYXLA_UNIMPLEMENTED, &error);
  free(object.data);
}

static void has_one_namespace(void) {
  cyxla__span objects[] = {make_object(), make_object()};
  cyxla__code *code;
  CHECK_STATUS(cyxla__code_link(objects, 2, &code, &error), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "symbol f is defined twice");
  /* The second object uses f and g of the first, and a sinf of its own. */
  store_symbol(objects[1], 2, 1, 1, 0, 0);
  store_symbol(objects[1], 3, 3, 2, 0, 0);
  store_symbol(objects[1], 4, 5, 2, 2, 1); /* weak */
  store_relocation(objects[1], 0, 0, 2, ADDRESS, 0);
  code = link_all(objects, 2);
  const uint64_t *f = (const uint64_t *)(uintptr_t)find_function(code, "f");
  const uint64_t *own = (const uint64_t *)(uintptr_t)find_function(code, "sinf");
  CHECK(own[0] == (uintptr_t)f && own[1] == f[1]);
  CHECK(f[2] == (uintptr_t)own && own[2] == (uintptr_t)own);
  cyxla__code_unload(code);
  for (int i = 0; i < 2; ++i) free(objects[i].data);
}

/* Names of symbols are kept apart by their lengths, too. */
static void finds_many(void) {
  enum { COUNT = 500 };
  static cyxla__span objects[COUNT];
  char name[16];
  for (int i = 0; i < COUNT; ++i) {
    objects[i] = make_object();
    store_symbol(objects[i], 3, 3, 0, 1, 2); /* g local */
    snprintf(name, sizeof name, "f%d", i);
    memcpy(objects[i].data + STRINGS + 16, name, sizeof name);
    store(objects[i], SYMBOL(2), 4, 16);
  }
  cyxla__code *code = link_all(objects, COUNT);
  const uint8_t *first = (const uint8_t *)(uintptr_t)find_function(code, "f0");
  for (int i = 0; i < COUNT; ++i) {
    snprintf(name, sizeof name, "f%d", i);
    const uint8_t *place = (const uint8_t *)(uintptr_t)find_function(code, name);
    CHECK_INT(place - first, TEXT_SIZE * i);
  }
  cyxla__code_unload(code);
  /* Every request for memory that can fail. */
  int32_t status = CYXLA_RESOURCE_EXHAUSTED;
  int request = 0;
  for (; status; ++request) {
    failing_request = request + 1;
    status = cyxla__code_link(objects, COUNT, &code, &error);
    if (status) CHECK_STATUS(status, CYXLA_RESOURCE_EXHAUSTED, &error);
    failing_request = 0;
  }
  CHECK(request > 10);
  cyxla__code_unload(code);
  for (int i = 0; i < COUNT; ++i) free(objects[i].data);
}

/* Tables that a block of the arena has no room for are requests of their own. */
static void reports_lack_of_memory(void) {
  enum { MORE = 300 };
  const cyxla__span small = make_object();
  static uint8_t bytes[OBJECT_SIZE + 64 * MORE + 24 * MORE];
  memcpy(bytes, small.data, OBJECT_SIZE);
  free(small.data);
  cyxla__span object = copy_of(bytes, sizeof bytes);
  const size_t symbols = OBJECT_SIZE + 64 * MORE;
  store(object, 60, 2, SECTION_COUNT + MORE);
  memmove(object.data + symbols, object.data + SYMBOLS, STRINGS - SYMBOLS);
  store(object, SECTION(4) + 24, 8, symbols);
  store(object, SECTION(4) + 32, 8, 24 * MORE);
  for (int request = 1;; ++request) {
    cyxla__code *code;
    failing_request = request;
    const int32_t status = cyxla__code_link(&object, 1, &code, &error);
    failing_request = 0;
    if (!status) {
      cyxla__code_unload(code);
      break;
    }
    CHECK_STATUS(status, CYXLA_RESOURCE_EXHAUSTED, &error);
  }
  free(object.data);
}

/* ---- refusals ---- */

typedef struct change {
  size_t offset, size;
  uint64_t value;
  int status;
  const char *message;
} change;

static void check_changes(const change *changes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    cyxla__span object = make_object();
    cyxla__code *code;
    store(object, changes[i].offset, changes[i].size, changes[i].value);
    const int32_t status = cyxla__code_link(&object, 1, &code, &error);
    if (status != changes[i].status)
      TEST_FAIL("change %zu gives %s: %s, not: %s", i, cyxla_status_name(status), error.message,
                changes[i].message);
    CHECK_CONTAINS(error.message, "object file 0: ");
    CHECK_CONTAINS(error.message, changes[i].message);
    free(object.data);
  }
}

#define CHECK_CHANGES(changes) check_changes(changes, sizeof(changes) / sizeof *(changes))
enum { INVALID = CYXLA_INVALID_ARGUMENT, UNKNOWN = CYXLA_UNIMPLEMENTED };

static void refuses_other_files(void) {
  static const change changes[] = {
      {0, 1, 0x7e, INVALID, "no ELF64 little-endian file"},
      {4, 1, 1, INVALID, "no ELF64 little-endian file"},
      {5, 1, 2, INVALID, "no ELF64 little-endian file"},
      {16, 2, 2, UNKNOWN, "ELF file of type 2, not a relocatable"},
      {16, 2, 3, UNKNOWN, "ELF file of type 3"},
      {18, 2, 40, UNKNOWN, "code for ELF machine 40, while this machine is "},
      {40, 8, OBJECT_SIZE, INVALID, "ill-formed table of sections"},
      {40, 8, UINT64_MAX - 63, INVALID, "ill-formed table of sections"},
      {58, 2, 40, INVALID, "ill-formed table of sections"},
      {60, 2, 0, INVALID, "ill-formed table of sections"},
      {60, 2, SECTION_COUNT + 1, INVALID, "ill-formed table of sections"},
      {62, 2, SECTION_COUNT, INVALID, "ill-formed table of sections"},
      {62, 2, 0, INVALID, "section 0 is ill-formed"},
  };
  CHECK_CHANGES(changes);
}

static void refuses_sections(void) {
  static const change changes[] = {
      {SECTION(1), 4, 64, INVALID, "section 1 is ill-formed"}, /* the name */
      {SECTION(1) + 24, 8, OBJECT_SIZE - TEXT_SIZE + 1, INVALID, "section 1 is ill-formed"},
      {SECTION(1) + 32, 8, OBJECT_SIZE, INVALID, "section 1 is ill-formed"},
      {SECTION(4) + 32, 8, 119, INVALID, "section 4 is ill-formed"},
      {SECTION(4) + 56, 8, 16, INVALID, "section 4 is ill-formed"},
      {SECTION(3) + 56, 8, 0, INVALID, "section 3 is ill-formed"},
      {SECTION(1) + 4, 4, 8, UNKNOWN, "section .text has type 0x8, which is not supported"},
      {SECTION(1) + 4, 4, 14, UNKNOWN,
       "section .text has type 0xe"}, /* functions to call at start */
      {SECTION(2) + 4, 4, 9, UNKNOWN, "section .rodata has type 0x9"}, /* SHT_REL */
      {SECTION(2) + 8, 8, 3, UNKNOWN, "section .rodata has flags 0x3, which is not supported"},
      {SECTION(2) + 8, 8, 0x402, UNKNOWN, "section .rodata has flags 0x402"}, /* of threads */
      {SECTION(2) + 8, 8, 0x802, UNKNOWN, "section .rodata has flags 0x802"}, /* compressed */
      {SECTION(2) + 8, 8, 1ull << 63 | 2, UNKNOWN, "section .rodata has flags 0x8000000000000002"},
      {SECTION(2) + 48, 8, 24, UNKNOWN, "section .rodata has alignment 0x18"},
      {SECTION(2) + 48, 8, 8192, UNKNOWN, "section .rodata has alignment 0x2000"},
      {SECTION(2) + 48, 8, 1ull << 63, UNKNOWN, "section .rodata has alignment 0x8000000000000000"},
      {SECTION(3) + 40, 4, 5, INVALID, "relocations without symbols"},
      {SECTION(3) + 44, 4, SECTION_COUNT, INVALID, "relocations of section 7, which there is not"},
      {SECTION(4) + 4, 4, 3, INVALID, "relocations without symbols"}, /* no table of them */
      {SECTION(4) + 40, 4, SECTION_COUNT, INVALID, "a symbol without a name"},
      {SECTION(2) + 8, 8, 0, UNKNOWN, "a symbol in section .rodata, which is not loaded"},
  };
  CHECK_CHANGES(changes);
}

static void refuses_symbols(void) {
  static const change changes[] = {
      {SYMBOL(2), 4, NAMES - STRINGS, INVALID, "a symbol without a name"},
      {SYMBOL(2), 4, UINT32_MAX, INVALID, "a symbol without a name"},
      {SYMBOL(2) + 4, 1, 0xa2, UNKNOWN, "a symbol of binding 10 is not supported"},
      {SYMBOL(2) + 4, 1, 0x1a, UNKNOWN, "a symbol of type 10 in section 0x1 is not supported"},
      {SYMBOL(3) + 4, 1, 6, UNKNOWN, "a symbol of type 6 in section 0x2"},         /* of threads */
      {SYMBOL(2) + 6, 2, 0xfff1, UNKNOWN, "a symbol of type 2 in section 0xfff1"}, /* absolute */
      {SYMBOL(2) + 6, 2, 0xfff2, UNKNOWN, "a symbol of type 2 in section 0xfff2"}, /* common */
      {SYMBOL(2) + 6, 2, SECTION_COUNT, INVALID, "a symbol in section 7, which there is not"},
      {SYMBOL(2) + 8, 8, TEXT_SIZE + 1, INVALID, "a symbol behind the end of section .text"},
      {SYMBOL(1) + 8, 8, UINT64_MAX, INVALID, "a symbol behind the end of section .rodata"},
      {SYMBOL(1) + 6, 2, SECTION_COUNT, INVALID, "a symbol in section 7"},
      {STRINGS + 5, 1, 'S', UNKNOWN, "symbol Sinf is none of the functions that code may call"},
      {SYMBOL(4), 4, 6, UNKNOWN, "symbol inf is none"},
      {SYMBOL(4), 4, NAMES - STRINGS, INVALID, "a symbol without a name"},
  };
  CHECK_CHANGES(changes);
}

static void refuses_relocations(void) {
  static const change changes[] = {
      {RELOCATION(0), 8, TEXT_SIZE - 7, INVALID, "at 0x19 of section .text is outside"},
      {RELOCATION(0), 8, TEXT_SIZE, INVALID, "at 0x20 of section .text is outside of the section"},
      {RELOCATION(0), 8, TEXT_SIZE + 1, INVALID, "at 0x21 of section .text is outside"},
      {RELOCATION(0), 8, UINT64_MAX, INVALID, "at 0xffffffffffffffff of section .text is outside"},
      {RELOCATION(0) + 8, 4, BYTE, UNKNOWN, "at 0x0 of section .text is of a type that is not"},
      {RELOCATION(0) + 8, 4, UINT32_MAX, UNKNOWN, "relocation of type 4294967295 at 0x0"},
      {RELOCATION(0) + 12, 4, 5, INVALID, "a relocation for symbol 5 of 5"},
      {RELOCATION(0) + 12, 4, UINT32_MAX, INVALID, "a relocation for symbol 4294967295 of 5"},
      {RELOCATION(0) + 12, 4, 0, UNKNOWN, "symbol  is none of the functions"},
  };
  CHECK_CHANGES(changes);
}

/* What code does not need may be of any form. */
static void ignores_the_rest(void) {
  static const struct {
    size_t offset, size;
    uint64_t value;
  } changes[] = {
      {SECTION(0) + 32, 8, UINT64_MAX}, /* the size of no section */
      {SECTION(3) + 44, 4, 5},          /* relocations of what is not loaded */
      {SECTION(5) + 48, 8, 3},          /* its alignment */
      {SECTION(5) + 8, 8, 1},           /* its flags */
      {SYMBOL(1) + 4, 1, 0x13},         /* global section */
      {SYMBOL(0) + 6, 2, 0xfff1},       /* a local symbol that nobody uses */
      {SECTION(3) + 32, 8, 0},          /* no relocations */
  };
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; ++i) {
    cyxla__span object = make_object();
    store(object, changes[i].offset, changes[i].size, changes[i].value);
    cyxla__code_unload(link_all(&object, 1));
    free(object.data);
  }
}

/* Unwind tables, notes and the like are left out, whatever their relocations. */
static void leaves_sections_out(void) {
  static const uint64_t types[] = {7, 0x70000001, 0x6fff4c03};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    cyxla__span object = make_object();
    store(object, SECTION(1) + 4, 4, types[i]);
    store(object, RELOCATION(0) + 8, 4, 99);
    cyxla__code *code = link_all(&object, 1);
    CHECK(!cyxla__code_size(code) && !cyxla__code_find(code, span_of("f")));
    cyxla__code_unload(code);
    free(object.data);
  }
  cyxla__span object = make_object();
  memcpy(object.data + NAMES + 15, ".eh_frame", 10); /* in place of .rela.text */
  store(object, SECTION(1), 4, 15);
  cyxla__code *code = link_all(&object, 1);
  CHECK_INT(cyxla__code_size(code), 0);
  cyxla__code_unload(code);
  free(object.data);
}

/* Sections and names that lie on each other would let a small file ask for much. */
static void refuses_overlaps(void) {
  cyxla__span object = make_object();
  cyxla__code *code;
  for (int i = 1; i <= 6; ++i) store_section(object, (size_t)i, 1, 1, 2, 0, OBJECT_SIZE, 0);
  CHECK_STATUS(cyxla__code_link(&object, 1, &code, &error), CYXLA_INVALID_ARGUMENT, &error);
  CHECK_CONTAINS(error.message, "sections or names overlap");
  free(object.data);
  /* 200 symbols with one name of 200 bytes. */
  enum { COUNT = 200, SIZE = OBJECT_SIZE + 24 * COUNT + 201 };
  static uint8_t bytes[SIZE];
  cyxla__span small = make_object();
  memcpy(bytes, small.data, OBJECT_SIZE);
  free(small.data);
  object = copy_of(bytes, SIZE);
  for (int i = 0; i < COUNT; ++i)
    memcpy(object.data + OBJECT_SIZE + 24 * i, object.data + SYMBOL(2), 24);
  memset(object.data + SIZE - 201, 'f', 200);
  for (int i = 0; i < COUNT; ++i) store(object, OBJECT_SIZE + 24 * (size_t)i, 4, 0);
  store(object, SECTION(4) + 24, 8, OBJECT_SIZE);
  store(object, SECTION(4) + 32, 8, 24 * COUNT);
  store(object, SECTION(5) + 24, 8, SIZE - 201);
  store(object, SECTION(5) + 32, 8, 201);
  CHECK_STATUS(cyxla__code_link(&object, 1, &code, &error), CYXLA_INVALID_ARGUMENT, &error);
  CHECK(strstr(error.message, "overlap") || strstr(error.message, "without a name"));
  free(object.data);
}

/* ---- hostile bytes ---- */

/* Links and expects nothing but a status that says what the bytes are. */
static void try_to_link(cyxla__span object) {
  cyxla__code *code;
  const int32_t status = cyxla__code_link(&object, 1, &code, &error);
  if (!status) {
    cyxla__code_find(code, span_of("f"));
    cyxla__code_unload(code);
  } else if (status != CYXLA_INVALID_ARGUMENT && status != CYXLA_UNIMPLEMENTED) {
    TEST_FAIL("%s: %s", cyxla_status_name(status), error.message);
  }
}

static void try_truncated(cyxla__span whole) {
  for (size_t size = 0; size < whole.size; ++size) {
    cyxla__span object = copy_of(whole.data, size);
    try_to_link(object);
    free(object.data);
  }
}

/* Sets each number, of each size, from `start` to `end` to extremes. */
static void try_extremes(cyxla__span object, size_t start, size_t end) {
  for (size_t size = 1; size <= 8; size *= 2) {
    const uint64_t max = UINT64_MAX >> (64 - 8 * size);
    const uint64_t values[] = {0,
                               1,
                               2,
                               max,
                               max - 1,
                               max / 2,
                               max / 2 + 1,
                               max - 7,
                               object.size,
                               object.size - 1,
                               object.size + 1,
                               0xff00,
                               64,
                               4096};
    for (size_t at = start; at + size <= end; at += size) {
      uint8_t old[8];
      memcpy(old, object.data + at, size);
      for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) {
        store(object, at, size, values[i] & max);
        try_to_link(object);
      }
      memcpy(object.data + at, old, size);
    }
  }
}

static void survives_hostile_bytes(void) {
  cyxla__span object = make_object();
  try_truncated(object);
  try_extremes(object, 0, TEXT);
  try_extremes(object, RELOCATIONS, OBJECT_SIZE);
  free(object.data);
  if (!read_object("cc", "other_large", &object)) return;
  try_truncated(object);
  try_extremes(object, 0, object.size);
  free(object.data);
}

static void survives_hostile_kernels(void) {
  cyxla__span bytes, objects[MAX_OBJECTS];
  read_objects("plugin_arctan_f32", &bytes, objects);
  cyxla__span object = copy_of(objects[0].data, objects[0].size);
  free(bytes.data);
  try_truncated(object);
  try_extremes(object, 0, 64);
  try_extremes(object, 0x2e0, object.size); /* after the code and the constants */
  free(object.data);
}

/* ---- time ---- */

static void is_fast(void) {
  enum { COUNT = 10, ROUNDS = 200 };
  cyxla__span objects[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    objects[i] = make_object();
    store_symbol(objects[i], 3, 3, 0, 1, 2);
    store(objects[i], STRINGS + 1, 1, (uint64_t)('a' + i));
  }
  double best = 1e9;
  for (int round = 0; round < ROUNDS; ++round) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    cyxla__code *code = link_all(objects, COUNT);
    clock_gettime(CLOCK_MONOTONIC, &end);
    cyxla__code_unload(code);
    const double time =
        (double)(end.tv_sec - start.tv_sec) * 1e6 + (double)(end.tv_nsec - start.tv_nsec) * 1e-3;
    if (time < best) best = time;
  }
  fprintf(stderr, "  %d objects in %.1f us\n", COUNT, best);
  for (int i = 0; i < COUNT; ++i) free(objects[i].data);
}

int main(void) {
  RUN(runs_functions);
  RUN(runs_functions_far_away);
  RUN(refuses_small_addresses);
  RUN(runs_a_kernel);
  RUN(links_executables);
  RUN(relocates_and_seals);
  RUN(links_nothing);
  RUN(aligns_sections);
  RUN(finds_functions_only);
  RUN(calls_the_outside);
  RUN(has_one_namespace);
  RUN(finds_many);
  RUN(reports_lack_of_memory);
  RUN(refuses_other_files);
  RUN(refuses_sections);
  RUN(refuses_symbols);
  RUN(refuses_relocations);
  RUN(ignores_the_rest);
  RUN(leaves_sections_out);
  RUN(refuses_overlaps);
  RUN(survives_hostile_bytes);
  RUN(survives_hostile_kernels);
  RUN(is_fast);
}
