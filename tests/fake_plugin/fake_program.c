/* Programs of the fake plugin: a text, one line for each input and output (see fake_plugin.c). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_plugin.h"

static const struct {
  const char *name;
  PJRT_Buffer_Type type;
  size_t size;
} types[] = {
    {"pred", PJRT_Buffer_Type_PRED, 1},  {"s8", PJRT_Buffer_Type_S8, 1},
    {"s16", PJRT_Buffer_Type_S16, 2},    {"s32", PJRT_Buffer_Type_S32, 4},
    {"s64", PJRT_Buffer_Type_S64, 8},    {"u8", PJRT_Buffer_Type_U8, 1},
    {"u16", PJRT_Buffer_Type_U16, 2},    {"u32", PJRT_Buffer_Type_U32, 4},
    {"u64", PJRT_Buffer_Type_U64, 8},    {"f16", PJRT_Buffer_Type_F16, 2},
    {"f32", PJRT_Buffer_Type_F32, 4},    {"f64", PJRT_Buffer_Type_F64, 8},
    {"bf16", PJRT_Buffer_Type_BF16, 2},  {"c64", PJRT_Buffer_Type_C64, 8},
    {"c128", PJRT_Buffer_Type_C128, 16},
};

/* Reads "f32[2,3]" at `*text` and moves on. */
static bool parse_type(const char **text, fake_array *out) {
  const size_t name_size = strcspn(*text, "[");
  const size_t type_count = sizeof types / sizeof types[0];
  size_t i = 0;
  while (i < type_count &&
         (strlen(types[i].name) != name_size || strncmp(types[i].name, *text, name_size)))
    ++i;
  if (i == type_count || (*text)[name_size] != '[') return false;
  out->type = types[i].type;
  out->size = types[i].size;
  const char *at = *text + name_size + 1;
  while (*at != ']') {
    char *end;
    const int64_t dimension = strtoll(at, &end, 10);
    if (end == at || dimension < 0 || out->rank == MAX_RANK || (*end != ',' && *end != ']'))
      return false;
    out->dimensions[out->rank++] = dimension;
    out->size *= (size_t)dimension;
    at = *end == ',' ? end + 1 : end;
  }
  *text = at + 1;
  return true;
}

static bool parse_input(fake_program *program, const char *text) {
  if (program->input_count == MAX_ARRAYS) return false;
  return parse_type(&text, &program->inputs[program->input_count++]) && !*text;
}

static bool parse_output(fake_program *program, const char *text) {
  if (program->output_count == MAX_ARRAYS) return false;
  fake_array *output = &program->outputs[program->output_count++];
  if (!parse_type(&text, output)) return false;
  int end = 0;
  output->source = -1;
  if (sscanf(text, " = fill %lf%n", &output->factor, &end) == 1) return !text[end];
  if (sscanf(text, " = in %d * %lf%n", &output->source, &output->factor, &end) != 2 || text[end])
    return false;
  return output->source >= 0 && (size_t)output->source < program->input_count &&
         program->inputs[output->source].size == output->size;
}

static bool parse_donation(fake_program *program, const char *text) {
  int index, end = 0;
  if (sscanf(text, "%d%n", &index, &end) != 1 || text[end] || index < 0 ||
      (size_t)index >= program->input_count)
    return false;
  program->inputs[index].donated = true;
  return true;
}

static bool parse_line(fake_program *program, const char *line) {
  if (!*line) return true;
  if (!strncmp(line, "in ", 3)) return parse_input(program, line + 3);
  if (!strncmp(line, "out ", 4)) return parse_output(program, line + 4);
  if (!strncmp(line, "donate ", 7)) return parse_donation(program, line + 7);
  return false;
}

static void list_outputs(fake_program *program) {
  int64_t *dimensions = program->output_dimensions;
  for (size_t i = 0; i < program->output_count; ++i) {
    const fake_array *output = &program->outputs[i];
    program->output_types[i] = output->type;
    program->output_ranks[i] = output->rank;
    for (size_t k = 0; k < output->rank; ++k) *dimensions++ = output->dimensions[k];
  }
}

/* Size of the header of a portable artifact ("ML", two bytes, the version of the bytecode, then the
 * producer with the version of StableHLO, ended by NUL), or 0. */
static size_t header_size(const char *text, size_t size) {
  if (size < 5 || strncmp(text, "ML\xefR", 4)) return 0;
  const char *end = memchr(text, 0, size);
  return end ? (size_t)(end - text) + 1 : 0;
}

PJRT_Error *fake__program_parse(const char *text, size_t size, fake_program **out_program) {
  const size_t header = header_size(text, size);
  char producer[32];
  snprintf(producer, sizeof producer, "%s", header ? text + 5 : "the fake plugin");
  text += header;
  size -= header;
  fake_program *program = calloc(1, sizeof *program + size + 1);
  char *copy = malloc(size + 1);
  if (!program || !copy) abort();
  program->references = 1;
  program->text_size = size;
  memcpy(program->text, text, size);
  memcpy(copy, text, size);
  copy[size] = 0;
  int number = 0;
  bool good = size > 0;
  for (char *line = copy; good && line <= copy + size;) {
    char *end = line + strcspn(line, "\n");
    *end = 0;
    ++number;
    good = parse_line(program, line);
    line = end + 1;
  }
  free(copy);
  if (!good) {
    fake__program_release(program);
    return fake__error(PJRT_Error_Code_INVALID_ARGUMENT, "line %d of a program of %s is none",
                       number, producer);
  }
  list_outputs(program);
  *out_program = program;
  return NULL;
}

fake_program *fake__program_share(fake_program *program) {
  ++program->references;
  return program;
}

void fake__program_release(fake_program *program) {
  if (!--program->references) free(program);
}

void fake__program_run(const fake_array *output, const void *source, void *destination) {
  const double factor = output->factor;
  if (source && factor == 1) {
    memcpy(destination, source, output->size);
    return;
  }
#define SCALE(kind)                                                                                \
  for (size_t i = 0; i < output->size / sizeof(kind); ++i)                                         \
    ((kind *)destination)[i] = source ? (kind)(((const kind *)source)[i] * factor) : (kind)factor; \
  break
  switch (output->type) {
    case PJRT_Buffer_Type_F32:
      SCALE(float);
    case PJRT_Buffer_Type_F64:
      SCALE(double);
    case PJRT_Buffer_Type_S32:
      SCALE(int32_t);
    case PJRT_Buffer_Type_S64:
      SCALE(int64_t);
    default:
      memset(destination, 0, output->size);
  }
#undef SCALE
}
