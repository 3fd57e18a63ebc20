"""CUTEst problems as sif2jax has them: the functions that optimisers call.

sif2jax takes seconds to import, so this module imports it late.
"""

import sys
import types
import zlib

import jax
import jax.numpy as jnp
import numpy as np

# Up to 100 variables, Hessians that compile fast, spread over the classes of problems.

#: Without constraints, or with bounds only.
UNCONSTRAINED = """
    BQP1VAR BRANIN CLIFF CLUSTERLS CUBE DENSCHNA DENSCHNE DEVGLA1 DGOSPEC DIAGIQB EGGCRATE
    EGGCRATEB ELATVIDUB EXPFIT GROWTHLS HATFLDFL HATFLDFLS HILBERTA HIMMELBH HS1 HS4 HS5
    LEVYMONT10 LOGHAIRY MARATOSB MGH10LS PALMER5D PALMER7E PRICE3 PRICE4B QINGB ROSENBR S308
    S368 WAYSEA2 ZANGWIL2
""".split()

#: With constraints, and systems of equations.
CONSTRAINED = """
    BATCH BIGGSC4 BT1 BT13 BT5 BT9 CSFI1 DEGENQPC DUALC1 DUALC5 EGGCRATENE ELATVIDUNE GOFFIN
    HATFLDF HATFLDFLNE HS12 HS16 HS43 HS44NEW HS47 HS53 HS57 HS80 HS88 HS90 LEVYMONE5 LSC1
    MADSEN MATRIX2 MISRA1A ODFITS OET1 OET5 PALMER3ANE PALMER3BNE PALMER5BNE PALMER6ANE POLAK2
    POLAK6 POWELLSQ RECIPE S365 VARDIMNE VIBRBEAMNE
""".split()


#: One problem takes ten times as long to import as all others together: an array is made by 36,000
#: additions of a number each.
_SLOW = "sif2jax.cutest._constrained_minimisation.cleuven7"


def problems_by_name(with_slow=False):
    """All of them, the first of each name; `with_slow`: CLEUVEN7 too, which takes half a minute."""
    if not with_slow:
        slow = types.ModuleType(_SLOW)
        slow.CLEUVEN7 = _Nothing
        sys.modules.setdefault(_SLOW, slow)
    with jax.enable_x64(True):  # constants are made at import, and are of 64 bits
        import sif2jax
    found = {}
    for problem in sif2jax.problems:
        if not isinstance(problem, _Nothing):
            found.setdefault(problem.name, problem)
    return found


class _Nothing:
    """In the place of a problem."""


def size(problem):
    return sum(np.size(each) for each in jax.tree.leaves(problem.y0))


def start(problem):
    """Its starting point moved a little, since at that point itself much is zero."""
    generator = np.random.default_rng(zlib.crc32(problem.name.encode()))
    move = lambda y: np.asarray(y) + generator.uniform(-1e-3, 1e-3, np.shape(y))  # noqa: E731
    return jax.tree.map(move, problem.y0)


def functions_of(problem):
    """By name, each a function of a point.  Problems that are equations have no objective."""
    objective = lambda y: problem.objective(y, problem.args)  # noqa: E731
    constraints = getattr(problem, "constraint", None)
    if _is_equations(problem):
        objective = lambda y: _squares(constraints(y))  # noqa: E731
    found = {
        "objective": objective,
        "gradient": jax.grad(objective),
        "hessian": jax.hessian(objective),
    }
    if constraints:
        found["constraints"] = constraints
    return found


def _is_equations(problem):
    return any(each.__name__ == "AbstractNonlinearEquations" for each in type(problem).__mro__)


def _squares(residuals):
    return sum(jnp.sum(each**2) for each in jax.tree.leaves(residuals))
