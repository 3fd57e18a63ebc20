/* Program files from disk and from memory: bytes --sections.c--> sections --description_read.c--> file. */
#include <stdlib.h>

#include "base/disk.h"
#include "base/memory.h"
#include "file/file.h"
#include "file/sections.h"

/* ---- bytes to a file ---- */

static int32_t verify(cyxla_file *file, size_t size, cyxla_error *error) {
  cyxla__description *description = &file->description;
  cyxla__sections sections;
  TRY(cyxla__sections_find((cyxla__span){file->bytes, size}, &sections, error));
  TRY(cyxla__description_read(sections.of_kind[SECTION_DESCRIPTION], &file->arena, description,
                              error));
  const cyxla__span code = sections.of_kind[SECTION_STABLEHLO];
  const cyxla__span executable = sections.of_kind[SECTION_EXECUTABLE];
  description->program.code = code.size ? code.data : NULL;
  description->program.code_size = code.size;
  description->info.executable = executable.size ? executable.data : NULL;
  description->info.executable_size = executable.size;
  return CYXLA_OK;
}

/* Takes over `bytes`, whose start was checked. */
static int32_t adopt(void *bytes, size_t size, cyxla_file **out_file, cyxla_error *error) {
  cyxla_file *file = calloc(1, sizeof *file);
  if (!file) {
    cyxla_aligned_free(bytes);
    return cyxla__fail_memory(error, sizeof *file);
  }
  file->bytes = bytes;
  const int32_t status = verify(file, size, error);
  if (status)
    cyxla_file_close(file);
  else
    *out_file = file;
  return status;
}

/* ---- from where ---- */

int32_t cyxla_file_parse(const void *data, size_t size, cyxla_file **out_file, cyxla_error *error) {
  /* Only read. */
  const cyxla__span start = {(uint8_t *)data, size < HEADER_SIZE ? size : HEADER_SIZE};
  TRY(cyxla__sections_check_start(start, size, error));
  void *bytes;
  TRY(cyxla__copy_bytes(data, size, &bytes, &size, error));
  return adopt(bytes, size, out_file, error);
}

/* Before there is memory for all of it, the start has to be that of a program file. */
static int32_t check_start(cyxla__disk_file file, cyxla_error *error) {
  uint8_t data[HEADER_SIZE];
  const cyxla__span start = {data, file.size < HEADER_SIZE ? (size_t)file.size : HEADER_SIZE};
  TRY(cyxla__disk_read(file, 0, start, error));
  return cyxla__sections_check_start(start, file.size, error);
}

static int32_t read_all(cyxla__disk_file file, void **out_bytes, cyxla_error *error) {
  TRY(check_start(file, error));
  const size_t size = (size_t)file.size;
  void *bytes = cyxla_aligned_alloc(size);
  if (!bytes) return cyxla__fail_memory(error, size);
  const int32_t status = cyxla__disk_read(file, 0, (cyxla__span){bytes, size}, error);
  if (status)
    cyxla_aligned_free(bytes);
  else
    *out_bytes = bytes;
  return status;
}

int32_t cyxla_file_open(const char *path, cyxla_file **out_file, cyxla_error *error) {
  cyxla__disk_file disk;
  void *bytes = NULL;
  int32_t status = cyxla__disk_open(path, &disk, error);
  if (!status) {
    status = read_all(disk, &bytes, error);
    cyxla__disk_close(disk);
  }
  if (!status) status = adopt(bytes, (size_t)disk.size, out_file, error);
  if (status) cyxla__add_context(error, path);
  return status;
}

void cyxla_file_close(cyxla_file *file) {
  if (!file) return;
  cyxla__arena_deinit(&file->arena);
  cyxla_aligned_free(file->bytes);
  free(file);
}

/* ---- what is in it ---- */

const cyxla_program *cyxla_file_get_program(const cyxla_file *file) {
  return &file->description.program;
}

void cyxla_file_get_info(const cyxla_file *file, cyxla_file_info *out_info) {
  cyxla_file_info info = file->description.info;
  info.struct_size = out_info->struct_size;
  cyxla__copy_info(out_info, &info, sizeof info);
}
