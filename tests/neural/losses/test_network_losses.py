"""Losses as objects: each against a formula in NumPy or SciPy, and what they do to a fit."""

import numpy as np
import pytest
import torch
from scipy import optimize, stats
from torch.nn import functional

from margin.neural import MLPClassifier, MLPRegressor, losses

RNG = np.random.default_rng(5)
OUT, Y = RNG.normal(size=(6, 2)), RNG.normal(size=(6, 2))


def tensor(a):
    return torch.from_numpy(np.array(a))


def huber(e, d):
    return np.where(np.abs(e) <= d, 0.5 * e**2, d * (np.abs(e) - 0.5 * d))


EXPECTED = {
    losses.SquaredError(): (OUT, Y, 0.5 * ((OUT - Y) ** 2).mean(axis=1)),
    losses.AbsoluteError(): (OUT, Y, np.abs(OUT - Y).mean(axis=1)),
    losses.Huber(0.6): (OUT, Y, huber(OUT - Y, 0.6).mean(axis=1)),
    losses.Pinball(0.8): (OUT, Y, np.where(Y > OUT, 0.8 * (Y - OUT), 0.2 * (OUT - Y)).mean(axis=1)),
    losses.PoissonDeviance(): (
        OUT, np.round(3 * np.abs(Y)),
        (stats.poisson.logpmf(np.round(3 * np.abs(Y)), np.round(3 * np.abs(Y)))
         - stats.poisson.logpmf(np.round(3 * np.abs(Y)), np.exp(OUT))).sum(axis=1),
    ),
    losses.NormalLikelihood(): (OUT, Y[:, :1], -stats.norm.logpdf(Y[:, 0], OUT[:, 0], np.exp(OUT[:, 1]))),
    losses.LaplaceLikelihood(): (OUT, Y[:, :1], -stats.laplace.logpdf(Y[:, 0], OUT[:, 0], np.exp(OUT[:, 1]))),
}  # fmt: skip


@pytest.mark.parametrize("loss", EXPECTED, ids=lambda loss: type(loss).__name__)
def test_losses_of_targets(loss):
    outputs, target, expected = EXPECTED[loss]
    np.testing.assert_allclose(loss(tensor(outputs), tensor(target)), expected, rtol=1e-12)
    assert type(loss) in losses.TARGET_LOSSES.values()


def test_every_named_loss_is_checked():
    assert {type(loss) for loss in EXPECTED} == set(losses.TARGET_LOSSES.values())


def test_the_margin_of_classes():
    scores, y = tensor(RNG.normal(size=(9, 4))), tensor(RNG.integers(0, 4, 9))
    others = [max(s for k, s in enumerate(row) if k != label) for row, label in zip(scores.tolist(), y.tolist())]
    lead = scores.numpy()[np.arange(9), y] - others
    np.testing.assert_allclose(losses.MarginLoss(0.7)(scores, y), np.maximum(0, 0.7 - lead))
    two = torch.stack([torch.zeros(9).double(), scores[:, 0]], dim=1)
    signs = 2.0 * (y % 2) - 1
    np.testing.assert_allclose(losses.MarginLoss()(two, y % 2), losses.hinge_loss(scores[:, 0], signs, "none"))
    labels = tensor(RNG.integers(0, 2, (9, 4))).double()
    by_hand = np.maximum(0, 0.7 - (2 * labels.numpy() - 1) * scores.numpy()).sum(axis=1)
    np.testing.assert_allclose(losses.MarginLoss(0.7).of_labels(scores, labels), by_hand)


def test_labels_of_cross_entropy():
    scores, labels = tensor(RNG.normal(size=(5, 3))), tensor(RNG.integers(0, 2, (5, 3))).double()
    expected = functional.binary_cross_entropy(scores.sigmoid(), labels, reduction="none").sum(dim=1)
    torch.testing.assert_close(losses.CrossEntropy().of_labels(scores, labels), expected)
    smoothed = functional.binary_cross_entropy(scores.sigmoid(), 0.9 * labels + 0.05, reduction="none").sum(dim=1)
    torch.testing.assert_close(losses.CrossEntropy(0.1).of_labels(scores, labels), smoothed)
    torch.testing.assert_close(losses.CrossEntropy(0.1).of_labels(scores, labels, training=False), expected)


