"""R-CNN needs a pass of its network for every proposal, Fast R-CNN one for the image

Images that go through the network are counted, and the time per image is measured for growing numbers of proposals;
with one pass left, finding the proposals is most of the time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROPOSALS = (50, 500, 2000)
NAMES = ("r-cnn", "fast-r-cnn")


@dataclass
class Clock:
    """Seconds of selective search, and of each network per number of proposals: drawn only, since they never repeat."""

    search: float
    detect: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in NAMES})


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.data.scenes import shape_scenes
    from margin.detection.detector import detector_network
    from margin.detection.selective_search import selective_search
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    scene = shape_scenes(rng, n_samples=1, side=48)
    image = torch.from_numpy(scene.images[:, None])
    counts = PROPOSALS[:2] if fast else PROPOSALS
    began = time.perf_counter()
    selective_search(scene.images[0], k=0.05, min_size=2)
    clock = Clock(time.perf_counter() - began)
    passes: dict[str, list[int]] = {name: [] for name in NAMES}
    for name in NAMES:
        net: Any = build(lambda name=name: detector_network(name, 1, 3, 4, 10.0, 5), seed=seed).eval()
        passed: list[int] = []
        net.backbone.register_forward_pre_hook(lambda _net, inputs, counted=passed: counted.append(len(inputs[0])))
        for count in counts:
            corner = rng.uniform(0, 32, size=(count, 2))
            boxes = np.concatenate([corner, corner + rng.uniform(4, 16, size=(count, 2))], axis=1)
            passed.clear()
            began = time.perf_counter()
            with torch.no_grad():
                net.detect(image, torch.from_numpy(boxes[None]).float())
            clock.detect[name].append(time.perf_counter() - began)
            passes[name].append(sum(passed))
    return {"counts": list(counts), "passes": passes, "clock": clock}


def check(data: dict[str, Any]) -> Verdict:
    return every(
        one_for_each_proposal=equal(data["passes"]["r-cnn"], data["counts"]),
        one_for_the_image=equal(data["passes"]["fast-r-cnn"], [1] * len(data["counts"])),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2)
    for name in NAMES:
        left.plot(data["counts"], data["passes"][name], "o-", label=name)
        right.plot(data["counts"], data["clock"].detect[name], "o-", label=name)
    right.axhline(data["clock"].search, ls="--", color="gray", label="selective search")
    left.set(xscale="log", yscale="log", xlabel="proposals", ylabel="images through the network")
    right.set(xscale="log", yscale="log", xlabel="proposals", ylabel="seconds per image")
    left.legend()
    right.legend()
