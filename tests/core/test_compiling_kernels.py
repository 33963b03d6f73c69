"""While kernels are compiled a line says so, and the garbage collector waits."""

import gc
import io
from types import SimpleNamespace

import pytest
from numba.core import event as events
from numba.core.compiler import Flags
from numba.core.errors import TypingError

from margin.core.cached_kernels import njit
from margin.core.compiling_kernels import CollectorPause, CompileNotice
from margin.core.named_kernels import _KernelFlags


def event(home):
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=home))})


def test_the_notice_comes_once_and_only_for_long_compiling():
    now, written = [0.0], io.StringIO()
    notice = CompileNotice(clock=lambda: now[0], write=written)

    for home, seconds, said in (("margin.a", 0.9, ""), ("users", 9.0, ""), ("margin.a", 1.1, "margin: compil")):
        notice.on_start(event(home))
        now[0] += seconds
        notice.on_end(event(home))
        assert written.getvalue().startswith(said)
        assert bool(written.getvalue()) == bool(said)
    notice.on_start(event("margin.a"))
    now[0] += 5
    notice.on_end(event("margin.a"))
    assert written.getvalue().count("\n") == 1


@pytest.fixture(params=[True, False], ids=["collector on", "collector off"])
def collector(request):
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_the_collector_waits_until_the_outermost_kernel_is_compiled(collector):
    pause = CollectorPause()
    for home in ("margin.a", "margin.b"):
        pause.on_start(event(home))
        assert not gc.isenabled()
    pause.on_end(event("margin.b"))
    assert not gc.isenabled()
    pause.on_end(event("margin.a"))
    assert gc.isenabled() is collector


def test_the_collector_is_left_alone_by_kernels_of_others(collector):
    pause = CollectorPause()
    pause.on_start(event("users"))
    assert gc.isenabled() is collector
    pause.on_end(event("users"))
    assert gc.isenabled() is collector


class Recorder(events.Listener):
    """Whether the collector is on in every step of the compiler."""

    def __init__(self):
        self.on = set()

    def on_start(self, event):
        self.on.add(gc.isenabled())

    def on_end(self, event):
        pass


@pytest.mark.parametrize("step", ["1.0", "None"], ids=["compiles", "does not compile"])
def test_the_collector_waits_in_every_step_of_the_compiler(collector, step):
    names = {"__name__": "margin.made_here"}
    exec(
        f"def total(x):\n    found = 0.0\n    for k in range(x):\n        found += k * {step}\n    return found", names
    )
    recorder = Recorder()
    with events.install_listener("numba:run_pass", recorder):
        if step == "None":
            with pytest.raises(TypingError):
                njit(names["total"])(3)
        else:
            assert njit(names["total"])(3) == 3.0
    assert recorder.on == {False}
    assert gc.isenabled() is collector


def test_options_of_kernels_are_equal_as_numbas_are():
    plain, same, other = Flags(), Flags(), Flags()
    plain.release_gil = same.release_gil = True
    other.nrt = True
    kernel, equal, unequal = (_KernelFlags(flags) for flags in (plain, same, other))
    assert kernel == equal == kernel.copy()
    assert kernel == plain
    assert plain == kernel
    assert kernel != unequal
    assert kernel != other
    assert {hash(flags) for flags in (plain, other, kernel, unequal)} == {hash(plain)}
