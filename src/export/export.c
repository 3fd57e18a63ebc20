/* Executables as C: the texts are made in memory first, and nothing is written where one can't be
 * made. */
#include <stdio.h>

#include "base/disk.h"
#include "export/assembly.h"
#include "export/driver.h"
#include "export/header.h"
#include "export/identifier.h"
#include "export/program.h"

typedef enum file { HEADER, DRIVER, ASSEMBLY, FILE_COUNT } file;

static const char *const endings[FILE_COUNT] = {
    [HEADER] = ".h", [DRIVER] = ".c", [ASSEMBLY] = "_kernels.S"};

static int32_t check_options(const cyxla_export_options *options, cyxla_error *error) {
  if (options->struct_size < sizeof *options)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                       "cyxla_export_options: struct_size is %zu, and at least %zu is needed",
                       options->struct_size, sizeof *options);
  if (!options->directory || !options->name)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                       "cyxla_export_options: directory and name must be given");
  if (!cyxla__identifier_is_function(options->name, CYXLA__FUNCTION_SIZE - 1))
    return cyxla__fail(
        error, CYXLA_INVALID_ARGUMENT,
        "\"%.64s\" can't be the name of a C function of yours: that has at most %d "
        "letters, digits and underscores, begins with a letter, does not end in an underscore, "
        "and is no word of C or C++ and no function of its libraries",
        options->name, CYXLA__FUNCTION_SIZE - 1);
  return CYXLA_OK;
}

/* The direct engine has looked through all that it runs: code, slices, signature. */
static int32_t check_executable(const cyxla_executable *executable, cyxla_error *error) {
  static const char machine[] = "x86_64-";
  const cyxla__span triple = executable->image.triple;
  if (!executable->direct)
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                       "it can't be exported: only what the direct engine runs can be, and it has "
                       "PJRT's: %s",
                       executable->reason);
  if (triple.size < strlen(machine) || memcmp(triple.data, machine, strlen(machine)))
    return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                       "it can't be exported: only code for x86-64 can be, and it is for %.*s",
                       triple.size < 64 ? (int)triple.size : 64, (const char *)triple.data);
  return CYXLA_OK;
}

static int32_t make_texts(const cyxla__export *export, cyxla__text texts[FILE_COUNT],
                          cyxla_error *error) {
  bool needs_helper[CYXLA__HELPER_COUNT] = {false};
  bool failed = false;
  TRY(cyxla__export_write_assembly(export, &texts[ASSEMBLY], needs_helper, error));
  TRY(cyxla__export_write_driver(export, needs_helper, &texts[DRIVER], error));
  cyxla__export_write_header(export, &texts[HEADER]);
  for (size_t i = 0; i < FILE_COUNT; ++i) failed = failed || texts[i].failed;
  return failed ? cyxla__fail(error, CYXLA_RESOURCE_EXHAUSTED, "out of memory") : CYXLA_OK;
}

static int32_t write_file(const cyxla_export_options *options, file file, const cyxla__text *text,
                          cyxla_error *error) {
  const cyxla__span bytes = {(uint8_t *)text->data, text->size};
  char path[FILENAME_MAX];
  const int size =
      snprintf(path, sizeof path, "%s/%s%s", options->directory, options->name, endings[file]);
  if (size < 0 || (size_t)size >= sizeof path)
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT, "the directory's name is too long");
  const int32_t status = cyxla__disk_replace(path, &bytes, 1, error);
  if (status) cyxla__add_context(error, path);
  return status;
}

static int32_t export_executable(const cyxla_executable *executable,
                                 const cyxla_export_options *options, cyxla__text texts[FILE_COUNT],
                                 cyxla_error *error) {
  cyxla__export export;
  int32_t status = cyxla__export_init(&export, executable, options->name, options->producer, error);
  if (!status) status = make_texts(&export, texts, error);
  cyxla__export_deinit(&export);
  for (file i = 0; i < FILE_COUNT && !status; ++i)
    status = write_file(options, i, &texts[i], error);
  return status;
}

int32_t cyxla_export(const cyxla_executable *executable, const cyxla_export_options *options,
                     cyxla_error *error) {
  cyxla__text texts[FILE_COUNT] = {{0}};
  TRY(check_options(options, error));
  int32_t status = check_executable(executable, error);
  if (!status) status = export_executable(executable, options, texts, error);
  for (size_t i = 0; i < FILE_COUNT; ++i) cyxla__text_deinit(&texts[i]);
  if (status) cyxla__add_context(error, executable->signature.name);
  return status;
}
