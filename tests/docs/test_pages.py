"""Guide and recipes: their Python runs, their pictures and links exist, their commands are ours."""

import doctest
import re
import shlex
import warnings
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
def test_the_python_of_a_page_runs_and_its_messages_come(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for language, code in re.findall(r"^```(python|pycon)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        if language == "python":
            exec(compile(code, str(page), "exec"), names)
        else:
            compare_session(code, names, page.name)


def compare_session(code, names, place):
    """What is typed prints what is shown: values, warnings and errors; ``...`` stands for anything."""
    session = doctest.DocTestParser().get_doctest(code, names, place, str(place), 0)
    session.globs = names
    said = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *rest: print(f"{category.__name__}: {message}")
        runner.run(session, out=said.append, clear_globs=False)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_pictures_and_links_of_a_page_exist(page):
    text = page.read_text()
    for target in re.findall(r"\{(?:figure|image)\} (\S+)|\]\((?!https?:|#)([^)#]+)", text):
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
    for name in re.findall(r"\{motion\} (\S+)", text):
        assert hasattr(experiments.load(name), "animate"), f"{name} does not move"


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
        if page.stem != "index":
            text = page.read_text()
            assert re.search("{figure}|{motion}", text), f"{page.name} lacks a picture"
            assert blocks("python", text), f"{page.name} lacks code"
            assert "## What goes wrong" in text, f"{page.name} tells only of success"
            assert re.search(r"\*\*Cost\*\*|## Cost", text), f"{page.name} does not say what it costs"
            assert "## Messages" in text, f"{page.name} explains no error"


FAMILIES = sorted(
    {page.stem for page in DOCS.glob("guide/*.md")} - {"index", "choosing", "tables", "fits", "evaluation"}
)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_page_of_a_family_answers_every_question(name):
    text = (DOCS / "guide" / f"{name}.md").read_text()
    for part in ("## What goes wrong", "\\*\\*Cost\\*\\*", "## Messages", "{figure}|{motion}"):
        assert re.search(part, text), part
    if name != "interpretation":  # a page of questions, not of a model
        assert re.search(r"\bUse\b|\bBegin\b|This page is for", text.partition("\n## ")[0]), "when to use it"
        assert "$" in text, "its equation"
        assert re.search(r"\*\*[^*]*assumes\*\*|assume", text), "what it assumes"
        assert re.search(r"\bfirst(\*\*|\.|,)", text), "the parameter that matters first"
    if name not in ("interpretation", "optimization"):
        own = text.partition("## Beside its neighbors")[2].partition("\n## ")[0]
        assert len(re.findall(r"\]\(|\{doc\}", own)) >= 2, "its neighbors"


def test_every_page_is_in_a_table_of_contents():
    for folder in ("guide", "recipes"):
        index = (DOCS / folder / "index.md").read_text()
        listed = set(re.search(r"```\{toctree\}\n(?::\w+:[^\n]*\n)+(.*?)```", index, flags=re.DOTALL)[1].split())
        assert listed == {page.stem for page in (DOCS / folder).glob("*.md")} - {"index"}
