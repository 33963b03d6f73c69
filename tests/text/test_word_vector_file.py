"""Word vectors as the text files of word2vec."""

import numpy as np
import pytest

import margin
from margin.text.word_vector_file import read_word_vectors, write_word_vectors

TEXTS = ["red wine cheese", "red wine bread", "blue sea sand", "blue sea wave"] * 10


@pytest.mark.parametrize("kind", [margin.Word2Vec, margin.GloVe])
def test_what_is_written_is_read_with_the_same_bits(kind, tmp_path):
    model = kind(6, window=2, min_count=1, max_iter=2, random_state=0).fit(TEXTS)
    again = kind.from_word2vec(model.to_word2vec(tmp_path / "vectors.txt"))
    np.testing.assert_array_equal(again.vectors_, model.vectors_)
    assert again.vocabulary_ == model.vocabulary_
    assert again.most_similar("bread", 3) == model.most_similar("bread", 3)
    stored = margin.load(margin.save(again, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(stored.transform(TEXTS), model.transform(TEXTS))
    classifier = margin.TextClassifier.from_encoder(again, max_iter=20, random_state=0)
    labels = ["red" in text for text in TEXTS]
    assert classifier.fit(TEXTS, labels).score(TEXTS, labels) > 0.7
    assert again.fit(TEXTS).counts_.sum() == 120


def test_a_file_written_by_hand(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("2 3\nsea 1 2.5 -3e-1\nsand 0 0 1\n", encoding="utf-8")
    words, vectors = read_word_vectors(path)
    assert (words, vectors.tolist()) == (["sea", "sand"], [[1, 2.5, -0.3], [0, 0, 1]])
    path.write_text("sea 1 2\nsand 0 1\nsea 7 7\n", encoding="utf-8")  # GloVe's own files have no header
    words, vectors = read_word_vectors(path)
    assert (words, vectors.tolist()) == (["sea", "sand"], [[1, 2], [0, 1]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"2 3\nsea 1 2 3\n", "must have 2 words; it has 1"),
        (b"1 3\nsea 1 2\n", "line 2 of .* must have a word and 3 numbers; got 3 parts"),
        (b"1 2\nsea 1 nan\n", "line 2 of .* must have finite numbers"),
        (b"1 2\nsea 1 x\n", "line 2 of .* must have finite numbers"),
        (b"", "must have some words; it has 0"),
        (b"1 2\n\xff\xfe 1 2\n", "must be text in UTF-8"),
    ],
)
def test_files_that_are_none_are_refused_with_one_sentence(content, message, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_word_vectors(path)


def test_words_with_white_space_have_no_place_in_the_file(tmp_path):
    with pytest.raises(ValueError, match="without white space"):
        write_word_vectors(tmp_path / "vectors.txt", ["New York"], np.ones((1, 2)))
    with pytest.raises(ValueError, match="vector_size must be 2"):
        path = write_word_vectors(tmp_path / "vectors.txt", ["Bern"], np.ones((1, 2)))
        margin.Word2Vec.from_word2vec(path, vector_size=3)
