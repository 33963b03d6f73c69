"""Programs that write pages: what they say comes from the code and the results, and nothing is left out."""

import inspect
import json
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks.measuring.cases import cases_of
from docs.generators import evidence as evidence_module
from docs.generators import gallery, growth, measured, notes, reference, rst, sources
from docs.generators.evidence import CheckFailed, Evidence, Shown
from docs.generators.sources import fingerprint, reachable_files
from docs.generators.words import AREAS, lab_link

from margin import catalog
from margin.cli.lab import lab
from margin.core.verdict import Verdict
from margin.notes import atlas, contents, experiments
from margin.report.mathml import mathml
from margin.service.evidence import Checked

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def shown(name, folder=Path()):
    return Shown(
        name, Verdict(True, {"loss": 0.5}, {"loss": "below 1"}), folder / f"{name}.png", folder / f"{name}-s.png"
    )


class TestText:
    def test_plain_text_has_no_markup_left(self):
        assert rst.escape("A* |x| `y` z_ x_1") == r"A\* \|x\| \`y\` z\_ x_1"

    def test_docstrings_keep_roles_literals_equations_and_examples(self):
        text = "See :math:`x_` and ``a|b``; |w| of coef_.\n\n.. math:: |x|_\n\n>>> a_\n|-- out\n\nb__ ends"
        safe = rst.safe_docstring(text)
        assert ":math:`x_`" in safe
        assert "``a|b``" in safe
        assert r"\|w\| of coef\_" in safe
        assert r"b\_\_ ends" in safe
        assert ".. math:: |x|_" in safe
        assert "|-- out" in safe

    def test_a_page_that_is_the_same_is_not_written_again(self, tmp_path):
        page = tmp_path / "page.rst"
        rst.write(page, "text")
        before = page.stat().st_mtime_ns
        rst.write(page, "text")
        assert page.stat().st_mtime_ns == before
        rst.write(page, "other")
        assert page.read_text() == "other"


class TestFingerprints:
    def test_they_follow_imports(self):
        files = {path.name for path in reachable_files(("margin.notes.experiments.regularization_paths",))}
        assert {"regularization_paths.py", "ridge.py", "verdict.py"} <= files
        assert "diffusion_digits.py" not in files

    def test_words_do_not_change_them_and_code_does(self, tmp_path):
        def hashed(name, text):
            (tmp_path / name).write_text(text)
            return sources._file_hash(tmp_path / name)

        plain = hashed("a.py", 'def f(x):\n    """Twice."""\n    return 2 * x\n')
        assert (
            hashed("b.py", '"""A module."""\n\n\ndef f(x):  # why\n    """Two times x."""\n    return 2 * x\n') == plain
        )
        assert hashed("c.py", 'def f(x):\n    """Two times x."""  # why\n\n    return 2 * x\n') == plain
        assert hashed("d.py", 'def f(x):\n    """Twice."""\n    return 3 * x\n') != plain
        assert hashed("e.py", 'def f(x):\n    """Twice."""\n    return "2 * x"\n') != plain

    def test_files_parsed_in_an_earlier_build_are_not_parsed_again(self, tmp_path, monkeypatch):
        file, record = tmp_path / "module.py", tmp_path / "kept" / "parsed.json"
        file.write_text("import margin.core.verdict\n\nNUMBER = 1\n")
        monkeypatch.setattr(sources, "_PARSED", {})
        with sources.parsed_files(record):
            first = sources._facts(file)
        monkeypatch.setattr(sources, "_PARSED", {})
        monkeypatch.setattr(sources.ast, "parse", lambda text: pytest.fail("parsed again"))
        with sources.parsed_files(record):
            assert sources._facts(file) == first
        assert first[1] == ["margin.core.verdict"]
        record.write_text("[damaged")
        with sources.parsed_files(record):
            pass

    def test_other_modules_have_another(self):
        assert fingerprint(["margin.core.verdict"]) != fingerprint(["margin.core.records"])


