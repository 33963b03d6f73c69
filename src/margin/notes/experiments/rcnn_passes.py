"""R-CNN needs a pass of its network for every proposal, Fast R-CNN one for the image

Images that go through the network, operations of its convolutions and all operations of both networks are counted for
growing numbers of proposals. What is counted is compared: which of the two needs more, how much each further proposal
costs, and that it is the passes that cost it. What the clock says is drawn: how much of the time of Fast R-CNN goes to
finding the proposals.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every

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
    from torch.utils.flop_counter import FlopCounterMode

    from margin.data.scenes import shape_scenes
    from margin.neural.weights import build
    from margin.vision.detection.detector import detector_network
    from margin.vision.detection.selective_search import selective_search

    rng = np.random.default_rng(seed)
    scene = shape_scenes(rng, n_samples=1, side=48)
    image = torch.from_numpy(scene.images[:, None])
    began = time.perf_counter()
    selective_search(scene.images[0], k=0.05, min_size=2)
    clock = Clock(time.perf_counter() - began)
    passes: dict[str, list[int]] = {name: [] for name in NAMES}
    work: dict[str, list[int]] = {name: [] for name in NAMES}
    total: dict[str, list[int]] = {name: [] for name in NAMES}
    for name in NAMES:
        net: Any = build(partial(detector_network, name, 1, 3, 4, 10.0, 5), seed=seed).eval()
        passed: list[int] = []
        net.backbone.register_forward_pre_hook(lambda _net, inputs, counted=passed: counted.append(len(inputs[0])))
        for count in PROPOSALS:
            corner = rng.uniform(0, 32, size=(count, 2))
            boxes = np.concatenate([corner, corner + rng.uniform(4, 16, size=(count, 2))], axis=1)
            passed.clear()
            began = time.perf_counter()
            proposals = torch.from_numpy(boxes[None]).float()
            with torch.no_grad():
                net.detect(image, proposals)
            clock.detect[name].append(time.perf_counter() - began)
            passes[name].append(sum(passed))
            with torch.no_grad(), FlopCounterMode(display=False) as counter:
                net.detect(image, proposals)
            work[name].append(counter.get_flop_counts()["Global"][torch.ops.aten.convolution])
            total[name].append(counter.get_total_flops())
    return {"counts": list(PROPOSALS), "passes": passes, "work": work, "total": total, "clock": clock}


def check(data: dict[str, Any]) -> Verdict:
    slow, quick = (data["work"][name] for name in NAMES)
    all_slow, all_quick = (data["total"][name] for name in NAMES)
    counts = data["counts"]
    each = [(total[-1] - total[0]) / (counts[-1] - counts[0]) for total in (all_slow, all_quick)]
    return every(
        one_for_each_proposal=equal(data["passes"]["r-cnn"], counts),
        one_for_the_image=equal(data["passes"]["fast-r-cnn"], [1] * len(counts)),
        work_grows_with_the_proposals=equal([w * counts[0] for w in slow], [slow[0] * n for n in counts]),
        work_stays=equal(quick, quick[:1] * len(counts)),
        # The image is as large as nine of the squares to which R-CNN brings its regions.
        larger=equal(9 * slow[-1], counts[-1] * quick[-1]),
        slower_in_all=above(all_slow[-1] / all_quick[-1], 8.0),
        slower_for_each_further_proposal=above(each[0] / each[1], 8.0),
        because_of_the_passes=above(slow[-1] / all_slow[-1], 0.85),
        passes_are_little_of_the_other=below(quick[-1] / all_quick[-1], 0.1),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, middle, right = figure.subplots(1, 3)
    counts, clock = data["counts"], data["clock"]
    for name in NAMES:
        left.plot(counts, data["passes"][name], "o-", label=name)
        middle.plot(counts, clock.detect[name], "o-", label=name)
        right.plot(counts, [clock.search / (clock.search + t) for t in clock.detect[name]], "o-", label=name)
    middle.axhline(clock.search, ls="--", color="gray", label="selective search")
    left.set(xscale="log", yscale="log", xlabel="proposals", ylabel="images through the network")
    middle.set(xscale="log", yscale="log", xlabel="proposals", ylabel="seconds per image")
    right.set(xscale="log", ylim=(0, 1), xlabel="proposals", ylabel="fraction of the time for finding proposals")
    for ax in (left, middle, right):
        ax.legend()
