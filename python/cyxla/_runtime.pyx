# cython: language_level=3
"""The thin layer between Python and libcyxla: handles, `execute`, and errors as exceptions."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint32_t
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

import os

import numpy as np

from cyxla.element_types import ElementType, from_number
from cyxla.errors import ArgumentError, ArgumentTypeError, StatusError
from cyxla.program import ArrayType, Program

cdef extern from "cyxla/cyxla.h" nogil:
    enum:
        CYXLA_ABI_VERSION
        CYXLA_ZERO_COPY
        CYXLA_FAILED_PRECONDITION
        CYXLA_OPTION_STRING
        CYXLA_OPTION_INT64
        CYXLA_OPTION_INT64_LIST
        CYXLA_OPTION_DOUBLE
        CYXLA_OPTION_BOOL
        CYXLA_ENGINE_AUTO
        CYXLA_ENGINE_DIRECT
        CYXLA_ENGINE_PJRT

    ctypedef struct cyxla_error:
        size_t struct_size
        int32_t code
        char message[4084]

    ctypedef struct cyxla_array_type:
        const char *name
        int32_t element_type
        int32_t rank
        const int64_t *dimensions

    ctypedef union option_value "":
        const char *string
        int64_t int64
        const int64_t *int64_list
        double float64
        int32_t boolean

    ctypedef struct cyxla_option:
        const char *name
        int32_t kind
        int32_t list_count
        option_value value

    ctypedef struct cyxla_plugin:
        pass

    ctypedef struct cyxla_plugin_info:
        size_t struct_size
        const char *path
        const char *platform
        const char *platform_version
        int32_t pjrt_major
        int32_t pjrt_minor
        int32_t stablehlo_current[3]
        int32_t stablehlo_minimum[3]
        int64_t xla_version
        size_t device_count
        int32_t reads_in_place
        const char *fingerprint

    ctypedef struct cyxla_program:
        size_t struct_size
        const char *name
        const void *code
        size_t code_size
        const cyxla_array_type *inputs
        size_t input_count
        const cyxla_array_type *outputs
        size_t output_count

    ctypedef struct cyxla_thunk_count:
        const char *kind
        size_t count

    ctypedef struct cyxla_executable_info:
        size_t struct_size
        const char *name
        const cyxla_array_type *inputs
        size_t input_count
        const cyxla_array_type *outputs
        const size_t *output_sizes
        size_t output_count
        int64_t code_size
        int64_t temp_size
        const char *workaround
        int32_t engine
        const char *engine_reason
        const cyxla_thunk_count *thunks
        size_t thunk_kind_count

    ctypedef struct cyxla_file:
        pass

    ctypedef struct cyxla_file_entry:
        const char *name
        const char *value

    ctypedef struct cyxla_file_info:
        size_t struct_size
        int32_t format_version
        const char *platform
        const void *executable
        size_t executable_size
        const char *fingerprint
        const char *cpu_features
        const cyxla_option *options
        size_t option_count
        const char *const *targets
        size_t target_count
        const cyxla_file_entry *producers
        size_t producer_count
        const cyxla_file_entry *metadata
        size_t metadata_count

    int32_t cyxla_abi_version()
    const char *cyxla_version()
    void cyxla_describe_cpu(char *text, size_t size)
    const char *cyxla_status_name(int32_t status)
    size_t cyxla_element_size(int32_t element_type)
    void *cyxla_aligned_alloc(size_t size)
    void cyxla_aligned_free(void *pointer)
    int32_t cyxla_plugin_load(const char *path, const char *platform, const cyxla_option *options,
                              size_t option_count, cyxla_plugin **out_plugin, cyxla_error *error)
    int32_t cyxla_check_xla_flags(const char *library_path, cyxla_error *error)
    void cyxla_plugin_get_info(const cyxla_plugin *plugin, cyxla_plugin_info *out_info)
    int32_t cyxla_compile(cyxla_plugin *plugin, const cyxla_program *program,
                          const cyxla_option *options, size_t option_count, int32_t engine,
                          cyxla_executable **out_executable, cyxla_error *error)
    int32_t cyxla_executable_deserialize(cyxla_plugin *plugin, const cyxla_program *program,
                                         const void *data, size_t size, int32_t engine,
                                         cyxla_executable **out_executable, cyxla_error *error)
    int32_t cyxla_executable_serialize(const cyxla_executable *executable, void **out_data,
                                       size_t *out_size, cyxla_error *error)
    int32_t cyxla_file_open(const char *path, cyxla_file **out_file, cyxla_error *error)
    const cyxla_program *cyxla_file_get_program(const cyxla_file *file)
    void cyxla_file_get_info(const cyxla_file *file, cyxla_file_info *out_info)
    void cyxla_file_close(cyxla_file *file)
    int32_t cyxla_file_write(const char *path, const cyxla_program *program,
                             const cyxla_file_info *info, cyxla_error *error)
    ctypedef struct cyxla_export_options:
        size_t struct_size
        const char *directory
        const char *name
        const char *producer
    int32_t cyxla_export(const cyxla_executable *executable, const cyxla_export_options *options,
                         cyxla_error *error)
    ctypedef void *(*cyxla_ffi_handler)(void *call_frame)

    ctypedef struct cyxla_ffi_target:
        size_t struct_size
        const char *name
        const char *platform
        cyxla_ffi_handler instantiate
        cyxla_ffi_handler prepare
        cyxla_ffi_handler initialize
        cyxla_ffi_handler execute
        uint32_t traits

    ctypedef struct cyxla_ffi_target_info:
        size_t struct_size
        const char *name
        const char *platform
        int32_t ffi_minor
        int32_t has_state
        int32_t state
        const char *failure

    int32_t cyxla_register_ffi_target(const cyxla_ffi_target *target, cyxla_error *error)
    ctypedef void (*state_deleter "cyxla_state_deleter")(void *state)
    int32_t cyxla_register_ffi_type(int64_t *type_id, state_deleter deleter, cyxla_error *error)
    size_t cyxla_ffi_target_count()
    int32_t cyxla_ffi_target_get_info(size_t index, cyxla_plugin *plugin,
                                      cyxla_ffi_target_info *out_info, cyxla_error *error)
    void cyxla_executable_get_info(const cyxla_executable *executable,
                                   cyxla_executable_info *out_info)
    void cyxla_executable_destroy(cyxla_executable *executable)
    int32_t cyxla_execute(cyxla_executable *executable, const Input *inputs, void *const *outputs,
                          uint32_t flags, cyxla_error *error)
    int32_t cyxla_bind(cyxla_executable *executable, const Input *inputs, void *const *outputs,
                       BoundCall **out_call, cyxla_error *error)
    int32_t cyxla_bound_call_execute(BoundCall *call, cyxla_error *error)
    void cyxla_bound_call_destroy(BoundCall *call)
    void cyxla_set_thread_count(int32_t count)

cdef extern from "thread_errors.h" nogil:
    cyxla_error thread_error
    void count_error()
    size_t counted_errors()

# From this size on, `run` has an input read in place by PJRT and a result written in place by the direct
# engine; copying less than that costs less than a new buffer, or than aligned memory.
cdef size_t IN_PLACE_SIZE = 1 << 20
cdef size_t ALIGNMENT = 64

# Engines by their names in Python.
ENGINES = {
    "auto": CYXLA_ENGINE_AUTO,
    "direct": CYXLA_ENGINE_DIRECT,
    "pjrt": CYXLA_ENGINE_PJRT,
}


# ---- errors ----

cdef int check(int32_t status, const cyxla_error *error) except -1:
    """The one place where a status becomes an exception."""
    if status:
        raise StatusError(status, cyxla_status_name(status).decode(),
                          (<bytes>error.message).decode("utf-8", "replace"))
    return 0


cpdef tuple error_info():
    """Failures of `execute` in this process so far, and the last one's message in this thread."""
    return counted_errors(), (<bytes>thread_error.message).decode("utf-8", "replace")


