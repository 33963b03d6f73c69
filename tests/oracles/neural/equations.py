"""Equations of networks against torch's own layers and losses, at sizes without symmetry."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy.special import softmax as scipy_softmax
from sklearn.exceptions import ConvergenceWarning
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch import nn
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.attention.dot_product import attention
from margin.neural.attention.positions import sinusoidal
from margin.neural.backprop import backward_pass, forward_pass
from margin.neural.estimators import MLPClassifier
from margin.neural.losses.binary import bce_loss
from margin.neural.losses.classes import cross_entropy
from margin.neural.losses.likelihood import gaussian_nll
from margin.neural.losses.regression import mse_loss
from margin.neural.nets.mlp import MLP
from margin.neural.normalization.layers import BatchNorm
from margin.neural.weights import build


@oracle(f"{PATH}.normalization.layers.BatchNorm")
def batch_normalization(seed: int) -> Verdict:
    ours, theirs = BatchNorm(3, momentum=0.3).double(), nn.BatchNorm2d(3, momentum=0.3).double()
    affine = {"weight": torch.tensor([0.6, 1.7, -1.2]), "bias": torch.tensor([0.3, -0.8, 2.0])}
    for layer in (ours, theirs):
        layer.load_state_dict(affine, strict=False)
    batches = [normal(seed + k, 4, 3, 5, 2) for k in range(2)]
    trained = [same(ours(x), theirs(x)) for x in batches]
    kept = theirs.state_dict()
    averages = same(ours.running_mean, kept["running_mean"]), same(ours.running_var, kept["running_var"])
    ours.eval(), theirs.eval()
    return every(
        first=trained[0],
        second=trained[1],
        running_mean=averages[0],
        running_variance=averages[1],
        predicting=same(ours(batches[0]), theirs(batches[0])),
    )


@oracle(f"{PATH}.nets.mlp.MLP", f"{PATH}.nets.mlp.MLP.trace")
def perceptron(seed: int) -> Verdict:
    net = build(lambda: MLP([3, 5, 4, 2], "tanh"), seed, torch.float64)
    for k, weight in enumerate(net.parameters()):
        weight.data.copy_(normal(seed + k, *weight.shape))
    x = normal(seed, 6, 3)
    first, second, last = net.linears
    h1 = torch.tanh(x @ first.weight.T + first.bias)
    h2 = torch.tanh(h1 @ second.weight.T + second.bias)
    out, trace = h2 @ last.weight.T + last.bias, net.trace(x)
    wide = build(lambda: MLP([100, 300, 40, 200], "relu"), seed, torch.float64)
    spreads = [float(linear.weight.detach().std()) for linear in wide.linears]
    leaky = build(lambda: MLP([3, 5, 2], "leaky_relu", negative_slope=0.3), seed, torch.float64)
    normed: Any = build(lambda: MLP([3, 5, 4, 2], "tanh", norm="layer"), seed, torch.float64)
    seen = normed.trace(x)
    z = normed.linears[0](x)
    z = (z - z.mean(dim=1, keepdim=True)) / (z.var(dim=1, keepdim=True, correction=0) + 1e-5).sqrt()
    lifted = functional.leaky_relu(leaky.linears[0](x), 0.3)
    return every(
        output=same(net(x), out),
        activations=same(torch.cat(trace.activations, dim=1), torch.cat([x, h1, h2], dim=1)),
        before=same(torch.tanh(trace.pre_activations[1]), h2),
        last=same(trace.pre_activations[-1], out),
        normalized=same(seen.pre_activations[0], z),
        normalized_last=same(seen.pre_activations[-1], normed(x)),
        sizes=equal((net.widths, net.depth, net.capacity), ([5, 4], 2, 9)),
        products=equal(net.multiply_adds, sum(linear.weight.numel() for linear in net.linears)),
        starts=near(spreads, [(2 / 100) ** 0.5, (2 / 300) ** 0.5, (2 / 240) ** 0.5], tolerance=0.005),
        leaky=same(leaky(x), leaky.linears[1](lifted)),
    )


@oracle(f"{PATH}.losses.classes.cross_entropy")
def cross_entropy_of_classes(seed: int) -> Verdict:
    x, weight = normal(seed, 5, 4, 3), torch.tensor([0.5, 2.0, 1.3, 0.9], dtype=torch.float64)
    labels = torch.from_numpy(np.random.default_rng(seed).integers(4, size=(5, 3)))
    labels[0, 0] = -100  # counts nothing
    soft = torch.softmax(normal(seed + 1, 5, 4, 3), dim=1)
    settings: list[dict[str, Any]] = [
        {},
        {"weight": weight},
        {"weight": weight, "label_smoothing": 0.2},
        {"reduction": "sum"},
    ]
    parts = {f"labels_{k}": (labels, options) for k, options in enumerate(settings)}
    parts |= {f"probabilities_{k}": (soft, options) for k, options in enumerate(settings)}
    return every(
        **{
            name: same(cross_entropy(x, target, **options), functional.cross_entropy(x, target, **options))
            for name, (target, options) in parts.items()
        }
    )


@oracle(f"{PATH}.losses.regression.mse_loss", f"{PATH}.losses.likelihood.gaussian_nll")
def losses_of_numbers(seed: int) -> Verdict:
    x, y = normal(seed, 5, 2), normal(seed + 1, 5, 2)
    density = torch.distributions.Normal(x, torch.tensor(0.7, dtype=torch.float64)).log_prob(y)
    return every(
        mean=same(mse_loss(x, y), functional.mse_loss(x, y)),
        sum=same(mse_loss(x, y, "sum"), functional.mse_loss(x, y, reduction="sum")),
        each=same(mse_loss(x, y, "none"), functional.mse_loss(x, y, reduction="none")),
        density=same(gaussian_nll(x, y, 0.7, "none"), -density),
        densities=same(gaussian_nll(x, y, 0.7), -density.sum()),
    )


@oracle(f"{PATH}.losses.binary.bce_loss")
def binary_cross_entropy(seed: int) -> Verdict:
    p, y = torch.sigmoid(normal(seed, 5, 2)).requires_grad_(), torch.sigmoid(normal(seed + 1, 5, 2))
    weight = normal(seed + 2, 5, 2).abs()
    ours, theirs = bce_loss(p, y, weight), functional.binary_cross_entropy(p, y, weight)
    slopes = [torch.autograd.grad(loss, p)[0] for loss in (ours, theirs)]
    return every(loss=same(ours, theirs), slope=same(slopes[0], slopes[1]))


@oracle(f"{PATH}.attention.dot_product.attention")
def attention_of_queries(seed: int) -> Verdict:
    q, k, v = normal(seed, 2, 4, 3), normal(seed, 2, 5, 3), normal(seed, 2, 5, 6)
    mask = torch.tensor([[True, False, True, True, True]] * 3 + [[False, True, True, False, True]])
    bias, native = normal(seed, 4, 5), functional.scaled_dot_product_attention
    both = bias.masked_fill(~mask, -torch.inf)
    return every(
        plain=same(attention(q, k, v).output, native(q, k, v)),
        masked=same(attention(q, k, v, mask=mask, bias=bias).output, native(q, k, v, attn_mask=both)),
        causal=same(attention(k, k, v, causal=True).output, native(k, k, v, is_causal=True)),
        scaled=same(attention(q, k, v, scale=0.3).output, native(q, k, v, scale=0.3)),
        weights=same(attention(q, k, v).weights @ v, native(q, k, v)),
    )


@oracle(f"{PATH}.attention.positions.sinusoidal")
def sines_of_positions(seed: int) -> Verdict:
    del seed
    expected = [
        [f(k / 700.0 ** (2 * i / 6)) for i in range(3) for f in (np.sin, np.cos)] for k in range(3, 8)
    ]  # written out, one number at a time
    return near(sinusoidal(5, 6, base=700.0, start=3).numpy(), np.array(expected), tolerance=1e-12)


@oracle(f"{PATH}.backprop.backward_pass")
def gradients_by_hand(seed: int) -> Verdict:
    sizes = (3, 5, 4, 2)
    weights = [normal(seed + k, b, a).requires_grad_() for k, (a, b) in enumerate(pairwise(sizes))]
    biases = [normal(seed + k, b).requires_grad_() for k, b in enumerate(sizes[1:])]
    x, delta = normal(seed, 6, 3), normal(seed, 6, 2)
    h = x
    for weight, bias in zip(weights[:-1], biases[:-1]):
        h = torch.relu(h @ weight.T + bias)
    expected = torch.autograd.grad(h @ weights[-1].T + biases[-1], [*biases, *weights], delta)
    plain = [weight.detach().numpy() for weight in weights]
    forward = forward_pass(plain, [bias.detach().numpy() for bias in biases], x.numpy())
    gradients = backward_pass(plain, forward, delta.numpy())
    ours = [*gradients.biases, *gradients.weights]
    return every(**{f"part_{k}": same(a, b) for k, (a, b) in enumerate(zip(ours, expected))})


@oracle(f"{PATH}.estimators.MLPClassifier")
def classifier_network(seed: int) -> Verdict:
    """What a fitted network says is the softmax of its stored weights, at scaled rows, and its score the accuracy."""
    rng = np.random.default_rng(seed)
    y = np.array(["red", "green", "blue"])[np.arange(60) % 3]
    X = rng.normal(size=(60, 2)) * [1.0, 5.0] + np.array([[0.0, 3.0], [2.0, -8.0], [-1.0, 9.0]])[np.arange(60) % 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # twenty epochs are enough to have weights
        model = MLPClassifier((5,), activation="tanh", max_iter=20, random_state=seed).fit(X, y)
    weights = [np.asarray(array, dtype=np.float64) for array in model.weights_.values()]
    (w1, b1, w2, b2), rows = weights, (X - model.center_) / model.scale_
    expected = scipy_softmax(np.tanh(rows @ w1.T + b1) @ w2.T + b2, axis=1)
    proba = model.predict_proba(X)
    return every(
        classes=equal(model.classes_.tolist(), ["blue", "green", "red"]),
        probabilities=near(proba, expected, tolerance=1e-5),
        logarithms=near(model.predict_log_proba(X), np.log(expected), tolerance=1e-4),
        said=equal(model.predict(X).tolist(), model.classes_[expected.argmax(axis=1)].tolist()),
        score=near(model.score(X, y), np.mean(model.classes_[expected.argmax(axis=1)] == y), tolerance=1e-12),
    )
