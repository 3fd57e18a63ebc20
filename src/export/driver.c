/* The driver is one straight function of C: a call for each kernel, a loop for each loop.  Around
 * it are the same few functions for all programs.  Their names end in an underscore, with which no
 * name of the exported function and its parameters ends. */
#include "export/driver.h"

#include <inttypes.h>
#include <stdio.h>

#include "direct/op_copy.h"
#include "export/header.h"
#include "export/processor.h"

/* ---- the parts that are the same for all ---- */

static const char machine[] =
    "#if !defined(__x86_64__) || !defined(__LP64__) || !defined(__ELF__)\n"
    "#error \"this is machine code for x86-64 and its System V ABI\"\n"
    "#endif\n\n";

/* XLA_CPU_Kernel of xla/backends/cpu/runtime/kernel_c_api.h, as direct/plan.h has it. */
static const char kernel_types[] =
    "struct index {\n"
    "  uint64_t x, y, z;\n"
    "};\n\n"
    "struct argument {\n"
    "  void *data;\n"
    "  size_t size;\n"
    "};\n\n"
    "/* What a kernel gets: it works for one of its work groups. */\n"
    "struct frame {\n"
    "  const struct index *workgroups, *workgroup;\n"
    "  size_t argument_count;\n"
    "  const struct argument *arguments;\n"
    "};\n\n"
    "/* NULL: success. */\n"
    "typedef void *kernel_(const struct frame *frame);\n\n";

static const char run_kernel[] =
    "static int run_kernel_(kernel_ *function, const struct argument *arguments, size_t count) {\n"
    "  static const struct index workgroups = {1, 1, 1}, workgroup = {0, 0, 0};\n"
    "  const struct frame frame = {&workgroups, &workgroup, count, arguments};\n"
    "  return function(&frame) != NULL;\n"
    "}\n\n";

static const char run_grid[] =
    "static int run_grid_(kernel_ *function, const struct argument *arguments, size_t count,\n"
    "                    struct index workgroups) {\n"
    "  struct index at;\n"
    "  const struct frame frame = {&workgroups, &at, count, arguments};\n"
    "  for (at.z = 0; at.z < workgroups.z; ++at.z)\n"
    "    for (at.y = 0; at.y < workgroups.y; ++at.y)\n"
    "      for (at.x = 0; at.x < workgroups.x; ++at.x)\n"
    "        if (function(&frame)) return 1;\n"
    "  return 0;\n"
    "}\n\n";

static const char load_int32[] =
    "static int32_t load_int32_(const unsigned char *data) {\n"
    "  int32_t value;\n"
    "  memcpy(&value, data, sizeof value);\n"
    "  return value;\n"
    "}\n\n";

/* As base/fpenv.h, without the intrinsics: their header brings names of half the C library. */
static const char environment[] =
    "/* ---- floating-point environment ---- */\n\n"
    "/* Control bits of MXCSR that the kernels expect: subnormal numbers are zero, rounding is to\n"
    " * nearest, nothing traps. */\n"
    "enum { ENVIRONMENT_ = 0x9fc0, FLAGS_ = 0x3f };\n\n"
    "static int is_other_(unsigned control) {\n"
    "  return (control & ~(unsigned)FLAGS_) != ENVIRONMENT_;\n"
    "}\n\n"
    "static void set_control_(unsigned control) {\n"
    "  __asm__ volatile(\"ldmxcsr %0\" : : \"m\"(control) : \"memory\");\n"
    "}\n\n"
    "static unsigned enter_(void) {\n"
    "  unsigned before;\n"
    "  __asm__ volatile(\"stmxcsr %0\" : \"=m\"(before) : : \"memory\");\n"
    "  if (is_other_(before)) set_control_(ENVIRONMENT_);\n"
    "  return before;\n"
    "}\n\n"
    "static void leave_(unsigned before) {\n"
    "  if (is_other_(before)) set_control_(before);\n"
    "}\n\n";