# ---- the Cython API ----

cdef int execute(const ProgramSpec *spec, const Input *inputs, void *const *outputs,
                 bint zero_copy) noexcept nogil:
    cdef int32_t status
    if spec.executable == NULL:
        status = fail_closed()
    else:
        status = cyxla_execute(spec.executable, inputs, outputs,
                               CYXLA_ZERO_COPY if zero_copy else 0, &thread_error)
    if status == 0:
        return 0
    count_error()
    return -1


cdef BoundCall *bind(const ProgramSpec *spec, const Input *inputs,
                     void *const *outputs) noexcept nogil:
    cdef BoundCall *bound = NULL
    cdef int32_t status
    if spec.executable == NULL:
        status = fail_closed()
    else:
        status = cyxla_bind(spec.executable, inputs, outputs, &bound, &thread_error)
    if status == 0:
        return bound
    count_error()
    return NULL


cdef int call(BoundCall *bound) noexcept nogil:
    if cyxla_bound_call_execute(bound, &thread_error) == 0:
        return 0
    count_error()
    return -1


cdef void unbind(BoundCall *bound) noexcept nogil:
    cyxla_bound_call_destroy(bound)


cdef int32_t fail_closed() noexcept nogil:
    cdef const char *message = "the executable is closed"
    cdef size_t i = 0
    while message[i]:
        thread_error.message[i] = message[i]
        i += 1
    thread_error.message[i] = 0
    thread_error.code = CYXLA_FAILED_PRECONDITION
    return CYXLA_FAILED_PRECONDITION


cdef void *aligned_memory(size_t bytes) noexcept nogil:
    return cyxla_aligned_alloc(bytes)


cdef void free_aligned(void *pointer) noexcept nogil:
    cyxla_aligned_free(pointer)


cdef size_t itemsize(int32_t type) noexcept nogil:
    return cyxla_element_size(type)


