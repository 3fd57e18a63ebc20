/* Functions in the object files that LLVM writes for XLA's CPU kernels. */
#ifndef CYXLA_XLA_CPU_ELF_H
#define CYXLA_XLA_CPU_ELF_H

#include "base/bytes.h"

typedef struct cyxla__elf_function {
  uint32_t section;
  uint64_t offset;  /* of its code in the section */
  cyxla__span code; /* points into the object */
} cyxla__elf_function;

/* Bytes of machine code; 0 where `object` is no well-formed object. */
uint64_t cyxla__elf_code_size(cyxla__span object);

/* Finds the function `name`, local or global, that `object` defines; false where it defines none,
 * or is no well-formed object. */
bool cyxla__elf_find_function(cyxla__span object, const char *name,
                              cyxla__elf_function *out_function);

/* Finds the one relocation of the code of `function`, which must be the plain address of a symbol
 * in 8 bytes: a record in `object` that starts with its 8-byte offset in the section.  False where
 * there is none, more than one, or one of another kind. */
bool cyxla__elf_find_address(cyxla__span object, const cyxla__elf_function *function,
                             cyxla__span *out_relocation);

#endif
