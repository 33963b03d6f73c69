"""The report as a file: well-formed, whole without a network, navigable, safe against what tables hold."""

import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from margin import metrics, report
from margin.notes import atlas
from margin.report.classification import Judged
from margin.report.effect_charts import curve_figures
from margin.report.effects import effects_of
from margin.report.markup import VOID
from margin.report.page import FAILED_PART
from margin.report.threshold import thresholds_of

LARGEST = 400_000  # bytes: a page opens at once and can be mailed


class Page(HTMLParser):
    """Everything the tests ask: elements with their attributes, whether tags are balanced, the text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.elements, self.words, self.mistakes = [], [], [], []
        self.feed(html)
        self.close()
        self.mistakes += [f"<{name}> is never closed" for name in self.open]

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.mistakes.append(f"<{tag}> has an attribute twice")
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    def all(self, *tags):
        return [attributes for tag, attributes in self.elements if tag in tags]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def headings(html):
    return [re.sub("<[^>]*>", "", heading) for heading in re.findall("<h3>(.*?)</h3>", html)]


@pytest.fixture(scope="module")
def pages(comparison):
    cases = {
        "two classes": comparison(),
        "four classes": comparison(n_classes=4, n=200),
        "numbers": comparison("regression"),
        "nothing held out": comparison(held_out=False),
    }
    return {name: (case, report.render(case, terms=atlas.rows())) for name, case in cases.items()}


CASES = pytest.mark.parametrize("name", ["two classes", "four classes", "numbers", "nothing held out"])


@CASES
def test_well_formed_and_whole(pages, name):
    _, html = pages[name]
    page = Page(html)
    assert page.mistakes == []
    assert FAILED_PART not in page.text
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids)), "every id once"
    targets = [attributes["href"] for attributes in page.all("a")]
    assert targets
    assert all(target.startswith("#") and target[1:] in ids for target in targets), "every link leads somewhere here"
    assert not page.all("link", "img", "iframe", "object")
    assert not re.search(r"(?i)\b(https?:)?//[a-z0-9]|url\(|@import", html), "nothing comes from elsewhere"
    assert any("default-src 'none'" in attributes.get("content", "") for attributes in page.all("meta"))
    assert len(html.encode()) < LARGEST
    assert {"board", "data", "winner", "columns", "learning", "reproduce", "terms"} <= set(ids)


@CASES
def test_readable_without_eyes_or_mouse(pages, name):
    page = Page(pages[name][1])
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("h1")) == 1
    assert all("scope" in attributes for attributes in page.all("th"))
    labels = {attributes["for"] for attributes in page.all("label")}
    assert labels == {attributes["id"] for attributes in page.all("input")}
    drawings = page.all("svg")
    assert all(a.get("role") == "img" or a.get("aria-hidden") == "true" for a in drawings)
    titled = sum(1 for i, (tag, a) in enumerate(page.elements) if tag == "svg" and page.elements[i + 1][0] == "title")
    assert titled == sum(1 for a in drawings if a.get("role") == "img" and "aria-label" not in a)
    assert not [a for _, a in page.elements if int(a.get("tabindex") or 0) > 0]


@CASES
def test_the_answer_comes_first_with_its_evidence(pages, name):
    case, html = pages[name]
    text = Page(html).text
    where = "rows it has never seen" if len(case.plan.held_out) else "in cross-validation"
    assert re.search(rf"Use {case.winner} to predict sold: .*{where}", text)
    assert "not distinguishable from it" in text
    assert "classes overlap <x>" in text
    assert case.command in text
    assert case.call in text
    assert "scikit-learn 1.9.1" in text
    for remark in case.remarks:
        assert remark in text


def test_figures_follow_the_task(pages):
    texts = {name: Page(html).text for name, (_, html) in pages.items()}
    for part in ("Confusion matrix", "ROC curve", "Precision and recall", "Calibration"):
        assert part in texts["two classes"]
        assert part in texts["four classes"]
        assert part not in texts["numbers"]
    assert "Threshold by cost" in texts["two classes"]
    assert "Threshold by cost" not in texts["four classes"]
    for part in ("Predicted and true", "Spread of the residuals"):
        assert part in texts["numbers"]
    for part in ("Permutation importance", "Shapley values", "Partial dependence", "Learning curve"):
        assert all(part in text for text in texts.values())
    assert "No rows were held out" in texts["nothing held out"]


def test_dates_are_drawn_along_time(pages):
    text = Page(pages["two classes"][1]).text
    assert "since date" in text
    assert re.search(r"2020-01-\d\d to 2022-0\d-\d\d", text)
    assert "Partial dependence on since" in text


def test_the_same_comparison_gives_the_same_page(pages):
    case, html = pages["two classes"]
    assert report.render(case, terms=atlas.rows()) == html


def test_the_numbers_of_the_confusion_matrix(pages):
    case, html = pages["two classes"]
    held = case.plan.held_out
    matrix = metrics.confusion_matrix(case.y[held], case.judged_.predict(case.X.iloc[held]))
    table = html[html.index('class="confusion"') :]
    found = [int(n) for n in re.findall(r"<b>(\d+)</b>", table[: table.index("</table>")])]
    assert found == matrix.ravel().tolist()


def test_every_piece_of_code_compiles(pages):
    for _, html in pages.values():
        blocks = re.findall(r'<span class="language">python</span><pre><code[^>]*>(.*?)</code>', html, flags=re.S)
        assert len(blocks) == 4
        for block in blocks:
            compile(block.replace("&#x27;", "'").replace("&quot;", '"').replace("&gt;", ">"), "page", "exec")


def test_names_cannot_break_the_page(comparison):
    case = comparison()
    nasty = {"age": "</script><b>", "income": 'a"b', "town": "<img src=x onerror=alert(1)>"}
    plain, case.X = case.X, case.X.rename(columns=nasty)
    back = {new: old for old, new in nasty.items()}
    case.features, case.name, case.target = list(case.X.columns), "<i>.csv", "</title><script>"
    case.judged_ = _Renamed(case.judged_, back)
    html = report.render(case)
    page = Page(html)
    assert page.mistakes == []
    assert len(page.all("script")) == 1
    assert not page.all("img")
    assert "<img src=x onerror=alert(1)>" in page.text
    assert list(plain.columns) == ["age", "income", "town", "since"]


class _Renamed:
    def __init__(self, model, back):
        self._model, self._back, self.classes_ = model, back, model.classes_

    def predict(self, X):
        return self._model.predict(X.rename(columns=self._back))

    def predict_proba(self, X):
        return self._model.predict_proba(X.rename(columns=self._back))


def test_a_comparison_without_a_winner_or_without_scores(comparison):
    case = comparison()
    case.status = "interrupted"
    assert "was stopped" in Page(report.render(case)).text
    case.winner, case.best_, case.judged_, case.diagnosis, case.curve = "", None, None, "", None
    page = Page(report.render(case))
    assert page.mistakes == []
    assert "No model could be fitted" in page.text
    case = comparison()
    silent = case.output(case.winner, -1)
    case.output = lambda model, fold: SimpleNamespace(predicted=silent.predicted, scores=None, kind="")
    assert headings(report.render(case))[:2] == ["Columns", "Confusion matrix"]
    assert "ROC curve" not in headings(report.render(case))


def test_a_model_that_breaks_costs_one_part_of_the_page(comparison):
    case = comparison()

    class Broken:
        def predict(self, X):
            raise RuntimeError("no answer <today>")

    spoken = case.output(case.winner, -1)
    case.judged_, case.output = Broken(), lambda model, fold: spoken
    page = Page(report.render(case))
    assert page.mistakes == []
    assert f"{FAILED_PART} RuntimeError: no answer <today>" in page.text
    assert "Confusion matrix" in page.text


def test_pictures_are_not_looked_at_pixel_by_pixel(comparison):
    case = comparison()
    case.source = SimpleNamespace(image_shape=(1, 3))
    text = Page(report.render(case)).text
    assert "pictures of 1 × 3" in text
    assert "too many to be asked one by one" in text
    assert "Permutation importance" not in text


def test_decision_values_and_many_classes(comparison):
    case = comparison()
    spoken = case.output(case.winner, -1)
    values = np.log(spoken.scores[:, 1] / spoken.scores[:, 0])
    case.output = lambda model, fold: SimpleNamespace(predicted=spoken.predicted, scores=values, kind="decision values")
    html = report.render(case)
    assert "ROC curve" in headings(html)
    assert "Calibration" not in headings(html)
    assert "its decision value is at least" in Page(html).text
    assert "Commonest mistakes" in Page(report.render(comparison(n_classes=14, n=300))).text


@pytest.mark.parametrize("seed", range(3))
def test_thresholds_count_what_a_reader_would(seed):
    rng = np.random.default_rng(seed)
    y, score = rng.random(400) < 0.3, rng.random(400).round(3)
    judged = Judged(y, score > 0.5, np.column_stack([1 - score, score]), "probabilities", (False, True))
    table = thresholds_of(judged)
    assert len(table.threshold) <= 202
    assert (np.diff(table.threshold) > 0).all()
    for t, tp, fp in zip(table.threshold, table.true_positive, table.false_positive, strict=True):
        assert (tp, fp) == (np.sum(y & (score >= t)), np.sum(~y & (score >= t)))
    least = min(metrics.cost_at_threshold(y, score, t - 1e-9, 1, 1) for t in np.append(np.unique(score), 2.0))
    assert table.cost()[table.cheapest()] == pytest.approx(least)


def test_write_leaves_one_file(comparison, tmp_path):
    path = report.write(comparison(), tmp_path / "new" / "report.html")
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    assert path.read_text().startswith("<!DOCTYPE html>")


def test_the_slider_has_the_numbers_it_needs(pages):
    form = next(a for a in Page(pages["two classes"][1]).all("form"))
    data = json.loads(form["data-thresholds"])
    assert len(data["threshold"]) == len(data["tp"]) == len(data["fp"])
    assert (data["tp"][0], data["fp"][0]) == (data["positive"], data["negative"])
    assert (data["tp"][-1], data["fp"][-1]) == (0, 0)


def test_texts_have_importance_but_no_curve():
    rng = np.random.default_rng(0)
    words = np.array(["warm", "funny", "dull", "long", "bright", "tired"])
    texts = [" ".join(rng.choice(words, 6)) + f" {i}" for i in range(60)]
    X = pd.DataFrame({"review": texts, "stars": rng.integers(1, 6, 60)})
    y = np.array(["good" if "warm" in text else "bad" for text in texts])

    class Reader:
        def predict(self, rows):
            return np.array(["good" if "warm" in text else "bad" for text in rows["review"]])

    found = effects_of(Reader(), X, y, _accuracy, task="classification", classes=("bad", "good"))
    assert [curve.name for curve in found.curves] == ["stars"]
    assert found.drops[0].mean() > 0.2
    only = effects_of(Reader(), X[["review"]], y, _accuracy, task="classification", classes=("bad", "good"))
    assert only.curves == []
    assert str(curve_figures(only, "probability")) == ""


def _accuracy(model, X, y):
    return float(np.mean(model.predict(X) == y))
