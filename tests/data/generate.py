"""Makes the executables in this folder; README.md says what they are.

The plugin is called by jaxlib rather than by cyxla, which would mend what it compiles.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import lammps_jax_pjrt_cpu
import numpy as np
from jaxlib import xla_client

SIZE = 64
FOLDER = Path(__file__).parent
PLUGIN = Path(lammps_jax_pjrt_cpu.__file__).with_name("pjrt_c_api_cpu_plugin.so")


def main():
    jax.config.update("jax_enable_x64", True)
    plugin = create_plugin_client()
    jaxlib = jax.devices("cpu")[0].client
    for name, *arguments in (
        ("plugin_arctan_f32", plugin, jnp.arctan, np.float32),
        ("plugin_arctan_f64", plugin, jnp.arctan, np.float64),
        ("plugin_both_arctans", plugin, both_arctans, np.float32),
        ("plugin_arctan_v16f32", plugin, jnp.arctan, np.float32, 512),
        ("plugin_arctan_v8f64", plugin, jnp.arctan, np.float64, 512),
        ("plugin_sine_f32", plugin, jnp.sin, np.float32),
        ("jaxlib_arctan_f32", jaxlib, jnp.arctan, np.float32),
    ):
        (FOLDER / f"{name}.bin").write_bytes(compiled(*arguments))


def both_arctans(x):
    return jnp.arctan(x), jnp.arctan(x.astype(float))


def create_plugin_client():
    xla_client.load_pjrt_plugin_dynamically("plugin", str(PLUGIN))
    xla_client.initialize_pjrt_plugin("plugin")
    return xla_client.make_c_api_client("plugin", {"cpu_device_count": 1})


def compiled(client, function, dtype, vector_width=None):
    """The serialized executable of a function of one array."""
    # Text has no locations: the bytes don't depend on where this file is.
    module = jax.jit(function).lower(jax.ShapeDtypeStruct((SIZE,), dtype)).as_text()
    options = xla_client.CompileOptions()
    if vector_width:
        options.env_option_overrides = [("xla_cpu_prefer_vector_width", str(vector_width))]
    devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
    return without_prefix(client.compile_and_load(module, devices, options).serialize())


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
