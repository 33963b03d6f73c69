"""Compiled code is kept under a key that follows the code it calls, in a folder that only the user can write."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from margin.core import jit_cache
from margin.core.cached_kernels import inner_kernel, is_ready, njit, separate_kernel
from margin.core.jit_cache import fingerprint, is_private, private_folder
from margin.core.linked_kernels import SeparateCompiler


def test_every_kernel_is_compiled_by_our_own_rules():
    """Numba's own cache lies beside the sources and misses edits of callees; its parallel loops end with a fork."""
    package = Path(jit_cache.__file__).parents[1]
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "from numba import" not in text, path
        assert "prange" not in text, path
        assert "parallel=True" not in text, path
        if path.name != "cached_kernels.py":
            assert "import numba" not in text, path


def test_a_kernel_that_only_kernels_call_becomes_machine_code_within_them_only():
    """Compiling it by itself too took a fifth of the first fit of a tree."""

    @inner_kernel
    def half(x):
        return x / 2

    @inner_kernel
    def quarter(x):
        return half(half(x))

    @njit
    def quarters(values):
        for i in range(len(values)):
            values[i] = quarter(values[i])

    values = np.arange(5.0)
    quarters(values)
    np.testing.assert_array_equal(values, np.arange(5.0) / 4)
    objects = {
        kernel: [made.library._compiled_object for made in kernel.overloads.values()] for kernel in (half, quarter)
    }
    assert objects == {half: [None], quarter: [None]}
    assert all(made.library._compiled_object for made in quarters.overloads.values())


@pytest.mark.parametrize(("kind", "copies"), [(inner_kernel, True), (separate_kernel, False)])
def test_a_separate_kernel_is_one_function_for_all_of_its_callers(kind, copies):
    @kind
    def powers(x):
        total = 0.0
        for k in range(x.size):
            total += x[k] * total + 1.0
        return total

    @njit
    def both(x):
        return powers(x) - powers(x[1:])

    x = np.array([0.5, 2.0, 3.0])
    assert both(x) == powers.py_func(x) - powers.py_func(x[1:])
    (code,) = both.inspect_llvm().values()
    assert len(re.findall(r"call i32 @\S*powers", code)) == (0 if copies else 2)


def test_a_kernel_that_allocates_nothing_is_compiled_in_fewer_steps():
    def half(x):
        x[0] /= 2

    def steps(**options):
        kernel = njit(half, **options)
        kernel(np.ones(1))
        (made,) = kernel.overloads.values()
        return {name.partition("_")[2] for name in made.metadata["pipeline_times"]["nopython"]}

    assert steps() - steps(_nrt=False) == {"inline_closure_likes", "nopython_rewrites"}


def outer(step, options):
    """A function that calls another, which reads a constant, as kernels do."""
    inner = njit(**options)(eval(f"lambda x: x + {step}"))
    return lambda x: 2 * inner(x)


def test_the_fingerprint_follows_what_is_called():
    plain = fingerprint(outer(1, {}))
    assert fingerprint(outer(1, {})) == plain
    assert fingerprint(outer(2, {})) != plain, "the callee's code"
    assert fingerprint(outer(1, {"error_model": "python"})) != plain, "how the callee is compiled"
    assert fingerprint(outer(1, {"pipeline_class": SeparateCompiler})) != plain, "by what the callee is compiled"


@pytest.mark.parametrize("values", [(1, 2), (1.0, 1), (True, 1), (np.int64(1), np.uint64(1)), ((1, 2), (1, 3))])
def test_the_fingerprint_follows_constants(values):
    def reader(constant):
        return lambda: constant

    first, second = (fingerprint(reader(value)) for value in values)
    assert first != second


def test_the_fingerprint_follows_globals_and_survives_recursion():
    made = {}
    exec("A = 1\ndef f(n):\n    return A if n == 0 else f(n - 1)", made)
    before = fingerprint(made["f"])
    made["A"] = 2
    assert fingerprint(made["f"]) != before
    made["A"] = 1
    assert fingerprint(made["f"]) == before


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import kernels
print(kernels.twice(3), len(kernels.twice.stats.cache_hits), len(kernels.twice.stats.cache_misses))
"""
KERNELS = """
import helper
from margin.core.cached_kernels import njit
called = helper.called
@njit(cache=True)
def twice(x):
    return 2 * called(x)
"""
HELPER = """
from margin.core.cached_kernels import njit
@njit
def called(x):
    return x + {step}