static const char array_types[] =
    "/* ---- memory ---- */\n\n"
    "/* An input or output: its bytes (0: the program has no use for it), and where in the "
    "working\n"
    " * memory it has a copy where it is not used in place. */\n"
    "struct array {\n"
    "  size_t size, place;\n"
    "};\n\n"
    "static int is_aligned_(const void *data) {\n"
    "  return (uintptr_t)data % 64 == 0;\n"
    "}\n\n";

static const char overlap[] =
    "/* Whether an input shares memory with an output. */\n"
    "static int overlaps_(const void *data, size_t size, void *const *outputs) {\n"
    "  const uintptr_t start = (uintptr_t)data;\n"
    "  for (size_t i = 0; i < sizeof output_arrays_ / sizeof output_arrays_[0]; ++i) {\n"
    "    const uintptr_t other = (uintptr_t)outputs[i];\n"
    "    if (other && start < other + output_arrays_[i].size && other < start + size) return 1;\n"
    "  }\n"
    "  return 0;\n"
    "}\n\n";

static const char bind_outputs[] =
    "  for (size_t i = 0; i < sizeof output_arrays_ / sizeof output_arrays_[0]; ++i) {\n"
    "    const struct array *array = &output_arrays_[i];\n"
    "    const int in_place = array->size && outputs[i] && is_aligned_(outputs[i]);\n"
    "    out[i] = in_place ? outputs[i] : work + array->place;\n"
    "  }\n";

static const char bind_inputs[] =
    "  for (size_t i = 0; i < sizeof input_arrays_ / sizeof input_arrays_[0]; ++i) {\n"
    "    const struct array *array = &input_arrays_[i];\n"
    "    in[i] = work + array->place;\n"
    "    if (!array->size) continue;\n"
    "    if (is_aligned_(inputs[i]) && !%s)\n"
    "      in[i] = (unsigned char *)inputs[i];\n"
    "    else\n"
    "      memcpy(in[i], inputs[i], array->size);\n"
    "  }\n";

static const char return_outputs[] =
    "  for (size_t i = 0; i < sizeof output_arrays_ / sizeof output_arrays_[0]; ++i) {\n"
    "    const size_t size = output_arrays_[i].size;\n"
    "    if (size && outputs[i] && outputs[i] != out[i]) memcpy(outputs[i], out[i], size);\n"
    "  }\n";

/* ---- helpers of the code, see direct/symbols.c: they must give the same bits ---- */

static const char truncdfhf2[] =
    "/* A double as half precision, rounded to a float first; the bits come in the lower half of "
    "a\n"
    " * float.  1 + 5 + 10 bits are made of 1 + 8 + 23. */\n"
    "HIDDEN_ float %s(double value);\n"
    "float %s(double value) {\n"
    "  const float rounded = (float)value;\n"
    "  uint32_t bits, half = 0;\n"
    "  memcpy(&bits, &rounded, sizeof bits);\n"
    "  const uint32_t sign = bits >> 16 & 0x8000;\n"
    "  bits &= 0x7fffffff;\n"
    "  if (bits > 0x7f800000) {\n"
    "    half = 0x7e00; /* no number */\n"
    "  } else if (bits >> 23 >= 143) {\n"
    "    half = 0x7c00; /* infinite */\n"
    "  } else {\n"
    "    unsigned shift = 13;\n"
    "    if (bits >> 23 >= 113) {\n"
    "      bits -= (uint32_t)112 << 23;\n"
    "    } else { /* subnormal: in units of 2^-24 */\n"
    "      shift = 126 - (bits >> 23);\n"
    "      bits = (bits & 0x7fffff) | 0x800000;\n"
    "    }\n"
    "    if (shift <= 24)\n"
    "      half = (bits + ((uint32_t)1 << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift;\n"
    "  }\n"
    "  half |= sign;\n"
    "  float result;\n"
    "  memcpy(&result, &half, sizeof result);\n"
    "  return result;\n"
    "}\n\n";

static void write_power(cyxla__text *text, const char *type, const char *name) {
  cyxla__text_add(text,
                  "/* An integer power by repeated squaring. */\n"
                  "HIDDEN_ %s %s(%s base, int exponent);\n"
                  "%s %s(%s base, int exponent) {\n"
                  "  %s power = 1;\n"
                  "  for (int rest = exponent;; base *= base) {\n"
                  "    if (rest & 1) power *= base;\n"
                  "    rest /= 2;\n"
                  "    if (!rest) return exponent < 0 ? 1 / power : power;\n"
                  "  }\n"
                  "}\n\n",
                  type, name, type, type, name, type, type);
}

