#include "file/sections.h"

#include <inttypes.h>

#include "base/checksum.h"

static const char magic[] = FORMAT_MAGIC;
_Static_assert(sizeof magic == MAGIC_SIZE + 1, "the magic has its size");

static const char *const kind_names[SECTION_KIND_COUNT] = {
    [SECTION_DESCRIPTION] = "description",
    [SECTION_STABLEHLO] = "StableHLO",
    [SECTION_EXECUTABLE] = "executable",
};

/* ---- the start ---- */

/* What text mode leaves of the magic: its letters. */
static bool has_letters(cyxla__span start) {
  return start.size >= 4 && !memcmp(start.data + 1, magic + 1, 3) &&
         (start.data[0] & 0x7f) == (magic[0] & 0x7f);
}

static int32_t fail_cut(uint64_t found, uint64_t expected, cyxla_error *error) {
  return cyxla__fail(error, CYXLA_DATA_LOSS,
                     "it is cut: %" PRIu64 " bytes of %" PRIu64 " are there", found, expected);
}

static int32_t check_magic(cyxla__span start, cyxla_error *error) {
  const size_t size = start.size < MAGIC_SIZE ? start.size : MAGIC_SIZE;
  if (size && memcmp(start.data, magic, size)) {
    if (has_letters(start))
      return cyxla__fail(error, CYXLA_DATA_LOSS,
                         "its first bytes were changed, as a transfer in text mode does; it has to "
                         "be copied as a binary file");
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "it is no program file of cyxla");
  }
  return CYXLA_OK;
}

/* A number that is known to be inside. */
static uint64_t load(cyxla__span bytes, uint64_t offset, size_t size) {
  uint64_t value = 0;
  cyxla__span_load(bytes, offset, size, &value);
  return value;
}

int32_t cyxla__sections_check_start(cyxla__span start, uint64_t file_size, cyxla_error *error) {
  TRY(check_magic(start, error));
  uint64_t version;
  if (!cyxla__span_load(start, HEADER_VERSION, 4, &version))
    return fail_cut(file_size, HEADER_SIZE, error);
  if (version != FORMAT_VERSION)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                       "it is of version %" PRIu64 " of the format, and cyxla %s reads version %d",
                       version, CYXLA_VERSION, FORMAT_VERSION);
  if (start.size < HEADER_SIZE) return fail_cut(file_size, HEADER_SIZE, error);
  const uint64_t expected = load(start, HEADER_FILE_SIZE, 8);
  if (file_size < expected) return fail_cut(file_size, expected, error);
  if (file_size > expected)
    return cyxla__fail(error, CYXLA_DATA_LOSS,
                       "something was added to it: it has %" PRIu64 " bytes, not %" PRIu64,
                       file_size, expected);
  return CYXLA_OK;
}

/* ---- finding sections ---- */

static int32_t fail_form(uint64_t section, const char *what, cyxla_error *error) {
  return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "it is ill-formed: section %" PRIu64 " %s",
                     section, what);
}

/* Finds the table of sections. */
static int32_t find_table(cyxla__span file, cyxla__span *out_table, cyxla_error *error) {
  const uint64_t size = load(file, HEADER_SECTION_COUNT, 4) * ENTRY_SIZE;
  cyxla__span head;
  uint64_t checksum;
  if (!cyxla__span_part(file, 0, HEADER_SIZE + size, &head) ||
      !cyxla__span_load(file, head.size, CHECKSUM_SIZE, &checksum) ||
      checksum != cyxla__checksum(head))
    return cyxla__fail(error, CYXLA_DATA_LOSS,
                       "it is damaged: the checksum of its header is wrong");
  cyxla__span_part(head, HEADER_SIZE, size, out_table);
  return CYXLA_OK;
}

/* Checks that section `number` lies where the one before leaves off, `*offset`, with zeros in between. */
static int32_t find_section(cyxla__span file, cyxla__span entry, uint64_t number, uint64_t *offset,
                            cyxla__span *out_bytes, cyxla_error *error) {
  cyxla__span padding;
  const uint64_t padding_size = cyxla__section_padding(*offset);
  if (load(entry, ENTRY_OFFSET, 8) != *offset + padding_size)
    return fail_form(number, "is not where it belongs", error);
  if (!cyxla__span_part(file, *offset, padding_size, &padding) ||
      !cyxla__span_part(file, *offset + padding_size, load(entry, ENTRY_SECTION_SIZE, 8),
                        out_bytes))
    return fail_form(number, "is not inside of the file", error);
  for (size_t i = 0; i < padding.size; ++i)
    if (padding.data[i])
      return cyxla__fail(error, CYXLA_DATA_LOSS,
                         "it is damaged: there is something between sections");
  *offset += padding_size + out_bytes->size;
  return CYXLA_OK;
}

