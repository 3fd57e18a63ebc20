/* Features of x86-64 processors.  Bits: Intel's Software Developer's Manual, CPUID, and AMD's
 * Programmer's Manual, volume 3, appendix E; names: what LLVM calls them for the machine that it
 * runs on (llvm/lib/TargetParser/Host.cpp). */
#include "direct/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>

const char cyxla__cpu_architecture[] = "x86_64";

/* ---- CPUID ---- */

/* The leaves that are asked for. */
typedef enum leaf {
  LEAF_RANGE,      /* 0: the highest leaf in eax */
  LEAF_BASIC,      /* 1 */
  LEAF_EXTENDED,   /* 7, 0 */
  LEAF_EXTENDED_1, /* 7, 1 */
  LEAF_TILES,      /* 0x1e, 1 */
  LEAF_AVX10,      /* 0x24, 0 */
  LEAF_AMD_RANGE,  /* 0x80000000 */
  LEAF_AMD,        /* 0x80000001 */
  LEAF_COUNT
} leaf;

static const struct {
  uint32_t leaf, subleaf;
} leaves[LEAF_COUNT] = {
    [LEAF_RANGE] = {0, 0},
    [LEAF_BASIC] = {1, 0},
    [LEAF_EXTENDED] = {7, 0},
    [LEAF_EXTENDED_1] = {7, 1},
    [LEAF_TILES] = {0x1e, 1},
    [LEAF_AVX10] = {0x24, 0},
    [LEAF_AMD_RANGE] = {0x80000000, 0},
    [LEAF_AMD] = {0x80000001, 0},
};

typedef enum cpu_register { EAX, EBX, ECX, EDX } cpu_register;

/* Virtual machines trap CPUID, which then takes microseconds: each leaf is asked once.  Threads
 * that ask at the same time write the same. */
static struct {
  _Atomic uint32_t registers[4];
  atomic_bool is_read;
} cache[LEAF_COUNT];

static uint32_t read_leaf(leaf leaf, cpu_register which) {
  if (!atomic_load_explicit(&cache[leaf].is_read, memory_order_acquire)) {
    uint32_t values[4];
    __cpuid_count(leaves[leaf].leaf, leaves[leaf].subleaf, values[0], values[1], values[2],
                  values[3]);
    for (int i = 0; i < 4; ++i)
      atomic_store_explicit(&cache[leaf].registers[i], values[i], memory_order_relaxed);
    atomic_store_explicit(&cache[leaf].is_read, true, memory_order_release);
  }
  return atomic_load_explicit(&cache[leaf].registers[which], memory_order_relaxed);
}

/* Whether the processor has the leaf: some answer with another one's bits where they don't. */
static bool has_leaf(leaf leaf) {
  const uint32_t number = leaves[leaf].leaf;
  if (read_leaf(number < 0x80000000 ? LEAF_RANGE : LEAF_AMD_RANGE, EAX) < number) return false;
  return leaf != LEAF_EXTENDED_1 || read_leaf(LEAF_EXTENDED, EAX) >= 1; /* its last subleaf */
}

/* ---- states that the system saves for threads (XCR0), without which instructions fault ---- */

enum {
  STATE_NONE = 0,
  STATE_AVX = 0x6,     /* registers of 16 and of 32 bytes */
  STATE_AVX512 = 0xe6, /* and masks, upper halves, upper registers */
  STATE_AMX = 0x60000, /* tiles and their shapes */
  STATE_APX = 0x80000  /* 16 more general registers */
};

