/* XLA compiles for the large code model, in which code takes each address from an instruction of
 * its own:
 *
 *     movabsq $symbol, %rax        48 b8 and 8 bytes, with relocation R_X86_64_64
 *
 * That becomes one of these, both of 7 bytes, and an instruction of 3 bytes that does nothing, so
 * that all other distances in the code stay what they are:
 *
 *     leaq symbol(%rip), %rax            for what is in the objects
 *     movq symbol@GOTPCREL(%rip), %rax   for functions of libm and libc, which may be in a library
 *
 * None of them changes flags.  Encodings: Intel's Software Developer's Manual, volume 2, MOV, LEA. */
#include "export/assembly.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/object.h"

enum { MACHINE_X86_64 = 62, R_X86_64_64 = 1 };

const char *const cyxla__helper_names[CYXLA__HELPER_COUNT] = {
    [CYXLA__HELPER_TRUNCDFHF2] = "truncdfhf2",
    [CYXLA__HELPER_POWIDF2] = "powidf2",
    [CYXLA__HELPER_POWISF2] = "powisf2",
    [CYXLA__HELPER_LOG] = "log",
    [CYXLA__HELPER_LOG2] = "log2",
    [CYXLA__HELPER_FMOD] = "fmod",
    [CYXLA__HELPER_FMODF] = "fmodf",
};

typedef struct object {
  cyxla__object file;
  cyxla__section symbols, strings; /* zeroed: none */
} object;

typedef struct writer {
  const cyxla__export *export;
  cyxla__arena arena;
  object *objects;
  cyxla__text *text;
  bool *needs_helper;
  cyxla_error *error;
} writer;

/* A section that is being written. */
typedef struct place {
  size_t object;
  uint32_t section;
  cyxla__section header;
} place;

/* ---- reading objects ---- */

static int32_t fail_object(writer *writer, size_t index) {
  return cyxla__fail(writer->error, CYXLA_INVALID_ARGUMENT, "object file %zu is ill-formed", index);
}

static int32_t open_object(writer *writer, size_t index) {
  object *object = &writer->objects[index];
  TRY(cyxla__object_open(writer->export->image->objects[index], MACHINE_X86_64, &object->file,
                         writer->error));
  for (uint32_t i = 0; i < object->file.section_count; ++i) {
    cyxla__section section;
    if (!cyxla__object_section(&object->file, i, &section)) return fail_object(writer, index);
    if (section.type != CYXLA__SECTION_SYMBOLS) continue;
    object->symbols = section;
    if (!cyxla__object_section(&object->file, section.link, &object->strings))
      return fail_object(writer, index);
  }
  return CYXLA_OK;
}

static int32_t open_objects(writer *writer) {
  const size_t count = writer->export->image->object_count;
  writer->objects = cyxla__arena_alloc(&writer->arena, count, sizeof *writer->objects);
  if (!writer->objects) return cyxla__fail_memory(writer->error, count * sizeof *writer->objects);
  for (size_t i = 0; i < count; ++i) TRY(open_object(writer, i));
  return CYXLA_OK;
}

/* What the direct engine's linker loads too: kernels throw no exceptions, and so need no
 * unwinding. */
static bool is_loaded(const cyxla__section *section) {
  return section->type == CYXLA__SECTION_CONTENTS && section->flags & CYXLA__SECTION_ALLOC &&
         section->size && !cyxla__span_is(section->name, ".eh_frame");
}

static bool find_symbol(const object *object, uint32_t index, cyxla__symbol *out_symbol,
                        cyxla__span *out_name) {
  return cyxla__section_symbol(&object->symbols, index, out_symbol) &&
         cyxla__text_at(object->strings.contents, out_symbol->name, SIZE_MAX, out_name);
}

static bool is_same(cyxla__span a, cyxla__span b) {
  return a.size == b.size && !memcmp(a.data, b.data, a.size);
}

/* The object that defines a global symbol, and the symbol; false where none does. */
static bool find_global(const writer *writer, cyxla__span name, size_t *out_object,
                        cyxla__symbol *out_symbol) {
  for (size_t i = 0; i < writer->export->image->object_count; ++i) {
    cyxla__span found;
    for (uint32_t k = 0; find_symbol(&writer->objects[i], k, out_symbol, &found); ++k) {
      if (out_symbol->binding == CYXLA__SYMBOL_LOCAL ||
          out_symbol->section == CYXLA__SYMBOL_UNDEFINED || !is_same(found, name))
        continue;
      *out_object = i;
      return true;
    }
  }
  return false;
}

