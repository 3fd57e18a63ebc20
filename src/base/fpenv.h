/* The floating-point control word: that of the caller, and that which XLA's CPU code runs with: subnormal
 * numbers are taken as zero and flushed to zero, rounding is to nearest, and nothing traps.  (XLA sets it
 * around its runs, in tsl/platform/denormal.h and setround.h; the kernels rely on it.) */
#ifndef CYXLA_BASE_FPENV_H
#define CYXLA_BASE_FPENV_H

#include <stdint.h>

#if defined(__x86_64__)

#include <xmmintrin.h>

typedef uint32_t cyxla__fpenv;

/* MXCSR (Intel SDM, volume 1, 10.2.3): FTZ, all exceptions masked, DAZ, round to nearest; the low 6 bits
 * are flags, not control. */
#define CYXLA__FPENV 0x9fc0u
#define CYXLA__FPENV_FLAGS 0x3fu

/* Enters XLA's environment; what it returns must be given to cyxla__fpenv_leave. */
static inline cyxla__fpenv cyxla__fpenv_enter(void) {
  const cyxla__fpenv before = _mm_getcsr();
  /* Writing costs more than asking: a caller who stays in the environment saves it. */
  if ((before & ~CYXLA__FPENV_FLAGS) != CYXLA__FPENV) _mm_setcsr(CYXLA__FPENV);
  return before;
}

static inline void cyxla__fpenv_leave(cyxla__fpenv before) {
  if ((before & ~CYXLA__FPENV_FLAGS) != CYXLA__FPENV) _mm_setcsr(before);
}

/* The environment as it is, and putting it back after functions that may have left another one. */
static inline cyxla__fpenv cyxla__fpenv_get(void) {
  return _mm_getcsr();
}

static inline void cyxla__fpenv_restore(cyxla__fpenv before) {
  if ((_mm_getcsr() ^ before) & ~CYXLA__FPENV_FLAGS) _mm_setcsr(before);
}

#elif defined(__aarch64__)

typedef uint64_t cyxla__fpenv;

/* FPCR (Arm ARM, C5.2.8): FZ, and FZ16 for half precision; round to nearest, no traps. */
#define CYXLA__FPENV ((UINT64_C(1) << 24) | (UINT64_C(1) << 19))

static inline cyxla__fpenv cyxla__fpenv_get(void) {
  cyxla__fpenv now;
  __asm__ volatile("mrs %0, fpcr" : "=r"(now));
  return now;
}

static inline void cyxla__fpenv_restore(cyxla__fpenv before) {
  if (cyxla__fpenv_get() != before) __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
}

static inline cyxla__fpenv cyxla__fpenv_enter(void) {
  const cyxla__fpenv before = cyxla__fpenv_get();
  if (before != CYXLA__FPENV) __asm__ volatile("msr fpcr, %0" : : "r"(CYXLA__FPENV) : "memory");
  return before;
}

static inline void cyxla__fpenv_leave(cyxla__fpenv before) {
  if (before != CYXLA__FPENV) __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
}

#endif

#endif
