"""Whether a kernel is there can be asked while another thread imports it."""

import sys
from types import ModuleType

import numpy as np

from margin.core.cached_kernels import njit
from margin.core.compiling_ahead import is_loaded


def test_a_kernel_is_loaded_once_it_was_called(monkeypatch):
    module = ModuleType("margin.made_here")
    assert not is_loaded("margin.made_here", "double")
    monkeypatch.setitem(sys.modules, "margin.made_here", module)
    assert not is_loaded("margin.made_here", "double"), "a module that is still being imported"
    module.double = njit(lambda x: 2 * x)
    assert not is_loaded("margin.made_here", "double")
    assert module.double(np.float64(2.0)) == 4.0
    assert is_loaded("margin.made_here", "double")
