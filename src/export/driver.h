/* The C file that calls the kernels: the exported function. */
#ifndef CYXLA_EXPORT_DRIVER_H
#define CYXLA_EXPORT_DRIVER_H

#include "export/assembly.h"
#include "export/program.h"
#include "export/text.h"

/* Writes it, with the helpers that the machine code needs.
 *
 * Returns: RESOURCE_EXHAUSTED. */
int32_t cyxla__export_write_driver(const cyxla__export *export,
                                   const bool needs_helper[CYXLA__HELPER_COUNT], cyxla__text *text,
                                   cyxla_error *error);

#endif
