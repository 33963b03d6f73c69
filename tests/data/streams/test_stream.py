"""Streams of files and frames: the rows of the table, in blocks that depend on the data alone, and errors that name
the file."""

import gzip
import os
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import margin
from margin.core import row_sample
from margin.data.streams import sources


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    n = 3_000
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "rooms": rng.integers(1, 9, n),
            "town": rng.choice(["Ulm", "Bonn", None], n),
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "new": rng.random(n) < 0.3,
            "price": rng.normal(size=n),
        }
    )


WRITERS = {
    "parquet": lambda frame, path: frame.to_parquet(path, row_group_size=137),
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "feather": lambda frame, path: pa.feather.write_feather(pa.Table.from_pandas(frame, preserve_index=False), path),
}


def write(folder, table, suffix, files=4):
    bounds = np.linspace(0, len(table), files + 1).astype(int)
    for i, (low, high) in enumerate(pairwise(bounds)):
        WRITERS[suffix](table.iloc[low:high], folder / f"part-{i:02}.{suffix}")
    return folder


def rows_of(stream):
    blocks = list(stream)
    return pd.concat([block.X for block in blocks], ignore_index=True), np.concatenate([block.y for block in blocks])


@pytest.mark.parametrize("suffix", WRITERS)
def test_the_rows_of_all_formats_are_those_of_the_table(tmp_path, table, suffix, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_ROWS", 200)
    stream = margin.stream(write(tmp_path, table, suffix), "price")
    X, y = rows_of(stream)
    assert stream.kinds == {"size": "number", "rooms": "number", "town": "category", "sold": "date", "new": "flag",
                            "price": "number"}  # fmt: skip
    np.testing.assert_allclose(X["size"], table["size"], rtol=1e-15)
    np.testing.assert_array_equal(X["rooms"], table["rooms"])
    np.testing.assert_array_equal(X["town"].isna(), table["town"].isna())
    np.testing.assert_array_equal(X["town"].dropna(), table["town"].dropna())
    np.testing.assert_array_equal(X["sold"].to_numpy("datetime64[us]"), table["sold"].to_numpy("datetime64[us]"))
    np.testing.assert_array_equal(X["new"].to_numpy(bool), table["new"])
    np.testing.assert_allclose(y, table["price"], rtol=1e-15)
    assert stream.n_rows == len(table)


def test_blocks_do_not_depend_on_how_the_bytes_arrive(tmp_path, table, monkeypatch):
    from margin.data.streams import table_stream, text_rows

    monkeypatch.setattr(table_stream, "BLOCK_ROWS", 100)
    folder = write(tmp_path, table, "csv", files=1)
    sizes = [len(block.X) for block in margin.stream(folder, "price")]
    monkeypatch.setattr(text_rows, "PARSED_BYTES", 5_000)
    assert [len(block.X) for block in margin.stream(folder, "price")] == sizes == [100] * 30


def test_a_folder_a_pattern_a_list_and_frames_are_the_same_rows(tmp_path, table):
    folder = write(tmp_path, table, "parquet")
    files = sorted(folder.iterdir())
    frames = [pd.read_parquet(file) for file in files]
    ways = [folder, str(folder / "*.parquet"), files, frames, lambda: iter(frames)]
    prices = [rows_of(margin.stream(way, "price"))[1] for way in ways]
    assert all(np.array_equal(price, prices[0]) for price in prices)


def test_folders_such_as_year_2025_are_columns(tmp_path, table):
    for year in (2024, 2025):
        (tmp_path / f"year={year}").mkdir()
        table[:50].to_parquet(tmp_path / f"year={year}" / "rows.parquet")
    X, _ = rows_of(margin.stream(tmp_path, "price"))
    np.testing.assert_array_equal(X["year"], np.repeat([2024.0, 2025.0], 50))


def test_a_sample_is_the_same_for_a_seed_and_has_no_row_twice(table, monkeypatch):
    from margin.data.streams import table_stream

    monkeypatch.setattr(table_stream, "BLOCK_ROWS", 90)
    table = table.assign(number=np.arange(len(table)))
    stream = margin.stream([table[:1_000], table[1_000:]], "price")
    first, again, other = (stream.sample(400, seed).X["number"].to_numpy() for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(first) == 400
    assert np.all(np.diff(first) > 0)
    assert abs(first.mean() - 1_500) < 5 * 866 / np.sqrt(400)
    assert len(stream.sample(10_000).X) == len(table)


@pytest.mark.parametrize(("cuts", "passes"), [(range(100, 3_000, 100), 1), (range(10, 200, 10), 2)])
def test_parts_send_few_rows_of_a_sample_and_the_sample_does_not_depend_on_it(table, cuts, passes, monkeypatch):
    """Of parts of one size each sends its share a few times; of very uneven ones a second pass asks for more."""
    frames = [table[low:high] for low, high in pairwise([0, *cuts, len(table)])]
    sent = []

    class Counting:
        def map(self, function, parts):
            found = list(map(function, parts))
            sent.append(max(len(one.keys) for one in found))
            return found

    stream = margin.stream(frames, "price", columns=["size"])
    some = stream.on(Counting()).sample(500, 3)
    assert len(sent) == passes
    assert sent[0] <= 4 * 500 // len(frames) < 500
    monkeypatch.setattr(row_sample, "SLACK", 10**9)
    pd.testing.assert_frame_equal(stream.sample(500, 3).X, some.X)


def test_the_hash_follows_the_content(tmp_path, table):
    stream = margin.stream(write(tmp_path, table, "parquet"), "price")
    assert stream.hash() == margin.stream(tmp_path, "price").hash() != margin.stream(tmp_path, "size").hash()
    assert len(stream.file_hashes) == 4
    WRITERS["parquet"](table[:7], tmp_path / "part-03.parquet")
    assert margin.stream(tmp_path, "price").hash() != stream.hash()


def test_only_wanted_columns_are_read(tmp_path, table):
    stream = margin.stream(write(tmp_path, table, "parquet"), "price", columns=["rooms"], kinds={"rooms": "category"})
    X, _ = rows_of(stream)
    assert list(X.columns) == ["rooms"]
    assert set(X["rooms"]) == set(map(str, range(1, 9)))


def test_a_file_of_another_schema_is_named(tmp_path, table):
    write(tmp_path, table, "parquet", files=20)
    table.rename(columns={"rooms": "Rooms"})[:50].to_parquet(tmp_path / "part-07.parquet")
    with pytest.raises(ValueError, match=r"part-07\.parquet: lacks the column 'rooms'"):
        margin.stream(tmp_path, "price")


def test_a_column_that_changes_its_kind_is_named_with_its_file(tmp_path, table):
    write(tmp_path, table, "parquet", files=20)
    table.assign(size="tall")[:50].to_parquet(tmp_path / "part-07.parquet")
    with pytest.raises(ValueError, match=r"part-07\.parquet: column 'size' holds strings here, and numbers in "):
        margin.stream(tmp_path, "price")


def test_a_word_among_numbers_far_into_a_text_file_is_named(tmp_path, table):
    write(tmp_path, table, "csv", files=20)
    late = table[:3_000].astype({"size": object})
    late.loc[2_990, "size"] = "tall"
    late.to_csv(tmp_path / "part-07.csv", index=False)
    stream = margin.stream(tmp_path, "price")
    with pytest.raises(ValueError, match=r"part-07\.csv: .*size.*tall|part-07\.csv: .*invalid value 'tall'"):
        rows_of(stream)


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_a_truncated_file_is_named(tmp_path, table, suffix):
    write(tmp_path, table, suffix)
    cut = tmp_path / f"part-02.{suffix}"
    cut.write_bytes(cut.read_bytes()[:-1000])
    with pytest.raises(ValueError, match=rf"part-02\.{suffix}: is not a readable"):
        rows_of(margin.stream(tmp_path, "price"))


def test_a_file_that_vanishes_is_named(tmp_path, table):
    stream = margin.stream(write(tmp_path, table, "parquet"), "price")
    (tmp_path / "part-01.parquet").unlink()
    with pytest.raises(ValueError, match=r"part-01\.parquet: the file is no longer there"):
        rows_of(stream)


def test_a_missing_target_and_an_unknown_column_are_named(tmp_path, table):
    write(tmp_path, table, "parquet")
    table[:10].assign(price=[1.0, np.nan] * 5).to_parquet(tmp_path / "part-03.parquet")
    with pytest.raises(ValueError, match=r"part-03\.parquet: the target 'price' is missing in 5 of 10 rows"):
        margin.LinearRegression().fit(margin.stream(tmp_path, "price", columns=["size"]))
    with pytest.raises(ValueError, match=r"there is no column 'prize'.*'price'"):
        margin.stream(tmp_path, "prize")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("nowhere/*.parquet", "names no file"),
        ("nowhere.csv", "there is no file 'nowhere.csv'"),
        ([], "there are no rows"),
        (iter([pd.DataFrame({"x": [1.0]})]), "an iterator can be read once"),
        (pd.DataFrame({"x": [1.0]}), "source must be a path"),
        ([1, 2], "must be a frame of pandas"),
    ],
)
def test_what_is_no_stream_is_refused_in_a_sentence(source, sentence):
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=sentence):
        margin.stream(source)


