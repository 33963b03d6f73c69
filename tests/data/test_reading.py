"""Reading files: dialects, encodings, headers, kinds, missing markers, and every way a file can be broken."""

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.data import Table, from_arrow, from_pandas, read
from margin.data.dialect import MISSING


def zipped(*names, content=b"a,b\n1,2\n"):
    """A zip archive of files that all hold the same."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def write(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends(write, delimiter, end):
    lines = [["age", "town"], ["25", "Ulm"], ["31.5", "Bonn"]]
    table = read(write(end.join(delimiter.join(line) for line in lines) + end))
    assert table.names == ("age", "town")
    assert table["age"].tolist() == [25, 31.5]
    assert table["town"].tolist() == ["Ulm", "Bonn"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"])
def test_encodings(write, encoding):
    table = read(write("größe,stadt\n1,Köln\n2,Málaga\n".encode(encoding)))
    assert table.names == ("größe", "stadt")
    assert table["stadt"].tolist() == ["Köln", "Málaga"]


def test_latin_1_where_windows_1252_has_no_character(write):
    assert read(write(b"a,b\n1,\x81\xe9\n"))["b"].tolist() == ["\x81é"]


def test_gzip(write):
    assert read(write(gzip.compress(b"a,b\n1,2\n"), "t.csv.gz"))["b"].tolist() == [2]
    assert read(write(gzip.compress(b"a\tb\n1\t2\n"), "T.TSV.GZ")).names == ("a", "b")


def test_quotes(write):
    table = read(write('name,said\n"Braund, Mr. Owen","he said ""no"""\n"two\nlines",x\n'))
    assert table["name"].tolist() == ["Braund, Mr. Owen", "two\nlines"]
    assert table["said"].tolist() == ['he said "no"', "x"]
    spaced = read(write('a, b, c\n1, "x, y", 2\n3, z, 4\n'))
    assert spaced["b"].tolist() == ["x, y", "z"]
    assert spaced["c"].tolist() == [2, 4]
    single = read(write("0.5,'-1'\n0.25,'1'\n"))
    assert single["column_2"].tolist() == [-1, 1]
    apostrophe = read(write("n,who\n1,O'Neil\n2,D'Arcy\n"))
    assert apostrophe["who"].tolist() == ["O'Neil", "D'Arcy"]
    header = read(write('"a\nb",c\n1,2\n'))
    assert header.names == ("a\nb", "c")


def test_plain_quotes_between_tabs(write):
    table = read(write('ham\tok\nspam\t"free\nham\tsays "hi"\nham\tyes\n', "sms.tsv"))
    assert table["column_2"].tolist() == ["ok", '"free', 'says "hi"', "yes"]
    enclosed = read(write('kind\tn\n"a\tb"\t1\nc\t2\n', "x.tsv"), header=True)
    assert enclosed["kind"].tolist() == ["a\tb", "c"]


def test_padding_is_removed(write):
    table = read(write("39, State-gov, 77516, <=50K\n50, ?, 83311, >50K\n\n"))
    assert table["column_2"].tolist() == ["State-gov", None]
    assert table["column_3"].tolist() == [77516, 83311]
    assert table["column_4"].tolist() == ["<=50K", ">50K"]


@pytest.mark.parametrize("marker", [marker for marker in MISSING if marker])
def test_missing_markers(write, marker):
    table = read(write(f"x,s,d,f\n1,a,2025-01-01,true\n{marker},{marker},{marker},{marker}\n"))
    assert dict(table.kinds) == {"x": "number", "s": "category", "d": "date", "f": "flag"}
    assert table.missing() == dict.fromkeys("xsdf", 1)
    assert table["s"][1] is None
    assert table["f"].tolist() == [True, None]


def test_a_column_without_values_is_numbers(write):
    table = read(write("a,b\n1,\n2,\n"))
    assert table.kinds["b"] == "number"
    assert table.missing()["b"] == 2


