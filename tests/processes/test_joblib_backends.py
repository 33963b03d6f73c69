"""joblib's backends for clusters: a search of scikit-learn has there the scores of one process, with every estimator.

Minutes: `make cluster-test`. Ray is no dependency; where it is not installed, its half is skipped.
"""

import os
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from margin import catalog

sys.path.insert(0, str(Path(__file__).parents[1] / "contracts"))
from problems import build, ids, outputs, problem

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
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    register_ray()
    yield "ray"
    ray.shutdown()
    home.undo()


def said(model, X, y=None):
    """A number that follows from everything a fitted model gives for some rows, for those without a score too."""
    arrays = list(outputs(model, X).values()) or [v for v in vars(model).values() if isinstance(v, np.ndarray)]
    assert arrays, "a model that says nothing proves nothing"
    return float(sum(_number(array) for array in arrays))


def _number(array):
    array = np.asarray(array)
    if array.dtype.kind in "OUS":
        return sum(sum(map(ord, str(value))) for value in array.ravel())
    return np.nan_to_num(array.astype(float), posinf=1.0, neginf=-1.0).sum()


def fitted_and_asked(model, X, y):
    return said((model.fit(X) if y is None else model.fit(X, y)), X)


def found(entry, backend):
    X, y = problem(entry)
    model = build(entry)
    with warnings.catch_warnings(), joblib.parallel_config(backend, n_jobs=2):
        warnings.simplefilter("ignore")
        if entry.name in NO_FOLDS:
            return joblib.Parallel()(joblib.delayed(fitted_and_asked)(clone(model), X, y) for _ in range(2))
        search = GridSearchCV(model, {}, cv=2, scoring=said, refit=False, error_score="raise").fit(X, y)
        return [search.cv_results_[f"split{k}_test_score"][0] for k in range(2)]


@pytest.mark.parametrize("entry", catalog.ENTRIES, ids=ids)
@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_a_search_has_the_scores_of_one_process(backend, entry, request):
    there = found(entry, request.getfixturevalue(backend))
    np.testing.assert_allclose(there, found(entry, "sequential"), rtol=1e-9)
