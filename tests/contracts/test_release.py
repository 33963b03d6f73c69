"""The parts of a release agree: versions are one, workflows run what the Makefile has, forms can be filled in."""

import re
import tomllib
from pathlib import Path

import pytest

import margin

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs(path):
    return read(path)["jobs"].items()


def test_all_that_names_a_version_names_this_one():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert newest == read(ROOT / "CITATION.cff")["version"] == margin.__version__


def test_the_citation_says_what_the_package_says():
    citation = read(ROOT / "CITATION.cff")
    assert citation["license"] == PROJECT["license"]
    assert {"cff-version", "message", "title", "authors", "type"} <= citation.keys()
    assert all(author.get("name") or author.get("family-names") for author in citation["authors"])


def test_what_a_stranger_looks_for_is_there():
    for name in ("README.md", "LICENSE", "SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        assert (ROOT / name).stat().st_size > 300, name
    assert PROJECT["requires-python"] == ">=3.11"
    assert any(line.startswith("Programming Language :: Python :: 3.11") for line in PROJECT["classifiers"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_read_only_ends_by_itself_and_runs_what_exists(path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    workflow = read(path)
    assert workflow[True], "YAML reads the key `on` as true"
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in jobs(path):
        assert 0 < job["timeout-minutes"] <= 120, name
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w./-]+@v\d[\d.]*", step["uses"]), step["uses"]
            elif step["run"].startswith("make "):
                assert step["run"].split()[1] in targets
            else:
                assert (ROOT / step["run"].split()[0]).stat().st_mode & 0o100, "a program of ours"
            for key in re.findall(r"\$\{\{ matrix\.(\w+)", str(step)):
                assert key in job["strategy"]["matrix"], key


def test_the_workflows_run_the_tests_the_site_and_wheels_for_three_systems():
    steps = [step for path in WORKFLOWS for _, job in jobs(path) for step in job["steps"]]
    run = {step["run"] for step in steps if "run" in step}
    assert {".ci/run", "make check", "make docs", "make dist"} <= run
    (wheels,) = (
        job for path in WORKFLOWS for _, job in jobs(path) if any("cibuildwheel" in str(step) for step in job["steps"])
    )
    assert {system.partition("-")[0] for system in wheels["strategy"]["matrix"]["os"]} == {"ubuntu", "macos", "windows"}
    (build,) = (step["env"]["CIBW_BUILD"] for step in wheels["steps"] if "cibuildwheel" in step.get("uses", ""))
    named = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line}
    assert {f"3.{minor}" for minor in re.findall(r"cp3(\d+)-", build)} == named


@pytest.mark.parametrize("path", [path for path in FORMS if path.stem != "config"], ids=lambda path: path.stem)
def test_a_form_for_issues_can_be_filled_in(path):
    form = read(path)
    assert {"name", "description", "body"} <= form.keys()
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    assert all(part["type"] in ("input", "textarea", "dropdown", "checkboxes") for part in fields)
    assert all(part["attributes"]["label"] for part in fields)
    assert len({part["id"] for part in fields}) == len(fields)
    assert any(part.get("validations", {}).get("required") for part in fields)