@pytest.mark.parametrize(
    ("values", "kind", "stored"),
    [
        (["1", "2"], "number", [1, 2]),
        (["1e3", "-.5"], "number", [1000, -0.5]),
        (["+4", "inf"], "number", [4, np.inf]),
        (["0", "-0.0"], "number", [0, 0]),
        (["02134", "10001"], "category", ["02134", "10001"]),
        (["9007199254740993", "1"], "category", ["9007199254740993", "1"]),
        (["1e300", "2e300"], "number", [1e300, 2e300]),
        (["True", "false"], "flag", [True, False]),
        (["yes", "no"], "category", ["yes", "no"]),
        (["none", "some"], "category", ["none", "some"]),
        (["1,5", "2"], "number", [1.5, 2]),
        (["$1,234.50", "-$7"], "number", [1234.5, -7]),
        (["1.234,50", "12,00"], "number", [1234.5, 12]),
        (["12 %", "7%"], "number", [12, 7]),
        (["(300)", "1,250"], "number", [-300, 1250]),
        (["72 kg", "80 kg"], "number", [72, 80]),
        (["72 kg", "80 lb"], "category", ["72 kg", "80 lb"]),
        (["5-10", "10-15"], "category", ["5-10", "10-15"]),
        (["1.2.3", "1.2.4"], "category", ["1.2.3", "1.2.4"]),
        (["03/04/2025", "05/06/2025"], "category", ["03/04/2025", "05/06/2025"]),
        (["12:30", "13:45"], "category", ["12:30", "13:45"]),
        (["0x1f", "0x20"], "category", ["0x1f", "0x20"]),
        (["1_000", "2_000"], "category", ["1_000", "2_000"]),
    ],
)
def test_kinds(write, values, kind, stored):
    table = read(write("key,value\n" + "".join(f'k{i},"{value}"\n' for i, value in enumerate(values))), header=True)
    assert table.kinds["value"] == kind
    assert table["value"].tolist() == stored


def test_dates(write):
    table = read(write("d,t\n2025-01-02,2025-01-02 03:04:05\n2024-02-29,2025-01-02T03:04\n"))
    assert set(table.kinds.values()) == {"date"}
    assert table["t"].tolist()[0] == np.datetime64("2025-01-02T03:04:05", "us").tolist()


def test_moments_with_an_offset_are_in_utc(write):
    table = read(write("a,b\n2025-01-01T01:00:00+02:00,1\n2025-01-02T00:00:00Z,2\n"))
    assert table["a"].tolist() == [np.datetime64(t, "us").tolist() for t in ("2024-12-31T23:00", "2025-01-02")]


def test_a_spreadsheet_hint_is_no_header(write):
    assert read(write("sep=;\r\na;b\r\n1;2\r\n")).names == ("a", "b")
    with pytest.raises(ValueError, match="line 4 has 3 fields"):
        read(write("sep=;\na;b\n1;2\n1;2;3\n"))


def test_long_rows_and_fields(write):
    words = [f"{i}_" + "x" * 120 for i in range(10_000)]
    wide = read(write(",".join(words) + "\n" + ",".join("1" for _ in words) + "\n"))
    assert wide.names == tuple(words)
    long = read(write("a,b\n" + "x" * 120_000 + ",1\n" + "y" * 120_000 + ",2\n"))
    assert [len(word) for word in long["a"]] == [120_000] * 2
    with pytest.raises(ValueError, match="field larger than field limit"):
        read(write("a,b\n" + "x" * 200_000 + ",1\n"))


def test_decimal_commas(write):
    table = read(write("a;b\n1,5;x\n-2;y\n,25;z\n"))
    assert table["a"].tolist() == [1.5, -2, 0.25]


def test_text_is_what_does_not_repeat(write):
    rows = "".join(f"{i},name {i},{'ab'[i % 2]}\n" for i in range(60))
    table = read(write("i,name,group\n" + rows))
    assert dict(table.kinds) == {"i": "number", "name": "text", "group": "category"}


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("a,b\n1,2\n", ("a", "b")),
        ("1,2\n3,4\n", ("column_1", "column_2")),
        ("M,0.5\nF,0.25\n", ("column_1", "column_2")),
        (",a\n0,1\n", ("column_1", "a")),
        ("name,town\nAnn,Ulm\nBob,Bonn\n", ("name", "town")),
        ("ham,hello\nspam,win\nham,bye\n", ("column_1", "column_2")),
        ("?,x\n1,y\n", ("column_1", "column_2")),
        ("when,x\n2025-01-01,a\n2025-01-02,b\n", ("when", "x")),
        ("x\n1\n2\n", ("x",)),
        ("\n\na,b\n1,2\n", ("a", "b")),
        ("a,b\n1,2", ("a", "b")),
    ],
)
def test_headers(write, content, names):
    assert read(write(content)).names == names


