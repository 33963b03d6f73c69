"""When a fit that watches a loss ends: the two rules that scikit-learn's two families of boosting have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from margin.core.domains import Build, Domain
from margin.core.domains.base import says_none

__all__ = ["NoneBetter", "NoneWorse", "Scoring", "StoppingRule"]


@dataclass(frozen=True)
class Scoring(Domain):
    """None, the name of a score, or a function of a fitted model, X and y.

    >>> Scoring().accepts("accuracy"), Scoring().accepts(lambda model, X, y: 0.0), Scoring().accepts(3)
    (True, True, False)
    """

    description = "None, the name of a score or a callable"

    def accepts(self, value: Any) -> bool:
        return value is None or isinstance(value, str) or callable(value)

    def parse(self, text: str, build: Build | None = None) -> str | None:
        return None if says_none(text) else text

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "null"]}

    def wrong(self) -> list[Any]:
        return [3, ["loss"]]


@dataclass(frozen=True)
class StoppingRule(ABC):
    """``patience`` rounds are looked at; ``tol`` is what counts as an improvement."""

    patience: int
    tol: float

    @property
    def looks_at(self) -> int:
        """How many of the last losses decide: copying all of them at every round would be quadratic in the rounds."""
        return self.patience + 2

    @abstractmethod
    def reached(self, losses: Sequence[float]) -> bool:
        """Whether to stop after these losses, the first of which is that before the first round; the last ``looks_at``
        of them say as much as all."""


class NoneBetter(StoppingRule):
    """Stop when none of the last ``patience`` losses is better than the one before them (HistGradientBoosting).

    >>> rule = NoneBetter(patience=2, tol=0.0)
    >>> rule.reached([5.0, 4.0, 4.0]), rule.reached([5.0, 4.0, 4.0, 4.5])
    (False, True)
    """

    def reached(self, losses: Sequence[float]) -> bool:
        if len(losses) <= self.patience:
            return False
        return min(losses[-self.patience :]) >= losses[-self.patience - 1] - self.tol


class NoneWorse(StoppingRule):
    """Stop when the last loss is better than none of the ``patience`` losses before it (GradientBoosting).

    >>> rule = NoneWorse(patience=2, tol=0.0)
    >>> rule.reached([9.0, 5.0, 4.0, 4.5]), rule.reached([9.0, 4.0, 4.0, 4.5])
    (False, True)
    """

    def reached(self, losses: Sequence[float]) -> bool:
        after_rounds = losses[1:]
        if len(after_rounds) <= self.patience:
            return False
        return after_rounds[-1] + self.tol >= max(after_rounds[-self.patience - 1 : -1])
