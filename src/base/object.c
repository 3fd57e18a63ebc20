#include "base/object.h"

enum { HEADER_SIZE = 64, SECTION_SIZE = 64 };
enum { KIND_RELOCATABLE = 1 }; /* ET_REL */
enum { SECTION_NAME_LIMIT = 4096 };

/* Reads a number of `size` bytes at a place that the caller knows to be inside. */
static uint64_t load(cyxla__span span, size_t offset, size_t size) {
  uint64_t value = 0;
  cyxla__span_load(span, offset, size, &value);
  return value;
}

bool cyxla__text_at(cyxla__span strings, uint64_t offset, size_t size_limit,
                    cyxla__span *out_text) {
  if (offset >= strings.size) return false;
  uint8_t *const start = strings.data + offset;
  const size_t rest = strings.size - (size_t)offset;
  const uint8_t *end = memchr(start, 0, rest < size_limit ? rest : size_limit);
  if (!end) return false;
  *out_text = (cyxla__span){start, (size_t)(end - start)};
  return true;
}

/* Everything of a section but for its name. */
static bool get_section(const cyxla__object *object, uint32_t index, cyxla__section *out_section) {
  cyxla__span header;
  if (!cyxla__span_part(object->headers, (uint64_t)index * SECTION_SIZE, SECTION_SIZE, &header))
    return false;
  *out_section = (cyxla__section){
      .contents = {object->bytes.data, 0},
      .type = (uint32_t)load(header, 4, 4),
      .flags = load(header, 8, 8),
      .size = load(header, 32, 8),
      .link = (uint32_t)load(header, 40, 4),
      .info = (uint32_t)load(header, 44, 4),
      .alignment = load(header, 48, 8),
  };
  if (out_section->type == CYXLA__SECTION_NULL || out_section->type == CYXLA__SECTION_ZEROS)
    return true;
  if ((out_section->type == CYXLA__SECTION_SYMBOLS ||
       out_section->type == CYXLA__SECTION_RELOCATIONS) &&
      (load(header, 56, 8) != CYXLA__ITEM_SIZE || out_section->size % CYXLA__ITEM_SIZE))
    return false;
  return cyxla__span_part(object->bytes, load(header, 24, 8), out_section->size,
                          &out_section->contents);
}

bool cyxla__object_section(const cyxla__object *object, uint32_t index,
                           cyxla__section *out_section) {
  if (!get_section(object, index, out_section)) return false;
  const uint64_t name = load(object->headers, (size_t)index * SECTION_SIZE, 4);
  return cyxla__text_at(object->section_names, name, SECTION_NAME_LIMIT, &out_section->name);
}

/* Finds the table of section headers and that of their names. */
static bool find_sections(cyxla__object *object) {
  const cyxla__span bytes = object->bytes;
  cyxla__section names;
  object->section_count = (uint32_t)load(bytes, 60, 2);
  /* A count of 0 would mean that it is elsewhere: there are more than 65279. */
  if (load(bytes, 58, 2) != SECTION_SIZE || !object->section_count ||
      !cyxla__span_part(bytes, load(bytes, 40, 8), (uint64_t)object->section_count * SECTION_SIZE,
                        &object->headers) ||
      !get_section(object, (uint32_t)load(bytes, 62, 2), &names))
    return false;
  object->section_names = names.contents;
  return true;
}

int32_t cyxla__object_open(cyxla__span bytes, uint16_t machine, cyxla__object *out_object,
                           cyxla_error *error) {
  static const uint8_t identity[] = {0x7f, 'E', 'L', 'F', 2, 1}; /* 64 bits, little-endian */
  if (bytes.size < HEADER_SIZE || memcmp(bytes.data, identity, sizeof identity))
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "no ELF64 little-endian file");
  const unsigned kind = (unsigned)load(bytes, 16, 2), found = (unsigned)load(bytes, 18, 2);
  if (kind != KIND_RELOCATABLE)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED, "ELF file of type %u, not a relocatable", kind);
  if (machine != CYXLA__MACHINE_ANY && found != machine)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                       "code for ELF machine %u, while this machine is %u", found, machine);
  *out_object = (cyxla__object){.bytes = bytes};
  if (!find_sections(out_object))
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "ill-formed table of sections");
  return CYXLA_OK;
}

/* Finds one of the records of a table of symbols or relocations. */
static bool find_item(const cyxla__section *table, uint64_t index, cyxla__span *out_record) {
  return cyxla__span_part(table->contents, index * CYXLA__ITEM_SIZE, CYXLA__ITEM_SIZE, out_record);
}

bool cyxla__section_symbol(const cyxla__section *symbols, uint32_t index,
                           cyxla__symbol *out_symbol) {
  cyxla__span record;
  if (!find_item(symbols, index, &record)) return false;
  const uint8_t info = (uint8_t)load(record, 4, 1);
  *out_symbol = (cyxla__symbol){
      .name = (uint32_t)load(record, 0, 4),
      .binding = info >> 4,
      .kind = info & 15,
      .section = (uint16_t)load(record, 6, 2),
      .value = load(record, 8, 8),
      .size = load(record, 16, 8),
  };
  return true;
}

bool cyxla__section_relocation(const cyxla__section *relocations, size_t index,
                               cyxla__relocation *out_relocation) {
  cyxla__span record;
  if (!find_item(relocations, index, &record)) return false;
  *out_relocation = (cyxla__relocation){
      .offset = load(record, 0, 8),
      .type = (uint32_t)load(record, 8, 4),
      .symbol = (uint32_t)load(record, 12, 4),
      .addend = load(record, 16, 8),
  };
  return true;
}
