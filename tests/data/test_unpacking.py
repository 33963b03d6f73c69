"""Small files that become large: bounded by ratio and by size before the memory is taken, with an option for more."""

import bz2
import gzip
import io
import lzma
import random
import re
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import feather, parquet

from margin.data import read
from margin.data.box_files import read_voc
from margin.data.idx import read_idx
from margin.data.images import read_image
from margin.data.texts import read_text
from margin.data.unpacking import LARGEST, MOST_TIMES, SMALL, Allowance, allow_unpacking, unpack
from margin.graphical.bif import read_bif

ROWS = b"a,b\n" + b"1,2\n" * 40_000_000  # 160 MB, which gzip packs a thousandfold


def zipped(content, name="t.csv"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


PACK = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zip": zipped}


@pytest.fixture
def tight(monkeypatch):
    """Limits that a test can afford to reach."""
    monkeypatch.setattr("margin.data.unpacking.SMALL", 2_000_000)


@pytest.mark.parametrize("suffix", PACK)
def test_a_small_file_that_becomes_large_is_refused_before_it_does(suffix, tmp_path, tight):
    path = tmp_path / f"t.csv.{suffix}"
    path.write_bytes(PACK[suffix](ROWS[:40_000_000]))
    packed = path.stat().st_size
    tracemalloc.start()
    with pytest.raises(ValueError, match=rf"t.csv.{suffix}: it unpacks to more than \d+ MB \({packed} bytes do\)"):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * max(2_000_000, MOST_TIMES * packed) + 10**7


@pytest.mark.parametrize("suffix", PACK)
def test_what_is_packed_comes_out_whole_and_more_is_allowed_on_request(suffix, tmp_path, tight):
    content = ROWS[: 4 + 4 * 1_000_000]
    path = tmp_path / f"t.csv.{suffix}"
    path.write_bytes(PACK[suffix](content))
    assert len(read(path, max_unpacked=5_000_000)) == 1_000_000
    with pytest.raises(ValueError, match="max_unpacked must be larger"):
        read(path, max_unpacked=3_000_000)


def test_limits_of_a_file():
    assert Allowance(1000).limit == SMALL
    assert Allowance(2_000_000).limit == MOST_TIMES * 2_000_000
    assert Allowance(10**9).limit == LARGEST
    with allow_unpacking(7):
        assert Allowance(10**9).limit == 7


@pytest.mark.parametrize(("kind", "pack"), [("gzip", gzip.compress), ("bzip2", bz2.compress), ("xz", lzma.compress)])
def test_streams_one_after_another_are_one_file(kind, pack):
    parts = [random.Random(i).randbytes(3_000_000) for i in range(2)]
    assert unpack(pack(parts[0]) + pack(parts[1]), kind, Allowance(1)) == b"".join(parts)
    with pytest.raises((EOFError, OSError)):
        unpack(pack(parts[0])[:-20], kind, Allowance(1))


def test_files_packed_again_and_again_share_one_limit(tmp_path, tight):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(gzip.compress(gzip.compress(ROWS))))
    with pytest.raises(ValueError, match=r"t.csv.gz: it unpacks to more than 2 MB"):
        read(tmp_path / "t.csv.gz")


@pytest.mark.parametrize("name", [".", "..", "/", "./"])
def test_archives_with_members_without_a_name(name, tmp_path):
    (tmp_path / "t.zip").write_bytes(zipped(b"a,b\n1,2\n", name))
    with pytest.raises(ValueError, match=r"t.zip: the archive holds no files"):
        read(tmp_path / "t.zip")


def test_a_picture_of_many_pixels_in_a_small_file(tmp_path, tight):
    path = tmp_path / "blank.png"
    Image.new("L", (4000, 3000)).save(path)
    with pytest.raises(ValueError, match=r"blank.png: cannot be read as a picture \(it unpacks to more than"):
        read_image(path)
    with allow_unpacking(4000 * 3000 * 3):
        assert read_image(path).shape == (3000, 4000, 3)
    assert read_image(path, color="gray", size=(3, 4)).shape == (3, 4) if path.stat().st_size > 48_000 else True


