/* XLA's compiler is told which vectors it may use, and for the rest takes what its own machine
 * has: code for SSE 4.2 that was compiled on a new machine may hold instructions that old ones
 * don't have.  Whether it does is seen by its bytes: each such instruction begins with a pattern,
 * and code without the pattern is without the instruction.  (With it, it may be by chance: then a
 * feature is named that is not needed.)
 *
 * Encodings: Intel's Software Developer's Manual, volume 2; AMD's Programmer's Manual, volumes 3
 * and 4. */
#include "export/processor.h"

#include "base/object.h"
#include "direct/x86_64_features.h"

enum { MACHINE_X86_64 = 62 };

/* ---- patterns of instructions; `code` has at least 8 bytes ---- */

static bool is_rex(uint8_t byte) {
  return (byte & 0xf0) == 0x40;
}

/* `prefix`, maybe REX, 0f, `opcode`. */
static bool is_prefixed(const uint8_t *code, uint8_t prefix, uint8_t opcode) {
  const size_t at = is_rex(code[1]) ? 2 : 1;
  return code[0] == prefix && code[at] == 0x0f && code[at + 1] == opcode;
}

/* Of the opcode map `map` (2: 0f 38, 3: 0f 3a) in the form of AVX, with `opcode`. */
static bool is_vex(const uint8_t *code, uint8_t map, uint8_t opcode) {
  return code[0] == 0xc4 && (code[1] & 0x1f) == map && code[3] == opcode;
}

static bool is_popcnt(const uint8_t *code) {
  return is_prefixed(code, 0xf3, 0xb8);
}

static bool is_lzcnt(const uint8_t *code) {
  return is_prefixed(code, 0xf3, 0xbd);
}

static bool is_movbe(const uint8_t *code) {
  return code[0] == 0x0f && code[1] == 0x38 && (code[2] & 0xfe) == 0xf0;
}

/* extrq, insertq, movntss and movntsd. */
static bool is_sse4a(const uint8_t *code) {
  return is_prefixed(code, 0x66, 0x78) || is_prefixed(code, 0x66, 0x79) ||
         is_prefixed(code, 0xf2, 0x78) || is_prefixed(code, 0xf2, 0x79) ||
         is_prefixed(code, 0xf2, 0x2b) || is_prefixed(code, 0xf3, 0x2b);
}

/* andn, blsr and its like, bextr; tzcnt. */
static bool is_bmi(const uint8_t *code) {
  return is_vex(code, 2, 0xf2) || is_vex(code, 2, 0xf3) || is_vex(code, 2, 0xf7) ||
         is_prefixed(code, 0xf3, 0xbc);
}

/* bzhi, pdep and pext, mulx, shifts; rorx. */
static bool is_bmi2(const uint8_t *code) {
  return is_vex(code, 2, 0xf5) || is_vex(code, 2, 0xf6) || is_vex(code, 2, 0xf7) ||
         is_vex(code, 3, 0xf0);
}

/* gf2p8mulb, gf2p8affineqb, gf2p8affineinvqb in all forms. */
static bool is_gfni(const uint8_t *code) {
  const bool is_evex = code[0] == 0x62 && (((code[1] & 7) == 2 && code[4] == 0xcf) ||
                                           ((code[1] & 7) == 3 && (code[4] & 0xfe) == 0xce));
  return is_evex || is_vex(code, 2, 0xcf) || is_vex(code, 3, 0xce) || is_vex(code, 3, 0xcf) ||
         (code[0] == 0x0f && code[1] == 0x38 && code[2] == 0xcf) ||
         (code[0] == 0x0f && code[1] == 0x3a && (code[2] & 0xfe) == 0xce);
}

/* ---- features ---- */

/* Those that the compiler uses of its own accord: not those of cryptography, of tiles, of systems;
 * "egpr" is all of APX.  In the order of CPUID's leaves, so that exports ask each leaf once. */
static const struct candidate {
  const char *name;
  bool (*is_used)(const uint8_t *code); /* NULL: it is, where the compiler may */
} candidates[] = {{"sse3", NULL},         {"ssse3", NULL},        {"fma", NULL},
                  {"sse4.1", NULL},       {"sse4.2", NULL},       {"movbe", is_movbe},
                  {"popcnt", is_popcnt},  {"avx", NULL},          {"f16c", NULL},
                  {"bmi", is_bmi},        {"avx2", NULL},         {"bmi2", is_bmi2},
                  {"avx512f", NULL},      {"avx512dq", NULL},     {"avx512ifma", NULL},
                  {"avx512cd", NULL},     {"avx512bw", NULL},     {"avx512vl", NULL},
                  {"avx512vbmi", NULL},   {"avx512vbmi2", NULL},  {"gfni", is_gfni},
                  {"avx512vnni", NULL},   {"avx512bitalg", NULL}, {"avx512vpopcntdq", NULL},
                  {"avx512fp16", NULL},   {"avxvnni", NULL},      {"avx512bf16", NULL},
                  {"avxifma", NULL},      {"avxvnniint8", NULL},  {"avxneconvert", NULL},
                  {"avxvnniint16", NULL}, {"egpr", NULL},         {"lzcnt", is_lzcnt},
                  {"sse4a", is_sse4a},    {"xop", NULL},          {"fma4", NULL},
                  {"tbm", NULL}};