/* The versions of these functions that XLA is linked with take subnormal numbers for zero, as its
 * kernels do; newer ones look at the bits, and give a NaN of the other sign. */
static void write_logarithm(cyxla__text *text, const char *function, const char *name) {
  cyxla__text_add(text,
                  "/* To the kernels, subnormal numbers are zero; libm may look at their bits. */\n"
                  "double %s(double value);\n"
                  "HIDDEN_ double %s(double value);\n"
                  "double %s(double value) {\n"
                  "  if (value < 0) return __builtin_nan(\"\");\n"
                  "  return %s(value < 0x1p-1022 ? 0 * value : value);\n"
                  "}\n\n",
                  function, name, name, function);
}

static void write_modulo(cyxla__text *text, const char *type, const char *function,
                         const char *name, const char *least) {
  cyxla__text_add(text,
                  "/* To the kernels, subnormal numbers are zero; libm may look at their bits. */\n"
                  "%s %s(%s value, %s divisor);\n"
                  "HIDDEN_ %s %s(%s value, %s divisor);\n"
                  "%s %s(%s value, %s divisor) {\n"
                  "  return %s(value, divisor < %s && divisor > -%s ? 0 * divisor : divisor);\n"
                  "}\n\n",
                  type, function, type, type, type, name, type, type, type, name, type, type,
                  function, least, least);
}

static void write_helper(const cyxla__export *export, cyxla__helper helper, cyxla__text *text) {
  char name[CYXLA__SYMBOL_SIZE];
  snprintf(name, sizeof name, "%s_%s", export->name, cyxla__helper_names[helper]);
  switch (helper) {
    case CYXLA__HELPER_TRUNCDFHF2:
      cyxla__text_add(text, truncdfhf2, name, name);
      break;
    case CYXLA__HELPER_POWIDF2:
      write_power(text, "double", name);
      break;
    case CYXLA__HELPER_POWISF2:
      write_power(text, "float", name);
      break;
    case CYXLA__HELPER_LOG:
    case CYXLA__HELPER_LOG2:
      write_logarithm(text, cyxla__helper_names[helper], name);
      break;
    case CYXLA__HELPER_FMOD:
      write_modulo(text, "double", "fmod", name, "0x1p-1022");
      break;
    case CYXLA__HELPER_FMODF:
      write_modulo(text, "float", "fmodf", name, "0x1p-126f");
      break;
    case CYXLA__HELPER_COUNT:
      break;
  }
}

/* ---- the program ---- */

typedef struct writer {
  const cyxla__export *export;
  cyxla__text *text;
  cyxla__arena arena;
  int indent;
  size_t loop_count;         /* so that each has a variable of its own */
  bool has_kernel, has_grid; /* of one work group; of several */
  bool has_switch;
} writer;

static void begin_line(writer *writer) {
  cyxla__text_add(writer->text, "%*s", writer->indent, "");
}

/* Where a slice begins. */
static void write_address(writer *writer, const cyxla__slice *slice) {
  const cyxla__export *export = writer->export;
  const cyxla__allocation *allocation = &export->image->allocations[slice->allocation];
  cyxla__text *text = writer->text;
  uint64_t offset = slice->offset;
  if (!allocation->size) {
    cyxla__text_add(text, "work"); /* nothing is read or written */
    offset = 0;
  } else if (allocation->kind == CYXLA__ALLOCATION_PARAMETER) {
    cyxla__text_add(text, "in[%" PRIu32 "]", allocation->number);
  } else if (allocation->kind == CYXLA__ALLOCATION_OUTPUT) {
    cyxla__text_add(text, "out[%" PRIu32 "]", allocation->number);
  } else if (allocation->kind == CYXLA__ALLOCATION_CONSTANT) {
    cyxla__text_add(text, "(unsigned char *)%s_constant_%" PRIu32, export->name, slice->allocation);
  } else {
    cyxla__text_add(text, "work");
    offset += export->places[slice->allocation];
  }
  if (offset) cyxla__text_add(text, " + %" PRIu64, offset);
}

