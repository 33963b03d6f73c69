"""Claims on dense against convolutional networks: the order of pixels, and folders of pictures to try them on."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import nn

from margin.core.verdict import Verdict, above, below, equal, every, near, raises
from margin.data.image_folder import open_image_folder
from margin.neural.diagnostics import descend
from margin.neural.estimators import CNNClassifier
from margin.neural.losses import cross_entropy
from margin.neural.weights import build
from margin.notes.claims import claim
from margin.notes.claims.cnn import stream
from margin.notes.claims.cnn.architectures import digits


@claim("claim-dense-nets-ignore-spatial-order")
def dense_networks_have_no_neighbors(seed: int) -> Verdict:
    X, y, X_test, y_test = digits(seed, 600)
    order = stream(seed).permutation(64)
    rows, labels = torch.from_numpy(X[:200].reshape(200, 64) / 16), torch.from_numpy(y[:200])

    def train(columns: np.ndarray) -> tuple[list[float], torch.Tensor]:
        net: Any = build(lambda: nn.Sequential(nn.Linear(64, 20), nn.Tanh(), nn.Linear(20, 10)), seed, torch.float64)
        net[0].weight.data = net[0].weight.data[:, columns]
        losses = descend(net.parameters(), lambda: cross_entropy(net(rows[:, columns]), labels), steps=40, rate=0.5)
        return losses, net(rows[:, columns]).detach()

    (losses, outputs), (losses_again, outputs_again) = train(np.arange(64)), train(order)
    options: dict[str, Any] = {"max_iter": 5, "batch_size": 32, "learning_rate_init": 0.01, "random_state": seed}
    cnn = CNNClassifier(["conv 12 3", "pool 2", "dense 32"], **options).fit(X, y)
    shuffled = X_test.reshape(-1, 64)[:, order].reshape(-1, 8, 8)
    return every(
        same_training=near(losses_again, losses, tolerance=1e-10),
        same_outputs=near(outputs_again, outputs, tolerance=1e-10),
        it_learned=below(losses[-1], 0.5 * losses[0]),
        cnn_reads_digits=above(cnn.score(X_test, y_test), 0.8),
        but_not_shuffled_ones=below(cnn.score(shuffled, y_test), 0.4),
    )


@claim("dataset-cats-dogs")
def folders_of_two_classes(seed: int) -> Verdict:
    from PIL import Image

    from margin.data import load

    X, y = load("shapes", n_samples=30, noise=0.05, size=16, seed=seed).arrays()
    pixels = (np.clip(X, 0, 1) * 255).astype(np.uint8).reshape(-1, 16, 16)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for k, (image, label) in enumerate(zip(pixels, y)):
            kind = folder / ("disks", "crosses")[label]
            kind.mkdir(exist_ok=True)
            Image.fromarray(image).save(kind / f"{k:02d}.png")
        read = open_image_folder(folder, color="gray")
        model = CNNClassifier(["conv 4 3", "global-max-pool"], max_iter=1, random_state=seed).fit(
            read.images, read.labels
        )
        predicted = model.predict_files(read.files[:3])
        (folder / "disks" / "broken.png").write_bytes(b"no picture")
        refused = raises(ValueError, lambda: open_image_folder(folder), match="broken.png")
        skipped = open_image_folder(folder, unreadable="skip")
        unknown = raises(ValueError, lambda: open_image_folder(folder, classes=["disks"]), match="'crosses' is unknown")
        Image.fromarray(pixels[0][:8]).save(folder / "disks" / "small.png")
        mixed = raises(ValueError, lambda: open_image_folder(folder, unreadable="skip"), match="one size unless resize")
        resized = open_image_folder(folder, unreadable="skip", resize=(12, 10))
    by_file = {int(path.stem): image for path, image in zip(read.files, read.images)}
    return every(
        classes=equal(read.classes, ("crosses", "disks")),
        pixels=equal(np.stack([by_file[k] for k in range(30)]), pixels),
        labels=equal(sorted(set(read.labels.tolist())), ["crosses", "disks"]),
        predictions_on_files=equal(predicted.tolist(), model.predict(read.images[:3]).tolist()),
        unreadable_file_is_named=refused,
        or_skipped=equal((len(skipped.files), len(skipped.skipped)), (30, 1)),
        unknown_class=unknown,
        mixed_sizes=mixed,
        unless_resized=equal(resized.images.shape, (31, 12, 10, 3)),
    )