def test_packed_arrays_texts_and_networks_have_the_same_limit(tmp_path, tight):
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(bytes(30_000_000)))
    for reader in (read_idx, read_text, read_bif):
        with pytest.raises(ValueError, match=r"f\.gz.*unpacks to more than"):
            reader(path)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00",
        b"<annotation><object><name>a</name><bndbox><xmin>x</xmin><ymin>1</ymin><xmax>2</xmax><ymax>3</ymax></bndbox>"
        b"</object></annotation>",
    ],
)
def test_annotations_that_cannot_be_read_are_a_sentence(content, tmp_path):
    (tmp_path / "a.xml").write_bytes(content)
    with pytest.raises(ValueError, match=r"read_voc: .*a\.xml"):
        read_voc(tmp_path / "a.xml")


def copies(n=200_000, text="x" * 500):
    """A table of one text, n times, as its codes."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([text]))


def as_parquet(path, table, **options):
    parquet.write_table(table, path, compression="zstd", store_schema=False, **options)


def as_arrow(path, table):
    feather.write_feather(table, path, compression="zstd")


@pytest.mark.parametrize(
    ("name", "write", "columns"),
    [
        ("numbers.parquet", as_parquet, {"a": np.zeros(600_000)}),
        ("texts.parquet", as_parquet, {"a": copies()}),
        ("lists.parquet", as_parquet, {"a": pa.ListArray.from_arrays(np.arange(0, 200_001, 100), copies())}),
        ("structs.parquet", as_parquet, {"a": pa.StructArray.from_arrays([copies()], ["b"])}),
        (
            "prefixes.parquet",
            lambda path, table: as_parquet(path, table, use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY"),
            {"a": copies().cast(pa.string())},
        ),
        ("zeros.arrow", as_arrow, {"a": np.zeros(600_000)}),
        ("codes.arrow", as_arrow, {"a": pa.array(["x" * 3_000_000]).dictionary_encode()}),
    ],
)  # fmt: skip
def test_columns_that_repeat_themselves_are_refused_before_they_are_there(name, write, columns, tmp_path, tight):
    path = tmp_path / name
    table = pa.table(columns)
    write(path, table)
    with pytest.raises(ValueError, match=rf"{name}: it unpacks to more than \d+ MB \({path.stat().st_size} bytes do\)"):
        read(path)
    if path.suffix == ".parquet":
        folder = tmp_path / "parts"
        folder.mkdir()
        path.rename(folder / name)
        with pytest.raises(ValueError, match=r"parts: it unpacks to more than"):
            read(folder)


@pytest.mark.parametrize("write", [as_parquet, as_arrow])
def test_columns_are_counted_as_they_are(write, tmp_path, tight):
    """What is allowed to the byte is read, and one byte less is not."""
    texts = [f"{i % 7:>300}" for i in range(4_000)]
    table = pa.table({"text": texts, "n": np.arange(4_000.0)})
    path = tmp_path / ("t.parquet" if write is as_parquet else "t.arrow")
    write(path, table)
    needed = 4_000 * (300 + 8 + 8) if write is as_parquet else 4_000 * (300 + 8) + 4_001 * 4
    assert len(read(path, max_unpacked=needed)) == 4_000
    with pytest.raises(ValueError, match="max_unpacked must be larger"):
        read(path, max_unpacked=needed - 1)


def test_labels_of_codes_are_there_once(tmp_path):
    path = tmp_path / "t.arrow"
    column = pa.chunked_array([copies(3, "long"), pa.array(["b", None, "long"]).dictionary_encode()])
    as_arrow(path, pa.table({"a": column}))
    labels = read(path)["a"]
    assert labels.tolist() == ["long", "long", "long", "b", None, "long"]
    assert labels[0] is labels[1]


def test_rows_of_json_that_name_columns_of_their_own(tmp_path, tight):
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(f'{{"a{i}": 1}}' for i in range(1_000)))
    with pytest.raises(ValueError, match=r"t.jsonl: it unpacks to more than \d+ MB"):
        read(path)
    assert len(read(path, max_unpacked=8 * 1_000**2)) == 1_000


def test_a_damaged_description_of_an_arrow_file_is_a_sentence(tmp_path):
    path = tmp_path / "t.arrow"
    as_arrow(path, pa.table({"a": np.arange(50.0)}))
    whole, chance = path.read_bytes(), random.Random(0)
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(bytes(damaged[: chance.choice([len(whole), chance.randrange(len(whole))])]))
        with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}: .*\.$"):
            read(path)
            raise ValueError(f"{path}: it is readable all the same.")
