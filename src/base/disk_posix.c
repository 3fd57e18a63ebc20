#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/disk.h"

/* ---- errors ---- */

static int32_t status_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return CYXLA_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
      return CYXLA_PERMISSION_DENIED;
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return CYXLA_INVALID_ARGUMENT;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return CYXLA_RESOURCE_EXHAUSTED;
    default:
      return CYXLA_UNAVAILABLE;
  }
}

/* Reports `errno`; `what` was tried. */
static int32_t fail(const char *what, cyxla_error *error) {
  const int number = errno;
  return cyxla__fail(error, status_of(number), "%s: %s", what, strerror(number));
}

/* ---- reading ---- */

/* Learns the size of a file that has one: reading from a pipe or a terminal might never end. */
static int32_t measure(cyxla__disk_file *file, cyxla_error *error) {
  struct stat found;
  if (fstat(file->descriptor, &found)) return fail("can't look at it", error);
  if (!S_ISREG(found.st_mode))
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "it is %s, not a regular file",
                       S_ISDIR(found.st_mode) ? "a directory" : "something special");
  file->size = (uint64_t)found.st_size;
  return CYXLA_OK;
}

int32_t cyxla__disk_open(const char *path, cyxla__disk_file *out_file, cyxla_error *error) {
  /* O_NONBLOCK: opening a pipe without a writer would wait for one. */
  cyxla__disk_file file = {.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.descriptor < 0) return fail("can't open it", error);
  const int32_t status = measure(&file, error);
  if (status)
    cyxla__disk_close(file);
  else
    *out_file = file;
  return status;
}

void cyxla__disk_close(cyxla__disk_file file) {
  close(file.descriptor);
}

int32_t cyxla__disk_read(cyxla__disk_file file, uint64_t offset, cyxla__span bytes,
                         cyxla_error *error) {
  while (bytes.size) {
    const ssize_t size = pread(file.descriptor, bytes.data, bytes.size, (off_t)offset);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail("can't read it", error);
    if (!size)
      return cyxla__fail(error, CYXLA_DATA_LOSS,
                         "it became shorter while it was read: it ends at %" PRIu64, offset);
    bytes.data += size;
    bytes.size -= (size_t)size;
    offset += (uint64_t)size;
  }
  return CYXLA_OK;
}

int32_t cyxla__disk_map(cyxla__disk_file file, cyxla__span *out_bytes, cyxla_error *error) {
  *out_bytes = (cyxla__span){NULL, 0};
  if (!file.size) return CYXLA_OK;
  void *memory = mmap(NULL, (size_t)file.size, PROT_READ, MAP_PRIVATE, file.descriptor, 0);
  if (memory == MAP_FAILED) return fail("can't map it", error);
  *out_bytes = (cyxla__span){memory, (size_t)file.size};
  return CYXLA_OK;
}

void cyxla__disk_unmap(cyxla__span bytes) {
  if (bytes.size) munmap(bytes.data, bytes.size);
}

/* ---- replacing ---- */

/* A name beside `path` that no other writer has: with the numbers of process and call.  Another process may
 * have the same number, in another container, and so such a file may exist all the same. */
static char *temporary_path(const char *path) {
  static atomic_uint count;
  const char *slash = strrchr(path, '/');
  const int folder_size = slash ? (int)(slash - path + 1) : 0;
  const size_t size = (size_t)folder_size + 64;
  char *temporary = malloc(size);
  if (temporary)
    snprintf(temporary, size, "%.*s.cyxla-%ld-%u.tmp", folder_size, path, (long)getpid(),
             atomic_fetch_add_explicit(&count, 1, memory_order_relaxed));
  return temporary;
}

/* Creates a file beside `path`.  `*out_temporary` is to be freed. */
static int32_t create(const char *path, char **out_temporary, int *out_descriptor,
                      cyxla_error *error) {
  for (;;) {
    char *temporary = temporary_path(path);
    if (!temporary) return cyxla__fail_memory(error, strlen(path));
    *out_descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (*out_descriptor >= 0) {
      *out_temporary = temporary;
      return CYXLA_OK;
    }
    const int number = errno;
    free(temporary);
    if (number == EEXIST) continue;
    errno = number;
    return fail("can't create a file in its directory", error);
  }
}

static int32_t write_piece(int descriptor, cyxla__span piece, cyxla_error *error) {
  while (piece.size) {
    const ssize_t size = write(descriptor, piece.data, piece.size);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail("can't write it", error);
    piece.data += size;
    piece.size -= (size_t)size;
  }
  return CYXLA_OK;
}

static int32_t write_pieces(int descriptor, const cyxla__span *pieces, size_t count,
                            cyxla_error *error) {
  for (size_t i = 0; i < count; ++i) TRY(write_piece(descriptor, pieces[i], error));
  /* Without it, the new name might reach the disk before the bytes do. */
  return fsync(descriptor) ? fail("can't write it", error) : CYXLA_OK;
}

int32_t cyxla__disk_replace(const char *path, const cyxla__span *pieces, size_t count,
                            cyxla_error *error) {
  char *temporary = NULL;
  int descriptor = -1;
  TRY(create(path, &temporary, &descriptor, error));
  int32_t status = write_pieces(descriptor, pieces, count, error);
  /* Some file systems report only now that they could not write. */
  if (close(descriptor) && !status) status = fail("can't write it", error);
  if (!status && rename(temporary, path)) status = fail("can't replace it", error);
  if (status) unlink(temporary);
  free(temporary);
  return status;
}
