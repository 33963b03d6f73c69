"""Where a class of ours differs from scikit-learn's of the same name, with the reason for every difference.

``python tests/parity/differences.py > docs/differences.md`` writes the page. The signatures are compared; the reasons
stand in ``differences.toml``: under a class, or under ``every`` for a parameter that means the same everywhere; what
differs apart from parameters is listed under ``elsewhere``.
"""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import dataclass
from pathlib import Path

import sklearn
from sklearn.utils import all_estimators

from margin import catalog
from margin.core.parameters import parameters_of

REASONS = Path(__file__).with_name("differences.toml")
MEASURED_WITH = "1.9"  # the series of scikit-learn whose signatures the page describes
DEPRECATED = ("deprecated", "warn")


@dataclass(frozen=True)
class Difference:
    """``ours`` and ``theirs`` are defaults as Python writes them, or a dash where the parameter does not exist."""

    owner: str
    parameter: str
    ours: str
    theirs: str


def same_named() -> list[tuple[type, type]]:
    """Pairs of our class and scikit-learn's, in the order of the catalog."""
    theirs = dict(all_estimators())
    shared = [entry for entry in catalog.ENTRIES if entry.class_name in theirs]  # the others need not be imported
    return [(catalog.class_of(entry.name), theirs[entry.class_name]) for entry in shared]


def differences() -> list[Difference]:
    found = []
    for ours, theirs in same_named():
        mine = {name: repr(declared.default) for name, declared in parameters_of(ours).items()}
        parameters = inspect.signature(theirs).parameters.values()
        other = {p.name: repr(p.default) for p in parameters}
        ended = {p.name for p in parameters if isinstance(p.default, str) and p.default in DEPRECATED}
        for name in [*other, *(name for name in mine if name not in other)]:
            a, b = mine.get(name, "–"), other.get(name, "–")
            if not same_default(a, b) and not (name in ended and name not in mine):
                found.append(Difference(ours.__name__, name, a, b))
    return found


def same_default(ours: str, theirs: str) -> bool:
    """Equal as Python compares: 1 and 1.0 are one default."""
    if "–" in (ours, theirs):
        return ours == theirs
    try:
        return ours == theirs or float(ours) == float(theirs)
    except ValueError:
        return False


def reasons() -> dict[tuple[str, str], str]:
    table = tomllib.loads(REASONS.read_text())
    parameters = {owner: entries for owner, entries in table.items() if owner != "elsewhere"}
    return {(owner, name): reason for owner, entries in parameters.items() for name, reason in entries.items()}


def reason_for(difference: Difference, known: dict[tuple[str, str], str]) -> str | None:
    for owner in (difference.owner, "every"):
        if (owner, difference.parameter) in known:
            return known[owner, difference.parameter]
    return None


def render() -> str:
    """The page: one table per class."""
    known, elsewhere = reasons(), tomllib.loads(REASONS.read_text())["elsewhere"]
    lines = [
        "# Where Margin differs from scikit-learn",
        "",
        f"Parameters of classes that scikit-learn {MEASURED_WITH} has too, where name or default differ; a dash stands",
        "where the parameter does not exist. Everything else has scikit-learn's name, values and default.",
        "Made by `python tests/parity/differences.py > docs/differences.md`; a test keeps it complete.",
        "",
        "## Apart from parameters",
        "",
        *(f"- **{subject}**: {difference}" for subject, difference in elsewhere.items()),
    ]
    owner = ""
    for difference in differences():
        if difference.owner != owner:
            owner = difference.owner
            lines += ["", f"## {owner}", "", "| parameter | Margin | scikit-learn | why |", "| --- | --- | --- | --- |"]
        reason = reason_for(difference, known) or "no reason given"
        lines.append(f"| `{difference.parameter}` | {_code(difference.ours)} | {_code(difference.theirs)} | {reason} |")
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return text if text == "–" else f"`{text}`"


if __name__ == "__main__":
    assert sklearn.__version__.startswith(MEASURED_WITH), f"the page describes scikit-learn {MEASURED_WITH}"
    print(render(), end="")
