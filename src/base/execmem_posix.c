#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS, which POSIX has since 2024 only */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/execmem.h"

static int32_t fail_with_errno(const char *what, size_t size, cyxla_error *error) {
  /* Some systems forbid code that was not read from a file (SELinux, PR_SET_MDWE). */
  const bool forbidden = errno == EACCES || errno == EPERM;
  return cyxla__fail(error, forbidden ? CYXLA_PERMISSION_DENIED : CYXLA_RESOURCE_EXHAUSTED,
                     "%zu bytes of memory for code can't be %s: %s", size, what, strerror(errno));
}

size_t cyxla__execmem_page_size(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

int32_t cyxla__execmem_reserve(size_t size, void **out_memory, cyxla_error *error) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail_with_errno("reserved", size, error);
  *out_memory = memory;
  return CYXLA_OK;
}

int32_t cyxla__execmem_seal(void *memory, size_t code_size, size_t size, cyxla_error *error) {
  char *const data = (char *)memory + code_size;
  /* Processors with separate caches would execute what was there before the writes. */
  __builtin___clear_cache((char *)memory, data);
  if ((code_size && mprotect(memory, code_size, PROT_READ | PROT_EXEC)) ||
      (size > code_size && mprotect(data, size - code_size, PROT_READ)))
    return fail_with_errno("sealed", size, error);
  return CYXLA_OK;
}

void cyxla__execmem_release(void *memory, size_t size) {
  munmap(memory, size);
}