def test_the_header_can_be_said(write):
    years = write("2019,2020\n1,2\n")
    assert read(years, header=True).names == ("2019", "2020")
    assert read(years).n_rows == 2
    assert read(write("a,b\nc,d\n", "words.csv"), header=False).n_rows == 2
    assert read(years, header=True, names=("x", "y"))["y"].tolist() == [2]
    with pytest.raises(ValueError, match="names has 1 entries for 2 columns"):
        read(years, names=("x",))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", "", "is empty"),
        ("t.csv", " \n\n", "is empty"),
        ("t.csv", "\ufeff", "is empty"),
        ("t.csv", "a,b\n", "a header line but no rows"),
        ("t.csv", "a,b\n1,2\n3\n4,5\n", "line 3 has 1 fields instead of 2"),
        ("t.csv", "a,b\n1,2\n\n3,4,5\n", "line 4 has 3 fields instead of 2"),
        ("t.csv", 'a,b\n"x\ny",2\n3,4,5\n', "line 4 has 3 fields instead of 2"),
        ("t.csv", b"\x00\x01\x02\x00" * 50, "not a text file"),
        ("t.csv", b"\xff\xfea\x00,\x00b\x00\x00\xd8", "begins as utf-16 but"),
        ("t.csv.gz", b"a,b\n1,2\n", "not a complete gzip file"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9], "not a complete gzip file"),
        ("t.parquet", b"PAR1 no", "not a readable Parquet file"),
        ("t.feather", b"a,b\n1,2\n", "not a readable Arrow file"),
        ("t.xlsx", b"PK", "not a readable .xlsx workbook"),
        ("t.xls", b"\xd0\xcf\x11\xe0", ".xls files are not read; save it as .xlsx"),
        ("t", b"a", "a header line but no rows"),
        ("t.gz", b"a", "not a complete gzip file"),
        ("t.parquet.gz", b"a", "not a complete gzip file"),
        ("t.csv.bz2", bz2.compress(b"a,b\n1,2\n" * 99)[:-9], "not a complete bzip2 file"),
        ("t.csv.xz", b"a,b\n1,2\n", "not a complete xz file"),
        ("t.zip", b"a,b\n1,2\n", "not a complete zip file"),
        ("t.zip", zipped(), "the archive holds no files"),
        ("t.zip", zipped("a.csv", "b/c.csv"), r"holds 2 files \(a.csv, b/c.csv\); unpack it and name one"),
        ("t.zip", zipped("a.pkl"), ".pkl files are not read; save it as Parquet or CSV"),
        ("t.jsonl", '{"a": 1}\n{"a": \n', "line 2 is not JSON"),
        ("t.jsonl", '{"a": 1}\n[2]\n', "line 2 is a list, not an object"),
        ("t.json", "[1, 2]", "item 1 is a int, not an object"),
        ("t.json", "{", "it is not JSON"),
        ("t.json", "3", "holds no objects"),
        ("t.json", "", "is empty"),
    ],
)
def test_broken_files(write, name, content, words):
    path = write(content, name)
    with pytest.raises(ValueError, match=words) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.zip", "t.csv.zip", "t.csv", "t", "t.dat"])
def test_packed_files_are_read_by_suffix_or_content(write, name):
    text = "town;size\nKöln;1,5\nUlm;2,5\n".encode()
    packs = {".gz": [gzip.compress], ".bz2": [bz2.compress], ".xz": [lzma.compress]}
    archive = lambda data: zipped("tables/t.csv", "__MACOSX/tables/._t.csv", ".DS_Store", content=data)  # noqa: E731
    every = [gzip.compress, bz2.compress, lzma.compress, archive]
    for pack in packs.get(Path(name).suffix, [archive] if name.endswith(".zip") else every):
        table = read(write(pack(text), name))
        assert (table.names, table["size"].tolist(), table["town"].tolist()) == (
            ("town", "size"),
            [1.5, 2.5],
            ["Köln", "Ulm"],
        )


