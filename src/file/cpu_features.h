/* What an executable says of the processor that it was compiled for. */
#ifndef CYXLA_FILE_CPU_FEATURES_H
#define CYXLA_FILE_CPU_FEATURES_H

#include "base/bytes.h"
#include "base/status.h"

/* Architecture and features of a serialized executable of XLA's CPU compiler, such as
 * "x86_64,avx,avx2", without those that only tune.  `*out_text` is to be freed; "": the bytes are something
 * else. */
int32_t cyxla__cpu_features_of(cyxla__span executable, char **out_text, cyxla_error *error);

#endif