static int32_t write_sequence(writer *writer, cyxla__sequence sequence, cyxla_error *error);

static void write_kernel(writer *writer, const cyxla__thunk *thunk) {
  cyxla__text *text = writer->text;
  const size_t count = thunk->as.kernel.count;
  const uint64_t *groups = thunk->as.kernel.workgroups;
  const bool is_grid = groups[0] != 1 || groups[1] != 1 || groups[2] != 1;
  const size_t kernel = cyxla__export_kernel(writer->export, thunk->as.kernel.name);
  begin_line(writer);
  cyxla__text_add(text, "{\n%*s  const struct argument arguments[] = {", writer->indent, "");
  for (size_t i = 0; i < count; ++i) {
    const cyxla__slice *slice = &thunk->as.kernel.buffers[i];
    cyxla__text_add(text, "\n%*s      {", writer->indent, "");
    write_address(writer, slice);
    cyxla__text_add(text, ", %" PRIu64 "}%s", slice->size, i + 1 < count ? "," : "");
  }
  if (!count) cyxla__text_add(text, "{NULL, 0}");
  cyxla__text_add(text, "};\n%*s  if (run_%s_(%s_kernel_%zu, arguments, %zu", writer->indent, "",
                  is_grid ? "grid" : "kernel", writer->export->name, kernel, count);
  if (is_grid)
    cyxla__text_add(text, ", (struct index){%" PRIu64 ", %" PRIu64 ", %" PRIu64 "}", groups[0],
                    groups[1], groups[2]);
  cyxla__text_add(text, ")) return 1;\n%*s}\n", writer->indent, "");
  *(is_grid ? &writer->has_grid : &writer->has_kernel) = true;
}

/* ---- copies ---- */

static void write_steps(writer *writer, const cyxla__slice *slice, const cyxla__copy *copy,
                        size_t first_loop, bool is_source) {
  write_address(writer, slice);
  for (size_t i = copy->loop_count; i-- > 0;) {
    const cyxla__copy_loop *loop = &copy->loops[i];
    cyxla__text_add(writer->text, " + i%zu * %zu", first_loop + i,
                    is_source ? loop->source_step : loop->destination_step);
  }
}

static int32_t write_copy(writer *writer, const cyxla__thunk *thunk, cyxla_error *error) {
  const cyxla__array *source = &thunk->as.copy.source, *destination = &thunk->as.copy.destination;
  const size_t first_loop = writer->loop_count;
  if (!source->shape.size) return CYXLA_OK;
  const cyxla__copy *copy = cyxla__copy_plan(&writer->arena, &source->shape, &destination->shape);
  if (!copy) return cyxla__fail_memory(error, sizeof *copy);
  writer->loop_count += copy->loop_count;
  for (size_t i = copy->loop_count; i-- > 0;) {
    begin_line(writer);
    cyxla__text_add(writer->text, "for (size_t i%zu = 0; i%zu < %zu; ++i%zu)\n", first_loop + i,
                    first_loop + i, copy->loops[i].count, first_loop + i);
    writer->indent += 2;
  }
  begin_line(writer);
  cyxla__text_add(writer->text, "memcpy(");
  write_steps(writer, &destination->slice, copy, first_loop, false);
  cyxla__text_add(writer->text, ", ");
  write_steps(writer, &source->slice, copy, first_loop, true);
  cyxla__text_add(writer->text, ", %zu);\n", copy->block_size);
  writer->indent -= 2 * (int)copy->loop_count;
  return CYXLA_OK;
}

/* ---- control flow ---- */

static int32_t write_block(writer *writer, cyxla__sequence sequence, cyxla_error *error) {
  writer->indent += 2;
  const int32_t status = write_sequence(writer, sequence, error);
  writer->indent -= 2;
  return status;
}