def test_files_of_two_formats_are_refused(tmp_path, table):
    write(tmp_path, table, "parquet")
    write(tmp_path, table, "csv")
    with pytest.raises(ValueError, match="files must be of one format"):
        margin.stream(tmp_path)


def test_a_dask_frame_is_a_stream(table):
    frames = pytest.importorskip("dask.dataframe")
    stream = margin.stream(frames.from_pandas(table.drop(columns=["town", "new"]), npartitions=3), "price")
    np.testing.assert_array_equal(rows_of(stream)[1], table["price"])
    assert len(stream.parts) == 3


@pytest.fixture
def two_files(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("x,y\n1,2\n3,4\n")
    return tmp_path


def n_rows(source):
    return sum(len(block.X) for block in margin.stream(str(source), "y"))


def test_a_header_whose_line_does_not_end_is_a_file_without_rows(two_files):
    (two_files / "c.csv").write_text("x,y")
    assert n_rows(two_files / "*.csv") == 4


def test_a_folder_with_an_underscore_that_the_pattern_names_is_read(two_files):
    hidden = two_files / "_rows"
    hidden.mkdir()
    (two_files / "a.csv").rename(hidden / "a.csv")
    assert n_rows(hidden / "*.csv") == 2
    assert n_rows(two_files / "**" / "*.csv") == 2  # but a pattern does not go there by itself


def test_a_suffix_in_capitals_is_unpacked(two_files):
    (two_files / "c.CSV.GZ").write_bytes(gzip.compress(b"x,y\n5,6\n"))
    assert n_rows(two_files / "*.[cC]*") == 5


def test_a_link_to_the_folder_above_repeats_no_rows(two_files):
    (two_files / "loop").symlink_to(two_files)
    assert n_rows(two_files / "**" / "*.csv") == 4


@pytest.mark.parametrize("pattern", ["", "*.csv"])
def test_a_link_that_leads_nowhere_is_not_passed_over(two_files, pattern):
    (two_files / "c.csv").symlink_to("/nowhere/c.csv")
    with pytest.raises(FileNotFoundError, match=r"c\.csv' is a link to '/nowhere/c\.csv', which is not there"):
        n_rows(two_files / pattern)


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux has names of any bytes.")
def test_a_name_that_is_not_utf_8_is_refused_in_a_sentence_that_can_be_printed(two_files):
    (two_files / "a.csv").rename(os.fsdecode(os.fsencode(two_files) + b"/\xff.csv"))
    with pytest.raises(ValueError, match="is not UTF-8") as refused:
        n_rows(two_files / "*.csv")
    str(refused.value).encode()


def test_a_column_too_many_is_refused_in_any_file(tmp_path):
    for i in range(20):
        (tmp_path / f"{i:02}.csv").write_text("x,y\n1,2\n" if i != 9 else "x,y,z\n1,2,3\n")
    assert 9 not in np.linspace(0, 19, 16).astype(int)  # no row of this file is judged
    with pytest.raises(ValueError, match=r"09\.csv: has the column 'z', unlike .*00\.csv"):
        margin.stream(str(tmp_path / "*.csv"), "y")
