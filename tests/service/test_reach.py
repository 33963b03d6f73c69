"""The reach of a small package written here: what names lead to, and what only looks like a way."""

from types import SimpleNamespace

import pytest

from margin.notes import atlas
from margin.service import reach
from margin.service.reach.parts import read_sources
from margin.service.reach.walking import Package

FILES = {
    "__init__.py": "from small.models import Model\n",
    "models.py": """
import numpy as np
from small import functions, tables
from small.functions import used as renamed, entropy
from small.shapes import Circle, Square

class Base:
    def fit(self, X):
        return self._solve(X)

    def _solve(self, X):
        return functions.from_above(X)

    def forgotten(self):
        return functions.only_forgotten()

class Model(Base):
    size: functions.only_annotated = functions.default()

    def _solve(self, X):
        from small.compiled.sums import add
        from small.late import imported_late

        entropy = X
        for group in (tables,):
            group.register(X)
        add(X)
        super()._solve(X)
        return renamed(X), functions.by_module(X), imported_late(X), Circle().area() + np.unused(entropy)

    def plot(self):
        return functions.RULES["a"]
""",
    "functions.py": """
from small.deep import deepest

def used(X): return deepest(X)
def from_above(X): return X
def by_module(X): return X
def only_annotated(X): return X
def only_forgotten(): return 1
def default(): return 1
def entropy(X): return X
def in_table(X): return X
def unused(X): return X
RULES = {"a": in_table}
""",
    "deep.py": "def deepest(X): return X\ndef beside(X): return X\n",
    "late.py": "def imported_late(X): return X\n",
    "means/other_kernels.py": "def add(X): return X\n",
    "sums/fast_kernels.py": "def add(X): return each(X)\ndef each(X): return X\ndef twice(X): return X\n",
    "tables.py": "def register(X): return X\ndef other(X): return X\n",
    "shapes.py": """
class Circle:
    def __init__(self): self.r = radius()
    def area(self): return self.r
    def turn(self): return 0

class Square:
    def area(self): return 1

def radius(): return 1
""",
    "notes/claims.py": "from small.functions import unused\ndef check(): return unused(1)\n",
}


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "small" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Package(read_sources(tmp_path / "small", without=("notes",)))


@pytest.fixture
def reached(package):
    found = package.find("small.Model")
    return package.reach([found, package.method(found, "fit"), package.method(found, "plot")])


def test_a_path_is_followed_through_imports_and_base_classes(package):
    assert package.find("small.Model") == "small.models.Model"
    assert package.find("small.Model.fit") == "small.models.Base.fit"
    assert package.find("small.functions") == "small.functions"
    assert package.find("small.nothing") is None
    assert package.find("other.nothing") is None


@pytest.mark.parametrize(
    "path",
    [
        "models.Base.fit",
        "models.Model._solve",
        "functions.used",
        "functions.by_module",
        "functions.from_above",
        "functions.default",
        "functions.RULES",
        "functions.in_table",
        "deep.deepest",
        "late.imported_late",
        "tables.register",
        "shapes.Circle",
        "shapes.Circle.area",
        "shapes.radius",
        "sums.fast_kernels.add",
        "sums.fast_kernels.each",
    ],
)
def test_what_a_method_names_is_reached(reached, path):
    assert f"small.{path}" in reached


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("functions.unused", "only numpy is asked for this name, and a claim"),
        ("functions.entropy", "the name is a variable of the method"),
        ("functions.only_annotated", "an annotation does not run"),
        ("functions.only_forgotten", "only a method that nobody calls uses it"),
        ("models.Base.forgotten", "nobody calls it"),
        ("deep.beside", "its module is reached, it is not"),
        ("sums.fast_kernels.twice", "compiled, but nobody calls it"),
        ("means.other_kernels.add", "the kernel of that name in another package"),
        ("tables.other", "the module is passed on, but not asked for this"),
        ("shapes.Square", "imported only"),
        ("shapes.Square.area", "a method of its name is called, but its class is not reached"),
        ("shapes.Circle.turn", "nobody calls it"),
    ],
)
def test_what_only_looks_used_is_not_reached(reached, path, why):
    assert f"small.{path}" not in reached, why


def test_the_product_reaches_its_estimators_and_not_the_notes():
    product = reach.product()
    assert product.is_reached("margin.cluster.KMeans")
    assert product.is_reached("margin.cluster.KMeans.fit")
    assert product.is_reached("margin.cli.models.show")
    assert product.is_reached("margin.foundations.linalg.gram.add_gram")
    assert "kmeans" in product.users("margin.core.records.Record")
    assert not any(module.startswith("margin.notes") for module in product.modules())
    assert not product.is_reached("margin.trees.multiway.play_tennis")  # an example of the notes


def test_kept_paths_are_found_again_and_damaged_ones_anew(tmp_path, monkeypatch):
    row = atlas.row("k-means")
    first = reach.paths_of(row, tmp_path)
    assert "kmeans" in first["used_by"]
    assert set(first["as_run"]) <= set(row.code)
    monkeypatch.setattr(reach, "product", lambda: pytest.fail("read anew"))
    assert reach.paths_of(row, tmp_path) == first
    (tmp_path / "reach.json").write_text("[1")
    empty = SimpleNamespace(users=lambda path: (), is_reached=lambda path: False)
    monkeypatch.setattr(reach, "product", lambda: empty)
    assert reach.paths_of(row, tmp_path) == {"as_written": list(row.code), "as_run": [], "used_by": []}
