"""Binary cross-entropy, from probabilities and from logits."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.neural import activations as act
from margin.neural import losses
from margin.neural.activations import log_softmax, logsumexp, sigmoid, softplus
from margin.notes.claims import claim
from margin.notes.claims.forms import one_form
from margin.notes.claims.losses.regression import gradient, minimizer


def double(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def problem(seed: int, *shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and soft targets."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(3 * rng.normal(size=shape)), torch.from_numpy(rng.uniform(size=shape))


@claim("bernoulli-log-likelihood")
def the_logistic_log_likelihood_in_closed_form(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, theta = torch.from_numpy(rng.normal(size=(40, 3))), torch.from_numpy(rng.normal(size=3))
    y = torch.from_numpy(rng.integers(0, 2, size=40)).double()
    h = 1 / (1 + torch.exp(-X @ theta))
    direct = (y * torch.log(h) + (1 - y) * torch.log(1 - h)).sum()
    closed = losses.bernoulli_log_likelihood(theta, X, y)
    slope = gradient(lambda t: losses.bernoulli_log_likelihood(t, X, y), theta)
    return every(
        both=near(float(closed), float(direct), tolerance=1e-10),
        gradient=near(slope, X.T @ (y - h), tolerance=1e-10),
        stable=near(
            float(losses.bernoulli_log_likelihood(double(1000.0), double(1.0)[:, None], double(0.0))),
            -1000.0,
            tolerance=0.0,
        ),
    )


@claim("binary-cross-entropy")
def binary_cross_entropy_of_probabilities_and_logits(seed: int) -> Verdict:
    z, y = problem(seed, 2, 3, 4, 4)  # any shape, several channels
    p = sigmoid(z)
    labels = torch.from_numpy(np.random.default_rng(seed).integers(0, 2, size=50)).double()
    best = minimizer(lambda f: losses.bce_with_logits(f.expand(50), labels, reduction="sum"), double(0.0))
    two = torch.stack([torch.zeros_like(z), z], dim=1)
    truth = every(
        as_run=one_form(losses.bce_with_logits, losses.fused_bce_with_logits, z, y),
        equal=near(float(losses.bce_loss(p, y)), float(losses.bce_with_logits(z, y)), tolerance=1e-10),
        torch=near(float(losses.bce_loss(p, y)), float(nn.BCELoss()(p, y)), tolerance=1e-13),
        finite=near(float(losses.bce_with_logits(double(1000.0, -1000.0), double(0.0, 1.0))), 1000.0, tolerance=0.0),
        gradient=near(gradient(lambda f: losses.bce_with_logits(f, y, reduction="sum"), z), p - y, tolerance=1e-13),
        frequency=near(float(sigmoid(best)), float(labels.mean()), tolerance=1e-8),
        two_classes=near(
            float(losses.cross_entropy(two, (y > 0.5).long())),
            float(losses.bce_with_logits(z, (y > 0.5).double())),
            tolerance=1e-12,
        ),
        rejected=raises(ValueError, lambda: losses.bce_loss(double(1.5), double(1.0)), match="probabilities in [0, 1]"),
    )
    # As printed, x log(theta) + (1 - x) log(1 - theta) is to be made small: then a bad theta is best.
    theta = torch.linspace(0.01, 0.99, 99, dtype=torch.float64)
    printed = torch.stack([(labels * t.log() + (1 - labels) * (1 - t).log()).mean() for t in theta])
    rows = losses.bce_loss(p, y, reduction="none").flatten()
    return corrected(
        truth,
        minus_is_missing=near(float(theta[printed.argmin()]), float(labels.mean()), tolerance=0.05),
        predictions_are_0_or_1=equal(bool(((p == 0) | (p == 1)).all()), True),
        no_sum_over_rows=near(float(rows[0]), float(losses.bce_loss(p, y, reduction="sum")), tolerance=1e-6),
    )


@claim("bce-log-clamp")
def logarithms_are_clamped_at_minus_100() -> Verdict:
    p, y = double(0.0, 1.0, 0.0), double(1.0, 0.0, 0.0)
    slope = gradient(lambda t: losses.bce_loss(t, y, reduction="sum"), p)
    unclamped = -(y * torch.log(p) + (1 - y) * torch.log(1 - p))
    small = 1e-8
    derivative = (math.log(small * 1.001) - math.log(small)) / (small * 0.001)
    truth = every(
        values=equal(losses.bce_loss(p, y, reduction="none").tolist(), [100.0, 100.0, 0.0]),
        finite=equal(bool(slope.isfinite().all()), True),
        torch=near(slope / 1e12, gradient(lambda t: nn.BCELoss(reduction="sum")(t, y), p) / 1e12, tolerance=1e-6),
        without=equal(bool(unclamped.isfinite().any()), False),
        limit_of_the_derivative=above(derivative, 9e7),
    )
    return corrected(
        truth,
        limit_is_minus_infinity=below(derivative, 0.0),
        zero_times_infinity_for_y_1=equal(bool(torch.isnan(unclamped[0])), True),
    )


@claim("bce-with-logits-loss")
def logits_keep_the_loss_exact(seed: int) -> Verdict:
    z, y = problem(seed, 60)
    far = double(-200.0, 200.0)
    target = double(1.0, 0.0)
    return every(
        as_run=one_form(losses.bce_with_logits, losses.fused_bce_with_logits, z, y),
        moderate=near(float(losses.bce_with_logits(z, y)), float(losses.bce_loss(sigmoid(z), y)), tolerance=1e-12),
        torch=near(float(losses.bce_with_logits(z, y)), float(nn.BCEWithLogitsLoss()(z, y)), tolerance=1e-13),
        exact=near(losses.bce_with_logits(far, target, reduction="none"), [200.0, 200.0], tolerance=0.0),
        clamped=near(
            losses.bce_loss(sigmoid(far.float()), target.float(), reduction="none"), [100.0, 100.0], tolerance=0.0
        ),
        probability_is_the_sigmoid_once=near(sigmoid(z), 1 / (1 + torch.exp(-z)), tolerance=1e-14),
    )


@claim("log-sum-exp-trick")
def the_largest_entry_is_taken_out(seed: int) -> Verdict:
    z, _ = problem(seed, 4, 6)
    large = double(1000.0, 1000.0, -1000.0)
    naive = torch.log(torch.exp(large).sum()), torch.log(torch.exp(-1000 - double(0.0, 1.0)).sum())
    return every(
        as_run=one_form(logsumexp, act.fused_logsumexp, z),
        moderate=near(logsumexp(z), torch.log(torch.exp(z).sum(dim=-1)), tolerance=1e-13),
        large=near(float(logsumexp(large)), 1000 + math.log(2), tolerance=1e-12),
        small=near(float(logsumexp(-1000 - double(0.0, 1.0))), -1000 + math.log1p(math.exp(-1)), tolerance=1e-12),
        naive_fails=equal([float(v) for v in naive], [math.inf, -math.inf]),
        softplus=near(softplus(z), logsumexp(torch.stack([z, torch.zeros_like(z)]), dim=0), tolerance=1e-14),
        log_softmax=near(log_softmax(z), z - logsumexp(z, keepdim=True), tolerance=1e-13),
    )


@claim("multilabel-bce")
def labels_are_scored_one_by_one(seed: int) -> Verdict:
    z, y = problem(seed, 30, 3)
    columns = [float(losses.bce_with_logits(z[:, k], y[:, k])) for k in range(3)]
    rng = np.random.default_rng(seed)
    X = torch.from_numpy(rng.normal(size=(200, 2)))
    labels = (X > 0).double()  # two labels, both, one or none active
    W = minimizer(
        lambda w: losses.multilabel_bce(4 * X @ w.view(2, 2), labels) + 1e-3 * w.square().sum(), torch.zeros(4).double()
    )
    scores = X @ W.view(2, 2)
    both = labels.sum(dim=1) == 2
    return every(
        as_run=one_form(losses.multilabel_bce, lambda t, q: losses.CrossEntropy().of_labels(t, q).mean() / 3, z, y),
        mean_of_columns=near(float(losses.multilabel_bce(z, y)), float(np.mean(columns)), tolerance=1e-12),
        learned=above(float(((scores > 0) == (labels > 0.5)).double().mean()), 0.97),
        both_at_once=above(float((scores[both] > 0).all(dim=1).double().mean()), 0.9),
    )
