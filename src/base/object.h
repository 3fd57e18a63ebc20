/* Reader of ELF64 little-endian relocatable files: sections, symbols and relocations.
 * Layouts: System V ABI, chapter 4 (refspecs.linuxbase.org/elf/gabi4+).
 *
 * Bytes from outside: what it gives lies inside of the file; what it means is for the caller to
 * judge. */
#ifndef CYXLA_BASE_OBJECT_H
#define CYXLA_BASE_OBJECT_H

#include "base/bytes.h"
#include "base/status.h"

/* sh_type; of alloc sections only the first is known to the linker. */
enum {
  CYXLA__SECTION_NULL = 0,
  CYXLA__SECTION_CONTENTS = 1, /* SHT_PROGBITS */
  CYXLA__SECTION_SYMBOLS = 2,
  CYXLA__SECTION_STRINGS = 3,
  CYXLA__SECTION_RELOCATIONS = 4, /* SHT_RELA */
  CYXLA__SECTION_NOTE = 7,
  CYXLA__SECTION_ZEROS = 8, /* SHT_NOBITS: the file does not have its bytes */
  CYXLA__SECTION_UNWIND_X86_64 = 0x70000001,
  CYXLA__SECTION_ADDRESS_SIGNIFICANCE = 0x6fff4c03 /* LLVM's */
};

/* sh_flags */
enum {
  CYXLA__SECTION_WRITE = 1,
  CYXLA__SECTION_ALLOC = 2,
  CYXLA__SECTION_CODE = 4,
  CYXLA__SECTION_MERGE = 0x10,
  CYXLA__SECTION_TEXT = 0x20, /* SHF_STRINGS */
  CYXLA__SECTION_INFO_IS_SECTION = 0x40,
  CYXLA__SECTION_LARGE_X86_64 = 0x10000000
};

typedef struct cyxla__section {
  cyxla__span name;     /* points into the file */
  cyxla__span contents; /* the same; empty where the file has no bytes of it */
  uint64_t flags, size, alignment;
  uint32_t type, link, info;
} cyxla__section;

enum { CYXLA__SYMBOL_LOCAL, CYXLA__SYMBOL_GLOBAL, CYXLA__SYMBOL_WEAK }; /* bindings */
enum { CYXLA__SYMBOL_UNTYPED, CYXLA__SYMBOL_DATA, CYXLA__SYMBOL_FUNCTION, CYXLA__SYMBOL_SECTION };
enum {
  CYXLA__SYMBOL_UNDEFINED = 0,
  CYXLA__SYMBOL_SPECIAL = 0xff00
}; /* sections: none; none of the file */

typedef struct cyxla__symbol {
  uint64_t value; /* offset in its section */
  uint64_t size;
  uint32_t name; /* offset in the names */
  uint16_t section;
  uint8_t binding, kind;
} cyxla__symbol;

typedef struct cyxla__relocation {
  uint64_t offset; /* in the section that it is for */
  uint64_t addend; /* two's complement */
  uint32_t type, symbol;
} cyxla__relocation;

typedef struct cyxla__object {
  cyxla__span bytes, headers, section_names;
  uint32_t section_count;
} cyxla__object;

enum { CYXLA__MACHINE_ANY = 0 };

/* Opens `bytes`, which must outlive the object, as a file for the ELF machine `machine`.
 *
 * Returns: INVALID_ARGUMENT: it is ill-formed; UNIMPLEMENTED: it is for another machine, or of a
 *          kind other than relocatable. */
int32_t cyxla__object_open(cyxla__span bytes, uint16_t machine, cyxla__object *out_object,
                           cyxla_error *error);

/* Section `index`; false where there is none, its name or contents are not in the file, or a table
 * in it has items of another size. */
bool cyxla__object_section(const cyxla__object *object, uint32_t index,
                           cyxla__section *out_section);

enum { CYXLA__ITEM_SIZE = 24 }; /* of tables of symbols and of relocations */

/* Item `index` of a table; false where it ends before. */
bool cyxla__section_symbol(const cyxla__section *symbols, uint32_t index,
                           cyxla__symbol *out_symbol);
bool cyxla__section_relocation(const cyxla__section *relocations, size_t index,
                               cyxla__relocation *out_relocation);

/* The text at `offset` of a table of strings, without its end; false where it has none within
 * `size_limit` bytes. */
bool cyxla__text_at(cyxla__span strings, uint64_t offset, size_t size_limit, cyxla__span *out_text);

#endif
