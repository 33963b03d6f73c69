"""What is kept beside a fitted model of its rows changes no bit of a prediction, no attribute and no file."""

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from margin.kernels import RBF, SVC, SVR, KernelRidge, LaplaceKernel
from margin.kernels.known_rows import _beside
from margin.kernels.one_vs_one import pair_decisions


def table(dtype=np.float64, shift=0.0):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 4)) + shift
    return X.astype(dtype), (X[:, 0] * X[:, 1] > shift**2).astype(int) + (X[:, 2] > shift + 0.8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0.0, 3e4])
@pytest.mark.parametrize("kernel", ["rbf", RBF(1e-5), LaplaceKernel(2.0), RBF([1.0, 2.0, 1.0, 3.0])])
def test_values_are_those_of_the_kernel_itself(kernel, shift, dtype):
    X, y = table(dtype, shift)
    model = SVC(kernel=kernel, gamma=0.3, decision_function_shape="ovo").fit(X, y)
    K = model.kernel_(X[:7], model.support_vectors_)
    expected = pair_decisions(K, model.dual_coef_, model.n_support_) + model.intercept_
    for _ in range(2):
        np.testing.assert_array_equal(model.decision_function(X[:7]), expected)


@pytest.mark.parametrize("model", [SVC(), SVR(), KernelRidge(kernel="rbf")], ids=lambda model: type(model).__name__)
def test_predicting_leaves_the_model_and_its_pickle_alone(model):
    X, y = table()
    model.fit(X, y)
    before, attributes = pickle.dumps(model), set(vars(model))
    first = model.predict(X)
    assert model in _beside
    assert pickle.dumps(model) == before
    assert set(vars(model)) == attributes
    np.testing.assert_array_equal(pickle.loads(before).predict(X), first)


def test_another_fit_kernel_or_precision_is_noticed():
    X, y = table()
    model = SVC().fit(X, y)
    model.predict(X)
    other = SVC().fit(X[::-1] * 2, y[::-1])
    np.testing.assert_array_equal(model.fit(X[::-1] * 2, y[::-1]).decision_function(X), other.decision_function(X))
    model.kernel_ = RBF(0.7)
    np.testing.assert_array_equal(model.decision_function(X), pickle.loads(pickle.dumps(model)).decision_function(X))
    model.kernel_.length_scale = 1.9
    np.testing.assert_array_equal(model.decision_function(X), pickle.loads(pickle.dumps(model)).decision_function(X))
    single = X.astype(np.float32)
    expected = pickle.loads(pickle.dumps(model)).decision_function(single)
    np.testing.assert_array_equal(model.decision_function(single), expected)


def test_threads_that_predict_at_once_get_the_same_bits():
    X, y = table()
    alone = SVC().fit(X, y).decision_function(X)
    model = SVC().fit(X, y)
    with ThreadPoolExecutor(8) as pool:
        for values in pool.map(lambda _: model.decision_function(X), range(32)):
            np.testing.assert_array_equal(values, alone)


def test_what_is_kept_goes_with_the_model():
    X, y = table()
    model = SVC().fit(X, y)
    model.predict(X)
    values = weakref.ref(_beside[model].values)
    del model
    gc.collect()
    assert values() is None
