#include "export/header.h"

#include <stdio.h>

#include "export/processor.h"

/* ---- types ---- */

/* C's type for one element, or for each half of one; and what is to be said of it beyond that. */
static const struct {
  const char *name, *remark;
} types[] = {
    [CYXLA_PRED] = {"bool", ""},
    [CYXLA_S8] = {"int8_t", ""},
    [CYXLA_S16] = {"int16_t", ""},
    [CYXLA_S32] = {"int32_t", ""},
    [CYXLA_S64] = {"int64_t", ""},
    [CYXLA_U8] = {"uint8_t", ""},
    [CYXLA_U16] = {"uint16_t", ""},
    [CYXLA_U32] = {"uint32_t", ""},
    [CYXLA_U64] = {"uint64_t", ""},
    [CYXLA_F16] = {"uint16_t", ", bits of IEEE 754's binary16"},
    [CYXLA_F32] = {"float", ""},
    [CYXLA_F64] = {"double", ""},
    [CYXLA_BF16] = {"uint16_t", ", bits of bfloat16: the upper half of a float"},
    [CYXLA_C64] = {"float", ", pairs of real and imaginary parts"},
    [CYXLA_C128] = {"double", ", pairs of real and imaginary parts"},
};

/* ---- the declaration ---- */

/* Lines end before this column. */
enum { MAX_COLUMN = 100 };

/* Adds an item of a list, in a new line where it does not fit. */
static void add_item(cyxla__text *text, size_t *column, bool is_first, const char *type,
                     const char *name) {
  const size_t size = strlen(type) + strlen(name);
  if (*column + size + 4 > MAX_COLUMN) {
    cyxla__text_add(text, ",\n    ");
    *column = 4;
  } else if (!is_first) {
    cyxla__text_add(text, ", ");
    *column += 2;
  }
  cyxla__text_add(text, "%s%s", type, name);
  *column += size;
}

void cyxla__export_write_prototype(const cyxla__export *export, cyxla__text *text) {
  const bool has_scratch = cyxla__export_has_scratch(export);
  size_t column = strlen("int ") + strlen(export->name) + 1;
  cyxla__text_add(text, "int %s(", export->name);
  for (size_t i = 0; i < export->parameter_count; ++i) {
    const cyxla__parameter *parameter = &export->parameters[i];
    char type[32];
    snprintf(type, sizeof type, "%s%s *", i < export->input_count ? "const " : "",
             types[parameter->type->element_type].name);
    add_item(text, &column, !i, type, parameter->name);
  }
  if (has_scratch) add_item(text, &column, !export->parameter_count, "void *", "scratch");
  if (!has_scratch && !export->parameter_count) cyxla__text_add(text, "void");
  cyxla__text_add(text, ")");
}

/* ---- comments ---- */

static void add_comment(cyxla__text *text, const char *words) {
  cyxla__text_add_comment(text, (cyxla__span){(uint8_t *)words, strlen(words)});
}

static void write_introduction(const cyxla__export *export, cyxla__text *text) {
  cyxla__text_add(text, "/* %s: ", export->name);
  add_comment(text, export->executable->signature.name);
  cyxla__text_add(text,
                  ", a function that XLA has compiled, as plain C.\n *\n * Exported by cyxla %s",
                  cyxla_version());
  if (export->producer) {
    cyxla__text_add(text, ", compiled by ");
    add_comment(text, export->producer);
  }
  cyxla__text_add(text,
                  ".\n * To be linked with what %s.c and %s_kernels.S become, and with -lm.\n",
                  export->name, export->name);
  cyxla__text features = {0};
  cyxla__export_write_features(export, &features);
  text->failed = text->failed || features.failed;
  cyxla__text_add(text, " * Processor: x86-64%s%s. */\n", features.size ? " with" : "",
                  features.size ? features.data : "");
  cyxla__text_deinit(&features);
}

