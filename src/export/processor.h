/* What code needs of a processor, as C code that finds out. */
#ifndef CYXLA_EXPORT_PROCESSOR_H
#define CYXLA_EXPORT_PROCESSOR_H

#include "export/program.h"
#include "export/text.h"

/* Writes the names of the features beyond those that every x86-64 processor has, each after a
 * space and with commas between them, in lines of a comment; nothing where there is none. */
void cyxla__export_write_features(const cyxla__export *export, cyxla__text *text);

/* Writes the body of a function that returns 1 where the processor at hand has the features, else
 * 0.  It needs cpuid.h. */
void cyxla__export_write_check(const cyxla__export *export, cyxla__text *text);

#endif
