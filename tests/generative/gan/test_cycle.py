"""The CycleGAN estimator: sets of unequal size, tables and pictures, kills that change nothing, bad input."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import margin
from margin.generative import CycleGAN
from margin.generative.gan.cycle import beside
from margin.store.models import load_state, save_state

SMALL = {"hidden_layer_sizes": (4,), "max_iter": 2, "batch_size": 8}


def two_sets(n_a=10, n_b=25):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_a, 2)), rng.normal([3.0, -1.0, 50.0], [1.0, 0.1, 9.0], size=(n_b, 3))


def test_rows_of_the_smaller_set_come_again_equally_often():
    a, b = np.arange(7), np.arange(100, 103)
    left, right = beside(a, b, np.random.default_rng(0))
    np.testing.assert_array_equal(left, a)
    assert len(right) == 7
    assert sorted(np.unique(right, return_counts=True)[1]) == [2, 2, 3]
    other, same = beside(b, a, np.random.default_rng(0))
    np.testing.assert_array_equal(other, right)
    np.testing.assert_array_equal(same, a)


@pytest.mark.parametrize("sizes", [(10, 25), (25, 10), (12, 12)])
def test_sets_of_any_sizes_are_translated_both_ways(sizes):
    A, B = two_sets(*sizes)
    model = CycleGAN(**SMALL, random_state=0).fit(A, B)
    assert model.transform(A).shape == (sizes[0], 3)
    assert model.inverse_transform(B).shape == (sizes[1], 2)
    assert model.get_feature_names_out().tolist() == ["cyclegan0", "cyclegan1", "cyclegan2"]
    assert CycleGAN(**SMALL, random_state=0).fit(A.astype(np.float32), B).transform(A[:2]).shape == (2, 3)


@pytest.mark.parametrize("options", [{}, {"image_shape": (4, 4), "weight_average": None}], ids=["rows", "images"])
def test_a_kill_changes_nothing(options, tmp_path):
    rng = np.random.default_rng(1)
    A, B = rng.random((30, 16)), 1 - rng.random((21, 16))
    settings = {**SMALL, **options, "random_state": 3, "record_steps": 3}
    whole, first, second = (CycleGAN(**settings) for _ in range(3))
    expected = [record.as_dict() for record in whole.iterate(A, B)]
    seen = []
    for record in first.iterate(A, B):
        seen.append(record.as_dict())
        if len(seen) == 2:
            save_state(first.get_state(), tmp_path / "state.safetensors")
            break
    state, _ = load_state(tmp_path / "state.safetensors")
    assert seen + [record.as_dict() for record in second.iterate(A, B, state=state)] == expected
    np.testing.assert_array_equal(second.transform(A), whole.transform(A))
    margin.save(whole, tmp_path / "model.safetensors")
    again = margin.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.inverse_transform(B), whole.inverse_transform(B))
    with pytest.raises(ValueError, match="the state belongs to a fit of other data"):
        list(CycleGAN(**settings).iterate(A, B + 1, state=state))


def test_pictures_are_seen_as_such_and_come_out_as_rows():
    rng = np.random.default_rng(0)
    pictures, inverted = rng.random((12, 4, 4)), 1 - rng.random((9, 4, 4))
    model = CycleGAN(**SMALL, random_state=0).fit(pictures, inverted)
    assert model.network_["shape"] == [1, 4, 4]
    made = model.transform(pictures)
    assert made.shape == (12, 16)
    flat = CycleGAN(**SMALL, image_shape=(4, 4), random_state=0).fit(pictures.reshape(12, 16), inverted.reshape(9, 16))
    np.testing.assert_array_equal(flat.transform(pictures.reshape(12, 16)), made)


def test_colors_stand_where_the_image_shape_says():
    rng = np.random.default_rng(0)
    first, last = rng.random((16, 3, 5, 6)), rng.random((12, 3, 5, 6))
    rows = [np.moveaxis(pictures, 1, 3).reshape(len(pictures), -1) for pictures in (first, last)]
    by_first, by_last = (
        CycleGAN(**SMALL, image_shape=shape, random_state=0).fit(*sets)
        for shape, sets in (((3, 5, 6), [first.reshape(16, -1), last.reshape(12, -1)]), ((5, 6, 3), rows))
    )
    made = by_first.transform(first.reshape(16, -1)).reshape(16, 3, 5, 6)
    np.testing.assert_array_equal(by_last.transform(rows[0]), np.moveaxis(made, 1, 3).reshape(16, -1))


def test_a_game_that_diverges_is_refused():
    A, B = two_sets()
    model = CycleGAN(**SMALL, penalty_weight=1e6, learning_rate_init=100.0, random_state=0)
    with pytest.raises(FloatingPointError, match=r"^CycleGAN: "):
        model.set_params(max_iter=50).fit(A, B)
    with pytest.raises(NotFittedError):
        model.transform(A)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"early_stopping": True}, "^CycleGAN: early_stopping must be False"),
        ({"learning_rate": "adaptive"}, "^CycleGAN: learning_rate must not wait for a plateau"),
        ({"alpha": 0.1}, "^CycleGAN: alpha must be 0 for solver 'adam'"),
        ({"image_shape": (3, 3)}, "image_shape must be"),
    ],
)
def test_bad_parameters_get_one_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        CycleGAN(**{**SMALL, **options}).fit(*two_sets())


def test_bad_sets_get_one_sentence():
    A, B = two_sets()
    for use in (CycleGAN().transform, CycleGAN().inverse_transform):
        with pytest.raises(NotFittedError, match="CycleGAN instance is not fitted yet"):
            use(A)
    with pytest.raises(ValueError, match=r"^CycleGAN: requires y to be passed, but the target y is None; y holds the"):
        CycleGAN().fit(A)
    with pytest.raises(ValueError, match=r"^CycleGAN: images of both sets must have one shape; got 16 and 9 pixels\.$"):
        CycleGAN((4,), image_shape=(4, 4)).fit(np.zeros((4, 16)), np.zeros((4, 9)))
    with pytest.raises(ValueError, match=r"0 sample\(s\).*CycleGAN"):
        CycleGAN().fit(A, B[:0])
    model = CycleGAN(**SMALL, random_state=0).fit(A, B)
    before = model.transform(A)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        model.fit(A, np.full((4, 3), np.nan))
    with pytest.raises(ValueError, match="3 features, but CycleGAN is expecting 2"):
        model.transform(B)
    with pytest.raises(ValueError, match=r"^CycleGAN: X must have the 3 columns of the second set; got 2\.$"):
        model.inverse_transform(A)
    np.testing.assert_array_equal(model.transform(A), before)


def test_pictures_of_another_shape_or_too_small_are_refused():
    wide, square = np.zeros((3, 4, 9)), np.zeros((5, 6, 6))  # of 36 pixels both
    with pytest.raises(ValueError, match=r"pictures in y must have 1 channels of 4 x 9 pixels.*got shape \(6, 6\)"):
        CycleGAN(**SMALL).fit(wide, square)
    model = CycleGAN(**SMALL, random_state=0).fit(wide, wide)
    for method in (model.transform, model.inverse_transform):
        with pytest.raises(ValueError, match="pictures in X must have 1 channels of 4 x 9 pixels"):
            method(square)
    with pytest.raises(ValueError, match=r"sides of at least 4 pixels; got \(3, 8\)"):
        CycleGAN(**SMALL).fit(np.zeros((3, 3, 8)), np.zeros((3, 3, 8)))


def test_pixels_from_one_end_of_the_numbers_to_the_other_are_translated():
    X = np.concatenate([np.full((3, 4, 4), -1.7e308), np.full((3, 4, 4), 1.7e308)])
    assert np.isfinite(CycleGAN(**SMALL, random_state=0).fit(X, X).center_).all()
    assert np.isfinite(CycleGAN(**SMALL, random_state=0).fit(X, X).transform(X)).all()


def test_a_constant_column_far_from_zero_is_no_divergence():
    A = np.column_stack([two_sets()[0], np.full(10, 1e30)])
    assert np.isfinite(CycleGAN(**SMALL, random_state=0).fit(A, two_sets()[1]).transform(A)).all()
