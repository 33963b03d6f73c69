"""Networks and how they begin: sizes and weights by hand, gradients by torch, variances of many draws."""

from __future__ import annotations

import math

import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch import nn
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.attention import backward
from margin.neural.attention.decoder import MultiHeadAttention
from margin.neural.attention.patches import patchify
from margin.neural.attention.trace import trace
from margin.neural.initialize import moments, schemes
from margin.neural.initialize.signal import signal_through_depth
from margin.neural.layers.dense import collapse_linear
from margin.neural.losses.overlap import dice_loss
from margin.neural.nets.ensemble import MLPEnsemble
from margin.neural.nets.lenet import alexnet
from margin.neural.nets.pixels import FCN
from margin.neural.weights import build


@oracle(f"{PATH}.nets.ensemble.MLPEnsemble")
def networks_side_by_side(seed: int) -> Verdict:
    """Each member is a perceptron of its own, begun with He's deviation and biases within one over the root."""
    wide = build(lambda: MLPEnsemble(3, [50, 400, 30]), seed, torch.float64)
    net, x = build(lambda: MLPEnsemble(3, [2, 5, 4, 1], "tanh"), seed, torch.float64), normal(seed, 6, 2)
    own = normal(seed + 1, 3, 6, 2)

    def member(k: int, rows: torch.Tensor) -> torch.Tensor:
        for i, (W, b) in enumerate(zip(net.weights, net.biases)):
            rows = rows @ W[k] + b[k]
            rows = torch.tanh(rows) if i < 2 else rows
        return rows

    spreads = [float(W.detach().std()) for W in wide.weights]
    reach = [float(b.detach().abs().max()) for b in wide.biases]
    middle = [float(b.detach().abs().mean()) for b in wide.biases]
    return every(
        shared=same(net(x), torch.stack([member(k, x) for k in range(3)])),
        own=same(net(own), torch.stack([member(k, own[k]) for k in range(3)])),
        spreads=near(spreads, [(2 / 50) ** 0.5, (2 / 400) ** 0.5], tolerance=0.006),
        reach=equal([r <= 1 / n**0.5 for r, n in zip(reach, (50, 400))], [True, True]),
        middle=near(middle, [0.5 / 50**0.5, 0.5 / 400**0.5], tolerance=0.012),
    )


@oracle(
    *(f"{PATH}.initialize.moments.{name}" for name in ("he_variance", "xavier_variance", "propagate_variance")),
    *(f"{PATH}.initialize.schemes.{name}" for name in ("he_", "xavier_")),
)
def variances_of_weights(seed: int) -> Verdict:
    """torch's own initializers name the same deviations; a layer of rectified normals has the variance that is told."""
    generator = torch.Generator().manual_seed(seed)
    weight = torch.empty(60, 20, 3, 5, dtype=torch.float64)
    fan_in, fan_out = 20 * 15, 60 * 15
    he_variances = {
        "in": 2 / fan_in,
        "out": 2 / fan_out,
        "mean": 4 / (fan_in + fan_out),
    }
    parts = {
        f"he_{mode}": near(
            [
                moments.he_variance(fan_in, fan_out, mode),
                float(schemes.he_(weight, generator=generator, mode=mode).var()),
            ],
            [value, value],
            tolerance=0.06 * value,
        )
        for mode, value in he_variances.items()
    }
    exact = {
        mode: near(moments.he_variance(fan_in, fan_out, mode), value, tolerance=1e-12)
        for mode, value in he_variances.items()
    }
    glorot = 2 / (fan_in + fan_out)
    drawn = [
        float(schemes.xavier_(weight, generator=generator, distribution=kind, gain=1.5).var()) / (2.25 * glorot)
        for kind in ("normal", "uniform")
    ]
    reach = float(schemes.xavier_(weight, generator=generator, distribution="uniform").abs().max())
    rows = torch.randn(4000, 30, generator=generator, dtype=torch.float64) * 1.7**0.5
    W = torch.randn(40, 30, generator=generator, dtype=torch.float64) * 0.2**0.5
    after = float((torch.relu(rows) @ W.T).square().mean())
    return every(
        **parts,
        **exact,
        xavier=near(moments.xavier_variance(fan_in, fan_out), glorot, tolerance=1e-12),
        drawn=near(drawn, [1.0, 1.0], tolerance=0.06),
        reach=near(reach / (3 * glorot) ** 0.5, 1.0, tolerance=0.01),
        through=near(moments.propagate_variance(30, 0.2, 1.7), 0.5 * 30 * 0.2 * 1.7, tolerance=1e-12),
        measured=near(after / moments.propagate_variance(30, 0.2, 1.7), 1.0, tolerance=0.3),
    )


