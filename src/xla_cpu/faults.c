#include "xla_cpu/faults.h"

#include "xla_cpu/container.h"
#include "xla_cpu/elf.h"

/* ---- lammps-jax-pjrt-cpu 0.11.2: vectorised arctan ----
 *
 * XLA links a small library of its own into kernels, compiled to LLVM bitcode when XLA was built.
 * In this plugin it was compiled for plain x86-64, where a function of 8 floats or 4 doubles takes
 * its argument on the stack and returns it in xmm0 and xmm1.  Kernels compiled for AVX pass and
 * expect ymm0: atan2(x, 1), which is what arctan becomes, of more than some 16 elements gives what
 * the stack held.  (jaxlib's library was compiled for AVX and is right.)
 *
 * The mend puts a right body in the place of the faulty one: argument and result in ymm0, and libm
 * called for each lane, just as both libraries do, so that results are jaxlib's bit for bit.
 * Compiling without vectors of 32 bytes (xla_cpu_prefer_vector_width = 128) is right too, but
 * rounds other elements by libm and others by XLA's own polynomial than jaxlib does: up to 3 units
 * in the last place away.
 *
 * The functions of 16 floats and 8 doubles, which kernels call with xla_cpu_prefer_vector_width =
 * 512, have the fault too (and in jaxlib as well); those are refused.
 *
 *    0:  push rbp; mov rbp, rsp; push rbx; push r12
 *    8:  and rsp, -32; sub rsp, 32; vmovaps [rsp], ymm0; vzeroupper
 *   23:  movabs rbx, <libm function>                            the address lies at byte 25
 *   33:  xor r12d, r12d
 *   36:  vmovss xmm0, [rsp + 4*r12]; call rbx; vmovss [rsp + 4*r12], xmm0
 *   50:  inc r12d; cmp r12d, 8; jne 36
 *   59:  vmovaps ymm0, [rsp]; lea rsp, [rbp - 16]; pop r12; pop rbx; pop rbp; ret
 */
enum { BODY_SIZE = 73, ADDRESS_OFFSET = 25 };

static const uint8_t atan_v8f32[BODY_SIZE] = {
    0x55, 0x48, 0x89, 0xe5, 0x53, 0x41, 0x54, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x83, 0xec, 0x20,
    0xc5, 0xfc, 0x29, 0x04, 0x24, 0xc5, 0xf8, 0x77, 0x48, 0xbb, 0,    0,    0,    0,    0,
    0,    0,    0,    0x45, 0x31, 0xe4, 0xc4, 0xa1, 0x7a, 0x10, 0x04, 0xa4, 0xff, 0xd3, 0xc4,
    0xa1, 0x7a, 0x11, 0x04, 0xa4, 0x41, 0xff, 0xc4, 0x41, 0x83, 0xfc, 0x08, 0x75, 0xe9, 0xc5,
    0xfc, 0x28, 0x04, 0x24, 0x48, 0x8d, 0x65, 0xf0, 0x41, 0x5c, 0x5b, 0x5d, 0xc3};

/* The same with vmovapd, vmovsd, 8*r12 and 4 lanes. */
static const uint8_t atan_v4f64[BODY_SIZE] = {
    0x55, 0x48, 0x89, 0xe5, 0x53, 0x41, 0x54, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x83, 0xec, 0x20,
    0xc5, 0xfd, 0x29, 0x04, 0x24, 0xc5, 0xf8, 0x77, 0x48, 0xbb, 0,    0,    0,    0,    0,
    0,    0,    0,    0x45, 0x31, 0xe4, 0xc4, 0xa1, 0x7b, 0x10, 0x04, 0xe4, 0xff, 0xd3, 0xc4,
    0xa1, 0x7b, 0x11, 0x04, 0xe4, 0x41, 0xff, 0xc4, 0x41, 0x83, 0xfc, 0x04, 0x75, 0xe9, 0xc5,
    0xfd, 0x28, 0x04, 0x24, 0x48, 0x8d, 0x65, 0xf0, 0x41, 0x5c, 0x5b, 0x5d, 0xc3};

/* What a body that takes its argument on the stack holds: movaps xmm1, [rbp + 16], or movapd; with
 * 16 floats it is xmm2. */
static const uint8_t reads_stack[] = {0x0f, 0x28, 0x4d, 0x10};
static const uint8_t reads_stack_v16f32[] = {0x0f, 0x28, 0x55, 0x10};

/* ---- the table ---- */

static const struct fault {
  const char *function; /* local to an object file, and faulty */
  const uint8_t *mark;  /* bytes that tell the faulty code from the right one of other builds */
  size_t mark_size;
  const char *feature; /* the code is called wrongly where this is compiled for */
  const uint8_t *body; /* BODY_SIZE bytes to put in its place, with an address at ADDRESS_OFFSET;
                          NULL: there is no mend */
  const char *mended;
} faults[] = {
    {"xla.atan.v8f32", reads_stack, sizeof reads_stack, "+avx", atan_v8f32,
     "arctan: the plugin's vector function was replaced"},
    {"xla.atan.v4f64", reads_stack, sizeof reads_stack, "+avx", atan_v4f64,
     "arctan: the plugin's vector function was replaced"},
    {"xla.atan.v16f32", reads_stack_v16f32, sizeof reads_stack_v16f32, "+avx512f", NULL, NULL},
    {"xla.atan.v8f64", reads_stack, sizeof reads_stack, "+avx512f", NULL, NULL},
};

static int32_t fail(const struct fault *fault, cyxla_error *error) {
  return cyxla__fail(
      error, CYXLA_UNIMPLEMENTED,
      "the plugin's code of %s is known to be wrong, and not in the form that cyxla can "
      "mend; compile with the option xla_cpu_prefer_vector_width = 128",
      fault->function);
}

/* Mends one fault in one object file, if it is there. */
static int32_t mend(cyxla__span object, const struct fault *fault, const char **out_mended,
                    cyxla_error *error) {
  cyxla__elf_function function;
  if (!cyxla__elf_find_function(object, fault->function, &function) ||
      !cyxla__span_contains(function.code, fault->mark, fault->mark_size))
    return CYXLA_OK;
  cyxla__span relocation;
  if (!fault->body || function.code.size < BODY_SIZE ||
      !cyxla__elf_find_address(object, &function, &relocation))
    return fail(fault, error);
  memset(function.code.data, 0xcc, function.code.size); /* int3 */
  memcpy(function.code.data, fault->body, BODY_SIZE);
  const uint64_t address = function.offset + ADDRESS_OFFSET;
  for (size_t i = 0; i < sizeof address; ++i) relocation.data[i] = (uint8_t)(address >> (8 * i));
  *out_mended = fault->mended;
  return CYXLA_OK;
}

int32_t cyxla__faults_mend(cyxla__span serialized, const char **out_mended, cyxla_error *error) {
  *out_mended = NULL;
  cyxla__span result;
  if (!cyxla__container_open(serialized, &result)) return CYXLA_OK;
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; ++i) {
    if (!cyxla__container_has_feature(result, faults[i].feature)) continue;
    cyxla__span rest = result, object;
    while (cyxla__container_next_object(&rest, &object))
      TRY(mend(object, &faults[i], out_mended, error));
  }
  return CYXLA_OK;
}