/* A number of rounds that is known, or the condition before each. */
static int32_t write_while(writer *writer, const cyxla__thunk *thunk, cyxla_error *error) {
  cyxla__text *text = writer->text;
  const size_t loop = writer->loop_count++;
  const uint64_t rounds = thunk->as.loop.trip_count;
  if (thunk->as.loop.trip_count_known && !rounds) return CYXLA_OK;
  begin_line(writer);
  if (thunk->as.loop.trip_count_known) {
    cyxla__text_add(text, "for (uint64_t i%zu = 0; i%zu < UINT64_C(%" PRIu64 "); ++i%zu) {\n", loop,
                    loop, rounds, loop);
  } else {
    cyxla__text_add(text, "for (;;) {\n");
    TRY(write_block(writer, thunk->as.loop.condition, error));
    cyxla__text_add(text, "%*s  if (!*(", writer->indent, "");
    write_address(writer, &thunk->as.loop.predicate);
    cyxla__text_add(text, ")) break;\n");
  }
  TRY(write_block(writer, thunk->as.loop.body, error));
  begin_line(writer);
  cyxla__text_add(text, "}\n");
  return CYXLA_OK;
}

/* By a bool, of which true is the first branch. */
static int32_t write_if(writer *writer, const cyxla__thunk *thunk, cyxla_error *error) {
  cyxla__text *text = writer->text;
  begin_line(writer);
  cyxla__text_add(text, "if (*(");
  write_address(writer, &thunk->as.conditional.index);
  cyxla__text_add(text, ")) {\n");
  TRY(write_block(writer, thunk->as.conditional.branches[0], error));
  begin_line(writer);
  cyxla__text_add(text, "} else {\n");
  TRY(write_block(writer, thunk->as.conditional.branches[1], error));
  begin_line(writer);
  cyxla__text_add(text, "}\n");
  return CYXLA_OK;
}

/* By a number; one that is no branch means the last. */
static int32_t write_switch(writer *writer, const cyxla__thunk *thunk, cyxla_error *error) {
  cyxla__text *text = writer->text;
  const size_t count = thunk->as.conditional.count;
  begin_line(writer);
  cyxla__text_add(text, "switch (load_int32_(");
  write_address(writer, &thunk->as.conditional.index);
  cyxla__text_add(text, ")) {\n");
  writer->indent += 2;
  for (size_t i = 0; i < count; ++i) {
    begin_line(writer);
    if (i + 1 < count)
      cyxla__text_add(text, "case %zu:\n", i);
    else
      cyxla__text_add(text, "default:\n");
    TRY(write_block(writer, thunk->as.conditional.branches[i], error));
    cyxla__text_add(text, "%*s  break;\n", writer->indent, "");
  }
  writer->indent -= 2;
  begin_line(writer);
  cyxla__text_add(text, "}\n");
  writer->has_switch = true;
  return CYXLA_OK;
}

static int32_t write_conditional(writer *writer, const cyxla__thunk *thunk, cyxla_error *error) {
  const bool is_bool = thunk->as.conditional.index.size == 1;
  return (is_bool ? write_if : write_switch)(writer, thunk, error);
}

/* ---- all thunks ---- */

static void write_device_id(writer *writer, const cyxla__thunk *thunk) {
  begin_line(writer);
  cyxla__text_add(writer->text, "memset(");
  write_address(writer, &thunk->as.device_id.id);
  cyxla__text_add(writer->text, ", 0, 4);\n"); /* there is one device */
}

static int32_t write_thunk(writer *writer, const cyxla__thunk *thunk, cyxla_error *error) {
  begin_line(writer);
  cyxla__text_add(writer->text, "/* ");
  cyxla__text_add_comment(writer->text, thunk->kind_name);
  cyxla__text_add(writer->text, " ");
  cyxla__text_add_comment(writer->text, thunk->op_name);
  cyxla__text_add(writer->text, " */\n");
  switch (thunk->kind) {
    case CYXLA__THUNK_KERNEL:
      write_kernel(writer, thunk);
      return CYXLA_OK;
    case CYXLA__THUNK_COPY:
      return write_copy(writer, thunk, error);
    case CYXLA__THUNK_CALL:
      return write_sequence(writer, thunk->as.call.sequence, error);
    case CYXLA__THUNK_CONDITIONAL:
      return write_conditional(writer, thunk, error);
    case CYXLA__THUNK_WHILE:
      return write_while(writer, thunk, error);
    default: /* partition-id, replica-id: there are no others */
      write_device_id(writer, thunk);
      return CYXLA_OK;
  }
}

