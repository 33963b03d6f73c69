"""Excel, JSON, Parquet folders, stdin, packed files and ill-made text: what is read, and what is said about it."""

import gzip
import io
import json
import random
import sys
import zipfile
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest

from margin.data import read
from margin.data.header import has_header
from margin.data.values import column_of_values


@pytest.fixture
def write(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def workbook(rows, *, shared=(), sheets=("First",), date1904=False):
    """A minimal workbook as spreadsheet programs write it; ``rows`` are the XML of cells."""
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><workbookPr date1904="{int(date1904)}"/>'
        + "<sheets>"
        + "".join(f'<sheet name="{name}" sheetId="{i}" r:id="rId{i}"/>' for i, name in enumerate(sheets, 1))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": "<Relationships>"
        + "".join(f'<Relationship Id="rId{i}" Target="worksheets/s{i}.xml"/>' for i in range(1, len(sheets) + 1))
        + "</Relationships>",
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts><numFmt numFmtId="170" formatCode="dd\\.mm\\.yyyy"/>'
        '<numFmt numFmtId="171" formatCode="0.00&quot;days&quot;"/></numFmts><cellXfs><xf numFmtId="0"/>'
        '<xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="171"/></cellXfs></styleSheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">' + "".join(f"<si>{item}</si>" for item in shared) + "</sst>",
        "xl/worksheets/s1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>'
        + "".join(f'<row r="{i}">{cells}</row>' for i, cells in enumerate(rows, 1))
        + "</sheetData></worksheet>",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def test_a_sheet_is_chosen_by_name_or_number(write):
    from margin.service.sources import open_table

    first, second = workbook(["<c><v>1</v></c>"]), workbook(["<c><v>7</v></c>", "<c><v>8</v></c>"])
    both = io.BytesIO(workbook(["<c><v>1</v></c>"], sheets=("A", "year 2024")))
    with zipfile.ZipFile(both, "a") as archive:
        archive.writestr("xl/worksheets/s2.xml", zipfile.ZipFile(io.BytesIO(second)).read("xl/worksheets/s1.xml"))
    path = write(both.getvalue(), "b.xlsx")
    for sheet in ("year 2024", 2, "2"):
        assert read(path, sheet=sheet)["column_1"].tolist() == [7.0, 8.0]
    assert open_table(f"{path}:sheet=year 2024")[0]["column_1"].tolist() == [7.0, 8.0]
    with pytest.raises(ValueError, match="there is no sheet '3'; there are 'A', 'year 2024'"):
        read(path, sheet=3)
    with pytest.raises(ValueError, match=r"sheet acts on \.xlsx workbooks"):
        read(write(b"a,b\n1,2\n", "t.csv"), sheet="A")
    assert len(read(write(first, "one.xlsx"), sheet=1)) == 1


def test_a_workbook(write):
    shared = ["<t>town</t>", "<t>Ulm</t>", "<r><t>Bo</t></r><r><t>nn</t></r>"]
    rows = [
        '<c r="A1" t="inlineStr"><is><t>Sales of the year</t></is></c>',
        "",
        '<c r="A3" t="s"><v>0</v></c><c r="B3" t="inlineStr"><is><t>price</t></is></c>'
        '<c r="C3" t="str"><v>day</v></c><c r="D3" t="str"><v>ok</v></c><c r="E3" t="str"><v>left</v></c>',
        '<c r="A4" t="s"><v>1</v></c><c r="B4"><v>2.5</v></c><c r="C4" s="1"><v>45060</v></c>'
        '<c r="D4" t="b"><v>1</v></c><c r="E4" s="3"><v>7.5</v></c>',
        '<c r="A5" t="s"><v>2</v></c><c r="B5" t="e"><v>#DIV/0!</v></c><c r="C5" s="2"><v>45060.75</v></c>'
        '<c r="D5" t="b"><v>0</v></c>',
        '<c r="B6" t="str"><v>$1,000.50</v></c>',
    ]
    table = read(write(workbook(rows, shared=shared, sheets=("Data", "Notes")), "t.xlsx"))
    assert dict(table.kinds) == {"town": "category", "price": "number", "day": "date", "ok": "flag", "left": "number"}
    assert table["town"].tolist() == ["Ulm", "Bonn", None]
    np.testing.assert_array_equal(table["price"], [2.5, np.nan, 1000.5])
    assert table["day"].tolist()[:2] == [np.datetime64(t, "us").tolist() for t in ("2023-05-14", "2023-05-14T18:00")]
    assert table["left"][0] == 7.5  # "days" in quotes is no date
    assert table.remarks == (
        "The workbook has 2 sheets; the first, 'Data', was read (FILE:sheet=NAME names one).",
        "1 title line above the table was skipped.",
    )
    mac = read(write(workbook(rows, shared=shared, date1904=True), "mac.xlsx"))
    assert mac["day"][0] - table["day"][0] == np.timedelta64(1462, "D")


def test_broken_and_bare_workbooks(write):
    numbers = ['<c r="A1"><v>1</v></c><c r="B1"><v>2</v></c>', '<c r="A2"><v>3</v></c><c r="B2"><v>4</v></c>']
    table = read(write(workbook(numbers), "n.xlsx"))
    assert table.names == ("column_1", "column_2")
    assert "no header line" in table.remarks[0]
    with pytest.raises(ValueError, match="the sheet 'First' is empty"):
        read(write(workbook([]), "e.xlsx"))
    whole = workbook(numbers)
    for cut in (10, len(whole) // 2, len(whole) - 30):
        with pytest.raises(ValueError, match=r"x\.xlsx: is not a readable \.xlsx workbook"):
            read(write(whole[:cut], "x.xlsx"))


@pytest.mark.parametrize(
    ("values", "kind", "stored"),
    [
        ([Decimal("2.25"), None, 3], "number", [2.25, None, 3]),
        ([timedelta(minutes=2), timedelta(0)], "number", [120, 0]),
        ([True, None], "flag", [True, None]),
        ([1, True], "number", [1, 1]),
        ([date(2023, 5, 14), datetime(2023, 5, 14, 12, tzinfo=UTC)], "date", ["2023-05-14", "2023-05-14T12"]),
        ([{"a": 1}, {}], "category", ['{"a": 1}', None]),
        ([2**60, 2**60 + 1], "category", [str(2**60), str(2**60 + 1)]),
        (["\ud800x", "y"], "category", ["?x", "y"]),
    ],
)
def test_cells_of_any_type(values, kind, stored):
    found, array, _ = column_of_values("x", values)
    assert found == kind
    if kind == "date":
        assert array.tolist() == [np.datetime64(text, "us").tolist() for text in stored]
    else:
        assert [None if value != value else value for value in array.tolist()] == stored


def test_json(write):
    lines = '{"a": 1, "b": {"c": "x"}}\n\n{"a": 2.5, "tags": ["u", "v"]}\n{"b": {"c": "y"}, "a": null}\n'
    table = read(write(lines, "t.jsonl"))
    np.testing.assert_array_equal(table["a"], [1, 2.5, np.nan])
    assert table["b.c"].tolist() == ["x", None, "y"]
    assert table["tags"].tolist() == [None, "u v", None]
    records = [{"a": 1, "s": "$5"}, {"a": 2, "s": "$6"}]
    for name, content in {
        "list.json": json.dumps(records),
        "indented.json": json.dumps(records, indent=2),
        "columns.json": '{"a": [1, 2], "s": ["$5", "$6"]}',
        "wrapped.json": json.dumps({"count": 2, "rows": records}),
        "lines.ndjson": "\n".join(map(json.dumps, records)),
        "unnamed": "\n".join(map(json.dumps, records)),
    }.items():
        found = read(write(content, name))
        assert (found["a"].tolist(), found["s"].tolist()) == ([1, 2], [5, 6]), name
    assert read(write(gzip.compress(lines.encode()), "t.jsonl.gz")).n_rows == 3


def test_a_folder_of_parquet_files(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        parquet.write_table(pa.table({"x": [year + 0.5, 1.0]}), tmp_path / f"year={year}" / "part.parquet")
    table = read(tmp_path)
    assert sorted(table["x"].tolist()) == [1, 1, 2023.5, 2024.5]
    assert sorted(table["year"].tolist()) == [2023, 2023, 2024, 2024]


def test_standard_input_is_known_by_its_content(monkeypatch, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "t.parquet")
    text = b"a,b\n1,2\n3,4\n"
    for data in (text, gzip.compress(text), b'{"a": 1}\n{"a": 3}', (tmp_path / "t.parquet").read_bytes()):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert read("-")["a"][0] == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1\n")))
    with pytest.raises(ValueError, match=r"^standard input: line 2 has 1 fields instead of 2"):
        read("-")


@pytest.mark.parametrize(
    ("content", "names", "remark"),
    [
        ("größe,b\n1,ä\n".encode("cp1252"), ("größe", "b"), "it was read as Windows-1252"),
        ("größe,b\n1,ä\n".encode("utf-16-le"), ("größe", "b"), "it was read as UTF-16-LE"),
        (b"b\xe9,c\n1,\x81\n", ("bé", "c"), "it was read as Latin-1"),
        ("größe,b\n1,ä\n", ("größe", "b"), ""),
        ("a,b,a\n1,2,3\n", ("a", "b", "a_2"), "'a' is called 'a_2'"),
        ("a,a_2,a\n1,2,3\n", ("a", "a_2", "a_3"), "'a' is called 'a_3'"),
        ("1,2\n3,4\n", ("column_1", "column_2"), "There is no header line"),
        ("a,b\n1,2,\n3,4,\n", ("a", "b", "column_3"), ""),
        ("a,b,\n1,2\n3,4\n", ("a", "b"), ""),
        ("a b\nr1 1 2\nr2 3 4\n".replace(" ", ","), ("row_name", "a", "b"), "the first is called row_name"),
        ("1.0   2.0  3\n 4.0   5.0  6\n", ("column_1", "column_2", "column_3"), "There is no header line"),
        ("x   y\n4.0   5.0\n6  7\n", ("x", "y"), ""),
        ('a\t"b\nc"\n1\t2\n3\t4\n', ("a", "b\nc"), ""),
    ],
)
def test_ill_made_text(write, content, names, remark):
    table = read(write(content))
    assert table.names == names
    assert (remark in " ".join(table.remarks)) if remark else not table.remarks


def test_headers_with_numbers_in_them():
    assert not has_header([["town", "3.5", "4.5"], ["Ulm", "1", "2"], ["Bonn", "3", "4"]])
    assert has_header([["town", "2019", "2020"], ["Ulm", "1.5", "2"], ["Bonn", "3", "4"]])
    assert not has_header([["Trier", "2019", "2020"], ["Ulm", "2018", "2021"], ["Bonn", "2017", "2022"]])
    assert has_header([["id", "2019", "when"], ["1", "u", "14.05.2023"], ["2", "v", "15.05.2023"]])
    assert not has_header([["2019", "2020"], ["1", "2"]])
    assert not has_header([["$5", "red"], ["$7", "blue"], ["$8", "red"]])
    assert has_header([["kind", "kind"], *[["a", "b"], ["b", "a"]] * 4])


def test_remarks_and_notes_follow_the_table(write):
    table = read(write(b"a;b;b\n1,5;x;1\n2,5;y;2 kg\n"))
    assert table.names == ("a", "b", "b_2")
    priced = read(write("p,q\n$5,1\n$6,2\n"))
    assert priced.notes == {"p": 'read as numbers from text such as "$5"'}
    assert priced.drop("p").notes == {}
    assert priced.take([0]).notes == priced.notes
    assert priced.as_kind("p", "category").notes == {}
    plain = read(write("p,q\n5,1\n6,2\n"))
    assert plain == priced  # what was said is not part of the content


def sheet_of(xml):
    """A workbook whose first sheet is ``xml``."""
    source, target = zipfile.ZipFile(io.BytesIO(workbook(["<c><v>1</v></c>"]))), io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, xml if "sheet1" in name or "worksheets" in name else source.read(name))
    return target.getvalue()


BEGIN = f'<worksheet xmlns="{MAIN}"><sheetData>'
SHEETS = {
    "blanks": (BEGIN + " " * 30_000_000, "unpacks to more than"),
    "cells far to the right": (BEGIN + '<row><c r="XFD1"><v>1</v></c></row>' * 2000, "unpacks to more than"),
    "a column beyond the last": (BEGIN + '<row><c r="ZZZ1"><v>1</v></c></row>', "beyond the last column"),
    "an unknown encoding": ('<?xml version="1.0" encoding="klingon"?>' + BEGIN, "unknown encoding"),
}


@pytest.mark.parametrize("name", SHEETS)
def test_sheets_that_ask_for_much_or_cannot_be_read(name, tmp_path, monkeypatch):
    monkeypatch.setattr("margin.data.unpacking.SMALL", 2_000_000)
    xml, match = SHEETS[name]
    (tmp_path / "t.xlsx").write_bytes(sheet_of(xml))
    with pytest.raises(ValueError, match=rf"t.xlsx: is not a readable .xlsx workbook \(.*{match}"):
        read(tmp_path / "t.xlsx")


def test_damaged_workbooks_are_a_sentence(tmp_path):
    whole = workbook(['<c t="s"><v>0</v></c><c><v>2</v></c>', "<c><v>1</v></c><c><v>2.5</v></c>"] * 30, shared=("a",))
    chance = random.Random(0)
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        (tmp_path / "t.xlsx").write_bytes(damaged)
        with suppress(ValueError):
            read(tmp_path / "t.xlsx")


def test_dates_beyond_any_calendar(tmp_path):
    rows = ['<c t="inlineStr"><is><t>day</t></is></c>', '<c r="A2" s="1"><v>1e300</v></c>']
    (tmp_path / "t.xlsx").write_bytes(workbook(rows))
    with pytest.raises(ValueError, match=r"t.xlsx: .*the cell A2 shows a date, and 1e300 is none"):
        read(tmp_path / "t.xlsx")