class TestEvidence:
    @pytest.fixture
    def calls(self, monkeypatch):
        made = []

        def run(name, picture, thumbnail):
            made.append(name)
            for path in (picture, thumbnail):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"picture")
            return Verdict(name != "minus-log", 1.0, 1.0, slips=("one",))

        monkeypatch.setattr(evidence_module, "_run", run)
        monkeypatch.setattr(evidence_module, "fingerprint", lambda modules: self.key)
        return made

    key = "a"

    def test_an_experiment_runs_again_only_when_its_sources_changed(self, tmp_path, calls):
        found = Evidence(tmp_path, say=lambda line: None)
        first = found.experiments(["jensen-inequality"])["jensen-inequality"]
        assert found.experiments(["jensen-inequality"])["jensen-inequality"] == first
        assert calls == ["jensen-inequality"]
        self.key = "b"
        found.experiments(["jensen-inequality"])
        assert calls == ["jensen-inequality", "jensen-inequality"]
        Evidence(tmp_path, say=lambda line: None, stale=True).experiments(["jensen-inequality"])
        assert len(calls) == 2

    def test_a_check_that_fails_stops_the_build_and_is_not_kept(self, tmp_path, calls):
        for _ in range(2):
            with pytest.raises(CheckFailed, match="minus-log does not hold"):
                Evidence(tmp_path, say=lambda line: None).experiments(["minus-log"])
        assert calls == ["minus-log", "minus-log"]

    @pytest.mark.parametrize("word", ["holds", "fails"])
    def test_an_area_is_verified_once_and_a_row_that_fails_stops_the_build(self, tmp_path, monkeypatch, calls, word):
        def verify(rows, seed, outcomes):
            assert outcomes.keys() == {"jensen-inequality"}, "experiments are not run a second time"
            return [Checked(row.id, row.area, row.kind, word, 1.0, 1.0, 0.1, slips=("one",)) for row in rows]

        monkeypatch.setattr(evidence_module, "verify", verify)
        said = []
        found = Evidence(tmp_path, say=said.append)
        pictures = {"jensen-inequality": shown("jensen-inequality")}
        if word == "fails":
            with pytest.raises(CheckFailed, match=r"Row information/.* fails"):
                found.rows(pictures, ["information"])
            return
        verdicts = found.rows(pictures, ["information"])
        assert verdicts.keys() == {row.id for row in atlas.rows().values() if row.area == "information"}
        assert found.rows(pictures, ["information"]) == verdicts
        assert said == ["verifying information"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notes")
    assert notes.write_notes(folder, {}, {}) == len(atlas.rows())
    return {path.stem: path.read_text() for path in folder.glob("*.rst")}


class TestNotes:
    def test_every_row_stands_in_full_exactly_once(self, pages):
        labels = re.findall(r"^\.\. _row-(.+):$", "\n".join(pages.values()), re.MULTILINE)
        assert len(labels) == len(set(labels))
        assert set(labels) == set(atlas.rows())

    def test_every_chapter_and_area_has_a_page(self, pages):
        assert {f"area-{area}" for area in AREAS} <= pages.keys()
        for table in contents.tables():
            assert {f"{table.number}-{chapter}" for chapter in notes.chapters(table)} <= pages.keys()

    def test_every_reference_leads_to_a_row(self, pages):
        targets = set(re.findall(r"<row-([^>]+)>", "\n".join(pages.values())))
        assert targets <= set(atlas.rows())

    def test_every_correction_is_on_the_page_of_corrections(self, pages):
        assert all(f"<row-{row.id}>" in pages["corrections"] for row in atlas.rows().values() if row.slips)

    def test_a_block_has_equation_statement_correction_and_code_as_run(self):
        row = atlas.row("gain-ratio")
        block = notes.row_block(row, None, shown("gain-ratio-and-identifiers"))
        assert row.equation in block
        assert "pays log2(n) bits" in block
        assert "as run: <code>margin.trees.multiway.gains.gain_of_counts" in block
        assert "as written: <code>margin.trees.gain_ratio" in block
        assert "/gallery/gain-ratio-and-identifiers" in block


def test_links_into_the_lab_lead_to_where_it_answers():
    port = inspect.signature(lab).parameters["port"].default
    assert f":{port}/notes/row/adam>" in lab_link("/notes/row/adam")


class TestGallery:
    def test_every_experiment_is_in_one_group(self):
        groups = gallery.grouped(experiments.names())
        assert sorted(name for names in groups.values() for name in names) == experiments.names()

    def test_every_tile_has_the_tags_that_the_buttons_count(self):
        names = ["lloyd-iterations", "regularization-paths", "em-gaussian-mixture"]
        tiles = re.findall(r"container:: tile(.*)", gallery.thumbnails(names, "."))
        buttons = dict(re.findall(r'data-tag="([\w-]+)".*?<small>(\d+)<', gallery.filters(names)))
        assert {tag: int(count) for tag, count in buttons.items()} == Counter(" ".join(tiles).split())
        assert buttons["shown-in-motion"] == "2"
        assert buttons["models-cluster"] == "1"

    def test_a_page_has_text_picture_verdict_rows_and_code(self):
        page = gallery.experiment_page(shown("regularization-paths"))
        assert page.startswith("Paths of coefficients")
        assert ":holds:`holds`" in page
        assert "loss: 0.5 (expected below 1)" in page
        assert "images/regularization-paths.png" in page
        assert "/reference/Ridge" in page
        assert "def run(seed: int, fast: bool)" in page


class TestReference:
    def test_every_model_has_a_page_with_all_it_declares(self, tmp_path):
        entry = catalog.entry("ridge")
        page = reference.model_page(entry, {}, {})
        for word in ("py:class:: margin.Ridge(alpha=1.0", "**alpha**", r"**coef\_**", "py:method:: predict(X)"):
            assert word in page
        assert "set_fit_request" not in page
        assert "get_params" not in page
        assert reference.FAMILIES.keys() == {entry.family for entry in catalog.ENTRIES}

    def test_the_index_names_every_model_part_and_package(self):
        index = reference.index_page({})
        assert all(f":doc:`{entry.class_name}`" in index for entry in catalog.ENTRIES)
        assert all(f"functions-{module.split('.')[1]}" in index for module in catalog.PUBLIC_FUNCTIONS)

    def test_functions_show_their_signature_and_examples(self):
        page = reference.functions_page("trees", ["margin.trees"])
        assert ".. py:function:: margin.trees.explain(model, X)" in page


class TestMeasured:
    def test_cases_are_compared_with_the_fastest_peer_and_losses_come_first(self):
        def way(who, seconds, **ratio):
            return {"who": who, "cpu": seconds, "wall": seconds, "quality": 0.5, "note": "", **ratio}

        cases = [
            {"case": "won", "size": "1", "quality_name": "q", "ways": [
                way("margin", 1.0), way("a", 3.0, ratio_cpu=3.0), way("b", 2.0, ratio_cpu=2.0),
                way("margin, dual", 0.5, ratio_cpu=0.5)]},
            {"case": "lost", "size": "1", "quality_name": "q", "ways": [
                way("margin", 1.0), way("a", 0.5, ratio_cpu=0.5)]},
            {"case": "alone", "size": "1", "quality_name": "q", "ways": [way("margin", 1.0)]},
        ]  # fmt: skip
        found = cases_of({"conditions": {"threads": 1}, "cases": cases})
        assert "<small>q: 0.5, a 0.5</small>" in measured.chart(found), "quality stands beside speed"
        assert [(case.task, case.peer, case.ratio) for case in found] == [("lost", "a", 0.5), ("won", "b", 2.0)]

    def test_every_stored_loss_is_on_the_page(self, tmp_path):
        count = measured.write_measured(tmp_path, RESULTS)
        page = (tmp_path / "index.rst").read_text()
        assert page.count("<tr>") >= count > 100
        stored = [path for path in RESULTS.glob("*.json") if not path.stem.endswith("-avx2")]
        losses = [case for path in stored for case in cases_of(json.loads(path.read_text())) if case.ratio < 1]
        assert f"{len(losses)} of them slower" in page
        assert page.count('class="track loss"') == 2 * len(losses)  # among the losses, and in their family

    def test_goals_that_were_missed_stand_beside_the_losses_and_every_run_has_its_findings(self, tmp_path):
        measured.write_measured(tmp_path, RESULTS)
        page = (tmp_path / "index.rst").read_text()
        runs = [json.loads(path.read_text()) for path in (RESULTS / "full_scale").glob("*.json")]
        missed = [finding for run in runs for finding in run["findings"] if finding["reached"] is False]
        assert missed
        section = page.partition("Missed goals\n")[2].partition("At a glance\n")[0]
        assert section.count("\n* ") == page.count('<td class="missed">') == len(missed)
        assert page.count('<table class="findings">') == len(runs)

    def test_growth_is_drawn_where_it_was_measured(self, tmp_path):
        rows = [
            {"task": task, "way": way, "millions": m, "columns": 20, "megabytes": m * 10.0 ** (way == "memory")}
            for task in ("a < b", "c")
            for way in ("stream", "memory")
            for m in (1, 4)
        ]
        assert growth.growth_charts(tmp_path) == ""
        (tmp_path / "scale.json").write_text(json.dumps({"raw": rows}))
        page = growth.growth_charts(tmp_path)
        picture = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
        assert len(picture.findall("g")) == 2
        assert len(picture.findall("g/polyline")) == 4
        assert "a < b" in [text.text for text in picture.iter("text")]
        heights = {
            tuple(float(point.split(",")[1]) for point in line.attrib["points"].split())
            for line in picture.findall("g/polyline")
        }
        assert all(first > last for first, last in heights)  # more rows, more megabytes, higher up


PATTERN = "([^"  # how code begins that looks for equations in text


def test_every_equation_of_docstrings_and_pages_becomes_mathml():
    code = [path.read_text(encoding="utf-8") for path in (ROOT / "src" / "margin").rglob("*.py")]
    inline = {text for file in code for text in re.findall(r":math:`([^`]+)`", file)} - {PATTERN}
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*/*.md")]
    inline |= {text for page in pages for text in re.findall(r"(?<![$\w])\$([^$\n]+)\$(?!\$)", page)}
    blocks = {text for page in pages for text in re.findall(r"\$\$(.+?)\$\$", page, flags=re.DOTALL)}
    assert len(inline) > 500
    assert len(blocks) > 10
    for text in inline:
        assert mathml(text.replace("\\\\", "\\"), display=False).startswith("<math"), text
    for text in blocks:
        assert mathml(text).startswith("<math"), text