def abi_version() -> int:
    """Version of the declarations in `_runtime.pxd`."""
    return ABI_VERSION


def library_version() -> str:
    """Version of libcyxla."""
    return cyxla_version().decode()


def describe_cpu() -> str:
    """What compilers look at in the processor: architecture, model and features."""
    cdef char text[2048]
    cyxla_describe_cpu(text, sizeof(text))
    return (<bytes>text).decode()


def status_name(code: int) -> str:
    """Name of a status, such as "INVALID_ARGUMENT"."""
    return cyxla_status_name(code).decode()


def set_thread_count(count: int) -> None:
    """Sets how many threads the direct engine may use for one call; 0: one per processor."""
    cyxla_set_thread_count(count)


# ---- C structs made of Python values ----

cdef bytes c_text(value, str role):
    """Text for C, where NUL ends it.  Surrogates are bytes of paths that are no UTF-8."""
    if not isinstance(value, str) or "\0" in value:
        raise ArgumentTypeError(f"{role} must be a str without NUL, not {value!r}")
    return value.encode("utf-8", "surrogateescape")


cdef class Options:
    """Options for a plugin or its compiler, as C wants them."""
    cdef cyxla_option *items
    cdef size_t count
    cdef list keep  # objects that own memory which `items` points to

    def __cinit__(self, options):
        self.keep = []
        self.items = <cyxla_option *>PyMem_Calloc(len(options) + 1, sizeof(cyxla_option))
        if self.items == NULL:
            raise MemoryError  # not tested: lack of memory can't be provoked here
        for name, value in options.items():
            self.add(name, value)

    def __dealloc__(self):
        PyMem_Free(self.items)

    cdef int add(self, name, value) except -1:
        cdef cyxla_option *item = &self.items[self.count]
        item.name = self.text(name, f"the name of an option, {name!r},")
        if isinstance(value, bool):
            item.kind = CYXLA_OPTION_BOOL
            item.value.boolean = value
        elif isinstance(value, int):
            item.kind = CYXLA_OPTION_INT64
            item.value.int64 = value
        elif isinstance(value, float):
            item.kind = CYXLA_OPTION_DOUBLE
            item.value.float64 = value
        elif isinstance(value, str):
            item.kind = CYXLA_OPTION_STRING
            item.value.string = self.text(value, f"option {name}")
        elif isinstance(value, (list, tuple)):
            item.kind = CYXLA_OPTION_INT64_LIST
            item.list_count = len(value)
            item.value.int64_list = self.integers(value)
        else:
            raise ArgumentTypeError(
                f"option {name} must be a bool, int, float, str or list of int, not {value!r}")
        self.count += 1
        return 0

    cdef const char *text(self, value, str role) except NULL:
        encoded = c_text(value, role)
        self.keep.append(encoded)
        return encoded

    cdef const int64_t *integers(self, values) except NULL:
        cdef int64_t[::1] array = np.array([*values, 0], dtype=np.int64)
        self.keep.append(array)
        return &array[0]


def check_options(options: dict) -> None:
    """Raises ArgumentTypeError or OverflowError where an option is none."""
    Options(options)


cdef class Texts:
    """A list of texts, as C wants it."""
    cdef const char **items
    cdef size_t count
    cdef list keep

    def __cinit__(self, texts):
        self.keep = [c_text(text, "a text of a program file") for text in texts]
        self.items = <const char **>PyMem_Calloc(len(self.keep) + 1, sizeof(char *))
        if self.items == NULL:
            raise MemoryError  # not tested: lack of memory can't be provoked here
        for encoded in self.keep:
            self.items[self.count] = encoded
            self.count += 1

    def __dealloc__(self):
        PyMem_Free(self.items)


cdef class Signature:
    """The signature of a Program, or of anything with its name, inputs and outputs, as C wants it."""
    cdef cyxla_program program
    cdef cyxla_array_type *types
    cdef list keep

    def __cinit__(self, program):
        cdef size_t count = len(program.inputs) + len(program.outputs)
        self.keep = []
        self.types = <cyxla_array_type *>PyMem_Calloc(count + 1, sizeof(cyxla_array_type))
        if self.types == NULL:
            raise MemoryError  # not tested: lack of memory can't be provoked here
        cdef size_t i = 0
        for array_type in (*program.inputs, *program.outputs):
            self.fill(&self.types[i], array_type)
            i += 1
        name = c_text(program.name, "the name of a program")
        self.keep.append(name)
        self.program.struct_size = sizeof(cyxla_program)
        self.program.name = name
        self.program.inputs = self.types
        self.program.input_count = len(program.inputs)
        self.program.outputs = self.types + self.program.input_count
        self.program.output_count = len(program.outputs)

    def __dealloc__(self):
        PyMem_Free(self.types)

    cdef int fill(self, cyxla_array_type *item, array_type) except -1:
        name = c_text(array_type.name, "the name of an array")
        cdef int64_t[::1] dimensions = np.array([*array_type.shape, 0], dtype=np.int64)
        self.keep.append((name, dimensions))
        item.name = name
        item.element_type = array_type.element_type.number
        item.rank = array_type.ndim
        item.dimensions = &dimensions[0]
        return 0


