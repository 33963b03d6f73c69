"""Documentation that fails when it lies: the README's Python runs, its commands exist, references are current."""

import importlib.util
import json
import re
import shlex
from functools import reduce
from pathlib import Path

import pytest
from typer.testing import CliRunner

import margin.stub
from margin import catalog
from margin.cli import app
from margin.cli.reference import render
from margin.notes import atlas, experiments

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "benchmarks" / "README.md",
]
GENERATED = ("notes/", "gallery/", "reference/", "measured/")  # pages that `make docs` writes
FORBIDDEN = ("/work", "subagent", "helper-", "session", "prompt")


def blocks(language, text):
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_python_of_every_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = 0
    for page in PAGES:
        names = {}
        for code in blocks("python", page.read_text()):
            exec(compile(code, str(page), "exec"), names)
            ran += 1
    assert ran, "the README shows Python"


COMMANDS = [
    line.split("  #")[0].strip()
    for page in PAGES
    for block in blocks("(?:sh|console|bash)", page.read_text())
    for line in block.splitlines()
    if line.startswith("margin ")
]


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_every_command_shown_exists(command):
    words = shlex.split(command)[1:]
    outcome = CliRunner().invoke(app, [words[0], "--help"])
    assert outcome.exit_code == 0, outcome.output
    for word in words[1:]:
        if word.startswith("--"):
            assert word.partition("=")[0] in outcome.output, f"{word} is not an option of margin {words[0]}"
    if words[0] == "run" and len(words) > 1:
        assert words[1] in experiments.names()
    if words[0] == "show":
        known = {entry.name for entry in catalog.ENTRIES} | set(atlas.rows())
        assert words[1] in known or words[1].startswith("runs/"), "a model, a row or a run"


def test_every_make_target_shown_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    shown = {word for page in PAGES for word in re.findall(r"(?:^|`)make ([a-z]+)", page.read_text(), re.MULTILINE)}
    assert shown <= targets, shown - targets


def test_the_command_line_reference_is_current():
    assert (ROOT / "docs" / "cli.md").read_text() == render(), "run: make generated"


def test_the_number_of_rows_is_the_one_shown():
    shown = re.search(r"listed in ([\d,]+) rows", README)[1]
    assert int(shown.replace(",", "")) == len(atlas.inventory()) == len(atlas.rows())


def test_every_link_to_a_file_leads_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            if not target.startswith(GENERATED):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def resolve(dotted):
    """The module, or what a module holds; an AttributeError or ImportError where there is none."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        name = ".".join(parts[:end])
        if importlib.util.find_spec(name):
            return reduce(getattr, parts[end:], importlib.import_module(name))
    raise ImportError(dotted)


NAMED = sorted({
    name.rstrip(".")
    for page in PAGES
    for name in re.findall(r"(?:python -m |`)((?:margin|benchmarks|fuzz)(?:\.\w+)+)", page.read_text())
    if not name.endswith(".NAME")  # a placeholder
})  # fmt: skip


@pytest.mark.parametrize("dotted", NAMED)
def test_every_module_and_name_shown_exists(dotted):
    resolve(dotted)


PLACES = [ROOT, ROOT / "src" / "margin", ROOT / "benchmarks"]


def test_every_path_shown_exists():
    """In code spans: what lies in a folder of the repository; files that a command writes have no folder."""
    for page in PAGES:
        for span in re.findall(r"`([^`\n]+)`", page.read_text()):
            for path in re.findall(r"(?:^|\s)([\w-]+/[\w./-]*)(?=\s|$)", span):
                if "NAME" not in path and any((place / path.split("/")[0]).is_dir() for place in PLACES):
                    assert any((place / path).exists() for place in PLACES), f"{page.name} shows {path}"


def test_the_layout_names_every_package():
    layout = (ROOT / "docs" / "design.md").read_text().partition("## Layout")[2].partition("\n## ")[0]
    named = {name for row in re.findall(r"^\| (`.*?) \|", layout, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    packages = {path.parent.name for path in (ROOT / "src" / "margin").glob("*/__init__.py")}
    assert packages <= named, packages - named
    assert all(importlib.util.find_spec(f"margin.{name}") for name in named)


def test_the_frechet_distances_shown_are_the_stored_ones():
    stored = json.loads((ROOT / "benchmarks" / "results" / "full_scale" / "diffusion-mnist.json").read_text())
    rows = {row["model"]: row for row in stored["raw"]["rows"]}
    fast, slow = rows["diffusion dpm2-sde 20"], rows["diffusion ddpm all"]
    shown = " ".join((ROOT / "docs" / "design.md").read_text().split())
    for sentence in (
        f"after {fast['training_seconds']:.0f} seconds of one core",
        f"{fast['frechet']:.1f} by 20 steps of the second-order sampler with new noise",
        f"{slow['frechet']:.1f} by all 1,000 steps in {slow['sampling_seconds'] / fast['sampling_seconds']:.0f} times",
        f"{rows['diffusion dpm2 20']['frechet']:.1f} by 20 steps without new noise",
        f"{rows['training digits']['frechet']:.1f} for training digits",
        f"{rows['independent pixels']['frechet']:.0f} for independent pixels",
    ):
        assert sentence in shown, sentence


def test_the_project_speaks_of_itself_alone():
    for page in PAGES:
        text = page.read_text().lower().replace("--prompt", "")  # what a language model goes on from
        for word in FORBIDDEN:
            assert word not in text, f"{page.name} says {word!r}"


def test_the_stub_of_the_package_is_current():
    stub = ROOT / "src" / "margin" / "__init__.pyi"
    assert stub.read_text() == margin.stub.render(), "run: make generated"
    stub = ROOT / "src" / "margin" / "service" / "comparison" / "calling.pyi"
    assert stub.read_text() == margin.stub.render_compare(), "run: make generated"
    rules = ROOT / "src" / "margin" / "optimize" / "rules" / "__init__.py"
    assert rules.read_text() == margin.stub.render_rules(), "run: make generated"
