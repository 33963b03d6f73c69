"""Boosting whose rows lie on several workers: the model file of one process, for any number of them."""

import pickle

import numpy as np
import pandas as pd
import pytest

import margin
from margin.core.streaming import InOrder, KeepsObjects
from margin.data.streams import stream
from margin.store import save
from margin.trees.boosting import boosting_rounds, growing_on_workers, packing
from margin.trees.boosting.growing_on_workers import GrowerOnWorkers

ROWS = 700


class Workers(InOrder):
    """Objects of this process, whose messages go through bytes."""

    def __init__(self, n_workers):
        self.n_workers, self.closed, self.messages = n_workers, 0, []

    def keep(self, make, items):
        self.objects = [make(item) for item in items]
        return self

    def begin(self, method, arguments):
        return self.ask(method, arguments)

    def ask(self, method, arguments):
        self.messages.append(method)
        sent = [pickle.loads(pickle.dumps(own)) for own in arguments]
        return [getattr(kept, method)(*own) for kept, own in zip(self.objects, sent, strict=True)]

    def close(self):
        self.closed += 1


def rows(task="classification"):
    """Numbers, missing values, a category and three columns of which one is 1."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS, 3))
    X[rng.random(ROWS) < 0.1, 1] = np.nan
    one = np.eye(4)[rng.integers(4, size=ROWS)][:, 1:]
    frame = pd.DataFrame(np.column_stack([X, rng.integers(6, size=ROWS), one]), columns=list("abcdefg"))
    signal = X[:, 0] - 2 * np.nan_to_num(X[:, 1]) ** 2 + one @ [1, 2, 3] + 0.3 * rng.normal(size=ROWS)
    y = signal if task == "regression" else np.digitize(signal, [-2.0, 1.0])
    return frame, y


HIST, PLAIN = margin.HistGradientBoostingClassifier, margin.GradientBoostingRegressor
REGRESSOR = margin.HistGradientBoostingRegressor
MODELS = {
    "classes": HIST(max_iter=4, min_samples_leaf=5, early_stopping=False),
    "categories": HIST(max_iter=3, categorical_features=[3], early_stopping=False),
    "drawn columns": HIST(max_iter=3, max_features=0.5, early_stopping=True, random_state=3),
    "depth first": REGRESSOR(max_iter=3, max_leaf_nodes=None, min_samples_leaf=2, early_stopping=False),
    "monotone": REGRESSOR(max_iter=3, monotonic_cst=[1, 0, -1, 0, 0, 0, 0], early_stopping=False),
    "groups": REGRESSOR(max_iter=3, interaction_cst=[[0, 1], [2, 3]], early_stopping=False),
    "medians": REGRESSOR("absolute_error", max_iter=3, early_stopping=False),
    "drawn rows": PLAIN(n_estimators=4, subsample=0.4, random_state=0),
    "pruned": PLAIN(n_estimators=3, ccp_alpha=0.02, max_depth=5, random_state=0),
}


def fitted_file(model, data, path):
    save(model.fit(*data), path)
    return path.read_bytes()


@pytest.mark.parametrize("shared", [False, True], ids=["each column", "shared columns"])
@pytest.mark.parametrize("name", MODELS)
def test_any_number_of_workers_grows_the_trees_of_one_process(name, shared, tmp_path, monkeypatch):
    monkeypatch.setattr(boosting_rounds, "SHARING_CELLS", 0 if shared else 10**9)
    X, y = rows("classification" if isinstance(MODELS[name], HIST) else "regression")
    here = fitted_file(MODELS[name], (X, y), tmp_path / "0")
    data = stream([X.assign(y=y)[:300], X.assign(y=y)[300:]], "y")
    for n in (1, 2, 4, 7):
        workers = Workers(n)
        assert isinstance(workers, KeepsObjects)
        assert fitted_file(MODELS[name], (data.on(workers),), tmp_path / str(n)) == here
        assert "divide" in workers.messages
        assert workers.closed == 1


def test_a_split_that_was_counted_too_high_is_refused_as_by_one_process(tmp_path, monkeypatch):
    """With many rows their number is estimated from hessians; here few rows are taken for many."""
    monkeypatch.setattr(packing, "COUNTED_ROWS", 10)
    refused = []

    class Noting(GrowerOnWorkers):
        def _order(self, *arguments):
            refused.extend(self.refused)
            super()._order(*arguments)

    monkeypatch.setattr(boosting_rounds, "GrowerOnWorkers", Noting)
    X, y = rows()
    y = np.where(X["a"] > 1.5, 1, y > 1).astype(int)
    model = HIST(max_iter=12, learning_rate=0.8, min_samples_leaf=12, early_stopping=False)
    here = fitted_file(model, (X, y), tmp_path / "here")
    assert fitted_file(model, (stream([X.assign(y=y)], "y").on(Workers(3)),), tmp_path / "there") == here
    assert refused


@pytest.mark.parametrize("together", [1, 8, 100])
def test_nodes_that_are_divided_ahead_do_not_show(together, tmp_path, monkeypatch):
    monkeypatch.setattr(growing_on_workers, "DIVIDED_TOGETHER", together)
    X, y = rows()
    model, workers = HIST(max_iter=2, max_leaf_nodes=9, min_samples_leaf=3, early_stopping=False), Workers(2)
    here = fitted_file(model, (X, y), tmp_path / "here")
    assert fitted_file(model, (stream([X.assign(y=y)], "y").on(workers),), tmp_path / "there") == here
    splits = 6 * 8  # two rounds of three trees
    assert workers.messages.count("divide") == splits if together == 1 else workers.messages.count("divide") < splits


def test_a_fit_goes_on_on_workers(tmp_path):
    X, y = rows()
    data = stream([X.assign(y=y)], "y")
    model = HIST(max_iter=4, early_stopping=False)
    here = fitted_file(model, (X, y), tmp_path / "here")
    for _ in model.iterate(data):
        if model.n_iter_ == 2:
            state = model.get_state()
            break
    second = HIST(max_iter=4, early_stopping=False)
    list(second.iterate(data.on(Workers(2)), state=state))
    save(second, tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == here