# ---- plugin ----

cdef class Plugin:
    """A loaded plugin; it stays loaded for the rest of the process."""
    cdef cyxla_plugin *plugin

    def __init__(self, path: str, platform: str | None, options: dict) -> None:
        """Loads the plugin at `path` and creates its client with `options`.

        Raises StatusError.  The GIL is released meanwhile.
        """
        cdef Options c_options = Options(options)
        encoded_path = c_text(path, "the path of a plugin")
        encoded_platform = None if platform is None else c_text(platform, "a platform")
        cdef const char *c_path = encoded_path
        cdef const char *c_platform = NULL
        if encoded_platform is not None:
            c_platform = encoded_platform
        cdef int32_t status
        cdef cyxla_error error
        error.struct_size = sizeof(error)
        with nogil:
            status = cyxla_plugin_load(c_path, c_platform, c_options.items, c_options.count,
                                       &self.plugin, &error)
        check(status, &error)

    def info(self) -> dict:
        """Path, platform, versions, devices: the members of cyxla_plugin_info."""
        cdef cyxla_plugin_info info
        info.struct_size = sizeof(info)
        cyxla_plugin_get_info(self.plugin, &info)
        return {
            "path": info.path.decode("utf-8", "surrogateescape"),
            "platform": info.platform.decode(),
            "platform_version": info.platform_version.decode("utf-8", "replace"),
            "pjrt_version": (info.pjrt_major, info.pjrt_minor),
            "stablehlo_version": stablehlo_version(info.stablehlo_current),
            "xla_version": info.xla_version,
            "device_count": info.device_count,
            "reads_in_place": bool(info.reads_in_place),
            "fingerprint": info.fingerprint.decode(),
        }


cdef stablehlo_version(const int32_t *version):
    """The version as a tuple; None where the plugin does not tell one."""
    return (version[0], version[1], version[2]) if version[0] or version[1] else None


def check_xla_flags(library_path: str) -> None:
    """Raises StatusError where XLA_FLAGS has a flag that the library at `library_path` does not know."""
    encoded_path = c_text(library_path, "the path of a library")
    cdef cyxla_error error
    error.struct_size = sizeof(error)
    check(cyxla_check_xla_flags(encoded_path, &error), &error)


# ---- ffi ----

def register_ffi_target(name: str, platform: str, handlers: dict, traits: int) -> None:
    """Registers a target.  `handlers` gives the address of the handler of each stage, by its name.

    Raises StatusError.
    """
    encoded_name = c_text(name, "the name of an FFI target")
    encoded_platform = c_text(platform, "a platform")
    cdef cyxla_ffi_target target
    cdef int32_t status
    target.struct_size = sizeof(target)
    target.name = encoded_name
    target.platform = encoded_platform
    target.instantiate = <cyxla_ffi_handler><size_t>handlers.get("instantiate", 0)
    target.prepare = <cyxla_ffi_handler><size_t>handlers.get("prepare", 0)
    target.initialize = <cyxla_ffi_handler><size_t>handlers.get("initialize", 0)
    target.execute = <cyxla_ffi_handler><size_t>handlers.get("execute", 0)
    target.traits = traits
    cdef cyxla_error error
    error.struct_size = sizeof(error)
    with nogil:  # the handler is asked for its version, and may be a Python function
        status = cyxla_register_ffi_target(&target, &error)
    check(status, &error)


def capsule_address(capsule) -> int:
    """The address in a PyCapsule of any name."""
    return <size_t>PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


def register_ffi_type(type_id: int, type_info: int) -> None:
    """Registers the type of a state: the addresses of its XLA_FFI_TypeId and XLA_FFI_TypeInfo, or 0.

    Raises StatusError.
    """
    # XLA_FFI_TypeId is one number; XLA_FFI_TypeInfo is {struct_size, extension_start, deleter}.
    cdef int64_t *id_address = <int64_t *><size_t>type_id
    cdef void **info = <void **><size_t>type_info
    cdef cyxla_error error
    error.struct_size = sizeof(error)
    cdef state_deleter deleter = NULL if info == NULL else <state_deleter>info[2]
    check(cyxla_register_ffi_type(id_address, deleter, &error), &error)


def ffi_targets(Plugin plugin) -> list[dict]:
    """The targets that are registered, and what `plugin` (None: no plugin) has of them."""
    cdef cyxla_ffi_target_info info
    cdef cyxla_error error
    cdef cyxla_plugin *c_plugin = NULL if plugin is None else plugin.plugin
    cdef size_t index
    cdef int32_t status
    error.struct_size = sizeof(error)
    targets = []
    for index in range(cyxla_ffi_target_count()):
        info.struct_size = sizeof(info)
        with nogil:  # the plugin may ask handlers for their versions
            status = cyxla_ffi_target_get_info(index, c_plugin, &info, &error)
        check(status, &error)
        targets.append({
            "name": info.name.decode(),
            "platform": info.platform.decode(),
            "ffi_minor": info.ffi_minor,
            "has_state": bool(info.has_state),
            "state": ("not seen", "registered", "bridged", "failed")[info.state],
            "failure": None if info.failure == NULL else info.failure.decode("utf-8", "replace"),
        })
    return targets


