/* What a serialized executable of XLA's CPU compiler holds, as far as cyxla looks into it. */
#ifndef CYXLA_XLA_CPU_CONTAINER_H
#define CYXLA_XLA_CPU_CONTAINER_H

#include "base/proto_reader.h"

/* Finds the compilation result inside the bytes that PJRT_Executable_Serialize gives; false where
 * they are something else. */
bool cyxla__container_open(cyxla__span serialized, cyxla__span *out_result);

/* Takes the next object file (an ELF relocatable) of a compilation result; start with `*rest` = the
 * result.  False: no more. */
bool cyxla__container_next_object(cyxla__span *rest, cyxla__span *out_object);

/* Whether the code was compiled for a machine with `feature`, LLVM's name with a sign such as
 * "+avx". */
bool cyxla__container_has_feature(cyxla__span result, const char *feature);

#endif
