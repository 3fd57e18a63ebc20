/* Known faults of plugins, and what is done about them.  docs/plugins.md tells users of them. */
#ifndef CYXLA_XLA_CPU_FAULTS_H
#define CYXLA_XLA_CPU_FAULTS_H

#include "base/bytes.h"
#include "base/status.h"

/* Looks for faults in the code of a serialized executable and mends it in place.
 *
 * `*out_mended` is a static text that says what was mended; NULL: there is no known fault, or these
 * bytes are not of XLA's CPU compiler.  A fault that can't be mended is an error. */
int32_t cyxla__faults_mend(cyxla__span serialized, const char **out_mended, cyxla_error *error);

#endif