# ---- executable ----

cdef class Handle:
    def __dealloc__(self):
        cyxla_executable_destroy(self.executable)


def compile_program(
        Plugin plugin not None, program, bytes stablehlo, options, engine="auto") -> Executable:
    """Compiles `stablehlo`, which must have the signature of `program`.

    Raises StatusError.  The GIL is released meanwhile.
    """
    cdef Signature signature = Signature(program)
    cdef Options c_options = Options(options)
    cdef Handle handle = Handle()
    cdef int32_t c_engine = ENGINES[engine]
    cdef int32_t status
    cdef cyxla_error error
    error.struct_size = sizeof(error)
    signature.program.code = <const char *>stablehlo
    signature.program.code_size = len(stablehlo)
    with nogil:
        status = cyxla_compile(plugin.plugin, &signature.program, c_options.items, c_options.count,
                               c_engine, &handle.executable, &error)
    check(status, &error)
    return make_executable(handle, program)


def load_executable(Plugin plugin, program, bytes data, engine="auto") -> Executable:
    """Loads what `Executable.serialize` or jaxlib wrote, with the signature of `program`.

    Without a plugin (None), only the direct engine may run it; without a program (None), the signature is
    the executable's own.  The bytes are native code: load only what you would run.  Raises StatusError.
    The GIL is released meanwhile.
    """
    cdef Signature signature = None if program is None else Signature(program)
    cdef const cyxla_program *c_program = NULL if program is None else &signature.program
    cdef cyxla_plugin *c_plugin = NULL if plugin is None else plugin.plugin
    cdef Handle handle = Handle()
    cdef const char *start = data
    cdef size_t size = len(data)
    cdef int32_t c_engine = ENGINES[engine]
    cdef int32_t status
    cdef cyxla_error error
    error.struct_size = sizeof(error)
    with nogil:
        status = cyxla_executable_deserialize(c_plugin, c_program, start, size, c_engine,
                                              &handle.executable, &error)
    check(status, &error)
    return make_executable(handle, program)


cdef Executable make_executable(Handle handle, program):
    """`program` gives the names, if there is one."""
    cdef cyxla_executable_info info = executable_info(handle)
    cdef Executable executable = Executable.__new__(Executable)
    executable.handle = handle
    executable.spec.executable = handle.executable
    executable.spec.input_count = info.input_count
    executable.spec.output_count = info.output_count
    executable.spec.output_bytes = info.output_sizes
    if program is None:
        executable.name = info.name.decode("utf-8", "replace")
        executable.platform = "cpu"  # the direct engine has told the signature
        executable.input_types = array_types(info.inputs, info.input_count, "arg{}")
        executable.output_types = array_types(info.outputs, info.output_count, "result[{}]")
    else:
        executable.name = program.name
        executable.platform = program.platform
        executable.input_types = program.inputs
        executable.output_types = program.outputs
        executable.program = program if isinstance(program, Program) else None
    executable.output_bytes = tuple(array_type.nbytes for array_type in executable.output_types)
    executable.workaround = None if info.workaround == NULL else info.workaround.decode()
    executable.engine = "direct" if info.engine == CYXLA_ENGINE_DIRECT else "pjrt"
    executable.engine_reason = info.engine_reason.decode("utf-8", "replace")
    executable.thunks = None if info.thunks == NULL else {
        info.thunks[i].kind.decode(): info.thunks[i].count for i in range(info.thunk_kind_count)
    }
    return executable


def set_history(Executable executable not None, statistics, origin) -> None:
    """Tells an executable how it was made: its CompileStatistics, and its Origin."""
    executable.statistics = statistics
    executable.origin = origin


cdef tuple array_types(const cyxla_array_type *types, size_t count, str names):
    """Inputs or outputs; `names` is how those are called that have no name of their own."""
    return tuple(
        ArrayType((types[i].name or b"").decode() or names.format(i),
                  from_number(types[i].element_type),
                  tuple(types[i].dimensions[j] for j in range(types[i].rank)))
        for i in range(count))


# ---- program files ----

