"""Every row of the atlas points to code that exists and to a check that holds; complete areas miss nothing."""

import importlib

import pytest

from margin import atlas, claims, experiments
from margin.service.evidence import verify

# Areas in which every row of the contract must be built. The others grow, and the ledger says how far they are.
COMPLETE = (
    "linear-algebra",
    "unsupervised",
    "reduction",
    "probability",
    "statistics",
    "information",
    "transport",
    "optimization",
    "trees-ensembles",
    "supervised",
    "activations",
    "losses",
    "layers",
    "initialization",
    "normalization",
)


def resolve(path):
    """The object behind a dotted path, whose tail may be an attribute of a class."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(path)


@pytest.mark.parametrize("row", atlas.rows().values(), ids=lambda row: row.id)
def test_row_is_sound(row):
    expected = atlas.inventory()[row.id]
    assert (row.area, row.kind) == (expected.area, expected.kind)
    assert row.statement
    assert row.title
    assert row.where
    assert row.code
    for path in row.code:
        assert path.startswith("margin."), path
        resolve(path)
    assert bool(row.erratum) == expected.has_erratum, "the erratum of the contract must be stated, and only it"
    assert row.experiment or row.id in claims.of_area(row.area), "a row needs a claim or an experiment"
    assert not row.experiment or row.experiment in experiments.names()


@pytest.mark.parametrize("row", atlas.rows().values(), ids=lambda row: row.id)
def test_row_holds(row):
    (checked,) = verify([atlas.inventory()[row.id]])
    assert checked.verdict == ("corrected" if row.erratum else "holds"), (checked.measured, checked.expected)


@pytest.mark.parametrize("area", atlas.areas())
def test_every_claim_belongs_to_a_row(area):
    built = {row.id for row in atlas.rows().values() if row.area == area}
    assert set(claims.of_area(area)) <= built


@pytest.mark.parametrize("area", COMPLETE)
def test_complete_area_misses_no_row(area):
    wanted = {id for id, expected in atlas.inventory().items() if expected.area == area}
    assert wanted - set(atlas.rows()) == set()


def test_ledger(capsys):
    """How many rows of each area are built, printed."""
    lines = []
    for area in atlas.areas():
        wanted = [id for id, expected in atlas.inventory().items() if expected.area == area]
        built = sum(id in atlas.rows() for id in wanted)
        if built:
            lines.append(f"{area} {built}/{len(wanted)}")
    with capsys.disabled():
        print(f"\natlas: {len(atlas.rows())} of {len(atlas.inventory())} rows built: " + ", ".join(lines))
    assert set(atlas.rows()) <= set(atlas.inventory())
