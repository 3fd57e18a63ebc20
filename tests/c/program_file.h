/* Program files made for tests, and changed; their layout is that of docs/files.md, but given as numbers: a test that
 * shares the reader's table would share its faults. */
#ifndef CYXLA_TEST_PROGRAM_FILE_H
#define CYXLA_TEST_PROGRAM_FILE_H

#include "base/bytes.h"
#include "base/checksum.h"

enum { FILE_HEADER = 24, FILE_ENTRY = 32 };

static inline uint64_t file_number(cyxla__span file, uint64_t offset, size_t size) {
  uint64_t value = 0;
  cyxla__span_load(file, offset, size, &value);
  return value;
}

static inline void put_number(cyxla__span file, uint64_t offset, size_t size, uint64_t value) {
  cyxla__span place;
  if (!cyxla__span_part(file, offset, size, &place)) return;
  for (size_t i = 0; i < size; ++i) place.data[i] = (uint8_t)(value >> (8 * i));
}

/* Makes the size and all checksums in a file those of its bytes, where they have a place. */
static inline void seal(cyxla__span file) {
  put_number(file, 16, 8, file.size);
  const uint64_t count = file_number(file, 12, 4);
  cyxla__span head, section;
  if (!cyxla__span_part(file, 0, FILE_HEADER + count * FILE_ENTRY, &head)) return;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t entry = FILE_HEADER + i * FILE_ENTRY;
    if (cyxla__span_part(file, file_number(file, entry + 8, 8), file_number(file, entry + 16, 8),
                         &section))
      put_number(file, entry + 24, 8, cyxla__checksum(section));
  }
  put_number(file, head.size, 8, cyxla__checksum(head));
}

/* A file of one section, a description, in `room` of its size plus FILE_AROUND. */
enum { FILE_AROUND = 64 };
static inline cyxla__span file_around(const void *description, size_t size, uint8_t *room) {
  const cyxla__span file = {room, size + FILE_AROUND};
  memset(room, 0, FILE_AROUND);
  memcpy(room,
         "\x89"
         "CYX\r\n\x1a\n",
         8);
  put_number(file, 8, 4, 1);
  put_number(file, 12, 4, 1);
  put_number(file, FILE_HEADER, 4, 1);
  put_number(file, FILE_HEADER + 8, 8, FILE_AROUND);
  put_number(file, FILE_HEADER + 16, 8, size);
  for (size_t i = 0; i < size; ++i) room[FILE_AROUND + i] = ((const uint8_t *)description)[i];
  seal(file);
  return file;
}

#endif
