"""What editors and type checkers cannot see: the names that ``margin`` resolves lazily, the declared options of
``margin.compare``, and the update rules, of which each is a file.

``make generated`` writes all three (``python -m margin.stub``, the same with ``compare``, and with ``rules``); a test
fails when a file lags behind.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from margin import catalog

__all__ = ["render", "render_compare", "render_rules"]

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


RULES_HEADING = '''"""Update rules: how a gradient becomes a step, one file and one declared class for each.

``Adam(beta_1=0.8)`` is the same object for :func:`margin.optimize.minimize`, :func:`margin.optimize.sgd` and the
parameter ``solver`` of every network. Where a fused form over all parameters exists, networks run that
(:mod:`margin.neural.training.optimizers`), and one test holds both together. ``make generated`` writes this file from
the others of its folder.
"""

'''


def render_rules(folder: Path | None = None) -> str:
    """``optimize/rules/__init__.py``: the class of every file, and ``RULES``, in which it has the file's name."""
    folder = folder or Path(__file__).parent / "optimize" / "rules"
    rules = {path.stem: _rule_in(path) for path in sorted(folder.glob("*.py")) if path.stem not in ("__init__", "base")}
    homes = {f"margin.optimize.rules.{stem}": name for stem, name in rules.items()}
    homes["margin.optimize.rules.base"] = "Rule, hyperparameters"
    names = ["RULES", *sorted([*rules.values(), "Rule"], key=_constants_first), "hyperparameters"]
    return "\n".join(
        [
            RULES_HEADING + "\n".join(f"from {module} import {name}" for module, name in sorted(homes.items())),
            "",
            "__all__ = [",
            *(f'    "{name}",' for name in names),
            "]",
            "",
            "# By the names that ``minimize(method=...)`` and ``solver=...`` take.",
            "RULES: dict[str, type[Rule]] = {",
            *(f'    "{stem}": {name},' for stem, name in rules.items()),
            "}",
            "",
        ]
    )


def _rule_in(path: Path) -> str:
    """The one public class of a file that is no state."""
    classes = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
    (rule,) = [c.name for c in classes if not c.name.startswith("_") and ast.unparse(c.bases[0]) != "NamedTuple"]
    return rule


def _constants_first(name: str) -> tuple[bool, str]:
    """As the linter sorts ``__all__``: names in capitals first."""
    return not name.isupper(), name


MADE = {"compare": render_compare, "rules": render_rules}

if __name__ == "__main__":
    print((MADE[sys.argv[1]] if sys.argv[1:] else render)(), end="")
