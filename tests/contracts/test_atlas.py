"""Every row of the atlas points to code that exists and to a check that holds; complete areas miss nothing."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from docs.generators.picture_texts import text_faults
from tests import oracles

from margin.notes import atlas, claims, experiments
from margin.notes.claims.citations import Calls, resolve
from margin.notes.pictures import draw_picture, picture_style
from margin.service.evidence import SEED, verify

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


# Cited code that nothing independent is compared with yet: data, workers and models whose claims alone hold them.
WITHOUT_ORACLE = {
    "margin.data.cards.dataset_info",
    "margin.data.image_sets.image_set_info",
    "margin.foundations.linalg.INFINITE_COUNTERPART",
    "margin.foundations.transport.network_simplex_kernels.network_simplex",
    "margin.generative.workflow.describe",
    "margin.graphical.BayesianNetwork",
    "margin.meta.domains.domain_adapt",
    "margin.neural.attention.backward.block_backward",
    "margin.neural.augment",
    "margin.neural.estimators.NeuralRegressor",
    "margin.neural.estimators.SequenceClassifier",
    "margin.neural.estimators.SequenceRegressor",
    "margin.neural.estimators.vision_transformer.VisionTransformer",
    "margin.neural.nets.language_nets.gpt_oss_style",
    "margin.neural.nets.pixels.UpStep",
    "margin.neural.nets.pixels.enlarge",
    "margin.neural.training.replicas.data_parallel",
    "margin.optimize.rate_schedules.Plateau",
    "margin.runs.fit",
    "margin.text.masked_language_model.MaskedLanguageModel",
    "margin.text.synsets.class_hierarchy",
    "margin.text.synsets.synsets",
    "margin.text.taggers.CRFTagger",
    "margin.text.token_tagger.TokenTagger",
    "margin.text.word2vec.Word2Vec",
    "margin.vision.detection.ObjectDetector",
    "margin.vision.detection.ObjectDetector.explain",
    "margin.vision.detection.average_precision.mean_average_precision",
    "margin.vision.features.HOG",
    "margin.vision.features.sift.sift",
}


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


@pytest.mark.parametrize("id", [row.id for row in atlas.rows().values() if not row.experiment])
def test_claim_holds(id):
    row = atlas.rows()[id]
    cited = [resolve(path) for path in row.code]
    with Calls(*cited) as calls:
        results = list(verify([atlas.inventory()[id]]))
    assert_sound([row], results, calls)


@pytest.mark.parametrize("name", experiments.names())
def test_experiment_holds(name):
    """The rows of an experiment hold by one run of its fast mode; its picture can be read, its numbers come again.

    One run serves all of that: experiments are the longest part of the contracts.
    """
    rows = [row for row in atlas.rows().values() if row.experiment == name]
    module = experiments.load(name)
    with Calls(*(resolve(path) for row in rows for path in row.code)) as calls:
        data = module.run(SEED, fast=True)
        verdict = module.check(data)
        results = list(verify([atlas.inventory()[row.id] for row in rows], outcomes={name: verdict}))
    assert verdict.ok, (verdict.measured, verdict.expected)
    assert_sound(rows, results, calls)
    with picture_style():
        figure = draw_picture(module, data)
        assert figure.axes, "an experiment draws something"
        assert text_faults(figure) == [], "every text of a picture can be read"
    assert experiments.title(module)
    first, again = flat(data), flat(module.run(SEED, fast=True))
    assert len(first) == len(again)
    for a, b in zip(first, again):
        if isinstance(a, int | float | str | np.ndarray | np.generic):
            np.testing.assert_array_equal(a, b, err_msg="the same seed gives the same numbers")


def assert_sound(rows, results, calls):
    """Each row holds, or is corrected where the notes slip, and its check runs all the code that it cites."""
    for row, checked in zip(rows, results, strict=True):
        assert checked.verdict == ("corrected" if row.slips else "holds"), (row.id, checked.measured, checked.expected)
        assert len(checked.slips) >= len(row.slips), "every slip of the notes has a counter-example of its own"
        idle = [path for path in row.code if not calls.reached(resolve(path))]
        assert not idle, "a row cites code that its check does not run"


def flat(value):
    if isinstance(value, dict):
        return [item for key in value for item in flat(value[key])]
    if isinstance(value, list | tuple):
        return [item for part in value for item in flat(part)]
    return [value]


def paths_by_oracle():
    """One comparison may stand for several paths; it is enough to run it once."""
    groups = {}
    for path in oracles.all_paths():
        groups.setdefault(oracles.oracle_of(path), []).append(path)
    return list(groups.values())


@pytest.mark.parametrize("paths", paths_by_oracle(), ids=lambda paths: "+".join(paths))
def test_oracle_runs_the_code_that_rows_cite(paths):
    cited = [resolve(path) for path in paths]
    with Calls(*cited) as calls:
        verdict = oracles.oracle_of(paths[0])(1)
    assert verdict.ok, (verdict.measured, verdict.expected)
    for path, code in zip(paths, cited, strict=True):
        assert any(path in row.code for row in atlas.rows().values()), f"an oracle of {path}, which no row cites"
        assert calls.reached(code), f"the oracle of {path} does not run it"


def test_every_row_cites_code_with_an_oracle():
    """Some of the code of every row is held against an independent implementation."""
    without = [row.id for row in atlas.rows().values() if not any(map(oracles.has_oracle, row.code))]
    assert without == []


def test_cited_code_has_an_oracle():
    """All code that rows cite, the rows' own experiments aside; the exceptions are named and may only become fewer."""
    cited = {path for row in atlas.rows().values() for path in row.code if not path.startswith("margin.notes.")}
    assert {path for path in cited if not oracles.has_oracle(path)} == WITHOUT_ORACLE


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
