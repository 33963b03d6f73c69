"""Exported models say in onnxruntime what they say here; what ONNX cannot express is one sentence."""

import contextlib
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import margin
from fuzz import corpus
from margin.store.onnx.export import MODELS, export_onnx
from margin.store.onnx.graph import CannotExport

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

#: Trees give single precision, everything else double.
SINGLE, DOUBLE = {"rtol": 2e-6, "atol": 2e-6}, {"rtol": 1e-9, "atol": 1e-9}
SMALL = {
    "RandomForestClassifier": {"n_estimators": 5},
    "RandomForestRegressor": {"n_estimators": 5},
    "ExtraTreesClassifier": {"n_estimators": 5},
    "ExtraTreesRegressor": {"n_estimators": 5},
    "GradientBoostingClassifier": {"n_estimators": 6},
    "GradientBoostingRegressor": {"n_estimators": 6},
    "HistGradientBoostingClassifier": {"max_iter": 6},
    "HistGradientBoostingRegressor": {"max_iter": 6},
    "MLPClassifier": {"hidden_layer_sizes": (7, 5), "max_iter": 20, "random_state": 0},
    "MLPRegressor": {"hidden_layer_sizes": (7, 5), "max_iter": 20, "random_state": 0},
}
ALLOWS_MISSING = ("Tree", "Forest", "Boosting")


def rows(n=160, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, 0.0, 1.0]


def asked(path, inputs):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))


def same(path, model, X, inputs):
    """What the file says of the rows is what the model says."""
    said = asked(path, inputs)
    tolerance = SINGLE if any(kind in repr(model) for kind in ALLOWS_MISSING) else DOUBLE
    if "prediction" in said:
        expected = np.asarray(model.predict(X)).reshape(len(X), -1)
        np.testing.assert_allclose(said["prediction"], expected, **tolerance)
        return
    np.testing.assert_array_equal(said["label"], model.predict(X))
    if "probabilities" in said:
        np.testing.assert_allclose(said["probabilities"], model.predict_proba(X), **tolerance)
    else:
        np.testing.assert_allclose(said["scores"].squeeze(), model.decision_function(X), **tolerance)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_every_model_says_the_same(name, tmp_path):
    X, unseen = rows(), rows(seed=1)
    value = X[:, 0] + np.sin(X[:, 1]) + 0.1 * X[:, 3]
    cls = getattr(margin, name)
    classifies = hasattr(cls, "predict_proba") or name == "LinearSVC"
    targets = [np.digitize(value, [-0.5, 0.5]), np.where(value > 0, "yes", "no")] if classifies else [value]
    if any(kind in name for kind in ALLOWS_MISSING):
        X[::9, 0], unseen[::7, 0], unseen[::11, 2] = np.nan, np.nan, np.nan
    for number, y in enumerate(targets):
        model = cls(**SMALL.get(name, {})).fit(X, y)
        path = export_onnx(model, tmp_path / f"{number}.onnx")
        same(path, model, unseen, {"X": unseen})


@pytest.mark.parametrize("activation", ["tanh", "logistic", "identity", "leaky_relu", "elu", "silu"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_activations(activation, tmp_path):
    X = rows()
    model = margin.MLPRegressor((6,), activation, negative_slope=0.2, max_iter=5, random_state=0).fit(X, X[:, 0])
    same(export_onnx(model, tmp_path / "m.onnx"), model, X, {"X": X})


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_losses_of_positive_numbers(loss, tmp_path):
    X = rows()
    model = margin.HistGradientBoostingRegressor(loss=loss, max_iter=5).fit(X, np.exp(X[:, 0]))
    same(export_onnx(model, tmp_path / "m.onnx"), model, X, {"X": X})


def test_the_exponential_loss(tmp_path):
    X = rows()
    model = margin.GradientBoostingClassifier(loss="exponential", n_estimators=5).fit(X, X[:, 0] > 0)
    same(export_onnx(model, tmp_path / "m.onnx"), model, X, {"X": X})


def table(n=150, seed=0, towns=("north", "south", "east")):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n) * 100,
            "town": rng.choice(towns, n).astype(object),
            "old": rng.random(n) < 0.4,
            "many": [f"label {i}" for i in rng.integers(0, 9, n)],
        }
    )
    frame["y"] = np.where(
        frame["size"] / 100 + (frame["town"] == "north") + 0.3 * rng.normal(size=n) > 0.5, "yes", "no"
    )
    frame.loc[::10, "size"] = np.nan
    frame.loc[::12, "town"] = None
    return frame


def inputs_of(frame):
    labels = {c: frame[c].fillna("(missing)").to_numpy(dtype=object)[:, None] for c in ("town", "many")}
    return {**labels, **{c: frame[c].to_numpy(dtype=np.float64)[:, None] for c in ("size", "old")}}


@pytest.mark.parametrize("name", ["logistic-regression", "hist-gradient-boosting-classifier", "linear-svc"])
def test_a_pipeline_on_a_table_takes_its_columns(name, tmp_path):
    chosen = {"target": "y", "models": [name], "folds": 2, "n_jobs": 1, "curve": False, "ensembles": False}
    model = margin.compare(table(), **chosen).best_
    unseen = table(60, 5, ("north", "south", "nowhere")).drop(columns="y")
    same(export_onnx(model, tmp_path / "m.onnx"), model, unseen, inputs_of(unseen))


