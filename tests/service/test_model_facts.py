"""What is told about a model is kept between commands, and asked anew when the package has changed."""

import json
import os
import subprocess
import sys

import pytest

from margin import catalog
from margin.service import model_facts as module
from margin.service.model_facts import model_facts
from margin.service.models import describe, list_models

HEAVY = ("sklearn", "torch", "scipy", "pandas")


def test_facts_are_the_same_from_the_class_and_from_the_folder(tmp_path):
    first = model_facts(catalog.entry("ridge"), tmp_path)
    assert json.loads((tmp_path / "ridge.json").read_text()) == first == model_facts(catalog.entry("ridge"), tmp_path)
    assert {p["name"]: p["shown"] for p in first["parameters"]}["alpha"] == "1.0"
    assert first["source"] == os.path.join("margin", "linear", "ridge.py")
    assert any("ridge" in row["id"] for row in first["rows"])
    assert describe("Ridge") == first


def test_kept_facts_are_read_and_damaged_ones_are_not(tmp_path):
    entry = catalog.entry("ridge")
    facts = model_facts(entry, tmp_path)
    (tmp_path / "ridge.json").write_text(json.dumps({**facts, "summary": "kept"}))
    assert model_facts(entry, tmp_path)["summary"] == "kept"
    for damage in ("{", "[]", json.dumps({**facts, "path": "margin.other.Ridge"})):
        (tmp_path / "ridge.json").write_text(damage)
        assert model_facts(entry, tmp_path) == facts


def test_an_edit_of_the_package_is_another_key(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("x = 1")
    monkeypatch.setattr(module.margin, "__file__", str(tmp_path / "__init__.py"))
    keys = []
    for text in ("x = 1", "x = 12", "x = 12"):
        (tmp_path / "a.py").write_text(text)
        os.utime(tmp_path / "a.py", (len(text), len(text)))
        keys.append(module.package_key.__wrapped__())
    assert keys[0] != keys[1] == keys[2]


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path):
    (tmp_path / "file").write_text("")
    assert model_facts(catalog.entry("ridge"), tmp_path / "file" / "folder")["name"] == "ridge"


@pytest.mark.parametrize("call", ["describe('ridge')", "list_models()"])
def test_showing_and_listing_import_nothing_heavy(call, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    model_facts(catalog.entry("ridge"))
    code = f"import sys; from margin.service.models import *; {call}; print(*(m for m in {HEAVY} if m in sys.modules))"
    code = code.replace("from margin", "sys.platform = 'linux'; from margin")
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == []


def test_a_list_without_rows_has_none():
    assert "rows" not in list_models(rows=False)[0]
    assert "rows" in list_models()[0]