def write_file(path: str, contents) -> None:
    """Writes a program file of `contents`, a cyxla.files.Contents.  Raises StatusError."""
    cdef bytes encoded_path = c_text(path, "the path of a program file")
    cdef bytes platform = c_text(contents.platform, "a platform")
    cdef bytes fingerprint = c_text(contents.fingerprint, "a fingerprint")
    cdef bytes stablehlo = contents.stablehlo
    cdef bytes executable = contents.executable
    cdef Signature signature = Signature(contents)
    cdef Options options = Options(contents.options)
    cdef Texts targets = Texts(contents.targets)
    cdef Texts producers = Texts(flat(contents.producers))
    cdef Texts metadata = Texts(flat(contents.metadata))
    cdef const char *c_path = encoded_path
    cdef cyxla_file_info info
    cdef int32_t status
    cdef cyxla_error error
    error.struct_size = sizeof(error)
    signature.program.code = <const char *>stablehlo
    signature.program.code_size = len(stablehlo)
    info.struct_size = sizeof(info)
    info.platform = platform
    info.executable = <const char *>executable
    info.executable_size = len(executable)
    info.fingerprint = fingerprint
    info.cpu_features = NULL  # the executable tells them
    info.options = options.items
    info.option_count = options.count
    info.targets = targets.items
    info.target_count = targets.count
    # An entry is two texts, as pairs of which they lie in the list.
    info.producers = <cyxla_file_entry *>producers.items
    info.producer_count = producers.count // 2
    info.metadata = <cyxla_file_entry *>metadata.items
    info.metadata_count = metadata.count // 2
    with nogil:
        status = cyxla_file_write(c_path, &signature.program, &info, &error)
    check(status, &error)


cdef list flat(dict entries):
    return [text for entry in entries.items() for text in entry]


def read_file(path: str) -> dict:
    """What is in a program file: the members of a cyxla.files.Contents.  Raises StatusError."""
    cdef bytes encoded_path = c_text(path, "the path of a program file")
    cdef const char *c_path = encoded_path
    cdef cyxla_file *file = NULL
    cdef int32_t status
    cdef cyxla_error error
    error.struct_size = sizeof(error)
    with nogil:
        status = cyxla_file_open(c_path, &file, &error)
    check(status, &error)
    try:
        return file_contents(file)
    finally:
        cyxla_file_close(file)


cdef dict file_contents(const cyxla_file *file):
    cdef const cyxla_program *program = cyxla_file_get_program(file)
    cdef cyxla_file_info info
    info.struct_size = sizeof(info)
    cyxla_file_get_info(file, &info)
    return {
        "name": program.name.decode(),
        "platform": info.platform.decode(),
        "inputs": array_types(program.inputs, program.input_count, "arg{}"),
        "outputs": array_types(program.outputs, program.output_count, "result[{}]"),
        "stablehlo": (<const char *>program.code)[:program.code_size],
        "executable": (<const char *>info.executable)[:info.executable_size],
        "fingerprint": info.fingerprint.decode(),
        "cpu_features": info.cpu_features.decode(),
        "options": {info.options[i].name.decode(): option_value_of(&info.options[i])
                    for i in range(info.option_count)},
        "targets": tuple(info.targets[i].decode() for i in range(info.target_count)),
        "producers": entries(info.producers, info.producer_count),
        "metadata": entries(info.metadata, info.metadata_count),
    }


cdef dict entries(const cyxla_file_entry *items, size_t count):
    return {items[i].name.decode(): items[i].value.decode() for i in range(count)}


cdef option_value_of(const cyxla_option *option):
    """The value of an option of a file, where lists can't be."""
    if option.kind == CYXLA_OPTION_BOOL:
        return bool(option.value.boolean)
    if option.kind == CYXLA_OPTION_INT64:
        return option.value.int64
    if option.kind == CYXLA_OPTION_DOUBLE:
        return option.value.float64
    return option.value.string.decode()


cdef cyxla_executable_info executable_info(Handle handle) except *:
    cdef cyxla_executable_info info
    info.struct_size = sizeof(info)
    cyxla_executable_get_info(handle.executable, &info)
    return info


