"""Samples without a state: SplitMix64 against its published numbers, counts that are uniform, old files."""

import numpy as np
import pytest
from scipy.stats import chisquare

from margin import store
from margin.trees import ExtraTreesRegressor, RandomForestClassifier
from margin.trees.forest import growing
from margin.trees.forest.bootstrap import STEP, _hash, sample_counts, tree_keys
from margin.trees.forest.out_of_bag import bootstrap_counts

ROWS = np.random.default_rng(0).normal(size=(60, 3))
CLASSES = (ROWS[:, 0] + ROWS[:, 1] > 0).astype(int) + (ROWS[:, 2] > 1)


def test_the_hash_is_splitmix64():
    first = _hash(np.arange(1, 4, dtype=np.uint64) * STEP)  # the generator with the seed 0
    assert [hex(number) for number in first.tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


@pytest.mark.parametrize("n", [7, 100])
def test_every_row_is_drawn_equally_often(n):
    counts = sample_counts(tree_keys(3, 0, 200), n, n)
    assert (counts.sum(axis=1) == n).all()
    assert chisquare(counts.sum(axis=0)).pvalue > 1e-4
    assert np.mean(counts == 0) == pytest.approx((1 - 1 / n) ** n, abs=4 * np.sqrt(0.25 / counts.size))
    assert len(np.unique(counts, axis=0)) > 150


def test_a_tree_draws_the_same_in_any_company():
    alone = [sample_counts(tree_keys(5, k, k + 1), 30, 20)[0] for k in range(4)]
    np.testing.assert_array_equal(sample_counts(tree_keys(5, 0, 4), 30, 20), alone)


@pytest.mark.parametrize("cells", [1, 3 * 60, 10**9])
@pytest.mark.parametrize("model", [RandomForestClassifier(7, random_state=1), ExtraTreesRegressor(7, random_state=1)])
def test_trees_do_not_depend_on_how_many_grow_in_a_call(model, cells, monkeypatch):
    whole = model.fit(ROWS, CLASSES).trees_
    monkeypatch.setattr(growing, "BATCH_CELLS", cells)
    for one, other in zip(whole, model.fit(ROWS, CLASSES).trees_, strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_a_forest_of_an_earlier_version_knows_its_samples(tmp_path):
    """Its file names no stream: every tree had a generator of its own, and trees added later go on with that."""
    forest = RandomForestClassifier(3, random_state=2).fit(ROWS, CLASSES)
    del forest._sampling["stream"]
    store.save(forest, tmp_path / "forest")
    old = store.load(tmp_path / "forest")
    drawn = [bootstrap_counts(60, 60, np.random.default_rng([2, k + 1])).astype(int) for k in range(4)]
    expected = [np.repeat(np.arange(60), counts) for counts in drawn]
    for rows, own in zip(old.estimators_samples_, expected[:3], strict=True):
        np.testing.assert_array_equal(rows, own)
    more = old.set_params(n_estimators=4, warm_start=True).fit(ROWS, CLASSES)
    np.testing.assert_array_equal(more.estimators_samples_[3], expected[3])
    assert more.trees_[3]["n_samples"][0] == np.count_nonzero(drawn[3])
