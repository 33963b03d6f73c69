"""A search that ends on a bound which the user set says so; bounds that nobody set are not talked about."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from margin.kernels import RBF, GaussianProcessClassifier, GaussianProcessRegressor, WhiteKernel

X = np.linspace(0, 5, 30)[:, None]
y = np.sin(X[:, 0])


def said(model, target):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model.fit(X, target)
    return [str(one.message) for one in record if issubclass(one.category, ConvergenceWarning)]


def test_every_number_on_a_bound_is_named():
    kernel = WhiteKernel(1e-4, noise_level_bounds=(1e-5, 1e-3)) + RBF(1000.0, length_scale_bounds=(1e3, 1e5))
    sentences = said(GaussianProcessRegressor(kernel), y)
    assert [sentence.split("kernel ")[1].split(";")[0] for sentence in sentences] == [
        "k1__noise_level is 0.001 at its upper bound",
        "k2__length_scale is 1000 at its lower bound",
    ]
    narrow = GaussianProcessClassifier(RBF(0.2, length_scale_bounds=(0.1, 0.3)))
    assert any("length_scale is 0.3 at its upper bound" in sentence for sentence in said(narrow, y > 0.3))
    columns = RBF([1.0, 1.0], length_scale_bounds=[(0.1, 10.0), (0.1, 7.0)])
    two = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))])  # the second says nothing about y
    with pytest.warns(ConvergenceWarning, match=r"length_scale\[1\] is 7 at its upper bound"):
        GaussianProcessRegressor(columns, alpha=1e-4).fit(two, y)


@pytest.mark.parametrize(
    "model",
    [
        GaussianProcessRegressor(RBF(1.0), alpha=1e-4),
        GaussianProcessRegressor(RBF(1e3, length_scale_bounds=(1e3, 1e5)), alpha=1e-2, optimizer=None),
        GaussianProcessRegressor(RBF(1e3, length_scale_bounds="fixed"), alpha=1e-2),
        GaussianProcessRegressor("rbf"),
    ],
    ids=["inside", "not searched", "fixed", "named"],
)
def test_nothing_is_said_without_a_bound_that_was_reached(model):
    assert said(model, y) == []


def test_kernels_of_several_classes_have_their_parameters_one_after_another():
    model = GaussianProcessClassifier(1.0 * RBF(1.0)).fit(X, np.digitize(y, [-0.3, 0.5]))
    assert len(model.kernel_) == len(model.kernel_.kernels) == 3
    np.testing.assert_array_equal(model.kernel_.theta, np.concatenate([kernel.theta for kernel in model.kernels_]))
    assert model.kernel_.bounds.shape == (model.kernel_.n_dims, 2) == (6, 2)
    learned = model.log_marginal_likelihood(model.kernel_.theta)
    assert learned == pytest.approx(model.log_marginal_likelihood_value_, rel=1e-6)


def test_one_uncertainty_at_a_time():
    model = GaussianProcessRegressor(RBF(1.0), alpha=1e-4, optimizer=None).fit(X, y)
    with pytest.raises(RuntimeError, match="return_std or return_cov; got both"):
        model.predict(X, return_std=True, return_cov=True)
