"""Facts about large sets, readers for their files, and meshes."""

import numpy as np
import pytest

from margin.data.cards import CARDS, dataset_info
from margin.data.labeled_images import load_cifar100, load_lsun, read_captioned_images
from margin.data.meshes import Mesh, read_mesh, render


def test_every_card_says_where_to_get_it():
    assert {"cifar10", "cifar100", "imagenet", "laion", "lsun", "shapenet"} <= set(CARDS)
    assert all(card["access"].startswith("https://") for card in CARDS.values())
    assert list(dataset_info("cifar100")["classes"]) == sorted(dataset_info("cifar100")["classes"])
    with pytest.raises(ValueError, match=r"dataset_info: name must be one of .*; got 'cifar'"):
        dataset_info("cifar")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda folder: load_cifar100(folder, "valid"), ValueError, "subset must be 'train' or 'test'; got 'valid'"),
        (lambda folder: load_cifar100(folder), FileNotFoundError, "CIFAR-100's binary version"),
        (lambda folder: load_lsun(folder), ValueError, "has no subfolders"),
        (lambda folder: read_captioned_images(folder), ValueError, "holds no pictures"),
        (lambda folder: read_mesh(folder / "shape.stl"), ValueError, "must be one of .obj, .off"),
    ],
)
def test_wrong_files_are_named(call, error, message, tmp_path):
    with pytest.raises(error, match=message):
        call(tmp_path)


def test_classes_out_of_range_are_refused(tmp_path):
    record = np.zeros(3074, dtype=np.uint8)
    record[1] = 100
    record.tofile(tmp_path / "train.bin")
    with pytest.raises(ValueError, match="classes must be from 0 to 99; got 100"):
        load_cifar100(tmp_path)


@pytest.mark.parametrize("text", ["NOFF\n1 0 0\n0 0 0\n", "OFF\n2 0 0\n0 0 0\n1 x 1\n", "OFF\n1 1 0\n0 0 0\n3 0 1 2\n"])
def test_damaged_meshes_are_named(text, tmp_path):
    path = tmp_path / "shape.off"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"shape\.off: is no mesh: "):
        read_mesh(path)


def test_what_is_before_hides_what_is_behind():
    near, far = [[-1, -1, 1], [1, -1, 1], [0, 1, 1]], [[-1, -1, 0], [1, -1, 0.5], [0, 1, 0]]  # tilted: another shade
    views = [render(Mesh([*first, *second], [[0, 1, 2], [3, 4, 5]]), 24, azimuth=0, elevation=0)
             for first, second in ((near, far), (far, near))]  # fmt: skip
    np.testing.assert_array_equal(*views)
    assert set(np.unique(views[0])) == {0.0, 1.0}


def test_a_view_turns_with_the_shape():
    rng = np.random.default_rng(0)
    cloud = Mesh(rng.normal(size=(40, 3)), [])
    quarter = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # about the vertical axis
    turned = Mesh(cloud.vertices @ quarter.T, [])
    np.testing.assert_array_equal(
        render(cloud, 32, azimuth=np.pi / 2, elevation=0), render(turned, 32, azimuth=0.0, elevation=0)
    )
