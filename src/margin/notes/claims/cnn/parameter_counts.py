"""Claims on how many parameters a convolution has, and how many a dense layer would need."""

from __future__ import annotations

import torch
from torch import nn

from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.neural.convolution import conv_arithmetic, conv_output_size
from margin.neural.layers import conv_parameters, linear_parameters
from margin.neural.weights import count_parameters
from margin.notes.claims import claim


@claim("example-conv-filter-5x5x3")
def one_filter_has_76_parameters() -> Verdict:
    layer = nn.Conv2d(3, 1, 5)
    return every(
        parameters=equal((count_parameters(layer), conv_parameters(3, 1, (5, 5))), (76, 76)),
        weights=equal(layer.weight.numel(), 75),
        output=equal((tuple(layer(torch.zeros(1, 3, 32, 32)).shape), conv_output_size(32, 5)), ((1, 1, 28, 28), 28)),
    )


@claim("conv-parameter-count")
def parameters_do_not_depend_on_the_image() -> Verdict:
    counts = {
        (ci, co, k): count_parameters(nn.Conv2d(ci, co, k)) for ci in (1, 3, 16) for co in (1, 8) for k in (1, 3, 5)
    }
    layer = nn.Conv2d(3, 8, 3)
    sizes = [tuple(layer(torch.zeros(1, 3, n, n)).shape[2:]) for n in (8, 32)]
    truth = every(
        formula=equal(list(counts.values()), [co * ci * k * k + co for ci, co, k in counts]),
        ours=equal(list(counts.values()), [conv_parameters(ci, co, (k, k)) for ci, co, k in counts]),
        any_image=equal(sizes, [(6, 6), (30, 30)]),
        one_set_per_output_slice=equal(len(layer.weight), 8),
    )
    return corrected(truth, printed=equal(len(layer.weight), 3))  # a set per input slice, of which there are D_1 = 3


@claim("example-alexnet-first-layer")
def parameter_sharing_in_the_first_layer_of_alexnet() -> Verdict:
    counts = conv_arithmetic(227, 11, 4, 0, filters=96, channels=3)
    layer = nn.Conv2d(3, 96, 11, stride=4)
    truth = every(
        numbers=equal(tuple(counts), (55, 290_400, 364, 105_705_600, 34_848, 34_944)),
        layer=equal((layer.weight.numel(), count_parameters(layer)), (34_848, 34_944)),
        side=equal(tuple(layer.to("meta")(torch.zeros(1, 3, 227, 227, device="meta")).shape), (1, 96, 55, 55)),
    )
    return corrected(truth, printed=equal(counts.shared_parameters, 34_848))


@claim("claim-dense-layers-do-not-scale-to-images")
def dense_layers_do_not_scale() -> Verdict:
    neuron = nn.Linear(32 * 32 * 3, 1)
    sides = (32, 64, 227)
    dense = [linear_parameters(n * n * 3, 100) for n in sides]
    convolution = [conv_parameters(3, 100, (5, 5)) for _ in sides]
    truth = every(
        weights=equal((neuron.weight.numel(), count_parameters(neuron)), (3072, 3073)),
        dense_grows_with_the_area=near(
            [(count - 100) / (n * n) for count, n in zip(dense, sides)], [300.0] * 3, tolerance=0.0
        ),
        convolution_does_not=equal(convolution, [7600] * 3),
        times_more=above(dense[-1] / convolution[-1], 2000),
    )
    return corrected(truth, printed=equal(neuron.weight.numel(), 3078))


@claim("claim-cnn-parameter-efficiency")
def sharing_saves_parameters() -> Verdict:
    h, w, ci, co, k = 16, 12, 3, 8, 3
    shared = count_parameters(nn.Conv2d(ci, co, k, padding=1))
    dense = count_parameters(nn.Linear(ci * h * w, co * h * w))
    formula = (ci * h * w + 1) * h * w / (ci * k * k + 1)
    return every(
        counts=equal((shared, dense), (conv_parameters(ci, co, (k, k)), linear_parameters(ci * h * w, co * h * w))),
        ratio=near(dense / shared, formula, tolerance=1e-9),
        large=above(dense / shared, 1000),
    )
