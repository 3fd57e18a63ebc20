/* Program files to disk. */
#include <stdlib.h>

#include "base/disk.h"
#include "base/memory.h"
#include "file/cpu_features.h"
#include "file/description.h"
#include "file/sections.h"
#include "signature.h"

/* ---- what the caller gives ---- */

static int32_t check_sizes(const cyxla_program *program, const cyxla_file_info *info,
                           cyxla_error *error) {
  if (program->struct_size < sizeof *program)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                       "cyxla_program: struct_size is %zu, and at least %zu is needed",
                       program->struct_size, sizeof *program);
  if (info->struct_size < sizeof *info)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                       "cyxla_file_info: struct_size is %zu, and at least %zu is needed",
                       info->struct_size, sizeof *info);
  return CYXLA_OK;
}

static int32_t check_pointers(const cyxla_program *program, const cyxla_file_info *info,
                              cyxla_error *error) {
  const struct {
    const char *name;
    const void *data;
    size_t count;
  } lists[] = {
      {"code", program->code, program->code_size},
      {"executable", info->executable, info->executable_size},
      {"options", info->options, info->option_count},
      {"targets", info->targets, info->target_count},
      {"producers", info->producers, info->producer_count},
      {"metadata", info->metadata, info->metadata_count},
  };
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i)
    if (lists[i].count && !lists[i].data)
      return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "%s: %zu are announced, but none is given",
                         lists[i].name, lists[i].count);
  if (!program->code_size && !info->executable_size)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                       "there is neither StableHLO nor an executable to store");
  return CYXLA_OK;
}

/* ---- the description ---- */

/* Writes it and reads it again: what is written can be read, for there is one place that checks. */
static int32_t encode(const cyxla__description *description, cyxla__proto *message,
                      cyxla_error *error) {
  cyxla__description_write(description, message);
  if (message->failed) return cyxla__fail_memory(error, message->size);
  cyxla__arena arena = {0};
  cyxla__description read;
  const int32_t status =
      cyxla__description_read((cyxla__span){message->data, message->size}, &arena, &read, error);
  cyxla__arena_deinit(&arena);
  return status;
}

static int32_t describe(const cyxla__signature *signature, const cyxla_file_info *info,
                        cyxla__proto *message, cyxla_error *error) {
  cyxla__description description = {.program = {.name = signature->name,
                                                .inputs = signature->inputs.types,
                                                .input_count = signature->inputs.count,
                                                .outputs = signature->outputs.types,
                                                .output_count = signature->outputs.count},
                                    .info = *info};
  if (info->cpu_features) return encode(&description, message, error);
  const cyxla__span executable = {(uint8_t *)info->executable, info->executable_size};
  char *features;
  TRY(cyxla__cpu_features_of(executable, &features, error));
  description.info.cpu_features = features;
  const int32_t status = encode(&description, message, error);
  free(features);
  return status;
}

/* ---- the file ---- */

/* Puts sections, with zeros in between, behind their head. */
static int32_t replace(const char *path, const cyxla__section *sections, size_t count,
                       cyxla_error *error) {
  static const uint8_t zeros[SECTION_ALIGNMENT];
  uint8_t head[SECTIONS_HEAD_SIZE];
  cyxla__span pieces[1 + 2 * SECTIONS_MOST];
  uint64_t offset = cyxla__sections_write_head(sections, count, head);
  size_t piece_count = 0;
  pieces[piece_count++] = (cyxla__span){head, (size_t)offset};
  for (size_t i = 0; i < count; ++i) {
    const size_t padding = cyxla__section_padding(offset);
    pieces[piece_count++] = (cyxla__span){(uint8_t *)zeros, padding};
    pieces[piece_count++] = sections[i].bytes;
    offset += padding + sections[i].bytes.size;
  }
  return cyxla__disk_replace(path, pieces, piece_count, error);
}

static int32_t write_file(const char *path, const cyxla_program *program,
                          const cyxla_file_info *info, const cyxla__proto *description,
                          cyxla_error *error) {
  /* What is written is only read. */
  const cyxla__section all[SECTIONS_MOST] = {
      {SECTION_DESCRIPTION, {description->data, description->size}},
      {SECTION_STABLEHLO, {(uint8_t *)program->code, program->code_size}},
      {SECTION_EXECUTABLE, {(uint8_t *)info->executable, info->executable_size}},
  };
  cyxla__section sections[SECTIONS_MOST];
  size_t count = 0;
  for (size_t i = 0; i < SECTIONS_MOST; ++i)
    if (all[i].bytes.size) sections[count++] = all[i];
  return replace(path, sections, count, error);
}

/* Checks, describes, writes. */
static int32_t write_program(const char *path, const cyxla_program *program,
                             const cyxla_file_info *info, cyxla_error *error) {
  TRY(check_sizes(program, info, error));
  TRY(check_pointers(program, info, error));
  cyxla__signature signature;
  cyxla__proto description = {0};
  int32_t status = cyxla__signature_init(&signature, program, error);
  if (!status) status = describe(&signature, info, &description, error);
  if (!status) status = write_file(path, program, info, &description, error);
  cyxla__proto_deinit(&description);
  cyxla__signature_deinit(&signature);
  return status;
}

int32_t cyxla_file_write(const char *path, const cyxla_program *program,
                         const cyxla_file_info *info, cyxla_error *error) {
  const int32_t status = write_program(path, program, info, error);
  if (status) cyxla__add_context(error, path);
  return status;
}
