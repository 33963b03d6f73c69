"""Experiments: phenomena worth looking at.

Each module is one experiment, named like its file with dashes: its docstring states the claim and its
formula, ``run(seed, fast)`` computes plain data, ``check(data)`` returns a verdict on them, and
``draw(data, figure)`` puts them on a Matplotlib figure. Nothing here writes a file.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

from margin.core.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Experiment", "load", "names", "title"]


class Experiment(Protocol):
    """What an experiment module offers."""

    def run(self, seed: int, fast: bool) -> dict[str, Any]: ...
    def check(self, data: dict[str, Any]) -> Verdict: ...
    def draw(self, data: dict[str, Any], figure: Figure) -> None: ...


def names() -> list[str]:
    return sorted(part.name.replace("_", "-") for part in pkgutil.iter_modules(__path__))


def load(name: str) -> Experiment:
    if name not in names():
        close = [n for n in names() if name and name in n][:3] or difflib.get_close_matches(name, names(), n=3)
        hint = f"did you mean {', '.join(close)}?" if close else "margin run lists them."
        raise KeyError(f"There is no experiment {name!r}; {hint}")
    return cast(Experiment, importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))


def title(experiment: Experiment) -> str:
    """The first line of the experiment's docstring."""
    return (cast(ModuleType, experiment).__doc__ or "").strip().splitlines()[0]