@oracle(f"{PATH}.initialize.signal.signal_through_depth")
def signals_by_hand(seed: int) -> Verdict:
    """The same draws once more: layers one by one, and slopes by torch from the sum in the drawn direction."""
    x = normal(seed, 9, 4)
    parts: dict[str, Verdict] = {}
    for name, residual, batch_norm, scale in (
        ("plain", False, False, 1.0),
        ("kept", True, False, 0.7),
        ("both", True, True, 1.3),
    ):
        signal = signal_through_depth(
            x, 3, 0.6, generator=torch.Generator().manual_seed(seed), activation=torch.tanh,
            residual=residual, batch_norm=batch_norm, scale=scale,
        )  # fmt: skip
        generator = torch.Generator().manual_seed(seed)
        weights = [torch.empty(4, 4, dtype=torch.float64).normal_(0.0, 0.6**0.5, generator=generator) for _ in range(3)]
        direction = torch.randn(9, 4, generator=generator, dtype=torch.float64)
        layers = [x.clone().requires_grad_()]
        for W in weights:
            h = functional.batch_norm(layers[-1], None, None, training=True) if batch_norm else layers[-1]
            branch = torch.tanh(h) @ W.T
            layers.append(scale * (layers[-1] + branch) if residual else branch)
        slopes = torch.autograd.grad((layers[-1] * direction).sum(), layers)
        parts[name] = near(signal.forward.numpy(), [float(f.detach().var()) for f in layers], tolerance=1e-3)
        parts[f"{name}_back"] = near(signal.backward.numpy(), [float(s.var()) for s in slopes], tolerance=1e-3)
    return every(**parts)


@oracle(f"{PATH}.attention.backward.attention_backward", f"{PATH}.attention.backward.softmax_backward")
def attention_backwards(seed: int) -> Verdict:
    """By torch, with more keys than queries and values of another width."""
    q, k, v = (normal(seed + i, *shape).requires_grad_() for i, shape in enumerate(((2, 3, 4), (2, 5, 4), (2, 5, 6))))
    weights = torch.softmax(q @ k.transpose(-2, -1) / 2.0, dim=-1)
    delta, slope = normal(seed + 3, 2, 3, 6), normal(seed + 4, 2, 3, 5)
    expected = torch.autograd.grad(weights @ v, (q, k, v), delta)
    scores = normal(seed + 5, 2, 3, 5).requires_grad_()
    (through,) = torch.autograd.grad(torch.softmax(scores, dim=-1), scores, slope)
    gradients = backward.attention_backward(q, k, v, weights, delta)
    return every(
        queries=same(gradients.queries, expected[0]),
        keys=same(gradients.keys, expected[1]),
        values=same(gradients.values, expected[2]),
        softmax=same(backward.softmax_backward(torch.softmax(scores, dim=-1), slope), through),
    )


