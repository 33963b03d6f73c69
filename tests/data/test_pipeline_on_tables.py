"""A pipeline fitted on a table predicts for raw rows, however they come; its steps equal independent ones."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import margin
from margin.core.invariants import Violation
from margin.data import Table, preprocessor, profile, read
from margin.data.category_columns import CategoryColumns
from margin.data.column_reader import ColumnReader
from margin.data.date_parts import DateParts
from margin.data.joined_texts import JoinedTexts
from margin.data.tfidf_columns import TfidfColumns
from margin.store.forms import form_of_class

STEPS = (CategoryColumns, ColumnReader, DateParts, TfidfColumns)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 90
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "price": [f"{v:,.2f} €".translate(str.maketrans(",.", ".,")) for v in rng.uniform(500, 9000, n)],
            "rate": [f"{v} %" for v in rng.integers(0, 100, n)],
            "day": pd.Series(pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.permutation(n), "D")).dt.strftime(
                "%m/%d/%Y"
            ),
            "town": rng.choice(["Ulm", "Bonn", "Kiel", None], n),
            "zip": [f"{v:05d}" for v in rng.integers(0, 60, n)],
            "open": rng.choice([True, False], n),
            "note": [" ".join(rng.choice(["red", "old", "fast", "car", "bike"], 5)) for _ in range(n)],
            "y": rng.choice(["yes", "no"], n),
        }
    )


@pytest.fixture(scope="module")
def fitted(frame):
    prepare = preprocessor(profile(frame, "y"))
    return make_pipeline(prepare, margin.LogisticRegression()).fit(frame.drop(columns="y"), frame["y"])


def test_numbers_dates_and_text_arrive(fitted, frame):
    numbers = fitted[0].transform(frame.drop(columns="y"))
    names = list(fitted[0].get_feature_names_out())
    assert numbers.shape == (90, len(names))
    price = numbers[:, names.index("number__price")]
    truth = frame["price"].map(lambda text: float(text[:-2].replace(".", "").replace(",", ".")))
    np.testing.assert_allclose(price, (truth - truth.mean()) / truth.std(ddof=0))
    days = pd.to_datetime(frame["day"], format="%m/%d/%Y")
    elapsed = numbers[:, names.index("date__day_elapsed")]
    assert np.corrcoef(elapsed, days.astype("int64"))[0, 1] == pytest.approx(1)
    assert {"date__day_weekday", "text__note_car", "flag__open", "category__town_(missing)"} <= set(names)
    assert "category__zip_(other)" in names
    assert not any("id" in name.split("__")[1].split("_") for name in names)


def test_new_rows_may_be_few_typed_unknown_or_empty(fitted, frame):
    rows = frame.head(3).drop(columns="y")
    said = fitted.predict_proba(rows)
    shuffled = rows[rows.columns[::-1]]
    np.testing.assert_array_equal(fitted.predict_proba(shuffled), said)
    np.testing.assert_array_equal(fitted.predict_proba(rows.drop(columns="id")), said)  # it is not used
    typed = rows.assign(
        price=[float(text[:-2].replace(".", "").replace(",", ".")) for text in rows["price"]],
        day=pd.to_datetime(rows["day"], format="%m/%d/%Y"),
        zip=rows["zip"].astype("category"),
    )
    np.testing.assert_allclose(fitted.predict_proba(typed), said)
    assert len(fitted.predict(rows.assign(town="Rome", zip="99999", note=""))) == 3
    with pytest.raises(ValueError, match="'price' must hold a number, as in training; got 'none'"):
        fitted.predict(rows.assign(price="none"))
    assert len(fitted.predict(rows.assign(**dict.fromkeys(rows.columns)))) == 3


def test_a_small_file_is_read_as_training_was(fitted, frame, tmp_path):
    rows = frame.head(2).drop(columns="y")
    rows.to_csv(tmp_path / "new.csv", index=False, sep=";")
    table = read(tmp_path / "new.csv")
    assert table.kinds["note"] == "category"  # two rows do not tell; training knows that it is text
    np.testing.assert_allclose(fitted.predict_proba(table), fitted.predict_proba(rows))


def test_a_pipeline_fitted_on_typed_rows_reads_raw_ones(frame):
    found = profile(frame, "y")
    typed = found.table.select(found.used).to_pandas()
    model = make_pipeline(preprocessor(found), margin.LogisticRegression()).fit(typed, frame["y"])
    raw = frame[list(found.used)]
    np.testing.assert_allclose(model.predict_proba(raw), model.predict_proba(typed))
    with pytest.raises(ValueError, match="'day' must hold a date, as in training; got '3/4/2025'"):
        model.predict(raw.head(2).assign(day="3/4/2025"))  # two readings, and nothing to decide by


def test_extra_columns_are_told_and_missing_ones_refused(fitted, frame):
    rows = frame.head(3).drop(columns="y")
    with pytest.warns(UserWarning, match="training did not see are ignored: 'today'"):
        np.testing.assert_array_equal(fitted.predict(rows.assign(today=1)), fitted.predict(rows))
    with pytest.raises(ValueError, match="X lacks the column 'town' that training uses; close matches are 'towns'"):
        fitted.predict(rows.rename(columns={"town": "towns"}))
    with pytest.raises(ValueError, match="X lacks the columns 'price', 'rate' that training uses"):
        fitted.predict(rows.drop(columns=["price", "rate"]))
    with pytest.warns(UserWarning, match="1 value of 'rate' cannot be read as number, such as 'high'"):
        fitted.predict(rows.assign(rate=["high", "1 %", "2 %"]))
    with pytest.raises(ValueError, match="a table with the 8 columns of training; got an array of shape"):
        fitted.predict(rows.to_numpy()[:, :4])
    np.testing.assert_array_equal(fitted.predict(rows.to_numpy()), fitted.predict(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(frame.drop(columns="y"))


def test_saved_and_loaded_it_says_the_same(fitted, frame, tmp_path):
    margin.save(fitted, tmp_path / "m.safetensors")
    again = margin.load(tmp_path / "m.safetensors")
    rows = frame.drop(columns="y").head(9).assign(town="Rome", day=None)
    np.testing.assert_array_equal(again.predict_proba(rows), fitted.predict_proba(rows))
    assert list(again[0].get_feature_names_out()) == list(fitted[0].get_feature_names_out())
    bins = preprocessor(profile(frame, "y"), numbers="bins", encode="ordinal").fit(frame)
    margin.save(make_pipeline(bins), tmp_path / "b.safetensors")
    np.testing.assert_array_equal(margin.load(tmp_path / "b.safetensors").transform(frame), bins.transform(frame))
    assert repr(clone(fitted)) == repr(fitted)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("ColumnReader", {"kinds": {"a": "number", "b": "car"}}, "kinds must be among"),
        ("ColumnReader", {"spellings_": {}}, "spellings_ must have an entry"),
        ("ColumnReader", {"spellings_": {"a": "eval"}}, "spellings_"),
        ("CategoryColumns", {"labels_": [["x", "x"]]}, "must differ"),
        ("CategoryColumns", {"merged_": np.zeros(2, bool)}, "merged_"),
        ("DateParts", {"first_": np.array(["NaT"], "datetime64[us]")}, "first_ must hold dates"),
        ("DateParts", {"kept_": np.ones((1, 5), bool)}, "kept_"),
        ("TfidfColumns", {"terms_": [["a", "b", "b"]]}, "must differ, with one weight"),
        ("TfidfColumns", {"idf_": [np.array([np.nan, 1.0])]}, "finite"),
    ],
)
def test_a_file_cannot_hold_nonsense(name, change, words):
    good = {
        "ColumnReader": {"n_features_in_": 1, "kinds": {"a": "number"}, "spellings_": {"a": ","}},
        "CategoryColumns": {"n_features_in_": 1, "labels_": [["x", "y"]], "merged_": np.zeros(1, bool)},
        "DateParts": {"n_features_in_": 1, "first_": np.zeros(1, "datetime64[us]"), "kept_": np.ones((1, 6), bool)},
        "TfidfColumns": {"n_features_in_": 1, "terms_": [["a", "b"]], "idf_": [np.ones(2)]},
    }[name]
    form = form_of_class({cls.__name__: cls for cls in STEPS}[name])
    form.check(good)
    with pytest.raises(Violation, match=words):
        form.check(good | change)


def test_tf_idf_equals_scikit_learn(frame):
    texts = [*frame["note"].tolist()[:40], "", "unique words only", "Red RED red"]
    ours = TfidfColumns(max_features=100, min_df=1).fit(pd.DataFrame({"t": texts}))
    theirs = TfidfVectorizer().fit(texts)
    new = ["red car", "never seen", "old old bike"]
    np.testing.assert_allclose(ours.transform(pd.DataFrame({"t": new})), theirs.transform(new).toarray(), atol=1e-15)
    np.testing.assert_allclose(
        TfidfColumns(min_df=1).fit_transform(pd.DataFrame({"t": texts})), ours.transform(pd.DataFrame({"t": texts}))
    )
    few = TfidfColumns(max_features=3, min_df=2).fit(pd.DataFrame({"t": texts}))
    assert few.terms_[0] == sorted(TfidfVectorizer(max_features=3, min_df=2).fit(texts).vocabulary_)
    nothing = TfidfColumns().fit(pd.DataFrame({"t": ["", "!"]}))
    assert nothing.transform(pd.DataFrame({"t": ["a b"]})).tolist() == [[0.0]]
    assert nothing.get_feature_names_out().tolist() == ["t_(no term)"]
    with pytest.raises(ValueError, match="X has 2 columns, training had 1"):
        few.transform(pd.DataFrame({"a": ["x"], "b": ["y"]}))


def test_categories_equal_scikit_learn():
    rng = np.random.default_rng(0)
    labels = np.array([f"l{i:02d}" for i in range(12)], dtype=object)[rng.choice(12, 3000, p=np.arange(1, 13) / 78)]
    X = pd.DataFrame({"a": labels, "b": rng.choice(["u", "v"], 3000)}, dtype=object)
    new = pd.DataFrame({"a": ["l00", "l11", "never"], "b": ["u", "w", "v"]}, dtype=object)
    theirs = OneHotEncoder(max_categories=5, handle_unknown="infrequent_if_exist", sparse_output=False).fit(X)
    ours = CategoryColumns(max_categories=5).fit(X)
    for rows in (X, new):
        np.testing.assert_array_equal(ours.transform(rows), theirs.transform(rows))
    codes = CategoryColumns(encode="ordinal", max_categories=100).fit(X)
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit(X)
    for rows in (X, new):
        np.testing.assert_array_equal(codes.transform(rows), ordinal.transform(rows))
    with pytest.raises(ValueError, match="must hold strings"):
        CategoryColumns().fit(pd.DataFrame({"a": [1, 2]}))


def test_more_than_255_categories():
    rng = np.random.default_rng(1)
    labels = [f"street {int(900 * v**3)}" for v in rng.random(2000)]
    table = Table({"street": labels, "x": rng.normal(size=2000), "y": rng.integers(0, 2, 2000)})
    found = profile(table, "y")
    assert f"{len(set(labels)):,} labels: the 31 commonest are kept, the others are merged" in found["street"].remark
    features, y = table.split_target("y")
    model = make_pipeline(preprocessor(found), margin.HistGradientBoostingClassifier(max_iter=2)).fit(features, y)
    assert len(model.predict(features.head(5))) == 5
    assert preprocessor(found).fit_transform(features).shape == (2000, 33)
    with pytest.raises(ValueError, match=r"categorical column 'street' has \d+ categories; at most 255 are possible"):
        margin.DecisionTreeClassifier().fit(features.to_pandas(), y)


def test_date_parts_equal_pandas():
    rng = np.random.default_rng(0)
    moments = pd.Series(pd.Timestamp("1965-03-01") + pd.to_timedelta(rng.integers(0, 3 * 10**9, 200), "s"))
    X = pd.DataFrame({"t": moments.mask(rng.random(200) < 0.1)})
    parts = DateParts().fit(X)
    found = pd.DataFrame(parts.transform(X), columns=parts.get_feature_names_out())
    dt = X["t"].dt
    expected = {"year": dt.year, "month": dt.month, "day": dt.day, "weekday": dt.day_of_week}
    expected["hour"] = dt.hour + dt.minute / 60 + dt.second / 3600
    expected["elapsed"] = (X["t"] - X["t"].min()).dt.total_seconds() / 86400
    for name, values in expected.items():
        np.testing.assert_allclose(found[f"t_{name}"], values, atol=1e-9)
    same = DateParts().fit(X.head(1))
    assert list(same.get_feature_names_out()) == ["t_elapsed"]
    with pytest.raises(ValueError, match="DateParts: X must hold dates"):
        DateParts().fit(np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("kinds", "words"),
    [({"a": "car"}, "the kind of 'a' must be one of"), ([1], "kinds must be a dict"), ({"b": "number"}, "X lacks")],
)
def test_a_reader_of_nonsense(kinds, words):
    with pytest.raises(ValueError, match=words):
        ColumnReader(kinds).fit(pd.DataFrame({"a": [1]}))


def test_sparse_tf_idf_of_pairs_equals_scikit_learn(frame):
    texts, new = frame["note"].tolist()[:60], ["red car car", "", "old bike never seen"]
    ours = TfidfColumns(max_features=1000, min_df=1, longest_run=2, sparse=True).fit(pd.DataFrame({"t": texts}))
    theirs = TfidfVectorizer(ngram_range=(1, 2)).fit(texts)
    assert ours.terms_[0] == theirs.get_feature_names_out().tolist()
    found = ours.transform(pd.DataFrame({"t": new}))
    assert found.format == "csr"
    np.testing.assert_allclose(found.toarray(), theirs.transform(new).toarray(), atol=1e-15)
    again = ours.fit_transform(pd.DataFrame({"t": texts}))
    np.testing.assert_allclose(again.toarray(), theirs.transform(texts).toarray(), atol=1e-15)


def test_a_wide_preparation_is_sparse_and_is_saved(frame, tmp_path):
    rows = frame.drop(columns="y")
    prepare = preprocessor(profile(frame, "y"), max_terms=500, sparse=True)
    pipeline = make_pipeline(prepare, margin.LogisticRegression()).fit(rows, frame["y"])
    assert pipeline[0].transform(rows).format == "csr"
    assert "text__note_old red" in pipeline[0].get_feature_names_out()
    margin.save(pipeline, tmp_path / "wide.safetensors")
    again = margin.load(tmp_path / "wide.safetensors")
    np.testing.assert_array_equal(again.predict_proba(rows), pipeline.predict_proba(rows))


def test_texts_of_a_row_become_one_string(tmp_path):
    texts = pd.DataFrame({"a": ["x y", None, " "], "b": ["z", "w", np.nan]})
    joined = JoinedTexts().fit(texts)
    assert joined.transform(texts).tolist() == ["x y\nz", "w", "(blank)"]
    margin.save(joined, tmp_path / "joined.safetensors")
    assert margin.load(tmp_path / "joined.safetensors").transform(texts).tolist() == joined.transform(texts).tolist()
    with pytest.raises(ValueError, match=r"JoinedTexts: X must have 2 columns of texts; got shape \(3, 1\)"):
        joined.transform(texts[["a"]])
