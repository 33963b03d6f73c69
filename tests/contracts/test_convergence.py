"""A fit that ends at its limit of iterations before it has converged says so."""

import warnings

import numpy as np
import pytest
from problems import build, ids, outputs, problem
from sklearn.exceptions import ConvergenceWarning

from margin import catalog
from margin.core.parameters import parameters_of

# Where the limit is the length of a schedule or the size of the model, and reaching it is the usual end.
SCHEDULES = {
    "hist-gradient-boosting-classifier": "rounds of boosting",
    "hist-gradient-boosting-regressor": "rounds of boosting",
    "t-sne": "a schedule of steps, as in scikit-learn",
    "self-training-classifier": "rounds of labeling; termination_condition_ says what ended them",
    "neural-classifier": "passes over the rows",
    "neural-regressor": "passes over the rows",
    "vision-transformer": "passes over the rows",
    "cnn-classifier": "passes over the rows while the learning rate falls",
    "cnn-regressor": "passes over the rows while the learning rate falls",
    "tabular-net-classifier": "passes over the rows while the learning rate falls",
    "tabular-net-regressor": "passes over the rows while the learning rate falls",
    "sequence-classifier": "passes over the rows",
    "sequence-regressor": "passes over the rows",
    "vae": "passes over the rows",
    "latent-dirichlet-allocation": "passes over the documents, as in scikit-learn",
    "word2vec": "passes over the texts",
    "token-tagger": "passes over the texts while the learning rate falls",
    "text-classifier": "passes over the texts while the learning rate falls",
    "language-model": "passes over the text",
    "translator": "passes over the pairs",
    "masked-language-model": "passes over the texts",
    "glove": "passes over the table of co-occurrences",
    "autoencoder": "passes over the rows",
    "sparse-autoencoder": "passes over the rows while the learning rate falls",
    "normalizing-flow": "passes over the rows",
    "gan": "passes over the rows",
    "cyclegan": "passes over the rows",
    "diffusion-model": "passes over the rows",
    "flow-matching": "passes over the rows",
    "score-model": "passes over the rows",
    "object-detector": "passes over the images while the learning rate falls",
    "segmenter": "passes over the images while the learning rate falls",
    "simclr": "passes over the images while the learning rate falls",
    "clip": "passes over the pairs while the learning rate falls",
    "node-classifier": "passes over the nodes",
    "graph-classifier": "passes over the graphs",
    "graph-regressor": "passes over the graphs",
    "link-predictor": "passes over the edges",
    "neural-ode": "passes over the windows",
    "few-shot-learner": "epochs of episodes, which are drawn anew for ever",
}
LIMITED = [
    entry
    for entry in catalog.ENTRIES
    if "max_iter" in parameters_of(catalog.class_of(entry.name)) and entry.name not in SCHEDULES
]
ENOUGH = {"linear-svc": 100_000, "mlp-classifier": 400, "mlp-regressor": 400}
PARAMETERS = {
    "ridge": {"solver": "sparse_cg", "tol": 1e-10},
    "isomap": {"eigen_solver": "dense"},
    "kmeans": {"init": "random", "n_init": 1},
    "gaussian-mixture": {"init_params": "random"},
    "mds": {"init": "random"},
}


def run(entry, max_iter):
    X, y = problem(entry)
    model = build(entry, **PARAMETERS.get(entry.name, {}), max_iter=max_iter)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X) if y is None else model.fit(X, y)
    warned = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    values = outputs(model, X) or {"embedding": model.embedding_}
    return warned, {name: array for name, array in values.items() if name != "sample"}


@pytest.mark.parametrize("entry", LIMITED, ids=ids)
def test_an_unfinished_fit_warns(entry):
    """One iteration is either the solution, as close as makes no difference, or it is called unfinished."""
    _, expected = run(entry, ENOUGH.get(entry.name, 1000))
    warned, found = run(entry, 1)
    away = max(
        float(np.abs(np.asarray(found[name], dtype=float) - expected[name]).max() / (np.abs(expected[name]).max() or 1))
        for name in expected
        if expected[name].dtype.kind in "fiu"
    )
    assert warned or away < 0.01, f"one iteration leaves outputs {away:.2g} away and says nothing"


def test_schedules_exist():
    assert set(SCHEDULES) <= {entry.name for entry in catalog.ENTRIES}
