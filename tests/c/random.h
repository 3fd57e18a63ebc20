/* Numbers that look random and are the same in each run. */
#ifndef CYXLA_RANDOM_H
#define CYXLA_RANDOM_H

#include <stdint.h>

static inline uint32_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33);
}

#endif
