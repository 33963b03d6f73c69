"""Guide and recipes: their Python runs, their pictures and links exist, their commands are ours."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from margin import catalog
from margin.cli import app
from margin.notes import experiments

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted([*DOCS.glob("guide/*.md"), *DOCS.glob("recipes/*.md")])  # others: test_documentation.py
IDS = [str(page.relative_to(DOCS).with_suffix("")) for page in PAGES]
GENERATED = ("notes/", "gallery/", "reference/", "measured/")


def blocks(language, text):
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for code in blocks("python", page.read_text()):
        exec(compile(code, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_pictures_and_links_of_a_page_exist(page):
    text = page.read_text()
    for target in re.findall(r"\{figure\} (\S+)|\]\((?!https?:|#)([^)#]+)", text):
        path = (page.parent / "".join(target)).resolve().relative_to(DOCS.resolve())
        if str(path).startswith("gallery/"):
            assert path.stem in [*experiments.names(), "index"], f"{page.name} shows {path}"
        elif not str(path).startswith(GENERATED):
            assert (DOCS / path).exists(), f"{page.name} links to {path}"
    known = {entry.class_name for entry in catalog.ENTRIES} | {
        path.rpartition(".")[2] for path in catalog.registry().values()
    }
    for name in re.findall(r"/reference/(\w+)>", text):
        assert name in known or name == "index", f"{page.name} refers to {name}"


COMMANDS = sorted({
    line.split("  #")[0].strip()
    for page in PAGES
    for line in [line for block in blocks("(?:sh|console)", page.read_text()) for line in block.splitlines()]
    + re.findall(r"`(margin [a-z][^`]*)`", page.read_text())
    if line.startswith("margin ")
})  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shown_exists(command):
    words = shlex.split(command)[1:]
    outcome = CliRunner().invoke(app, [words[0], "--help"])
    assert outcome.exit_code == 0, outcome.output
    for word in words[1:]:
        if word.startswith("--"):
            assert word.partition("=")[0] in outcome.output, f"{word} is not an option of margin {words[0]}"


def test_every_guide_page_has_a_picture_and_code():
    for page in DOCS.glob("guide/*.md"):
        if page.stem not in ("index", "tables"):
            text = page.read_text()
            assert "{figure}" in text, f"{page.name} lacks a picture"
            assert blocks("python", text), f"{page.name} lacks code"


def test_every_page_is_in_a_table_of_contents():
    for folder in ("guide", "recipes"):
        index = (DOCS / folder / "index.md").read_text()
        listed = set(re.search(r"```\{toctree\}\n(?::\w+:[^\n]*\n)+(.*?)```", index, flags=re.DOTALL)[1].split())
        assert listed == {page.stem for page in (DOCS / folder).glob("*.md")} - {"index"}
