"""The report of a comparison: one HTML file that needs no network, with the evidence and the code for every part.

``write(comparison, path)`` writes it. The page knows a comparison by its attributes only.
"""

from margin.report.page import render, write
from margin.report.winner import unseen_rows, winner_effects

__all__ = ["render", "unseen_rows", "winner_effects", "write"]
