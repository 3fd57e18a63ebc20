"""The function of the examples in C, C++, Fortran and Rust, which load it from a program file:

python -m cyxla compile examples.rosenbrock:value_and_gradient --input 'f64[10]' -o rosenbrock.cyxla
"""

import jax
import jax.numpy as jnp


def value(x):
    """Rosenbrock's function: 0 where all x are 1."""
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


value_and_gradient = jax.value_and_grad(value)
