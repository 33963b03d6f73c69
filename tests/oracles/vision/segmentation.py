"""Maps of classes: overlaps counted pixel by pixel, and what a segmenter is trained on and answers."""

from __future__ import annotations

import numpy as np
import torch
from scipy import special
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.vision.segmentation import Segmenter
from margin.vision.segmentation.overlap import mean_iou, pixel_accuracy

PATH = "margin.vision.segmentation"


@oracle(*(f"{PATH}.overlap.{name}" for name in ("mean_iou", "pixel_accuracy")))
def pixels_counted(seed: int) -> Verdict:
    """Classes of unequal size, one of which only the prediction has."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, p=[0.6, 0.3, 0.1], size=(2, 7, 5))
    found = np.where(rng.random(truth.shape) < 0.3, rng.integers(0, 4, size=truth.shape), truth)
    pairs = list(zip(truth.ravel().tolist(), found.ravel().tolist()))
    ratios = []
    for label in sorted({label for pair in pairs for label in pair}):
        both = sum(a == b == label for a, b in pairs)
        ratios.append(both / sum(label in pair for pair in pairs))
    return every(
        iou=near(mean_iou(truth, found), np.mean(ratios), tolerance=1e-12),
        accuracy=near(pixel_accuracy(truth, found), np.mean([a == b for a, b in pairs]), tolerance=1e-12),
    )


@oracle(f"{PATH}.Segmenter")
def pixels_of_a_segmenter(seed: int) -> Verdict:
    """Images standardized by the mean and width of all of them; the most likely class of every pixel."""
    rng = np.random.default_rng(seed)
    images, masks = rng.normal(4.0, 3.0, size=(6, 8, 8)), rng.integers(0, 3, size=(6, 8, 8))
    model = Segmenter("unet", base_channels=2, depth=1, max_iter=1, batch_size=3, random_state=seed).fit(images, masks)
    module = model._ready_module()
    with torch.no_grad():
        scaled = torch.from_numpy((images - images.mean()) / images.std())[:, None].float()
        scores = module.body.eval()(scaled).double().numpy()
    odds = special.softmax(scores, axis=1)
    rare = rng.choice(3, size=(6, 8, 8), p=[0.9, 0.09, 0.01])
    begun = Segmenter("unet", base_channels=2, depth=1, max_iter=1, learning_rate_init=1e-12, random_state=seed)
    bias = next(array for name, array in begun.fit(images, rare).weights_.items() if name.endswith("head.bias"))
    counts = np.array([np.sum(rare == k) for k in range(3)]) + 1.0  # one more, for classes of held-out images only
    return every(
        begins_with_frequencies=near(special.softmax(bias.astype(float)), counts / counts.sum(), tolerance=1e-5),
        probabilities=near(model.predict_proba(images), odds, tolerance=1e-4),
        labels=equal(float(np.mean(model.predict(images) == scores.argmax(axis=1))) > 0.99, True),
    )
