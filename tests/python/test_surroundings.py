"""Staying alive in all surroundings: forks, Ctrl-C, small stacks, environment variables, limits,
the end of the process, and other libraries in it."""

import importlib.util
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import jax
import jax.numpy as jnp
import pytest

import cyxla as cx
from cyxla import background, jaxlib_compiler

COMPILERS = ("jaxlib", "plugin")
VECTOR = jax.ShapeDtypeStruct((4,), jnp.float32)

# What the processes of these tests start with.  Whoever waits for a child too long is stuck.
PREAMBLE = """
import os, pickle, signal, sys, threading, time
import numpy as np
signal.alarm(100)
# What runs in the background may have been told to ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
import cyxla as cx
program = pickle.load(open(sys.argv[1], "rb"))
x = np.float32([0, 1, 2, 3])

def result_of(function, *arguments, **options):
    try:
        return function(*arguments, **options)
    except cx.CyxlaError as error:
        return str(error)

def compiled(**options):
    return cx.compile_program(program, **options)[0]

def in_child(function):
    child = os.fork()
    if not child:
        signal.alarm(60)
        status = 1
        try:
            function()
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture(autouse=True)
def engine_of_choice(monkeypatch):
    monkeypatch.delenv("CYXLA_ENGINE", raising=False)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "program"
    path.write_bytes(pickle.dumps(cx.lower(lambda x: 2 * x + 1, [VECTOR])))
    return path


@pytest.fixture
def run(path):
    """Runs code after the preamble in a new process, which must end well and print no errors."""

    def run(code, *arguments, status=0, env=None, quiet=True):
        process = subprocess.run(
            # Python warns of every fork that it sees threads at.
            [sys.executable, "-Wignore", "-c", PREAMBLE + textwrap.dedent(code), path]
            + [str(each) for each in arguments],
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert process.returncode == status, process.stdout + process.stderr
        assert not (quiet and process.stderr)
        return process.stdout

    return run


def nested(depth):
    """Conditionals inside of each other: XLA's compiler goes into them recursively."""
    lines = [
        "module @m { func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {",
        "%p = stablehlo.constant dense<true> : tensor<i1>",
        *(f'%r{i} = "stablehlo.if"(%p) ({{' for i in range(depth)),
        "stablehlo.return %a : tensor<4xf32>",
    ]
    for i in reversed(range(depth)):
        lines += [
            "}, { stablehlo.return %a : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>",
            f"{'stablehlo.' if i else ''}return %r{i} : tensor<4xf32>",
        ]
    return cx.from_stablehlo("\n".join([*lines, "} }"]))


def slow(length):
    """A chain of operations, whose compilation takes seconds."""
    lines = ["module @m { func.func public @main(%v0: tensor<4xf32>) -> tensor<4xf32> {"]
    for i in range(length):
        name = ("sine", "exponential")[i % 2]
        lines.append(f"%v{i + 1} = stablehlo.{name} %v{i} : tensor<4xf32>")
    return cx.from_stablehlo("\n".join([*lines, f"return %v{length} : tensor<4xf32> }} }}"]))


# ---- forks ----


def test_children_of_a_process_with_a_plugin(run):
    printed = run(
        """
        cx.initialize()
        direct, pjrt = compiled(engine="direct"), compiled(engine="pjrt")
        data = direct.serialize()

        def child():
            print(direct.run([x])[0])
            print(cx.load_executable(program, data)[0].run([x])[0])
            print(compiled(compiler="jaxlib").run([x])[0])
            print(result_of(pjrt.run, [x]))
            print(result_of(compiled))
            print(result_of(compiled, engine="pjrt"))
            print(result_of(cx.load_executable, program, data, engine="pjrt"))
            direct.close(), pjrt.close()

        in_child(child)
        in_child(lambda: in_child(child))
        print(pjrt.run([x])[0])
        """
    )
    *lines, last = printed.splitlines()
    result = "[1. 3. 5. 7.]"
    assert last == result
    assert len(lines) == 14
    for i, line in enumerate(lines):
        if i % 7 < 3:
            assert line == result
        else:
            assert "of which this one is a fork" in line, line


