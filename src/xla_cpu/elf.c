#include "xla_cpu/elf.h"

#include "base/object.h"

enum { RELOCATION_ADDRESS = 1 }; /* R_X86_64_64 */

uint64_t cyxla__elf_code_size(cyxla__span object) {
  cyxla__object file;
  cyxla__section section;
  uint64_t size = 0;
  if (cyxla__object_open(object, CYXLA__MACHINE_ANY, &file, NULL)) return 0;
  for (uint32_t i = 0; i < file.section_count; ++i)
    if (cyxla__object_section(&file, i, &section) && section.flags & CYXLA__SECTION_CODE)
      size += section.contents.size;
  return size;
}

static bool find_in_symbols(const cyxla__object *file, const cyxla__section *symbols,
                            const char *name, cyxla__elf_function *out_function) {
  cyxla__section strings, code;
  cyxla__symbol symbol;
  cyxla__span found;
  if (!cyxla__object_section(file, symbols->link, &strings)) return false;
  for (uint32_t i = 0; cyxla__section_symbol(symbols, i, &symbol); ++i) {
    if (symbol.kind != CYXLA__SYMBOL_FUNCTION || symbol.section == CYXLA__SYMBOL_UNDEFINED ||
        !cyxla__text_at(strings.contents, symbol.name, strlen(name) + 1, &found) ||
        !cyxla__span_is(found, name))
      continue;
    out_function->section = symbol.section;
    out_function->offset = symbol.value;
    return cyxla__object_section(file, symbol.section, &code) &&
           cyxla__span_part(code.contents, symbol.value, symbol.size, &out_function->code);
  }
  return false;
}

bool cyxla__elf_find_function(cyxla__span object, const char *name,
                              cyxla__elf_function *out_function) {
  cyxla__object file;
  cyxla__section section;
  if (cyxla__object_open(object, CYXLA__MACHINE_ANY, &file, NULL)) return false;
  for (uint32_t i = 0; i < file.section_count; ++i)
    if (cyxla__object_section(&file, i, &section) && section.type == CYXLA__SECTION_SYMBOLS &&
        find_in_symbols(&file, &section, name, out_function))
      return true;
  return false;
}

bool cyxla__elf_find_address(cyxla__span object, const cyxla__elf_function *function,
                             cyxla__span *out_relocation) {
  cyxla__object file;
  cyxla__section section;
  cyxla__relocation relocation, found = {0};
  size_t count = 0;
  if (cyxla__object_open(object, CYXLA__MACHINE_ANY, &file, NULL)) return false;
  for (uint32_t i = 0; i < file.section_count; ++i) {
    if (!cyxla__object_section(&file, i, &section) || section.type != CYXLA__SECTION_RELOCATIONS ||
        section.info != function->section)
      continue;
    for (size_t k = 0; cyxla__section_relocation(&section, k, &relocation); ++k) {
      /* Where it lies before the function, the difference wraps. */
      if (relocation.offset - function->offset >= function->code.size) continue;
      cyxla__span_part(section.contents, k * CYXLA__ITEM_SIZE, CYXLA__ITEM_SIZE, out_relocation);
      found = relocation;
      ++count;
    }
  }
  return count == 1 && found.type == RELOCATION_ADDRESS && !found.addend;
}
