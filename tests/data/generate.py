"""Makes the executables in this folder; README.md says what they are and how to call this.

Plugins are called by jaxlib rather than by cyxla, which would mend what they compile.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
from jax import lax
from jaxlib import xla_client

try:
    import lammps_jax_pjrt_cpu
except ImportError:
    lammps_jax_pjrt_cpu = None

FOLDER = Path(__file__).parent


def main():
    jax.config.update("jax_enable_x64", True)
    # The compiler's version, in the names of files: "0.12.0.1" is a package of jaxlib 0.12.0.
    version = ".".join(jaxlib.__version__.split(".")[:3])
    client = jax.devices("cpu")[0].client
    if lammps_jax_pjrt_cpu and version == "0.11.2":
        plugin = create_plugin_client()
        make_arctans(client, plugin)
        make_programs(plugin, "plugin-0.11.2", set(PROGRAMS) - {"cholesky", "random"})
    make_programs(client, f"jaxlib-{version}", BY_EACH_JAXLIB)
    if version == "0.10.2":
        make_programs(client, f"jaxlib-{version}", {"random"})


# ---- programs of every kind of thunk, in programs/ ----


def sine(x):
    return jnp.sin(x) * 2


def loop(x, end):
    """Of unknown length, with a branch that is too large for a kernel."""

    def body(state):
        i, y = state
        branches = [lambda y: y * 1.5, jnp.sort, lambda y: y + y]
        return i + 1, lax.switch(i % 3, branches, y)

    i, y = lax.while_loop(lambda state: (state[0] < end) & (state[1].sum() < 1000), body, (0, x))
    return i, lax.cond(y[0] < 5, jnp.sort, lambda y: y - 1, y)


def sort(x, keys):
    """By a comparator; by a direction, with a value beside the key; along the first dimension."""
    return jnp.sort(x), lax.sort((keys, x), num_keys=1, is_stable=False), lax.sort(x, dimension=0)


def constants():
    values = {
        "bool": [1, 0, 1],
        "int8": [-1, 2, 3],
        "uint8": [255, 1],
        "int16": [-3, 4],
        "uint16": [65535, 4],
        "int32": [-5, 6],
        "uint32": [2**32 - 1, 1],
        "int64": [-(2**63), 7],
        "uint64": [2**64 - 1, 3],
        "float16": [1.5, -2],
        "bfloat16": [1.5, -7],
        "float32": [[1, 2], [3, 4]],
        "float64": [0.1, -0.0],
        "complex64": [1 + 2j, 3 - 4j],
        "complex128": [1 - 1j, 2j],
    }
    return tuple(jnp.array(np.array(value, dtype)) for dtype, value in values.items())


def several(x, y):
    """Outputs that are tuples inside of tuples, an input among them."""
    return {"sum": x + y, "product": (x * y, x), "total": y.sum()}


def unused(x, y):
    return y * 2


def cholesky(a):
    return jnp.linalg.cholesky(a)


def top_k(x):
    return lax.top_k(x, 3)


def donated(x, y):
    return x + y


def donated_both(x, y):
    return x + 1, y * 3


def dot(a, b):
    return lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))))


def empty(x):
    return x + 1


def fft(x):
    return jnp.fft.fft(x), x * 2


def random():
    """The numbers follow from a state that XLA keeps and always starts alike, in jaxlib 0.10.2."""
    return lax.rng_uniform(np.int32(0), np.int32(1000), (4,))


def numbers(*shape, dtype=np.float32, seed=0):
    return (10 * np.random.default_rng(seed).random(shape)).astype(dtype)


# Functions and their inputs, all small: the tests keep the results.
PROGRAMS = {
    "sine": (sine, numbers(8)),
    "loop": (loop, numbers(5), np.int32(7)),
    "sort": (sort, numbers(4, 8), numbers(4, 8, dtype=np.int32)),
    "constants": (constants,),
    "several": (several, numbers(3, dtype=float), numbers(3, dtype=float, seed=1)),
    "unused": (unused, np.float32(1), np.float32(2)),
    "cholesky": (cholesky, np.eye(3) * 2 + 0.5),
    "top_k": (top_k, numbers(2, 8)),
    "donated": (donated, numbers(4), numbers(4, seed=1)),
    "donated_both": (donated_both, numbers(16), numbers(16, seed=1)),
    "dot": (dot, numbers(3, 4, 5, dtype=np.int32), numbers(3, 5, 6, dtype=np.int32)),
    "empty": (empty, numbers(0, 3)),
    "fft": (fft, numbers(8, dtype=np.complex64)),
    "random": (random,),
}
DONATED = {"donated": (0,), "donated_both": (0, 1)}
BY_EACH_JAXLIB = {"sine", "loop", "sort", "constants", "cholesky"}


def make_programs(client, compiler, names):
    # As cyxla compiles for its direct engine: without fusions that call a library.
    options = {"xla_cpu_experimental_ynn_fusion_type": ""}
    for name in sorted(names):
        function, *arguments = PROGRAMS[name]
        jitted = jax.jit(function, keep_unused=True, donate_argnums=DONATED.get(name, ()))
        data = serialized(client, jitted.lower(*arguments), options)
        if compiler.startswith("plugin"):
            data = without_prefix(data)
        (FOLDER / "programs" / f"{name}-{compiler}.bin").write_bytes(data)
        write_once(f"{name}.in", arguments)
        if name != "random":  # whose numbers follow from a count of programs in the process too
            write_once(f"{name}.out", jax.tree.leaves(jax.jit(function)(*arguments)))


def write_once(name, arrays):
    """All compilers' results are the same bits, or one of the files would be of no use."""
    data = b"".join(np.asarray(array).tobytes() for array in arrays)
    path = FOLDER / "programs" / name
    if path.exists() and path.read_bytes() != data:
        raise ValueError(f"{name} differs from that of another version")
    path.write_bytes(data)


