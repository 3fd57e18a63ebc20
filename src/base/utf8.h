/* Text from outside. */
#ifndef CYXLA_BASE_UTF8_H
#define CYXLA_BASE_UTF8_H

#include "base/bytes.h"

/* Whether `text` is well-formed UTF-8 (RFC 3629): the shortest forms, and no surrogates. */
bool cyxla__is_utf8(cyxla__span text);

#endif
