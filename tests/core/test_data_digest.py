"""A state goes on with the data it was taken from, and with no other."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import margin
from margin.core.data_digest import ROWS, data_digest
from margin.graphs.generators import ring
from margin.graphs.graph_estimators import GraphClassifier
from margin.text import TextClassifier

X = np.random.default_rng(0).normal(size=(40, 3))
TEXTS = ["a good film", "a bad film", "good", "so bad"] * 3
CASES = {
    "k-means": (margin.KMeans(n_clusters=3, n_init=1, random_state=0), X, None),
    "boosting": (margin.GradientBoostingClassifier(n_estimators=4, random_state=0), X, X[:, 0] > 0),
    "perceptron": (margin.MLPClassifier((4,), max_iter=4, random_state=0), X, X[:, 0] > 0),
    "texts": (TextClassifier(d_model=4, max_iter=3, random_state=0), TEXTS, [1, 0] * 6),
    "graphs": (GraphClassifier(max_iter=3, random_state=0), [ring(n) for n in range(3, 11)], [0, 1] * 4),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_state_is_not_continued_with_other_data(name):
    model, rows, y = CASES[name]
    begun = clone(model)
    records = begun.iterate(rows, y)
    next(records)
    state = begun.get_state()
    records.close()
    fresh = clone(model)
    other = rows[::-1]
    with pytest.raises(ValueError, match=f"^{type(model).__name__}: the state belongs to a fit of other data"):
        next(fresh.iterate(other, y, state=state))
    assert not any(attribute.endswith("_") for attribute in vars(fresh))
    assert next(clone(model).iterate(rows, y, state=state), None) is not None
    old = {key: value for key, value in state.items() if key != "data"}  # as states were written before
    assert next(clone(model).iterate(rows, y, state=old), None) is not None


def test_the_digest_knows_values_not_what_holds_them():
    same = [X, X.tolist(), pd.DataFrame(X), sp.csr_array(X), np.asfortranarray(X)]
    assert len({data_digest(rows) for rows in same[:3] + same[4:]}) == 1
    assert data_digest(sp.csr_array(X)) == data_digest(sp.csc_array(X)) != data_digest(sp.csr_array(X + 1))
    assert data_digest(X) != data_digest(X, X[:, 0]) != data_digest(X, X[:, 1])
    assert data_digest(["a", "b"]) == data_digest(np.array(["a", "b"], dtype=object)) != data_digest(["ab"])
    assert data_digest([ring(3), ring(4)]) == data_digest([ring(3), ring(4)]) != data_digest([ring(4), ring(3)])
    assert data_digest([np.arange(2), np.arange(3)]) != data_digest([np.arange(3), np.arange(2)])


def test_long_data_is_read_at_its_ends_too():
    long = np.zeros(100 * ROWS)
    for row in (0, -1):
        changed = long.copy()
        changed[row] = 1
        assert data_digest(changed) != data_digest(long)
    assert data_digest(long[:-1]) != data_digest(long)
    generator = (text for text in TEXTS)
    data_digest(generator)
    assert next(generator) == TEXTS[0]  # not consumed
