# cython: language_level=3
"""All of cyxla's Cython API, by addresses: what a C library does that has its own memory and threads."""

from cython.parallel cimport prange
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memset

from cyxla._pjrt cimport *
from cyxla._runtime cimport (
    ABI_VERSION,
    BoundCall,
    Executable,
    Input,
    ProgramSpec,
    aligned_memory,
    bind,
    call,
    execute,
    free_aligned,
    itemsize,
    unbind,
)

import cyxla

cyxla.check_abi(ABI_VERSION)


cdef class Call:
    """An executable with the arguments of one call of `execute`, in memory that belongs to the caller.

    `inputs` is a list of (address, element type's number, number of elements), `outputs` a list of
    addresses, and address 0 is NULL.
    """
    cdef readonly Executable executable
    cdef const ProgramSpec *spec
    cdef Input *inputs
    cdef void **outputs
    cdef bint zero_copy

    def __cinit__(self, Executable executable, list inputs, list outputs, bint zero_copy=False):
        self.executable = executable
        self.spec = &executable.spec
        self.zero_copy = zero_copy
        self.inputs = <Input *>calloc(len(inputs) + 1, sizeof(Input))
        self.outputs = <void **>calloc(len(outputs) + 1, sizeof(void *))
        if self.inputs == NULL or self.outputs == NULL:
            raise MemoryError
        for i, (address, type, size) in enumerate(inputs):
            self.inputs[i].data = <void *><size_t>address
            self.inputs[i].type = type
            self.inputs[i].size = size
        for i, address in enumerate(outputs):
            self.outputs[i] = <void *><size_t>address

    def __dealloc__(self):
        free(self.inputs)
        free(self.outputs)

    @property
    def output_bytes(self):
        """The sizes that the spec tells."""
        return [self.spec.output_bytes[i] for i in range(self.spec.output_count)]

    @property
    def counts(self):
        """The numbers of inputs and outputs that the spec tells."""
        return self.spec.input_count, self.spec.output_count

    def execute(self):
        """Runs once and returns the status."""
        cdef int status
        with nogil:
            status = execute(self.spec, self.inputs, self.outputs, self.zero_copy)
        return status

    def repeat(self, long count):
        """Runs `count` times and returns the number of failures."""
        cdef long i, failures = 0
        with nogil:
            for i in range(count):
                failures += execute(self.spec, self.inputs, self.outputs, self.zero_copy) != 0
        return failures

    def repeat_and_spoil(self, long count, size_t size, int step):
        """Like `repeat`, but adds `step` to the `size` bytes of the first input after each run."""
        cdef long i, failures = 0
        cdef size_t j
        cdef unsigned char *bytes = <unsigned char *>self.inputs[0].data
        with nogil:
            for i in range(count):
                failures += execute(self.spec, self.inputs, self.outputs, self.zero_copy) != 0
                for j in range(size):
                    bytes[j] += step
        return failures


cdef class Bound:
    """A call whose inputs and outputs are fixed: the arrays, and the executable, must stay."""
    cdef BoundCall *bound

    def __cinit__(self, Call arguments):
        self.bound = bind(arguments.spec, arguments.inputs, arguments.outputs)
        if self.bound == NULL:
            raise RuntimeError(cyxla.error_info()[1])

    def __dealloc__(self):
        unbind(self.bound)

    def repeat(self, long count=1):
        """Runs `count` times and returns the number of failures."""
        cdef long i, failures = 0
        with nogil:
            for i in range(count):
                failures += call(self.bound) != 0
        return failures


def aligned_address(size_t size):
    """The address of memory of `aligned_memory`, which is freed again."""
    cdef void *memory = aligned_memory(size)
    cdef size_t address = <size_t>memory
    memset(memory, 1, size)
    free_aligned(memory)
    free_aligned(NULL)
    return address


