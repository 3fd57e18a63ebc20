"""Makes a C library of a JAX function, which a C program without Python, XLA or cyxla calls:

python examples/export/export.py build
cc examples/export/relax.c -Ibuild build/libchain_energy.a -lm -o relax && ./relax
"""

import sys

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp

import cyxla


def chain_energy(positions, stiffness):
    """A chain of particles in three dimensions, whose bonds want to be of length 1."""
    bonds = positions[1:] - positions[:-1]
    lengths = jnp.sqrt(jnp.sum(bonds**2, axis=1))
    return 0.5 * stiffness * jnp.sum((lengths - 1) ** 2)


def energy_and_gradient(positions, stiffness):
    energy, gradient = jax.value_and_grad(chain_energy)(positions, stiffness)
    return {"energy": energy, "gradient": gradient}


positions = jax.ShapeDtypeStruct((8, 3), jnp.float64)
stiffness = jax.ShapeDtypeStruct((), jnp.float64)
program = cyxla.lower(energy_and_gradient, [positions, stiffness])
exported = cyxla.export(program, sys.argv[1], name="chain_energy")
print(exported.header)
