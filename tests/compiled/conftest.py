"""Every test of a module of kernels runs several times: the module beside its files as they are written, and beside
itself as it is compiled for lower levels of this processor, where the bits must be the same."""

from types import ModuleType

import pytest
from tests.compiled.levels import module_at, other_levels

WRITTEN = "written"


def bundle_of(test_module):
    return test_module.__name__.rpartition(".")[2].removeprefix("test_")


def twins_of(test_module):
    """Names in a file of tests that stand for kernels as they are written: their files, or what makes a module."""
    for name, value in vars(test_module).items():
        if name.endswith("as_written") or (isinstance(value, ModuleType) and value.__name__.endswith("_kernels")):
            yield name, value


def pytest_generate_tests(metafunc):
    if "beside" in metafunc.fixturenames and list(twins_of(metafunc.module)):
        metafunc.parametrize("beside", [WRITTEN, *other_levels(bundle_of(metafunc.module))], indirect=True)


@pytest.fixture(autouse=True)
def beside(request, monkeypatch):
    """What the compiled module stands beside: ``"written"`` or a level."""
    level = getattr(request, "param", WRITTEN)
    if level != WRITTEN:
        module = module_at(level, bundle_of(request.module))
        for name, value in list(twins_of(request.module)):
            other = module if isinstance(value, ModuleType) else lambda: module
            monkeypatch.setattr(request.module, name, other)
    return level
