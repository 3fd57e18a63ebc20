/* An executable as it is exported: names, the memory of a call, the kernels that are called. */
#ifndef CYXLA_EXPORT_PROGRAM_H
#define CYXLA_EXPORT_PROGRAM_H

#include "executable.h"

/* Working memory up to this many bytes lies on the stack of the exported function; for more, its
 * caller gives it. */
enum { CYXLA__EXPORT_STACK_SIZE = 16 << 10 };

/* The function's name, and that of any symbol that is made of it, with a NUL. */
enum { CYXLA__FUNCTION_SIZE = 64, CYXLA__SYMBOL_SIZE = CYXLA__FUNCTION_SIZE + 32 };

/* An input or output. */
typedef struct cyxla__parameter {
  const cyxla_array_type *type;
  const char *name; /* of C */
  size_t size;      /* bytes */
  bool used;        /* by the program */
  size_t place;     /* in the working memory: of a copy that is aligned */
  int32_t donated;  /* the input that an output starts as; -1: none */
} cyxla__parameter;

typedef struct cyxla__export {
  cyxla__arena arena;
  const char *name;     /* of the function */
  const char *producer; /* what compiled the executable; NULL: it is not told */
  const cyxla_executable *executable;
  const cyxla__image *image; /* of the executable */
  cyxla__parameter *parameters;
  size_t input_count, parameter_count; /* inputs come first */
  cyxla__span *kernels;                /* their symbols, in the order of their first call */
  size_t kernel_count;
  bool *used;     /* by allocation: a thunk refers to it */
  size_t *places; /* by allocation: of temporaries in the working memory */
  size_t work_size;
} cyxla__export;

/* Lays out the export of an executable that has the direct engine, as function `name`; all
 * arguments must outlive it.
 *
 * Returns: UNIMPLEMENTED (the message lists all thunks that stand in the way), RESOURCE_EXHAUSTED.
 *          Whether or not it fails, deinit must follow.  */
int32_t cyxla__export_init(cyxla__export *export, const cyxla_executable *executable,
                           const char *name, const char *producer, cyxla_error *error);
void cyxla__export_deinit(cyxla__export *export);

/* The number of a kernel that the program calls; `kernel_count`: it calls none of this name. */
size_t cyxla__export_kernel(const cyxla__export *export, cyxla__span name);

/* Whether the caller gives the working memory. */
bool cyxla__export_has_scratch(const cyxla__export *export);

#endif
