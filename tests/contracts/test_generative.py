"""What every generative model of the catalog owes: samples, a density or none, and the word for which."""

import inspect

import numpy as np
import pytest
from problems import build, ids, problem

from margin import catalog

GENERATIVE = [
    entry
    for entry in catalog.ENTRIES
    if entry.data == "table" and callable(getattr(catalog.class_of(entry.name), "sample", None))
]
FITTED = {}


def fitted(entry):
    if entry.name not in FITTED:
        X, y = problem(entry)
        model = build(entry)
        FITTED[entry.name] = (model.fit(X) if y is None else model.fit(X, y), np.asarray(X, dtype=float))
    return FITTED[entry.name]


def test_densities_of_the_catalog_can_be_sampled():
    densities = {entry.name for entry in catalog.ENTRIES if entry.task == "density" and entry.data == "table"}
    assert densities <= {entry.name for entry in GENERATIVE}


@pytest.mark.parametrize("entry", GENERATIVE, ids=ids)
def test_kind_of_the_density_is_declared(entry):
    cls = catalog.class_of(entry.name)
    assert cls.log_density_kind in ("exact", "bound", "none")
    assert hasattr(cls, "score_samples") == (cls.log_density_kind != "none")
    n_samples, random_state = list(inspect.signature(cls.sample).parameters.values())[1:3]
    assert (n_samples.name, n_samples.default) == ("n_samples", 1)
    assert (random_state.name, random_state.default) == ("random_state", None)


@pytest.mark.parametrize("entry", GENERATIVE, ids=ids)
def test_samples_are_rows_and_follow_the_seed(entry):
    model, X = fitted(entry)
    rows = model.sample(50, random_state=3)
    assert rows.shape == (50, X.shape[1])
    assert np.isfinite(rows).all()
    np.testing.assert_array_equal(rows, model.sample(50, random_state=3))
    assert not np.array_equal(rows, model.sample(50, random_state=4))
    for wrong in (0, -1, 2.5):
        with pytest.raises(ValueError, match=rf"n_samples must be an integer at least 1; got {wrong}\.$"):
            model.sample(wrong)


@pytest.mark.parametrize(
    "entry", [e for e in GENERATIVE if hasattr(catalog.class_of(e.name), "score_samples")], ids=ids
)
def test_log_densities_are_nats_per_row(entry):
    model, X = fitted(entry)
    scores = model.score_samples(X)
    assert scores.shape == (len(X),)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores[:5], model.score_samples(X[:5]), rtol=1e-5, atol=1e-5)
    # Rows far from all that was seen are less probable than those that were learned.
    assert model.score_samples(X + 20 * np.ptp(X, axis=0)).mean() < scores.mean()
