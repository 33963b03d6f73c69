"""Matrices of zeros and ones as targets: every classifier of rows, images and texts learns them in one way."""

import numpy as np
import pytest
from sklearn.preprocessing import MultiLabelBinarizer

import margin

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.stack([X[:, 0] > 0, X[:, 1] > 0], axis=1).astype(int)
IMAGES = np.zeros((120, 6, 6), dtype=np.float32) + RNG.random((120, 6, 6), dtype=np.float32) / 5
IMAGES[:, :3] += Y[:, 0, None, None]
IMAGES[:, 3:] += Y[:, 1, None, None]
WORDS = {0: "warm", 1: "funny"}
TEXTS = [" ".join(["film", *(WORDS[k] for k in (0, 1) if row[k])]) for row in Y]

SETTINGS = {"random_state": 0}
CASES = {
    "rows": (margin.TabularNetClassifier, {"n_networks": 1, "hidden_layer_sizes": (16,), "max_iter": 15}, X),
    "images": (margin.CNNClassifier, {"architecture": ["conv 4 3", "dense 8"], "max_iter": 20}, IMAGES),
    "patches": (
        margin.VisionTransformer,
        {"patch_size": 3, "d_model": 8, "n_blocks": 1, "n_heads": 2, "max_iter": 15},
        IMAGES,
    ),
    "texts": (margin.TextClassifier, {"d_model": 8, "max_iter": 15}, TEXTS),
}


def made(case, **options):
    kind, own, rows = CASES[case]
    return kind(**own, **SETTINGS, **options), rows


@pytest.mark.parametrize("case", CASES)
def test_each_label_is_learned_on_its_own(case, tmp_path):
    model, rows = made(case)
    model.fit(rows, Y, validation_data=(rows[:30], Y[:30]))
    assert model.score(rows, Y) > 0.8
    p = model.predict_proba(rows)
    assert p.shape == (120, 2)
    assert np.abs(p.sum(axis=1) - 1).max() > 0.3  # no softmax: both labels may be probable, or neither
    np.testing.assert_array_equal(model.predict(rows), p > 0.5)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(rows)), p)
    again = margin.load(margin.save(model, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict_proba(rows), p)


@pytest.mark.parametrize("case", CASES)
def test_what_does_not_go_with_several_labels_is_refused(case):
    model, rows = made(case, class_weight="balanced")
    with pytest.raises(ValueError, match="class_weight is for one class per row"):
        model.fit(rows, Y)
    with pytest.raises(ValueError, match="validation_data must have 2 labels per row"):
        made(case)[0].fit(rows, Y, validation_data=(rows[:3], Y[:3, 0]))


def test_labels_of_a_binarizer_are_taken():
    names = MultiLabelBinarizer().fit([["funny", "warm"]])
    Y = names.transform([[word for word in text.split() if word != "film"] for text in TEXTS])
    model = made("texts")[0].fit(TEXTS, Y)
    assert names.inverse_transform(model.predict(["film warm"])) == [("warm",)]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("other", [-1, 2])
def test_two_other_values_are_no_labels(case, other):
    kind, settings, rows = CASES[case]
    wrong = np.where(Y == 0, other, Y) if other < 0 else np.where(Y == 1, other, Y)
    with pytest.raises(ValueError, match=f"several labels per row must be a matrix of zeros and ones; got {other}"):
        kind(**settings, **SETTINGS).fit(rows, wrong)