def run_from_fresh_memory(Executable executable, double[::1] values, double[::1] result, long count):
    """Runs `count` times, each time from input memory that is new, and is freed after that run.

    The executable has one float64 input and output of this size.  Returns the number of failures; run
    number i gets `values + i`, and `result` is the last run's.
    """
    cdef Input input
    cdef void *output = &result[0]
    cdef double *memory
    cdef long i, j, failures = 0, size = values.shape[0]
    input.type = PJRT_Buffer_Type_F64
    input.size = size
    with nogil:
        for i in range(count):
            memory = <double *>aligned_memory(size * sizeof(double))
            for j in range(size):
                memory[j] = values[j] + i
            input.data = memory
            failures += execute(&executable.spec, &input, &output, True) != 0
            free_aligned(memory)
    return failures


def item_sizes(numbers):
    """`itemsize` of each of these element types."""
    return [itemsize(number) for number in numbers]


# Names in PJRT and their numbers.
ELEMENT_TYPES = {
    "bool": PJRT_Buffer_Type_PRED,
    "int8": PJRT_Buffer_Type_S8,
    "int16": PJRT_Buffer_Type_S16,
    "int32": PJRT_Buffer_Type_S32,
    "int64": PJRT_Buffer_Type_S64,
    "uint8": PJRT_Buffer_Type_U8,
    "uint16": PJRT_Buffer_Type_U16,
    "uint32": PJRT_Buffer_Type_U32,
    "uint64": PJRT_Buffer_Type_U64,
    "float16": PJRT_Buffer_Type_F16,
    "bfloat16": PJRT_Buffer_Type_BF16,
    "float32": PJRT_Buffer_Type_F32,
    "float64": PJRT_Buffer_Type_F64,
    "complex64": PJRT_Buffer_Type_C64,
    "complex128": PJRT_Buffer_Type_C128,
}


cdef struct Check:
    const ProgramSpec *spec
    const Input *inputs
    void **outputs
    bint zero_copy
    const void *expected


cdef class Checks:
    """Checks for all threads, one after the other, in C memory."""
    cdef Check *items

    def __cinit__(self, list threads, list expected):
        cdef Call call
        cdef Check *item
        self.items = <Check *>calloc(sum(map(len, threads)), sizeof(Check))
        if self.items == NULL:
            raise MemoryError
        item = self.items
        for calls, addresses in zip(threads, expected, strict=True):
            for call, address in zip(calls, addresses, strict=True):
                item.spec = call.spec
                item.inputs = call.inputs
                item.outputs = call.outputs
                item.zero_copy = call.zero_copy
                item.expected = <void *><size_t>address
                item += 1

    def __dealloc__(self):
        free(self.items)


cdef long check_calls(const Check *checks, int check_count, long count) noexcept nogil:
    cdef long i, wrong = 0
    cdef const Check *check
    for i in range(count):
        check = &checks[i % check_count]
        # So that the results of an earlier run don't pass for those of this one.
        memset(check.outputs[0], 0xA5, check.spec.output_bytes[0])
        if execute(check.spec, check.inputs, check.outputs, check.zero_copy) != 0:
            wrong += 1
        elif memcmp(check.outputs[0], check.expected, check.spec.output_bytes[0]) != 0:
            wrong += 1
    return wrong


def check_in_threads(list threads, list expected, long count):
    """Runs calls in native threads, all at once, and compares the results of each run.

    `threads` has a list of calls for each thread, which runs them in turn, `count` runs altogether.
    `expected` has, in the same structure, the address of what the first output must be, bit for bit.
    Returns the number of runs with a failure or with wrong results.
    """
    cdef int thread, thread_count = len(threads)
    cdef int call_count = len(threads[0])
    cdef Checks checks = Checks(threads, expected)
    cdef long wrong = 0
    for thread in prange(thread_count, num_threads=thread_count, schedule="static", nogil=True):
        wrong += check_calls(&checks.items[thread * call_count], call_count, count)
    return wrong
