/* The functions outside of an executable that its code may call. */
#ifndef CYXLA_DIRECT_SYMBOLS_H
#define CYXLA_DIRECT_SYMBOLS_H

#include "base/bytes.h"

/* The address of function `name`; 0: it is none that XLA's compiler calls. */
uint64_t cyxla__symbol_find(cyxla__span name);

#endif
