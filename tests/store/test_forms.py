"""Every stored attribute is declared, what is declared is true of every model, and what breaks it is refused."""

import contextlib
import copy
import json

import numpy as np
import pandas as pd
import pytest
from problems import build, ids, problem
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

import margin
from fuzz import corpus, mutations
from margin import catalog
from margin.core import invariants
from margin.core.invariants import (
    NO_COLUMNS,
    ArrayOf,
    Count,
    DictOf,
    FieldsOf,
    Form,
    ListOf,
    NoneOnly,
    OneOf,
    Real,
    Sometimes,
    StringOf,
    Violation,
)
from margin.core.invariants.form import COMMON
from margin.core.parameters import attributes_of
from margin.store import StoreError
from margin.store.container import MAX_MODELS
from margin.store.forms import form_of
from margin.vision.features.columns import hog_columns
from margin.vision.features.hog import hog


def learned(model):
    return {name: value for name, value in model.__getstate__().items() if name not in model.get_params(deep=False)}


def test_every_attribute_of_every_model_is_declared():
    """One test, so that the list of what is missing is whole."""
    undeclared = {}
    for entry in catalog.ENTRIES:
        X, y = problem(entry)
        model = build(entry)
        model.fit(X) if y is None else model.fit(X, y)
        kept = {name for name in learned(model) if name not in ("_sklearn_version", "_loop")}
        missing = form_of(entry.path).list_undeclared(dict.fromkeys(kept))
        if missing:
            undeclared[entry.path] = missing
    assert not undeclared, "declare these in the stored.py of their package"


@pytest.mark.parametrize("entry", catalog.ENTRIES, ids=ids)
def test_every_declared_attribute_has_a_form(entry):
    """Those too that only some parameters bring about."""
    cls = catalog.class_of(entry.name)
    names = [name for name in attributes_of(cls) if not isinstance(getattr(cls, name, None), property)]
    assert form_of(entry.path).list_undeclared(dict.fromkeys(names)) == [], (
        "declare these in the stored.py of the package"
    )


def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(40) < 0.2, np.nan, rng.normal(size=40)),
            "town": rng.choice(["a", "b", "c"], 40).astype(object),
            "rooms": rng.integers(1, 6, 40).astype(float),
        }
    )
    return frame, (frame["town"] == "a").to_numpy().astype(int)


STEPS = {
    "impute": (SimpleImputer(add_indicator=True), ["size"]),
    "impute labels": (SimpleImputer(strategy="most_frequent"), ["town"]),
    "standard": (StandardScaler(), ["rooms"]),
    "unit": (MinMaxScaler(), ["rooms"]),
    "one-hot": (OneHotEncoder(drop="first", min_frequency=5, handle_unknown="ignore"), ["town"]),
    "ordinal": (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["town"]),
    "bins": (KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), ["rooms"]),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_scikit_learn_are_declared_and_come_back(name, tmp_path):
    step, columns = STEPS[name]
    frame, _ = table()
    transformer = ColumnTransformer([("step", step, columns)], remainder="drop").fit(frame)
    for part in (transformer, transformer.named_transformers_["step"]):
        path = catalog.registry()[catalog.name_of(part)]
        kept = {key for key in learned(part) if key != "_sklearn_version"}
        assert form_of(path).list_undeclared(dict.fromkeys(kept)) == []
    again = margin.load(margin.save(transformer, tmp_path / "f"))
    np.testing.assert_array_equal(again.transform(frame), transformer.transform(frame))


def changed(model, folder, change):
    """Save ``model``, let ``change`` edit the learned part of its manifest and its arrays, and give the new file."""
    path = margin.save(model, folder / "f")
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    manifest, arrays = json.loads(header["__metadata__"]["margin"]), load_arrays(content)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(manifest["root"], arrays)
    del manifest["sha256"]  # as a file of an earlier version, so that what it holds is looked at
    path.write_bytes(save_arrays(arrays, metadata={"margin": json.dumps(manifest)}))
    return path


def field(root, attribute, *keys):
    """The node of an attribute, or of a field inside its dicts and lists."""
    node = root["learned"][attribute]
    for key in keys:
        node = node[key] if isinstance(key, int) else next(v for k, v in node["items"] if k == key)
    return node


