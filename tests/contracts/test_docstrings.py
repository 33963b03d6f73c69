"""Parameters sections name what a function takes: all of it, and nothing else."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import margin

# Libraries of functions, whose every public one says what each of its parameters is, in a section or in a sentence.
COMPLETE = (
    "margin.metrics",
    "margin.optimize",
    "margin.foundations.statistics",
    "margin.foundations.transport",
    "margin.foundations.information",
    "margin.foundations.probability",
    "margin.neural.losses",
    "margin.data.splits",
    "margin.data.folds",
    "margin.vision.segmentation",
)
WITHOUT_FUNCTIONS = ("margin.notes.claims", "margin.notes.experiments", "margin.cli", "margin.notes.atlas")


def packages():
    for module in pkgutil.walk_packages(margin.__path__, "margin."):
        if module.ispkg and not module.name.startswith(WITHOUT_FUNCTIONS):
            yield module.name


def public_functions():
    """Functions that a package names in its ``__all__``, each once."""
    seen = {}
    for name in packages():
        package = importlib.import_module(name)
        for member in getattr(package, "__all__", ()):
            value = getattr(package, member)
            if inspect.isfunction(value):
                seen.setdefault(f"{value.__module__}.{value.__name__}", value)
    return seen


def parameters_section(docstring):
    """Names of the Parameters section, and whether it leaves others to another function; None without a section."""
    found = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", docstring, re.MULTILINE | re.DOTALL)
    if found is None:
        return None
    heads = re.findall(r"^(\*{0,2}\w[\w, *]*?)(?: : .*)?$", found[1], re.MULTILINE)
    return [name.strip() for head in heads for name in head.split(",")], "The others are those of" in found[1]


FUNCTIONS = public_functions()


@pytest.mark.parametrize("path", sorted(FUNCTIONS))
def test_parameters_sections_agree_with_the_signature(path):
    function = FUNCTIONS[path]
    docstring = inspect.getdoc(function) or ""
    section = parameters_section(docstring)
    if section is None:
        silent = [name for name in inspect.signature(function).parameters if not re.search(rf"\b{name}\b", docstring)]
        assert not (path.startswith(COMPLETE) and silent), f"nothing is said about {silent}"
        return
    named, others_elsewhere = section
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    takes = [marks.get(p.kind, "") + name for name, p in inspect.signature(function).parameters.items()]
    assert set(named) <= set(takes), set(named) - set(takes)
    assert others_elsewhere or set(takes) <= set(named), set(takes) - set(named)


def test_mathematics_of_docstrings_is_a_role():
    r"""Where a docstring has ``\(x\)``, a page shows the parentheses and the commands."""
    package = Path(margin.__file__).parent
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if r"\(" in text:  # else there is nothing to parse
            nodes = (
                node
                for node in ast.walk(ast.parse(text))
                if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            )
            for node in nodes:
                words = re.sub(r"``.+?``", "", ast.get_docstring(node) or "")
                assert not re.search(r"\\[(\[]", words), f"{path.name}: {getattr(node, 'name', 'the module')}"
