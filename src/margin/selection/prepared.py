"""Columns prepared once for all models that take them alike: a comparison asks for the same few again and again."""

from __future__ import annotations

import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["PREPARE", "Prepared", "PreparedColumns"]

#: The name of the first step of a pipeline that only looks at the columns, never at the target.
PREPARE = "prepare"
#: What one process may keep, in bytes: five folds of about 50,000 rows and 100 columns.
MOST_BYTES = 320_000_000


@dataclass(frozen=True)
class Prepared:
    """Training and test rows as a model sees them, and the seconds that fitting and applying the preparation took."""

    train: Any
    test: Any
    fit_seconds: float
    transform_seconds: float

    @property
    def n_bytes(self) -> int:
        return sum(_bytes(rows) for rows in (self.train, self.test))


def _bytes(rows: Any) -> int:
    """Bytes of an array, dense or sparse, or of strings."""
    if hasattr(rows, "indptr"):
        return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
    if getattr(rows, "dtype", np.dtype(float)).kind == "O":
        return sum(len(row) for row in rows)
    return int(getattr(rows, "nbytes", MOST_BYTES))


class PreparedColumns:
    """What was prepared last, as much of it as fits into ``most_bytes``; one for each process that runs trials.

    >>> from sklearn.pipeline import Pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> kept = PreparedColumns(lambda: 0.0)
    >>> X, train, test = np.arange(8.0)[:, None], np.arange(6), np.arange(6, 8)
    >>> first = kept.of(Pipeline([("prepare", StandardScaler()), ("model", None)]), X[train], X[test], train, test)
    >>> first is kept.of(Pipeline([("prepare", StandardScaler()), ("model", 1)]), X[train], X[test], train, test)
    True
    """

    def __init__(self, clock: Callable[[], float], most_bytes: int = MOST_BYTES):
        self.clock, self.most_bytes = clock, most_bytes
        self._kept: OrderedDict[tuple[bytes, bytes], Prepared] = OrderedDict()

    def of(self, model: Any, X_train: Any, X_test: Any, train: np.ndarray, test: np.ndarray) -> Prepared | None:
        """The rows as the steps of ``model`` after its preparation see them; None if it does not begin with one.

        ``train`` and ``test`` are the positions of the rows, by which they are known again.
        """
        steps = getattr(model, "steps", None)
        if not steps or len(steps) < 2 or steps[0][0] != PREPARE:
            return None
        prepare = steps[0][1]
        rows = hashlib.blake2b(train.tobytes() + b"/" + test.tobytes(), digest_size=16).digest()
        key = pickle.dumps(prepare), rows
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        started = self.clock()
        seen = prepare.fit_transform(X_train)
        fitted = self.clock()
        unseen = prepare.transform(X_test)
        prepared = Prepared(seen, unseen, fitted - started, self.clock() - fitted)
        self._kept[key] = prepared
        self._make_room()
        return prepared

    def _make_room(self) -> None:
        while sum(prepared.n_bytes for prepared in self._kept.values()) > self.most_bytes:
            self._kept.popitem(last=False)
