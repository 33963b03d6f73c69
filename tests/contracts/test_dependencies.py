"""Arrows point only downward: a module imports its own package and the packages below it, never above or beside."""

import ast
from pathlib import Path

import pytest

import margin

ROOT = Path(margin.__file__).parent

# From the bottom up; packages on one line are siblings and never import each other unless named in MAY_SEE.
LAYERS = [
    {"core", "compiled"},
    {"foundations"},
    {"data", "metrics", "optimize"},
    {"linear", "kernels", "neighbors", "bayes", "trees", "cluster", "mixture", "reduction", "graphical"},
    {"neural"},
    {"text", "generative", "vision", "representation", "graphs", "physics", "meta", "forecasting"},
    {"selection", "interpretation", "report"},
    {"notes"},
    {"catalog", "store", "runs", "service"},
    {"lab"},
    {"serving"},
    {"cli", "stub"},
]
LEVEL = {package: level for level, packages in enumerate(LAYERS) for package in packages}
# The catalog is names only, so the store may read it; each of these may import those before it.
ORDER_AT_THE_TOP = ["catalog", "store", "runs", "service"]
MAY_SEE = {
    ("core", "compiled"),
    ("optimize", "metrics"),
    ("mixture", "cluster"),  # EM starts from k-means
    ("graphical", "mixture"),  # the states of a chain emit what the components of a mixture do
    ("graphical", "neighbors"),  # a network of states is a density by the columns of a table
    ("representation", "text"),  # CLIP reads captions by the tokenizer that its folder has
    ("report", "interpretation"),  # a page shows what a model has learned
}
HEAVY = {"torch": "neural", "matplotlib": "notes"}  # the lowest package that may import it


def modules():
    return sorted(path for path in ROOT.rglob("*.py"))


def package(path):
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imports(tree, *, top_only=False):
    nodes = tree.body if top_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from ([f"margin.{alias.name}" for alias in node.names] if node.module == "margin" else [node.module])


def allowed(source, target):
    if source == target or target == "__init__" or LEVEL[target] < LEVEL[source]:
        return True
    if {source, target} <= set(ORDER_AT_THE_TOP):
        return ORDER_AT_THE_TOP.index(target) < ORDER_AT_THE_TOP.index(source)
    return (source, target) in MAY_SEE


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downward(path):
    source = package(path)
    if source in ("__init__", "__main__"):
        return
    tree = ast.parse(path.read_text())
    for name in imports(tree):
        if name.startswith("margin."):
            target = name.split(".")[1]
            if target in LEVEL:
                assert allowed(source, target), f"{source} must not import {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_libraries_stay_in_their_packages(path):
    source = package(path)
    if source in ("__init__", "__main__"):
        return
    for name in imports(ast.parse(path.read_text()), top_only=True):
        library = name.partition(".")[0]
        if library in HEAVY:
            assert LEVEL[source] >= LEVEL[HEAVY[library]], f"{source} must not import {library} when it is imported"
            assert library != "matplotlib", "matplotlib is imported only inside draw()"


def test_every_package_is_in_the_plan():
    packages = {package(path) for path in modules()} - {"__init__", "__main__"}
    assert packages <= LEVEL.keys(), f"packages without a place in the layers: {packages - LEVEL.keys()}"


def test_a_class_name_has_one_meaning():
    """Public classes of the whole library have different names, so that a name in prose or a traceback is enough."""
    homes = {}
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    shared = {name: places for name, places in homes.items() if len(places) > 1}
    assert shared == {}, shared
