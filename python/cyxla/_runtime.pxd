# cython: language_level=3
"""The Cython API: run an executable from native code, without the GIL.

A module that uses it calls `cyxla.check_abi(ABI_VERSION)` when it is imported; its C compiler needs the
directories of `cyxla.get_include()`, and it links to nothing.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t

from cyxla._pjrt cimport PJRT_Buffer_Type

# Increases whenever a declaration of this file changes.
cdef enum:
    ABI_VERSION = 3

cdef extern from "cyxla/cyxla.h" nogil:
    ctypedef struct cyxla_executable:
        pass

    # A call whose inputs and outputs are fixed, see `bind`.
    ctypedef struct BoundCall "cyxla_bound_call":
        pass

    # A host array: its address (any alignment, NULL if it has no element), its element type
    # (PJRT_Buffer_Type_F32, ... of cyxla._pjrt), and its number of elements.  Row-major.
    ctypedef struct Input "cyxla_input":
        const void *data
        int32_t type
        size_t size

# What `execute` needs of an executable.  It lives in the Executable, at a fixed address, and stays valid
# while that lives; after `Executable.close` it runs no more.
cdef struct ProgramSpec:
    cyxla_executable *executable  # NULL once closed
    size_t input_count
    size_t output_count
    const size_t *output_bytes    # the size of each output

cdef class Handle:
    """Owns a cyxla_executable."""
    cdef cyxla_executable *executable

cdef class Executable:
    """A compiled program.  Native callers pass `&executable.spec` to `execute`."""
    cdef ProgramSpec spec
    cdef Handle handle
    cdef object __weakref__
    cdef readonly str name
    cdef readonly str platform
    cdef readonly tuple input_types
    cdef readonly tuple output_types
    cdef readonly tuple output_bytes
    cdef readonly object workaround
    cdef readonly str engine
    cdef readonly str engine_reason
    cdef readonly object thunks
    cdef readonly object program
    cdef readonly object statistics
    cdef readonly object origin   # a cyxla.history.Origin

# Runs an executable once and waits for the results: 0, or -1 on failure (see error_info).
#
#   inputs     one for each input; may be changed or freed when the function has returned.
#   outputs    where to write each output, any alignment, output_bytes[i] bytes; NULL drops that output.
#   zero_copy  read inputs in place where the engine can and the address is a multiple of 64; others are
#              copied.  An input buffer serves again as long as its address stays the same.
#
# Any number of threads may call it at once, for one executable or for many.  No Executable.close may come
# while it runs.
cdef int execute(const ProgramSpec *spec, const Input *inputs, void *const *outputs,
                 bint zero_copy) noexcept nogil

# Fixes the inputs and outputs of calls that come again and again, which are then the fastest: NULL on
# failure (see error_info), else what `call` runs, and `unbind` frees.
#
#   inputs, outputs  as for `execute` with zero_copy.  The lists are copied; the arrays must stay where they
#                    are until `unbind`.  Their contents may change between calls, and are read anew by each.
#                    The direct engine uses in place what is aligned to 64.
#
# The executable must stay, and stay open, until `unbind`.
cdef BoundCall *bind(const ProgramSpec *spec, const Input *inputs,
                     void *const *outputs) noexcept nogil

# Runs a bound call once and waits for the results: 0, or -1 on failure (see error_info).  One thread at a
# time for one bound call; several bound calls, of one executable too, may run at once.
cdef int call(BoundCall *bound) noexcept nogil

# Frees a bound call, which must not be running; takes NULL too.
cdef void unbind(BoundCall *bound) noexcept nogil

# Memory that can be read in place (64-byte aligned), or NULL; freed by free_aligned, which takes NULL too.
cdef void *aligned_memory(size_t bytes) noexcept nogil
cdef void free_aligned(void *pointer) noexcept nogil

# Bytes of one element; 0 for a number that is no element type.
cdef size_t itemsize(int32_t type) noexcept nogil

# (failures of `execute` in this process so far, message of the last one in this thread or "").
cpdef tuple error_info()