IRIS = catalog.entry("decision-tree-classifier")
TREE_LIES = {
    "child before its parent": ("left", lambda a: a.__setitem__(2, 0), "children of a node"),
    "child outside": ("left", lambda a: a.__setitem__(0, 10**6), "children of a node"),
    "children apart": ("right", lambda a: a.__setitem__(0, 3), "children of a node"),
    "column outside": ("feature", lambda a: a.__setitem__(0, 4), "less than n_features"),
    "negative column": ("feature", lambda a: a.__setitem__(0, -7), "at least -1"),
    "set outside": ("category_row", lambda a: a.__setitem__(0, 0), "category"),
    "value not a number": ("value", lambda a: a.__setitem__((0, 0), np.nan), "must be finite"),
}


@pytest.mark.parametrize("lie", TREE_LIES)
def test_a_tree_that_lies_is_refused(lie, tmp_path):
    name, spoil, match = TREE_LIES[lie]
    model = build(IRIS).fit(*problem(IRIS))

    def change(root, arrays):
        spoil(arrays[field(root, "_tree", name)["data"]])

    with pytest.raises(StoreError, match=match):
        margin.load(changed(model, tmp_path, change))


def test_a_tree_without_nodes_and_one_of_other_length_are_refused(tmp_path):
    model = build(IRIS).fit(*problem(IRIS))

    def shorten(keep):
        def change(root, arrays):
            for name in ("left",) if keep else [key for key, _ in root["learned"]["_tree"]["items"]]:
                node = field(root, "_tree", name)
                arrays[node["data"]] = arrays[node["data"]][:keep]
                node["shape"][0] = len(arrays[node["data"]])

        return change

    with pytest.raises(StoreError, match="n_nodes is"):
        margin.load(changed(model, tmp_path, shorten(3)))
    with pytest.raises(StoreError, match="n_nodes must be at least 1"):
        margin.load(changed(model, tmp_path, shorten(0)))


def test_categories_of_a_column_that_has_none_are_refused(tmp_path):
    """The walk reads a code there: an uncoded number would be an index of its own choosing."""
    frame, y = table()
    model = margin.DecisionTreeClassifier(random_state=0).fit(frame[["town", "rooms"]], y)

    def change(root, arrays):
        feature = arrays[field(root, "_tree", "feature")["data"]]
        asked = arrays[field(root, "_tree", "category_row")["data"]] >= 0
        assert asked.any()
        feature[asked] = 1

    with pytest.raises(StoreError, match="categories of a column that has none"):
        margin.load(changed(model, tmp_path, change))


def test_a_leaf_that_asks_about_categories_is_refused(tmp_path):
    """The walk would go on from there, out of the tree."""
    frame, y = table()
    model = margin.DecisionTreeClassifier(random_state=0).fit(frame[["town", "rooms"]], y)

    def change(root, arrays):
        leaves = arrays[field(root, "_tree", "feature")["data"]] < 0
        arrays[field(root, "_tree", "category_row")["data"]][np.flatnonzero(leaves)[-1]] = 0

    with pytest.raises(StoreError, match="must be -1 in a leaf"):
        margin.load(changed(model, tmp_path, change))


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("left", lambda a: a.__setitem__(0, 0)),
        ("left", lambda a: a.__setitem__(0, len(a) - 2)),
        ("feature", lambda a: a.__setitem__(0, 100)),
        ("start", lambda a: a.__setitem__(1, 0)),
        ("start", lambda a: a.__setitem__(-1, 10**9)),
        ("category_row", lambda a: a.__setitem__(0, 5)),
    ],
)
def test_boosted_trees_that_lie_are_refused(name, spoil, tmp_path):
    entry = catalog.entry("gradient-boosting-regressor")
    model = margin.GradientBoostingRegressor(n_estimators=3).fit(*problem(entry))
    with pytest.raises(StoreError, match="damaged or refused"):
        margin.load(changed(model, tmp_path, lambda root, a: spoil(a[field(root, "trees_", name)["data"]])))


def test_boosted_trees_without_outputs_are_refused(tmp_path):
    """The kernel divides by their number and writes where the remainder says."""
    model = margin.GradientBoostingClassifier(n_estimators=2).fit(*problem(IRIS))

    def change(root, arrays):
        node = root["learned"]["start_"]
        arrays[node["data"]], node["shape"] = np.zeros(0), [0]

    with pytest.raises(StoreError, match="n_outputs must be at least 1"):
        margin.load(changed(model, tmp_path, change))

    def forget_a_class(root, arrays):
        node = root["learned"]["classes_"]
        arrays[node["data"]], node["shape"] = arrays[node["data"]][:2], [2]

    with pytest.raises(StoreError, match="one output per class"):
        margin.load(changed(model, tmp_path, forget_a_class))


