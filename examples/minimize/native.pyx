# cython: language_level=3, boundscheck=False
"""NLopt calls a cyxla executable: no Python, no GIL."""

from libc.math cimport INFINITY
from posix.dlfcn cimport RTLD_LAZY, dlopen, dlsym
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from cyxla._pjrt cimport PJRT_Buffer_Type_F64
from cyxla._runtime cimport ABI_VERSION, Executable, Input, ProgramSpec, execute

import cyxla
import nlopt

cyxla.check_abi(ABI_VERSION)

# The C API of NLopt, as far as it is used here (nlopt.readthedocs.io, "NLopt Reference").  Its package
# on PyPI brings the library without a header.
ctypedef double (*Function)(unsigned n, const double *x, double *gradient, void *data) noexcept nogil
ctypedef void *(*Create)(int algorithm, unsigned n) noexcept nogil
ctypedef int (*SetObjective)(void *optimizer, Function function, void *data) noexcept nogil
ctypedef int (*SetTolerance)(void *optimizer, double tolerance) noexcept nogil
ctypedef int (*Optimize)(void *optimizer, double *x, double *value) noexcept nogil
ctypedef void (*Destroy)(void *optimizer) noexcept nogil

cdef void *library = dlopen(nlopt._nlopt.__file__.encode(), RTLD_LAZY)
cdef Create nlopt_create = <Create>dlsym(library, "nlopt_create")
cdef SetObjective nlopt_set_min_objective = <SetObjective>dlsym(library, "nlopt_set_min_objective")
cdef SetTolerance nlopt_set_ftol_rel = <SetTolerance>dlsym(library, "nlopt_set_ftol_rel")
cdef Optimize nlopt_optimize = <Optimize>dlsym(library, "nlopt_optimize")
cdef Destroy nlopt_destroy = <Destroy>dlsym(library, "nlopt_destroy")


cdef struct Objective:
    const ProgramSpec *spec
    long calls
    double seconds
    bint failed


cdef double now() noexcept nogil:
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec + 1e-9 * time.tv_nsec


cdef double objective(unsigned n, const double *x, double *gradient, void *data) noexcept nogil:
    """What NLopt calls: the value is the program's first output, the gradient its second."""
    cdef Objective *self = <Objective *>data
    cdef Input position
    cdef double value
    cdef void *outputs[2]
    position.data = x
    position.type = PJRT_Buffer_Type_F64
    position.size = n
    outputs[0] = &value
    outputs[1] = gradient  # NULL where NLopt wants none: then that output is dropped
    cdef double start = now()
    if execute(self.spec, &position, outputs, False):
        self.failed = True
        return INFINITY
    self.seconds += now() - start
    self.calls += 1
    return value


def minimize(Executable executable, double[:, ::1] starts):
    """Runs L-BFGS from each row of `starts`, which it overwrites with the minima."""
    cdef Objective self
    cdef double value, lowest = INFINITY, start
    cdef Py_ssize_t i
    cdef int algorithm = nlopt.LD_LBFGS
    self.spec, self.calls, self.seconds, self.failed = &executable.spec, 0, 0, False
    with nogil:
        start = now()
        optimizer = nlopt_create(algorithm, <unsigned>starts.shape[1])
        nlopt_set_min_objective(optimizer, objective, &self)
        nlopt_set_ftol_rel(optimizer, 1e-12)
        for i in range(starts.shape[0]):
            nlopt_optimize(optimizer, &starts[i, 0], &value)
            lowest = min(lowest, value)
        nlopt_destroy(optimizer)
    if self.failed:
        raise RuntimeError(cyxla.error_info()[1])
    return {"lowest": lowest, "calls": self.calls, "seconds": self.seconds,
            "total_seconds": now() - start}
