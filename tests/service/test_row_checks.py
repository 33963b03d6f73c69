"""Checks of rows and pictures of experiments, run once and kept."""

import pytest

from margin.notes import atlas, experiments
from margin.service.experiment_pages import (
    draw_experiment,
    experiment_page,
    kept_experiment,
    list_experiments,
    picture_of,
)
from margin.service.requests import BadRequest
from margin.service.row_checks import check_row, kept_check, kept_verdicts


def test_a_check_is_run_and_kept_by_seed(tmp_path):
    assert kept_check("sigmoid-derivative", 3, str(tmp_path)) is None
    facts = check_row("sigmoid-derivative", 3, str(tmp_path))
    assert facts["verdict"] == "holds"
    assert facts["findings"]
    assert kept_check("sigmoid-derivative", 3, str(tmp_path)) == facts
    assert kept_check("sigmoid-derivative", 4, str(tmp_path)) is None
    assert kept_verdicts(str(tmp_path)) == {"sigmoid-derivative": [{"seed": 3, "verdict": "holds"}]}


def test_a_correction_shows_its_counterexample(tmp_path):
    row = next(row for row in atlas.rows().values() if row.slips and not row.experiment)
    facts = check_row(row.id, 0, str(tmp_path))
    assert facts["verdict"] == "corrected"
    assert any(finding["is_counterexample"] for finding in facts["findings"])


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, True, "0"])
def test_a_seed_that_is_none_is_refused(seed, tmp_path):
    with pytest.raises(BadRequest, match="A seed is an integer"):
        check_row("sigmoid-derivative", seed, str(tmp_path))


def test_damaged_files_are_as_good_as_none(tmp_path):
    check_row("sigmoid-derivative", 0, str(tmp_path))
    (tmp_path / "rows" / "sigmoid-derivative.0.json").write_text("{")
    assert kept_check("sigmoid-derivative", 0, str(tmp_path)) is None
    assert kept_verdicts(str(tmp_path)) == {}


def test_every_experiment_is_listed_with_its_rows():
    listed = list_experiments()
    assert [entry["name"] for entry in listed] == experiments.names()
    assert {id for entry in listed for id in entry["rows"]} == {r.id for r in atlas.rows().values() if r.experiment}
    assert all(entry["title"] for entry in listed)


def test_a_picture_is_drawn_once_and_kept(tmp_path):
    with pytest.raises(KeyError, match="no picture"):
        picture_of("minus-log", 0, True, "png", str(tmp_path))
    facts = draw_experiment("minus-log", 0, True, str(tmp_path))
    assert facts["verdict"] in ("holds", "corrected")
    assert kept_experiment("minus-log", 0, True, str(tmp_path)) == facts
    assert kept_experiment("minus-log", 1, True, str(tmp_path)) is None
    file, media = picture_of("minus-log", 0, True, "png", str(tmp_path))
    assert media == "image/png"
    assert file.read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in file.parent.iterdir()} == {"minus-log.png", "outcome.json"}


def test_names_that_are_none_reach_no_file(tmp_path):
    for name in ("../secret", "nothing", ""):
        with pytest.raises(KeyError):
            picture_of(name, 0, True, "png", str(tmp_path))
        with pytest.raises(KeyError):
            kept_experiment(name, 0, True, str(tmp_path))
    with pytest.raises(KeyError):
        picture_of("minus-log", 0, True, "json", str(tmp_path))


def test_an_experiment_has_a_page_with_its_source():
    page = experiment_page("minus-log")
    assert "def run(" in page["code"]["text"]
    assert page["rows"]
    assert page["previous"]
    assert page["next"]


def test_equations_in_the_texts_of_experiments_are_all_converted():
    pages = [experiment_page(name) for name in experiments.names()]
    assert all(equation.startswith("<math") for page in pages for equation in page["equations"].values())
    assert any(page["equations"] for page in pages)