def test_layers_that_the_weights_do_not_fill_are_never_built(tmp_path):
    model = margin.MLPClassifier((4,), random_state=0).fit(*problem(IRIS))

    def change(root, arrays):
        sizes = next(v for k, v in root["learned"]["network_"]["items"] if k == "sizes")
        sizes[1:1] = [30_000, 30_000]

    with pytest.raises(StoreError, match=r"weights_ must hold linears\.0\.weight"):
        margin.load(changed(model, tmp_path, change))


@pytest.mark.parametrize("name", ["token-tagger", "text-classifier", "sequence-classifier"])
def test_a_number_of_layers_that_no_network_has_is_refused_before_one_is_built(name, tmp_path):
    entry = catalog.entry(name)
    X, y = problem(entry)

    def change(root, arrays):
        network = root["learned"]["network_"]["items"]
        network[[key for key, _ in network].index("n_layers")][1] = 2**40

    with pytest.raises(StoreError, match=r"n_layers.* must be at most 1000"):
        margin.load(changed(build(entry).fit(X, y), tmp_path, change))


def test_more_neighbors_than_rows_and_codes_beyond_classes_are_refused(tmp_path):
    model = margin.KNeighborsClassifier().fit(*problem(IRIS))
    with pytest.raises(StoreError, match="n_neighbors must be at most"):
        margin.load(changed(model, tmp_path, lambda root, a: root["params"].update(n_neighbors=10**9)))

    def change(root, arrays):
        arrays[root["learned"]["codes_"]["data"]][0] = 3

    with pytest.raises(StoreError, match="codes_ must be numbers of classes_"):
        margin.load(changed(model, tmp_path, change))


def test_an_encoder_whose_counts_do_not_fit_is_refused(tmp_path):
    frame, _ = table()
    model = OneHotEncoder().fit(frame[["town"]])
    with pytest.raises(StoreError, match="_n_features_outs"):
        margin.load(
            changed(make_pipeline(model), tmp_path, lambda root, a: _encoder(root).update(_n_features_outs=[1]))
        )


def _encoder(root):
    return root["params"]["steps"][0]["items"][1]["learned"]


def test_a_parameter_outside_its_domain_is_refused(tmp_path):
    with pytest.raises(StoreError, match="n_clusters must be"):
        margin.load(changed(margin.KMeans(), tmp_path, lambda root, a: root["params"].update(n_clusters=0)))
    scaler = make_pipeline(StandardScaler())

    def change(root, arrays):
        root["params"]["steps"][0]["items"][1]["params"]["with_mean"] = "yes"

    with pytest.raises(StoreError, match="with_mean"):
        margin.load(changed(scaler, tmp_path, change))


