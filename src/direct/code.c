#include "direct/code.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/execmem.h"
#include "base/memory.h"
#include "base/object.h"
#include "direct/reloc.h"
#include "direct/symbols.h"

/* One mapping holds everything: the code of all objects, the veneers of their calls, and from the
 * next page on the constants of all objects. */
typedef enum region { NOT_LOADED, CODE, CONSTANTS } region;

enum { MAX_ALIGNMENT = 4096 }; /* the smallest page */

/* Sections of a well-formed file have bytes of their own, while names may share their ends.  What
 * the linker reads of a file may add up to this many times its size, and no more: it bounds the
 * memory and time that a malicious file can cost. */
enum { MAX_OVERLAP = 4 };

typedef struct section {
  cyxla__section header;
  region region;
  size_t offset; /* in the mapping */
} section;

typedef struct object {
  cyxla__object file;
  section *sections;
  const cyxla__section *symbols; /* NULL: none */
  uint32_t symbols_index;
  size_t symbol_count;
  uint64_t *addresses; /* of the symbols; 0: not looked up yet */
  size_t budget;       /* bytes that may still be read, see MAX_OVERLAP */
} object;

typedef struct global {
  cyxla__span name;
  uint8_t *address;
  bool is_function;
} global;

struct cyxla__code {
  cyxla__arena arena; /* globals and their names */
  global *globals;    /* by name */
  size_t global_count;
  uint8_t *memory;
  size_t memory_size;
  size_t code_size;
};

typedef struct linker {
  const cyxla__machine *machine;
  cyxla__arena arena; /* everything that is not kept */
  object *objects;
  size_t object_count;
  size_t end; /* of the mapping, as far as it is laid out */
  size_t veneer_count, veneers_offset, veneers_used;
  size_t code_end; /* of the code, to the end of its last page */
  cyxla__code *code;
} linker;

/* Size of a name for "%.*s". */
static int shown(cyxla__span name) {
  return name.size < 200 ? (int)name.size : 200;
}

static size_t round_up(size_t size, size_t alignment) {
  return (size + alignment - 1) & ~(alignment - 1);
}

/* Takes `size` bytes off the budget of an object. */
static int32_t charge(object *object, uint64_t size, cyxla_error *error) {
  if (size > object->budget)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "sections or names overlap");
  object->budget -= (size_t)size;
  return CYXLA_OK;
}

/* ---- phase 1: read the sections ---- */

static int32_t refuse_section(const cyxla__section *header, const char *what,
                              unsigned long long value, cyxla_error *error) {
  return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                     "section %.*s has %s 0x%llx, which is not supported", shown(header->name),
                     (const char *)header->name.data, what, value);
}

/* Whether the section holds nothing that code needs.  Of a type that is not known, that can't be
 * said: it could be relocations of another form. */
static bool is_dispensable(const cyxla__section *header) {
  switch (header->type) {
    case CYXLA__SECTION_NULL:
    case CYXLA__SECTION_SYMBOLS:
    case CYXLA__SECTION_STRINGS:
    case CYXLA__SECTION_RELOCATIONS: /* applied, not loaded */
    case CYXLA__SECTION_NOTE:
    case CYXLA__SECTION_UNWIND_X86_64: /* kernels throw no exceptions */
    case CYXLA__SECTION_ADDRESS_SIGNIFICANCE:
      return true;
    case CYXLA__SECTION_CONTENTS:
      return !(header->flags & CYXLA__SECTION_ALLOC) || cyxla__span_is(header->name, ".eh_frame");
    default:
      return !header->size;
  }
}

static int32_t choose_region(const cyxla__section *header, region *out_region, cyxla_error *error) {
  static const uint64_t known_flags = CYXLA__SECTION_ALLOC | CYXLA__SECTION_CODE |
                                      CYXLA__SECTION_MERGE | CYXLA__SECTION_TEXT |
                                      CYXLA__SECTION_INFO_IS_SECTION | CYXLA__SECTION_LARGE_X86_64;
  *out_region = NOT_LOADED;
  if (!header->size || is_dispensable(header)) return CYXLA_OK;
  if (header->type != CYXLA__SECTION_CONTENTS)
    return refuse_section(header, "type", header->type, error);
  if (header->flags & ~known_flags) /* among them writable ones, and those of threads */
    return refuse_section(header, "flags", header->flags, error);
  if (header->alignment & (header->alignment - 1) || header->alignment > MAX_ALIGNMENT)
    return refuse_section(header, "alignment", header->alignment, error);
  *out_region = header->flags & CYXLA__SECTION_CODE ? CODE : CONSTANTS;
  return CYXLA_OK;
}

