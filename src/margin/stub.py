"""What editors and type checkers cannot see: the names that ``margin`` resolves lazily, and the declared options of
``margin.compare``.

``make generated`` writes both stubs (``python -m margin.stub`` and ``python -m margin.stub compare``); a test fails
when a file lags behind.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from margin import catalog

__all__ = ["render", "render_compare"]

HEADING = '''"""The public names and where they are defined, as ``make generated`` writes them."""
'''


def render() -> str:
    """One import per public name; type checkers read the classes themselves, so signatures are theirs."""
    families: dict[str, dict[str, str]] = {}
    for entry in catalog.ENTRIES:
        families.setdefault(entry.family, {})[entry.class_name] = entry.path.rpartition(".")[0]
    parts = [_group("functions", catalog.FUNCTIONS), *(_group(name, families[name]) for name in families)]
    packages = [f"from margin import {name} as {name}" for name in sorted(catalog.PACKAGES)]
    lines = [HEADING, *(line for part in parts for line in part), "# packages", *packages]
    return "\n".join([*lines, "", "__version__: str", "__all__: list[str]", ""])


def _group(title: str, origin: Mapping[str, str]) -> Iterator[str]:
    yield f"# {title}"
    for name, module in sorted(origin.items(), key=lambda item: (item[1], item[0])):
        yield f"from {module} import {name} as {name}"
    yield ""


COMPARE_HEADING = '''"""``margin.compare`` with the options it declares, as ``make generated`` writes it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from margin.core.parameters import Parameter
from margin.service.comparison.generative import GenerativeComparison
from margin.service.comparison.result import Comparison
from margin.service.forecast_board import ForecastBoard

__all__ = ["OPTIONS", "compare"]

OPTIONS: dict[str, Parameter]

'''


def render_compare() -> str:
    """``service/comparison/calling.pyi``: ``margin.compare`` with every option and its type."""
    from margin.service.comparison.calling import OPTIONS

    options = [
        f"{name}: {p.annotation} = {repr(p.default).replace(chr(39), chr(34))}"
        for name, p in OPTIONS.items()
        if name not in ("generative", "horizon")
    ]
    ends = ["out: str | Path | None = None", 'existing: str = "refuse"']
    plain = ["generative: Literal[False] = False", "horizon: None = None"]
    predictive = ["data: Any", "y: Any = None", "*", *options, *plain, *ends]
    generative = ["data: Any", "y: None = None", "*", "generative: Literal[True]", *options, plain[1], *ends]
    forecasting = ["data: Any", "y: None = None", "*", "horizon: int", *options, plain[0], *ends]
    overloads = [
        _overload([*arguments, f"watch: Callable[[{result}], None] | None = None"], result)
        for result, arguments in (
            ("Comparison", predictive),
            ("GenerativeComparison", generative),
            ("ForecastBoard", forecasting),
        )
    ]
    return COMPARE_HEADING + "".join(overloads)


def _overload(arguments: list[str], result: str) -> str:
    return "\n".join(["@overload", "def compare(", *(f"    {a}," for a in arguments), f") -> {result}: ...", ""])


if __name__ == "__main__":
    print(render_compare() if sys.argv[1:] == ["compare"] else render(), end="")
