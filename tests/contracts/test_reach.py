"""What is proven is what runs: the row of a method in use cites code that the product reaches.

Rows about mathematics as such (laws, quantities, terms, figures, data sets) may cite public functions of
``margin.foundations`` instead. The rows for which neither holds stand in ``not_in_use.toml``, in groups with a reason.
"""

import ast
import importlib
import inspect
import pkgutil
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests import oracles

import margin.foundations
from margin import catalog
from margin.notes import atlas, claims, experiments
from margin.notes.claims.citations import Calls, resolve
from margin.service.public_functions import render
from margin.service.reach import product

METHODS = {"algorithm", "model", "layer", "loss", "metric", "practice"}
ROOT = Path(__file__).parents[2]
GROUPS = tomllib.loads(Path(__file__).with_name("not_in_use.toml").read_text())["group"]
NOT_IN_USE = {id: group["reason"] for group in GROUPS for id in group["rows"]}


@cache
def public_mathematics():
    """The documented functions and classes that modules of ``foundations`` name in ``__all__``."""
    found = pkgutil.walk_packages(margin.foundations.__path__, "margin.foundations.")
    modules = [importlib.import_module(module.name) for module in found]
    members = [getattr(module, name) for module in modules for name in getattr(module, "__all__", ())]
    return {id(member) for member in members if callable(member) and inspect.getdoc(member)}


def is_public_mathematics(path):
    """A public function or class of ``foundations``, or a method of such a class."""
    owner = path.rpartition(".")[0]
    return path.startswith("margin.foundations.") and bool(
        {id(resolve(path)), id(resolve(owner))} & public_mathematics()
    )


def is_reached(row):
    return any(product().is_reached(path) for path in row.code)


def is_run_or_public(row):
    """A figure, an example or a data set of the notes may be in the notes' own wing."""
    own = row.kind in ("figure", "example", "dataset") and any(path.startswith("margin.notes.") for path in row.code)
    is_mathematics = row.kind not in METHODS and any(map(is_public_mathematics, row.code))
    return own or is_mathematics or is_reached(row)


def test_rows_cite_what_the_product_runs(capsys):
    rows = atlas.rows()
    running = [row for row in rows.values() if is_reached(row)]
    commanded = [row for row in running if any(product().is_reached(path, functions=False) for path in row.code)]
    methods = [row for row in rows.values() if row.kind in METHODS]
    with capsys.disabled():
        print(
            f"\nreach: {len(running)} of {len(rows)} rows cite code that the product runs ({len(commanded)} that of "
            f"estimators and commands); {sum(map(is_reached, methods))} of {len(methods)} methods; "
            f"{len(NOT_IN_USE)} rows are excused"
        )
    idle = {id for id, row in rows.items() if not is_run_or_public(row)}
    assert not idle - NOT_IN_USE.keys(), "these rows cite only code that no estimator, function or command reaches"
    assert not NOT_IN_USE.keys() - idle, "these rows now cite what runs: take them out of not_in_use.toml"


def test_every_excuse_has_a_reason_and_every_row_one_excuse():
    assert all(len(group["reason"].split()) > 3 and group["rows"] for group in GROUPS)
    assert len(NOT_IN_USE) == sum(len(group["rows"]) for group in GROUPS)


@pytest.mark.parametrize("row", [row for row in atlas.rows().values() if row.as_run], ids=lambda row: row.id)
def test_what_a_row_says_is_run_is_reached(row):
    for path in row.as_run:
        assert product().is_reached(path), path


@cache
def names_in_tests():
    """The names that each function of the tests uses."""
    trees = [ast.parse(path.read_text()) for path in sorted((ROOT / "tests").rglob("*.py"))]
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [
        {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in ast.walk(function)}
        for function in functions
    ]


def compares(row):
    """Whether the row's check has a part ``as_run``, or an oracle or a test stands for both forms."""
    check = claims.of_area(row.area).get(row.id)
    places = [check.function] if check else []
    places += [experiments.load(row.experiment)] if row.experiment else []
    if any("as_run=" in inspect.getsource(place) for place in places):
        return True
    both = (row.as_run, row.as_written)
    run, written = ({oracles.oracle_of(path) for path in paths if oracles.has_oracle(path)} for paths in both)
    leaves = [{path.rpartition(".")[2] for path in paths} for paths in both]
    return bool(run & written) or any(all(names & leaf for leaf in leaves) for names in names_in_tests())


def is_one_code(row):
    """Whether the form as written ends in the one that runs: then there is nothing to compare."""
    package = product().package
    below = package.reach([found for path in row.as_written if (found := package.find(path)) is not None])
    return any(package.find(path) in below for path in row.as_run)


@pytest.mark.parametrize(
    "row", [row for row in atlas.rows().values() if row.as_run and row.as_written], ids=lambda row: row.id
)
def test_one_check_holds_both_forms_together(row):
    assert compares(row) or is_one_code(row), "no check compares the form as written with the one that runs"


# Called by scikit-learn and from C, whose sources are not read.
BY_OTHERS = ("margin.compiled.",)
BY_OTHERS += ("margin.core.estimator.Estimator._get_param_names",)


FITTED = ["ridge", "gaussian-nb", "kmeans", "pca", "gaussian-mixture", "c45", "svc", "histogram-density"]


@pytest.mark.parametrize("name", FITTED)
def test_what_a_fit_runs_is_reached(name):
    """The reach is found without running anything; a fit and its predictions must not run more than it says."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = (X[:, 0] > 0.1).astype(int)
    model = catalog.create(name)

    def use():
        model.fit(X, y)
        for method in ("predict", "predict_proba", "transform", "score_samples"):
            if hasattr(model, method):
                getattr(model, method)(X)

    use()  # imports what it needs, which runs the bodies of modules and classes
    with Calls() as calls:
        use()
    root = str(Path(margin.__file__).parent)
    executed = set()
    for code in calls.codes:
        if code.co_filename.startswith(root):
            module = Path(code.co_filename).relative_to(Path(root).parent).with_suffix("").as_posix().replace("/", ".")
            executed.add(f"{module.removesuffix('.__init__')}.{code.co_qualname}")
    known = executed & product().package.parts.keys()
    assert len(known) >= 15
    assert not {path for path in known - product().estimators[name] if not path.startswith(BY_OTHERS)}


def test_public_functions_are_offered_by_their_packages():
    for module, names in catalog.PUBLIC_FUNCTIONS.items():
        package = importlib.import_module(module)
        assert set(names) <= set(package.__all__), module
        assert all(inspect.getdoc(getattr(package, name)) for name in names)


def test_the_page_of_public_functions_is_current():
    stored = (ROOT / "docs" / "functions.md").read_text()
    assert stored == render(), "run: make generated"
