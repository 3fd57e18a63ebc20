/* Which code runs on this processor. */
#include "direct/cpu.h"
#include "direct/cpu_features.h"
#include "test.h"

static cyxla_error error = CYXLA_ERROR_INIT;

static cyxla__span span_of(const char *text) {
  return (cyxla__span){(uint8_t *)text, strlen(text)};
}

static int32_t check(const char *triple, const char *features) {
  error.message[0] = 0;
  return cyxla__cpu_check(span_of(triple), span_of(features), &error);
}

/* Checks that each name of a list between blanks is known, here or not. */
static void check_known(const char *names) {
  for (const char *name = names; *name; name += strcspn(name, " "), name += strspn(name, " ")) {
    const cyxla__span span = {(uint8_t *)name, strcspn(name, " ")};
    if (cyxla__cpu_feature(span) == CYXLA__FEATURE_UNKNOWN)
      TEST_FAIL("%.*s is not known", (int)span.size, name);
  }
}

#if defined(__x86_64__)
static const char host[] = "x86_64-unknown-linux-gnu";
static const char other[] = "aarch64-unknown-linux-gnu";
static const char baseline[] = "+64bit,+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87,-avx512f";

/* What the compilers of jaxlib 0.10.2 and 0.11.2 name for machines of AMD (znver4), and LLVM for
 * Intel's (sapphirerapids, graniterapids, lunarlake, knl). */
static void knows_features(void) {
  check_known(
      "64bit adx aes avx avx2 avx512bf16 avx512bitalg avx512bw avx512cd avx512dq avx512f "
      "avx512ifma "
      "avx512vbmi avx512vbmi2 avx512vl avx512vnni avx512vpopcntdq bmi bmi2 clflushopt clwb clzero "
      "cmov crc32 cx16 cx8 f16c fma fsgsbase fxsr gfni invpcid lzcnt mmx movbe pclmul popcnt "
      "prefer-no-gather prefer-no-scatter prfchw rdpid rdrnd rdseed sahf sha shstk sse sse2 sse3 "
      "sse4.1 sse4.2 sse4a ssse3 vaes vpclmulqdq xsave xsavec xsaveopt xsaves");
  check_known(
      "amx-bf16 amx-complex amx-fp16 amx-fp8 amx-int8 amx-movrs amx-tf32 amx-tile amx-avx512 "
      "avx10.1 avx10.2 avx512fp16 avx512vp2intersect avxifma avxneconvert avxvnni avxvnniint16 "
      "avxvnniint8 ccmp cf cldemote cmpccxadd egpr enqcmd fma4 hreset kl lwp movdir64b movdiri "
      "movrs "
      "mwaitx ndd nf pconfig pku ppx prefetchi ptwrite push2pop2 raoint rdpru rtm serialize sgx "
      "sha512 sm3 sm4 tbm tsxldtrk uintr usermsr waitpkg wbnoinvd widekl xop zu");
  check_known(
      "x87 evex512 amx-transpose avx512er avx512pf prefetchwt1 prefer-256-bit slow-3ops-lea "
      "fast-gather false-deps-popcnt ermsb fsrm macrofusion vzeroupper idivq-to-divl "
      "allow-light-256-bit nopl");
}

/* The same answers as the compiler's own check. */
#define COMPARE(name)                                                               \
  do {                                                                              \
    __builtin_cpu_init();                                                           \
    CHECK_INT(cyxla__cpu_feature(span_of(name)) == CYXLA__FEATURE_PRESENT,          \
              __builtin_cpu_supports(name) != 0);                                   \
    CHECK_INT(check(host, "+" name),                                                \
              __builtin_cpu_supports(name) ? CYXLA_OK : CYXLA_FAILED_PRECONDITION); \
  } while (0)

static void agrees_with_the_compiler(void) {
  COMPARE("cmov");
  COMPARE("mmx");
  COMPARE("sse");
  COMPARE("sse2");
  COMPARE("sse3");
  COMPARE("ssse3");
  COMPARE("sse4.1");
  COMPARE("sse4.2");
  COMPARE("sse4a");
  COMPARE("popcnt");
  COMPARE("aes");
  COMPARE("pclmul");
  COMPARE("avx");
  COMPARE("avx2");
  COMPARE("fma");
  COMPARE("fma4");
  COMPARE("xop");
  COMPARE("bmi");
  COMPARE("bmi2");
  COMPARE("gfni");
  COMPARE("vpclmulqdq");
  COMPARE("avx512f");
  COMPARE("avx512vl");
  COMPARE("avx512bw");
  COMPARE("avx512dq");
  COMPARE("avx512cd");
  COMPARE("avx512ifma");
  COMPARE("avx512vbmi");
  COMPARE("avx512vbmi2");
  COMPARE("avx512vnni");
  COMPARE("avx512bitalg");
  COMPARE("avx512vpopcntdq");
  COMPARE("avx512bf16");
  COMPARE("avx512vp2intersect");
}
#elif defined(__aarch64__)
static const char host[] = "aarch64-unknown-linux-gnu";
static const char other[] = "x86_64-unknown-linux-gnu";
static const char baseline[] = "+fp-armv8,+neon,+v8a,-sve";

