"""joblib's backends for clusters: a search of scikit-learn has there the scores of one process, with every estimator.

Minutes: `make cluster-test`. Ray is no dependency; where it is not installed, its half is skipped.
"""

import os
import pickle
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from margin import catalog

sys.path.insert(0, str(Path(__file__).parents[1] / "contracts"))
from problems import build, outputs, problem

pytestmark = pytest.mark.skipif(
    "MARGIN_CLUSTER_TESTS" not in os.environ, reason="takes minutes; `make cluster-test` runs it"
)
NO_FOLDS = ("node-classifier", "link-predictor", "cyclegan")  # whose data, a graph or two sets, no folds are made of


@pytest.fixture(scope="module")
def dask():
    distributed = pytest.importorskip("distributed")
    local = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    )
    with local as cluster, distributed.Client(cluster):
        yield "dask"


@pytest.fixture(scope="module")
def ray(tmp_path_factory):
    home = pytest.MonkeyPatch()
    home.setenv("HOME", str(tmp_path_factory.mktemp("home")))  # where Ray leaves a token
    home.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    ray = pytest.importorskip("ray", reason="Ray is no dependency and is not installed here: pip install ray")
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    register_ray()
    yield "ray"
    ray.shutdown()
    home.undo()


def said(pipeline, X, y=None):
    """A number that follows from everything a fitted model gives for some rows, for those without a score too."""
    model = pipeline[-1]
    arrays = list(outputs(model, X).values()) or [v for v in vars(model).values() if isinstance(v, np.ndarray)]
    assert arrays, "a model that says nothing proves nothing"
    return float(sum(_number(array) for array in arrays))


def _number(array):
    array = np.asarray(array)
    if array.dtype.kind in "OUS":
        return sum(sum(map(ord, str(value))) for value in array.ravel())
    return np.nan_to_num(array.astype(float), posinf=1.0, neginf=-1.0).sum()


def groups():
    """Models that learn from the same data, which one search can compare; a cluster starts processes for each."""
    found = {}
    for entry in catalog.ENTRIES:
        if entry.name not in NO_FOLDS:
            found.setdefault(pickle.dumps(problem(entry)), []).append(entry)
    return list(found.values())


def scores(entries, backend):
    """The scores of a search of scikit-learn among the models of a group, by their names."""
    X, y = problem(entries[0])
    search = GridSearchCV(
        Pipeline([("model", build(entries[0]))]), {"model": [build(entry) for entry in entries]},
        cv=2, scoring=said, refit=False, error_score="raise",
    )  # fmt: skip
    with warnings.catch_warnings(), joblib.parallel_config(backend, n_jobs=2):
        warnings.simplefilter("ignore")
        found = search.fit(X, y).cv_results_
    both = np.transpose([found[f"split{k}_test_score"] for k in range(2)])
    return {entry.name: pair.tolist() for entry, pair in zip(entries, both)}


def fitted_and_asked(entry):
    X, y = problem(entry)
    return said([build(entry).fit(X) if y is None else build(entry).fit(X, y)], X)


@pytest.mark.parametrize("entries", groups(), ids=lambda entries: f"{entries[0].name} and {len(entries) - 1} more")
@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_search_has_the_scores_of_one_process(backend, entries, request):
    there, here = scores(entries, request.getfixturevalue(backend)), scores(entries, "sequential")
    assert there.keys() == here.keys()
    for name, expected in here.items():
        np.testing.assert_allclose(there[name], expected, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_models_whose_data_are_no_rows_are_fitted_elsewhere(backend, request):
    entries = [catalog.entry(name) for name in NO_FOLDS]
    found = []
    for name in (request.getfixturevalue(backend), "sequential"):
        with warnings.catch_warnings(), joblib.parallel_config(name, n_jobs=2):
            warnings.simplefilter("ignore")
            found.append(joblib.Parallel()(joblib.delayed(fitted_and_asked)(entry) for entry in entries))
    np.testing.assert_allclose(*found, rtol=1e-9)
