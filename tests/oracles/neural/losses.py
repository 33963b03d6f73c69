"""Losses and activations one entry at a time, by NumPy and SciPy, away from 0 and 1 and with unequal weights."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from scipy import special, stats
from tests.oracles import oracle
from torch import Tensor

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.activations.competing import MaxoutUnits
from margin.neural.activations.functions import relu, smooth_relu, softplus
from margin.neural.activations.layers import Maxout, Sine
from margin.neural.activations.rectified import ReLU, Softplus
from margin.neural.activations.slopes import relu_slope
from margin.neural.activations.table import TABLE, activation_layer, activation_table
from margin.neural.losses.binary import multilabel_bce
from margin.neural.losses.class_losses import CrossEntropy
from margin.neural.losses.classes import nll_loss
from margin.neural.losses.families import FAMILIES, register_family
from margin.neural.losses.fused import fused_nll_loss
from margin.neural.losses.likelihood import build_loss, sum_of
from margin.neural.losses.regression import l1_loss, squared_error
from margin.neural.losses.risk import default_loss, empirical_risk
from margin.neural.weights import build

PATH = "margin.neural"
TIGHT = 1e-10


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(0.4, 1.3, size=shape)


def tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(np.asarray(values))


@oracle(f"{PATH}.losses.classes.nll_loss", f"{PATH}.losses.fused.fused_nll_loss")
def log_probabilities_of_labels(seed: int) -> Verdict:
    """Pixels with labels of unequal weight, one of them ignored; the mean divides by the weights."""
    log_p, w = special.log_softmax(drawn(seed, 3, 4, 2), axis=1), np.array([0.5, 2.0, 1.5, 0.2])
    y = np.random.default_rng(seed).integers(0, 4, size=(3, 2))
    y[1, 0] = -1
    terms = [(w[y[n, k]], log_p[n, y[n, k], k]) for n in range(3) for k in range(2) if y[n, k] >= 0]
    expected = -sum(a * b for a, b in terms) / sum(a for a, _ in terms)
    options = {"weight": tensor(w), "ignore_index": -1}
    return every(
        written=near(float(nll_loss(tensor(log_p), tensor(y), **options)), expected, tolerance=TIGHT),
        run=near(float(fused_nll_loss(tensor(log_p), tensor(y), **options)), expected, tolerance=TIGHT),
        total=near(
            float(nll_loss(tensor(log_p), tensor(y), **options, reduction="sum")),
            -sum(a * b for a, b in terms),
            tolerance=TIGHT,
        ),
    )


@oracle(f"{PATH}.losses.binary.multilabel_bce", f"{PATH}.losses.class_losses.CrossEntropy.of_labels")
def labels_one_by_one(seed: int) -> Verdict:
    z, y = drawn(seed, 5, 3), np.random.default_rng(seed).integers(0, 2, size=(5, 3)).astype(float)
    surprise = -stats.bernoulli(special.expit(z)).logpmf(y)
    return every(
        mean=near(float(multilabel_bce(tensor(z), tensor(y))), surprise.mean(), tolerance=TIGHT),
        rows=near(CrossEntropy().of_labels(tensor(z), tensor(y)), surprise.sum(axis=1), tolerance=TIGHT),
    )


@oracle(*(f"{PATH}.losses.regression.{name}" for name in ("l1_loss", "squared_error")))
def errors_one_by_one(seed: int) -> Verdict:
    f, y = drawn(seed, 4, 3), drawn(seed + 1, 4, 3)
    return every(
        squares=near(
            squared_error(tensor(f), tensor(y)),
            [[(a - b) ** 2 for a, b in zip(*p)] for p in zip(f, y)],
            tolerance=TIGHT,
        ),
        sizes=near(float(l1_loss(tensor(f), tensor(y))), np.linalg.norm((f - y).ravel(), 1) / 12, tolerance=TIGHT),
    )


@oracle(*(f"{PATH}.losses.risk.{name}" for name in ("empirical_risk", "default_loss")))
def risk_row_by_row(seed: int) -> Verdict:
    X, w, y = drawn(seed, 6, 3), drawn(seed, 3, 4), np.arange(6) % 4
    rows = [-special.log_softmax(x @ w)[k] for x, k in zip(X, y)]
    risk = empirical_risk(lambda x: x @ tensor(w), tensor(X), tensor(y), default_loss("multiclass"))
    z, one, target = X @ w[:, 0], tensor(X[:, 0]), tensor(X[:, 1])
    return every(
        classes=near(float(risk), np.mean(rows), tolerance=TIGHT),
        binary=near(
            float(default_loss("binary")(tensor(z), tensor(y % 2.0))),
            -stats.bernoulli(special.expit(z)).logpmf(y % 2).mean(),
            tolerance=TIGHT,
        ),
        targets=near(
            float(default_loss("regression")(one, target)), np.mean((X[:, 0] - X[:, 1]) ** 2), tolerance=TIGHT
        ),
    )


@oracle(
    *(f"{PATH}.losses.likelihood.{name}" for name in ("build_loss", "SumOfLosses", "sum_of")),
    f"{PATH}.losses.likelihood.NegativeLogLikelihood.predict",
    f"{PATH}.losses.families.FAMILIES",
)
def likelihoods_of_scipy(seed: int) -> Verdict:
    """What a network gives, as the parameters of SciPy's laws; the most probable target by trying them all."""
    raw, y, count = drawn(seed, 5, 2), drawn(seed, 5), np.array([0, 3, 1, 6, 2])
    label, odds = np.array([2, 0, 1, 2, 1]), drawn(seed, 5, 3)
    place, width, rate = raw[:, 0], np.exp(raw[:, 1]), np.exp(raw[:, 0])
    expected = {
        "normal": -stats.norm(place, width).logpdf(y).sum(),
        "laplace": -stats.laplace(place, width).logpdf(y).sum(),
        "poisson": -stats.poisson(rate).logpmf(count).sum(),
        "bernoulli": -stats.bernoulli(special.expit(place)).logpmf(label > 1).sum(),
        "categorical": -special.log_softmax(odds, axis=1)[np.arange(5), label].sum(),
    }
    given = {
        "normal": (raw, y),
        "laplace": (raw, y),
        "poisson": (place, count.astype(float)),
        "bernoulli": (place, (label > 1).astype(float)),
        "categorical": (odds, label),
    }
    losses = {name: float(build_loss(name)(*map(tensor, pair))) for name, pair in given.items()}
    joint = sum_of([("first", "poisson"), ("second", "laplace")])
    raws, targets = ({"first": tensor(given["poisson"][k]), "second": tensor(given["laplace"][k])} for k in (0, 1))
    likeliest = np.array([stats.poisson(r).pmf(np.arange(2000)).argmax() for r in rate])
    return every(
        **{name: near(losses[name], expected[name], tolerance=1e-9) for name in given},
        known=equal(set(given) <= set(FAMILIES), True),
        several=near(float(joint(raws, targets)), expected["poisson"] + expected["laplace"], tolerance=1e-9),
        count=near(build_loss("poisson").predict(tensor(place)), likeliest, tolerance=0.0),
        label=near(build_loss("categorical").predict(tensor(odds)), odds.argmax(axis=1), tolerance=0.0),
        place=near(build_loss("laplace").predict(tensor(raw)), place, tolerance=0.0),
    )