/* What LLVM names for the machine that it runs on. */
static void knows_features(void) {
  check_known("neon fp-armv8 crc lse sha3 sm4 sve sve2 sve-aes sve-sha3 sve-sm4 aes sha2 crypto");
  check_known("fullfp16 dotprod i8mm bf16 rcpc rdm complxnum jsconv fp16fml flagm ssbs sb pauth");
}

static void agrees_with_the_compiler(void) {
  CHECK_INT(cyxla__cpu_feature(span_of("fp-armv8")), CYXLA__FEATURE_PRESENT);
  CHECK_INT(cyxla__cpu_feature(span_of("neon")), CYXLA__FEATURE_PRESENT);
}
#endif

static void runs_the_baseline(void) {
  CHECK_OK(check(host, baseline), &error);
  CHECK_OK(check(host, ""), &error);
  CHECK_OK(check(host, ",,"), &error);
  CHECK_OK(check(host, "-unheard-of,-avx512bmm"), &error); /* the code does without */
  CHECK_OK(cyxla__cpu_check(span_of(host), (cyxla__span){NULL, 0}, NULL), &error);
}

static void refuses_other_architectures(void) {
  CHECK_STATUS(check(other, baseline), CYXLA_FAILED_PRECONDITION, &error);
  CHECK_CONTAINS(error.message, "the code was compiled for \"");
  CHECK_CONTAINS(error.message, "\", this processor is ");
  CHECK_STATUS(check("", ""), CYXLA_FAILED_PRECONDITION, &error);
  CHECK_STATUS(check("riscv64", ""), CYXLA_FAILED_PRECONDITION, &error);
  CHECK_CONTAINS(error.message, "compiled for \"riscv64\"");
  CHECK_STATUS(cyxla__cpu_check((cyxla__span){NULL, 0}, (cyxla__span){NULL, 0}, &error),
               CYXLA_FAILED_PRECONDITION, &error);
}

/* Sets of instructions that come later. */
static void refuses_unknown_features(void) {
  CHECK_STATUS(check(host, "+unheard-of,-neon,+also-new"), CYXLA_FAILED_PRECONDITION, &error);
  CHECK_CONTAINS(error.message,
                 "features that this processor does not have: "
                 "unheard-of (unknown to cyxla), also-new (unknown to cyxla)");
  CHECK_STATUS(check(host, "avx512unsigned"), CYXLA_FAILED_PRECONDITION, &error);
  CHECK_STATUS(check(host, "+"), CYXLA_FAILED_PRECONDITION, &error);
  CHECK_STATUS(check(host, "+prefer-"), CYXLA_FAILED_PRECONDITION, &error);
}

/* Messages name what has room. */
static void names_many(void) {
  char features[4096];
  size_t size = 0;
  for (int i = 0; i < 100; ++i)
    size += (size_t)snprintf(features + size, sizeof features - size, "+unheard-of-%d,", i);
  CHECK_STATUS(check(host, features), CYXLA_FAILED_PRECONDITION, &error);
  CHECK_CONTAINS(error.message, "unheard-of-9 (");
  memset(features, 'x', sizeof features - 1);
  features[sizeof features - 1] = 0;
  CHECK_STATUS(check(host, features), CYXLA_FAILED_PRECONDITION, &error);
  CHECK_STATUS(check(features, ""), CYXLA_FAILED_PRECONDITION, &error);
}

static void describes_the_processor(void) {
  char text[2048], again[2048], start[8];
  cyxla_describe_cpu(text, sizeof text);
  CHECK(strlen(text) < sizeof text - 1);
  const size_t size = strlen(cyxla__cpu_architecture);
  CHECK(!strncmp(text, cyxla__cpu_architecture, size) && text[size] == ' ');
  const char *features = strrchr(text, ' ') + 1;
  CHECK_OK(check(host, features), &error);
  cyxla_describe_cpu(again, sizeof again);
  CHECK_TEXT(again, text);
  cyxla_describe_cpu(start, sizeof start);
  CHECK(strlen(start) == sizeof start - 1 && !strncmp(start, text, sizeof start - 1));
  start[0] = 'x';
  cyxla_describe_cpu(start, 1);
  CHECK_TEXT(start, "");
  cyxla_describe_cpu(NULL, 0);
}

int main(void) {
  RUN(knows_features);
  RUN(agrees_with_the_compiler);
  RUN(runs_the_baseline);
  RUN(refuses_other_architectures);
  RUN(refuses_unknown_features);
  RUN(names_many);
  RUN(describes_the_processor);
}
