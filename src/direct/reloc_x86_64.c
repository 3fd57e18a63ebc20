/* Relocations of x86-64; types and formulas: System V ABI, AMD64 supplement, table 4.9
 * (gitlab.com/x86-psABIs/x86-64-ABI).  XLA compiles for the large code model, where R_X86_64_64 is
 * the only one in code and constants; the others are those of the smaller models. */
#include "direct/reloc.h"

enum {
  MACHINE_X86_64 = 62, /* EM_X86_64 */
  X86_64_64 = 1,
  X86_64_PC32 = 2,
  X86_64_PLT32 = 4,
  X86_64_32 = 10,
  X86_64_32S = 11,
  X86_64_PC64 = 24
};

static cyxla__relocation_result relocate(uint32_t type, cyxla__span place, uint64_t address,
                                         uint64_t target) {
  uint64_t value = target;
  size_t size = 4;
  bool fits;
  switch (type) {
    case X86_64_PC64:
      value -= address;
      /* fall through */
    case X86_64_64:
      size = 8;
      fits = true;
      break;
    case X86_64_PC32:
    case X86_64_PLT32: /* there is no procedure linkage table: straight to the function */
      value -= address;
      /* fall through */
    case X86_64_32S:
      fits = cyxla__fits_signed(value, 32);
      break;
    case X86_64_32:
      fits = value <= UINT32_MAX;
      break;
    default:
      return CYXLA__RELOCATION_UNKNOWN;
  }
  if (place.size < size) return CYXLA__RELOCATION_OUTSIDE;
  if (!fits) return CYXLA__RELOCATION_TOO_FAR;
  cyxla__store(place.data, size, value);
  return CYXLA__RELOCATION_DONE;
}

static bool is_call(uint32_t type) {
  return type == X86_64_PLT32;
}

static void write_veneer(uint8_t veneer[CYXLA__VENEER_SIZE], uint64_t target) {
  static const uint8_t jump[] = {0xff, 0x25, 2, 0, 0, 0}; /* jmp *2(%rip), to the address at 8 */
  memcpy(veneer, jump, sizeof jump);
  cyxla__store(veneer + 8, 8, target);
}

const cyxla__machine cyxla__machine_x86_64 = {
    .name = "x86-64",
    .number = MACHINE_X86_64,
    .relocate = relocate,
    .is_call = is_call,
    .call_addend = -4, /* the processor counts from the end of the 4 bytes */
    .write_veneer = write_veneer,
};
