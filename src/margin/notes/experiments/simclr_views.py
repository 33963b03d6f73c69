r"""SimCLR: two views of each image, what becomes of them, and what a linear probe finds

.. math:: x \to (t(x), t'(x)) \to f \to (h_i, h_j) \to g \to (z_i, z_j) \to \mathrm{agreement}

Digits stand anywhere in the image. Without labels the encoder learns representations h on which a linear model with few
labels reads them better than on the raw pixels, on those of a random encoder, or of one trained on two equal views; h
is better than z.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENCODER = ("conv 16 3", "pool 2", "conv 48 3", "global-max-pool")
CHANGES = ("shift 2", "contrast 0.3", "noise 0.2")
SIDE, SHOWN = 12, 6
LABELED, SETS = 100, 5  # a probe learns from few labels; its accuracy is the mean over several sets of them


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch
    from sklearn.datasets import load_digits

    from margin.linear import LogisticRegression
    from margin.representation import SimCLR, cosine_similarity, two_views

    rng = np.random.default_rng(seed)
    order = rng.permutation(1797)
    digits, labels = load_digits().images[order] / 16, load_digits().target[order]
    images = np.zeros((len(digits), SIDE, SIDE), dtype=np.float32)
    for image, digit, (r, c) in zip(images, digits, rng.integers(0, SIDE - 7, size=(len(digits), 2))):
        image[r : r + 8, c : c + 8] = digit
    few = np.arange(900).reshape(-1, LABELED)[:SETS]
    test = np.arange(900, 1797)
    n = 600 if fast else 900

    def model(**options: Any) -> SimCLR:
        settings: dict[str, Any] = {"augment": CHANGES, "max_iter": 12 if fast else 60, "learning_rate_init": 0.005}
        return SimCLR(
            ENCODER, n_components=64, temperature=0.2, batch_size=64, random_state=seed, **(settings | options)
        )

    def probe(rows: np.ndarray) -> float:
        rows = (rows - rows.mean(axis=0)) / (rows.std(axis=0) + 1e-6)
        readers = [LogisticRegression(C=0.1, max_iter=200).fit(rows[known], labels[known]) for known in few]
        return float(np.mean([reader.score(rows[test], labels[test]) for reader in readers]))

    trained = model().fit(images[:n])
    untrained = model(max_iter=1, learning_rate_init=1e-12).fit(images[:n])
    without = model(augment=()).fit(images[:n])
    standard: Any = trained._ready_module()
    batch = standard.prepare(torch.from_numpy(images[:SHOWN, None]))
    views = two_views(batch, CHANGES, seed)

    def similarities(which: SimCLR) -> np.ndarray:
        body: Any = which._ready_module().body
        with torch.no_grad():
            z = body.head(body.encoder(torch.cat(views)))
            return cosine_similarity(z, z).numpy()

    return {
        "probe": {
            "representation h": probe(trained.transform(images)),
            "projection z": probe(trained.project(images)),
            "random encoder": probe(untrained.transform(images)),
            "equal views": probe(without.transform(images)),
            "raw pixels": probe(images.reshape(len(images), -1)),
        },
        "shapes": [list(trained.transform(images[:2]).shape), list(trained.project(images[:2]).shape)],
        "views": np.stack([view[:, 0].numpy() for view in views]),
        "before": similarities(untrained),
        "after": similarities(trained),
        "loss": trained.loss_curve_,
        "start": float(np.log(2 * 64 - 1)),
    }


def contrast(similarity: np.ndarray) -> float:
    """How much more alike the two views of an image are than views of two images."""
    pairs = np.eye(len(similarity), k=SHOWN, dtype=bool) | np.eye(len(similarity), k=-SHOWN, dtype=bool)
    others = ~pairs & ~np.eye(len(similarity), dtype=bool)
    return float(similarity[pairs].mean() - similarity[others].mean())


def check(data: dict[str, Any]) -> Verdict:
    probe = data["probe"]
    h = probe["representation h"]
    return every(
        over_pixels=above(h, probe["raw pixels"] + 0.2),
        over_a_random_encoder=above(h, probe["random encoder"] + 0.1),
        over_equal_views=above(h, probe["equal views"] + 0.1),
        over_the_projection=above(h, probe["projection z"]),
        shapes=equal(data["shapes"], [[2, 64], [2, 16]]),
        pairs_stand_out=above(contrast(data["after"]), contrast(data["before"])),
        loss_falls=above(data["start"], data["loss"][-1]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    parts: Any = figure.subfigures(2, 1, height_ratios=(5, 6))
    top, bottom = parts
    for row, (name, axes) in enumerate(zip(("one view", "the other"), top.subplots(2, SHOWN))):
        for k, ax in enumerate(axes):
            ax.imshow(data["views"][row, k], cmap="gray")
            ax.set(xticks=[], yticks=[], ylabel=name if k == 0 else "")
    top.suptitle("Two views of each digit: moved, cropped, with noise", x=0.01, ha="left", fontsize=11)
    before, after, probe = bottom.subplots(1, 3)
    for ax, name in ((before, "before"), (after, "after")):
        image = ax.imshow(data[name][:SHOWN, SHOWN:], vmin=-1, vmax=1, cmap="RdBu_r")
        ax.set(xticks=[], yticks=[], xlabel="the other view of each digit", ylabel="one view of each digit")
        ax.set_title(f"{name} training: partners {contrast(data[name]):+.2f}")
    bottom.colorbar(image, ax=(before, after), shrink=0.75, label="cosine similarity")
    bars = probe.barh(list(data["probe"]), list(data["probe"].values()))
    probe.bar_label(bars, fmt="%.2f", padding=3)
    probe.margins(x=0.15)
    probe.set(title=f"a linear reader, {LABELED} labels", xlabel="test accuracy")
