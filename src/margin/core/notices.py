"""Warnings that point at the user's line, however deep in the package (or inside a generator) they arise."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn_user"]

INSIDE = {"margin", "sklearn"}  # scikit-learn's wrappers stand between fit and its caller


def warn_user(sentence: str, category: type[Warning] = UserWarning) -> None:
    """Warn as if the first line outside the library had done it: that is the call the user wrote.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_user("something to know")
    >>> caught[0].message
    UserWarning('something to know')
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, category, stacklevel=level)
