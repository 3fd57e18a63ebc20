#include "xla_cpu/elf.h"

enum { SECTION_SYMBOLS = 2, SECTION_RELOCATIONS = 4 }; /* SHT_SYMTAB, SHT_RELA */
enum { SYMBOL_FUNCTION = 2 };                          /* STT_FUNC */
enum { FLAG_CODE = 4 };                                /* SHF_EXECINSTR */
enum { RELOCATION_ADDRESS = 1 };                       /* R_X86_64_64 */
enum { HEADER_SIZE = 64, SECTION_SIZE = 64, SYMBOL_SIZE = 24, RELOCATION_SIZE = 24 };

/* Reads a number of `size` bytes at a place that the caller knows to be inside. */
static uint64_t load(cyxla__span span, size_t offset, size_t size) {
  uint64_t value = 0;
  cyxla__span_load(span, offset, size, &value);
  return value;
}

/* The number of sections; 0 where `object` is no ELF64 little-endian object. */
static uint32_t section_count(cyxla__span object) {
  static const uint8_t identity[] = {0x7f, 'E', 'L', 'F', 2, 1};
  if (object.size < HEADER_SIZE || memcmp(object.data, identity, sizeof identity)) return 0;
  return load(object, 58, 2) == SECTION_SIZE ? (uint32_t)load(object, 60, 2) : 0;
}

static bool get_section(cyxla__span object, uint32_t index, cyxla__elf_section *out_section) {
  cyxla__span header;
  if (index >= section_count(object) ||
      !cyxla__span_part(object, load(object, 40, 8), object.size - load(object, 40, 8), &header) ||
      !cyxla__span_part(header, (uint64_t)index * SECTION_SIZE, SECTION_SIZE, &header))
    return false;
  out_section->type = (uint32_t)load(header, 4, 4);
  out_section->is_code = (load(header, 8, 8) & FLAG_CODE) != 0;
  out_section->link = (uint32_t)load(header, 40, 4);
  out_section->info = (uint32_t)load(header, 44, 4);
  return cyxla__span_part(object, load(header, 24, 8), load(header, 32, 8), &out_section->contents);
}

uint64_t cyxla__elf_code_size(cyxla__span object) {
  uint64_t size = 0;
  cyxla__elf_section section;
  for (uint32_t i = 0; i < section_count(object); ++i)
    if (get_section(object, i, &section) && section.is_code) size += section.contents.size;
  return size;
}

/* Whether the text at `offset` of a string table is `name`, with its end. */
static bool has_name(cyxla__span strings, uint64_t offset, const char *name) {
  const size_t size = strlen(name) + 1;
  cyxla__span text;
  return cyxla__span_part(strings, offset, size, &text) && !memcmp(text.data, name, size);
}

static bool find_in_symbols(cyxla__span object, const cyxla__elf_section *symbols, const char *name,
                            cyxla__elf_function *out_function) {
  cyxla__elf_section strings, code;
  cyxla__span symbol;
  if (!get_section(object, symbols->link, &strings)) return false;
  for (uint64_t at = 0; cyxla__span_part(symbols->contents, at, SYMBOL_SIZE, &symbol);
       at += SYMBOL_SIZE) {
    const uint32_t section = (uint32_t)load(symbol, 6, 2);
    if ((load(symbol, 4, 1) & 15) != SYMBOL_FUNCTION || !section ||
        !has_name(strings.contents, load(symbol, 0, 4), name))
      continue;
    out_function->section = section;
    out_function->offset = load(symbol, 8, 8);
    return get_section(object, section, &code) &&
           cyxla__span_part(code.contents, out_function->offset, load(symbol, 16, 8),
                            &out_function->code);
  }
  return false;
}

bool cyxla__elf_find_function(cyxla__span object, const char *name,
                              cyxla__elf_function *out_function) {
  cyxla__elf_section section;
  for (uint32_t i = 0; i < section_count(object); ++i)
    if (get_section(object, i, &section) && section.type == SECTION_SYMBOLS &&
        find_in_symbols(object, &section, name, out_function))
      return true;
  return false;
}

bool cyxla__elf_find_address(cyxla__span object, const cyxla__elf_function *function,
                             cyxla__span *out_relocation) {
  size_t found = 0;
  cyxla__elf_section section;
  cyxla__span record;
  for (uint32_t i = 0; i < section_count(object); ++i) {
    if (!get_section(object, i, &section) || section.type != SECTION_RELOCATIONS ||
        section.info != function->section)
      continue;
    for (uint64_t at = 0; cyxla__span_part(section.contents, at, RELOCATION_SIZE, &record);
         at += RELOCATION_SIZE) {
      const uint64_t offset = load(record, 0, 8);
      if (offset < function->offset || offset - function->offset >= function->code.size) continue;
      *out_relocation = record;
      ++found;
    }
  }
  return found == 1 && (uint32_t)load(*out_relocation, 8, 4) == RELOCATION_ADDRESS &&
         !load(*out_relocation, 16, 8);
}
