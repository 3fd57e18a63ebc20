/* Names from an executable, in messages. */
#ifndef CYXLA_DIRECT_NAME_H
#define CYXLA_DIRECT_NAME_H

#include "base/bytes.h"

/* Such a name as text: with a question mark for each byte that is not printable, and cut where
 * it is long. */
typedef struct cyxla__name {
  char text[64];
} cyxla__name;

cyxla__name cyxla__name_of(cyxla__span span);

#endif
