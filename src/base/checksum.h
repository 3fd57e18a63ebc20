/* Checksums of bytes that were stored: against accidents, not against attackers. */
#ifndef CYXLA_BASE_CHECKSUM_H
#define CYXLA_BASE_CHECKSUM_H

#include "base/bytes.h"

/* XXH64 with seed 0: more than 10 bytes a nanosecond, and the same on every machine. */
uint64_t cyxla__checksum(cyxla__span bytes);

#endif
