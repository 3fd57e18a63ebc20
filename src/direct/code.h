/* Machine code of object files, linked into the process. */
#ifndef CYXLA_DIRECT_CODE_H
#define CYXLA_DIRECT_CODE_H

#include "base/bytes.h"
#include "base/status.h"

typedef struct cyxla__code cyxla__code;

/* A function of the code; callers cast it to its type. */
typedef void (*cyxla__code_function)(void);

/* Links ELF64 relocatables of this machine's architecture: lays out their sections, resolves symbols
 * (their own; libm's and libc's functions that XLA's compiler calls; nothing else), applies relocations,
 * and seals: code may be executed and not written, data neither.
 *
 * Each object has its own local symbols; global ones share one namespace, in which no name may be defined
 * twice.  The objects are not kept.
 *
 * Returns: INVALID_ARGUMENT (ill-formed), UNIMPLEMENTED (a relocation, section or symbol that is not
 *          known: the message names it), RESOURCE_EXHAUSTED, PERMISSION_DENIED (the system
 *          forbids code that is not of a file). */
int32_t cyxla__code_link(const cyxla__span *objects, size_t object_count, cyxla__code **out_code,
                         cyxla_error *error);

/* The global function `name`, or NULL. */
cyxla__code_function cyxla__code_find(const cyxla__code *code, cyxla__span name);

/* Bytes of machine code. */
size_t cyxla__code_size(const cyxla__code *code);

/* Unmaps the code; NULL is fine. */
void cyxla__code_unload(cyxla__code *code);

#endif
