/* The sections of a program file: found and compared with their checksums, not looked into. */
#ifndef CYXLA_FILE_SECTIONS_H
#define CYXLA_FILE_SECTIONS_H

#include "base/bytes.h"
#include "base/status.h"
#include "file/format.h"

/* By kind; data is NULL where there is none. */
typedef struct cyxla__sections {
  cyxla__span of_kind[SECTION_KIND_COUNT];
} cyxla__sections;

/* Checks the beginning of a file of `file_size` bytes, of which `start` holds the first HEADER_SIZE, or all if
 * these are less: whether the rest is worth being read.
 *
 * Returns: INVALID_ARGUMENT (no program file), UNIMPLEMENTED (of another version), DATA_LOSS (changed on its
 *          way, or cut). */
int32_t cyxla__sections_check_start(cyxla__span start, uint64_t file_size, cyxla_error *error);

/* Finds the sections of a whole file, whose start was checked.
 *
 * Returns: DATA_LOSS (a checksum is wrong), INVALID_ARGUMENT (ill-formed), UNIMPLEMENTED (a section of an
 *          unknown kind). */
int32_t cyxla__sections_find(cyxla__span file, cyxla__sections *out_sections, cyxla_error *error);

/* ---- writing ---- */

/* A piece of a file; the offset is that of the piece before, and its size, rounded up. */
typedef struct cyxla__section {
  uint32_t kind;
  cyxla__span bytes;
} cyxla__section;

enum { SECTIONS_MOST = SECTION_KIND_COUNT - 1 };
enum { SECTIONS_HEAD_SIZE = HEADER_SIZE + SECTIONS_MOST * ENTRY_SIZE + CHECKSUM_SIZE };

/* Writes header, table and checksum of a file that consists of `sections`; `count` is SECTIONS_MOST at most.
 * Returns the number of bytes. */
size_t cyxla__sections_write_head(const cyxla__section *sections, size_t count,
                                  uint8_t out_head[SECTIONS_HEAD_SIZE]);

/* Bytes of zeros behind `offset` up to the next section. */
static inline size_t cyxla__section_padding(uint64_t offset) {
  return (size_t)((0 - offset) % SECTION_ALIGNMENT);
}

#endif
