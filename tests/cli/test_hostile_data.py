"""Data that were made to do harm end in one sentence on stderr, never in a traceback."""

import gzip
import io
import zipfile

import pytest

from margin.cli.output import report_problems


def archive(name, content=b"a,b\n1,2\n"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr(name, content)
    return file.getvalue()


HOSTILE = {
    "t.csv.gz": (gzip.compress(bytes(260_000_000)), "t.csv.gz: it unpacks to more than"),
    "t.zip": (archive("."), "t.zip: the archive holds no files; unpack it and name one"),
    "t.xlsx": (archive("xl/workbook.xml", b'<?xml version="1.0" encoding="klingon"?><a/>'), "not a readable .xlsx"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_tables(name, run, tmp_path):
    content, sentence = HOSTILE[name]
    (tmp_path / name).write_bytes(content)
    outcome = run("describe", name, code=1)
    said = " ".join(outcome.stderr.split())
    assert sentence in said
    assert "Traceback" not in said


def test_max_unpacked_allows_more_or_less(run, tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n2,1\n" * 200_000))
    run("describe", "t.csv.gz")
    run("--max-unpacked", "0.002", "describe", "t.csv.gz")
    said = run("--max-unpacked", "0.001", "describe", "t.csv.gz", code=1).stderr
    assert "it unpacks to more than 1 MB" in " ".join(said.split())
    assert "max_unpacked must be larger" in " ".join(said.split())
    run("describe", "t.csv.gz")


def test_too_little_memory_is_a_sentence(capsys):
    import typer

    with pytest.raises(typer.Exit), report_problems():
        raise MemoryError("Unable to allocate 7 TiB")
    assert "margin: there is not enough memory (Unable to allocate 7 TiB)." in " ".join(capsys.readouterr().err.split())


def test_labels_that_are_formulas_are_guarded_on_request(run, tmp_path):
    rows = "".join(f"{i % 5},{'=1+1' if i % 5 > 2 else 'no'}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("x,y\n" + rows)
    run("fit", "gaussian-nb", "t.csv", "--target", "y", "--out", "r", "-q")
    assert "\n=1+1\n" in run("predict", "r", "t.csv").stdout
    guarded = run("predict", "r", "t.csv", "--for-spreadsheet").stdout
    assert "\n'=1+1\n" in guarded
    assert "\n=1+1" not in guarded
    run("predict", "r", "t.csv", "--json", "--for-spreadsheet", code=2)