@pytest.mark.parametrize(
    ("loss", "best"),
    [
        ("squared_error", np.mean),
        ("absolute_error", np.median),
        (losses.Pinball(0.9), lambda y: np.quantile(y, 0.9)),
        (losses.Huber(0.5), lambda y: optimize.minimize_scalar(lambda c: huber(y - c, 0.5 * np.std(y)).sum()).x),
        ("poisson", np.mean),
        ("normal", np.mean),
        ("laplace", np.median),
    ],
    ids=lambda given: getattr(given, "__name__", str(given)),
)
def test_a_constant_network_finds_the_constant_that_minimizes_its_loss(loss, best):
    """No column says anything, so what is predicted is the constant that the loss asks for: mean, median, quantile."""
    y = np.sort(RNG.exponential(2.0, 301)) ** 1.5
    model = MLPRegressor((), loss=loss, solver="lbfgs", alpha=0.0, tol=1e-9, max_iter=500, random_state=0)
    predicted = model.fit(np.zeros((301, 1)), y).predict([[0.0]])
    spread = np.abs(y - best(y)).mean()
    assert predicted[0] == pytest.approx(best(y), abs=0.03 * spread)


def test_the_width_of_a_normal_prediction_is_learned():
    x = RNG.uniform(-1, 1, size=(600, 1))
    y = x[:, 0] + np.where(x[:, 0] > 0, 1.0, 0.05) * RNG.normal(size=600)
    model = MLPRegressor((16,), loss="normal", max_iter=150, learning_rate_init=0.01, random_state=0).fit(x, y)
    outputs = model._outputs(np.array([[-0.5], [0.5]]))
    widths = np.exp(outputs[:, 1]) * model.target_scale_
    assert 0.02 < widths[0] < 0.2 < 0.7 < widths[1] < 1.4
    assert model.predict(x).shape == (600,)
    assert model.score(x[x[:, 0] < 0], y[x[:, 0] < 0]) > 0.9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_margin_separates_classes():
    X = RNG.normal(size=(200, 2))
    y = np.where(X @ [1.0, -2.0] > 0.3, "a", "b")
    model = MLPClassifier((8,), loss="hinge", max_iter=120, learning_rate_init=0.01, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_bad_losses_are_refused_in_one_sentence():
    X, y = RNG.normal(size=(20, 2)), RNG.normal(size=20)
    with pytest.raises(ValueError, match=r"MLPRegressor: loss must be one of 'squared_error', .*got 'hubert'"):
        MLPRegressor(loss="hubert").fit(X, y)
    with pytest.raises(ValueError, match=r"MLPRegressor: loss must be .* or a valid TargetLoss; got Huber\(delta=-1\)"):
        MLPRegressor(loss=losses.Huber(-1)).fit(X, y)
    with pytest.raises(ValueError, match=r"MLPRegressor: loss must be .*got CrossEntropy"):
        MLPRegressor(loss=losses.CrossEntropy()).fit(X, y)
    with pytest.raises(ValueError, match="no negative number"):
        MLPRegressor(loss=losses.PoissonDeviance()).fit(X, y)
    with pytest.raises(ValueError, match=r"quantile must be above 0 and below 1; got 1\.5"):
        losses.quantile_loss(torch.zeros(2), torch.zeros(2), 1.5)
    with pytest.raises(ValueError, match="delta must be above 0; got 0"):
        losses.huber_loss(torch.zeros(2), torch.zeros(2), 0)
    with pytest.raises(ValueError, match=r"input must have shape \(n, classes\).*got \(2, 1\) and \(2,\)"):
        losses.multiclass_hinge_loss(torch.zeros(2, 1), torch.zeros(2, dtype=torch.long))