cdef class Executable:
    """A compiled program, made by `cyxla.compile_program` or `cyxla.load_executable`.

    Attributes:
        name, platform: those of the program.
        input_types, output_types: an ArrayType (name, element type, shape) for each input and output.
        output_bytes: the size of each output in bytes.
        workaround: what cyxla did about a known fault of the plugin, or None.
        engine: what runs it, "direct" or "pjrt".
        engine_reason: why it is this engine.
        thunks: how often each kind of thunk, a step of XLA's CPU runtime, occurs in it; None where that
            can't be told.
        program: the Program that it was made of; None where a file holds only its executable.
        statistics: the CompileStatistics that tell how it was made.

    Any number of threads may run it at once.  It is freed by `close`, by the end of a `with` block, or
    with the last reference to it; runs under way in other threads end properly.
    """

    def __init__(self):
        raise TypeError("an Executable is made by cyxla.compile_program")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __repr__(self):
        state = "" if self.spec.executable != NULL else ", closed"
        return (f"<Executable {self.name} for {self.platform}: "
                f"({', '.join(map(str, self.input_types))}) -> "
                f"({', '.join(map(str, self.output_types))}){state}>")

    def close(self):
        """Frees the executable; nothing happens if it is closed already."""
        self.spec.executable = NULL
        self.spec.output_bytes = NULL
        self.handle = None

    @property
    def closed(self):
        """Whether the executable has been closed."""
        return self.spec.executable == NULL

    @property
    def code_bytes(self):
        """Bytes of machine code, None where the plugin does not tell."""
        return size_or_none(executable_info(open_handle(self)).code_size)

    @property
    def temp_bytes(self):
        """Bytes of temporaries during one run, None where the plugin does not tell."""
        return size_or_none(executable_info(open_handle(self)).temp_size)

    def serialize(self):
        """The executable as bytes, for the same plugin on a machine like this one.

        With XLA's CPU plugins this must come before the first run, where the program sorts.
        """
        cdef Handle handle = open_handle(self)
        cdef void *data
        cdef size_t size
        cdef int32_t status
        cdef cyxla_error error
        error.struct_size = sizeof(error)
        with nogil:
            status = cyxla_executable_serialize(handle.executable, &data, &size, &error)
        check(status, &error)
        try:
            return (<const char *>data)[:size]
        finally:
            cyxla_aligned_free(data)

    def save(self, path):
        """Writes a program file: the executable, and the program that it was made of.

        `cyxla.load` makes it runnable, in C `cyxla_load`, on machines like this one without compiling.

        With PJRT's engine this must come before the first run, where the program sorts.

        Raises StatusError: the file can't be written, or the plugin can't serialize.
        """
        from cyxla import files  # it imports this module

        files.save_executable(self, path)

    def export(self, directory, name, producer=None):
        """Writes the executable as plain C, which needs neither XLA nor cyxla to run.

        A header `name`.h, a file `name`.c and assembler text `name`_kernels.S come to be in `directory`, which
        must be there.  The code is for the processor that the executable was compiled for, which is the one at
        hand unless something else was asked for: see `cyxla.export`, which also calls the C compiler.

        `name` is that of the C function; `producer`, for a comment, tells what compiled the executable.

        Raises StatusError: it is not made of kernels and control flow alone, the name is none for a C
        function, or a file can't be written.
        """
        cdef Handle handle = open_handle(self)
        cdef bytes encoded_directory = c_text(os.fsdecode(directory), "a directory")
        cdef bytes encoded_name = c_text(name, "a name")
        cdef bytes encoded_producer = b"" if producer is None else c_text(producer, "a producer")
        cdef cyxla_export_options options
        cdef int32_t status
        cdef cyxla_error error
        error.struct_size = sizeof(error)
        options.struct_size = sizeof(options)
        options.directory = encoded_directory
        options.name = encoded_name
        options.producer = NULL if producer is None else <const char *>encoded_producer
        with nogil:
            status = cyxla_export(handle.executable, &options, &error)
        check(status, &error)

    def run(self, args):
        """Runs once and returns the results, a list of NumPy arrays.

        `args` has one array-like for each input, in order.  They are converted to the program's types
        where NumPy's casting rule "same_kind" allows it (Python numbers: where their value fits); a
        shape must be the input's.  The GIL is released while the program runs.

        Raises ArgumentError (number of arguments, shapes, values out of range), ArgumentTypeError (casts),
        StatusError.
        """
        cdef Handle handle = open_handle(self)
        if len(args) != len(self.input_types):
            raise ArgumentError(f"{self.name} takes {len(self.input_types)} arguments, not {len(args)}")
        arrays = [convert(arg, array_type, self.name)
                  for arg, array_type in zip(args, self.input_types)]
        results = [new_array(array_type, size)
                   for array_type, size in zip(self.output_types, self.output_bytes)]
        # Not self.spec: it may be closed.
        run_arrays(handle, arrays, self.input_types, results, self.engine == "direct")
        return results


cdef Handle open_handle(Executable executable):
    """The handle, held for as long as the caller needs it: another thread may close the executable."""
    handle = executable.handle
    if handle is None:
        raise ArgumentError(f"the executable {executable.name} is closed")
    return handle


cdef size_or_none(int64_t size):
    return None if size < 0 else size


cdef new_array(array_type, size_t size):
    """An array for a result; a large one is aligned, so that the direct engine writes in place."""
    if size < IN_PLACE_SIZE:
        return np.empty(array_type.shape, array_type.dtype)
    return aligned_array(array_type, size)


cdef aligned_array(array_type, size_t size):
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start:start + size].view(array_type.dtype).reshape(array_type.shape)


