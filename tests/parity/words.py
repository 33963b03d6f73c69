"""``pytest.raises`` and ``pytest.warns`` that go on when only the words differ.

scikit-learn's tests compare the sentences of errors and warnings, and ours are others. A test that ended there would
hide whatever it looks at afterwards, so the difference is noted and the test goes on.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any

import pytest

__all__ = ["go_on_after_other_words"]


def go_on_after_other_words(noted: list[str]) -> None:
    """Replace pytest's two context managers; every difference of words is appended to ``noted``."""
    raises, warns = pytest.raises, pytest.warns

    def raises_any_words(expected: Any = Exception, *args: Any, match: Any = None, **settings: Any) -> Any:
        if args:
            return raises(expected, *args, **settings)
        return _Raises(raises(expected, **settings), match, noted)

    def warns_any_words(expected: Any = Warning, *args: Any, match: Any = None, **settings: Any) -> Any:
        if args:
            return warns(expected, *args, **settings)
        return _Warns(warns(expected, **settings), match, noted)

    pytest.raises, pytest.warns = raises_any_words, warns_any_words  # type: ignore[assignment]


class _AnyWords(ABC):
    """A context manager of pytest without ``match``, whose words are looked at when it ends."""

    def __init__(self, inner: Any, match: Any, noted: list[str]):
        self.inner, self.match, self.noted = inner, match, noted
        self.entered: Any = None

    def __enter__(self) -> Any:
        self.entered = self.inner.__enter__()
        return self.entered

    def __exit__(self, *error: Any) -> Any:
        ended = self.inner.__exit__(*error)
        if error[0] is not None and not ended:  # an error of another kind goes through
            return ended
        said = self.said(*error)
        if self.match is not None and not any(re.search(self.match, words.partition(": ")[2]) for words in said):
            self.noted.append(
                f"Regex pattern did not match.\n  Expected regex: {str(self.match)!r}\n  Actual message: {said}"
            )
        return ended

    @abstractmethod
    def said(self, *error: Any) -> list[str]:
        """Kind and words of the error, or of every warning."""


class _Raises(_AnyWords):
    def said(self, *error: Any) -> list[str]:
        return ["\n".join([f"{error[0].__name__}: {error[1]}", *getattr(error[1], "__notes__", [])])]


class _Warns(_AnyWords):
    def said(self, *error: Any) -> list[str]:
        return [f"{caught.category.__name__}: {caught.message}" for caught in self.entered]
