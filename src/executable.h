/* Executables, and the choice of their engine. */
#ifndef CYXLA_EXECUTABLE_H
#define CYXLA_EXECUTABLE_H

#include "direct/direct.h"
#include "pjrt/executable.h"
#include "signature.h"

struct cyxla_executable {
  cyxla__signature signature;

  /* The engine: one of the two. */
  cyxla__direct *direct; /* NULL: PJRT's */
  cyxla__pjrt_executable pjrt;

  /* What it was made of; NULL: only the plugin knows.  Of a CPU executable, with faults mended. */
  void *bytes;
  size_t bytes_size;
  cyxla__image image; /* of `bytes`; zeroed where they are none of XLA's CPU compiler */
  const char *mended; /* what was done about a fault of the compiler; NULL: nothing */
  char *reason;       /* for the choice of the engine */
};

struct cyxla_bound_call {
  cyxla_executable *executable;
  cyxla__call *direct; /* NULL: PJRT's engine, which needs the lists */
  cyxla_input *inputs;
  void **outputs;
};

#endif
