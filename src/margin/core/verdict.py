"""The outcome of running a statement: a small record that says what was measured and what was expected.

A claim and an experiment's ``check`` both return a :class:`Verdict`. The builders below read like the
statement they test: ``near(trace, sum_of_eigenvalues, tolerance=1e-10)``. A verdict that cannot fail says
nothing, so every builder takes the bound it is held against.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Verdict", "above", "below", "corrected", "equal", "every", "near", "raises", "within"]


@dataclass(frozen=True)
class Verdict:
    """``ok`` is whether the (corrected) statement held; ``word`` is what a reader sees."""

    ok: bool
    measured: Any
    expected: Any
    corrected: bool = False
    slips: tuple[str, ...] = ()  # the mistakes of the notes that were shown, each by a counter-example of its own

    @property
    def word(self) -> str:
        if not self.ok:
            return "fails"
        return "corrected" if self.corrected else "holds"


def near(measured: Any, expected: Any, *, tolerance: float) -> Verdict:
    """The largest absolute difference is at most ``tolerance``; shapes must agree, NaN never does."""
    measured, expected = np.asarray(measured), np.asarray(expected)
    if measured.shape != expected.shape:
        return Verdict(False, f"shape {measured.shape}", f"shape {expected.shape}")
    gap = float(np.max(np.abs(measured - expected), initial=0.0))
    # NaN compares false, so a NaN gap fails as it should.
    return Verdict(bool(gap <= tolerance), _brief(measured, gap), f"{_brief(expected)} within {tolerance:g}")


def equal(measured: Any, expected: Any) -> Verdict:
    """Exactly equal: for counts, names, shapes and truth values."""
    same = np.array_equal(measured, expected) if isinstance(measured, np.ndarray) else measured == expected
    return Verdict(bool(same), _brief(measured), _brief(expected))


def below(measured: float, bound: float) -> Verdict:
    return Verdict(bool(measured < bound), float(measured), f"below {bound:g}")


def above(measured: float, bound: float) -> Verdict:
    return Verdict(bool(measured > bound), float(measured), f"above {bound:g}")


def within(measured: float, low: float, high: float) -> Verdict:
    return Verdict(bool(low <= measured <= high), float(measured), f"in [{low:g}, {high:g}]")


def raises(error: type[Exception], call: Callable[[], Any], *, match: str = "") -> Verdict:
    """Calling ends in ``error`` with ``match`` somewhere in its message."""
    expected = f"{error.__name__} with {match!r}" if match else error.__name__
    try:
        call()
    except error as caught:
        return Verdict(match in str(caught), f"{type(caught).__name__}: {caught}", expected)
    return Verdict(False, "no error", expected)


def every(**parts: Verdict) -> Verdict:
    """All named parts hold; measured and expected keep their names, and a slip without one takes that of its part."""
    slips = (name if slip == "printed" else slip for name, part in parts.items() for slip in part.slips)
    return Verdict(
        all(part.ok for part in parts.values()),
        {name: part.measured for name, part in parts.items()},
        {name: part.expected for name, part in parts.items()},
        corrected=any(part.corrected for part in parts.values()),
        slips=tuple(dict.fromkeys(slips)),
    )


def corrected(truth: Verdict, **printed: Verdict) -> Verdict:
    """The corrected statement holds, and every slip of the notes fails on a counter-example of its own.

    Each keyword names a slip (``printed`` if there is only one) and gives the notes' own statement evaluated on
    the counter-example: if it held there, it would be no counter-example, and the verdict fails. What is
    evaluated is the printed formula or claim itself, never the negation of the truth.
    """
    if not printed:
        raise TypeError("corrected: needs the printed statement, evaluated on a counter-example.")
    names = {name: "as printed" if name == "printed" else f"as printed: {name}" for name in printed}
    return Verdict(
        truth.ok and not any(part.ok for part in printed.values()),
        {"corrected": truth.measured} | {names[name]: part.measured for name, part in printed.items()},
        {"corrected": truth.expected} | {names[name]: f"not {part.expected}" for name, part in printed.items()},
        corrected=True,
        slips=tuple(printed),
    )


def _brief(value: Any, gap: float | None = None) -> Any:
    """A JSON-ready form of ``value``: small arrays whole, large ones by shape (and their largest gap)."""
    if isinstance(value, np.ndarray | np.generic):
        if value.size > 9:
            return f"array {value.shape}" + ("" if gap is None else f" off by {gap:.3g}")
        if np.iscomplexobj(value):
            return str(value.tolist())
        return value.tolist()
    if isinstance(value, str | int | float | bool | list | dict) or value is None:
        return value
    return str(value)
