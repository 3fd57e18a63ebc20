/* What the processor at hand can execute. */
#ifndef CYXLA_DIRECT_CPU_H
#define CYXLA_DIRECT_CPU_H

#include "base/bytes.h"
#include "base/status.h"

/* Whether code that was compiled for `triple` and `features` (LLVM's names between commas, such as
 * "+avx2,-amx-tile,+prefer-256-bit") runs here.  Features that only tune, or that only system code uses,
 * don't count.
 *
 * Returns: FAILED_PRECONDITION: it does not; the message names what is missing. */
int32_t cyxla__cpu_check(cyxla__span triple, cyxla__span features, cyxla_error *error);

/* Writes architecture, model and features, as cyxla_describe_cpu says. */
void cyxla__cpu_describe(char *out_text, size_t size);

#endif
