"""How a user's type checker sees the library: read by mypy in ``make check``, never run.

A line that must be refused carries an ignore comment; mypy reports the comment if the line is accepted.
"""

from typing import assert_type

import margin


def usage() -> None:
    forest = margin.RandomForestClassifier(50, max_depth=3, random_state=0)
    forest.fit([[0.0], [1.0]], [0, 1])
    ridge = margin.Ridge(1.0, fit_intercept=False)
    assert_type(ridge.fit_intercept, bool)
    margin.Ridge(fit_intercept="no")  # type: ignore[arg-type]
    margin.MLPClassifier((64, 32), max_iter=5)
    margin.MLPClassifier(max_iter="many")  # type: ignore[arg-type]
    records = [record.values for record in margin.KMeans(3).iterate([[0.0], [1.0]])]
    assert records
    margin.save(forest, "forest.safetensors")