/* ---- what the code needs ---- */

/* Whether "+name" is an item of a list between commas. */
static bool is_listed(cyxla__span list, const char *name) {
  const size_t size = strlen(name);
  for (size_t i = 0; i + size < list.size; ++i) {
    const bool ends = i + 1 + size == list.size || list.data[i + 1 + size] == ',';
    if (list.data[i] == '+' && ends && !memcmp(list.data + i + 1, name, size)) return true;
  }
  return false;
}

static bool occurs_in(cyxla__span code, bool (*is_used)(const uint8_t *)) {
  uint8_t end[16] = {0}; /* the last instructions, with 8 bytes behind them */
  for (size_t i = 0; i + 8 <= code.size; ++i)
    if (is_used(code.data + i)) return true;
  const size_t rest = code.size < 8 ? code.size : 8;
  if (rest) memcpy(end, code.data + code.size - rest, rest);
  for (size_t i = 0; i < rest; ++i)
    if (is_used(end + i)) return true;
  return false;
}

static bool occurs(const cyxla__image *image, bool (*is_used)(const uint8_t *)) {
  cyxla__object object;
  cyxla__section section;
  for (size_t i = 0; i < image->object_count; ++i) {
    if (cyxla__object_open(image->objects[i], MACHINE_X86_64, &object, NULL)) continue;
    for (uint32_t k = 0; k < object.section_count; ++k)
      if (cyxla__object_section(&object, k, &section) && section.flags & CYXLA__SECTION_CODE &&
          occurs_in(section.contents, is_used))
        return true;
  }
  return false;
}

static bool is_needed(const cyxla__image *image, const struct candidate *candidate) {
  return is_listed(image->features, candidate->name) &&
         (!candidate->is_used || occurs(image, candidate->is_used));
}

enum { CANDIDATE_COUNT = sizeof candidates / sizeof candidates[0] };

void cyxla__export_write_features(const cyxla__export *export, cyxla__text *text) {
  size_t column = strlen(" * Processor: x86-64 with"), count = 0;
  for (size_t i = 0; i < CANDIDATE_COUNT; ++i) {
    if (!is_needed(export->image, &candidates[i])) continue;
    const size_t size = strlen(", ") + strlen(candidates[i].name);
    const bool fits = column + size < 100;
    cyxla__text_add(text, "%s%s%s", count++ ? "," : "", fits ? " " : "\n * ", candidates[i].name);
    column = (fits ? column : strlen(" *")) + size;
  }
}

/* ---- the check ---- */

static const cyxla__x86_64_feature *feature_of(const struct candidate *candidate) {
  const cyxla__span name = {(uint8_t *)candidate->name, strlen(candidate->name)}; /* only read */
  return cyxla__x86_64_feature_named(name);
}

/* Asks the processor once for all features of which the same leaf tells. */
static void write_bit_check(cyxla__text *text, const cyxla__x86_64_feature *feature,
                            const cyxla__x86_64_feature *before) {
  if (!before || feature->leaf != before->leaf || feature->subleaf != before->subleaf)
    cyxla__text_add(text, "  if (!__get_cpuid_count(0x%xu, %u, &a, &b, &c, &d)) return 0;\n",
                    feature->leaf, feature->subleaf);
  cyxla__text_add(text, "  if (!(%c >> %u & 1)) return 0; /* %s */\n", feature->which, feature->bit,
                  feature->name);
}

/* Asks the system with xgetbv, which there is where bit OSXSAVE is set. */
static void write_state_check(cyxla__text *text, uint32_t states) {
  cyxla__text_add(text,
                  "  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 0;\n"
                  "  __asm__ volatile(\"xgetbv\" : \"=a\"(a), \"=d\"(d) : \"c\"(0));\n"
                  "  if ((a & 0x%xu) != 0x%xu) return 0; /* the system saves the registers */\n",
                  states, states);
}

void cyxla__export_write_check(const cyxla__export *export, cyxla__text *text) {
  const cyxla__x86_64_feature *before = NULL;
  uint32_t states = 0;
  for (size_t i = 0; i < CANDIDATE_COUNT; ++i) {
    if (!is_needed(export->image, &candidates[i])) continue;
    const cyxla__x86_64_feature *feature = feature_of(&candidates[i]);
    if (!before) cyxla__text_add(text, "  unsigned a, b, c, d;\n");
    write_bit_check(text, feature, before);
    before = feature;
    states |= feature->states;
  }
  if (states) write_state_check(text, states);
  cyxla__text_add(text, "  return 1;\n");
}
