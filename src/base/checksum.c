/* The algorithm and its constants: Yann Collet's specification of XXH64
 * (github.com/Cyan4973/xxHash, doc/xxhash_spec.md). */
#include "base/checksum.h"

static const uint64_t primes[] = {0, /* they are numbered from 1 */
                                  0x9e3779b185ebca87,
                                  0xc2b2ae3d27d4eb4f,
                                  0x165667b19e3779f9,
                                  0x85ebca77c2b2ae63,
                                  0x27d4eb2f165667c5};

enum { LANE = 8, STRIPE = 4 * LANE };

static uint64_t rotate(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

/* Little-endian numbers.  Put together byte by byte they would be as right, and a function call with gcc -O2:
 * five times slower. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FROM_LITTLE_ENDIAN(bits, value) (value)
#else
#define FROM_LITTLE_ENDIAN(bits, value) __builtin_bswap##bits(value)
#endif

static uint64_t load_8(const uint8_t *data) {
  uint64_t value;
  memcpy(&value, data, sizeof value);
  return FROM_LITTLE_ENDIAN(64, value);
}

static uint64_t load_4(const uint8_t *data) {
  uint32_t value;
  memcpy(&value, data, sizeof value);
  return FROM_LITTLE_ENDIAN(32, value);
}

static uint64_t mix_lane(uint64_t state, uint64_t lane) {
  return rotate(state + lane * primes[2], 31) * primes[1];
}

static uint64_t merge(uint64_t sum, uint64_t state) {
  return (sum ^ mix_lane(0, state)) * primes[1] + primes[4];
}

/* Takes all whole stripes off the front of `rest`, of which there is at least one. */
static uint64_t sum_stripes(cyxla__span *rest) {
  uint64_t a = primes[1] + primes[2], b = primes[2], c = 0, d = 0 - primes[1];
  for (; rest->size >= STRIPE; rest->data += STRIPE, rest->size -= STRIPE) {
    a = mix_lane(a, load_8(rest->data));
    b = mix_lane(b, load_8(rest->data + LANE));
    c = mix_lane(c, load_8(rest->data + 2 * LANE));
    d = mix_lane(d, load_8(rest->data + 3 * LANE));
  }
  const uint64_t sum = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
  return merge(merge(merge(merge(sum, a), b), c), d);
}

/* Adds what is left: less than a stripe. */
static uint64_t add_rest(uint64_t sum, const uint8_t *data, size_t size) {
  for (; size >= LANE; data += LANE, size -= LANE)
    sum = rotate(sum ^ mix_lane(0, load_8(data)), 27) * primes[1] + primes[4];
  if (size >= 4) {
    sum = rotate(sum ^ load_4(data) * primes[1], 23) * primes[2] + primes[3];
    data += 4;
    size -= 4;
  }
  for (; size; ++data, --size) sum = rotate(sum ^ *data * primes[5], 11) * primes[1];
  return sum;
}

uint64_t cyxla__checksum(cyxla__span bytes) {
  const uint64_t size = bytes.size;
  uint64_t sum = bytes.size >= STRIPE ? sum_stripes(&bytes) : primes[5];
  sum = add_rest(sum + size, bytes.data, bytes.size);
  sum = (sum ^ sum >> 33) * primes[2];
  sum = (sum ^ sum >> 29) * primes[3];
  return sum ^ sum >> 32;
}
