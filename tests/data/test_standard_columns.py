"""Standard columns against scikit-learn's scaler; a column that was constant stays zero when it moves."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import margin
from margin.data import preprocessor
from margin.data.standard_columns import StandardColumns
from margin.store import StoreError

X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1e-9, 1e9] + [0.0, 5e-9, 1e10]


def test_what_varies_is_scaled_as_scikit_learn_scales_it():
    ours, theirs = StandardColumns().fit(X), StandardScaler().fit(X)
    np.testing.assert_array_equal(ours.transform(X), theirs.transform(X))
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), X, rtol=1e-12)
    weights = np.arange(50.0)
    heavy = StandardColumns().fit(X, sample_weight=weights)
    np.testing.assert_array_equal(heavy.mean_, StandardScaler().fit(X, sample_weight=weights).mean_)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e150, 1e15])
def test_a_constant_stays_zero_also_if_it_is_one_only_up_to_rounding(value):
    rows = np.column_stack([X, np.full(50, value)])
    rows[::2, 3] = np.nextafter(value, 1e308) if value else 0.0
    scaler = StandardColumns().fit(rows)
    moved = np.column_stack([X, np.linspace(-1e300, 1e300, 50)])
    np.testing.assert_array_equal(scaler.transform(moved)[:, 3], np.zeros(50))
    np.testing.assert_array_equal(scaler.transform(rows)[:, 3], np.zeros(50))
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(rows))[:, 3], rows[:, 3], rtol=1e-12)


def test_a_file_keeps_it_and_refuses_another(tmp_path):
    scaler = StandardColumns().fit(np.column_stack([X, np.ones(50)]))
    margin.save(scaler, tmp_path / "s.safetensors")
    moved = np.column_stack([X, np.full(50, 1e9)])
    np.testing.assert_array_equal(margin.load(tmp_path / "s.safetensors").transform(moved), scaler.transform(moved))
    scaler.with_std = False
    margin.save(scaler, tmp_path / "s.safetensors")
    with pytest.raises(StoreError, match="with_std"):
        margin.load(tmp_path / "s.safetensors")


def test_a_network_behind_it_does_not_see_a_constant_move():
    train = np.column_stack([X[:, 0], np.full(50, 3.0)])
    prepare = preprocessor(np.column_stack([X[:, 0], np.arange(50.0)])).fit(train)  # it varies, but not in these rows
    network = margin.MLPRegressor((8,), max_iter=20, random_state=0).fit(prepare.transform(train), X[:, 0])
    moved = np.column_stack([X[:, 0], np.full(50, 3e6)])
    np.testing.assert_array_equal(network.predict(prepare.transform(moved)), network.predict(prepare.transform(train)))
