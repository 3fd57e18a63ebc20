/* Between the parts of verification; image.h is what others use.
 *
 *   verify.c           inputs, outputs, allocations; the order of checks
 *   verify_support.c   thunks that the engine does not run at all
 *   verify_thunks.c    what must hold for those that it runs */
#ifndef CYXLA_DIRECT_VERIFY_H
#define CYXLA_DIRECT_VERIFY_H

#include "direct/image.h"
#include "direct/name.h"

/* Calls `visit` for each thunk of a sequence, and for those nested in it, until one fails. */
typedef int32_t cyxla__visitor(void *context, const cyxla__thunk *thunk, cyxla_error *error);
int32_t cyxla__visit(const cyxla__sequence *sequence, cyxla__visitor *visit, void *context,
                     cyxla_error *error);

/* UNIMPLEMENTED: the message lists all thunks that are not supported. */
int32_t cyxla__verify_support(const cyxla__sequence *sequence, cyxla_error *error);

/* Checks one thunk, which is supported, but none of those nested in it; the context is the
 * image. */
cyxla__visitor cyxla__verify_thunk;

#endif