def test_a_locked_archive_is_told(write):
    locked = bytearray(zipped("a.csv"))
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(signature) + at] |= 1
    with pytest.raises(ValueError, match=r"a\.csv in the archive is locked with a password; unpack it"):
        read(write(bytes(locked), "t.zip"))


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        read(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read(tmp_path)


def test_ragged_rows_far_down_are_found_by_line(write):
    rows = ["a,b"] + ["1,2"] * 200_000
    rows[150_000] = "1,2,3"
    with pytest.raises(ValueError, match="line 150001 has 3 fields instead of 2"):
        read(write("\n".join(rows)))


def test_columnar_files(tmp_path):
    import pyarrow as pa
    from pyarrow import feather, parquet

    frame = pa.table(
        {
            "i": pa.array([1, None], pa.int32()),
            "s": ["a", "b"],
            "c": pa.array(["x", None]).dictionary_encode(),
            "t": pa.array([0, 1], pa.timestamp("ns")),
            "d": pa.array([1, 2], pa.date32()),
            "b": [True, None],
            "n": pa.nulls(2),
        }
    )
    kinds = ["number", "category", "category", "date", "date", "flag", "number"]
    parquet.write_table(frame, tmp_path / "t.parquet")
    feather.write_feather(frame, tmp_path / "t.feather")
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_file(sink, frame.schema) as writer:
        writer.write_table(frame)
    for name in ("t.parquet", "t.feather", "t.arrow"):
        table = read(tmp_path / name)
        assert list(table.kinds.values()) == kinds
        assert table.missing() == {"i": 1, "s": 0, "c": 1, "t": 0, "d": 0, "b": 1, "n": 2}
    long = pa.table({"id": pa.array([2**53 + 1, 2**53]), "gap": pa.array([2**60, None])})
    parquet.write_table(long, tmp_path / "long.parquet")
    table = read(tmp_path / "long.parquet")
    assert table["id"].tolist() == [str(2**53 + 1), str(2**53)]
    assert table["gap"].tolist() == [str(2**60), None]
    assert from_pandas(long.to_pandas().astype({"id": "int64"}))["id"].tolist() == table["id"].tolist()
    nested = pa.table({"tags": [["a", "b"], None], "point": [{"x": 1, "y": "$2"}, {"x": None, "y": "$3"}]})
    parquet.write_table(nested, tmp_path / "nested.parquet")
    table = read(tmp_path / "nested.parquet")
    assert table["tags"].tolist() == ["a b", None]
    assert table["point.y"].tolist() == [2, 3]
    with pytest.raises(ValueError, match="column 'tags' has type list"):
        from_arrow(nested)
    parquet.write_table(pa.table({"raw": [b"x"]}), tmp_path / "raw.parquet")
    with pytest.raises(ValueError, match="column 'raw' has type binary"):
        read(tmp_path / "raw.parquet")
    parquet.write_table(frame.slice(0, 0), tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="is empty"):
        read(tmp_path / "empty.parquet")


cells = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6)


@given(
    st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), cells), min_size=3, max_size=8),
    st.sampled_from([",", ";", "\t", "|"]),
)
@settings(max_examples=60)
def test_what_pandas_writes_is_read_back(tmp_path_factory, rows, delimiter):
    frame = pd.DataFrame(rows, columns=["value", "word"])
    frame["word"] = "w" + frame["word"]  # never a number, date, flag or missing marker
    path = tmp_path_factory.mktemp("t") / "t.csv"
    frame.to_csv(path, index=False, sep=delimiter, quoting=2)
    table = read(path)
    assert table["word"].tolist() == frame["word"].tolist()
    np.testing.assert_array_equal(table["value"], frame["value"])