@oracle(f"{PATH}.attention.trace.trace")
def stages_of_attention(seed: int) -> Verdict:
    layer, x = build(lambda: MultiHeadAttention(6, 3), seed, torch.float64), normal(seed, 2, 4, 6)
    stages = {stage.name: stage.values for stage in trace(layer, x, causal=True)}
    q, k, v = (stages[name] for name in ("Q", "K", "V"))
    split = lambda linear: linear(x).unflatten(-1, (3, 2)).transpose(-3, -2)  # noqa: E731
    scores = q @ k.transpose(-2, -1)
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    masked = (scores / math.sqrt(2)).masked_fill(later, -math.inf)
    heads = torch.softmax(masked, dim=-1) @ v
    joined = heads.transpose(-3, -2).flatten(-2)
    return every(
        queries=same(q, split(layer.query)),
        keys=same(k, split(layer.key)),
        values=same(v, split(layer.value)),
        product=same(stages["QK'"], scores),
        scaled=same(stages["scaled"], scores / math.sqrt(2)),
        hidden=equal(torch.equal(torch.isneginf(stages["masked"]), later.expand(2, 3, 4, 4)), True),
        seen=same(stages["masked"].masked_fill(later, 0.0), masked.masked_fill(later, 0.0)),
        softmax=same(stages["softmax"], torch.softmax(masked, dim=-1)),
        joined=same(stages["concatenated"], joined),
        output=same(stages["output"], layer.out(joined)),
    )


@oracle(f"{PATH}.attention.patches.patchify")
def patches_by_hand(seed: int) -> Verdict:
    images = normal(seed, 2, 3, 4, 6)
    cut = [
        [image[:, r : r + 2, c : c + 2].permute(1, 2, 0).flatten() for r in (0, 2) for c in (0, 2, 4)]
        for image in images
    ]
    return same(patchify(images, 2), torch.stack([torch.stack(rows) for rows in cut]))


@oracle(f"{PATH}.nets.lenet.alexnet", f"{PATH}.nets.pixels.FCN")
def sizes_of_image_networks(seed: int) -> Verdict:
    """Channels of every convolution and units of every dense layer, for large images and small ones."""
    with torch.device("meta"):
        nets = [alexnet((3, 227, 227), 10, width=width, groups=groups) for width, groups in ((1.0, 1), (0.5, 2))]
        small = alexnet((3, 63, 63), 10)
    shapes = [
        [tuple(m.weight.shape) for m in net.modules() if isinstance(m, nn.Conv2d | nn.Linear)] for net in (*nets, small)
    ]
    full_size = [(96, 3, 11, 11), (256, 96, 5, 5), (384, 256, 3, 3), (384, 384, 3, 3), (256, 384, 3, 3)]
    half = [(48, 3, 11, 11), (128, 24, 5, 5), (192, 128, 3, 3), (192, 96, 3, 3), (128, 96, 3, 3)]
    rates = [m.p for m in nets[0].modules() if hasattr(m, "p")]
    fcn, x = build(lambda: FCN(2, 3, depth=2, channels=4), seed, torch.float64).eval(), normal(seed, 1, 2, 8, 12)
    h, scores = x, []
    for k, (stage, score) in enumerate(zip(fcn.stages, fcn.scores)):
        h = stage(functional.max_pool2d(h, 2) if k else h)
        scores.append(score(h))
    total = scores[-1]
    for finer in scores[-2::-1]:
        total = finer + functional.interpolate(total, size=finer.shape[2:], mode="bilinear", align_corners=False)
    return every(
        whole=equal(shapes[0], [*full_size, (4096, 9216), (4096, 4096), (10, 4096)]),
        half=equal(shapes[1], [*half, (2048, 4608), (2048, 2048), (10, 2048)]),
        small=equal(shapes[2][:5], [(96, 3, 3, 3), *full_size[1:]]),
        dropped=equal(rates, [0.5, 0.5]),
        stages=equal([score.in_channels for score in fcn.scores], [4, 8, 16]),
        scores=same(fcn(x), total),
    )


@oracle(f"{PATH}.losses.overlap.dice_loss", f"{PATH}.layers.dense.collapse_linear")
def masks_and_chains(seed: int) -> Verdict:
    a, b = torch.sigmoid(normal(seed, 7)), torch.sigmoid(normal(seed + 1, 7))
    model = build(
        lambda: nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 4, bias=False), nn.Linear(4, 2)), seed, torch.float64
    )
    W, c = collapse_linear(model)
    x = normal(seed, 6, 3)
    expected = -2 * float(a @ b) / (float(a @ a) + float(b @ b) + 0.3)
    return every(
        overlap=near(float(dice_loss(a, b, eps=0.3)), expected, tolerance=1e-10),
        chain=same(x @ W.T + c, model(x)),
    )
