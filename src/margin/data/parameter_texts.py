"""What the functions that split rows take alike, said once."""

from __future__ import annotations

from margin.core.docstrings import parameter_texts

__all__ = ["SPLITTING"]

SPLITTING = parameter_texts(
    """
    n : int
        Number of rows.
    test_size : float or int
        Fraction of the rows for testing, or their number.
    seed : int or numpy.random.Generator
        Draws the rows.
    y : array-like of shape (n,)
        Labels.
    groups : array-like of shape (n,)
        The group of every row.
    times : array-like of shape (n,)
        The time of every row.
    k : int
        Number of parts.
    """
)