static uint32_t read_saved_states(void) {
  enum { OSXSAVE = 27 };
  if (!(read_leaf(LEAF_BASIC, ECX) >> OSXSAVE & 1)) return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/* ---- features ---- */

static const struct {
  char name[20];
  uint8_t leaf, which, bit;
  uint32_t states;
} features[] = {
    {"cmov", LEAF_BASIC, EDX, 15, STATE_NONE},
    {"cx8", LEAF_BASIC, EDX, 8, STATE_NONE},
    {"fxsr", LEAF_BASIC, EDX, 24, STATE_NONE},
    {"mmx", LEAF_BASIC, EDX, 23, STATE_NONE},
    {"sse", LEAF_BASIC, EDX, 25, STATE_NONE},
    {"sse2", LEAF_BASIC, EDX, 26, STATE_NONE},
    {"x87", LEAF_BASIC, EDX, 0, STATE_NONE},
    {"aes", LEAF_BASIC, ECX, 25, STATE_NONE},
    {"avx", LEAF_BASIC, ECX, 28, STATE_AVX},
    {"crc32", LEAF_BASIC, ECX, 20, STATE_NONE}, /* of SSE 4.2 */
    {"cx16", LEAF_BASIC, ECX, 13, STATE_NONE},
    {"f16c", LEAF_BASIC, ECX, 29, STATE_AVX},
    {"fma", LEAF_BASIC, ECX, 12, STATE_AVX},
    {"movbe", LEAF_BASIC, ECX, 22, STATE_NONE},
    {"pclmul", LEAF_BASIC, ECX, 1, STATE_NONE},
    {"popcnt", LEAF_BASIC, ECX, 23, STATE_NONE},
    {"sse3", LEAF_BASIC, ECX, 0, STATE_NONE},
    {"sse4.1", LEAF_BASIC, ECX, 19, STATE_NONE},
    {"sse4.2", LEAF_BASIC, ECX, 20, STATE_NONE},
    {"ssse3", LEAF_BASIC, ECX, 9, STATE_NONE},

    {"adx", LEAF_EXTENDED, EBX, 19, STATE_NONE},
    {"avx2", LEAF_EXTENDED, EBX, 5, STATE_AVX},
    {"avx512bw", LEAF_EXTENDED, EBX, 30, STATE_AVX512},
    {"avx512cd", LEAF_EXTENDED, EBX, 28, STATE_AVX512},
    {"avx512dq", LEAF_EXTENDED, EBX, 17, STATE_AVX512},
    {"avx512er", LEAF_EXTENDED, EBX, 27, STATE_AVX512},
    {"avx512f", LEAF_EXTENDED, EBX, 16, STATE_AVX512},
    {"avx512ifma", LEAF_EXTENDED, EBX, 21, STATE_AVX512},
    {"avx512pf", LEAF_EXTENDED, EBX, 26, STATE_AVX512},
    {"avx512vl", LEAF_EXTENDED, EBX, 31, STATE_AVX512},
    {"evex512", LEAF_EXTENDED, EBX, 16, STATE_AVX512}, /* 64-byte vectors of AVX-512 */
    {"bmi", LEAF_EXTENDED, EBX, 3, STATE_NONE},
    {"bmi2", LEAF_EXTENDED, EBX, 8, STATE_NONE},
    {"sha", LEAF_EXTENDED, EBX, 29, STATE_NONE},
    {"avx512bitalg", LEAF_EXTENDED, ECX, 12, STATE_AVX512},
    {"avx512vbmi", LEAF_EXTENDED, ECX, 1, STATE_AVX512},
    {"avx512vbmi2", LEAF_EXTENDED, ECX, 6, STATE_AVX512},
    {"avx512vnni", LEAF_EXTENDED, ECX, 11, STATE_AVX512},
    {"avx512vpopcntdq", LEAF_EXTENDED, ECX, 14, STATE_AVX512},
    {"gfni", LEAF_EXTENDED, ECX, 8, STATE_NONE},
    {"vaes", LEAF_EXTENDED, ECX, 9, STATE_AVX},
    {"vpclmulqdq", LEAF_EXTENDED, ECX, 10, STATE_AVX},
    {"amx-bf16", LEAF_EXTENDED, EDX, 22, STATE_AMX},
    {"amx-int8", LEAF_EXTENDED, EDX, 25, STATE_AMX},
    {"amx-tile", LEAF_EXTENDED, EDX, 24, STATE_AMX},
    {"avx512fp16", LEAF_EXTENDED, EDX, 23, STATE_AVX512},
    {"avx512vp2intersect", LEAF_EXTENDED, EDX, 8, STATE_AVX512},

    {"amx-fp16", LEAF_EXTENDED_1, EAX, 21, STATE_AMX},
    {"avx512bf16", LEAF_EXTENDED_1, EAX, 5, STATE_AVX512},
    {"avxifma", LEAF_EXTENDED_1, EAX, 23, STATE_AVX},
    {"avxvnni", LEAF_EXTENDED_1, EAX, 4, STATE_AVX},
    {"cmpccxadd", LEAF_EXTENDED_1, EAX, 7, STATE_NONE},
    {"movrs", LEAF_EXTENDED_1, EAX, 31, STATE_NONE},
    {"raoint", LEAF_EXTENDED_1, EAX, 3, STATE_NONE},
    {"sha512", LEAF_EXTENDED_1, EAX, 0, STATE_AVX},
    {"sm3", LEAF_EXTENDED_1, EAX, 1, STATE_AVX},
    {"sm4", LEAF_EXTENDED_1, EAX, 2, STATE_AVX},
    {"amx-complex", LEAF_EXTENDED_1, EDX, 8, STATE_AMX},
    {"avxneconvert", LEAF_EXTENDED_1, EDX, 5, STATE_AVX},
    {"avxvnniint16", LEAF_EXTENDED_1, EDX, 10, STATE_AVX},
    {"avxvnniint8", LEAF_EXTENDED_1, EDX, 4, STATE_AVX},
    {"ccmp", LEAF_EXTENDED_1, EDX, 21, STATE_APX},
    {"cf", LEAF_EXTENDED_1, EDX, 21, STATE_APX},
    {"egpr", LEAF_EXTENDED_1, EDX, 21, STATE_APX},
    {"ndd", LEAF_EXTENDED_1, EDX, 21, STATE_APX},
    {"nf", LEAF_EXTENDED_1, EDX, 21, STATE_APX},
    {"ppx", LEAF_EXTENDED_1, EDX, 21, STATE_APX},
    {"push2pop2", LEAF_EXTENDED_1, EDX, 21, STATE_APX},
    {"zu", LEAF_EXTENDED_1, EDX, 21, STATE_APX},

    {"amx-avx512", LEAF_TILES, EAX, 7, STATE_AMX | STATE_AVX512},
    {"amx-fp8", LEAF_TILES, EAX, 4, STATE_AMX},
    {"amx-movrs", LEAF_TILES, EAX, 8, STATE_AMX},
    {"amx-tf32", LEAF_TILES, EAX, 6, STATE_AMX},
    {"amx-transpose", LEAF_TILES, EAX, 5, STATE_AMX},

    {"64bit", LEAF_AMD, EDX, 29, STATE_NONE},
    {"fma4", LEAF_AMD, ECX, 16, STATE_AVX},
    {"lzcnt", LEAF_AMD, ECX, 5, STATE_NONE},
    {"sahf", LEAF_AMD, ECX, 0, STATE_NONE},
    {"sse4a", LEAF_AMD, ECX, 6, STATE_NONE},
    {"tbm", LEAF_AMD, ECX, 21, STATE_NONE},
    {"xop", LEAF_AMD, ECX, 11, STATE_AVX},
};

/* Features that don't appear in what is compiled from a program: instructions for systems, for
 * transactions, keys and messages between threads, hints that every processor ignores or takes, and
 * what only tunes. */
static const char *const irrelevant[] = {
    "cldemote",
    "clflushopt",
    "clwb",
    "clzero",
    "enqcmd",
    "fsgsbase",
    "hreset",
    "invpcid",
    "kl",
    "lwp",
    "movdir64b",
    "movdiri",
    "mwaitx",
    "pconfig",
    "pku",
    "prefetchi",
    "prefetchwt1",
    "prfchw",
    "ptwrite",
    "rdpid",
    "rdpru",
    "rdrnd",
    "rdseed",
    "rtm",
    "serialize",
    "sgx",
    "shstk",
    "tsxldtrk",
    "uintr",
    "usermsr",
    "waitpkg",
    "wbnoinvd",
    "widekl",
    "xsave",
    "xsavec",
    "xsaveopt",
    "xsaves",
    "ermsb",
    "fsrm",
    "idivq-to-divl",
    "idivl-to-divb",
    "macrofusion",
    "branchfusion",
    "vzeroupper",
    "nopl",
    "sbb-dep-breaking",
    "allow-light-256-bit",
};
static const char *const irrelevant_prefixes[] = {"prefer-", "fast-", "slow-", "false-deps-"};

static bool is_irrelevant(cyxla__span name) {
  for (size_t i = 0; i < sizeof irrelevant / sizeof irrelevant[0]; ++i)
    if (cyxla__span_is(name, irrelevant[i])) return true;
  for (size_t i = 0; i < sizeof irrelevant_prefixes / sizeof irrelevant_prefixes[0]; ++i) {
    const char *prefix = irrelevant_prefixes[i];
    if (name.size > strlen(prefix) && !memcmp(name.data, prefix, strlen(prefix))) return true;
  }
  return false;
}

static bool has_states(uint32_t states) {
  return !states || (read_saved_states() & states) == states;
}

/* AVX10 has a version number; vectors of 64 bytes are part of it. */
static bool has_avx10(unsigned version) {
  enum { AVX10 = 19 };
  return has_leaf(LEAF_EXTENDED_1) && read_leaf(LEAF_EXTENDED_1, EDX) >> AVX10 & 1 &&
         has_leaf(LEAF_AVX10) && (read_leaf(LEAF_AVX10, EBX) & 0xff) >= version &&
         has_states(STATE_AVX512);
}

static const char *const versions_of_avx10[] = {"avx10.1", "avx10.2"};
enum { AVX10_COUNT = sizeof versions_of_avx10 / sizeof versions_of_avx10[0] };

static cyxla__feature_state state_of(bool is_present) {
  return is_present ? CYXLA__FEATURE_PRESENT : CYXLA__FEATURE_MISSING;
}

cyxla__feature_state cyxla__cpu_feature(cyxla__span name) {
  for (size_t i = 0; i < sizeof features / sizeof features[0]; ++i) {
    if (!cyxla__span_is(name, features[i].name)) continue;
    const leaf leaf = features[i].leaf;
    return state_of(has_leaf(leaf) && read_leaf(leaf, features[i].which) >> features[i].bit & 1 &&
                    has_states(features[i].states));
  }
  for (unsigned i = 0; i < AVX10_COUNT; ++i)
    if (cyxla__span_is(name, versions_of_avx10[i])) return state_of(has_avx10(i + 1));
  return is_irrelevant(name) ? CYXLA__FEATURE_PRESENT : CYXLA__FEATURE_UNKNOWN;
}

const char *cyxla__cpu_feature_name(size_t index) {
  const size_t count = sizeof features / sizeof features[0];
  if (index < count) return features[index].name;
  return index < count + AVX10_COUNT ? versions_of_avx10[index - count] : NULL;
}

uint32_t cyxla__cpu_model(void) {
  enum { STEPPING = 0xf }; /* compilers don't ask for it */
  return read_leaf(LEAF_BASIC, EAX) & ~(uint32_t)STEPPING;
}
#endif