static int32_t read_section(object *object, uint32_t index, cyxla_error *error) {
  section *section = &object->sections[index];
  const cyxla__section *header = &section->header;
  if (!cyxla__object_section(&object->file, index, &section->header))
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "section %u is ill-formed", index);
  TRY(choose_region(header, &section->region, error));
  if (header->type == CYXLA__SECTION_SYMBOLS) {
    if (object->symbols) return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "two tables of symbols");
    object->symbols = header;
    object->symbols_index = index;
  }
  const bool is_read = section->region || header->type == CYXLA__SECTION_SYMBOLS ||
                       header->type == CYXLA__SECTION_RELOCATIONS;
  return is_read ? charge(object, header->size, error) : CYXLA_OK;
}

static size_t count_symbols(const object *object) {
  cyxla__symbol symbol;
  size_t count = 0;
  while (object->symbols && cyxla__section_symbol(object->symbols, (uint32_t)count, &symbol))
    ++count;
  return count;
}

static int32_t open_object(linker *linker, object *object, cyxla_error *error) {
  const cyxla__span bytes = object->file.bytes;
  TRY(cyxla__object_open(bytes, linker->machine->number, &object->file, error));
  const uint32_t count = object->file.section_count;
  object->budget = bytes.size * MAX_OVERLAP;
  object->sections = cyxla__arena_alloc(&linker->arena, count, sizeof *object->sections);
  if (!object->sections) return cyxla__fail_memory(error, count * sizeof *object->sections);
  for (uint32_t i = 0; i < count; ++i) TRY(read_section(object, i, error));
  object->symbol_count = count_symbols(object);
  object->addresses =
      cyxla__arena_alloc(&linker->arena, object->symbol_count, sizeof *object->addresses);
  if (!object->addresses)
    return cyxla__fail_memory(error, object->symbol_count * sizeof *object->addresses);
  return CYXLA_OK;
}

/* ---- phase 2: lay out ---- */

/* Gives the sections of one region their places.  The sums can't overflow: the sections are as long
 * as MAX_OVERLAP times the files, and their padding as MAX_ALIGNMENT / 64 times, since each has a
 * header of 64 bytes there. */
static void place(linker *linker, object *object, region region) {
  for (uint32_t i = 0; i < object->file.section_count; ++i) {
    section *section = &object->sections[i];
    const uint64_t alignment = section->header.alignment;
    if (section->region != region) continue;
    section->offset = round_up(linker->end, alignment ? (size_t)alignment : 1);
    linker->end = section->offset + section->header.contents.size;
    if (region == CODE) linker->code->code_size += section->header.contents.size;
  }
}

static int32_t place_code(linker *linker, object *object, cyxla_error *error) {
  (void)error;
  place(linker, object, CODE);
  return CYXLA_OK;
}

static int32_t place_constants(linker *linker, object *object, cyxla_error *error) {
  (void)error;
  place(linker, object, CONSTANTS);
  return CYXLA_OK;
}

/* The section that a table of relocations is for; NULL: none that is loaded, or no such table. */
static int32_t find_relocated(object *object, const cyxla__section *relocations,
                              section **out_section, cyxla_error *error) {
  *out_section = NULL;
  if (relocations->type != CYXLA__SECTION_RELOCATIONS) return CYXLA_OK;
  if (relocations->info >= object->file.section_count)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                       "relocations of section %u, which there is not", relocations->info);
  if (!object->sections[relocations->info].region) return CYXLA_OK;
  if (!object->symbols || relocations->link != object->symbols_index)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "relocations without symbols");
  *out_section = &object->sections[relocations->info];
  return CYXLA_OK;
}

/* Whether the relocation is of a call to a function that the object does not have. */
static bool is_outside_call(const linker *linker, const object *object,
                            const cyxla__relocation *relocation) {
  cyxla__symbol symbol;
  return linker->machine->is_call(relocation->type) &&
         relocation->addend == (uint64_t)linker->machine->call_addend &&
         cyxla__section_symbol(object->symbols, relocation->symbol, &symbol) &&
         symbol.section == CYXLA__SYMBOL_UNDEFINED;
}

/* Each call to the outside may need its veneer; whether it does is known when addresses are. */
static int32_t count_veneers(linker *linker, object *object, cyxla_error *error) {
  for (uint32_t i = 0; i < object->file.section_count; ++i) {
    const cyxla__section *relocations = &object->sections[i].header;
    cyxla__relocation relocation;
    section *target;
    TRY(find_relocated(object, relocations, &target, error));
    for (size_t k = 0; target && cyxla__section_relocation(relocations, k, &relocation); ++k)
      linker->veneer_count += is_outside_call(linker, object, &relocation);
  }
  return CYXLA_OK;
}

