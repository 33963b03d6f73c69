"""Every row of the atlas points to code that exists and to a check that holds; complete areas miss nothing."""

import pytest
from tests import oracles

from margin.notes import atlas, claims, experiments
from margin.notes.claims.citations import Calls, resolve
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
    "evaluation",
    "bias-variance",
    "neural-core",
    "rnn",
    "cnn",
    "regularization",
    "bayesian-network",
    "generative-evaluation",
    "text",
    "autoencoder",
    "vae",
    "gan",
    "diffusion",
    "graph",
    "physics",
    "transformer",
    "meta-learning",
    "software",
    "detection",
    "segmentation",
    "representation",
    "interpretation",
)


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


def rows_by_check():
    """Rows that share an experiment, which is then run once, and the others one by one."""
    groups = {}
    for row in atlas.rows().values():
        groups.setdefault(("experiment", row.experiment) if row.experiment else ("claim", row.id), []).append(row)
    return list(groups.values())


@pytest.mark.parametrize("rows", rows_by_check(), ids=lambda rows: "+".join(row.id for row in rows))
def test_rows_hold(rows):
    cited = {path: resolve(path) for row in rows for path in row.code}
    with Calls() as calls:
        results = list(verify([atlas.inventory()[row.id] for row in rows]))
    for row, checked in zip(rows, results, strict=True):
        assert checked.verdict == ("corrected" if row.slips else "holds"), (row.id, checked.measured, checked.expected)
        assert len(checked.slips) >= len(row.slips), "every slip of the notes has a counter-example of its own"
        idle = [path for path in row.code if not calls.reached(cited[path])]
        assert not idle, "a row cites code that its check does not run"


def paths_by_oracle():
    """One comparison may stand for several paths; it is enough to run it once."""
    groups = {}
    for path in oracles.all_paths():
        groups.setdefault(oracles.oracle_of(path), []).append(path)
    return list(groups.values())


@pytest.mark.parametrize("paths", paths_by_oracle(), ids=lambda paths: "+".join(paths))
def test_oracle_runs_the_code_that_rows_cite(paths):
    cited = [resolve(path) for path in paths]
    with Calls() as calls:
        verdict = oracles.oracle_of(paths[0])(1)
    assert verdict.ok, (verdict.measured, verdict.expected)
    for path, code in zip(paths, cited, strict=True):
        assert any(path in row.code for row in atlas.rows().values()), f"an oracle of {path}, which no row cites"
        assert calls.reached(code), f"the oracle of {path} does not run it"


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
