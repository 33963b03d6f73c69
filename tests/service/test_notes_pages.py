"""The pages of the notes: contents, sections, statements, search; and the code that a statement cites."""

import json

import pytest

from margin.notes import atlas
from margin.service import notes_pages
from margin.service.requests import BadRequest
from margin.service.source_code import find_source

pytest.importorskip("latex2mathml")


def test_the_contents_count_every_row():
    contents = notes_pages.notes_contents()
    assert contents["rows"] == len(atlas.rows()) == sum(area["rows"] for area in contents["areas"])
    assert contents["corrected"] == sum(bool(row.slips) for row in atlas.rows().values())
    assert len(contents["notes"]) == 5
    json.dumps(contents, allow_nan=False)


def test_a_chapter_shows_the_sections_below_it_and_its_neighbors():
    page = notes_pages.section_page("003", "1")
    assert page["parts"][1]["section"]["number"] == "1.1"
    assert page["parts"][-1]["section"]["number"] == "1.13"
    assert page["next"]["number"] == "2"
    assert "previous" not in page
    assert any(row["equation"].startswith("<math") for part in page["parts"] for row in part["rows"])


def test_a_row_shows_its_code_as_written_and_as_run():
    page = notes_pages.row_page("adam")
    forms = {code["form"] for code in page["code"]}
    assert forms == {"as written", "as run"}
    assert all("def " in code["text"] or "class " in code["text"] for code in page["code"])
    assert page["slips"]
    assert {place["notes"] for place in page["places"]} >= {"001", "002", "003", "004"}


def test_every_piece_of_cited_code_is_found():
    missing = []
    for path in sorted({path for row in atlas.rows().values() for path in row.code}):
        try:
            assert find_source(path).text
        except KeyError:
            missing.append(path)
    assert missing == []


@pytest.mark.parametrize("path", ["os.system", "margin.nothing", "margin..x", "margin.trees.Nobody", "margin/../x", ""])
def test_what_is_no_path_into_margin_is_refused(path):
    with pytest.raises(KeyError):
        find_source(path)


@pytest.mark.parametrize(("text", "first"), [("adam", "adam"), ("elbo", "elbo"), ("kl divergence", "kl-divergence")])
def test_search_finds_what_is_called_so_first(text, first):
    assert notes_pages.search_rows(text)[0]["id"] == first


def test_search_keeps_to_area_kind_and_corrections():
    found = notes_pages.search_rows("", area="losses", corrected=True)
    assert found
    assert all(row["area"] == "losses" and row["corrected"] for row in found)
    assert notes_pages.search_rows("") == []
    assert notes_pages.search_rows("qqqzzz") == []
    with pytest.raises(BadRequest, match="no area 'nowhere'"):
        notes_pages.search_rows("x", area="nowhere")


def test_what_is_not_there_is_named():
    with pytest.raises(KeyError, match="no row 'nothing'"):
        notes_pages.row_page("nothing")
    with pytest.raises(KeyError, match="no notes '7'"):
        notes_pages.section_page("7", "1")
    with pytest.raises(KeyError, match="no area"):
        notes_pages.area_page("nowhere")