static int32_t write_sequence(writer *writer, cyxla__sequence sequence, cyxla_error *error) {
  for (size_t i = 0; i < sequence.count; ++i) TRY(write_thunk(writer, &sequence.thunks[i], error));
  return CYXLA_OK;
}

/* ---- the file, from top to bottom ---- */

static void write_top(const cyxla__export *export, cyxla__text *text) {
  const char *name = export->name;
  cyxla__text_add(text,
                  "/* %s: calls the machine code of %s_kernels.S, see %s.h.\n"
                  " * C99, for gcc and clang. */\n%s"
                  "#include \"%s.h\"\n\n"
                  "#include <cpuid.h>\n#include <string.h>\n\n"
                  "#define HIDDEN_ __attribute__((visibility(\"hidden\")))\n\n",
                  name, name, name, machine, name);
}

static void write_declarations(const cyxla__export *export, cyxla__text *text) {
  cyxla__text_add(text, "/* ---- machine code ---- */\n\n");
  if (export->kernel_count) cyxla__text_add(text, "%s", kernel_types);
  for (size_t i = 0; i < export->kernel_count; ++i) {
    cyxla__text_add(text, "HIDDEN_ kernel_ %s_kernel_%zu; /* ", export->name, i);
    cyxla__text_add_comment(text, export->kernels[i]);
    cyxla__text_add(text, " */\n");
  }
  for (size_t i = 0; i < export->image->allocation_count; ++i) {
    const cyxla__allocation *allocation = &export->image->allocations[i];
    if (export->used[i] && allocation->kind == CYXLA__ALLOCATION_CONSTANT && allocation->size)
      cyxla__text_add(text, "HIDDEN_ extern const unsigned char %s_constant_%zu[%" PRIu64 "];\n",
                      export->name, i, allocation->size);
  }
  cyxla__text_add(text, "\n");
}

/* What the program calls. */
static void write_functions(const writer *writer, const bool *needs_helper, cyxla__text *text) {
  const cyxla__export *export = writer->export;
  if (writer->has_kernel) cyxla__text_add(text, "%s", run_kernel);
  if (writer->has_grid) cyxla__text_add(text, "%s", run_grid);
  if (writer->has_switch) cyxla__text_add(text, "%s", load_int32);
  for (cyxla__helper helper = 0; helper < CYXLA__HELPER_COUNT; ++helper)
    if (needs_helper[helper]) write_helper(export, helper, text);
  if (export->kernel_count) cyxla__text_add(text, "%s", environment);
}

static void write_arrays(const cyxla__parameter *parameters, size_t count, const char *role,
                         cyxla__text *text) {
  if (!count) return;
  cyxla__text_add(text, "static const struct array %s_arrays_[] = {\n", role);
  for (size_t i = 0; i < count; ++i)
    cyxla__text_add(text, "    {%zu, %zu}, /* %s */\n", parameters[i].used ? parameters[i].size : 0,
                    parameters[i].place, parameters[i].name);
  cyxla__text_add(text, "};\n\n");
}

static void write_memory(const cyxla__export *export, cyxla__text *text) {
  const size_t output_count = export->parameter_count - export->input_count;
  if (export->parameter_count) cyxla__text_add(text, "%s", array_types);
  write_arrays(export->parameters, export->input_count, "input", text);
  write_arrays(export->parameters + export->input_count, output_count, "output", text);
  if (export->input_count && output_count) cyxla__text_add(text, "%s", overlap);
}

static void write_program(const cyxla__text *program, cyxla__text *text) {
  cyxla__text_add(text,
                  "/* ---- program ---- */\n\n"
                  "static int run_(unsigned char *const *in, unsigned char *const *out, "
                  "unsigned char *work) {\n"
                  "  (void)in;\n  (void)out;\n  (void)work;\n%s  return 0;\n}\n\n",
                  program->size ? program->data : "");
}

