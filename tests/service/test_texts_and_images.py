"""Boards of tables with texts and of pictures: models of texts and images beside classical ones on their features."""

import numpy as np
import pandas as pd
import pytest

import margin
from margin.metrics import metric
from margin.service.comparison import ComparisonRequest, compare
from margin.service.comparison.candidates import candidates_for, settings_of
from margin.service.comparison.data import open_data
from margin.service.comparison.rows import board_rows
from margin.service.requests import BadRequest

FAST = {"n_jobs": 1, "folds": 2, "curve": False, "held_out": 0}
GOOD, BAD = ["warm", "funny", "lovely", "bright"], ["dull", "flat", "tired", "noisy"]
FILLER = ["film", "plot", "story", "actor", "scene", "music", "ending", "camera", "the", "with", "and", "very"]


def reviews(n=80, seed=0):
    """Texts of twelve words, three of which tell the sentiment; the other columns tell nothing."""
    rng = np.random.default_rng(seed)
    good = rng.random(n) < 0.5
    texts = [" ".join(rng.permutation([*rng.choice(GOOD if g else BAD, 3), *rng.choice(FILLER, 9)])) for g in good]
    label = np.where(good, "good", "bad")
    return pd.DataFrame({"review": texts, "stars": rng.normal(size=n), "sentiment": label})


def candidates(data, target=None, **asked):
    request = ComparisonRequest(target=target, **asked)
    return {c.name: c for c in candidates_for(open_data(data, None, request), request, metric("accuracy"))[0]}


def test_texts_get_models_of_texts_and_sparse_linear_models():
    found = candidates(reviews(), "sentiment")
    assert {
        "text-classifier",
        "text-classifier-cnn",
        "multinomial-nb",
        "linear-svc",
        "random-forest-classifier",
    } <= set(found)
    assert found["text-classifier-cnn"].make()["model"].architecture == "cnn"
    wide, dense = (found[name].make() for name in ("multinomial-nb", "gaussian-nb"))
    rows = reviews()
    assert wide["prepare"].fit_transform(rows).format == "csr"
    assert isinstance(dense["prepare"].fit_transform(rows), np.ndarray)
    assert "text-classifier" not in candidates(reviews().drop(columns="review"), "sentiment")


def test_a_board_of_texts_ranks_nets_beside_naive_bayes_and_predicts(tmp_path):
    models = ["multinomial-nb", "logistic-regression", "text-classifier"]
    found = compare(reviews(), target="sentiment", models=models, out=tmp_path / "run", **FAST)
    ranked = {s.model: s.mean for s in found.standings if s.status == "ranked"}
    assert {"multinomial-nb", "logistic-regression", "text-classifier", "text-classifier-cnn"} <= set(ranked)
    assert min(ranked[name] for name in ("multinomial-nb", "logistic-regression", "text-classifier")) > 0.85
    new = reviews(20, seed=3)
    kept = margin.load(tmp_path / "run" / "model.safetensors")
    assert np.mean(kept.predict(new.drop(columns="sentiment")) == new["sentiment"].to_numpy()) > 0.85


def test_a_row_without_text_is_answered():
    rows = reviews()
    rows.loc[3, "review"] = None
    model = candidates(rows, "sentiment", settings=["text-classifier.max_iter=1"])["text-classifier"].make()
    assert model.fit(rows, rows["sentiment"].to_numpy()).predict(rows.iloc[3:4])[0] in ("good", "bad")


def test_rows_are_picked_by_their_own_name_or_all_of_a_model():
    assert set(candidates(reviews(), "sentiment", models=("text-classifier-cnn",))) == {
        "baseline",
        "text-classifier-cnn",
    }
    both = {"baseline", "text-classifier", "text-classifier-cnn"}
    assert set(candidates(reviews(), "sentiment", models=("text-classifier",))) == both
    left = candidates(reviews(), "sentiment", exclude=("text-classifier-cnn",))
    assert "text-classifier" in left
    assert "text-classifier-cnn" not in left
    known = board_rows(open_data(reviews(), None, ComparisonRequest(target="sentiment")).source, None)
    assert settings_of(["linear-svc.C=2"], known, "classification") == {"linear-svc": {"C": 2.0}}
    with pytest.raises(
        BadRequest, match="text-classifier is not a model for classification on this table: it takes texts"
    ):
        candidates("iris", models=("text-classifier",))


def test_pictures_get_handcrafted_features_beside_pixels():
    found = candidates("shapes:n_samples=30,size=16")
    names = {"cnn-classifier", "linear-svc", "hog-linear-svc", "hog-random-forest-classifier", "visual-words-svc"}
    assert names <= set(found)
    X = margin.data.load("shapes", n_samples=30, size=16, seed=0)
    model = found["hog-linear-svc"].make().fit(X.X, X.y)
    features = model["prepare"]["features"]
    assert (type(features).__name__, features.cell) == ("HOG", 2)
    assert model.score(X.X, X.y) > 0.9


def test_a_board_of_pictures(tmp_path):
    found = compare(
        "shapes:n_samples=40,size=16", models=["hog-logistic-regression", "gaussian-nb"], out=tmp_path / "run", **FAST
    )
    assert {s.model for s in found.standings if s.status == "ranked"} >= {"hog-logistic-regression", "gaussian-nb"}
    assert found.best_.predict(found.X[:3]).shape == (3,)
