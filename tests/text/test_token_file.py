"""Tokens in a file: those of the text in memory, however it is cut, and a model of the same bits in bounded memory."""

import tracemalloc

import numpy as np
import pytest

import margin
from margin.store import save
from margin.text import LanguageModel, TokenFile, bpe_compiled, text_chunks
from margin.text.bpe import BytePairTokenizer
from margin.text.token_codes import TextCodes

TEXTS = [
    "\ufeffIt's  a señor's 2nd owl 🦉,\r\n\r\n  and\t\tthen!\x1c ...  \n" * 30,
    "no-break-at-all" * 40,
    "",
    " \n\n  x" * 100,
]
PLAIN = [text.removeprefix("\ufeff") for text in TEXTS]
TINY = {"d_model": 8, "n_heads": 1, "n_blocks": 1, "context": 8, "batch_size": 4, "steps_per_epoch": 3, "max_iter": 2}


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{i}.txt" for i in range(len(TEXTS))]
    for path, text in zip(paths, TEXTS):
        path.write_bytes(text.encode())
    return paths


@pytest.mark.parametrize("chunk", [7, 64, 10**6])
def test_chunks_are_the_text_and_cut_no_piece(files, chunk, monkeypatch):
    monkeypatch.setattr(text_chunks, "CHUNK_BYTES", chunk)
    trained = BytePairTokenizer.train(PLAIN, 300)
    for path, text in zip(files, PLAIN):
        chunks = list(text_chunks.text_chunks(path))
        assert "".join(chunks) == text
        assert [token for part in chunks for token in trained.encode(part)] == trained.encode(text)


@pytest.mark.parametrize("kind", ["char", "byte", "bpe"])
def test_the_tokens_and_the_model_are_those_of_the_texts(files, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(text_chunks, "CHUNK_BYTES", 50)
    file = TokenFile.write(tmp_path / "tokens", files, kind, 300)
    codes = TextCodes.learn(kind, PLAIN, 300)
    assert file.codes.stored == codes.stored
    assert file.tokens.tolist() == codes.join_texts(PLAIN, "test").tolist()
    assert isinstance(file.tokens, np.memmap)
    assert not file.tokens.flags.writeable
    for name, X in (("file", file), ("texts", PLAIN)):
        save(LanguageModel(tokens=kind, vocab_size=300, random_state=1, **TINY).fit(X), tmp_path / name)
    assert (tmp_path / "file").read_bytes() == (tmp_path / "texts").read_bytes()


def test_memory_does_not_grow_with_the_text(tmp_path, monkeypatch):
    """Of four times the text no more is held, neither to write the tokens nor to learn from them."""
    monkeypatch.setattr(text_chunks, "CHUNK_BYTES", 2**15)
    monkeypatch.setattr(bpe_compiled, "CHUNK", 2**15)
    model = LanguageModel(tokens="bpe", vocab_size=300, random_state=0, **TINY)
    peaks = []
    for kilobytes in (100, 300, 1200):  # the first for what is loaded and made once
        path = tmp_path / f"{kilobytes}.txt"
        path.write_text("the owl and the pussycat went to sea in a beautiful green boat\n" * (kilobytes * 16))
        tracemalloc.start()
        file = TokenFile.write(tmp_path / f"tokens{kilobytes}", [path], "bpe", 300)
        written = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        model.fit(file)
        peaks.append((written, tracemalloc.get_traced_memory()[1]))
        tracemalloc.stop()
    assert file.tokens.nbytes > 500_000
    assert all(after < before + 250_000 for before, after in zip(peaks[1], peaks[2]))


def test_a_run_goes_on_and_knows_its_file(files, tmp_path):
    file = TokenFile.write(tmp_path / "tokens", files, "char")
    model = LanguageModel(random_state=0, **TINY)
    margin.fit(model, file, run=tmp_path / "run")
    margin.fit(model, TokenFile(tmp_path / "tokens"), run=tmp_path / "run")
    other = TokenFile.write(tmp_path / "others", files[:2], "char")
    with pytest.raises(margin.runs.RunError, match="holds another run"):
        margin.fit(model, other, run=tmp_path / "run")
    part = model.iterate(file)
    next(part)
    state = model.get_state()
    part.close()
    with pytest.raises(ValueError, match="state belongs to"):
        list(model.iterate(other, state=state))


def test_what_is_wrong_is_one_sentence_and_leaves_nothing(files, tmp_path):
    folder = tmp_path / "tokens"
    files[1].write_bytes(b"fine text " * 3 + b"\xff")
    with pytest.raises(ValueError, match=r"1.txt: the file must be UTF-8 text; byte 30 is 0xff"):
        TokenFile.write(folder, files)
    with pytest.raises(ValueError, match=r"files must be text files; got .*none.txt"):
        TokenFile.write(folder, [tmp_path / "none.txt"])
    with pytest.raises(ValueError, match="all of them are empty"):
        TokenFile.write(folder, [files[2]], "byte")
    assert not folder.exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    file = TokenFile.write(folder, files[:1], "bpe", 280)
    with pytest.raises(FileExistsError, match="is there already"):
        TokenFile.write(folder, files[:1])
    for wrong, sentence in (
        ({"tokens": "char"}, "tokens must be 'bpe'"),
        ({"tokens": "bpe"}, "vocab_size must be 280"),
    ):
        with pytest.raises(ValueError, match=sentence):
            LanguageModel(**wrong, **TINY).fit(file)
    content = (folder / "tokens.bin").read_bytes()
    (folder / "tokens.bin").write_bytes(content[:-4])
    with pytest.raises(ValueError, match=r"tokens.bin: is truncated"):
        TokenFile(folder)
    (folder / "tokens.bin").write_bytes(b"\xff\xff" + content[2:])
    with pytest.raises(ValueError, match="holds the code 65535"):
        LanguageModel(tokens="bpe", vocab_size=280, **TINY).fit(TokenFile(folder))
    (folder / "tokens.json").write_text("{}")
    with pytest.raises(ValueError, match="does not describe tokens"):
        TokenFile(folder)
