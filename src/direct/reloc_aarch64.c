/* Relocations of AArch64; numbers, formulas and ranges: ELF for the Arm 64-bit Architecture,
 * chapter 5.7 (github.com/ARM-software/abi-aa); fields of instructions: Arm Architecture Reference
 * Manual. */
#include "direct/reloc.h"

enum {
  MACHINE_AARCH64 = 183, /* EM_AARCH64 */
  ABS64 = 257,
  ABS32 = 258,
  PREL64 = 260,
  PREL32 = 261,
  MOVW_UABS_G0 = 263,
  MOVW_UABS_G0_NC = 264,
  MOVW_UABS_G1 = 265,
  MOVW_UABS_G1_NC = 266,
  MOVW_UABS_G2 = 267,
  MOVW_UABS_G2_NC = 268,
  MOVW_UABS_G3 = 269,
  ADR_PREL_PG_HI21 = 275,
  ADD_ABS_LO12_NC = 277,
  LDST8_ABS_LO12_NC = 278,
  JUMP26 = 282,
  CALL26 = 283,
  LDST16_ABS_LO12_NC = 284,
  LDST32_ABS_LO12_NC = 285,
  LDST64_ABS_LO12_NC = 286,
  LDST128_ABS_LO12_NC = 299
};

/* Puts the low `width` bits of `value` into the instruction at `place`, from bit `low` on. */
static void set_field(uint8_t *place, unsigned low, unsigned width, uint64_t value) {
  const uint32_t mask = (((uint32_t)1 << width) - 1) << low;
  uint64_t instruction = 0;
  cyxla__span_load((cyxla__span){place, 4}, 0, 4, &instruction);
  cyxla__store(place, 4, (instruction & ~(uint64_t)mask) | ((uint32_t)(value << low) & mask));
}

static cyxla__relocation_result store_data(uint32_t type, cyxla__span place, uint64_t address,
                                           uint64_t target) {
  const size_t size = type == ABS64 || type == PREL64 ? 8 : 4;
  const bool is_relative = type == PREL64 || type == PREL32;
  const uint64_t value = is_relative ? target - address : target;
  if (place.size < size) return CYXLA__RELOCATION_OUTSIDE;
  if (size == 4 && !cyxla__fits_signed(value, 32) && (is_relative || value > UINT32_MAX))
    return CYXLA__RELOCATION_TOO_FAR;
  cyxla__store(place.data, size, value);
  return CYXLA__RELOCATION_DONE;
}

/* movz and movk: 16 bits of the address, group 0 the lowest; `checked`: it has no higher ones. */
static cyxla__relocation_result set_move(uint8_t *place, unsigned group, bool checked,
                                         uint64_t target) {
  const uint64_t value = target >> (16 * group);
  if (checked && value > UINT16_MAX) return CYXLA__RELOCATION_TOO_FAR;
  set_field(place, 5, 16, value);
  return CYXLA__RELOCATION_DONE;
}

/* adrp: the distance of pages of 4096 bytes, which it has in two fields. */
static cyxla__relocation_result set_page(uint8_t *place, uint64_t address, uint64_t target) {
  const uint64_t distance = (target & ~(uint64_t)0xfff) - (address & ~(uint64_t)0xfff);
  if (!cyxla__fits_signed(distance, 33)) return CYXLA__RELOCATION_TOO_FAR;
  set_field(place, 29, 2, distance >> 12);
  set_field(place, 5, 19, distance >> 14);
  return CYXLA__RELOCATION_DONE;
}

/* add, ldr, str: the place in the page, counted in units of 1 << `scale` bytes. */
static cyxla__relocation_result set_low12(uint8_t *place, unsigned scale, uint64_t target) {
  if (target & (((uint64_t)1 << scale) - 1)) return CYXLA__RELOCATION_TOO_FAR;
  set_field(place, 10, 12, (target & 0xfff) >> scale);
  return CYXLA__RELOCATION_DONE;
}

/* b and bl: the distance in instructions. */
static cyxla__relocation_result set_branch(uint8_t *place, uint64_t address, uint64_t target) {
  const uint64_t distance = target - address;
  if (!cyxla__fits_signed(distance, 28) || distance & 3) return CYXLA__RELOCATION_TOO_FAR;
  set_field(place, 0, 26, distance >> 2);
  return CYXLA__RELOCATION_DONE;
}

static cyxla__relocation_result set_instruction(uint32_t type, uint8_t *place, uint64_t address,
                                                uint64_t target) {
  switch (type) {
    case MOVW_UABS_G0:
    case MOVW_UABS_G1:
    case MOVW_UABS_G2:
      return set_move(place, (type - MOVW_UABS_G0) / 2, true, target);
    case MOVW_UABS_G0_NC:
    case MOVW_UABS_G1_NC:
    case MOVW_UABS_G2_NC:
    case MOVW_UABS_G3: /* nothing is higher */
      return set_move(place, (type - MOVW_UABS_G0) / 2, false, target);
    case ADR_PREL_PG_HI21:
      return set_page(place, address, target);
    case ADD_ABS_LO12_NC:
    case LDST8_ABS_LO12_NC:
      return set_low12(place, 0, target);
    case LDST16_ABS_LO12_NC:
      return set_low12(place, 1, target);
    case LDST32_ABS_LO12_NC:
      return set_low12(place, 2, target);
    case LDST64_ABS_LO12_NC:
      return set_low12(place, 3, target);
    case LDST128_ABS_LO12_NC:
      return set_low12(place, 4, target);
    case JUMP26:
    case CALL26:
      return set_branch(place, address, target);
    default:
      return CYXLA__RELOCATION_UNKNOWN;
  }
}

static cyxla__relocation_result relocate(uint32_t type, cyxla__span place, uint64_t address,
                                         uint64_t target) {
  switch (type) {
    case ABS64:
    case ABS32:
    case PREL64:
    case PREL32:
      return store_data(type, place, address, target);
    default:
      return place.size < 4 ? CYXLA__RELOCATION_OUTSIDE
                            : set_instruction(type, place.data, address, target);
  }
}

static bool is_call(uint32_t type) {
  return type == CALL26 || type == JUMP26;
}

/* x16 is the register that procedure linkage tables and veneers may change on the way to a function
 * (Procedure Call Standard for the Arm 64-bit Architecture, 6.1.1). */
static void write_veneer(uint8_t veneer[CYXLA__VENEER_SIZE], uint64_t target) {
  cyxla__store(veneer, 4, 0x58000050);     /* ldr x16, 8 bytes further */
  cyxla__store(veneer + 4, 4, 0xd61f0200); /* br x16 */
  cyxla__store(veneer + 8, 8, target);
}

const cyxla__machine cyxla__machine_aarch64 = {
    .name = "AArch64",
    .number = MACHINE_AARCH64,
    .relocate = relocate,
    .is_call = is_call,
    .call_addend = 0,
    .write_veneer = write_veneer,
};
