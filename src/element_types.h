/* The table of element types. */
#ifndef CYXLA_ELEMENT_TYPES_H
#define CYXLA_ELEMENT_TYPES_H

#include "cyxla/cyxla.h"

/* XLA's name of an element type, such as "f32"; NULL for any other number. */
const char *cyxla__element_name(int32_t element_type);

#endif
