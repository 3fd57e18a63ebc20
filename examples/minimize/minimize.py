"""Minimise a JAX objective with NLopt, a library written in C, without Python in the loop.

    pip install '.[cpu,examples]'
    python examples/minimize/minimize.py

The objective is the energy of 13 atoms that attract and repel each other (Lennard-Jones), as a
function of their 39 coordinates; JAX differentiates it.  NLopt's L-BFGS calls the compiled function
from C, with the GIL released, for 200 starting points around the known best cluster.
"""

import tempfile

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
import numpy as np
import pyximport

import cyxla

ATOMS = 13


def energy(x):
    """Lennard-Jones energy, in units of the well depth, of atoms at x[3 * i : 3 * i + 3]."""
    atoms = x.reshape(ATOMS, 3)
    i, j = np.triu_indices(ATOMS, 1)
    inverse_square = 1 / jnp.sum((atoms[i] - atoms[j]) ** 2, axis=1)
    return 4 * jnp.sum(inverse_square**6 - inverse_square**3)


def icosahedron():
    """An atom in the middle of 12 others: the shape of the best cluster."""
    golden = (1 + 5**0.5) / 2
    corners = [(0, a, b * golden) for a in (-1, 1) for b in (-1, 1)]
    corners = [np.roll(corner, shift) for corner in corners for shift in range(3)]
    return np.concatenate([[(0, 0, 0)], corners]).ravel() * 0.58


def main():
    program = cyxla.lower(jax.value_and_grad(energy), [np.zeros(3 * ATOMS)], name="energy")
    executable, statistics = cyxla.compile_program(program)
    print(f"compiled {program} in {statistics.seconds:.2f} s")

    # native.pyx is compiled here and now; a real project lets Meson or setuptools do it.
    pyximport.install(
        build_dir=tempfile.mkdtemp(),
        language_level=3,
        setup_args={"include_dirs": cyxla.get_include()},
    )
    import native

    starts = icosahedron() + np.random.default_rng(0).normal(0, 0.2, (200, 3 * ATOMS))
    result = native.minimize(executable, starts)
    print(f"lowest energy     {result['lowest']:.6f} (the known minimum is -44.326801)")
    print(f"calls             {result['calls']:,}")
    print(f"ns per call       {result['seconds'] / result['calls'] * 1e9:,.0f}")
    print(
        f"ns per call, with what NLopt does between the calls   "
        f"{result['total_seconds'] / result['calls'] * 1e9:,.0f}"
    )
    assert abs(result["lowest"] + 44.326801) < 1e-5


if __name__ == "__main__":
    main()
