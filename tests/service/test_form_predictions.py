"""Models asked by a form: the same answers as by a file, and refusals in one sentence."""

import csv
import io

import pytest

from margin import data
from margin.runs import Run
from margin.service.fit_request import FitRequest
from margin.service.form_predictions import predict_file, predict_rows, prediction_form, sample_rows
from margin.service.requests import BadRequest
from margin.service.training import fit


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    home = tmp_path_factory.mktemp("runs")
    fit("gaussian-nb", "iris", out=home / "nb")
    fit("gaussian-mixture", "iris", FitRequest(seed=1), out=home / "mixture")
    return home


def test_the_form_has_a_field_with_an_example_for_every_column(runs):
    form = prediction_form(str(runs / "nb"))
    assert [field["name"] for field in form["fields"]] == list(data.load("iris").feature_names)
    assert form["fields"][0] == {"name": "sepal length (cm)", "kind": "number", "example": "5.1"}
    assert {"predict", "predict_proba"} <= set(form["can"])


def test_typed_values_are_answered_like_rows_of_a_frame(runs):
    form = prediction_form(str(runs / "nb"))
    row = {field["name"]: field["example"] for field in form["fields"]}
    big = {**row, "petal length (cm)": "6.1", "petal width (cm)": "2.3"}
    predicted = predict_rows(str(runs / "nb"), [row, big])["prediction"]
    model = Run.existing(runs / "nb").model()
    values = [[float(value) for value in each.values()] for each in (row, big)]
    assert predicted == model.predict(values).tolist()
    chances = predict_rows(str(runs / "nb"), [row], proba=True)
    assert sum(column[0] for column in chances.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "1 to 100 rows; got 0"),
        ([{}], "form is empty"),
        ([{"sepal length (cm)": "1"}], "The form lacks the column"),
        ([{"sepal length (cm)": "x" * 30_000}], "more than 20,000 characters"),
        ([{"a": "1"}] * 101, "got 101"),
    ],
)
def test_a_form_that_cannot_be_answered_is_one_sentence(runs, rows, sentence):
    with pytest.raises(BadRequest, match=sentence):
        predict_rows(str(runs / "nb"), rows)


def test_a_file_is_answered_as_csv(runs, tmp_path):
    table = tmp_path / "new.csv"
    names = data.load("iris").feature_names
    table.write_text(",".join(f'"{name}"' for name in names) + "\n5.1,3.5,1.4,0.2\n6.5,3.0,5.5,2.0\n")
    rows = list(csv.DictReader(io.StringIO(predict_file(str(runs / "nb"), str(table)))))
    assert [list(row) for row in rows] == [["prediction"], ["prediction"]]


def test_a_generative_model_draws_the_same_samples_with_the_same_seed(runs):
    first = sample_rows(str(runs / "mixture"), 3, 5)
    assert all(len(column) == 3 for column in first.values())
    assert first == sample_rows(str(runs / "mixture"), 3, 5)
    with pytest.raises(BadRequest, match="not generative"):
        sample_rows(str(runs / "nb"), 3, 0)
    with pytest.raises(BadRequest, match="1 to 1000 samples"):
        sample_rows(str(runs / "mixture"), 0, 0)