# ---- what plugins make of arctan ----

SIZE = 64


def make_arctans(jaxlib_client, plugin):
    for name, client, function, dtype, *vector_width in (
        ("plugin_arctan_f32", plugin, jnp.arctan, np.float32),
        ("plugin_arctan_f64", plugin, jnp.arctan, np.float64),
        ("plugin_both_arctans", plugin, both_arctans, np.float32),
        ("plugin_arctan_v16f32", plugin, jnp.arctan, np.float32, 512),
        ("plugin_arctan_v8f64", plugin, jnp.arctan, np.float64, 512),
        ("plugin_sine_f32", plugin, jnp.sin, np.float32),
        ("jaxlib_arctan_f32", jaxlib_client, jnp.arctan, np.float32),
    ):
        lowered = jax.jit(function).lower(jax.ShapeDtypeStruct((SIZE,), dtype))
        options = {"xla_cpu_prefer_vector_width": str(vector_width[0])} if vector_width else {}
        data = without_prefix(serialized(client, lowered, options))
        (FOLDER / f"{name}.bin").write_bytes(data)


def both_arctans(x):
    return jnp.arctan(x), jnp.arctan(x.astype(float))


# ---- compiling ----


def create_plugin_client():
    path = Path(lammps_jax_pjrt_cpu.__file__).with_name("pjrt_c_api_cpu_plugin.so")
    xla_client.load_pjrt_plugin_dynamically("plugin", str(path))
    xla_client.initialize_pjrt_plugin("plugin")
    return xla_client.make_c_api_client("plugin", {"cpu_device_count": 1})


def serialized(client, lowered, debug_options):
    """The executable, as it has to be: before it has run."""
    options = xla_client.CompileOptions()
    options.env_option_overrides = list(debug_options.items())
    devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
    # Text has no locations: the bytes don't depend on where this file is.
    return client.compile_and_load(lowered.as_text(), devices, options).serialize()


def without_prefix(data):
    """jaxlib puts a message of its own in front, with its size as a varint."""
    size = shift = at = 0
    while True:
        byte = data[at]
        at += 1
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return data[at + size :]


if __name__ == "__main__":
    main()
