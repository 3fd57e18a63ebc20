/* The machine code of an executable as text for the assembler.
 *
 * XLA's object files hold code for fixed addresses of 64 bits.  Here it becomes code that can be
 * linked to anywhere: into libraries, and into programs with and without a fixed address. */
#ifndef CYXLA_EXPORT_ASSEMBLY_H
#define CYXLA_EXPORT_ASSEMBLY_H

#include "export/program.h"
#include "export/text.h"

/* Functions that the driver brings for the code, as direct/symbols.c does for the direct engine:
 * those that no library has, and those of libm that don't take subnormal numbers for zero. */
typedef enum cyxla__helper {
  CYXLA__HELPER_TRUNCDFHF2,
  CYXLA__HELPER_POWIDF2,
  CYXLA__HELPER_POWISF2,
  CYXLA__HELPER_LOG,
  CYXLA__HELPER_LOG2,
  CYXLA__HELPER_FMOD,
  CYXLA__HELPER_FMODF,
  CYXLA__HELPER_COUNT
} cyxla__helper;

/* Their names in the driver, after that of the exported function. */
extern const char *const cyxla__helper_names[CYXLA__HELPER_COUNT];

/* Writes kernels and constants, and tells which helpers they need.  Symbols, all hidden: for
 * kernel i of the export `name`_kernel_i, for the constant of allocation i `name`_constant_i.
 *
 * The objects are those that the direct engine has linked, and so are known to be in order.
 *
 * Returns: UNIMPLEMENTED (code that can't be made independent of its address: the message names
 *          the place), INVALID_ARGUMENT (ill-formed objects). */
int32_t cyxla__export_write_assembly(const cyxla__export *export, cyxla__text *text,
                                     bool needs_helper[CYXLA__HELPER_COUNT], cyxla_error *error);

#endif
