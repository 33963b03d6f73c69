"""CONTRIBUTING says how many files something new takes: no other file of the library may keep a list of its kind."""

import re
from pathlib import Path

import pytest

import margin
import margin.stub
from margin.data.file_formats import FOREIGN, FORMATS, format_of, table_suffixes

ROOT = Path(margin.__file__).parent
RULE = '''"""Signs."""

__all__ = ["Signum"]


class State(NamedTuple):
    v: int


class Signum(Rule):
    """Steps by the sign of a gradient."""
'''
# One of each kind that nothing else in the library uses, by a word that only it has, and the files that name it.
ADDED = {
    "an optimizer": (r"NAdam", {"optimize/rules/nadam.py", "optimize/rules/__init__.py"}),  # the latter is generated
    "another optimizer": (r"AdaMax", {"optimize/rules/adamax.py", "optimize/rules/__init__.py"}),
    "an estimator": (
        r"QuadraticDiscriminantAnalysis",
        {"bayes/quadratic_discriminant.py", "bayes/__init__.py", "catalog.py"},
    ),
    "a metric, with a public function": (
        r"negative_predictive_value",
        {"metrics/classification.py", "metrics/registry.py", "metrics/__init__.py", "catalog.py"},
    ),
    "a metric": (r"top_k_accuracy", {"metrics/ranking.py", "metrics/registry.py", "metrics/__init__.py", "catalog.py"}),
    "a reader": (r"read_spreadsheet", {"data/spreadsheet.py", "data/file_formats.py"}),
    "a suffix": (r'"\.ndjson"', {"data/file_formats.py"}),
    "a command": (r"exporting", {"cli/exporting.py", "cli/app.py"}),
}


def sources():
    """Files of the library without the notes and the lab, which show what there is."""
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] not in ("notes", "lab"):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ADDED)
def test_it_is_named_in_the_files_that_contributing_lists(kind):
    word, files = ADDED[kind]
    pattern = re.compile(rf"(?<!\w){word}(?!\w)")
    assert {name for name, text in sources() if pattern.search(text)} == files


def test_a_new_file_of_a_rule_is_found(tmp_path):
    """The list of update rules is made of the files, so that a new one is listed when it is generated again."""
    for path in (ROOT / "optimize" / "rules").glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text())
    assert margin.stub.render_rules(tmp_path) == (ROOT / "optimize" / "rules" / "__init__.py").read_text()
    (tmp_path / "signum.py").write_text(RULE)
    made = margin.stub.render_rules(tmp_path)
    assert "from margin.optimize.rules.signum import Signum\n" in made
    assert '    "Signum",\n' in made
    assert '    "signum": Signum,\n' in made


def test_every_suffix_is_of_one_format_and_none_is_refused():
    suffixes = table_suffixes()
    assert len(set(suffixes)) == len(suffixes)
    assert not set(suffixes) & set(FOREIGN)
    for known in FORMATS:
        for suffix in known.suffixes:
            assert format_of(suffix) is known
        for beginning in known.begins:
            assert format_of("", beginning + b"...") is known
            assert format_of(".txt", beginning + b"...") is known, "what bytes begin with counts before a suffix"
    assert format_of("", b"a,b\n1,2\n") is None
    assert format_of(".csv", b'{"a": 1}') is FORMATS[-1]