@oracle(f"{PATH}.losses.families.register_family")
def a_family_of_our_own(seed: int) -> Verdict:
    """Exponential lifetimes under a name that is taken away again."""
    raw, y = drawn(seed, 6), np.exp(drawn(seed + 1, 6))
    median = lambda rate: np.log(2) / rate  # noqa: E731
    register_family("lifetimes of an oracle", lambda rate, t: torch.log(rate) - rate * t, torch.exp, median)
    try:
        family = build_loss("lifetimes of an oracle")
        loss, predicted = float(family(tensor(raw), tensor(y))), family.predict(tensor(raw))
    finally:
        del FAMILIES["lifetimes of an oracle"]
    law = stats.expon(scale=np.exp(-raw))
    return every(
        loss=near(loss, -law.logpdf(y).sum(), tolerance=1e-9),
        predicted=near(predicted, law.median(), tolerance=1e-9),
    )


@oracle(
    *(f"{PATH}.activations.functions.{name}" for name in ("relu", "softplus", "smooth_relu")),
    f"{PATH}.activations.slopes.relu_slope",
    *(f"{PATH}.activations.rectified.{name}" for name in ("ReLU", "Softplus")),
)
def rectifiers(seed: int) -> Verdict:
    """Values entry by entry, slopes by differences, and the layers that networks run."""
    x = np.concatenate([drawn(seed, 12), [-40.0, 35.0]])
    positive, smooth = [max(value, 0.0) for value in x], np.logaddexp(0.0, x)
    return every(
        relu=near(relu(tensor(x)), positive, tolerance=0.0),
        slope=near(relu_slope(tensor(x)), [float(value > 0) for value in x], tolerance=0.0),
        softplus=near(softplus(tensor(x)), smooth, tolerance=1e-12),
        smooth_relu=near(smooth_relu(tensor(x)), smooth, tolerance=1e-12),
        layers=near(
            torch.stack([ReLU().layer()(tensor(x)), Softplus().layer()(tensor(x))]), [positive, smooth], tolerance=1e-8
        ),
        slopes=near(
            torch.stack([ReLU().slope(tensor(x)), Softplus().slope(tensor(x))]),
            [x > 0, special.expit(x)],
            tolerance=1e-12,
        ),
    )


