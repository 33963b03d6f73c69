"""Gradients over several processes: they add to those that are there, and mistakes are named."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from margin.neural.nets.mlp import MLP
from margin.neural.training.replicas import data_parallel, replica_gradients
from margin.neural.weights import build


@pytest.fixture
def task():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(7, 3, generator=generator), torch.randint(0, 2, (7,), generator=generator)


def test_three_processes_add_to_the_gradients_that_are_there(task):
    x, y = task
    net = build(lambda: MLP([3, 4, 2]), 0)
    net.linears[0].weight.requires_grad_(False)  # what is frozen has no gradient and takes no part
    functional.cross_entropy(net(x), y).backward()
    once = {name: p.grad.clone() for name, p in net.named_parameters() if p.requires_grad}
    value = data_parallel(net, functional.cross_entropy, x, y, n_workers=3)
    assert value == pytest.approx(functional.cross_entropy(net(x), y).item(), abs=1e-6)
    for name, gradient in once.items():
        torch.testing.assert_close(net.get_parameter(name).grad, 2 * gradient, atol=1e-6, rtol=1e-5)
    assert net.linears[0].weight.grad is None


def test_pieces_are_weighed_by_their_rows(task):
    x, y = task
    net = nn.Linear(3, 2)
    exact = torch.autograd.grad(functional.cross_entropy(net(x), y), list(net.parameters()))
    parts = [replica_gradients(net, functional.cross_entropy, x[cut], y[cut], 7)[1] for cut in (slice(5), slice(5, 7))]
    for whole, *pieces in zip(exact, *parts):
        torch.testing.assert_close(sum(pieces), whole)


def wrong_loss(outputs, y):
    raise ArithmeticError("no loss today")


def test_what_a_worker_says_is_passed_on(task):
    with pytest.raises(RuntimeError, match=r"worker \d of 2 failed: .*no loss today"):
        data_parallel(nn.Linear(3, 2), wrong_loss, *task, n_workers=2)


@pytest.mark.parametrize(("rows", "workers"), [(1, 2), (3, 0), (0, 1)])
def test_every_worker_needs_a_row(task, rows, workers):
    x, y = task
    with pytest.raises(ValueError, match="at least one row for each worker"):
        data_parallel(nn.Linear(3, 2), functional.cross_entropy, x[:rows], y[:rows], workers)
