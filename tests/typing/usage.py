"""How a user's type checker sees the library: read by mypy in ``make check``, never run.

A line that must be refused carries an ignore comment; mypy reports the comment if the line is accepted.
"""

import margin


def usage() -> None:
    forest = margin.RandomForestClassifier(50, max_depth=3, random_state=0)
    forest.fit([[0.0], [1.0]], [0, 1])
    margin.RandomForestClassifier(number_of_trees=3)  # type: ignore[call-arg]
    margin.Ridge(1.0, fit_intercept=False)
    margin.Ridge(alpha="a string", intercept=False)  # type: ignore[call-arg]
    margin.KMeans(8)
    records = [record.values for record in margin.KMeans(3).iterate([[0.0], [1.0]])]
    assert records
    margin.save(forest, "forest.safetensors")
