"""Losses against torch's, forward and backward, for every reduction and option."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from margin.neural import losses

REDUCTIONS = ("none", "sum", "mean")


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def labels(n_classes, *shape, seed=1):
    return torch.randint(n_classes, shape, generator=torch.Generator().manual_seed(seed))


def same(ours, theirs, x):
    """Values and gradients, whatever the weights of the outputs."""
    results = []
    for loss in (ours, theirs):
        leaf = x.clone().requires_grad_()
        value = loss(leaf)
        weights = torch.linspace(0.5, 1.5, value.numel(), dtype=torch.float64).view_as(value)
        (gradient,) = torch.autograd.grad((value * weights).sum(), leaf)
        results.append((value.detach(), gradient))
    torch.testing.assert_close(*[value for value, _ in results], rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(*[gradient for _, gradient in results], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    ("ours", "theirs"), [(losses.mse_loss, F.mse_loss), (losses.squared_error, F.mse_loss), (losses.l1_loss, F.l1_loss)]
)
def test_regression(ours, theirs, reduction):
    x, y = draw(3, 4), draw(3, 4, seed=1)
    y[0, 0] = x[0, 0]  # the corner of the absolute value
    same(lambda t: ours(t, y, reduction=reduction), lambda t: theirs(t, y, reduction=reduction), x)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_binary(reduction, weighted):
    z, y = 4 * draw(5, 3), torch.rand(5, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    weight = draw(5, 3, seed=3).abs() if weighted else None
    pos_weight = torch.tensor([0.5, 1.0, 3.0], dtype=torch.float64) if weighted else None
    same(
        lambda t: losses.bce_with_logits(t, y, weight, reduction, pos_weight),
        lambda t: F.binary_cross_entropy_with_logits(t, y, weight, reduction=reduction, pos_weight=pos_weight),
        z,
    )
    same(
        lambda t: losses.bce_loss(t, y, weight, reduction),
        lambda t: F.binary_cross_entropy(t, y, weight, reduction=reduction),
        torch.sigmoid(z),
    )


def test_binary_gradient_by_differences():
    p = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.3, 1.0, 0.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: losses.bce_loss(a, b, reduction="none"), (p, y))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(7, 4), (2, 4, 3, 5), (2, 4, 6)])
def test_cross_entropy_of_labels(reduction, smoothing, weighted, shape):
    z, y = draw(*shape), labels(4, shape[0], *shape[2:])
    y.view(-1)[0] = -100
    weight = torch.tensor([0.5, 1.0, 2.0, 5.0], dtype=torch.float64) if weighted else None
    options = {"weight": weight, "reduction": reduction, "label_smoothing": smoothing}
    same(lambda t: losses.cross_entropy(t, y, **options), lambda t: F.cross_entropy(t, y, **options), z)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_of_probabilities(reduction, smoothing, weighted):
    z, q = draw(3, 4, 2), torch.softmax(draw(3, 4, 2, seed=4), dim=1)
    weight = torch.tensor([0.5, 1.0, 2.0, 5.0], dtype=torch.float64) if weighted else None
    options = {"weight": weight, "reduction": reduction, "label_smoothing": smoothing}
    same(lambda t: losses.cross_entropy(t, q, **options), lambda t: F.cross_entropy(t, q, **options), z)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(6, 4), (2, 4, 3, 3), (4,)])
def test_nll(reduction, shape):
    z = draw(*shape)
    y = labels(4, shape[0], *shape[2:]) if len(shape) > 1 else torch.tensor(2)
    weight = torch.tensor([0.5, 1.0, 2.0, 5.0], dtype=torch.float64)
    log_p = torch.log_softmax(z, dim=0 if len(shape) == 1 else 1)
    options = {"weight": weight, "reduction": reduction, "ignore_index": 3}
    same(lambda t: losses.nll_loss(t, y, **options), lambda t: F.nll_loss(t, y, **options), log_p)


@pytest.mark.parametrize("reduction", [*REDUCTIONS, "batchmean"])
@pytest.mark.parametrize("log_target", [False, True])
def test_divergence(reduction, log_target):
    log_q, p = torch.log_softmax(draw(4, 5), dim=1), torch.softmax(draw(4, 5, seed=1), dim=1)
    target = p.log() if log_target else p
    options = {"reduction": reduction, "log_target": log_target}
    same(lambda t: losses.kl_div_loss(t, target, **options), lambda t: F.kl_div(t, target, **options), log_q)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_triplets(reduction):
    a, p, n = draw(9, 3), draw(9, 3, seed=1), draw(9, 3, seed=2)

    def squared(u, v):
        return (u - v).square().sum(dim=-1)

    same(
        lambda t: losses.triplet_loss(t, p, n, 0.7, reduction),
        lambda t: F.triplet_margin_with_distance_loss(
            t, p, n, distance_function=squared, margin=0.7, reduction=reduction
        ),
        a,
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_hinge(reduction):
    f, y = draw(20), torch.sign(draw(20, seed=1))
    values = np.maximum(0, 1 - y.numpy() * f.numpy())
    expected = {"none": values, "sum": values.sum(), "mean": values.mean()}[reduction]
    np.testing.assert_allclose(losses.hinge_loss(f, y, reduction), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logits_of_ten_thousand(dtype):
    z = torch.tensor([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]], dtype=dtype, requires_grad=True)
    values = [
        losses.cross_entropy(z, torch.tensor([1, 0])),
        losses.cross_entropy(z, torch.tensor([1, 0]), label_smoothing=0.1),
        losses.bce_with_logits(z, torch.ones_like(z)),
        losses.multilabel_bce(z, torch.zeros_like(z)),
    ]
    for value in values:
        (gradient,) = torch.autograd.grad(value, z)
        assert value.isfinite()
        assert gradient.isfinite().all()
    assert values[0].item() == pytest.approx(2e4 + np.log(2) / 2)  # two equal winners in the second row


def test_bad_input_is_told_in_one_sentence():
    with pytest.raises(
        ValueError, match=r"mse_loss: input and target must have the same shape; got \(3, 1\) and \(3,\)"
    ):
        losses.mse_loss(torch.zeros(3, 1), torch.zeros(3))
    with pytest.raises(ValueError, match=r"reduction must be 'none', 'sum' or 'mean'; got 'avg'"):
        losses.mse_loss(torch.zeros(3), torch.zeros(3), reduction="avg")
    with pytest.raises(ValueError, match=r"target must have shape \(2, 5\), without the classes"):
        losses.cross_entropy(torch.zeros(2, 3, 5), torch.zeros(2, 3, dtype=torch.long))
    with pytest.raises(ValueError, match="probabilities as target must have the shape of input"):
        losses.cross_entropy(torch.zeros(2, 3), torch.zeros(2))
    with pytest.raises(ValueError, match="label_smoothing must be between 0 and 1"):
        losses.cross_entropy(torch.zeros(2, 3), torch.zeros(2, dtype=torch.long), label_smoothing=2.0)
    with pytest.raises(ValueError, match="distribution must be one of normal"):
        losses.build_loss("gamma")
    with pytest.raises(ValueError, match="task must be one of binary"):
        losses.default_loss("ranking")
    with pytest.raises(ValueError, match="is a family already"):
        losses.register_family("normal", lambda theta, y: y)
    with pytest.raises(ValueError, match="at least one output"):
        losses.sum_of([])
    with pytest.raises(ValueError, match="registered without a mode"):
        losses.NegativeLogLikelihood("own", losses.LikelihoodFamily(lambda theta, y: y)).predict(torch.zeros(1))


def test_raw_scores_are_warned_about_and_log_probabilities_are_not(recwarn):
    losses.nll_loss(torch.log_softmax(draw(3, 4), dim=1), labels(4, 3))
    assert not recwarn.list
    with pytest.warns(UserWarning, match="should be log-probabilities"):
        losses.nll_loss(draw(3, 4), labels(4, 3))


def test_empirical_risk_of_rows_or_of_a_mean():
    X, y, w = draw(6, 2), draw(6, seed=5), draw(2, seed=6)
    by_rows = losses.empirical_risk(lambda rows: rows @ w, X, y, losses.squared_error)
    torch.testing.assert_close(by_rows, losses.empirical_risk(lambda rows: rows @ w, X, y, losses.mse_loss))