/* ---- phase 3: copy ---- */

static int32_t copy_sections(linker *linker, object *object, cyxla_error *error) {
  (void)error;
  for (uint32_t i = 0; i < object->file.section_count; ++i) {
    const section *section = &object->sections[i];
    if (section->region)
      memcpy(linker->code->memory + section->offset, section->header.contents.data,
             section->header.contents.size);
  }
  return CYXLA_OK;
}

/* ---- phase 4: symbols ---- */

/* The address of a symbol that the object defines. */
static int32_t locate(const linker *linker, const object *object, const cyxla__symbol *symbol,
                      uint8_t **out_address, cyxla_error *error) {
  if (symbol->section >= CYXLA__SYMBOL_SPECIAL || symbol->kind > CYXLA__SYMBOL_SECTION)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                       "a symbol of type %u in section 0x%x is not supported", symbol->kind,
                       symbol->section);
  if (symbol->section >= object->file.section_count)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "a symbol in section %u, which there is not",
                       symbol->section);
  const section *section = &object->sections[symbol->section];
  if (!section->region)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "a symbol in section %.*s, which is not loaded",
                       shown(section->header.name), (const char *)section->header.name.data);
  if (symbol->value > section->header.size)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "a symbol behind the end of section %.*s",
                       shown(section->header.name), (const char *)section->header.name.data);
  *out_address = linker->code->memory + section->offset + symbol->value;
  return CYXLA_OK;
}

static int32_t get_name(object *object, const cyxla__symbol *symbol, cyxla__span *out_name,
                        cyxla_error *error) {
  const uint32_t strings = object->symbols->link;
  if (strings >= object->file.section_count ||
      !cyxla__text_at(object->sections[strings].header.contents, symbol->name, object->budget,
                      out_name))
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "a symbol without a name");
  return charge(object, out_name->size, error);
}

/* Whether the object gives the symbol to others.  Those in sections that aren't loaded, nobody can
 * use. */
static bool is_definition(const object *object, const cyxla__symbol *symbol) {
  return symbol->binding != CYXLA__SYMBOL_LOCAL && symbol->section != CYXLA__SYMBOL_UNDEFINED &&
         (symbol->section >= object->file.section_count ||
          object->sections[symbol->section].region);
}

static int32_t count_globals(linker *linker, object *object, cyxla_error *error) {
  (void)error;
  cyxla__symbol symbol;
  for (uint32_t i = 0; i < object->symbol_count; ++i) {
    cyxla__section_symbol(object->symbols, i, &symbol);
    linker->code->global_count += is_definition(object, &symbol);
  }
  return CYXLA_OK;
}

static int32_t define_global(const linker *linker, object *object, const cyxla__symbol *symbol,
                             global *out_global, cyxla_error *error) {
  if (symbol->binding > CYXLA__SYMBOL_WEAK)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "a symbol of binding %u is not supported",
                       symbol->binding);
  TRY(get_name(object, symbol, &out_global->name, error));
  TRY(locate(linker, object, symbol, &out_global->address, error));
  const section *section = &object->sections[symbol->section];
  out_global->is_function = symbol->kind == CYXLA__SYMBOL_FUNCTION && section->region == CODE &&
                            symbol->value < section->header.size;
  return CYXLA_OK;
}

static int32_t define_globals(linker *linker, object *object, cyxla_error *error) {
  cyxla__symbol symbol;
  for (uint32_t i = 0; i < object->symbol_count; ++i) {
    cyxla__section_symbol(object->symbols, i, &symbol);
    if (!is_definition(object, &symbol)) continue;
    TRY(define_global(linker, object, &symbol, &linker->code->globals[linker->code->global_count],
                      error));
    ++linker->code->global_count;
  }
  return CYXLA_OK;
}

static int compare_names(const void *left, const void *right) {
  const cyxla__span a = ((const global *)left)->name, b = ((const global *)right)->name;
  const int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
  return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int32_t sort_globals(cyxla__code *code, cyxla_error *error) {
  if (code->global_count)
    qsort(code->globals, code->global_count, sizeof *code->globals, compare_names);
  for (size_t i = 1; i < code->global_count; ++i)
    if (!compare_names(&code->globals[i - 1], &code->globals[i]))
      return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "symbol %.*s is defined twice",
                         shown(code->globals[i].name), (const char *)code->globals[i].name.data);
  return CYXLA_OK;
}

