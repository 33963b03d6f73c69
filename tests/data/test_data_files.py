"""IDX files, pictures, plain text, and the sets below MARGIN_DATA, on small files made here."""

import gzip
import struct

import numpy as np
import pytest
from PIL import Image

from margin.data import Table, load, names, read_image, read_image_folder, read_lines, read_text
from margin.data.files import FILE_TABLES
from margin.data.idx import read_idx


def idx(array, code):
    return struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape) + array.tobytes()


@pytest.mark.parametrize(
    ("code", "kind"), [(0x08, ">u1"), (0x09, ">i1"), (0x0B, ">i2"), (0x0C, ">i4"), (0x0D, ">f4"), (0x0E, ">f8")]
)
@pytest.mark.parametrize("compress", [False, True])
def test_idx_round_trip(tmp_path, code, kind, compress):
    array = np.arange(24).reshape(2, 3, 4).astype(kind)
    data = idx(array, code)
    (tmp_path / "a").write_bytes(gzip.compress(data) if compress else data)
    found = read_idx(tmp_path / "a")
    np.testing.assert_array_equal(found, array)
    assert found.dtype == np.dtype(kind).newbyteorder("=")
    assert found.flags.writeable


GOOD = idx(np.zeros((2, 2), dtype=np.uint8), 0x08)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not an IDX file; it begins with nothing"),
        (b"\x00\x01" + GOOD[2:], "not an IDX file; it begins with 00 01 08 02"),
        (b"\x00\x00\x07" + GOOD[3:], "not an IDX file"),
        (b"\x00\x00\x08\x00", "not an IDX file"),
        (GOOD[:9], "is cut off"),
        (GOOD[:-1], r"shape \(2, 2\) needs 4 bytes of values; the file has 3"),
        (GOOD + b"x", "the file has 5"),
        (gzip.compress(GOOD, mtime=0)[:-3], "not a complete gzip file"),
    ],
)
def test_broken_idx(tmp_path, data, words):
    path = tmp_path / "broken-idx"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=words) as caught:
        read_idx(path)
    assert str(caught.value).startswith(str(path))


@pytest.fixture
def pictures(tmp_path):
    for name, color in (("dogs", (255, 0, 0)), ("cats", (0, 255, 0))):
        (tmp_path / name).mkdir()
        for i in range(2):
            Image.new("RGB", (6, 4), color).save(tmp_path / name / f"{i}.png")
    (tmp_path / "cats" / "notes.txt").write_text("no picture")
    return tmp_path


def test_image_folder(pictures):
    data = read_image_folder(pictures, size=(3, 5))
    assert data.target_names == ("cats", "dogs")
    assert data.y.tolist() == [0, 0, 1, 1]
    assert data.image_shape == (3, 5, 3)
    assert data.X.dtype == np.float32
    np.testing.assert_array_equal(data.X[0].reshape(3, 5, 3)[1, 2], [0, 1, 0])
    gray = read_image_folder(pictures, size=(4, 6), color="gray")
    assert gray.image_shape == (4, 6)
    assert gray.X[2].max() == pytest.approx(76 / 255)  # the luma of pure red: 0.299


def test_images_keep_their_size_unless_asked(pictures):
    assert read_image(pictures / "dogs" / "0.png").shape == (4, 6, 3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda p: read_image(p / "none.png"), FileNotFoundError, "no such file"),
        (lambda p: read_image(p / "cats" / "notes.txt"), ValueError, "cannot be read as a picture"),
        (lambda p: read_image(p / "cats" / "0.png", color="blue"), ValueError, "'gray' or 'rgb'"),
        (lambda p: read_image(p / "cats" / "0.png", size=(0, 3)), ValueError, "two positive numbers"),
        (lambda p: read_image_folder(p / "none"), NotADirectoryError, "not a folder"),
        (lambda p: read_image_folder(p / "cats"), ValueError, "has no subfolders"),
    ],
)
def test_bad_pictures(pictures, call, error, words):
    with pytest.raises(error, match=words):
        call(pictures)


def test_a_class_without_pictures_and_a_cut_off_picture(pictures):
    data = (pictures / "cats" / "0.png").read_bytes()
    (pictures / "cats" / "0.png").write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match="cannot be read as a picture"):
        read_image_folder(pictures)
    (pictures / "eels").mkdir()
    with pytest.raises(ValueError, match="class folder 'eels' holds no pictures"):
        read_image_folder(pictures)


def test_text(tmp_path):
    path = tmp_path / "t.txt"
    for content in (
        "Größe\r\nzwei\n".encode(),
        "Größe\nzwei\n".encode("utf-16"),
        gzip.compress("Größe\nzwei\n".encode(), mtime=0),
    ):
        path.write_bytes(content)
        assert read_text(path) == "Größe\nzwei\n"
        assert read_lines(path) == ["Größe", "zwei"]
    path.write_text("")
    assert read_lines(path) == []
    path.write_bytes(b"\x00\x01\x02\x00" * 20)
    with pytest.raises(ValueError, match="cannot be read as text"):
        read_text(path)
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_text(tmp_path / "none")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_text(tmp_path)