ONE = np.ones(1)
REFUSED = {
    "array": (ArrayOf("n"), [1.0], "must be an array"),
    "dtype": (ArrayOf("n"), np.ones(1, dtype=int), "must have dtype f"),
    "exact dtype": (ArrayOf("n", kind="int32"), np.ones(1, dtype=np.int64), "must have dtype int32"),
    "dimensions": (ArrayOf("n", "n"), ONE, "not 2 dimensions"),
    "fixed size": (ArrayOf(3), ONE, "should be 3"),
    "finite": (ArrayOf("n"), np.array([np.inf]), "must be finite"),
    "low": (ArrayOf("n", low=2), ONE, "at least 2"),
    "high": (ArrayOf("n", high=0), ONE, "at most 0"),
    "below": (ListOf(ArrayOf("n", kind="i", below="k"), "k"), [np.array([1])], "less than k"),
    "unknown size": (ArrayOf("n", kind="i", below="other"), np.array([1]), "other is not stored"),
    "number": (Real(), True, "must be a number"),
    "range": (Real(0.0, 1.0), 2.0, "from 0.0 to 1.0"),
    "count": (Count(low=1), 0, "integer of at least 1"),
    "empty": (ArrayOf("n"), np.ones(0), "n must be at least 1"),
    "large count": (Count(high=3), 4, "at most 3"),
    "text": (StringOf(("a", "b")), "c", "a or b"),
    "items": (ListOf(Count()), {1: 2}, "must be a list"),
    "item": (ListOf(Count()), [1, -1], r"a_\[1\] must be"),
    "keys": (DictOf(Count(), StringOf()), {"x": "y"}, "a key of a_"),
    "fields": (FieldsOf({"a": Count()}), {"a": 1, "b": 2}, "dict of a"),
    "either": (OneOf(Count(), NoneOnly()), "x", "integer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_each_kind_of_declaration_refuses(name):
    stored, value, match = REFUSED[name]
    with pytest.raises(Violation, match=match):
        Form({**NO_COLUMNS, "a_": stored}).check({"a_": value})


def test_an_option_that_does_not_fit_leaves_no_sizes_behind():
    form = Form({**NO_COLUMNS, "a_": OneOf(ArrayOf("n", "k"), ArrayOf("k")), "b_": ArrayOf("n", "k")})
    form.check({"a_": np.ones(3), "b_": np.ones((2, 3))})
    with pytest.raises(Violation, match="k is 3 elsewhere"):
        form.check({"a_": np.ones(3), "b_": np.ones((3, 2))})


def test_declarations_are_all_public():
    assert set(invariants.__all__) >= {"ArrayOf", "Form", "Stored", "Violation"}
    assert copy.copy(ArrayOf("n")) == ArrayOf("n")


def estimator_nodes(node):
    """Every estimator in a manifest."""
    if isinstance(node, dict):
        if node.get("!") == "estimator":
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from estimator_nodes(part)


@pytest.mark.parametrize("name", corpus.names())
def test_a_file_without_a_learned_attribute_is_refused(name, tmp_path):
    """Each that its class always learns, of the model itself and of those inside; the others may be left out."""
    list(corpus.write(tmp_path, [name]))
    document = mutations.read(tmp_path / f"{name}.safetensors")
    for i, node in enumerate(estimator_nodes(document.manifest["root"])):
        form = form_of(catalog.registry()[node["class"]])
        for attribute in node["learned"]:
            left_out = document.copy()
            del list(estimator_nodes(left_out.manifest["root"]))[i]["learned"][attribute]
            (tmp_path / "f").write_bytes(left_out.bytes())
            stored = {**COMMON, **form.attributes}.get(attribute)
            if stored is None or isinstance(stored, Sometimes):
                continue
            with pytest.raises(StoreError):
                margin.load(tmp_path / "f")


def test_models_nested_without_end_are_refused_on_save_and_load(tmp_path, monkeypatch):
    model = margin.GaussianNB().fit(*problem(IRIS))
    for _ in range(MAX_MODELS - 1):
        model = make_pipeline(model)
    margin.load(margin.save(model, tmp_path / "f"))
    with pytest.raises(StoreError, match="nested in 10 models"):
        margin.save(make_pipeline(model), tmp_path / "g")
    monkeypatch.setattr("margin.store.encoding.MAX_MODELS", 99)
    margin.save(make_pipeline(model), tmp_path / "g")
    with pytest.raises(StoreError, match="more than 10 models are nested"):
        margin.load(tmp_path / "g")


@pytest.mark.parametrize("name", ["hog", "image-filter", "visual-words"])
def test_columns_that_no_image_gives_are_refused(name, tmp_path):
    entry = catalog.entry(name)
    model = build(entry).fit(problem(entry)[0])
    for columns in (2**31, model.n_features_out_ + 1):
        path = changed(model, tmp_path, lambda root, _, n=columns: root["learned"].update(n_features_out_=n))
        with pytest.raises(StoreError, match="n_features_out_ must be what images of this shape give"):
            margin.load(path)


def test_hog_has_the_columns_it_should():
    for h, w, cell, bins, block in [(17, 9, 4, 9, 2), (3, 20, 8, 5, 3), (12, 12, 1, 2, 30), (31, 8, 3, 7, 1)]:
        assert hog(np.zeros((1, 2, h, w)), cell, bins, block).shape == (1, hog_columns(h, w, cell, bins, block))


@pytest.mark.parametrize("name", corpus.names())
def test_using_a_loaded_model_adds_nothing_to_it(name, tmp_path):
    """So that predictions in several threads, the first ones too, never meet an object that another one changes."""
    list(corpus.write(tmp_path, [name]))
    model, (X, _) = margin.load(tmp_path / f"{name}.safetensors"), corpus.data_of(name)
    parts = [model, *(value for value in model.get_params().values() if hasattr(value, "get_params"))]
    before = [set(vars(part)) for part in parts]
    for method in ("predict", "predict_proba", "transform", "score_samples", "encode", "kneighbors"):
        if callable(getattr(model, method, None)):
            with contextlib.suppress(ValueError):  # MAML labels only from a support set
                getattr(model, method)(X)
    assert [set(vars(part)) for part in parts] == before