/* The objects, in which names are up to here, are not kept. */
static int32_t keep_names(cyxla__code *code, cyxla_error *error) {
  size_t size = 0;
  for (size_t i = 0; i < code->global_count; ++i) size += code->globals[i].name.size;
  uint8_t *text = cyxla__arena_alloc(&code->arena, size, 1);
  if (!text) return cyxla__fail_memory(error, size);
  for (size_t i = 0; i < code->global_count; ++i) {
    cyxla__span *name = &code->globals[i].name;
    memcpy(text, name->data, name->size);
    name->data = text;
    text += name->size;
  }
  return CYXLA_OK;
}

static const global *find_global(const cyxla__code *code, cyxla__span name) {
  const global key = {.name = name};
  return code->global_count ? bsearch(&key, code->globals, code->global_count,
                                      sizeof *code->globals, compare_names)
                            : NULL;
}

/* The address of a symbol that the object uses and does not define. */
static int32_t find_outside(const linker *linker, object *object, const cyxla__symbol *symbol,
                            uint64_t *out_address, cyxla_error *error) {
  cyxla__span name;
  TRY(get_name(object, symbol, &name, error));
  const global *global = find_global(linker->code, name);
  *out_address = global ? (uintptr_t)global->address : cyxla__symbol_find(name);
  if (!*out_address)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                       "symbol %.*s is none of the functions that code may call", shown(name),
                       (const char *)name.data);
  return CYXLA_OK;
}

static int32_t find_address(const linker *linker, object *object, uint32_t index,
                            uint64_t *out_address, cyxla_error *error) {
  cyxla__symbol symbol;
  if (index >= object->symbol_count)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "a relocation for symbol %u of %zu", index,
                       object->symbol_count);
  uint64_t *address = &object->addresses[index];
  cyxla__section_symbol(object->symbols, index, &symbol);
  if (!*address && symbol.section == CYXLA__SYMBOL_UNDEFINED) {
    TRY(find_outside(linker, object, &symbol, address, error));
  } else if (!*address) {
    uint8_t *place;
    TRY(locate(linker, object, &symbol, &place, error));
    *address = (uintptr_t)place;
  }
  *out_address = *address;
  return CYXLA_OK;
}

/* ---- phase 5: relocate ---- */

/* A new veneer to the function at `target`. */
static uint64_t make_veneer(linker *linker, uint64_t target) {
  uint8_t *veneer =
      linker->code->memory + linker->veneers_offset + linker->veneers_used++ * CYXLA__VENEER_SIZE;
  linker->machine->write_veneer(veneer, target);
  return (uintptr_t)veneer;
}

static int32_t fail_relocation(const section *target, const cyxla__relocation *relocation,
                               cyxla__relocation_result result, cyxla_error *error) {
  static const char *const reasons[] = {
      [CYXLA__RELOCATION_UNKNOWN] = "is of a type that is not supported",
      [CYXLA__RELOCATION_OUTSIDE] = "is outside of the section",
      [CYXLA__RELOCATION_TOO_FAR] = "does not reach its symbol",
  };
  return cyxla__fail(
      error, result == CYXLA__RELOCATION_OUTSIDE ? CYXLA_INVALID_ARGUMENT : CYXLA_UNIMPLEMENTED,
      "relocation of type %u at 0x%llx of section %.*s %s", relocation->type,
      (unsigned long long)relocation->offset, shown(target->header.name),
      (const char *)target->header.name.data, reasons[result]);
}

static int32_t relocate(linker *linker, object *object, const section *target,
                        const cyxla__relocation *relocation, cyxla_error *error) {
  uint8_t *const memory = linker->code->memory + target->offset;
  const size_t size = target->header.contents.size;
  const uint64_t offset = relocation->offset, addend = relocation->addend;
  if (offset > size) return fail_relocation(target, relocation, CYXLA__RELOCATION_OUTSIDE, error);
  const cyxla__span place = {memory + offset, size - (size_t)offset};
  const uint64_t address = (uintptr_t)place.data;
  uint64_t symbol = 0;
  TRY(find_address(linker, object, relocation->symbol, &symbol, error));
  cyxla__relocation_result result =
      linker->machine->relocate(relocation->type, place, address, symbol + addend);
  if (result == CYXLA__RELOCATION_TOO_FAR && is_outside_call(linker, object, relocation))
    result = linker->machine->relocate(relocation->type, place, address,
                                       make_veneer(linker, symbol) + addend);
  return result ? fail_relocation(target, relocation, result, error) : CYXLA_OK;
}