@oracle(
    f"{PATH}.activations.layers.Maxout", f"{PATH}.activations.layers.Sine", f"{PATH}.activations.competing.MaxoutUnits"
)
def largest_of_pieces(seed: int) -> Verdict:
    layer, x = build(lambda: Maxout(3, 2, pieces=4), seed, torch.float64), drawn(seed, 5, 3)
    w, b = (part.detach().numpy() for part in (layer.linear.weight, layer.linear.bias))
    expected = [[max(w[4 * o + k] @ row + b[4 * o + k] for k in range(4)) for o in range(2)] for row in x]
    z, units = drawn(seed, 2, 6), MaxoutUnits(n_pieces=3)
    groups = z.reshape(2, 2, 3)
    return every(
        layer=near(layer(tensor(x)).detach(), expected, tolerance=TIGHT),
        units=near(units.layer()(tensor(z)), groups.max(axis=2), tolerance=0.0),
        slope=near(units.slope(tensor(z)), (groups == groups.max(axis=2, keepdims=True)).reshape(2, 6), tolerance=0.0),
        sine=near(Sine()(tensor(z)), np.imag(np.exp(1j * z)), tolerance=1e-12),
    )


# Of those that have a bend or a jump at 0; a derivative of ELU is continuous because its unit slope meets that of x.
CONTINUITY = {"binary_step": "not continuous", "relu": "C^0", "leaky_relu": "C^0", "elu": "C^1"}


@oracle(
    "margin.neural.activations.slopes.tanh_slope",
    "margin.neural.activations.rectified.LeakyReLU",
    "margin.neural.activations.rectified.ELU",
    "margin.neural.activations.layers.BinaryStep",
    "margin.neural.activations.gated.SiLU",
    "margin.neural.activations.gated.GELU",
    "margin.neural.activations.functions.gaussian",
    "margin.neural.activations.bounded.Tanh",
    "margin.neural.activations.bounded.Sigmoid",
    "margin.neural.activations.bounded.Heaviside",
    *(f"{PATH}.activations.table.{name}" for name in ("TABLE", "activation_layer", "activation_table")),
)
def the_table_by_differences(seed: int) -> Verdict:
    """Every line: its layer has its values, its slope is a difference quotient, and its values stay in its range."""
    x, h = tensor(np.concatenate([drawn(seed, 30), np.linspace(-9.0, 9.0, 20)])), 1e-6
    rows, parts = {row["name"]: row for row in activation_table()}, {}
    for line in TABLE:
        layer = activation_layer(line.name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y, quotient = line.function(x), (line.function(x + h) - line.function(x - h)) / (2 * h)
        parts[line.name] = every(
            layer=near(layer(x), y, tolerance=1e-6),
            slope=near(line.slope(x), quotient, tolerance=1e-4),
            named=equal(rows[line.name]["formula"], line.formula),
            continuity=equal(rows[line.name]["continuity"], CONTINUITY.get(line.name, "C^inf")),
            within=equal(bool(line.low - 1e-5 <= float(y.min()) and float(y.max()) <= line.high + 1e-5), True),
        )
    return every(**parts)
