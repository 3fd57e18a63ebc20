/* What a serialized executable of XLA's CPU compiler holds, as far as cyxla looks into it. */
#ifndef CYXLA_XLA_CPU_CONTAINER_H
#define CYXLA_XLA_CPU_CONTAINER_H

#include "base/proto_reader.h"

/* Finds in what PJRT_Executable_Serialize or jaxlib's serialize() gives the part that both have,
 * and that a plugin can deserialize; false where the bytes are something else. */
bool cyxla__container_unwrap(cyxla__span serialized, cyxla__span *out_executable);

/* The same for the compilation result in it. */
bool cyxla__container_open(cyxla__span serialized, cyxla__span *out_result);

/* Takes the next object file (an ELF relocatable) of a compilation result; start with `*rest` = the
 * result.  False: no more. */
bool cyxla__container_next_object(cyxla__span *rest, cyxla__span *out_object);

/* Whether the code was compiled for a machine with `feature`, LLVM's name with a sign such as
 * "+avx". */
bool cyxla__container_has_feature(cyxla__span result, const char *feature);

#endif
