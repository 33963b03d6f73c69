"""Equations of networks against torch's own layers and losses, at sizes without symmetry."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from margin.claims.oracles import oracle
from margin.core.verdict import Verdict, equal, every, near
from margin.neural.attention.dot_product import attention
from margin.neural.attention.heads import MultiHeadAttention
from margin.neural.attention.positions import sinusoidal
from margin.neural.convolution.backward import conv_backward
from margin.neural.convolution.equations import conv1d, conv2d, convolve
from margin.neural.convolution.pooling import global_pool, pool, pool_backward
from margin.neural.convolution.transposed import conv_transpose
from margin.neural.convolution.upsampling import upsample
from margin.neural.losses.binary import bce_loss
from margin.neural.losses.classes import cross_entropy
from margin.neural.losses.likelihood import gaussian_nll
from margin.neural.losses.regression import mse_loss
from margin.neural.nets.mlp import MLP
from margin.neural.normalization.layers import BatchNorm
from margin.neural.weights import build

PATH = "margin.neural"
TIGHT = 1e-10


def normal(seed: int, *shape: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng([seed, *shape]).normal(0.4, 1.3, size=shape))


def same(ours: object, theirs: Tensor, tolerance: float = TIGHT) -> Verdict:
    return near(np.asarray(torch.as_tensor(ours).detach()), theirs.detach().numpy(), tolerance=tolerance)


@oracle(f"{PATH}.convolution.equations.conv2d", f"{PATH}.convolution.equations.convolve")
def convolution_of_images(seed: int) -> Verdict:
    x, w, b = normal(seed, 2, 4, 9, 7), normal(seed, 6, 2, 3, 2), normal(seed, 6)
    options = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}
    flipped = functional.conv2d(x, w.flip(2, 3), b, **options)  # type: ignore[arg-type]
    return every(
        correlation=same(conv2d(x.numpy(), w.numpy(), b.numpy(), **options), functional.conv2d(x, w, b, **options)),  # type: ignore[arg-type]
        flipped=same(convolve(x.numpy(), w.numpy(), b.numpy(), **options), flipped),
    )


@oracle(f"{PATH}.convolution.equations.conv1d")
def convolution_of_signals(seed: int) -> Verdict:
    x, w, b = normal(seed, 2, 3, 11), normal(seed, 4, 3, 3), normal(seed, 4)
    options = {"stride": 2, "padding": 3, "dilation": 2}
    return same(conv1d(x.numpy(), w.numpy(), b.numpy(), **options), functional.conv1d(x, w, b, **options))  # type: ignore[arg-type]


@oracle(f"{PATH}.convolution.backward.conv_backward")
def gradients_of_convolution(seed: int) -> Verdict:
    x, w, b = (normal(seed, *shape).requires_grad_() for shape in ((2, 3, 9, 8), (4, 3, 3, 2), (4,)))
    options = {"stride": (2, 3), "padding": (1, 2), "dilation": (2, 1)}
    out = functional.conv2d(x, w, b, **options)  # type: ignore[arg-type]
    delta = normal(seed, *out.shape)
    wanted = torch.autograd.grad(out, (x, w, b), delta)
    found = conv_backward(delta.numpy(), x.detach().numpy(), w.detach().numpy(), **options)
    return every(**{name: same(ours, theirs) for name, ours, theirs in zip(found._fields, found, wanted)})


@oracle(f"{PATH}.convolution.transposed.conv_transpose")
def transposed_convolution(seed: int) -> Verdict:
    x, w, b = normal(seed, 2, 3, 4, 5), normal(seed, 3, 2, 3, 2), normal(seed, 2)
    options = {"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2), "dilation": (2, 1)}
    wanted = functional.conv_transpose2d(x, w, b, **options)  # type: ignore[arg-type]
    return same(conv_transpose(x.numpy(), w.numpy(), b.numpy(), **options), wanted)


@oracle(f"{PATH}.convolution.upsampling.upsample")
def enlarged_images(seed: int) -> Verdict:
    x, w = normal(seed, 2, 3, 4, 5), normal(seed, 3, 2, 3, 3)
    values, indices = functional.max_pool2d(normal(seed, 2, 3, 8, 10), 2, return_indices=True)
    unpooled = upsample(values.numpy(), "unpool", 2, indices=indices.numpy())
    return every(
        nearest=same(upsample(x.numpy(), "nearest", 3), functional.interpolate(x, scale_factor=3, mode="nearest")),
        bilinear=same(upsample(x.numpy(), "bilinear", 3), functional.interpolate(x, scale_factor=3, mode="bilinear")),
        unpooled=same(unpooled, functional.max_unpool2d(values, indices, 2)),
        transposed=same(
            upsample(x.numpy(), "transposed", 3, weight=w.numpy()), functional.conv_transpose2d(x, w, stride=3)
        ),
    )


@oracle(f"{PATH}.convolution.pooling.pool", f"{PATH}.convolution.pooling.pool_backward")
def pooled_images(seed: int) -> Verdict:
    x = normal(seed, 2, 3, 9, 7).requires_grad_()
    window, stride, padding = (3, 2), (2, 1), (1, 0)
    largest, where = functional.max_pool2d(x, window, stride, padding, return_indices=True)
    means, delta = functional.avg_pool2d(x, window, stride, padding), normal(seed, *largest.shape)
    data, options = x.detach().numpy(), (window, stride, padding)
    ours, side_by_side = pool(data, *options), pool(data, 2).values
    back = {
        kind: same(
            pool_backward(delta.numpy(), data, *options, kind=kind),
            torch.autograd.grad(out, x, delta, retain_graph=True)[0],
        )
        for kind, out in (("max", largest), ("mean", means))
    }
    return every(
        largest=same(ours.values, largest),
        where=equal(ours.indices, where.numpy()),
        smallest=same(-pool(-data, *options, kind="min").values, largest),
        means=same(pool(data, *options, kind="mean").values, means),
        side_by_side=same(side_by_side, functional.max_pool2d(x, 2)),
        back_to_largest=back["max"],
        back_to_all=back["mean"],
    )


@oracle(f"{PATH}.convolution.pooling.global_pool")
def pooled_whole_images(seed: int) -> Verdict:
    x = normal(seed, 2, 3, 4, 5)
    return every(
        mean=same(global_pool(x.numpy()), functional.adaptive_avg_pool2d(x, 1)[..., 0, 0]),
        max=same(global_pool(x.numpy(), "max"), functional.adaptive_max_pool2d(x, 1)[..., 0, 0]),
    )


@oracle(f"{PATH}.normalization.layers.BatchNorm")
def batch_normalization(seed: int) -> Verdict:
    ours, theirs = BatchNorm(3, momentum=0.3).double(), nn.BatchNorm2d(3, momentum=0.3).double()
    with torch.no_grad():
        for layer in (ours, theirs):
            layer.weight.copy_(torch.tensor([0.6, 1.7, -1.2]))  # type: ignore[union-attr]
            layer.bias.copy_(torch.tensor([0.3, -0.8, 2.0]))  # type: ignore[union-attr]
    batches = [normal(seed + k, 4, 3, 5, 2) for k in range(2)]
    trained = [same(ours(x), theirs(x)) for x in batches]
    averages = same(ours.running_mean, theirs.running_mean), same(ours.running_var, theirs.running_var)
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
    return every(
        output=same(net(x), out),
        activations=same(torch.cat(trace.activations, dim=1), torch.cat([x, h1, h2], dim=1)),
        before=same(torch.tanh(trace.pre_activations[1]), h2),
        last=same(trace.pre_activations[-1], out),
        sizes=equal((net.widths, net.depth, net.capacity), ([5, 4], 2, 9)),
    )


@oracle(f"{PATH}.losses.classes.cross_entropy")
def cross_entropy_of_classes(seed: int) -> Verdict:
    x, weight = normal(seed, 5, 4, 3), torch.tensor([0.5, 2.0, 1.3, 0.9], dtype=torch.float64)
    labels = torch.from_numpy(np.random.default_rng(seed).integers(4, size=(5, 3)))
    labels[0, 0] = -100  # counts nothing
    soft = torch.softmax(normal(seed + 1, 5, 4, 3), dim=1)
    settings: list[dict] = [{}, {"weight": weight}, {"weight": weight, "label_smoothing": 0.2}, {"reduction": "sum"}]
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


@oracle(f"{PATH}.attention.heads.MultiHeadAttention")
def attention_in_heads(seed: int) -> Verdict:
    ours = build(lambda: MultiHeadAttention(6, 3), seed, torch.float64)
    theirs = build(lambda: nn.MultiheadAttention(6, 3, batch_first=True), seed, torch.float64)
    parts = (ours.query, ours.key, ours.value, ours.out)
    for k, linear in enumerate(parts):
        linear.weight.data.copy_(normal(seed + k, 6, 6))
        linear.bias.data.copy_(normal(seed + k, 6))
    theirs.in_proj_weight.data.copy_(torch.cat([linear.weight for linear in parts[:3]]))
    theirs.in_proj_bias.data.copy_(torch.cat([linear.bias for linear in parts[:3]]))
    theirs.out_proj.weight.data.copy_(ours.out.weight)
    theirs.out_proj.bias.data.copy_(ours.out.bias)
    x, context = normal(seed, 2, 4, 6), normal(seed, 2, 5, 6)
    output, weights = theirs(x, context, context, average_attn_weights=False)
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    return every(
        output=same(ours(x, context), output),
        weights=same(ours.attend(x, context).weights, weights),
        causal=same(ours(x, causal=True), theirs(x, x, x, attn_mask=later)[0]),
        by_equation=same(ours.attend(x, causal=True).output, theirs(x, x, x, attn_mask=later)[0]),
    )


@oracle(f"{PATH}.attention.positions.sinusoidal")
def sines_of_positions(seed: int) -> Verdict:
    del seed
    wanted = [
        [f(k / 700.0 ** (2 * i / 6)) for i in range(3) for f in (np.sin, np.cos)] for k in range(3, 8)
    ]  # written out, one number at a time
    return near(sinusoidal(5, 6, base=700.0, start=3).numpy(), np.array(wanted), tolerance=1e-12)
