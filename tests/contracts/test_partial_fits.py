"""Models of one pass learn in pieces: ``partial_fit`` of all pieces is the fit of their rows, stored or not."""

import numpy as np
import pytest
from problems import ids
from streamed_problems import build_for_streams as build
from streamed_problems import streamed_table as rows

import margin
from margin import catalog
from margin.core.pieces import LearnsInPieces
from margin.core.summaries import OnePass
from margin.data.streams import stream
from margin.store import load, save

ONE_PASS = [entry for entry in catalog.ENTRIES if isinstance(build(entry), OnePass)]
IN_PIECES = [entry for entry in ONE_PASS if isinstance(build(entry), LearnsInPieces)]
OUTPUTS = ("predict", "predict_proba", "transform")


def pieces(entry):
    X, y = rows(entry)
    return [(X[low:high], y[low:high]) for low, high in ((0, 500), (500, 510), (510, 1_500))]


def learn(entry, model, piece):
    X, y = piece
    more = {"classes": ["no", "perhaps", "yes"]} if entry.task == "classification" else {}
    return model.partial_fit(X, y, **more)


def test_every_model_of_one_pass_learns_in_pieces():
    assert len(ONE_PASS) > 10
    assert all(hasattr(build(entry), "partial_fit") for entry in ONE_PASS)


@pytest.mark.parametrize("entry", ONE_PASS, ids=ids)
def test_pieces_give_what_all_rows_give(entry):
    model = build(entry)
    for piece in pieces(entry):
        learn(entry, model, piece)
    X, y = rows(entry)
    whole = build(entry).fit(X, y)
    for name in OUTPUTS:
        if hasattr(whole, name):
            found, expected = getattr(model, name)(X), getattr(whole, name)(X)
            if expected.dtype.kind in "OU":
                np.testing.assert_array_equal(found, expected)
            else:
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert list(model.feature_names_in_) == list("abcd")


@pytest.mark.parametrize("entry", IN_PIECES, ids=ids)
def test_a_stored_model_goes_on_to_the_same_bits(entry, tmp_path):
    first, second, third = pieces(entry)
    model = learn(entry, learn(entry, build(entry), first), second)
    save(model, tmp_path / "part")
    for name, part in (("here", model), ("there", load(tmp_path / "part"))):
        save(learn(entry, part, third), tmp_path / name)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


@pytest.mark.parametrize("entry", IN_PIECES, ids=ids)
def test_a_fit_forgets_the_pieces_and_a_refused_piece_changes_nothing(entry, tmp_path):
    first, second, _ = pieces(entry)
    model = learn(entry, build(entry), first)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        learn(entry, model, (second[0] * np.nan, second[1]))
    with pytest.raises(ValueError, match="feature"):
        learn(entry, model, (second[0][["a", "b"]], second[1]))
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())
    X, y = rows(entry)
    for data in ((X, y), (stream([X.assign(y=y)], "y"),)):
        assert not hasattr(learn(entry, build(entry), first).fit(*data), "summary_")


def test_labels_that_may_not_come_and_a_first_piece_of_one_class_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = margin.LinearDiscriminantAnalysis()
    with pytest.raises(ValueError, match=r"^LinearDiscriminantAnalysis: y must hold labels among classes, .*got 7"):
        model.partial_fit(X, np.repeat([0, 7], 10), classes=[0, 1])
    with pytest.raises(ValueError, match="y must hold at least two classes"):
        model.partial_fit(X, np.zeros(20, dtype=int), classes=[0, 1])
    assert not hasattr(model, "summary_")
    model.partial_fit(X, np.repeat([0, 1], 10)).partial_fit(X + 4, np.repeat([1, 2], 10))
    assert list(model.classes_) == [0, 1, 2]


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (margin.Ridge(alpha="loo"), "of a stream or of pieces only the closed form is solved"),
        (margin.Lasso(precompute=np.eye(2)), "precompute must be True or False"),
        (margin.PCA(svd_solver="arpack"), "needs all rows at once"),
        (margin.LinearRegression(positive=True), "partial_fit has no form for positive=True"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_pieces_cannot_give_is_said(model, sentence):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=sentence):
        model.partial_fit(X, X[:, 0])
