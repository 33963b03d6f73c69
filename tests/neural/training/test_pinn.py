r"""Derivatives by the inputs, a scalar loss, float64: :math:`u'' = -\pi^2 \sin \pi x`, :math:`u(0) = u(1) = 0`."""

import math

import numpy as np
import pytest
import torch
from killing import assert_a_kill_changes_nothing
from torch import nn

from margin.neural.nets.mlp import MLP
from margin.neural.training import Compute, DrawnPoints, Minimize, Plan, QuasiNewton, Training, train
from margin.neural.training.rows import RowBatches, TensorRows
from margin.neural.weights import build, copy_weights


def points(n):
    return lambda generator: (torch.rand(n, 1, dtype=torch.float64, generator=generator).requires_grad_(True),)


def residual(module, batch, _noise):
    (x,) = batch
    u = module(x)
    (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
    equation = (curvature + math.pi**2 * torch.sin(math.pi * x)).square().mean()
    ends = module(torch.tensor([[0.0], [1.0]], dtype=torch.float64)).square().sum()
    return {"loss": equation + 100 * ends, "equation": equation, "ends": ends}


def network(seed):
    return build(lambda: MLP([1, 12, 12, 1], "tanh"), seed, torch.float64)


def adam(seed=0, epochs=2):
    step = Minimize(network(seed), residual, schedule=5e-3, compute=Compute(dtype=torch.float64))
    return Training(DrawnPoints(points(20), seed, steps_per_epoch=25), step, Plan(epochs, record_steps=10))


def quasi_newton(seed=0, epochs=2, steps=15, redraw=10, n=20):
    batches = DrawnPoints(points(n), seed, redraw_every=redraw, steps_per_epoch=steps)
    return Training(batches, QuasiNewton(network(seed), residual, tol=1e-9), Plan(epochs, record_steps=4))


@pytest.mark.parametrize("make", [adam, quasi_newton])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_kill_changes_nothing(tmp_path, make, seed):
    assert_a_kill_changes_nothing(lambda: make(seed), tmp_path, seed)


def test_the_equation_is_solved():
    training = quasi_newton(epochs=4, steps=100, redraw=None, n=60)
    list(train(training))
    x = torch.linspace(0, 1, 101, dtype=torch.float64)[:, None]
    with torch.no_grad():
        error = (training.step.result(x) - torch.sin(math.pi * x)).abs().max()
    assert float(error) < 1e-4


def test_weights_stay_in_double_precision_and_records_have_every_term():
    training = adam(epochs=1)
    *_, record = train(training)
    assert {array.dtype for array in copy_weights(training.step.module).values()} == {np.dtype(np.float64)}
    assert {"train_loss", "equation", "ends", "learning_rate"} <= set(record.values)


def least_squares(module, batch, _noise):
    X, y = batch
    return {"loss": 0.5 * (module(X)[:, 0] - y).square()}


def test_quasi_newton_finds_the_minimum_and_says_so():
    """A linear model with a penalty has a known minimum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5] + 3 + 0.1 * rng.normal(size=40)
    module = build(lambda: nn.Linear(3, 1), 0, torch.float64)
    step = QuasiNewton(module, least_squares, tol=1e-10, penalty=4.0)
    training = Training(RowBatches(TensorRows.of(X, y), 40, 0), step, Plan(200))
    records = list(train(training))
    assert training.finished
    assert len(records) < 50
    bordered = np.c_[X, np.ones(40)]
    exact = np.linalg.solve(bordered.T @ bordered + np.diag([4.0, 4, 4, 0]), bordered.T @ y)
    found = np.r_[copy_weights(module)["weight"][0], copy_weights(module)["bias"]]
    np.testing.assert_allclose(found, exact, rtol=1e-8)


def test_quasi_newton_stops_when_its_evaluations_are_spent():
    batches = DrawnPoints(points(20), 0, redraw_every=None, steps_per_epoch=1000)
    training = Training(batches, QuasiNewton(network(0), residual, tol=0.0, max_evaluations=30), Plan(1, None))
    list(train(training))
    assert training.step.evaluations < 60
    assert training.steps < 1000


def test_points_are_drawn_anew_when_due():
    batches = DrawnPoints(points(3), 0, redraw_every=2)
    drawn = [batches.draw() for _ in range(4)]
    assert [batch.number for batch in drawn] == [1, 1, 2, 2]
    assert not torch.equal(drawn[1].tensors[0], drawn[2].tensors[0])