@pytest.mark.parametrize("name", names("files"))
def test_sets_on_file_say_what_is_missing(name, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"MARGIN_DATA is not set; set it to the folder that holds .*/.*\."):
        load(name)
    monkeypatch.setenv("MARGIN_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=rf"MARGIN_DATA is {tmp_path}, and there is no \S+/\S+ in it\."):
        load(name)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MARGIN_DATA", str(tmp_path))
    (tmp_path / "tables").mkdir()
    return tmp_path


def test_adult_joins_train_and_test(folder):
    row = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Own, White, Male, 2174, 0, 40, Cuba, "
    (folder / "tables" / "adult-train.csv").write_text(f"{row}<=50K\n{row.replace('State-gov', '?')}>50K\n\n")
    (folder / "tables" / "adult-test.csv").write_text(f"{row}>50K.\n")
    adult = load("adult")
    assert isinstance(adult.X, Table)
    assert adult.y.tolist() == [0, 1, 1]
    assert adult.target_names == ("<=50K", ">50K")
    assert [part.tolist() for part in adult.split] == [[0, 1], [2]]
    assert adult.X["workclass"].tolist() == ["State-gov", None, "State-gov"]
    assert adult.table()["income"].tolist() == ["<=50K", ">50K", ">50K"]
    (folder / "tables" / "adult-test.csv").write_text(f"{row}rich\n")
    with pytest.raises(ValueError, match="income holds 'rich', which is not a known class"):
        load("adult")


def test_tables_with_and_without_header(folder):
    (folder / "tables" / "titanic.csv").write_text(
        "PassengerId,Survived,Pclass,Name,Sex,Age,Fare\n"
        '1,0,3,"Braund, Mr. Owen",male,22,7.25\n2,1,1,"Heikkinen, Miss",female,,71.3\n'
    )
    titanic = load("titanic")
    assert titanic.feature_names == ("Pclass", "Name", "Sex", "Age", "Fare")
    assert titanic.table()["Survived"].tolist() == ["died", "survived"]
    assert titanic.X.missing()["Age"] == 1
    (folder / "tables" / "mammography.csv").write_text("1,2,3,4,5,6,'-1'\n1,2,3,4,5,6,'1'\n")
    mammography = load("mammography")
    assert mammography.X.shape == (2, 6)  # numbers only: an array
    assert mammography.y.tolist() == [0, 1]
    codes = ["2", "1", "530101", "38.50"] + ["3"] * 18 + ["2", "2", "11300", "00000", "00000", "2"]
    (folder / "tables" / "horse-colic.csv").write_text(",".join(codes) + "\n" + ",".join(["?", *codes[1:]]) + "\n")
    horses = load("horse-colic")
    assert horses.target_names == ("yes", "no")
    assert horses.y.tolist() == [1, 1]
    assert horses.X["surgery"].tolist() == ["2", None]
    assert "outcome" not in horses.feature_names
    (folder / "tables" / "abalone.csv").write_text("M,1,1,1,1,1,1,1\n")
    with pytest.raises(ValueError, match="names has 9 entries for 8 columns"):
        load("abalone")


def test_every_file_table_has_a_consistent_description():
    for name, source in FILE_TABLES.items():
        if source.columns is not None:
            assert len(set(source.columns)) == len(source.columns), name
            assert {source.target, *source.codes, *source.omitted} <= set(source.columns), name
        assert (source.task == "classification") == bool(source.classes), name


def test_mnist(folder):
    (folder / "mnist").mkdir()
    for stem, n in (("train", 3), ("t10k", 2)):
        pixels = np.full((n, 28, 28), 255, dtype=np.uint8)
        (folder / "mnist" / f"{stem}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(pixels, 0x08)))
        (folder / "mnist" / f"{stem}-labels-idx1-ubyte").write_bytes(idx(np.arange(n, dtype=np.uint8), 0x08))
    digits = load("mnist")
    assert digits.X.shape == (5, 784)
    assert digits.X.dtype == np.float32
    assert digits.X.max() == 1
    assert digits.y.tolist() == [0, 1, 2, 0, 1]
    assert [part.tolist() for part in digits.split] == [[0, 1, 2], [3, 4]]
    assert len(load("mnist", subset="test")) == 2
    with pytest.raises(ValueError, match="subset must be"):
        load("mnist", subset="validation")
    (folder / "mnist" / "t10k-labels-idx1-ubyte").write_bytes(idx(np.zeros(7, dtype=np.uint8), 0x08))
    with pytest.raises(ValueError, match="and 7 labels"):
        load("mnist")


def test_messages(folder):
    (folder / "text").mkdir()
    (folder / "text" / "sms.tsv").write_text('ham\tOk lar\nspam\t"Win now\nham\tYes\n')
    messages = load("sms-spam")
    assert messages.y.tolist() == [0, 1, 0]
    assert messages.X.kinds["message"] == "text"
    assert messages.X["message"][1] == '"Win now'
