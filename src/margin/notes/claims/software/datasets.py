"""Cards of data sets that are too large to carry, and readers for their files; small stand-ins have their layout."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near, raises
from margin.data.cards import dataset_info
from margin.data.labeled_images import load_cifar100, load_lsun, read_captioned_images
from margin.data.meshes import Mesh, read_mesh, render
from margin.notes import atlas
from margin.notes.claims import claim


@claim("dataset-cifar100")
def cifar100_by_number(seed: int) -> Verdict:
    facts, values = dataset_info("cifar100"), atlas.row("dataset-cifar100").values
    rng, index = np.random.default_rng(seed), values["index"]
    labels = (np.arange(index + 3) % 100).astype(np.uint8)
    planes = rng.integers(0, 256, (len(labels), 3, 32, 32), dtype=np.uint8)
    with TemporaryDirectory() as name:
        np.column_stack([labels // 5, labels, planes.reshape(len(labels), -1)]).tofile(Path(name) / "test.bin")
        dataset = load_cifar100(name, "test")
        (Path(name) / "test.bin").write_bytes(b"123")
        damaged = raises(ValueError, lambda: load_cifar100(name, "test"), match="records of 3074 bytes")
    image, label = dataset[index]
    return every(
        card=equal((facts["shape"], len(set(facts["classes"])), facts["per_class"]), ((32, 32, 3), 100, 600)),
        adds_up=equal(len(facts["classes"]) * facts["per_class"], facts["images"]),
        classes=equal(len(dataset.classes), values["classes"]),
        image=equal(image, planes[index].transpose(1, 2, 0)),
        label=equal((label, dataset.classes[label]), (index % 100, facts["classes"][index % 100])),
        damaged=damaged,
    )


def save_picture(path: Path, seed: int, size: tuple[int, int] = (20, 30)) -> np.ndarray:
    from PIL import Image

    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return pixels


@claim("dataset-lsun")
def scenes_in_folders(seed: int) -> Verdict:
    facts, values = dataset_info("lsun"), atlas.row("dataset-lsun").values
    with TemporaryDirectory() as name:
        pixels = save_picture(Path(name) / "kitchen" / "1.png", seed)
        save_picture(Path(name) / "tower" / "1.png", seed + 1, (40, 40))
        small, full_size = load_lsun(name, resize=(16, 16)), load_lsun(name, resize=(20, 30))
        save_picture(Path(name) / "chicken" / "1.png", seed)
        unknown = raises(ValueError, lambda: load_lsun(name), match="'chicken' is unknown")
    return every(
        sizes=equal(
            [len(facts["categories"]), *facts["train_per_category"], facts["validation_per_category"],
             facts["test_per_category"]],
            values["sizes"],
        ),
        shape=equal(small.images.shape, (2, 16, 16, 3)),
        labels=equal([small.classes[k] for k in small.labels], ["kitchen", "tower"]),
        pixels=equal(full_size[0][0], pixels),
        unknown=unknown,
    )  # fmt: skip


CUBE = """# a cube of side 2
v -1 -1 -1
v 1 -1 -1
v 1 1 -1
v -1 1 -1
v -1 -1 1
v 1 -1 1
v 1 1 1
v -1 1 1
f 1 2 3 4
f 5/1 6/2 7/3 8/4
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f -5 -8 -4 -1
"""


@claim("dataset-shapenet")
def meshes_and_their_views(seed: int) -> Verdict:
    subsets, values = dataset_info("shapenet")["subsets"], atlas.row("dataset-shapenet").values
    cloud = np.random.default_rng(seed).normal(size=(50, 3))
    bare = Mesh(cloud, np.empty((0, 3), dtype=int))
    with TemporaryDirectory() as name:
        path = Path(name) / "cube.obj"
        path.write_text(CUBE)
        cube = read_mesh(path)
        lines = ["OFF", "50 1 0", *(" ".join(map(str, row)) for row in cloud.tolist()), "3 0 1 2"]
        (Path(name) / "cloud.off").write_text("\n".join(lines))
        points = read_mesh(Path(name) / "cloud.off")
        path.write_text("v 0 0 0\nf 1 2 3\n")
        dangling = raises(ValueError, lambda: read_mesh(path), match="faces must join vertices from 0 to 0")
    front = render(cube, 32, azimuth=0.0, elevation=0.0)
    area = float((front > 0).mean())
    triangles = cube.vertices[cube.faces]
    surface = np.linalg.norm(
        np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1
    ).sum()
    return every(
        card=equal([[subsets[s]["categories"], subsets[s]["models"]] for s in ("core", "sem")], values["subsets"]),
        corners=equal((len(cube.vertices), len(cube.faces)), (8, 12)),
        surface=near(float(surface) / 2, 24.0, tolerance=1e-12),
        cloud=near(points.vertices, cloud, tolerance=0),
        square_from_the_front=near(area, 0.9**2, tolerance=0.08),
        three_sides_otherwise=above(len(np.unique(render(cube, 32).round(6))) - 1, 2),
        points_without_faces=below(float((render(bare, 32) > 0).mean()), 50 / 32**2 + 1e-9),
        dangling=dangling,
    )


@claim("dataset-laion")
def images_beside_their_captions(seed: int) -> Verdict:
    facts = dataset_info("laion")
    with TemporaryDirectory() as name:
        folder = Path(name)
        pixels = save_picture(folder / "00000" / "a.png", seed)
        save_picture(folder / "00000" / "b.jpg", seed + 1)
        for stem, caption in (("a", "a red door\n"), ("b", "zwei Hühner im Hof")):
            (folder / "00000" / f"{stem}.txt").write_text(caption, encoding="utf-8")
        dataset = read_captioned_images(folder, resize=None)
        (folder / "00000" / "b.txt").unlink()
        missing = raises(ValueError, lambda: read_captioned_images(folder), match="needs its caption in b.txt")
    return every(
        card=equal(sorted(set(facts) & {"origin", "sizes", "license", "ethics", "access"}),
                   ["access", "ethics", "license", "origin", "sizes"]),
        german_non_profit=equal("German non-profit" in facts["origin"], True),
        used_for=equal(facts["used_for"], ("Stable Diffusion", "Imagen")),
        pairs=equal((dataset[0][1], dataset[1][1], len(dataset)), ("a red door", "zwei Hühner im Hof", 2)),
        image=equal(dataset[0][0], pixels),
        missing=missing,
        unknown=raises(ValueError, lambda: dataset_info("laion-6b"), match="name must be one of"),
    )  # fmt: skip