/* ---- bytes ---- */

/* Zeros are worth a line of their own from here on. */
enum { ZEROS = 32 };

static size_t count_zeros(cyxla__span bytes) {
  size_t count = 0;
  while (count < bytes.size && !bytes.data[count]) ++count;
  return count;
}

/* Writes `count` numbers of `size` bytes in one line. */
static void write_numbers(cyxla__text *text, const char *directive, cyxla__span bytes, size_t size,
                          size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    cyxla__span_load(bytes, i * size, size, &value);
    cyxla__text_add(text, "%s0x%" PRIx64, i ? "," : directive, value);
  }
  cyxla__text_add(text, "\n");
}

static void write_bytes(cyxla__text *text, cyxla__span bytes) {
  while (bytes.size) {
    size_t taken = count_zeros(bytes);
    if (taken >= ZEROS) {
      cyxla__text_add(text, "  .zero %zu\n", taken);
    } else if (bytes.size >= 8) {
      const size_t count = bytes.size < 32 ? bytes.size / 8 : 4;
      write_numbers(text, "  .quad ", bytes, 8, count);
      taken = count * 8;
    } else {
      write_numbers(text, "  .byte ", bytes, 1, bytes.size);
      taken = bytes.size;
    }
    bytes = (cyxla__span){bytes.data + taken, bytes.size - taken};
  }
}

/* ---- relocations ---- */

static int32_t refuse(writer *writer, const place *place, const cyxla__relocation *relocation,
                      const char *why) {
  return cyxla__fail(writer->error, CYXLA_UNIMPLEMENTED,
                     "it can't be exported: the relocation of type %u at 0x%" PRIx64
                     " of section %.*s of object file %zu %s",
                     relocation->type, relocation->offset, (int)place->header.name.size,
                     (const char *)place->header.name.data, place->object, why);
}

/* Writes what a relocation adds up to in the assembler's words: a place in a section. */
static int32_t write_place(writer *writer, size_t object, const cyxla__symbol *symbol,
                           uint64_t addend) {
  cyxla__section section;
  if (!cyxla__object_section(&writer->objects[object].file, symbol->section, &section) ||
      !is_loaded(&section))
    return fail_object(writer, object);
  cyxla__text_add(writer->text, ".L%zu_%u%+" PRId64, object, symbol->section,
                  (int64_t)(symbol->value + addend));
  return CYXLA_OK;
}

/* The helper for the function that code calls by `name`; CYXLA__HELPER_COUNT: none. */
static cyxla__helper find_helper(cyxla__span name) {
  if (name.size > 2 && !memcmp(name.data, "__", 2))
    name = (cyxla__span){name.data + 2, name.size - 2};
  cyxla__helper helper = 0;
  while (helper < CYXLA__HELPER_COUNT && !cyxla__span_is(name, cyxla__helper_names[helper]))
    ++helper;
  return helper;
}

/* The symbol of a relocation: where it is, in the objects or outside. */
typedef struct target {
  bool is_outside; /* a function of libm or libc, or of the driver */
  size_t object;
  cyxla__symbol symbol;
  cyxla__span name;
} target;

static int32_t find_target(writer *writer, const place *place, const cyxla__relocation *relocation,
                           target *out_target) {
  target *target = out_target;
  target->is_outside = false;
  target->object = place->object;
  if (!find_symbol(&writer->objects[place->object], relocation->symbol, &target->symbol,
                   &target->name))
    return fail_object(writer, place->object);
  if (target->symbol.section != CYXLA__SYMBOL_UNDEFINED ||
      find_global(writer, target->name, &target->object, &target->symbol))
    return CYXLA_OK;
  target->is_outside = true; /* it is one of direct/symbols.h, or it had not been linked */
  return relocation->addend ? refuse(writer, place, relocation, "leads into a function") : CYXLA_OK;
}

/* Whether the 8 bytes at `offset` are what movabsq loads to a register; which one. */
static bool is_load(cyxla__span code, uint64_t offset, unsigned *out_register) {
  cyxla__span start;
  if (offset < 2 || !cyxla__span_part(code, offset - 2, 10, &start)) return false;
  const uint8_t prefix = start.data[0], opcode = start.data[1];
  *out_register = (opcode & 7u) + (prefix & 1u) * 8;
  return (prefix == 0x48 || prefix == 0x49) && (opcode & 0xf8) == 0xb8;
}