static int32_t relocate_object(linker *linker, object *object, cyxla_error *error) {
  for (uint32_t i = 0; i < object->file.section_count; ++i) {
    const cyxla__section *relocations = &object->sections[i].header;
    cyxla__relocation relocation;
    section *target;
    TRY(find_relocated(object, relocations, &target, error));
    for (size_t k = 0; target && cyxla__section_relocation(relocations, k, &relocation); ++k)
      TRY(relocate(linker, object, target, &relocation, error));
  }
  return CYXLA_OK;
}

/* ---- all phases ---- */

/* Runs one phase for each object; errors say in which. */
static int32_t for_each(linker *linker, int32_t (*phase)(struct linker *, object *, cyxla_error *),
                        cyxla_error *error) {
  for (size_t i = 0; i < linker->object_count; ++i) {
    const int32_t status = phase(linker, &linker->objects[i], error);
    if (!status) continue;
    char context[64];
    snprintf(context, sizeof context, "object file %zu", i);
    cyxla__add_context(error, context);
    return status;
  }
  return CYXLA_OK;
}

static int32_t open_objects(linker *linker, const cyxla__span *objects, cyxla_error *error) {
  if (!linker->machine)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                       "no machine code is supported on this processor");
  linker->objects =
      cyxla__arena_alloc(&linker->arena, linker->object_count, sizeof *linker->objects);
  if (!linker->objects)
    return cyxla__fail_memory(error, linker->object_count * sizeof *linker->objects);
  for (size_t i = 0; i < linker->object_count; ++i) linker->objects[i].file.bytes = objects[i];
  return for_each(linker, open_object, error);
}

static int32_t lay_out(linker *linker, cyxla_error *error) {
  TRY(for_each(linker, place_code, error));
  TRY(for_each(linker, count_veneers, error));
  linker->veneers_offset = round_up(linker->end, CYXLA__VENEER_SIZE);
  linker->end = linker->veneers_offset + linker->veneer_count * CYXLA__VENEER_SIZE;
  linker->code_end = linker->end = round_up(linker->end, cyxla__execmem_page_size());
  return for_each(linker, place_constants, error);
}

static int32_t load_sections(linker *linker, cyxla_error *error) {
  const size_t size = linker->end ? linker->end : 1; /* an executable may have no kernel */
  void *memory;
  TRY(cyxla__execmem_reserve(size, &memory, error));
  linker->code->memory = memory;
  linker->code->memory_size = size;
  return for_each(linker, copy_sections, error);
}

static int32_t define_symbols(linker *linker, cyxla_error *error) {
  cyxla__code *code = linker->code;
  TRY(for_each(linker, count_globals, error));
  code->globals = cyxla__arena_alloc(&code->arena, code->global_count, sizeof *code->globals);
  if (!code->globals) return cyxla__fail_memory(error, code->global_count * sizeof *code->globals);
  code->global_count = 0;
  TRY(for_each(linker, define_globals, error));
  TRY(sort_globals(code, error));
  return keep_names(code, error);
}

static int32_t link_objects(linker *linker, const cyxla__span *objects, cyxla_error *error) {
  TRY(open_objects(linker, objects, error));
  TRY(lay_out(linker, error));
  TRY(load_sections(linker, error));
  TRY(define_symbols(linker, error));
  TRY(for_each(linker, relocate_object, error));
  return cyxla__execmem_seal(linker->code->memory, linker->code_end, linker->code->memory_size,
                             error);
}

int32_t cyxla__code_link(const cyxla__span *objects, size_t object_count, cyxla__code **out_code,
                         cyxla_error *error) {
  cyxla__code *code = calloc(1, sizeof *code);
  if (!code) return cyxla__fail_memory(error, sizeof *code);
  linker linker = {.machine = CYXLA__MACHINE_OF_HOST, .object_count = object_count, .code = code};
  const int32_t status = link_objects(&linker, objects, error);
  cyxla__arena_deinit(&linker.arena);
  if (status)
    cyxla__code_unload(code);
  else
    *out_code = code;
  return status;
}

cyxla__code_function cyxla__code_find(const cyxla__code *code, cyxla__span name) {
  const global *global = find_global(code, name);
  return global && global->is_function ? (cyxla__code_function)(uintptr_t)global->address : NULL;
}

size_t cyxla__code_size(const cyxla__code *code) {
  return code->code_size;
}

void cyxla__code_unload(cyxla__code *code) {
  if (!code) return;
  if (code->memory) cyxla__execmem_release(code->memory, code->memory_size);
  cyxla__arena_deinit(&code->arena);
  free(code);
}
