"""How a user's type checker sees the library: read by mypy in ``make check``, never run.

A line that must be refused carries an ignore comment; mypy reports the comment if the line is accepted.
"""

import margin

forest = margin.RandomForestClassifier(50, max_depth=3, random_state=0)
forest.fit([[0.0], [1.0]], [0, 1])
margin.RandomForestClassifier(number_of_trees=3)  # type: ignore[call-arg]
margin.Ridge(alpha=1.0)
margin.KMeans(8)
records = [record.values for record in margin.KMeans(3).iterate([[0.0], [1.0]])]
margin.save(forest, "forest.safetensors")