static int32_t check_section(cyxla__span entry, uint64_t number, cyxla__span bytes,
                             cyxla_error *error) {
  const uint64_t kind = load(entry, ENTRY_KIND, 4), flags = load(entry, ENTRY_FLAGS, 4);
  const char *name = kind < SECTION_KIND_COUNT ? kind_names[kind] : NULL;
  if (load(entry, ENTRY_CHECKSUM, 8) != cyxla__checksum(bytes))
    return cyxla__fail(error, CYXLA_DATA_LOSS,
                       "it is damaged: the checksum of section %" PRIu64 " (%s) is wrong", number,
                       name ? name : "unknown");
  if (flags & ~(uint64_t)SECTION_OPTIONAL || (!name && !flags))
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                       "section %" PRIu64 " is of kind %" PRIu64 " with flags %" PRIu64
                       ", which cyxla %s does not know",
                       number, kind, flags, CYXLA_VERSION);
  return CYXLA_OK;
}

static int32_t keep_section(cyxla__sections *sections, uint64_t kind, uint64_t number,
                            cyxla__span bytes, cyxla_error *error) {
  if (kind >= SECTION_KIND_COUNT || !kind_names[kind]) return CYXLA_OK; /* an optional one */
  if (sections->of_kind[kind].data) return fail_form(number, "is of a kind that was there", error);
  sections->of_kind[kind] = bytes;
  return CYXLA_OK;
}

int32_t cyxla__sections_find(cyxla__span file, cyxla__sections *out_sections, cyxla_error *error) {
  *out_sections = (cyxla__sections){0};
  cyxla__span table = {0}, entry, bytes = {0};
  TRY(find_table(file, &table, error));
  uint64_t offset = HEADER_SIZE + table.size + CHECKSUM_SIZE;
  for (uint64_t i = 0; cyxla__span_part(table, i * ENTRY_SIZE, ENTRY_SIZE, &entry); ++i) {
    TRY(find_section(file, entry, i, &offset, &bytes, error));
    TRY(check_section(entry, i, bytes, error));
    TRY(keep_section(out_sections, load(entry, ENTRY_KIND, 4), i, bytes, error));
  }
  if (offset != file.size)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                       "it is ill-formed: there is something behind its last section");
  if (!out_sections->of_kind[SECTION_DESCRIPTION].data)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "it is ill-formed: it has no description");
  return CYXLA_OK;
}

/* ---- writing ---- */

/* Writes a little-endian number. */
static void store(uint8_t *data, size_t size, uint64_t value) {
  for (size_t i = 0; i < size; ++i) data[i] = (uint8_t)(value >> (8 * i));
}

static void write_entry(uint8_t *entry, const cyxla__section *section, uint64_t offset) {
  store(entry + ENTRY_KIND, 4, section->kind);
  store(entry + ENTRY_FLAGS, 4, 0);
  store(entry + ENTRY_OFFSET, 8, offset);
  store(entry + ENTRY_SECTION_SIZE, 8, section->bytes.size);
  store(entry + ENTRY_CHECKSUM, 8, cyxla__checksum(section->bytes));
}

size_t cyxla__sections_write_head(const cyxla__section *sections, size_t count,
                                  uint8_t out_head[SECTIONS_HEAD_SIZE]) {
  const size_t size = HEADER_SIZE + count * ENTRY_SIZE;
  uint64_t offset = size + CHECKSUM_SIZE;
  for (size_t i = 0; i < count; ++i) {
    offset += cyxla__section_padding(offset);
    write_entry(out_head + HEADER_SIZE + i * ENTRY_SIZE, &sections[i], offset);
    offset += sections[i].bytes.size;
  }
  memcpy(out_head, magic, MAGIC_SIZE);
  store(out_head + HEADER_VERSION, 4, FORMAT_VERSION);
  store(out_head + HEADER_SECTION_COUNT, 4, count);
  store(out_head + HEADER_FILE_SIZE, 8, offset);
  store(out_head + size, CHECKSUM_SIZE, cyxla__checksum((cyxla__span){out_head, size}));
  return size + CHECKSUM_SIZE;
}
