"""Whether a kernel is there can be asked while another thread imports it; what is done while it is not."""

import sys
from types import ModuleType

import numpy as np

from margin.core.cached_kernels import njit
from margin.core.compiling_ahead import FirstWork, compiling_ahead, is_loaded


def test_a_kernel_is_loaded_once_it_was_called(monkeypatch):
    module = ModuleType("margin.made_here")
    assert not is_loaded("margin.made_here", "double")
    monkeypatch.setitem(sys.modules, "margin.made_here", module)
    assert not is_loaded("margin.made_here", "double"), "a module that is still being imported"
    module.double = njit(lambda x: 2 * x)
    assert not is_loaded("margin.made_here", "double")
    assert module.double(np.float64(2.0)) == 4.0
    assert is_loaded("margin.made_here", "double")


def test_work_is_left_to_python_until_a_kernel_is_there_or_much_was_done(monkeypatch):
    files = set()
    monkeypatch.setattr("margin.core.cached_kernels.is_ready", lambda kernel: kernel in files)
    kernel, first = njit(lambda x: 3 * x), FirstWork(most=10)
    assert first.takes(4, kernel)
    assert not first.takes(4, kernel, wanted=7), "more is to come than Python may do"
    with compiling_ahead():
        assert not first.takes(4, kernel)
    assert first.done == 4, "what was refused does not count"
    kernel(1)
    assert not first.takes(4, kernel)
    other, kept = njit(lambda x: 5 * x), njit(lambda x: 7 * x)
    assert first.takes(5, kernel, other), "all of them are needed"
    files.add(kept)
    assert not first.takes(1, kept), "an earlier process has compiled it"
    assert first.takes(1, other)
    assert not first.takes(1, other), "much was done"
