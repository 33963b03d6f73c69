"""Convolutions, poolings and their sizes against torch's, at sizes without symmetry."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from torch import Tensor, nn
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.convolution.backward import conv_backward
from margin.neural.convolution.equations import conv1d, conv2d, convolve
from margin.neural.convolution.maps import feature_maps, filters, strongest_patches
from margin.neural.convolution.pooling import global_pool, pool, pool_backward
from margin.neural.convolution.receptive import footprint, receptive_fields
from margin.neural.convolution.sizes import conv_output_size
from margin.neural.convolution.transposed import conv_transpose, scaled_copies
from margin.neural.convolution.upsampling import upsample
from margin.neural.layers.counting import conv_parameters
from margin.neural.weights import build

PATH = "margin.neural"
TIGHT = 1e-10


def normal(seed: int, *shape: int) -> Tensor:
    """Numbers of this shape, neither centered nor of scale 1."""
    return torch.from_numpy(np.random.default_rng([seed, *shape]).normal(0.4, 1.3, size=shape))


def same(ours: object, theirs: Tensor, tolerance: float = TIGHT) -> Verdict:
    return near(np.asarray(torch.as_tensor(ours).detach()), theirs.detach().numpy(), tolerance=tolerance)


@oracle(*(f"{PATH}.convolution.equations.{name}" for name in ("conv2d", "convolve", "correlate")))
def convolution_of_images(seed: int) -> Verdict:
    x, w, b = normal(seed, 2, 4, 9, 7), normal(seed, 6, 2, 3, 2), normal(seed, 6)
    options: dict[str, Any] = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}
    flipped = functional.conv2d(x, w.flip(2, 3), b, **options)
    dilated: dict[str, Any] = {"padding": "same", "dilation": (2, 1), "groups": 2}  # an odd number of zeros in one axis
    return every(
        same=same(conv2d(x.numpy(), w.numpy(), b.numpy(), **dilated), functional.conv2d(x, w, b, **dilated)),
        correlation=same(conv2d(x.numpy(), w.numpy(), b.numpy(), **options), functional.conv2d(x, w, b, **options)),
        flipped=same(convolve(x.numpy(), w.numpy(), b.numpy(), **options), flipped),
    )


@oracle(
    f"{PATH}.convolution.equations.conv1d",
)
def convolution_of_signals(seed: int) -> Verdict:
    x, w, b = normal(seed, 2, 3, 11), normal(seed, 4, 3, 3), normal(seed, 4)
    options: dict[str, Any] = {"stride": 2, "padding": 3, "dilation": 2}
    return same(conv1d(x.numpy(), w.numpy(), b.numpy(), **options), functional.conv1d(x, w, b, **options))


@oracle(
    "margin.neural.convolution.transposed.stretch",
    "margin.neural.convolution.padding.padding_widths",
    "margin.neural.convolution.padding.pad",
    "margin.neural.convolution.equations.patches",
    "margin.neural.convolution.equations.flip",
    f"{PATH}.convolution.backward.conv_backward",
)
def gradients_of_convolution(seed: int) -> Verdict:
    x, w, b = (normal(seed, *shape).requires_grad_() for shape in ((2, 3, 9, 8), (4, 3, 3, 2), (4,)))
    options: dict[str, Any] = {"stride": (2, 3), "padding": (1, 2), "dilation": (2, 1)}
    out = functional.conv2d(x, w, b, **options)
    delta = normal(seed, *out.shape)
    expected = torch.autograd.grad(out, (x, w, b), delta)
    gradients = conv_backward(delta.numpy(), x.detach().numpy(), w.detach().numpy(), **options)
    return every(**{name: same(ours, theirs) for name, ours, theirs in zip(gradients._fields, gradients, expected)})


@oracle(
    f"{PATH}.convolution.transposed.conv_transpose",
)
def transposed_convolution(seed: int) -> Verdict:
    x, w, b = normal(seed, 2, 3, 4, 5), normal(seed, 3, 2, 3, 2), normal(seed, 2)
    options: dict[str, Any] = {"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2), "dilation": (2, 1)}
    expected = functional.conv_transpose2d(x, w, b, **options)
    return same(conv_transpose(x.numpy(), w.numpy(), b.numpy(), **options), expected)


@oracle(
    "margin.neural.convolution.upsampling.resize",
    "margin.neural.convolution.pooling.max_unpool",
    f"{PATH}.convolution.upsampling.upsample",
    f"{PATH}.convolution.upsampling.interpolation_matrix",
)
def enlarged_images(seed: int) -> Verdict:
    x, w = normal(seed, 2, 3, 4, 5), normal(seed, 3, 2, 3, 3)
    values, indices = functional.max_pool2d(normal(seed, 2, 3, 8, 10), 2, return_indices=True)
    unpooled = upsample(values.numpy(), "unpool", 2, indices=indices.numpy())
    return every(
        nearest=same(upsample(x.numpy(), "nearest", 3), functional.interpolate(x, scale_factor=3, mode="nearest")),
        bilinear=same(upsample(x.numpy(), "bilinear", 3), functional.interpolate(x, scale_factor=3, mode="bilinear")),
        unpooled=same(unpooled, functional.max_unpool2d(values, indices, [2, 2])),
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
    wide = functional.avg_pool2d(x, 3, 1, 1)  # windows over the padding on every side
    back["wide"] = same(
        pool_backward(wide.detach().numpy(), data, 3, 1, 1, kind="mean"), torch.autograd.grad(wide, x, wide.detach())[0]
    )
    return every(
        back_from_the_edges=back["wide"],
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


@oracle(f"{PATH}.convolution.transposed.scaled_copies")
def copies_of_the_filter(seed: int) -> Verdict:
    x, w = normal(seed, 3, 4), normal(seed, 3, 2)
    transposed = functional.conv_transpose2d(x[None, None], w[None, None], stride=(2, 3))[0, 0]
    copies = scaled_copies(x.numpy(), w.numpy(), (2, 3))
    second = torch.zeros_like(x)
    second[1, 2] = x[1, 2]
    alone = functional.conv_transpose2d(second[None, None], w[None, None], stride=(2, 3))[0, 0]
    return every(sum=same(copies.sum(axis=0), transposed), one=same(copies[6], alone))


@oracle(f"{PATH}.convolution.sizes.conv_output_size", f"{PATH}.layers.counting.conv_parameters")
def sizes_of_layers(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    draws = [[int(v) for v in rng.integers([9, 2, 0, 1, 1], [20, 4, 3, 4, 3])] for _ in range(12)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ours = [conv_output_size(*draw) for draw in draws]
    theirs = [
        functional.conv1d(torch.zeros(1, 1, size), torch.zeros(1, 1, k), None, s, p, d).shape[2]
        for size, k, p, s, d in draws
    ]
    layer = build(lambda: nn.Conv2d(3, 5, (2, 4)), 0)
    return every(
        sizes=equal(ours, theirs),
        parameters=equal(conv_parameters(3, 5, (2, 4)), sum(p.numel() for p in layer.parameters())),
    )


@oracle(f"{PATH}.convolution.receptive.receptive_fields")
def fields_by_gradients(seed: int) -> Verdict:
    """The inputs that move one output of a network with positive weights, counted along each side."""
    del seed
    layers = (nn.Conv2d(1, 1, (3, 2), stride=(2, 1), dilation=(1, 3)), nn.AvgPool2d((2, 3), stride=(2, 2)))
    network = build(lambda: nn.Sequential(*layers, nn.Conv2d(1, 1, (2, 3))), 0, torch.float64)
    for weight in network.parameters():
        weight.data.fill_(0.5)
    sizes = []
    for depth in (1, 2, 3):
        x = torch.zeros(1, 1, 40, 40, dtype=torch.float64, requires_grad=True)
        network[:depth](x)[0, 0, 1, 1].backward()
        assert x.grad is not None
        touched = x.grad[0, 0] != 0
        # Dilation leaves gaps: the field is what lies between the first and the last input.
        ends = [torch.nonzero(touched.any(dim=1 - axis)).flatten() for axis in (0, 1)]
        sizes.append(tuple(int(end[-1] - end[0] + 1) for end in ends))
    return equal([field.size for field in receptive_fields(network)], sizes)


@oracle(*(f"{PATH}.convolution.maps.{name}" for name in ("feature_maps", "filters", "strongest_patches")))
def inside_a_network(seed: int) -> Verdict:
    """Maps layer by layer on images that no mirror leaves alone; patches where a loop finds the largest answer."""
    make = lambda: nn.Sequential(nn.Conv2d(2, 3, (3, 2), stride=2), nn.ReLU(), nn.Conv2d(3, 4, 2))  # noqa: E731
    network: Any = build(make, seed, torch.float64).requires_grad_(False)
    x = normal(seed, 2, 2, 9, 8)
    first = functional.conv2d(x, network[0].weight, network[0].bias, stride=2)
    last = functional.conv2d(first.relu(), network[2].weight, network[2].bias)
    maps = feature_maps(network, x)
    patches = strongest_patches(first.detach(), x, 3, 2)
    expected = []
    for channel in range(3):
        at = max(np.ndindex(2, *first.shape[2:]), key=lambda at: float(first[at[0], channel, at[1], at[2]]))
        image, row, column = at
        patch = torch.zeros(2, 3, 3, dtype=x.dtype)
        seen = x[image, :, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3]
        patch[:, : seen.shape[1], : seen.shape[2]] = seen
        expected.append(patch)
    return every(
        first=same(maps["0"], first),
        rectified=same(maps["1"], first.relu()),
        last=same(maps["2"], last),
        filters=same(filters(network)["2"], network[2].weight),
        patches=same(patches, torch.stack(expected)),
        chosen=equal(list(feature_maps(network, x, (nn.ReLU,))), ["1"]),
    )


@oracle(f"{PATH}.convolution.receptive.footprint")
def inputs_that_matter(seed: int) -> Verdict:
    """Inputs whose change moves the unit: in the middle of an output of even size, and at a position of its own."""
    make = lambda: nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(2, 1, (2, 3)))  # noqa: E731
    network: Any = build(make, seed, torch.float64)
    open_paths = nn.Sequential(network[0], nn.AvgPool2d(2), network[3])
    for layer in (network[0], network[3]):
        layer.weight.data = 0.5 + normal(seed, *layer.weight.shape).abs()  # no cancellation
    shape = (1, 10, 13)
    blank = torch.zeros(1, *shape, dtype=torch.float64)

    def moved(position: tuple[int, int]) -> np.ndarray:
        seen = np.zeros(shape, dtype=bool)
        for index in np.ndindex(*shape):
            touched = blank.clone()
            touched[(0, *index)] = 1.0
            with torch.no_grad():
                change = open_paths(touched)[0, 0] - open_paths(blank)[0, 0]
            seen[index] = abs(float(change[position])) > 1e-9
        return seen

    height, width = open_paths(blank).shape[2:]  # 4 and 4
    return every(
        middle=equal(footprint(network, shape).tolist(), moved((height // 2, width // 2)).tolist()),
        corner=equal(footprint(network, shape, (0, 1)).tolist(), moved((0, 1)).tolist()),
    )
