"""Choosing between models by evidence: cross-validated scores with intervals, costs, and failures as rows.

This package knows models by ``fit`` and ``predict`` only.
"""

from margin.selection.board import Standing, board, corrected_interval
from margin.selection.comparison import Candidate, compare
from margin.selection.trial import Trial

__all__ = ["Candidate", "Standing", "Trial", "board", "compare", "corrected_interval"]
