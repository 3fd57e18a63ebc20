#include "direct/decode.h"

#include "xla_cpu/container.h"
#include "xla_cpu/schema.h"

typedef struct result {
  cyxla__span message, hlo, assignment, thunks, target;
  uint64_t objects_kind;
  size_t object_count, symbol_count;
} result;

static int32_t read_result(cyxla__span serialized, result *result, cyxla_error *error) {
  if (!cyxla__container_open(serialized, &result->message))
    return cyxla__fail(error, CYXLA_INVALID_ARGUMENT,
                       "these bytes are no serialized executable of XLA's CPU compiler");
  const cyxla__member members[] = {
      {RESULT_HLO_MODULE, .bytes = &result->hlo},
      {RESULT_BUFFER_ASSIGNMENT, .bytes = &result->assignment},
      {RESULT_OBJECTS_KIND, .number = &result->objects_kind},
      {RESULT_THUNKS, .bytes = &result->thunks},
      {RESULT_SYMBOLS, .messages = &result->symbol_count},
      {RESULT_OBJECT_FILES, .messages = &result->object_count},
      {RESULT_TARGET_MACHINE, .bytes = &result->target},
      {0},
  };
  TRY(cyxla__message_read(result->message, "CompilationResultProto", members, error));
  if (result->objects_kind == OBJECTS_KERNELS) return CYXLA_OK;
  return cyxla__fail(error, CYXLA_UNIMPLEMENTED,
                     "the executable is of another kind than those with thunks and kernels: "
                     "obj_files_kind is %u, not %u",
                     (unsigned)result->objects_kind, (unsigned)OBJECTS_KERNELS);
}

static int32_t read_target(cyxla__image *image, cyxla__span message, cyxla_error *error) {
  const cyxla__member members[] = {
      {TARGET_TRIPLE, .bytes = &image->triple},
      {TARGET_FEATURES, .bytes = &image->features},
      {0},
  };
  return cyxla__message_read(message, "TargetMachineOptionsProto", members, error);
}

/* The field `item_field`, bytes, of each message `field`. */
static int32_t read_spans(cyxla__arena *arena, cyxla__span message, uint32_t field, size_t count,
                          const char *item_name, uint32_t item_field, const cyxla__span **out_spans,
                          cyxla_error *error) {
  cyxla__span *spans = cyxla__arena_alloc(arena, count, sizeof *spans);
  *out_spans = spans;
  if (!spans) return cyxla__fail_memory(error, count * sizeof *spans);
  for (cyxla__span item; cyxla__message_next(&message, field, &item); ++spans) {
    const cyxla__member members[] = {{item_field, .bytes = spans}, {0}};
    TRY(cyxla__message_read(item, item_name, members, error));
  }
  return CYXLA_OK;
}

static int32_t read_code(cyxla__image *image, const result *result, cyxla_error *error) {
  image->object_count = result->object_count;
  image->symbol_count = result->symbol_count;
  TRY(read_spans(&image->arena, result->message, RESULT_OBJECT_FILES, result->object_count,
                 "ObjFileProto", OBJECT_CONTENTS, &image->objects, error));
  return read_spans(&image->arena, result->message, RESULT_SYMBOLS, result->symbol_count,
                    "SymbolProto", SYMBOL_NAME, &image->symbols, error);
}

static int32_t read_program(cyxla__image *image, const result *result, cyxla__arena *scratch,
                            cyxla_error *error) {
  cyxla__hlo hlo;
  cyxla__assignment assignment;
  TRY(cyxla__hlo_open(scratch, result->hlo, &hlo, error));
  TRY(cyxla__assignment_open(scratch, result->assignment, &assignment, error));
  image->name = hlo.name;
  return cyxla__decode_values(image, &hlo, &assignment, error);
}

static int32_t decode(cyxla__span serialized, cyxla__image *image, cyxla_error *error) {
  result result = {0};
  cyxla__arena scratch = {0};
  TRY(read_result(serialized, &result, error));
  TRY(read_target(image, result.target, error));
  TRY(read_code(image, &result, error));
  TRY(cyxla__decode_thunks(image, result.thunks, error));
  const int32_t status = read_program(image, &result, &scratch, error);
  cyxla__arena_deinit(&scratch);
  return status;
}

int32_t cyxla__image_decode(cyxla__span serialized, cyxla__image *out_image, cyxla_error *error) {
  cyxla__image image = {0};
  const int32_t status = decode(serialized, &image, error);
  if (status)
    cyxla__image_deinit(&image);
  else
    *out_image = image;
  return status;
}

size_t cyxla__image_thunk_count(const cyxla__image *image) {
  size_t count = 0;
  for (size_t i = 0; i < image->thunk_kind_count; ++i) count += image->thunk_counts[i].count;
  return count;
}

void cyxla__image_deinit(cyxla__image *image) {
  cyxla__arena_deinit(&image->arena);
  *image = (cyxla__image){0};
}
