"""``margin describe``: what it prints, its JSON, stdin, and its sentences."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from margin.cli import app

runner = CliRunner()


@pytest.fixture
def path(tmp_path):
    rows = [f"{i};{i * 37 % 100},5 €;{'Ulm' if i % 3 else 'Köln'};{i * 7 % 2}" for i in range(60)]
    path = tmp_path / "sales.csv"
    path.write_bytes("\n".join(["id;price;town;won", *rows]).encode("cp1252"))
    return path


def test_the_profile_is_printed(path):
    done = runner.invoke(app, ["describe", str(path), "--target", "won"])
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    assert "60 rows, 4 columns, 1 left out, classification of won" in text
    assert "left out: the number of the row" in text
    assert "with a decimal comma" in text
    assert "it was read as Windows-1252" in text
    assert "--metric accuracy" in text


def test_json_and_what_is_told(path):
    done = runner.invoke(app, ["describe", str(path), "--kinds", "id=number,town=text", "--ignore", "price", "--json"])
    found = json.loads(done.stdout)
    assert found["rows"] == 60
    assert {column["name"]: (column["kind"], column["used"]) for column in found["columns"]} == {
        "id": ("number", True),
        "price": ("number", False),
        "town": ("text", True),
        "won": ("number", True),
    }


def test_a_named_set_and_stdin():
    done = runner.invoke(app, ["describe", "iris", "--json"])
    assert json.loads(done.stdout)["target"] == "species"
    done = runner.invoke(app, ["describe", "-", "--json"], input="a,b\n1,x\n2,y\n")
    assert [column["name"] for column in json.loads(done.stdout)["columns"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "win"], "there is no target 'win'; close matches are 'won'"),
        (["--kinds", "town"], "Kinds are written column=kind; got 'town'"),
        (["--kinds", "town=city"], "the kind of 'town' must be one of"),
        (["--ignore", "cost"], "ignore names 'cost'"),
    ],
)
def test_bad_requests_are_one_sentence(path, arguments, words):
    done = runner.invoke(app, ["describe", str(path), *arguments])
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.strip().count("\n") == 0


def test_an_unreadable_file_is_one_sentence(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3\n")
    done = runner.invoke(app, ["describe", str(tmp_path / "t.csv")])
    assert done.exit_code == 1
    assert "t.csv: line 3 has 1 fields instead of 2." in done.stderr
    assert runner.invoke(app, ["describe", "nothing.csv"]).exit_code == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("https://example.com/a.csv", "is an address, and nothing is loaded from anywhere: download it"),
        ("s3://bucket/a.parquet", "is an address"),
        ("", "The name of the data is empty"),
        ("gone.csv", "gone.csv is a link to 'nowhere.csv', which is not there"),
    ],
)
@pytest.mark.parametrize("command", ["describe", "compare", "score"])
def test_what_is_no_file_is_told_as_what_it_is(tmp_path, monkeypatch, name, words, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "gone.csv").symlink_to("nowhere.csv")
    arguments = ["score", "run", name] if command == "score" else [command, name, "--target", "y"]
    if command == "score":
        runner.invoke(app, ["fit", "gaussian-nb", "iris", "--out", "run", "-q"])
    done = runner.invoke(app, arguments)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


def test_of_very_many_columns_neighbors_of_one_kind_share_a_line(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"m{i}" for i in range(300)]
    frame = pd.DataFrame(rng.normal(size=(80, 300)), columns=names)
    frame["m100"] = 1.0
    frame["m150"] = frame["m7"]
    frame.loc[:7, "m40"] = np.nan
    frame["town"] = rng.choice(["Ulm", "Bonn"], 80)
    frame.to_csv(tmp_path / "wide.csv", index=False)
    done = runner.invoke(app, ["describe", str(tmp_path / "wide.csv")])
    lines = done.stdout.splitlines()
    assert len(lines) < 20
    first = next(line for line in lines if line.startswith("m0 … m99"))
    assert first.split()[3:] == ["number", "0…10.0%", "72…80", *first.split()[6:]]
    assert "100 columns, as" in first
    text = " ".join(done.stdout.split())
    assert "m100 number" in text, "a column with something to say has its own line"
    assert "it repeats 'm7'" in text
    assert "--json has every column" in text
    assert (
        len(json.loads(runner.invoke(app, ["describe", str(tmp_path / "wide.csv"), "--json"]).stdout)["columns"]) == 301
    )