cdef int run_arrays(Handle handle, list arrays, tuple input_types, list results,
                    bint zero_copy) except -1:
    cdef size_t input_count = len(arrays), output_count = len(results), i
    cdef Input *inputs = <Input *>PyMem_Calloc(input_count + 1, sizeof(Input))
    cdef void **outputs = <void **>PyMem_Calloc(output_count + 1, sizeof(void *))
    cdef ProgramSpec spec = ProgramSpec(handle.executable, input_count, output_count, NULL)
    cdef int status
    try:
        if inputs == NULL or outputs == NULL:
            raise MemoryError  # not tested: lack of memory can't be provoked here
        for i in range(input_count):
            inputs[i].data = <void *><size_t>arrays[i].ctypes.data
            inputs[i].type = input_types[i].element_type.number
            inputs[i].size = arrays[i].size
            if <size_t>arrays[i].nbytes >= IN_PLACE_SIZE:
                zero_copy = True
        for i in range(output_count):
            outputs[i] = <void *><size_t>results[i].ctypes.data
        with nogil:
            status = execute(&spec, inputs, outputs, zero_copy)
        if status:
            check(thread_error.code, &thread_error)
    finally:
        PyMem_Free(inputs)
        PyMem_Free(outputs)
    return 0


cdef class Arrays:
    """Arrays for bound calls, and their addresses."""
    cdef Input *inputs
    cdef void **outputs
    cdef list keep

    def __cinit__(self, Executable executable, args):
        self.keep = []
        self.inputs = <Input *>PyMem_Calloc(len(executable.input_types) + 1, sizeof(Input))
        self.outputs = <void **>PyMem_Calloc(len(executable.output_types) + 1, sizeof(void *))
        if self.inputs == NULL or self.outputs == NULL:
            raise MemoryError  # not tested: lack of memory can't be provoked here
        for i, (arg, array_type) in enumerate(zip(args, executable.input_types, strict=True)):
            array = self.add(array_type)
            array[...] = convert(arg, array_type, executable.name)
            self.inputs[i].data = <void *><size_t>array.ctypes.data
            self.inputs[i].type = array_type.element_type.number
            self.inputs[i].size = array.size
        for i, array_type in enumerate(executable.output_types):
            self.outputs[i] = <void *><size_t>self.add(array_type).ctypes.data

    def __dealloc__(self):
        PyMem_Free(self.inputs)
        PyMem_Free(self.outputs)

    cdef add(self, array_type):
        array = aligned_array(array_type, array_type.nbytes)
        self.keep.append(array)
        return array


def time_calls(Executable executable not None, args, size_t samples, size_t count):
    """Runs `count` bound calls for each sample, on aligned arrays; returns ns per call of each.

    Raises what `Executable.run` does.  The GIL is released meanwhile.
    """
    cdef Handle handle = open_handle(executable)
    cdef Arrays arrays = Arrays(executable, args)
    cdef BoundCall *bound = NULL
    cdef double[::1] times = np.zeros(samples)
    cdef size_t i, j
    cdef bint failed = False
    cdef cyxla_error error
    error.struct_size = sizeof(error)
    error.code = 0
    check(cyxla_bind(handle.executable, arrays.inputs, arrays.outputs, &bound, &error), &error)
    with nogil:
        for i in range(samples):
            times[i] = now()
            for j in range(count):
                failed |= cyxla_bound_call_execute(bound, &error) != 0
            times[i] = (now() - times[i]) / count
        cyxla_bound_call_destroy(bound)
    check(error.code if failed else 0, &error)
    return np.asarray(times)


cdef double now() noexcept nogil:
    """ns since some point in time."""
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return 1e9 * time.tv_sec + time.tv_nsec


def convert(arg, array_type, function: str):
    """`arg` as a C-contiguous array of `array_type`, without a copy where it is one already.

    `function` is named in messages.
    """
    dtype = array_type.dtype
    if is_number(arg):
        array = convert_number(arg, array_type, function)
    else:
        if np.ma.is_masked(arg):
            raise ArgumentTypeError(f"{function}: argument {array_type} can't be made of a masked array")
        try:
            array = np.asarray(arg)
        except ValueError as error:  # nested lists of different lengths
            raise ArgumentError(f"{function}: argument {array_type} is no array: {error}") from error
    if not castable(array.dtype, dtype):
        raise ArgumentTypeError(
            f"{function}: argument {array_type} can't be made of {array.dtype}: "
            f"the cast from {array.dtype} to {dtype} is not of the same kind")
    if array.shape != array_type.shape:
        raise ArgumentError(
            f"{function}: argument {array_type} can't be made of an array of shape {array.shape}")
    return np.require(array, dtype, "C")


cdef bint castable(source, target):
    """NumPy's rule "same_kind", but for complex numbers to bfloat16, which it lets pass."""
    return np.can_cast(source, target, "same_kind") and (source.kind != "c" or target.kind == "c")


cdef bint is_number(arg):
    return type(arg) in (bool, int, float, complex)


cdef convert_number(arg, array_type, function):
    """A Python number has a kind and no size: like JAX, give it the size of where it goes."""
    dtype = array_type.dtype
    if not castable(np.result_type(type(arg)), dtype) and not (
            type(arg) is int and dtype.kind == "u"):
        return np.asarray(arg)  # refused by the caller, as any array is
    try:
        return np.array(arg, dtype)
    except OverflowError:
        raise ArgumentError(
            f"{function}: argument {array_type} can't hold the value {arg}") from None
