"""From a text file to a language model to new text, as a user would."""

import json
from pathlib import Path

import pytest

import margin

CHEAP = [f"--set={s}" for s in ("d_model=8", "n_heads=2", "n_blocks=1", "context=8", "max_iter=1")]


@pytest.fixture
def trained(run, tmp_path):
    (tmp_path / "rhyme.txt").write_text("one two three\nfour five six\n" * 10, encoding="utf-8")
    run("fit", "language-model", "rhyme.txt", "--out", "lm", "-q", *CHEAP)
    return "lm"


def test_a_text_file_is_read_as_one_text_and_sampled_from(run, trained):
    first = run("sample", trained, "--prompt", "one", "--max-tokens", "12", "--seed", "3").stdout
    assert first == run("sample", trained, "--prompt", "one", "--max-tokens", "12", "--seed", "3").stdout
    assert first != run("sample", trained, "--prompt", "one", "--max-tokens", "12", "--seed", "4").stdout
    assert first.startswith("one")
    assert first.endswith("\n")
    assert len(first) <= 3 + 12 + 1
    assert set(first) <= set("one two three\nfour five six\n")


def test_options_of_the_draw_act(run, trained):
    def text(*options):
        return run("sample", trained, "--max-tokens", "10", "--prompt", "t", *options).stdout

    certain = text("--temperature", "0", "--seed", "1")
    assert certain == text("--temperature", "0", "--seed", "2")
    assert certain == text("--top-k", "1", "--seed", "5")
    assert certain == text("--top-p", "0.000001", "--seed", "6")


def test_several_texts_as_json_and_into_a_file(run, trained, tmp_path):
    texts = json.loads(run("sample", trained, "-n", "2", "--max-tokens", "5", "--json").stdout)
    run("sample", trained, "-n", "2", "--max-tokens", "5", "--out", "new.txt")
    assert (tmp_path / "new.txt").read_text(encoding="utf-8") == "\n\n".join(texts) + "\n"


def test_a_text_file_is_scored(run, trained):
    assert "log_likelihood" in run("score", trained, "rhyme.txt").stdout


def test_what_is_refused(run, trained, tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"one\ncaf\xe9 two")
    refused = run("fit", "language-model", "latin.txt", "-q", code=2).stderr
    assert "latin.txt: the file must be UTF-8 text; byte 7 (line 2) is 0xe9" in refused
    (tmp_path / "blank.txt").write_text(" \n")
    assert "must have text" in run("fit", "language-model", "blank.txt", "-q", code=2).stderr
    assert "neither a file" in run("fit", "language-model", "absent.txt", "-q", code=2).stderr
    assert "was not in fit and is left out" in run("sample", trained, "--prompt", "Q").stderr
    run("fit", "gaussian-mixture", "blobs:n_samples=100", "--out", "g", "-q")
    assert "GaussianMixture in g writes no text" in run("sample", "g", "--prompt", "one", code=2).stderr


def test_models_on_text_take_a_column_of_a_table(run, tmp_path):
    rows = ["text,label", *(f"{word} film,{label}" for word, label in [("good", "+"), ("bad", "-")] * 20)]
    (tmp_path / "films.csv").write_text("\n".join(rows))
    run("fit", "text-classifier", "films.csv", "-t", "label", "--out", "c", "-q", "--set", "max_iter=3")
    assert run("predict", "c", "films.csv").stdout.splitlines()[:3] == ["prediction", "+", "-"]
    assert "needs a target" in run("fit", "translator", "films.csv", "-q", code=2).stderr
    (tmp_path / "wide.csv").write_text("a,b,label\nx,y,+\nz,w,-\n")
    refused = run("fit", "text-classifier", "wide.csv", "-t", "label", "-q", code=2).stderr
    assert "takes one column of texts; wide.csv has 2" in refused


def test_a_parameter_named_sample_is_not_a_method(run, tmp_path):
    (tmp_path / "rhyme.txt").write_text("one two three\nfour five six\n" * 10)
    run("fit", "word2vec", "rhyme.txt", "--out", "w", "-q", "--set", "min_count=1", "--set", "max_iter=1")
    assert "not generative" in run("sample", "w", code=2).stderr


def test_taggers_answer_with_tags_as_they_read_them(run, tmp_path):
    rows = ["words,tags", *["Ann saw Rome,B-PER O B-LOC", "Bob left Paris today,B-PER O B-LOC O"] * 10]
    (tmp_path / "tagged.csv").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "new.csv").write_text("words\nEve saw Berlin\nToday Ann left Rome again\n", encoding="utf-8")
    for tagger in ("hmm-tagger", "crf-tagger"):
        run("fit", tagger, "tagged.csv", "--target", "tags", "--out", tagger, "-q")
        name, first, second = run("predict", tagger, "new.csv").stdout.split("\n")[:3]
        assert (name, first, len(second.split())) == ("prediction", "B-PER O B-LOC", 5)
    (tmp_path / "short.csv").write_text("words,tags\nAnn saw Rome,B-PER O\n", encoding="utf-8")
    refused = run("fit", "hmm-tagger", "short.csv", "--target", "tags", "--out", "s", "-q", code=1).stderr
    assert "text 0 has 3 words and 2 tags" in refused


def test_translations_of_a_table(run, tmp_path):
    rows = ["de,en", *["eins zwei,one two", "zwei drei vier,two three four"] * 10]
    (tmp_path / "pairs.csv").write_text("\n".join(rows), encoding="utf-8")
    cheap = [*CHEAP, "--set=tokens=char", "--set=context=20"]
    run("fit", "translator", "pairs.csv", "--target", "en", "--out", "t", "-q", *cheap)
    assert len(run("predict", "t", "pairs.csv").stdout.splitlines()) == 21
    (tmp_path / "long.csv").write_text("de\n" + "eins " * 30 + "\n", encoding="utf-8")
    assert "1 source text is cut to 19 tokens" in run("predict", "t", "long.csv").stderr


def test_several_files_of_text_and_a_large_one_are_never_read_whole(run, monkeypatch):
    """Their tokens go through a file; the model has the bits of the same texts in memory."""
    from margin.service import texts

    Path("books").mkdir()
    for name in "ab":
        Path("books", f"{name}.txt").write_text(f"the owl and the pussycat {name} " * 30)
    fit = ("fit", "language-model")
    run(*fit, "books/a.txt", "--out", "whole", "-q", *CHEAP)
    monkeypatch.setattr(texts, "LARGE_TEXT", 10)
    monkeypatch.setattr(texts, "read_text", lambda path: pytest.fail(f"{path} is read whole"))
    run(*fit, "books/a.txt", "--out", "large", "-q", *CHEAP)
    one, other = (margin.load(f"{run_folder}/model.safetensors").weights_ for run_folder in ("whole", "large"))
    assert {name: array.tobytes() for name, array in one.items()} == {n: a.tobytes() for n, a in other.items()}
    run(*fit, "books", "--out", "folder", "-q", *CHEAP)
    run(*fit, "books/*.txt", "--out", "pattern", "-q", *CHEAP)
    assert Path("folder/model.safetensors").read_bytes() == Path("pattern/model.safetensors").read_bytes()
    from margin.text import TokenFile

    TokenFile.write("tokens", sorted(Path("books").iterdir()), tokens="char")
    run(*fit, "tokens", "--out", "tokenized", "-q", *CHEAP)
    assert Path("tokenized/model.safetensors").read_bytes() == Path("folder/model.safetensors").read_bytes()
    Path("books/b.txt").write_text("another")
    assert "holds another run" in run(*fit, "books", "--out", "folder", "-q", *CHEAP, code=1).stderr
