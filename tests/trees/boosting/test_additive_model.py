"""The equations of gradient boosting with any learner."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingRegressor as Peer
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from margin.trees.boosting import AbsoluteLoss, HuberLoss, LogisticLoss, SquaredLoss, gradient_boosting
from margin.trees.boosting.additive_model import line_search

X, y = make_friedman1(300, noise=1.0, random_state=0)


@pytest.mark.parametrize(
    "loss", [SquaredLoss(), AbsoluteLoss(), HuberLoss(delta=2.0), LogisticLoss()], ids=lambda x: type(x).__name__
)
@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_the_training_loss_never_rises(loss, rate):
    target = (y > np.median(y)).astype(float) if isinstance(loss, LogisticLoss) else y
    found = gradient_boosting(X, target, loss, DecisionTreeRegressor(max_depth=2, random_state=0), 15, rate)
    assert np.diff(found.losses).max() <= 1e-12
    assert found.losses[-1] < found.losses[0]


def test_squares_take_whole_steps_and_equal_scikit_learns():
    """For squared error a tree's values already are the best step: the multiplier is 1."""
    learner = DecisionTreeRegressor(max_depth=3, random_state=0, criterion="squared_error")
    found = gradient_boosting(X, y, SquaredLoss(), learner, 20, learning_rate=0.1)
    np.testing.assert_allclose(found.multipliers, 0.1, rtol=1e-6)
    peer = Peer(n_estimators=20, learning_rate=0.1, random_state=0).fit(X, y)
    np.testing.assert_allclose(found.predict(X), peer.predict(X), rtol=1e-5)


def test_a_linear_learner_needs_one_step():
    found = gradient_boosting(X, y, SquaredLoss(), LinearRegression(), 3)
    np.testing.assert_allclose(found.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-6)
    assert found.losses[1] == pytest.approx(found.losses[-1], rel=1e-9)


def test_no_step_against_the_gradient():
    assert line_search(SquaredLoss(), y, np.full(300, y.mean()), np.zeros(300)) >= 0.0
    assert line_search(SquaredLoss(), y, y, np.ones(300)) == pytest.approx(0.0, abs=1e-6)
