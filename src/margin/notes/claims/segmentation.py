"""Claims of the area segmentation: a class for every pixel."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim

OPTIONS: dict[str, Any] = {"side": 20, "sizes": (7, 10), "n_objects": (1, 1)}


@cache
def shapes(seed: int) -> tuple[Any, Any]:
    """Scenes to learn from, and others; the masks say where and which the shape is."""
    from margin.data.scenes import shape_scenes

    rng = np.random.default_rng(seed)
    return shape_scenes(rng, 120, **OPTIONS), shape_scenes(rng, 40, **OPTIONS)


@cache
def fit(seed: int, architecture: str) -> Any:
    """A network that tells ground, disc, square and triangle."""
    from margin.vision.segmentation import Segmenter

    train, _ = shapes(seed)
    options: dict[str, Any] = {"base_channels": 8, "depth": 2, "max_iter": 20, "batch_size": 12}
    model = Segmenter(architecture, learning_rate_init=0.01, random_state=seed, **options)
    return model.fit(train.images, train.masks)


@claim("semantic-segmentation")
def every_pixel_gets_a_class(seed: int) -> Verdict:
    import torch

    from margin.vision.segmentation import mean_iou, pixel_accuracy
    from margin.vision.segmentation.segmenter import pixel_loss

    _, test = shapes(seed)
    model = fit(seed, "unet")
    truth, p = test.masks, model.predict_proba(test.images)
    predicted = p.argmax(axis=1)
    overlaps = [np.sum((truth == k) & (predicted == k)) / np.sum((truth == k) | (predicted == k)) for k in range(4)]
    n, rows, columns = np.indices(truth.shape)
    outside = np.ones(truth.shape, dtype=bool)
    for image, found in enumerate(test.boxes):
        for x1, y1, x2, y2 in found.xyxy:
            outside[image, int(y1) : int(np.ceil(y2)), int(x1) : int(np.ceil(x2))] = False
    other = np.where(outside, 2, truth)  # the labels of the boxes are as before

    def loss(labels: np.ndarray) -> np.ndarray:
        return pixel_loss(torch.from_numpy(np.log(p)), torch.from_numpy(labels)).numpy()

    right = every(
        a_class_for_each=equal(predicted.shape, test.images.shape),
        classes=equal(model.predict(test.images), model.classes_[predicted]),
        objective=near(loss(truth), -np.log(p[n, truth, rows, columns]).mean(axis=(1, 2)), tolerance=1e-5),
        accuracy=above(pixel_accuracy(truth, predicted), 0.97),
        iou=above(mean_iou(truth, predicted), 0.9),
        counted=near(mean_iou(truth, predicted), np.mean(overlaps), tolerance=1e-12),
        worst_class=above(float(min(overlaps)), 0.8),
        outside_of_boxes=above(float(np.mean((predicted == truth)[outside])), 0.97),
    )
    return corrected(right, labels_are_those_in_boxes=near(loss(other), loss(truth), tolerance=0.1))


@claim("fully-convolutional-network")
def a_fully_convolutional_network_takes_any_size(seed: int) -> Verdict:
    import torch

    from margin.neural.nets.pixels import FCN
    from margin.neural.weights import build

    net = build(lambda: FCN(3, 5, depth=2, channels=4), seed=seed).eval()
    sizes = [(16, 16), (17, 30), (8, 40)]
    with torch.no_grad():
        shapes_out = [tuple(net(torch.zeros(2, 3, *size)).shape) for size in sizes]
    dense = [layer for layer in net.modules() if isinstance(layer, torch.nn.Linear)]
    _, test = shapes(seed)
    return every(
        sizes=equal(shapes_out, [(2, 5, *size) for size in sizes]),
        no_dense_layer=equal(len(dense), 0),
        learns=above(fit(seed, "fcn").score(test.images, test.masks), 0.9),
    )


@claim("unet")
def skips_are_concatenated_and_they_help(seed: int) -> Verdict:
    import torch

    from margin.neural.diagnostics import descend
    from margin.neural.nets.pixels import UNet, halve
    from margin.neural.weights import build

    net = build(lambda: UNet(1, 1, depth=2, channels=6), seed=seed)
    pooled = tuple(halve(torch.zeros(1, 1, 1024, 1024, device="meta")).shape[2:])
    train, test = shapes(seed)
    clean, rng = torch.from_numpy(train.masks[:40, None] > 0).float(), torch.Generator().manual_seed(seed)
    noisy = clean + 0.5 * torch.randn(clean.shape, generator=rng)

    def loss() -> torch.Tensor:
        return (net(noisy) - clean).square().mean()

    errors = descend(net.parameters(), loss, steps=30, rate=0.02, rule=torch.optim.Adam)
    overlap = [fit(seed, name).score(test.images, test.masks) for name in ("unet", "encoder-decoder")]
    widths = [step.convolve[0].in_channels for step in net.up]  # type: ignore[union-attr, index]
    truth = every(
        first_halving=equal(pooled, (512, 512)),
        keeps_the_size=equal(tuple(net(noisy[:1]).shape), tuple(noisy[:1].shape)),
        concatenated=equal(widths, [24, 12]),
        denoises=below(errors[-1], 0.25 * 0.5),
        skips_help=above(overlap[0], overlap[1] + 0.02),
        segments=above(overlap[0], 0.9),
    )
    # Added, as residuals are, the channels behind a joint would be those of one branch.
    return corrected(truth, printed=equal(widths, [12, 6]))


@claim("hourglass-network")
def heat_maps_peak_at_the_keypoints(seed: int) -> Verdict:
    import torch

    from margin.neural.diagnostics import descend
    from margin.neural.nets.pixels import Hourglass, HourglassStack
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    points = rng.integers(3, 13, size=(80, 2))
    rows, columns = np.mgrid[:16, :16]
    distance = (rows - points[:, 0, None, None]) ** 2 + (columns - points[:, 1, None, None]) ** 2
    cross = ((rows == points[:, 0, None, None]) | (columns == points[:, 1, None, None])) & (distance <= 9)
    images = torch.from_numpy(cross + 0.1 * rng.normal(size=cross.shape)).float()[:, None]
    heat = torch.from_numpy(np.exp(-distance / 4)).float()[:, None]
    net = build(lambda: HourglassStack(1, 1, depth=2, channels=8, stacks=2), seed=seed)

    def loss() -> torch.Tensor:
        return sum((maps - heat[:60]).square().mean() for maps in net.predictions(images[:60]))  # type: ignore[return-value]

    descend(net.parameters(), loss, steps=60, rate=0.02, rule=torch.optim.Adam)
    with torch.no_grad():
        peaks = net.eval()(images[60:])[:, 0].reshape(20, -1).argmax(dim=1).numpy()
    gaps = np.hypot(peaks // 16 - points[60:, 0], peaks % 16 - points[60:, 1])
    glass = build(lambda: Hourglass(4, 2), seed=seed).eval()
    x = torch.from_numpy(rng.normal(size=(1, 4, 8, 8))).float()
    with torch.no_grad():
        deep = glass(x) - glass.beside(x)
        through = torch.nn.functional.interpolate(
            glass.after(glass.inner(glass.before(torch.nn.functional.max_pool2d(x, 2)))), scale_factor=2, mode="nearest"
        )
    return every(
        within_two_pixels=below(float(gaps.max()), 2 + 1e-9),
        added=below(float((deep - through).abs().max()), 1e-5),
    )