static void write_donations(const cyxla__export *export, cyxla__text *text) {
  for (size_t i = export->input_count; i < export->parameter_count; ++i) {
    const cyxla__parameter *output = &export->parameters[i];
    if (output->donated >= 0)
      cyxla__text_add(text, "  memcpy(out[%zu], in[%" PRId32 "], %zu);\n", i - export->input_count,
                      output->donated, output->size);
  }
}

static void write_call(const cyxla__export *export, cyxla__text *text) {
  const size_t input_count = export->input_count;
  const size_t output_count = export->parameter_count - input_count;
  cyxla__text_add(
      text,
      "static int call_(const void *const *inputs, void *const *outputs, void *memory) {\n"
      "  unsigned char *const work = (unsigned char *)memory + (-(uintptr_t)memory & 63);"
      "\n  unsigned char *in[%zu], *out[%zu];\n  (void)inputs;\n  (void)outputs;\n",
      input_count + 1, output_count + 1);
  if (output_count) cyxla__text_add(text, "%s", bind_outputs);
  if (input_count)
    cyxla__text_add(text, bind_inputs,
                    output_count ? "overlaps_(inputs[i], array->size, outputs)" : "0");
  write_donations(export, text);
  if (export->kernel_count) cyxla__text_add(text, "  const unsigned before = enter_();\n");
  cyxla__text_add(text, "  const int status = run_(in, out, work);\n");
  if (export->kernel_count) cyxla__text_add(text, "  leave_(before);\n");
  if (output_count) cyxla__text_add(text, "%s", return_outputs);
  cyxla__text_add(text, "  return status;\n}\n\n");
}

static void write_function(const cyxla__export *export, cyxla__text *text) {
  const bool has_scratch = cyxla__export_has_scratch(export);
  cyxla__text_add(text, "/* ---- what %s.h declares ---- */\n\n", export->name);
  cyxla__export_write_prototype(export, text);
  cyxla__text_add(text, " {\n  const void *const inputs_[] = {");
  for (size_t i = 0; i < export->input_count; ++i)
    cyxla__text_add(text, "%s,\n                                 ", export->parameters[i].name);
  cyxla__text_add(text, "NULL};\n  void *const outputs_[] = {");
  for (size_t i = export->input_count; i < export->parameter_count; ++i)
    cyxla__text_add(text, "%s,\n                            ", export->parameters[i].name);
  cyxla__text_add(text, "NULL};\n");
  if (has_scratch)
    cyxla__text_add(text,
                    "  if (!scratch) return 2;\n  return call_(inputs_, outputs_, scratch);\n}\n\n"
                    "size_t %s_scratch_size(void) {\n  return %zu + 63;\n}\n\n",
                    export->name, export->work_size);
  else
    cyxla__text_add(text,
                    "  unsigned char memory_[%zu + 63];\n"
                    "  return call_(inputs_, outputs_, memory_);\n}\n\n",
                    export->work_size);
}

static void write_file(const writer *writer, const bool *needs_helper, cyxla__text *text) {
  const cyxla__export *export = writer->export;
  write_top(export, text);
  write_declarations(export, text);
  write_functions(writer, needs_helper, text);
  write_memory(export, text);
  write_program(writer->text, text);
  write_call(export, text);
  write_function(export, text);
  cyxla__text_add(text, "int %s_supported(void) {\n", export->name);
  cyxla__export_write_check(export, text);
  cyxla__text_add(text, "}\n");
}

int32_t cyxla__export_write_driver(const cyxla__export *export,
                                   const bool needs_helper[CYXLA__HELPER_COUNT], cyxla__text *text,
                                   cyxla_error *error) {
  cyxla__text program = {0};
  writer writer = {.export = export, .text = &program, .indent = 2};
  const int32_t status = write_sequence(&writer, export->image->sequence, error);
  if (!status) write_file(&writer, needs_helper, text);
  text->failed = text->failed || program.failed;
  cyxla__text_deinit(&program);
  cyxla__arena_deinit(&writer.arena);
  return status;
}
