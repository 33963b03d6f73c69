"""Folders of pictures: classes, unreadable files, sizes, memory maps; CIFAR-10's files."""

import numpy as np
import pytest
from PIL import Image

from margin.data.image_folder import open_image_folder, read_images
from margin.data.image_sets import image_set_info, load_cifar10


@pytest.fixture
def folder(tmp_path):
    for name, shade in (("cats", 10), ("dogs", 200)):
        (tmp_path / name).mkdir()
        for k in range(3):
            Image.fromarray(np.full((6, 5, 3), shade + k, dtype=np.uint8)).save(tmp_path / name / f"{k}.png")
    return tmp_path


def test_classes_are_the_subfolders(folder):
    read = open_image_folder(folder)
    assert read.classes == ("cats", "dogs")
    assert read.images.shape == (6, 6, 5, 3)
    assert read.images.dtype == np.uint8
    assert read.labels.tolist() == ["cats"] * 3 + ["dogs"] * 3
    assert open_image_folder(folder, color="gray").images.shape == (6, 6, 5)


def test_a_memory_map_holds_the_same(folder, tmp_path):
    plain = open_image_folder(folder).images
    mapped = open_image_folder(folder, memory_map=tmp_path / "images.npy").images
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped, plain)


def test_an_unreadable_file_is_named_or_skipped(folder):
    (folder / "cats" / "bad.jpg").write_bytes(b"not a picture")
    with pytest.raises(ValueError, match=r"bad.jpg: cannot be read as a picture .* unreadable='skip'"):
        open_image_folder(folder)
    read = open_image_folder(folder, unreadable="skip")
    assert len(read.images) == len(read.files) == len(read.labels) == 6
    assert "bad.jpg" in read.skipped[0]


def test_mixed_sizes_need_resize(folder):
    Image.fromarray(np.zeros((4, 4, 3), dtype=np.uint8)).save(folder / "dogs" / "x.png")
    with pytest.raises(ValueError, match=r"must all have one size unless resize is given; .* 6 x 5 .* 4 x 4"):
        open_image_folder(folder)
    assert open_image_folder(folder, resize=(7, 9)).images.shape == (7, 7, 9, 3)


def test_wrong_folders_and_options(folder, tmp_path):
    with pytest.raises(ValueError, match=r"class 'dogs' is unknown; the classes are cats"):
        open_image_folder(folder, classes=["cats"])
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        open_image_folder(folder / "cats" / "0.png")
    with pytest.raises(ValueError, match="at least one picture"):
        read_images([])
    with pytest.raises(ValueError, match="unreadable must be"):
        read_images([folder / "cats" / "0.png"], unreadable="ignore")
    with pytest.raises(ValueError, match="two positive numbers"):
        read_images([folder / "cats" / "0.png"], resize=(0, 3))
    (folder / "birds").mkdir()
    with pytest.raises(ValueError, match="class folder 'birds' holds no pictures"):
        open_image_folder(folder)


def test_cifar_files_are_checked(tmp_path):
    with pytest.raises(FileNotFoundError, match="binary version"):
        load_cifar10(tmp_path)
    record = np.zeros(3073, dtype=np.uint8)
    record[0] = 11
    record.tofile(tmp_path / "test_batch.bin")
    with pytest.raises(ValueError, match="classes must be from 0 to 9; got 11"):
        load_cifar10(tmp_path, "test")
    with pytest.raises(ValueError, match="name must be one of cifar10, imagenet"):
        image_set_info("mnist-c")
