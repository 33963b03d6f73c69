"""The quasi-Newton step moves the weights where they stand."""

import pickle

import numpy as np

from margin.neural.estimators import MLPRegressor


def test_a_fitted_model_holds_the_weights_that_it_predicts_with():
    X = np.linspace(-1, 1, 30)[:, None]
    model = MLPRegressor((5,), solver="lbfgs", max_iter=30, random_state=0).fit(X, np.sin(3 * X[:, 0]))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
