"""``partial_fit`` of models of one pass: the rows of every call are summarized, merged with those of earlier calls and
solved, so that the model is that of all rows together. Only the summary is kept of them.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict
from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.validation import _check_feature_names, _check_n_features

from margin.core.invariants import Anything, sometimes
from margin.core.parameters import Declared, attribute
from margin.core.streaming import RowBlock

__all__ = ["LearnsInPieces"]


class LearnsInPieces(Declared):
    """Keeps the summary of a :class:`~margin.core.summaries.OnePass` as a dict of its fields, which a file may hold.

    A class says how the fields become a summary again (``_summary_of``), and forgets it in every other fit.
    """

    summary_: dict[str, Any] = attribute(sometimes(Anything()), "What partial_fit keeps of the rows.")

    @staticmethod
    @abstractmethod
    def _summary_of(fields: dict[str, Any]) -> Any:
        """The summary whose fields these are."""

    def _learn_piece(self: Any, X: Any, y: Any = None) -> Self:
        """Learn from these rows and those of earlier calls."""
        self._check_parameters()
        first = not hasattr(self, "summary_")
        piece = clone(self).summarize(RowBlock(X, y))
        _check_feature_names(self, X, reset=first)
        _check_n_features(self, X, reset=first)
        total = self._with_earlier(piece)
        self.solve(total)
        self._keep(total)
        return self

    def _with_earlier(self: Any, piece: Any) -> Any:
        """The summary of the rows of earlier calls and of ``piece``, which come after them."""
        return self.merge(self._summary_of(self.summary_), piece) if hasattr(self, "summary_") else piece

    def _keep(self, summary: Any) -> None:
        self.summary_ = asdict(summary)

    def _forget(self) -> None:
        """Leave the rows of earlier calls behind."""
        self.__dict__.pop("summary_", None)
