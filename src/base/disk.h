/* Files: read whole, and replaced at once. */
#ifndef CYXLA_BASE_DISK_H
#define CYXLA_BASE_DISK_H

#include "base/bytes.h"
#include "base/status.h"

/* A file that is open for reading. */
typedef struct cyxla__disk_file {
  int descriptor;
  uint64_t size;
} cyxla__disk_file;

/* Errors don't name the path: the caller adds it.
 *
 * Returns: NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT (no regular file), RESOURCE_EXHAUSTED,
 *          UNAVAILABLE. */
int32_t cyxla__disk_open(const char *path, cyxla__disk_file *out_file, cyxla_error *error);
void cyxla__disk_close(cyxla__disk_file file);

/* Reads bytes at `offset` until `bytes` is full.  DATA_LOSS: the file ends before. */
int32_t cyxla__disk_read(cyxla__disk_file file, uint64_t offset, cyxla__span bytes,
                         cyxla_error *error);

/* Maps all of the file into memory, for reading; what is changed in the file meanwhile may be seen.  Of an empty
 * file, no bytes. */
int32_t cyxla__disk_map(cyxla__disk_file file, cyxla__span *out_bytes, cyxla_error *error);
void cyxla__disk_unmap(cyxla__span bytes);

/* Makes the pieces, one after the other, the contents of the file at `path`: all or nothing, for everyone who
 * opens it at any time.  It gets the permissions of a new file.  On failure nothing is left behind. */
int32_t cyxla__disk_replace(const char *path, const cyxla__span *pieces, size_t count,
                            cyxla_error *error);

#endif
