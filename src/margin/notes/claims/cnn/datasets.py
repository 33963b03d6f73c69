"""Claims on sets of images: CIFAR-10, ImageNet, and folders with one subfolder per class."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near, raises
from margin.data.image_folder import open_image_folder
from margin.data.image_sets import CIFAR10_CLASSES, image_set_info, load_cifar10, preprocess_imagenet
from margin.notes.claims import claim
from margin.notes.claims.cnn import stream


@claim("dataset-cifar10")
def cifar_files(seed: int) -> Verdict:
    facts = image_set_info("cifar10")
    rng = stream(seed)
    with TemporaryDirectory() as name:
        folder, planes = Path(name), {}
        for file in [*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin"]:
            labels = np.repeat(np.arange(10, dtype=np.uint8), 2)  # a stand-in: 20 images in each file of 10,000
            planes[file] = rng.integers(0, 256, (20, 3, 32, 32), dtype=np.uint8)
            np.column_stack([labels, planes[file].reshape(20, -1)]).tofile(folder / file)
        dataset = load_cifar10(folder)
        (folder / "test_batch.bin").write_bytes(b"12345")
        damaged = raises(ValueError, lambda: load_cifar10(folder), match="records of 3073 bytes")
    images = np.asarray(dataset.X).reshape(-1, 32, 32, 3)
    assert dataset.split is not None
    return every(
        facts=equal(
            (facts["images"], facts["shape"], len(facts["classes"]), facts["per_class"]),
            (60_000, (32, 32, 3), 10, 6_000),
        ),
        adds_up=equal(len(facts["classes"]) * facts["per_class"], facts["images"]),
        names=equal(dataset.target_names, CIFAR10_CLASSES),
        pixels=equal(images[:20].transpose(0, 3, 1, 2), planes["data_batch_1.bin"]),
        equally_many=equal(np.bincount(dataset.y).tolist(), [12] * 10),  # type: ignore[arg-type]
        split=equal((len(dataset.split[0]), len(dataset.split[1])), (100, 20)),
        damaged=damaged,
    )


@claim("dataset-imagenet")
def imagenet_preprocessing() -> Verdict:
    from PIL import Image
    from sklearn.datasets import load_sample_images

    facts = image_set_info("imagenet")
    with TemporaryDirectory() as name:
        for label, picture in zip(("building", "flower"), load_sample_images().images):
            (Path(name) / label).mkdir()
            Image.fromarray(picture).save(Path(name) / label / "picture.png")
        folder = open_image_folder(name)
    ready = np.stack([preprocess_imagenet(image) for image in folder.images])
    flat = preprocess_imagenet(np.full((300, 500, 3), 255, dtype=np.uint8))
    truth = every(
        facts=equal((facts["images"], facts["with_boxes"], facts["categories"]), (14_000_000, 1_000_000, 20_000)),
        classes=equal((folder.classes, folder.labels.tolist()), (("building", "flower"), ["building", "flower"])),
        shape=equal(ready.shape, (2, 3, 224, 224)),
        standardized=below(float(np.abs(ready.mean(axis=(0, 2, 3))).max()), 1.5),
        white=near(flat[:, 0, 0], (1 - np.array([0.485, 0.456, 0.406])) / [0.229, 0.224, 0.225], tolerance=1e-5),
        spread=above(float(ready.std()), 0.5),
    )
    return truth