@pytest.mark.parametrize("numbers, encode", [("unit", "onehot"), ("bins", "ordinal"), ("plain", "onehot")])
def test_every_way_of_preparing_columns(numbers, encode, tmp_path):
    from sklearn.pipeline import Pipeline

    from margin.data import frame as as_frame
    from margin.data import preprocessor

    known = table().drop(columns="y")
    prepare = preprocessor(known, numbers=numbers, encode=encode, max_categories=4)
    model = Pipeline([("prepare", prepare), ("model", margin.Ridge())]).fit(as_frame(known), np.arange(len(known)) % 7)
    unseen = table(60, 5, ("north", "nowhere")).drop(columns="y")
    same(export_onnx(model, tmp_path / "m.onnx"), model, unseen, inputs_of(unseen))


def test_blends_and_standard_targets(tmp_path):
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    from margin.data.log_target import LogTarget
    from margin.selection.ensembles import BlendClassifier, BlendRegressor

    X = rows()
    lasso = TransformedTargetRegressor(margin.Lasso(alpha=0.01), transformer=StandardScaler())
    blend = BlendRegressor([("a", lasso), ("b", margin.Ridge())], weights=np.array([0.25, 0.75])).fit(X, 9 * X[:, 0])
    same(export_onnx(blend, tmp_path / "r.onnx"), blend, X, {"X": X})
    logs = TransformedTargetRegressor(margin.Ridge(), transformer=LogTarget()).fit(X[:40], np.exp(X[:40, 0]))
    same(export_onnx(logs, tmp_path / "l.onnx"), logs, 9 * X, {"X": 9 * X})  # far beyond what it has seen
    members = [("a", margin.LogisticRegression()), ("b", margin.LinearDiscriminantAnalysis())]
    blend = BlendClassifier(members).fit(X, X[:, 0] > 0)
    same(export_onnx(blend, tmp_path / "c.onnx"), blend, X, {"X": X})


def test_what_cannot_be_expressed_is_a_sentence(tmp_path, monkeypatch):
    X = rows()
    with pytest.raises(CannotExport, match="GaussianNB cannot be exported; these can: LinearRegression"):
        export_onnx(margin.GaussianNB().fit(X, X[:, 0] > 0), tmp_path / "m.onnx")
    with pytest.raises(CannotExport, match="activation 'gelu' cannot be exported"):
        export_onnx(margin.MLPRegressor((2,), "gelu", max_iter=1).fit(X, X[:, 0]), tmp_path / "m.onnx")
    codes = np.floor(np.abs(X))
    model = margin.HistGradientBoostingRegressor(max_iter=3, categorical_features=[1]).fit(codes % 9, X[:, 1] % 5)
    with pytest.raises(CannotExport, match="splits on categories"):
        export_onnx(model, tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(CannotExport, match="onnx is not installed"):
        export_onnx(margin.Ridge().fit(X, X[:, 0]), tmp_path / "m.onnx")


@pytest.mark.parametrize("name", corpus.names())
def test_every_model_is_exported_or_refused_in_a_sentence(name, tmp_path):
    model, (X, y) = corpus.unfitted(name), corpus.data_of(name)
    with warnings.catch_warnings(action="ignore"):
        model.fit(X) if y is None else model.fit(X, y)
    with contextlib.suppress(CannotExport):
        export_onnx(model, tmp_path / "m.onnx")


@pytest.mark.parametrize("mark", [None, float("nan"), "", "NA", "null"])
def test_missing_labels_need_no_word_of_ours(mark, tmp_path):
    import onnx

    known = table()
    chosen = {"models": ["logistic-regression"], "folds": 2, "n_jobs": 1, "curve": False, "ensembles": False}
    model = margin.compare(known, target="y", **chosen).best_
    path = export_onnx(model, tmp_path / "m.onnx")
    unseen = table(60, 5).drop(columns="y")
    inputs = inputs_of(unseen)
    absent = unseen["town"].isna().to_numpy()
    inputs["town"] = np.where(absent[:, None], np.array([[mark]], dtype=object), inputs["town"])
    assert absent.any()
    same(path, model, unseen, inputs)
    said = {given.name: given.doc_string for given in onnx.load(path).graph.input}
    assert said["town"].startswith("A label; null, NaN, the empty string and these are missing: ?, NA, ")
    assert said["size"] == "A number; NaN is missing."


def test_columns_chosen_by_name_or_by_slices_and_masks(tmp_path):
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    X = rows()
    parts = [("a", StandardScaler(), slice(2, 4)), ("b", MinMaxScaler(), [True, False, False, True])]
    model = make_pipeline(ColumnTransformer(parts), margin.Ridge()).fit(X, X[:, 0])
    same(export_onnx(model, tmp_path / "m.onnx"), model, X, {"X": X})
    named = ColumnTransformer([("a", StandardScaler(), ["u", "w"])])
    model = make_pipeline(named, margin.Ridge()).fit(pd.DataFrame(X, columns=list("uvwx")), X[:, 0])
    with pytest.raises(CannotExport, match="chooses columns by name is exported only behind a ColumnReader"):
        export_onnx(model, tmp_path / "n.onnx")


def test_a_bounded_regression_of_a_table(tmp_path):
    """What a comparison leaves for a regression, stored, read and exported."""
    known = table().drop(columns="y").assign(price=lambda frame: 3 * frame["size"].fillna(0.0) + 1000)
    chosen = {"models": ["linear-regression"], "folds": 2, "n_jobs": 1, "curve": False, "ensembles": False}
    model = margin.compare(known, target="price", **chosen).best_
    assert type(model).__name__ == "BoundedPipeline"
    again = margin.load(margin.save(model, tmp_path / "f"))
    unseen = table(60, 5).drop(columns="y")
    same(export_onnx(again, tmp_path / "m.onnx"), model, unseen, inputs_of(unseen))