def test_children_end_as_python_programs_do(run):
    """With all that is done at the end: destroying executables, and what the plugin has to do."""
    run(
        """
        cx.initialize()
        executables = [compiled(engine=engine) for engine in ("direct", "pjrt")]
        for _ in range(3):
            child = os.fork()
            if not child:
                signal.alarm(60)
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
        """
    )


def test_a_child_does_all_that_its_parent_has_not_done(run):
    printed = run(
        """
        def child():
            for compiler in "jaxlib", "plugin":
                print(compiled(compiler=compiler).run([x])[0])
            print(compiled(engine="pjrt").run([x])[0])

        in_child(child)
        child()
        """
    )
    assert printed.splitlines() == ["[1. 3. 5. 7.]"] * 6


@pytest.mark.parametrize("cyxla_first", [False, True])
def test_children_of_a_process_that_used_jax(run_python, path, cyxla_first):
    """jaxlib's compiler would hang or end them."""
    preamble = PREAMBLE.replace("import cyxla as cx", "import cyxla as cx" if cyxla_first else "")
    program = 'program = pickle.load(open(sys.argv[1], "rb"))'
    code = (
        f"""
import warnings
warnings.simplefilter("ignore")  # jax warns of forks
{preamble.replace(program, "")}
import jax, jax.numpy as jnp
jax.jit(lambda x: x @ x)(jnp.ones((300, 300)))
"""
        + """
def child():
    global cx, program
    import cyxla as cx
    program = pickle.load(open(sys.argv[1], "rb"))
    print(result_of(compiled, compiler="jaxlib"))
    executable, statistics = cx.compile_program(program)
    print(statistics.compiler == statistics.plugin.path, executable.run([x])[0])

in_child(child)
if "cyxla" in sys.modules:
    program = pickle.load(open(sys.argv[1], "rb"))
    assert compiled(compiler="jaxlib").run([x])[0][1] == 3
"""
    )
    refusal, result = run_python(code, path).splitlines()
    assert "a fork of one that used JAX" in refusal
    assert result == "True [1. 3. 5. 7.]"


MULTIPROCESSING = """
import multiprocessing, pickle, sys
import numpy as np
import cyxla as cx

x = np.float32([0, 1, 2, 3])

def work(program, engine):
    try:
        return str(cx.compile_program(program, engine=engine)[0].run([x])[0])
    except cx.CyxlaError as error:
        return str(error)

if __name__ == "__main__":
    program = pickle.load(open(sys.argv[1], "rb"))
    if sys.argv[3] == "loaded":
        for engine in "direct", "pjrt":
            work(program, engine)
    with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:
        arguments = [(program, engine) for engine in ("direct", "pjrt")] * 2
        for result in pool.starmap_async(work, arguments).get(timeout=100):
            print(result)
"""


