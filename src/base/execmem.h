/* Pages that are written first and executed afterwards, never both at once. */
#ifndef CYXLA_BASE_EXECMEM_H
#define CYXLA_BASE_EXECMEM_H

#include <stddef.h>

#include "base/status.h"

/* Reserves `size` bytes of zeroed memory that may be written, on pages of its own. */
int32_t cyxla__execmem_reserve(size_t size, void **out_memory, cyxla_error *error);

/* The first `code_size` bytes (a multiple of the page size) become code, which may be read and executed;
 * the rest of the `size` bytes may be read. */
int32_t cyxla__execmem_seal(void *memory, size_t code_size, size_t size, cyxla_error *error);

size_t cyxla__execmem_page_size(void);

void cyxla__execmem_release(void *memory, size_t size);

#endif