static void write_parameter(const cyxla__export *export, size_t index, cyxla__text *text) {
  const cyxla__parameter *parameter = &export->parameters[index];
  const cyxla_array_type *type = parameter->type;
  const bool is_input = index < export->input_count;
  const size_t length = parameter->size / cyxla_element_size(type->element_type);
  char type_text[CYXLA__TYPE_TEXT_SIZE];
  cyxla__type_text(type_text, sizeof type_text, type->element_type, type->rank, type->dimensions);
  cyxla__text_add(text, " *   %s\n *       %s %zu", parameter->name, is_input ? "input" : "output",
                  is_input ? index : index - export->input_count);
  if (type->name && type->name[0] && strcmp(type->name, parameter->name)) {
    cyxla__text_add(text, ", ");
    add_comment(text, type->name);
  }
  cyxla__text_add(text, ": %s, %zu element%s in %zu bytes%s%s\n", type_text, length,
                  length == 1 ? "" : "s", parameter->size, types[type->element_type].remark,
                  is_input && !parameter->used ? "; not read, may be NULL" : "");
}

static void write_promise(const cyxla__export *export, cyxla__text *text) {
  const bool has_scratch = cyxla__export_has_scratch(export);
  cyxla__text_add(
      text,
      "/* Computes all outputs from all inputs.\n"
      " *\n"
      " * Arrays are row-major, without gaps, and the caller's; nothing is kept.  Those whose "
      "address "
      "is a\n"
      " * multiple of 64 are used in place, others are copied.  Inputs may overlap outputs, "
      "and each other;\n"
      " * outputs must not overlap each other.  An output that is not wanted is NULL.\n"
      " *\n");
  for (size_t i = 0; i < export->parameter_count; ++i) write_parameter(export, i, text);
  if (has_scratch)
    cyxla__text_add(
        text,
        " *   scratch\n"
        " *       working memory of at least %s_scratch_size() bytes, of any alignment, "
        "that overlaps no\n"
        " *       array; it needs no contents, and keeps none that matter\n",
        export->name);
  cyxla__text_add(text, " *\n * Returns: 0; 1: a kernel failed, and outputs are unspecified");
  if (has_scratch) cyxla__text_add(text, "; 2: scratch is NULL");
  cyxla__text_add(text, ".\n * Threads: any number at once%s.\n",
                  has_scratch ? ", each with scratch of its own" : "");
  cyxla__text_add(text, " * Memory:  nothing is allocated");
  if (!has_scratch)
    cyxla__text_add(text, "; %zu bytes of the stack, and a few kilobytes for the kernels",
                    export->work_size);
  cyxla__text_add(text,
                  ".\n * Numbers: subnormal ones are zero and rounding is to nearest, whatever "
                  "the caller's floating-point\n"
                  " *          environment, which is as it was afterwards. */\n");
}

/* ---- all of it ---- */

static bool has_type(const cyxla__export *export, int32_t element_type) {
  for (size_t i = 0; i < export->parameter_count; ++i)
    if (export->parameters[i].type->element_type == element_type) return true;
  return false;
}

/* The function's name in capitals. */
static void write_guard(const cyxla__export *export, const char *directive, cyxla__text *text) {
  cyxla__text_add(text, "%s ", directive);
  for (const char *at = export->name; *at; ++at)
    cyxla__text_add(text, "%c", *at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
  cyxla__text_add(text, "_H\n");
}

void cyxla__export_write_header(const cyxla__export *export, cyxla__text *text) {
  write_introduction(export, text);
  write_guard(export, "#ifndef", text);
  write_guard(export, "#define", text);
  cyxla__text_add(text, "\n");
  if (has_type(export, CYXLA_PRED)) cyxla__text_add(text, "#include <stdbool.h>\n");
  cyxla__text_add(text,
                  "#include <stddef.h>\n#include <stdint.h>\n\n"
                  "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  write_promise(export, text);
  cyxla__export_write_prototype(export, text);
  cyxla__text_add(text, ";\n\n");
  if (cyxla__export_has_scratch(export))
    cyxla__text_add(text, "/* Bytes of working memory. */\nsize_t %s_scratch_size(void);\n\n",
                    export->name);
  cyxla__text_add(text,
                  "/* 1: the processor at hand can run the function; 0: it can't, and a call would "
                  "end the program. */\n"
                  "int %s_supported(void);\n\n"
                  "#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
                  export->name);
}