static const char *const registers[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                        "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

static int32_t write_load(writer *writer, const target *target, uint64_t addend, unsigned to) {
  cyxla__text *text = writer->text;
  const cyxla__helper helper = target->is_outside ? find_helper(target->name) : CYXLA__HELPER_COUNT;
  if (helper < CYXLA__HELPER_COUNT) {
    writer->needs_helper[helper] = true;
    cyxla__text_add(text, "  leaq %s_%s", writer->export->name, cyxla__helper_names[helper]);
  } else if (target->is_outside) {
    cyxla__text_add(text, "  movq %.*s@GOTPCREL", (int)target->name.size,
                    (const char *)target->name.data);
  } else {
    cyxla__text_add(text, "  leaq ");
    TRY(write_place(writer, target->object, &target->symbol, addend));
  }
  cyxla__text_add(text, "(%%rip), %%%s\n  nopl (%%rax)\n", registers[to]);
  return CYXLA_OK;
}

/* ---- sections ---- */

/* Writes the code from `*position` to the end of the instruction of a relocation. */
static int32_t write_code(writer *writer, const place *place, const cyxla__relocation *relocation,
                          uint64_t *position) {
  const cyxla__span code = place->header.contents;
  unsigned to;
  target target;
  if (relocation->type != R_X86_64_64)
    return refuse(writer, place, relocation, "is not of the large code model");
  if (!is_load(code, relocation->offset, &to) || relocation->offset - 2 < *position)
    return refuse(writer, place, relocation, "is of no instruction that loads an address");
  TRY(find_target(writer, place, relocation, &target));
  write_bytes(writer->text,
              (cyxla__span){code.data + *position, relocation->offset - 2 - *position});
  *position = relocation->offset + 8;
  return write_load(writer, &target, relocation->addend, to);
}

/* The same for an address in a table. */
static int32_t write_constants(writer *writer, const place *place,
                               const cyxla__relocation *relocation, uint64_t *position) {
  const cyxla__span data = place->header.contents;
  cyxla__span address;
  target target;
  if (relocation->type != R_X86_64_64)
    return refuse(writer, place, relocation, "is not of the large code model");
  if (relocation->offset < *position || !cyxla__span_part(data, relocation->offset, 8, &address))
    return fail_object(writer, place->object);
  TRY(find_target(writer, place, relocation, &target));
  if (target.is_outside)
    return refuse(writer, place, relocation, "is of a function, in a table of addresses");
  write_bytes(writer->text, (cyxla__span){data.data + *position, relocation->offset - *position});
  *position = relocation->offset + 8;
  cyxla__text_add(writer->text, "  .quad ");
  TRY(write_place(writer, target.object, &target.symbol, relocation->addend));
  cyxla__text_add(writer->text, "\n");
  return CYXLA_OK;
}

static int compare_offsets(const void *left, const void *right) {
  const uint64_t a = ((const cyxla__relocation *)left)->offset;
  const uint64_t b = ((const cyxla__relocation *)right)->offset;
  return (a > b) - (a < b);
}

/* All relocations of a section by their offsets, in memory of the arena. */
static int32_t sort_relocations(writer *writer, const place *place, cyxla__relocation **out_items,
                                size_t *out_count) {
  const cyxla__object *file = &writer->objects[place->object].file;
  cyxla__section table;
  cyxla__relocation *items = NULL;
  size_t count = 0, capacity = 0;
  for (uint32_t i = 0; i < file->section_count; ++i)
    if (cyxla__object_section(file, i, &table) && table.type == CYXLA__SECTION_RELOCATIONS &&
        table.info == place->section)
      capacity += table.contents.size / sizeof *items + 1;
  items = cyxla__arena_alloc(&writer->arena, capacity, sizeof *items);
  if (!items) return cyxla__fail_memory(writer->error, capacity * sizeof *items);
  for (uint32_t i = 0; i < file->section_count; ++i)
    if (cyxla__object_section(file, i, &table) && table.type == CYXLA__SECTION_RELOCATIONS &&
        table.info == place->section)
      for (size_t k = 0; cyxla__section_relocation(&table, k, &items[count]); ++k) ++count;
  if (count) qsort(items, count, sizeof *items, compare_offsets);
  *out_items = items;
  *out_count = count;
  return CYXLA_OK;
}

/* Makes a symbol one that other files of the same program or library may use, and nobody else. */
static void declare(cyxla__text *text, const char *symbol, const char *type) {
  cyxla__text_add(text, "  .globl %s\n  .hidden %s\n  .type %s, @%s\n", symbol, symbol, symbol,
                  type);
}

/* Gives the kernels of a section their symbols. */
static void write_symbols(writer *writer, const place *place) {
  const cyxla__export *export = writer->export;
  cyxla__symbol symbol;
  cyxla__span name;
  for (uint32_t i = 0; find_symbol(&writer->objects[place->object], i, &symbol, &name); ++i) {
    const size_t kernel = cyxla__export_kernel(export, name);
    if (symbol.section != place->section || symbol.kind != CYXLA__SYMBOL_FUNCTION ||
        symbol.binding == CYXLA__SYMBOL_LOCAL || kernel == export->kernel_count)
      continue;
    char own[CYXLA__SYMBOL_SIZE];
    snprintf(own, sizeof own, "%s_kernel_%zu", export->name, kernel);
    declare(writer->text, own, "function");
    cyxla__text_add(writer->text, "  .set %s, .L%zu_%u+%" PRIu64 " /* ", own, place->object,
                    place->section, symbol.value);
    cyxla__text_add_comment(writer->text, name);
    cyxla__text_add(writer->text, " */\n");
  }
}

static int32_t write_section(writer *writer, const place *place) {
  const bool is_code = place->header.flags & CYXLA__SECTION_CODE;
  const cyxla__span contents = place->header.contents;
  cyxla__relocation *relocations = NULL;
  size_t count = 0;
  uint64_t position = 0;
  TRY(sort_relocations(writer, place, &relocations, &count));
  /* Addresses in tables are filled in when the program starts. */
  const char *section = is_code ? ".text"
                        : count ? ".section .data.rel.ro,\"aw\",@progbits"
                                : ".section .rodata";
  cyxla__text_add(writer->text, "\n  %s\n  .balign %" PRIu64 "\n.L%zu_%u:\n", section,
                  place->header.alignment ? place->header.alignment : 1, place->object,
                  place->section);
  if (is_code) write_symbols(writer, place);
  for (size_t i = 0; i < count; ++i)
    TRY((is_code ? write_code : write_constants)(writer, place, &relocations[i], &position));
  write_bytes(writer->text, (cyxla__span){contents.data + position, contents.size - position});
  return CYXLA_OK;
}

static int32_t write_object(writer *writer, size_t index) {
  const cyxla__object *file = &writer->objects[index].file;
  place place = {.object = index};
  for (place.section = 0; place.section < file->section_count; ++place.section)
    if (cyxla__object_section(file, place.section, &place.header) && is_loaded(&place.header))
      TRY(write_section(writer, &place));
  return CYXLA_OK;
}

/* ---- the program's constants ---- */

static void write_constant(writer *writer, size_t index) {
  const cyxla__allocation *allocation = &writer->export->image->allocations[index];
  char own[CYXLA__SYMBOL_SIZE];
  snprintf(own, sizeof own, "%s_constant_%zu", writer->export->name, index);
  cyxla__text_add(writer->text, "\n  .section .rodata\n  .balign 64\n");
  declare(writer->text, own, "object");
  cyxla__text_add(writer->text, "  .size %s, %" PRIu64 "\n%s:\n", own, allocation->size, own);
  write_bytes(writer->text,
              (cyxla__span){(uint8_t *)allocation->constant, (size_t)allocation->size});
}

/* ---- all of it ---- */

static int32_t write_all(writer *writer) {
  const cyxla__export *export = writer->export;
  cyxla__text_add(writer->text,
                  "/* %s: machine code of XLA's CPU compiler, as it is called by %s.c. */\n",
                  export->name, export->name);
  TRY(open_objects(writer));
  for (size_t i = 0; i < export->image->object_count; ++i) TRY(write_object(writer, i));
  for (size_t i = 0; i < export->image->allocation_count; ++i)
    if (export->used[i] && export->image->allocations[i].kind == CYXLA__ALLOCATION_CONSTANT)
      write_constant(writer, i);
  cyxla__text_add(writer->text, "\n  .section .note.GNU-stack,\"\",@progbits\n");
  return CYXLA_OK;
}

int32_t cyxla__export_write_assembly(const cyxla__export *export, cyxla__text *text,
                                     bool needs_helper[CYXLA__HELPER_COUNT], cyxla_error *error) {
  writer writer = {.export = export, .text = text, .needs_helper = needs_helper, .error = error};
  const int32_t status = write_all(&writer);
  cyxla__arena_deinit(&writer.arena);
  return status;
}