def test_arrow_and_standard_library_parse_alike(write):
    from margin.data.delimited import _parse_with_arrow, _parse_with_csv
    from margin.data.dialect import Dialect

    text = 'a,b\n"x ""q""",1\n,"NA"\n\n"l1\nl2", 3\nplain "mid" quote,4\n'
    dialect = Dialect(",", '"', False)
    parsed = (
        _parse_with_arrow(text.encode(), dialect, ["a", "b"], True, []),
        _parse_with_csv(text, dialect, ["a", "b"], True),
    )
    fast, slow = ([column.to_pylist() for column in columns] for columns in parsed)
    assert fast == slow == [['x "q"', None, "l1\nl2", 'plain "mid" quote'], ["1", None, " 3", "4"]]


def test_numbers_parsed_at_once_equal_numbers_cast_from_strings(write):
    """The sample says "measurement"; what comes after it may be a word, an identifier, whole or missing."""
    first = "".join(f"{i}.5,{i}.0,{i}.0,{i}.5\n" for i in range(300))
    table = read(write("a,b,c,d\n" + first + "?,7,007,many\n-1e3,8,8,1\n"))
    assert [table.kinds[name] for name in "abcd"] == ["number", "number", "text", "number"]
    assert np.isnan(table["a"][-2])
    assert table["a"][-1] == -1000
    assert [table[name][-2] for name in "bc"] == [7, "007"]
    assert np.isnan(table["d"][-2])
    assert table.notes == {"d": 'read as numbers from text such as "0.5"; "many" counts as missing'}


def test_a_written_table_reads_back_equal(tmp_path):
    rng = np.random.default_rng(0)
    table = Table({"x": rng.normal(size=500), "g": np.array(["u", "v", None], dtype=object)[rng.integers(0, 3, 500)]})
    table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    table.to_pandas().to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.csv") == table
    assert read(tmp_path / "t.parquet") == table


@pytest.mark.parametrize(
    "above",
    [
        "# made by a machine\n# units: m, s\n",
        "Sales of 2021\n\n",
        "Sales of 2021,,\n,,\n",
        '"Sales, 2021"\n',
    ],
)
def test_lines_above_the_header_are_left_out_and_told(write, above):
    rows = "".join(f"{i / 4},{'ab'[i % 2]},{i % 3}\n" for i in range(40))
    table = read(write(f"{above}x,c,y\n{rows}"))
    assert table.names == ("x", "c", "y")
    assert len(table) == 40
    assert "above the header" in table.remarks[0]
    ragged = rows + "1,a\n"
    line = above.count("\n") + 1 + 40 + 1
    with pytest.raises(ValueError, match=f"line {line} has 2 fields instead of 3"):
        read(write(f"{above}x,c,y\n{ragged}"))


def test_a_header_that_begins_with_a_number_sign_stays_the_header(write):
    table = read(write("#id,c,y\n1,a,0\n2,b,1\n3,a,1\n"))
    assert table.names == ("#id", "c", "y")
    assert not table.remarks


def test_a_quote_that_is_not_closed_is_told_from_where_it_opens(write):
    rows = [f"{i},a,{i % 2}" for i in range(9)]
    rows[3] = '3,"a,1'
    with pytest.raises(ValueError, match="the row from line 5 to line 10 has 2 fields instead of 3; a quote"):
        read(write("x,c,y\n" + "\n".join(rows)))


def test_errors_of_spreadsheets_are_missing_and_many_markers_cost_no_column(write):
    cells = [f"{i}.5" for i in range(200)] + ["#DIV/0!", "#VALUE!", "1.#IND", "-", ".", "--", "missing", "unknown"]
    table = read(write("x,y\n" + "".join(f"{cell},1\n" for cell in cells)))
    assert table.kinds["x"] == "number"
    assert table.missing()["x"] == 8


@pytest.mark.parametrize("name", ["t.npz", "t.csv.7z", "t.csv.zst", "t.sqlite", "t.arff", "t.html", "t.xls", "t.dta"])
def test_formats_of_other_programs_are_refused_by_name(write, name):
    with pytest.raises(ValueError, match=r"files are not read; (save|unpack|export)"):
        read(write("x,y\n1,2\n", name))


def test_a_web_page_is_no_table_whatever_it_is_called(write):
    with pytest.raises(ValueError, match="web page or XML"):
        read(write("<!DOCTYPE html>\n<html><table></table></html>\n"))
