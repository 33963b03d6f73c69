"""Penalties against autograd and soft thresholding; what they make of the weights of a fit."""

import numpy as np
import pytest
import torch
from torch import nn

from margin.neural import MLPClassifier, MLPRegressor
from margin.neural.regularizers import (
    L1,
    REGULARIZERS,
    ElasticPenalty,
    MaxNorm,
    l1_gradient,
    l1_penalty,
    l2_gradient,
    l2_penalty,
    max_norm_,
)
from margin.neural.training import Minimize
from margin.neural.training.batches import Batch
from margin.neural.training.objectives import squared_error

RNG = np.random.default_rng(2)
X = RNG.normal(size=(300, 8))
Y = X @ [3.0, -2.0, 1.0, 0, 0, 0, 0, 0] + 0.1 * RNG.normal(size=300)


@pytest.mark.parametrize(("penalty", "gradient"), [(l1_penalty, l1_gradient), (l2_penalty, l2_gradient)])
def test_written_gradients(penalty, gradient):
    w = torch.tensor([[0.3, -2.0], [5.0, 0.0]], dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(penalty(w, 0.7), w)
    torch.testing.assert_close(gradient(w.detach(), 0.7), expected)


@pytest.mark.parametrize("shape", [(4, 3), (5, 2, 3, 3), (1, 1)], ids=str)
def test_the_norm_of_every_unit_is_bounded(shape):
    w = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    before = w.clone()
    max_norm_(w, 0.9)
    for old, new in zip(before.flatten(1), w.flatten(1), strict=True):
        expected = old if old.norm() <= 0.9 else 0.9 * old / old.norm()
        torch.testing.assert_close(new, expected)


@pytest.mark.parametrize(
    ("regularizer", "extra"),
    [
        (L1(0.5), lambda w: 0.5 * np.sign(w)),
        (ElasticPenalty(0.5, 0.3), lambda w: 0.15 * np.sign(w) + 0.35 * w),
        (MaxNorm(100.0), lambda w: 0 * w),
    ],
)
def test_one_step_is_that_of_the_penalized_sum(regularizer, extra):
    """Plain gradient descent on the mean of (losses + penalty): biases are spared."""
    from margin.optimize.rules import Descent

    torch.manual_seed(0)
    net = nn.Linear(3, 2).double()
    W, b = (p.detach().numpy().copy() for p in (net.weight, net.bias))
    x, y = torch.randn(5, 3).double(), torch.randn(5, 2).double()
    step = Minimize(net, squared_error, Descent(), schedule=0.1, regularizer=regularizer)
    step(Batch((x, y)), 0)
    error = x.numpy() @ W.T + b - y.numpy()
    np.testing.assert_allclose(net.bias.detach(), b - 0.1 * error.sum(axis=0) / 10)
    np.testing.assert_allclose(net.weight.detach(), W - 0.1 * (error.T @ x.numpy() / 10 + extra(W) / 5))


def test_l1_silences_columns_that_say_nothing():
    common = {"hidden_layer_sizes": (), "alpha": 0.0, "max_iter": 150, "learning_rate_init": 0.01, "random_state": 0}
    plain = MLPRegressor(**common).fit(X, Y).coefs_[0][:, 0]
    sparse = MLPRegressor(**common, regularizer=L1(5.0)).fit(X, Y).coefs_[0][:, 0]
    assert np.abs(sparse[3:]).max() < 0.2 * np.abs(plain[3:]).max() + 0.002
    assert np.abs(sparse).sum() < np.abs(plain).sum()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_network_keeps_the_bound():
    model = MLPClassifier((16,), regularizer=MaxNorm(0.4), learning_rate_init=0.05, max_iter=20, random_state=0)
    model.fit(X, Y > 0)
    for matrix in model.coefs_:
        assert np.linalg.norm(matrix, axis=0).max() <= 0.4 * (1 + 1e-6)


def test_named_and_refused():
    assert set(REGULARIZERS.values()) == {L1, ElasticPenalty, MaxNorm}
    with pytest.raises(ValueError, match="regularizer must be None with solver 'lbfgs'; got 'l1'"):
        MLPRegressor(solver="lbfgs", regularizer="l1").fit(X, Y)
    with pytest.raises(ValueError, match=r"MLPRegressor: regularizer must be one of 'l1', .*got 'l0'"):
        MLPRegressor(regularizer="l0").fit(X, Y)
    with pytest.raises(ValueError, match=r"or a valid Regularizer.*got MaxNorm\(bound=-1\)"):
        MLPRegressor(regularizer=MaxNorm(-1)).fit(X, Y)
