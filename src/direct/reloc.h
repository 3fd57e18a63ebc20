/* Relocations: how the bytes of an object get addresses, for each machine.
 *
 * Functions over bytes that execute nothing: all machines are compiled and tested on every host. */
#ifndef CYXLA_DIRECT_RELOC_H
#define CYXLA_DIRECT_RELOC_H

#include "base/bytes.h"

typedef enum cyxla__relocation_result {
  CYXLA__RELOCATION_DONE,
  CYXLA__RELOCATION_UNKNOWN, /* a type that XLA's compiler does not use */
  CYXLA__RELOCATION_OUTSIDE, /* its bytes are not all in the section */
  CYXLA__RELOCATION_TOO_FAR  /* the value does not fit, or not its alignment */
} cyxla__relocation_result;

/* A veneer is a piece of code that jumps to any address: a call to a function of another library
 * goes there where the call itself does not reach far enough. */
enum { CYXLA__VENEER_SIZE = 16 }; /* also what its address is aligned to */

typedef struct cyxla__machine {
  const char *name;
  uint16_t number; /* ELF's e_machine */

  /* Applies relocation `type` to the bytes at the front of `place` (all that the section has from
   * there on), whose address will be `address`, for the symbol with its addend at `target`. */
  cyxla__relocation_result (*relocate)(uint32_t type, cyxla__span place, uint64_t address,
                                       uint64_t target);

  /* Whether `type` is that of a call or a jump, which may go to a veneer; its addend, other than
   * `call_addend`, would lead behind the start of the function. */
  bool (*is_call)(uint32_t type);
  int64_t call_addend;
  void (*write_veneer)(uint8_t veneer[CYXLA__VENEER_SIZE], uint64_t target);
} cyxla__machine;

extern const cyxla__machine cyxla__machine_x86_64, cyxla__machine_aarch64;

/* The machine that this library is compiled for; NULL: none of them. */
#if defined(__x86_64__)
#define CYXLA__MACHINE_OF_HOST (&cyxla__machine_x86_64)
#elif defined(__aarch64__)
#define CYXLA__MACHINE_OF_HOST (&cyxla__machine_aarch64)
#else
#define CYXLA__MACHINE_OF_HOST NULL
#endif

/* Writes a little-endian number of `size` bytes to the front of `place`, which has them. */
static inline void cyxla__store(uint8_t *place, size_t size, uint64_t value) {
  for (size_t i = 0; i < size; ++i) place[i] = (uint8_t)(value >> (8 * i));
}

/* Whether `value`, as a signed number, has at most `bits` bits. */
static inline bool cyxla__fits_signed(uint64_t value, unsigned bits) {
  return value + ((uint64_t)1 << (bits - 1)) < (uint64_t)1 << bits;
}

#endif
