/* Products of integer matrices. */
#ifndef CYXLA_DIRECT_OP_DOT_H
#define CYXLA_DIRECT_OP_DOT_H

#include "base/arena.h"
#include "direct/image.h"

typedef struct cyxla__dot cyxla__dot;

/* Plans the dot `thunk`, whose arrays are of one integer type; the result lives in `arena`.  NULL: no
 * memory. */
const cyxla__dot *cyxla__dot_plan(cyxla__arena *arena, const cyxla__thunk *thunk);

/* Threads: shared. */
void cyxla__dot_run(const cyxla__dot *dot, const void *left, const void *right, void *result);

#endif
