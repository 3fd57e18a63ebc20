/* Functions that XLA's CPU compiler calls.
 *
 * The list is that of XLA itself for Linux
 * (xla/backends/cpu/codegen/builtin_definition_generator.cc), which links what it compiles: code
 * that needs more than the list does not get out of XLA.  Left out are malloc and free, which
 * kernels have no use for; the conversions of half precision by Arm's names, which LLVM does not
 * call on our machines; and those to bfloat16, which no code was seen to call and whose rounding
 * could therefore not be compared.
 *
 * The math functions are those of the process's libm, as for XLA, and of the same versions: the
 * same bits come out. */
#define _GNU_SOURCE 1 /* sincos, dlvsym */
#include "direct/symbols.h"

#include <dlfcn.h>
#include <math.h>

/* ---- half precision ---- */

/* value / 2^shift, to the nearest integer, from half way to the even one. */
static uint32_t shift_to_even(uint32_t value, unsigned shift) {
  const uint32_t odd = value >> shift & 1;
  return (value + ((uint32_t)1 << (shift - 1)) - 1 + odd) >> shift;
}

/* The half nearest to a positive float, given by its bits: 1 + 5 + 10 bits after 1 + 8 + 23. */
static uint32_t round_to_half(uint32_t bits) {
  enum { NORMAL = 113, INFINITE = 143 }; /* exponents of 2^-14 and 2^16 in a float */
  const uint32_t exponent = bits >> 23, fraction = bits & 0x7fffff;
  if (bits > 0x7f800000) return 0x7e00;
  if (exponent >= INFINITE) return 0x7c00;
  if (exponent >= NORMAL) return shift_to_even(bits - ((NORMAL - 1) << 23), 13);
  const unsigned shift = 126 - exponent; /* to units of 2^-24 */
  return shift > 24 ? 0 : shift_to_even(fraction | 0x800000, shift);
}

/* A half is returned in the low 16 bits of the register that would hold a float: that is how LLVM
 * calls __truncdfhf2 on x86-64.  Like XLA's function, it rounds twice, to a float first, and makes
 * every NaN the same but for its sign (compared for a million numbers with the code of JAX 0.10.2
 * and 0.11.2). */
static float half_of_double(double value) {
  const float rounded = (float)value;
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  const uint32_t half = (bits >> 16 & 0x8000) | round_to_half(bits & 0x7fffffff);
  float result;
  memcpy(&result, &half, sizeof result);
  return result;
}

/* ---- integer powers ---- */

/* By repeated squaring, the lowest bit of the exponent first, and one division at the end for a
 * negative one: the order of compiler-rt's __powidf2 and __powisf2, which decides about the
 * rounding. */
static double power_of_double(double base, int exponent) {
  double power = 1;
  for (int rest = exponent;; base *= base) {
    if (rest & 1) power *= base;
    rest /= 2;
    if (!rest) return exponent < 0 ? 1 / power : power;
  }
}

static float power_of_float(float base, int exponent) {
  float power = 1;
  for (int rest = exponent;; base *= base) {
    if (rest & 1) power *= base;
    rest /= 2;
    if (!rest) return exponent < 0 ? 1 / power : power;
  }
}

/* ---- the list ---- */

typedef void (*function)(void);

#define FUNCTION(name, address) \
  { name, sizeof name - 1, (function)(address) }
#define MATH(name) FUNCTION(#name, name), FUNCTION(#name "f", name##f)

static const struct {
  const char *name;
  size_t size;
  function address;
} functions[] = {
    FUNCTION("memcpy", memcpy),
    FUNCTION("memmove", memmove),
    FUNCTION("memset", memset),
    FUNCTION("__truncdfhf2", half_of_double),
    FUNCTION("__powidf2", power_of_double),
    FUNCTION("__powisf2", power_of_float),
    MATH(acos),
    MATH(acosh),
    MATH(asin),
    MATH(asinh),
    MATH(atan),
    MATH(atan2),
    MATH(atanh),
    MATH(cbrt),
    MATH(ceil),
    MATH(copysign),
    MATH(cos),
    MATH(cosh),
    MATH(erf),
    MATH(erfc),
    MATH(exp),
    MATH(exp2),
    MATH(expm1),
    MATH(fabs),
    MATH(fdim),
    MATH(floor),
    MATH(fma),
    MATH(fmax),
    MATH(fmin),
    MATH(fmod),
    MATH(frexp),
    MATH(hypot),
    MATH(ilogb),
    MATH(ldexp),
    MATH(lgamma),
    MATH(llrint),
    MATH(llround),
    MATH(log),
    MATH(log10),
    MATH(log1p),
    MATH(log2),
    MATH(logb),
    MATH(lrint),
    MATH(lround),
    MATH(modf),
    MATH(nan),
    MATH(nearbyint),
    MATH(nextafter),
    MATH(nexttoward),
    MATH(pow),
    MATH(remainder),
    MATH(remquo),
    MATH(rint),
    MATH(round),
    MATH(scalbln),
    MATH(scalbn),
    MATH(sin),
    MATH(sincos),
    MATH(sinh),
    MATH(sqrt),
    MATH(tan),
    MATH(tanh),
    MATH(tgamma),
    MATH(trunc),
};

/* ---- versions ---- */

#ifdef __GLIBC__
/* The builds of XLA, jaxlib's and the plugin's, are linked for glibc 2.27, and these functions got
 * another version later.  It differs where denormals are zero: to the older log a subnormal is 0,
 * whose logarithm is -inf; the newer one looks at its bits, and finds a number. */
static const char *const renewed[] = {"exp",    "exp2", "fmod", "fmodf", "hypot",
                                      "hypotf", "log",  "log2", "pow"};

#ifdef __aarch64__
static const char first_version[] = "GLIBC_2.17";
#else
static const char first_version[] = "GLIBC_2.2.5";
#endif

/* NULL: there is but one version. */
static void *older_version(const char *name) {
  for (size_t i = 0; i < sizeof renewed / sizeof renewed[0]; ++i)
    if (!strcmp(renewed[i], name)) return dlvsym(RTLD_DEFAULT, name, first_version);
  return NULL;
}
#else
static void *older_version(const char *name) {
  (void)name;
  return NULL;
}
#endif

uint64_t cyxla__symbol_find(cyxla__span name) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    if (functions[i].size != name.size || memcmp(functions[i].name, name.data, name.size)) continue;
    const void *older = older_version(functions[i].name);
    return older ? (uintptr_t)older : (uintptr_t)functions[i].address;
  }
  return 0;
}