@pytest.mark.parametrize("before", ["loaded", "nothing"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(tmp_path, path, method, before):
    script = tmp_path / "script.py"
    script.write_text(MULTIPROCESSING)
    process = subprocess.run(
        [sys.executable, "-W", "ignore", script, path, method, before],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    direct, pjrt = process.stdout.splitlines()[::2], process.stdout.splitlines()[1::2]
    if method == "fork" and before == "loaded":
        assert all("of which this one is a fork" in line for line in direct + pjrt)
    else:
        assert direct == pjrt == ["[1. 3. 5. 7.]"] * 2


@pytest.mark.filterwarnings("ignore")  # of forks
def test_locks_are_free_in_children():
    lock = background.ProcessLock()
    with lock:
        child = os.fork()
        if not child:
            free = lock._lock.acquire(timeout=10)
            os._exit(0 if free else 1)
        assert os.waitpid(child, 0)[1] == 0


# ---- Ctrl-C ----

INTERRUPTED = """
slow = pickle.load(open(sys.argv[2], "rb"))
compiled(compiler=sys.argv[3])
times = []

def interrupt():
    time.sleep(0.5)
    times.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    cx.compile_program(slow, compiler=sys.argv[3], low_latency=False)
except KeyboardInterrupt:
    times.append(time.perf_counter())
left = [each for each in threading.enumerate() if each.name == "cyxla compiler"]
print(times[1] - times[0], len(left))
"""


@pytest.fixture(scope="module")
def slow_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "slow"
    path.write_bytes(pickle.dumps(slow(1200)))
    return path


@pytest.mark.parametrize("compiler", COMPILERS)
def test_ctrl_c(run, slow_path, compiler):
    """It arrives while the compiler goes on; other programs compile meanwhile; all ends well."""
    code = INTERRUPTED + "print(compiled(compiler=sys.argv[3]).run([x])[0])"
    first, second = run(code, slow_path, compiler).splitlines()
    seconds, threads = first.split()
    assert float(seconds) < 1
    assert int(threads) == 1
    assert second == "[1. 3. 5. 7.]"


@pytest.mark.parametrize("compiler", COMPILERS)
def test_ctrl_c_twice_ends_the_process(path, slow_path, compiler):
    """The first one ends what the main thread does, the second one its wait for the compiler."""
    code = PREAMBLE + INTERRUPTED.split("try:")[0].replace("threading.Thread", "#")
    code += "print('go', flush=True)\ncx.compile_program(slow, compiler=sys.argv[3])\n"
    process = subprocess.Popen(
        [sys.executable, "-c", code, path, slow_path, compiler],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "go\n"
    for _ in range(2):
        time.sleep(0.5)
        process.send_signal(2)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -2, errors
    assert errors.count("KeyboardInterrupt") == 2


def test_a_compiler_that_python_does_not_wait_for(monkeypatch):
    killed = []
    monkeypatch.setattr(os, "kill", lambda *arguments: killed.append(arguments))
    background._end_at_once()
    assert not killed
    handler = signal.getsignal(signal.SIGINT)
    finished = threading.Event()
    thread = threading.Thread(target=finished.wait, name=background._THREAD_NAME)
    thread.start()
    try:
        background._end_at_once()
    finally:
        finished.set()
        thread.join()
        signal.signal(signal.SIGINT, handler)
    assert killed == [(os.getpid(), signal.SIGINT)]


def test_what_a_thread_returns_and_raises():
    assert background.run(divmod, 7, 2) == (3, 1)
    assert background.run(int, "ff", base=16) == 255
    with pytest.raises(ZeroDivisionError):
        background.run(divmod, 7, 0)
    with pytest.raises(SystemExit):
        background.run(sys.exit, 3)


def test_without_threads_the_caller_does_the_work(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert background.run(threading.get_ident) == threading.get_ident()
    assert threading.stack_size() == 0


def test_a_thread_costs_little():
    seconds = []
    for _ in range(100):
        start = time.perf_counter()
        background.run(int)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.0005  # what else the machine does is in the others


# ---- small stacks ----


@pytest.mark.parametrize("compiler", COMPILERS)
def test_small_stacks(run, tmp_path, compiler):
    deep = tmp_path / "deep"
    deep.write_bytes(pickle.dumps(nested(60)))
    printed = run(
        """
        deep = pickle.load(open(sys.argv[2], "rb"))

        def work():
            executable, _ = cx.compile_program(deep, compiler=sys.argv[3])
            print(executable.run([x])[0])
            print(cx.load_executable(deep, executable.serialize())[0].run([x])[0])
            print(threading.stack_size())

        threading.stack_size(256 << 10)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """,
        deep,
        compiler,
    )
    assert printed.splitlines() == ["[0. 1. 2. 3.]"] * 2 + [str(256 << 10)]


# ---- environment variables ----


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("flags", "part"),
    [
        ("--xla_cpu_max_isa=AVX --xla_no_such_flag=1", "has --xla_no_such_flag, which is no"),
        ("/no/such/file", "neither a flag nor a file"),
        ("--xla_cpu_max_isa=AVX", "[1. 3. 5. 7.]"),
    ],
)
def test_xla_flags(run, compiler, flags, part):
    code = "print(result_of(lambda: compiled(compiler=sys.argv[2]).run([x])[0]))"
    assert part in run(code, compiler, env={"XLA_FLAGS": flags})


def test_xla_flags_that_come_after_jax_has_started(run):
    printed = run(
        """
        import jax
        jax.devices()
        os.environ["XLA_FLAGS"] = "--xla_no_such_flag"
        print(compiled(compiler="jaxlib").run([x])[0])
        """
    )
    assert printed == "[1. 3. 5. 7.]\n"


@pytest.mark.parametrize(("level", "quiet"), [(None, True), ("none", True), ("info", False)])
def test_log(path, level, quiet):
    code = PREAMBLE + "compiled(engine='pjrt')\nassert 'TF_CPP_MIN_LOG_LEVEL' not in os.environ\n"
    env = {name: os.environ[name] for name in os.environ if name != "TF_CPP_MIN_LOG_LEVEL"}
    process = subprocess.run(
        [sys.executable, "-c", code, path],
        env={**env, **({"CYXLA_LOG": level} if level else {})},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    assert (process.stderr == "") == quiet


def test_wrong_log_level(run):
    printed = run("print(result_of(cx.initialize))", env={"CYXLA_LOG": "all"})
    assert 'CYXLA_LOG is "all"' in printed


# ---- threads ----

COUNT = """
def count():
    return len(os.listdir("/proc/self/task"))

"""


def test_the_direct_engine_starts_no_thread(run, path, tmp_path):
    data = tmp_path / "data"
    data.write_bytes(cx.compile_program(pickle.loads(path.read_bytes()))[0].serialize())
    printed = run(
        COUNT
        + """
before = count()
executable, _ = cx.load_executable(program, open(sys.argv[2], "rb").read())
for _ in range(100):
    executable.run([x])
print(count() - before, executable.engine)
""",
        data,
    )
    assert printed.split() == ["0", "direct"]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_one_processor(run, compiler):
    code = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    code += "print(compiled(compiler=sys.argv[2]).run([x])[0])"
    assert run(code, compiler) == "[1. 3. 5. 7.]\n"


def test_nproc_bounds_the_plugins_threads(run):
    code = COUNT + "before = count()\ncx.initialize()\nprint(count() - before)"
    one, many = (int(run(code, env={"NPROC": number})) for number in ("1", "8"))
    assert one < many
    assert one <= 2


# ---- the end of a process ----

ALIVE = """
sys.path.insert(0, sys.argv[2])
import downstream
direct, pjrt = compiled(engine="direct"), compiled(engine="pjrt")
result = np.zeros(4, np.float32)
calls = [
    downstream.Call(each, [(x.ctypes.data, 11, 4)], [result.ctypes.data], False)
    for each in (direct, pjrt)
]
assert all(call.execute() == 0 for call in calls)
"""

ENDINGS = {
    "globals": "",
    "collected": "import gc; gc.collect(); gc.disable()",
    "cycle": "class Cycle: pass\nc = Cycle(); c.self = c; c.kept = [direct, pjrt, calls]",
    "executables first": "del direct, pjrt",
    "calls first": "del calls",
    "modules first": """
for name in list(sys.modules):
    if "cyxla" in name:
        del sys.modules[name]
del cx
""",
    "atexit": "import atexit; atexit.register(lambda: (pjrt.run([x]), compiled(engine='pjrt')))",
    "sys.exit": "sys.exit(0)",
    "kept by builtins": "import builtins; builtins.kept = (direct, pjrt, calls)",
    "in a thread's frame": """
def hold(kept):
    time.sleep(1000)
threading.Thread(target=hold, args=((direct, pjrt, calls),), daemon=True).start()
""",
    "daemon threads that execute": """
def execute(each):
    while True:
        each.run([x])
for each in (direct, pjrt) * 2:
    threading.Thread(target=execute, args=(each,), daemon=True).start()
time.sleep(0.2)
""",
    "daemon threads that compile": """
def compile_for_ever(compiler):
    while True:
        compiled(compiler=compiler)
for compiler in "jaxlib", "plugin":
    threading.Thread(target=compile_for_ever, args=(compiler,), daemon=True).start()
time.sleep(0.5)
""",
    "jax too": "import jax; jax.jit(lambda x: x + 1)(x)",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_end(run, downstream, ending):
    run(ALIVE + ENDINGS[ending], os.path.dirname(os.path.dirname(downstream.__file__)))


# ---- other libraries in the process ----

BOTH_ENGINES = """
for engine in "direct", "pjrt":
    print(compiled(engine=engine).run([x])[0])
"""


@pytest.mark.parametrize("jax_first", [False, True])
def test_with_jax(run, jax_first):
    use_jax = "import jax; assert jax.jit(lambda x: x @ x)(np.ones((64, 64)))[0, 0] == 64\n"
    parts = [use_jax, BOTH_ENGINES]
    code = "".join(parts if jax_first else parts[::-1]) + use_jax + BOTH_ENGINES
    assert run(code).splitlines() == ["[1. 3. 5. 7.]"] * 4


def test_two_plugins_at_once(run):
    """The Python interface uses one; the C library, which this reaches around it, holds several."""
    if len(cx.find_plugins()) < 2:
        pytest.skip("there is one plugin")
    printed = run(
        """
        from cyxla import _runtime, stablehlo
        old = stablehlo.retarget(program.stablehlo, (1, 0, 0))
        plugins = [_runtime.Plugin(str(each.path), "cpu", {}) for each in cx.find_plugins()]
        for plugin in plugins * 2:
            executable = _runtime.compile_program(plugin, program, old, {}, "pjrt")
            print(executable.run([x])[0])
        """
    )
    assert set(printed.splitlines()) == {"[1. 3. 5. 7.]"}
    assert len(printed.splitlines()) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("module", ["torch", "tensorflow"])
def test_with_other_libraries(run, module, first):
    """Libraries that bring their own LLVM, protobuf or OpenMP."""
    if not importlib.util.find_spec(module):
        pytest.skip(f"{module} is not installed")
    use = {
        "torch": "import torch; x1 = torch.ones(64, 64); assert float((x1 @ x1).sum()) == 64**3\n",
        "tensorflow": "import tensorflow as tf; assert float(tf.reduce_sum(tf.ones(64))) == 64\n",
    }[module]
    code = use + BOTH_ENGINES if first else BOTH_ENGINES + use + BOTH_ENGINES
    assert set(run(code, quiet=False).splitlines()) == {"[1. 3. 5. 7.]"}


# ---- in this process ----


def test_flags_are_not_looked_at_without_the_variable(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    jaxlib_compiler._check_flags()


def test_a_fork_of_a_process_with_jax_is_recognised(monkeypatch, path):
    assert not jaxlib_compiler._is_fork_of_jax
    monkeypatch.setattr(jaxlib_compiler, "_is_fork_of_jax", False)
    jaxlib_compiler._note_fork()
    assert jaxlib_compiler._is_fork_of_jax == jaxlib_compiler._jax_has_started()
    assert not jaxlib_compiler._has_only_python_threads()
    monkeypatch.setattr(jaxlib_compiler, "_compiler", None)
    monkeypatch.setattr(jaxlib_compiler, "_is_fork_of_jax", True)
    with pytest.raises(cx.CyxlaError, match="a fork of one that used JAX"):
        cx.compile_program(pickle.loads(path.read_bytes()), compiler="jaxlib")


def test_while_the_interpreter_ends(monkeypatch):
    """No thread is started; one that would be killed waits for that."""
    monkeypatch.setattr(threading.main_thread(), "is_alive", lambda: False)
    assert background.run(threading.get_ident) == threading.get_ident()
    called = []
    daemon = threading.Thread(target=background.run, args=(called.append, 1), daemon=True)
    daemon.start()
    daemon.join(0.2)
    assert daemon.is_alive()
    assert not called
