/* Features of x86-64 processors, and where CPUID tells of them: for the processor at hand, and for
 * exports, which ask another one.
 *
 * Bits: Intel's Software Developer's Manual, CPUID, and AMD's Programmer's Manual, volume 3,
 * appendix E; names: what LLVM calls them for the machine that it runs on
 * (llvm/lib/TargetParser/Host.cpp). */
#ifndef CYXLA_DIRECT_X86_64_FEATURES_H
#define CYXLA_DIRECT_X86_64_FEATURES_H

#include "base/bytes.h"

typedef struct cyxla__x86_64_feature {
  char name[20];
  uint32_t leaf, subleaf;
  char which; /* of the registers: 'a' to 'd' */
  uint8_t bit;
  uint32_t states; /* that the system has to save for threads (XCR0), else instructions fault */
} cyxla__x86_64_feature;

/* Feature number `index`; NULL behind the last one. */
const cyxla__x86_64_feature *cyxla__x86_64_feature_at(size_t index);

/* The feature with LLVM's `name`; NULL: there is none. */
const cyxla__x86_64_feature *cyxla__x86_64_feature_named(cyxla__span name);

#endif
