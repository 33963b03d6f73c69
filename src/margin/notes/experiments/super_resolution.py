r"""Super-resolution: a U-Net makes small digits large again

Digits of 8 x 8 pixels are averaged to 4 x 4 and enlarged again by cubic interpolation, which cannot know what was lost.
A U-Net that sees the enlarged picture learns what to add, :math:`x + f(x)`: on digits that it has not seen its error is
smaller. What it adds is what digits usually have there, no information about this one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRAINING, SHOWN = 1200, 6


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch
    from sklearn.datasets import load_digits

    from margin.neural.convolution import downsample
    from margin.neural.nets.pixels import UNet
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    large = load_digits().images[rng.permutation(1797)][:, None] / 16.0
    small = downsample(large, "mean", 2)
    enlarged = torch.nn.functional.interpolate(
        torch.from_numpy(small), scale_factor=2, mode="bicubic", align_corners=False
    ).float()
    truth = torch.from_numpy(large).float()
    net: Any = build(partial(UNet, 1, 1, depth=1, channels=8), seed)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    noise, steps, losses = torch.Generator().manual_seed(seed), 120 if fast else 3000, []
    for _ in range(steps):
        rows = torch.randint(TRAINING, (64,), generator=noise)
        loss = (enlarged[rows] + net(enlarged[rows]) - truth[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    net.eval()
    with torch.no_grad():
        restored = (enlarged + net(enlarged)).numpy()
    new = slice(TRAINING, None)
    pictures = {"cubic": enlarged.numpy()[new], "unet": restored[new], "true": large[new]}
    return {
        "small": small[new],
        "pictures": {name: images[:SHOWN, 0] for name, images in pictures.items()},
        "errors": {name: float(((pictures[name] - large[new]) ** 2).mean()) for name in ("cubic", "unet")},
        "averages": small[:50, 0],
        "blocks": large[:50, 0].reshape(50, 4, 2, 4, 2).mean(axis=(2, 4)),
        "losses": np.array(losses),
    }


def check(data: dict[str, Any]) -> Verdict:
    errors = data["errors"]
    return every(
        four_pixels_become_their_mean=near(data["averages"], data["blocks"], tolerance=1e-12),
        sharper_than_interpolation=below(errors["unet"], 0.75 * errors["cubic"]),
        not_the_truth=above(errors["unet"], 0.1 * errors["cubic"]),
        learned=below(float(data["losses"][-20:].mean()), 0.8 * float(data["losses"][:3].mean())),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(10, 6.6)
    quality = {name: 10 * np.log10(1 / error) for name, error in data["errors"].items()}
    rows = {
        "4 x 4 pixels": data["small"][:SHOWN, 0],
        f"cubic, {quality['cubic']:.1f} dB": data["pictures"]["cubic"],
        f"U-Net, {quality['unet']:.1f} dB": data["pictures"]["unet"],
        "8 x 8 pixels": data["pictures"]["true"],
    }
    axes = figure.subplots(len(rows), SHOWN)
    for line, (title, images) in zip(axes, rows.items()):
        for ax, image in zip(line, images):
            ax.imshow(image, cmap="Greys", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
        line[0].set_ylabel(title)
    figure.suptitle("Digits that the network has not seen, and the quality of all of them")
