"""An ensemble as the sequence of its fitted members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.utils.validation import check_is_fitted

__all__ = ["MemberSequence"]


class MemberSequence:
    """``len(model)``, ``model[i]``, ``model[i:j]`` and ``for member in model`` of ``model.estimators_``.

    >>> class Pair(MemberSequence):
    ...     def fit(self):
    ...         self.estimators_ = ["first", "second"]
    ...         return self
    >>> pair = Pair().fit()
    >>> len(pair), pair[-1], list(pair)
    (2, 'second', ['first', 'second'])
    """

    def __len__(self) -> int:
        return len(self._members())

    def __getitem__(self, index: Any) -> Any:
        """The member of this number, or a list of those of a slice."""
        chosen = self._members()[index]
        return [self._member_of(part) for part in chosen] if isinstance(index, slice) else self._member_of(chosen)

    def __iter__(self) -> Iterator[Any]:
        return map(self._member_of, self._members())

    def __bool__(self) -> bool:
        """An ensemble is something even before it was fitted: ``given or default`` takes what was given."""
        return True

    def _members(self) -> list[Any]:
        """What the members are made of."""
        check_is_fitted(self)
        return self.estimators_  # type: ignore[attr-defined]

    def _member_of(self, part: Any) -> Any:
        """A member as a fitted model."""
        return part
