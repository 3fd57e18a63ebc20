/* The header of an exported function: what its caller must know. */
#ifndef CYXLA_EXPORT_HEADER_H
#define CYXLA_EXPORT_HEADER_H

#include "export/program.h"
#include "export/text.h"

void cyxla__export_write_header(const cyxla__export *export, cyxla__text *text);

/* Writes the function's declaration, without what ends it; the driver begins the definition with
 * it. */
void cyxla__export_write_prototype(const cyxla__export *export, cyxla__text *text);

#endif
