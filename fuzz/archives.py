"""Packed files, workbooks, columns, pictures and networks that were changed: read, or refused in little memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from margin.data import read
from margin.data.idx import read_idx
from margin.data.images import read_image
from margin.data.texts import read_text
from margin.graphical.bif import read_bif

__all__ = ["Trial", "names", "write"]

CSV = b"size,town,day,sold\n" + b"".join(
    f"{i * 0.37:.2f},{['north', 'south', 'west'][i % 3]},2024-0{1 + i % 9}-11,{i % 2}\n".encode() for i in range(60)
)
BIF = "network n { }\n" + "".join(f"variable v{i} {{ type discrete [ 2 ] {{ a, b }}; }}\n" for i in range(4))
BIF += "probability ( v0 ) { table 0.5, 0.5; }\n" + "".join(
    f"probability ( v{i} | v{i - 1} ) {{ (a) 0.1, 0.9; (b) 0.2, 0.8; }}\n" for i in range(1, 4)
)
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SHEET = "".join(
    f'<row r="{i}"><c r="A{i}" t="s"><v>{i % 3}</v></c><c r="B{i}"><v>{i * 1.5}</v></c><c r="C{i}" s="1">'
    f'<v>{45000 + i}</v></c><c r="D{i}" t="b"><v>1</v></c><c r="E{i}" t="inlineStr"><is><t>x{i}</t></is></c></row>'
    for i in range(1, 30)
)
WORKBOOK = {
    "[Content_Types].xml": "<Types/>",
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets><sheet name="a" r:id="r1"/>'
    "</sheets></workbook>",
    "xl/_rels/workbook.xml.rels": '<Relationships><Relationship Id="r1" Target="worksheets/s1.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
    "</styleSheet>",
    "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si><t>u</t></si><si><t>v</t></si><si><t>w</t></si></sst>',
    "xl/worksheets/s1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{SHEET}</sheetData></worksheet>',
}
WORDS = (
    "1e300",
    "-1",
    "99999999999999999999",
    "ZZZ9",
    "XFD1",
    "s",
    "klingon",
    "&lol;",
    "",
    "nan",
    "\0",
    "<row>",
    "../../x",
)
MOST_TIMES = 40_000  # what a repeated content may become: a hundred megabytes and more


def _zip(parts: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


def _png() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray((np.arange(48 * 40) % 251).astype(np.uint8).reshape(48, 40)).save(file, "png")
    return file.getvalue()


def _idx() -> bytes:
    return b"\0\0\x08\x02" + (12).to_bytes(4, "big") + (5).to_bytes(4, "big") + bytes(range(60))


def _columns(kind: str, texts: Any) -> bytes:
    """A column of texts and one of numbers as a Parquet or Arrow file."""
    import pyarrow as pa
    from pyarrow import feather, parquet

    table, file = pa.table({"size": np.arange(len(texts)) * 0.37, "town": texts}), io.BytesIO()
    if kind == "Parquet":
        parquet.write_table(table, file, compression="zstd", store_schema=False)
    else:
        feather.write_feather(table, file, compression="zstd")
    return file.getvalue()


def _many_copies(kind: str, rng: random.Random) -> bytes:
    """A text that is there once, with so many rows that it would be gigabytes."""
    import pyarrow as pa

    codes = np.zeros(rng.randrange(1, 3_000_000), dtype=np.int32)
    return _columns(kind, pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["x" * rng.randrange(1, 20_000)])))


TOWNS = [("north", "south", "west")[i % 3] for i in range(60)]
RECORDS = b"".join(f'{{"size": {i * 0.37:.2f}, "at": {{"town": "{town}"}}}}\n'.encode() for i, town in enumerate(TOWNS))
COLUMNAR = {"t.parquet": "Parquet", "t.arrow": "Arrow"}

#: What is packed, how, and who reads it.
PACKED: dict[str, tuple[bytes, Callable[[bytes], bytes], Callable[[Path], Any]]] = {
    "t.csv.gz": (CSV, gzip.compress, read),
    "t.csv.bz2": (CSV, bz2.compress, read),
    "t.csv.xz": (CSV, lzma.compress, read),
    "t.csv.zip": (CSV, lambda content: _zip({"t.csv": content}), read),
    "t.csv.gz.gz": (CSV, lambda content: gzip.compress(gzip.compress(content)), read),
    "n.bif.gz": (BIF.encode(), gzip.compress, read_bif),
    "n.bif": (BIF.encode(), bytes, read_bif),
    "i.idx.gz": (_idx(), gzip.compress, read_idx),
    "t.txt.gz": (CSV, gzip.compress, read_text),
    "p.png": (_png(), bytes, read_image),
    "t.xlsx": (b"", lambda _: _zip(WORKBOOK), read),
    "t.jsonl": (RECORDS, bytes, read),
    "t.parquet": (b"", lambda _: _columns("Parquet", TOWNS), read),
    "t.arrow": (b"", lambda _: _columns("Arrow", TOWNS), read),
}


def names() -> list[str]:
    return list(PACKED)


def write(folder: Path, chosen: Iterable[str]) -> Iterator[str]:
    for name in chosen:
        content, pack, _ = PACKED[name]
        (folder / name).write_bytes(pack(content))
        yield name


def _flip(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.choice((1, 2, 8))):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


def _splice(content: bytes, rng: random.Random) -> bytes:
    a, b, c = (rng.randrange(len(content)) for _ in range(3))
    return content[:a] + content[min(b, c) : max(b, c)] + content[a:]


def _word(content: bytes, rng: random.Random) -> bytes:
    """A word in place of some bytes."""
    a = rng.randrange(len(content))
    return content[:a] + rng.choice(WORDS).encode() + content[a + rng.choice((0, 1, 3)) :]


BYTES = (_flip, _cut, _splice, _word)


def changed(name: str, unchanged: bytes, rng: random.Random) -> tuple[bytes, str]:
    """The packed bytes damaged, or what is inside changed and packed again, or repeated until it is large."""
    content, pack, _ = PACKED[name]
    kind = rng.choice(("packed", "inside", "inside", "large"))
    change = rng.choice(BYTES)
    if kind == "packed":
        return change(unchanged, rng), change.__name__
    if name == "t.xlsx":
        part = rng.choice(list(WORKBOOK))
        text = WORKBOOK[part].encode()
        again = text * rng.randrange(2, 50_000_000 // len(text)) if kind == "large" else change(text, rng)
        return _zip({**WORKBOOK, part: again}), f"{kind} {part}"
    if name in COLUMNAR and kind == "large":
        return _many_copies(COLUMNAR[name], rng), kind
    if name == "p.png" or name in COLUMNAR:
        return change(unchanged, rng), change.__name__
    if name == "t.jsonl" and kind == "large":  # a column for every line
        return b"".join(b'{"a%d": 1}\n' % i for i in range(rng.randrange(2, MOST_TIMES))), kind
    if kind == "large":
        return pack(content * rng.randrange(2, MOST_TIMES)), kind
    if name.endswith(".zip"):
        return _zip({rng.choice((".", "..", "/", "a/../b.csv", "t.csv")): change(content, rng)}), "named"
    return pack(change(content, rng)), f"inside {change.__name__}"


class Trial:
    """Reads changed files."""

    def __init__(self, folder: Path):
        self.unchanged = {name: (folder / name).read_bytes() for name in PACKED if (folder / name).exists()}
        self.change = ""

    def prepare(self, name: str) -> None:
        """Nothing is compiled."""

    def lay_out(self, name: str, number: int, own: Path) -> None:
        """Pack the changed file: bz2 takes many times longer to pack what repeats than to unpack it."""
        content, self.change = changed(name, self.unchanged[name], random.Random(f"{name}-{number}"))
        (own / name).write_bytes(content)

    def attempt(self, name: str, number: int, own: Path) -> tuple[str, str, list[str]]:
        path, change = own / name, self.change
        try:
            PACKED[name][2](path)
        except (ValueError, OSError) as error:
            named = str(path) in str(error) and "\n" not in str(error)
            return ("refused" if named else "untidy"), f"{type(error).__name__}: {error}", [change]
        except Exception as error:
            return "untidy", f"{type(error).__name__}: {error}", [change]
        return "read", "", [change]
