"""Synthetic tables: columns there and back, relations kept, copies found out, kills change nothing."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from margin.generative import GAN, DiffusionModel, TableSynthesizer
from margin.generative.tables.columns import decode_column, encode_column, learn_column, width
from margin.generative.tables.privacy import nearest_neighbor_privacy
from margin.store.models import load_state, save_state

SMALL = DiffusionModel((32, 32), n_steps=20, sampling_steps=10, max_iter=3, batch_size=32, record_steps=4)


def people(n=600, seed=0):
    """Income grows with age and depends on the town; some incomes are missing, and children are whole numbers."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    town = rng.choice(["Bonn", "Kiel", "Ulm"], n, p=[0.5, 0.3, 0.2])
    income = np.exp(0.03 * age + (town == "Ulm") + 0.2 * rng.normal(size=n))
    income[rng.random(n) < 0.15] = np.nan
    return pd.DataFrame({"age": age, "town": town, "income": income, "children": rng.poisson(1.2, n), "own": age > 40})


@pytest.mark.parametrize(
    "column",
    [
        np.exp(np.random.default_rng(0).normal(size=300)),
        np.random.default_rng(1).integers(0, 5, 300),
        np.where(np.arange(300) % 7 == 0, np.nan, np.random.default_rng(2).normal(size=300)),
        np.array(["a", "b", None] * 100, dtype=object),
        np.array([True, False] * 150),
        np.full(300, 3.5),
    ],
    ids=["skewed", "counts", "missing", "labels", "flags", "constant"],
)
def test_columns_come_back(column):
    code = learn_column(column)
    coordinates = encode_column(code, column)
    assert coordinates.shape == (300, width(code))
    assert np.isfinite(coordinates).all()
    back = decode_column(code, coordinates)
    if column.dtype == object:
        assert back.tolist() == column.tolist()
    else:
        np.testing.assert_allclose(back.astype(float), column.astype(float), rtol=0, atol=1e-9)


def test_numbers_become_normal_scores():
    column = np.random.default_rng(0).exponential(size=5000)
    score = encode_column(learn_column(column), column)[:, 0]
    assert kstest(score, "norm").pvalue > 0.01


def test_new_numbers_stay_in_the_range_and_new_labels_are_refused():
    code = learn_column(np.random.default_rng(0).normal(size=100))
    far = decode_column(code, np.array([[-9.0], [9.0]]))
    np.testing.assert_allclose(far, code.values[[0, -1]])
    with pytest.raises(ValueError, match="must be one of training; got 'c'"):
        encode_column(learn_column(np.array(["a", "b"], dtype=object)), np.array(["c"], dtype=object))
    with pytest.raises(ValueError, match="at least one value"):
        learn_column(np.full(3, np.nan))


def test_a_table_is_drawn_with_its_types_and_relations():
    table = people(1500)
    model = DiffusionModel((128, 128), n_steps=50, max_iter=30, batch_size=64, learning_rate_init=5e-3)
    model.set_params(weight_average=0.98)
    made = TableSynthesizer(model, random_state=0).fit(table).sample(1500, random_state=0)
    assert made.dtypes.tolist() == table.dtypes.tolist()
    assert made.columns.tolist() == table.columns.tolist()
    np.testing.assert_allclose(
        made["town"].value_counts(normalize=True).sort_index(),
        table["town"].value_counts(normalize=True).sort_index(),
        atol=0.12,
    )
    assert made["income"].isna().mean() == pytest.approx(0.15, abs=0.08)
    assert made["children"].mean() == pytest.approx(table["children"].mean(), abs=0.3)
    truth, found = (np.log(t["income"]).corr(t["age"]) for t in (table, made))
    assert found > 0.7 * truth
    richer = [np.log(t["income"])[t["town"] == "Ulm"].mean() - np.log(t["income"]).mean() for t in (table, made)]
    assert richer[1] > 0.5 * richer[0]
    assert (made["own"] == (made["age"] > 40)).mean() > 0.85


def test_copies_are_found_out_and_fresh_rows_are_not():
    training, held_out, fresh = people(500, 1), people(500, 2), people(500, 3)
    model = TableSynthesizer(SMALL, random_state=0).fit(training)
    clean = model.privacy(fresh, training, held_out, random_state=0)
    assert abs(clean.nearer_to_training - 0.5) < 4 * clean.error
    assert not clean.memorizes
    copied = model.privacy(training.iloc[:300], training, held_out, random_state=0)
    assert copied.copies == 1.0
    assert copied.memorizes
    assert copied.distance_ratio < 0.2


def test_privacy_has_the_level_it_says_and_refuses_other_shapes():
    alarms = 0
    for seed in range(20):
        training, held_out, fresh = np.random.default_rng(seed).normal(size=(3, 200, 3))
        alarms += nearest_neighbor_privacy(fresh, training, held_out, random_state=seed).memorizes
    assert alarms == 0
    with pytest.raises(ValueError, match="tables of the same columns"):
        nearest_neighbor_privacy(np.zeros((2, 3)), np.zeros((2, 2)), np.zeros((2, 3)))


def test_a_kill_changes_nothing(tmp_path):
    table = people(100)
    whole, first, second = (TableSynthesizer(SMALL, random_state=5) for _ in range(3))
    list(whole.iterate(table))
    for record in first.iterate(table):
        if record.iteration >= 4:
            save_state(first.get_state(), tmp_path / "state.safetensors")
            break
    list(second.iterate(table, state=load_state(tmp_path / "state.safetensors")[0]))
    pd.testing.assert_frame_equal(second.sample(20, random_state=0), whole.sample(20, random_state=0))


def test_any_generative_model_will_do():
    model = TableSynthesizer(GAN(4, (16,), max_iter=2), random_state=0).fit(people(100))
    assert model.sample(4, random_state=0).shape == (4, 5)


def test_bad_coordinates_get_one_sentence():
    model = TableSynthesizer(SMALL, random_state=0).fit(people(60))
    with pytest.raises(ValueError, match="coordinates must have"):
        model.decode(np.zeros((1, 2)))
