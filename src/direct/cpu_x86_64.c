/* Which features of x86-64 the processor at hand has. */
#include "direct/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>

#include "direct/x86_64_features.h"

const char cyxla__cpu_architecture[] = "x86_64";

/* What CPUID says, by range, number (all are below 0x40) and subleaf.  Virtual machines trap it,
 * which then takes microseconds: each leaf is asked once.  Threads that ask at the same time write
 * the same. */
static struct answer {
  _Atomic uint32_t registers[4];
  atomic_bool is_read;
} cache[2][0x40][2];

/* Register `which`, 'a' to 'd', of a leaf. */
static uint32_t read_leaf(uint32_t leaf, uint32_t subleaf, char which) {
  struct answer *answer = &cache[leaf >> 31][leaf & 0x3f][subleaf];
  if (!atomic_load_explicit(&answer->is_read, memory_order_acquire)) {
    uint32_t values[4];
    __cpuid_count(leaf, subleaf, values[0], values[1], values[2], values[3]);
    for (int i = 0; i < 4; ++i)
      atomic_store_explicit(&answer->registers[i], values[i], memory_order_relaxed);
    atomic_store_explicit(&answer->is_read, true, memory_order_release);
  }
  return atomic_load_explicit(&answer->registers[which - 'a'], memory_order_relaxed);
}

/* Whether the processor has the leaf: some answer with another one's bits where they don't.
 * The first of a range tells the last one, and number 7 its last subleaf. */
static bool has_leaf(uint32_t leaf, uint32_t subleaf) {
  return read_leaf(leaf & 0x80000000, 0, 'a') >= leaf &&
         (leaf != 7 || read_leaf(7, 0, 'a') >= subleaf);
}

static uint32_t read_saved_states(void) {
  enum { OSXSAVE = 27 };
  if (!(read_leaf(1, 0, 'c') >> OSXSAVE & 1)) return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

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

/* AVX10 has a version number in addition to its bit. */
static bool has_version(const char *name) {
  if (strncmp(name, "avx10.", 6)) return true;
  return has_leaf(0x24, 0) && (read_leaf(0x24, 0, 'b') & 0xff) >= (uint32_t)(name[6] - '0');
}

static bool has_feature(const cyxla__x86_64_feature *feature) {
  return has_leaf(feature->leaf, feature->subleaf) &&
         read_leaf(feature->leaf, feature->subleaf, feature->which) >> feature->bit & 1 &&
         has_states(feature->states) && has_version(feature->name);
}

cyxla__feature_state cyxla__cpu_feature(cyxla__span name) {
  const cyxla__x86_64_feature *feature = cyxla__x86_64_feature_named(name);
  if (feature) return has_feature(feature) ? CYXLA__FEATURE_PRESENT : CYXLA__FEATURE_MISSING;
  return is_irrelevant(name) ? CYXLA__FEATURE_PRESENT : CYXLA__FEATURE_UNKNOWN;
}

const char *cyxla__cpu_feature_name(size_t index) {
  const cyxla__x86_64_feature *feature = cyxla__x86_64_feature_at(index);
  return feature ? feature->name : NULL;
}

uint32_t cyxla__cpu_model(void) {
  enum { STEPPING = 0xf }; /* compilers don't ask for it */
  return read_leaf(1, 0, 'a') & ~(uint32_t)STEPPING;
}
#endif
