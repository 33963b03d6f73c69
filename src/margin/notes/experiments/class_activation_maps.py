r"""Class activation maps: feature maps, their weights, and where they add up

.. math:: \mathrm{CAM}_c = \sum_k W_{ck} A_k

A network that averages its last feature maps learns to tell shapes from each other and from an empty image, never told
where they are. Scores mean something only relative to each other: the same row added to all rows of :math:`W` changes
every map and no probability. What speaks for class c is its map minus that of the class of empty images. Far from the
shape an image looks like an empty one, so the evidence lies on the shape or at its edge, and there is the peak.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE, SHOWN, NOISE = 20, 4, 0.05
EDGE = 1  # pixels: an edge of the shape is seen by 3 x 3 kernels on either side of it
LAYERS = ["conv 8 3", "conv 16 3", "conv 16 3", "global-avg-pool"]


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.data.scenes import SHAPES, shape_scenes
    from margin.interpretation.attribution import class_activation_map, grad_cam, resize_map
    from margin.neural.estimators import CNNClassifier

    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {"side": SIDE, "sizes": (7, 9), "n_objects": (1, 1), "noise": NOISE}
    train = shape_scenes(rng, 300 if fast else 2000, **options)
    test = shape_scenes(rng, 60, **options)
    model = CNNClassifier(
        LAYERS, max_iter=14 if fast else 20, batch_size=20, learning_rate_init=0.01, random_state=seed
    )
    empty = np.clip(NOISE * rng.standard_normal((len(train.images) // 3, SIDE, SIDE)), 0, 1).astype(np.float32)
    names = [*(int(boxes.labels[0]) for boxes in train.boxes), *[len(SHAPES)] * len(empty)]
    model.fit(np.concatenate([train.images, empty]), names)
    net: Any = model._ready_module()
    x = net.prepare(torch.from_numpy(test.images[:, None]))
    labels = torch.tensor([int(boxes.labels[0]) for boxes in test.boxes])
    position = max(k for k, layer in enumerate(net.body) if isinstance(layer, torch.nn.ReLU))
    features, head = net.body[: position + 1](x).detach(), net.body[-1]
    cam = class_activation_map(features, head.weight.detach(), labels)
    by_gradient = grad_cam(net.body, net.body[position], x, labels)
    nothing = class_activation_map(features, head.weight.detach(), torch.full_like(labels, len(SHAPES)))
    heat = resize_map(cam - nothing, SIDE, SIDE).numpy()
    peaks = [np.unravel_index(m.argmax(), m.shape) for m in heat]
    reach = [boxes.xyxy[0] + [-EDGE, -EDGE, EDGE, EDGE] for boxes in test.boxes]
    inside = [b[1] <= r + 0.5 <= b[3] and b[0] <= c + 0.5 <= b[2] for (r, c), b in zip(peaks, reach)]
    strongest = int((head.weight[labels[0]].detach().abs() * features[0].mean(dim=(1, 2))).argmax())
    return {
        "accuracy": float(np.mean(model.predict(test.images) == labels.numpy())),
        "inside": float(np.mean(inside)),
        "area": float(np.mean([(b[2] - b[0]) * (b[3] - b[1]) for b in reach]) / SIDE**2),
        "gap": float((by_gradient * cam[0].numel() - cam.relu()).abs().max() / cam.abs().max()),
        "images": test.images[:SHOWN],
        "heat": heat[:SHOWN],
        "maps": features[0].numpy(),
        "weights": head.weight[labels[0]].detach().numpy(),
        "strongest": strongest,
        "boxes": [boxes.xyxy[0] for boxes in test.boxes[:SHOWN]],
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        learned=above(data["accuracy"], 0.7),
        peak_on_the_object=above(data["inside"], max(0.7, 3 * data["area"])),
        grad_cam_is_cam=near(data["gap"], 0.0, tolerance=1e-4),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axes = figure.subplots(3, SHOWN)
    added = data["weights"] * data["maps"].mean(axis=(1, 2))  # what each map adds to the score
    chosen = np.argsort(-np.abs(added))[:SHOWN]
    brightest = max(data["maps"][k].max() for k in chosen)
    for k in range(SHOWN):
        axes[0, k].imshow(data["images"][k], cmap="gray")
        axes[1, k].imshow(data["maps"][chosen[k]], cmap="viridis", vmin=0, vmax=brightest)
        axes[1, k].set_title(f"map {chosen[k]} adds {added[chosen[k]]:+.2f} to the score", fontsize=9)
        axes[2, k].imshow(data["images"][k], cmap="gray")
        axes[2, k].imshow(data["heat"][k], cmap="inferno", alpha=0.5)
        left, top, right, bottom = data["boxes"][k] - 0.5
        axes[2, k].plot([left, right, right, left, left], [top, top, bottom, bottom, top], "w-", lw=1)
        axes[2, k].set(xlim=(-0.5, SIDE - 0.5), ylim=(SIDE - 0.5, -0.5))
    axes[0, 0].set_title("the first image", fontsize=10)
    axes[2, 0].set_title("bright: speaks for the class; frame: the shape", fontsize=9)
    for row, name in enumerate(("images", "maps of the first image", "class minus empty")):
        axes[row, 0].set_ylabel(name)
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