"""


def run(folder, **environment):
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(word) for word in found.stdout.split()]


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "kernels.py").write_text(KERNELS, encoding="utf-8")
    (folder / "helper.py").write_text(HELPER.format(step=1), encoding="utf-8")
    return folder


def test_a_second_process_loads_and_an_edited_callee_is_compiled_again(source, tmp_path):
    given = {"NUMBA_CACHE_DIR": str(tmp_path / "given"), "PYTHONDONTWRITEBYTECODE": "1"}
    assert run(source, **given) == [8, 0, 1]
    assert run(source, **given) == [8, 1, 0]
    (source / "helper.py").write_text("# a remark\n" + HELPER.format(step=1), encoding="utf-8")
    assert run(source, **given) == [8, 1, 0], "nothing that is run has changed"
    (source / "helper.py").write_text(HELPER.format(step=10), encoding="utf-8")
    assert run(source, **given) == [26, 0, 1]


STEPS = [
    f"for k in range({n}, i): total = total + values[k] / {n + 1} if values[k] > total else total - values[k] * {n}"
    for n in range(12)
]
FACTORY = """
import sys
import numpy as np
from margin.core.cached_kernels import cached_kernel, inner_kernel

def adder(amount):
    @inner_kernel
    def part(values, i):  # so long that it is called, not copied into its caller
        total = 0.0
        {steps}
        return 0.0 * total + i + amount

    @cached_kernel
    def whole(values, found):
        for i in range(len(values)):
            found[i] = part(values, i) + part(found, i) - i

    return whole

for amount in sys.argv[1:]:
    found = np.zeros(2)
    adder(float(amount))(np.array([10.0, 20.0]), found)
    print(*found, end=" ")
"""


def test_kernels_of_one_factory_that_two_processes_compiled_are_not_taken_for_each_other(tmp_path):
    """Numba numbers functions within a process: both had the same name, and whoever loaded both ran one of them."""
    path = tmp_path / "factory.py"
    path.write_text(FACTORY.format(steps="\n        ".join(STEPS)), encoding="utf-8")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "given")}
    for amounts in ((1,), (2,), (1, 2), (2, 1)):
        command = [sys.executable, str(path), *map(str, amounts)]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert [float(word) for word in found.stdout.split()] == [i + 2 * a for a in amounts for i in range(2)]


@pytest.mark.skipif(sys.platform != "linux", reason="the folder is named by XDG_CACHE_HOME on Linux only")
def test_the_folder_is_private_and_damaged_files_are_made_again(source, tmp_path):
    home = {"XDG_CACHE_HOME": str(tmp_path / "home"), "NUMBA_CACHE_DIR": "", "PYTHONDONTWRITEBYTECODE": "1"}
    assert run(source, **home) == [8, 0, 1]
    folder = tmp_path / "home" / "margin" / "jit"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(source.rglob("*.nbc")), "nothing is written beside the sources"
    (entry,) = folder.rglob("*.nbc")
    entry.write_bytes(entry.read_bytes()[:100])
    assert run(source, **home) == [8, 0, 1]
    assert run(source, **home) == [8, 1, 0]


def test_a_folder_that_cannot_be_made_costs_only_the_cache(source, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    given = {"NUMBA_CACHE_DIR": str(tmp_path / "file"), "PYTHONDONTWRITEBYTECODE": "1"}
    assert run(source, **given) == [8, 0, 1]
    assert run(source, **given) == [8, 0, 1]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="modes are those of POSIX")
def test_a_folder_that_others_can_write_is_not_used(tmp_path, monkeypatch):
    folder = tmp_path / "margin" / "jit"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert not is_private(folder)
    monkeypatch.setattr(jit_cache, "user_cache_folder", lambda: tmp_path)
    used = private_folder.__wrapped__()
    assert used != folder
    assert is_private(used)
    folder.chmod(0o700)
    assert private_folder.__wrapped__() == folder


def test_a_home_that_cannot_be_written_gives_a_folder_of_the_process(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setattr(jit_cache, "user_cache_folder", lambda: tmp_path / "file")
    assert is_private(private_folder.__wrapped__())


def test_is_ready_once_compiled():
    kernel = njit(cache=True)(eval("lambda x: x + 12345"))
    kernel._cache._cache_file.flush()
    assert not is_ready(kernel)
    kernel(1)
    assert is_ready(kernel)
    again = njit(cache=True)(eval("lambda x: x + 12345"))
    assert is_ready(again), "its file is there"
    again._cache._cache_file.flush()


def test_a_fingerprint_is_the_same_in_every_process():
    code = (
        "from margin.core.cached_kernels import njit\n"
        "from margin.core.jit_cache import fingerprint\n"
        "inner = njit(fastmath={'reassoc', 'contract', 'nsz', 'nnan'})(lambda x: x + x)\n"
        "def outer(x):\n    return inner(x) in {'a', 'b', 'c'}\n"
        "print(fingerprint(outer), fingerprint(inner), fingerprint(njit(lambda x: x + x)))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (1, 2, 3)
    }
    assert len(found) == 1
    _, inner, plain = found.pop().split()
    assert inner != plain, "options are part of it"
