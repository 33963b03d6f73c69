"""What a check found, in words: the same sentence on the command line, in the lab and on the site."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from margin.service.evidence import Finding

__all__ = ["finding_words"]

ARRAY_GAP, ARRAY_BOUND = re.compile(r"array \(.*\) off by (\S+)"), re.compile(r"array \(.*\) within (\S+)")
CLASS_NAME = re.compile(r"<class '(?:\w+\.)*(\w+)'>")
LONG_NUMBER = re.compile(r"-?\d+\.\d{5,}(e[-+]?\d+)?")


def finding_words(finding: Finding) -> str:
    """What was measured and, unless the same, what was expected; of a counter-example, what the notes need."""
    if finding.is_counterexample:
        measured, needed = _pair(finding.measured, str(finding.expected).removeprefix("not "))
        name = "" if finding.name == "as printed" else _name_prefix(finding)
        return f"{name}measured {measured} where the notes need {needed}"
    measured, expected = _pair(finding.measured, finding.expected)
    if measured == expected or expected.startswith(f"{measured} within "):
        return f"{_name_prefix(finding)}{measured} as expected{expected.removeprefix(measured)}"
    return f"{_name_prefix(finding)}{measured} (expected {expected})"


def _pair(measured: Any, expected: Any) -> tuple[str, str]:
    """Measured and expected value as text; of two large arrays only their largest difference and the tolerance."""
    apart, allowed = ARRAY_GAP.fullmatch(str(measured)), ARRAY_BOUND.fullmatch(str(expected))
    if apart and allowed:
        return f"off by {_brief(apart[1])}", f"at most {_brief(allowed[1])}"
    return _brief(measured), _brief(expected)


def _name_prefix(finding: Finding) -> str:
    return f"{finding.name}: " if finding.name else ""


def _brief(value: Any) -> str:
    """Numbers with four digits, alone, in lists and in the text of a bound; anything else as it is."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_brief, value))}]"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = CLASS_NAME.sub(lambda match: match[1], str(value))
    return LONG_NUMBER.sub(lambda match: f"{float(match[0]):.4g}", text)
