r"""Checkerboards of transposed convolutions, and none from resizing first

Two decoders of three steps with random weights, one of transposed convolutions (kernel 3, stride 2), one of
resize-convolutions. Energy at the frequency of the stride, averaged over many images, is the artifact.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("transposed convolution", "resize-convolution")
CHANNELS = (8, 8, 8, 1)


def decoder(kind: str) -> Any:
    from itertools import pairwise

    from torch import nn

    from margin.neural.convolution.layers import ResizeConv2d

    layers: list[Any] = []
    for a, b in pairwise(CHANNELS):
        up = nn.ConvTranspose2d(a, b, 3, stride=2) if kind == KINDS[0] else ResizeConv2d(a, b, 3, scale=2)
        layers += [up, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch
    from torch.nn import functional

    from margin.neural.weights import build

    networks, side = (12, 8) if fast else (100, 16)
    data: dict[str, Any] = {"image": {}, "spectrum": {}}
    for kind in KINDS:
        spectra = []
        for k in range(networks):
            generator = torch.Generator().manual_seed(1000 * seed + k)
            code = torch.randn(4, CHANNELS[0], 4, 4, generator=generator)
            code = functional.interpolate(code, size=side, mode="bicubic")  # smooth: all that is fine is made inside
            with torch.no_grad():
                images = build(partial(decoder, kind), seed=1000 * seed + k)(code)[:, 0].numpy()
            images = images[:, 8 : 8 * (side - 1), 8 : 8 * (side - 1)]
            images = (images - images.mean(axis=(1, 2), keepdims=True)) / images.std(axis=(1, 2), keepdims=True)
            spectra.append((np.abs(np.fft.fft2(images)) ** 2).mean(axis=0) / images[0].size)
        data["image"][kind] = images[0]
        data["spectrum"][kind] = np.fft.fftshift(np.mean(spectra, axis=0))
    return data


def stride_energy(spectrum: np.ndarray) -> float:
    """Energy at half the sampling frequency along either axis: the pattern that repeats every two pixels."""
    n = len(spectrum)
    middle = n // 2
    return float(spectrum[0, middle] + spectrum[middle, 0] + spectrum[0, 0])  # the shifted spectrum begins at -1/2


def check(data: dict[str, Any]) -> Verdict:
    energy = {kind: stride_energy(spectrum) for kind, spectrum in data["spectrum"].items()}
    return every(
        artifact=above(energy[KINDS[0]], 10 * energy[KINDS[1]]),
        none_with_resizing=below(energy[KINDS[1]], 5.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 7)
    for row, kind in zip(figure.subplots(2, 2), KINDS):
        row[0].imshow(data["image"][kind], cmap="gray")
        row[0].set_title(f"{kind}: an image")
        row[1].imshow(np.log10(data["spectrum"][kind] + 1e-6), cmap="magma", extent=(-0.5, 0.5, 0.5, -0.5))
        row[1].set_title(f"log spectrum; energy at the stride {stride_energy(data['spectrum'][kind]):.3g}")
        row[0].axis("off")
