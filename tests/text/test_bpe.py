"""Byte-pair encoding against counting by brute force, against merging by scanning, and against Hugging Face."""

import itertools
import json
from collections import Counter

import numpy as np
import pytest

from margin.text.bpe import BytePairTokenizer
from margin.text.bpe_merging import learn_merges, merge_symbols
from margin.text.pieces import split_pieces

TEXTS = [
    "The chef cooked a meal for the critic; the critic's meal wasn't cold.  Two  spaces, a\ttab\n\n and lines.\n",
    "def f(x_1, y2):\n    return x_1**2 + y2  # x²+y, ½ of Ⅷ\n",
    "Ελληνικά, русский язык, 日本語の文章、한국어, हिन्दी, العربية, ไทย",
    "🦉👩‍👩‍👧‍👦🏳️‍🌈 emoji 😀😀😀",
    "\x00\x01\x1c\x1d\x1e\x1f\x7f\x85\xa0\u2003\u3000control\u200b\ufeff bytes \r\n\x0b\x0c",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "",
]


def trained(vocab_size=330, **options):
    return BytePairTokenizer.train(TEXTS, vocab_size, **options)


def merged(word, pair, new):
    out = []
    for symbol in word:
        out.append(symbol)
        if tuple(out[-2:]) == pair:
            out[-2:] = [new]
    return out


def brute_force(words, n_merges):
    """Count everything anew before each merge."""
    symbols = {word: list(word) for word in words}
    merges = []
    while len(merges) < n_merges:
        counts = Counter()
        for word, now in symbols.items():
            for pair in itertools.pairwise(now):
                counts[pair] += words[word]
        if not counts:
            break
        pair = min(counts, key=lambda p: (-counts[p], p))
        symbols = {word: merged(now, pair, 256 + len(merges)) for word, now in symbols.items()}
        merges.append(pair)
    return merges


@pytest.mark.parametrize("seed", range(5))
def test_learned_merges_are_those_of_counting_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    words = {bytes(rng.integers(97, 100, rng.integers(1, 9)).tolist()): int(rng.integers(1, 20)) for _ in range(40)}
    assert learn_merges(words, 60) == brute_force(words, 60)


@pytest.mark.parametrize("seed", range(5))
def test_a_word_is_merged_as_by_applying_the_merges_in_order(seed):
    rng = np.random.default_rng(seed)
    words = {bytes(rng.integers(97, 100, 8).tolist()): 1 for _ in range(30)}
    merges = learn_merges(words, 40)
    ranks = {pair: (rank, 256 + rank) for rank, pair in enumerate(merges)}
    for length in (0, 1, 2, 5, 60):
        word = rng.integers(97, 101, length).tolist()
        expected = word
        for rank, pair in enumerate(merges):
            expected = merged(expected, pair, 256 + rank)
        assert merge_symbols(word, ranks) == expected


def test_first_merges_of_a_small_corpus_are_those_found_by_hand():
    tokenizer = BytePairTokenizer.train("hug pug pun bun hugs hug", 256 + 3)
    # ug: 4, then " p" 2, "un" 2, "hug" (h + ug): 3 (hug, " hugs", " hug"); then " " + "hug": 2, " p": 2, "un": 2.
    assert tokenizer.merges == [(b"u", b"g"), (b"h", b"ug"), (b" ", b"p")]


def test_pieces_join_to_the_text_and_follow_the_pattern_of_gpt2():
    for text in TEXTS:
        assert "".join(split_pieces(text)) == text
    regex = pytest.importorskip("regex")
    white = r"\p{White_Space}"  # what \s is in the library that Hugging Face uses
    pattern = (
        rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+| ?[^{white}\p{{L}}\p{{N}}]+|{white}+(?![^{white}])|{white}+"
    )
    for text in TEXTS:
        assert split_pieces(text) == regex.findall(pattern, text)


@pytest.mark.parametrize("text", [*TEXTS, "unseen wörds ☃ and <|end|> inside", "<|end|><|end|>"])
def test_strings_come_back(text):
    for tokenizer in (trained(256), trained(), trained(special_tokens=["<|end|>", "<|e"])):
        assert tokenizer.decode(tokenizer.encode(text)) == text
        assert tokenizer.decode(tokenizer.encode(text, parse_special=False)) == text


@pytest.mark.parametrize("seed", range(5))
def test_every_byte_string_comes_back(seed):
    tokenizer = trained()
    rng = np.random.default_rng(seed)
    for length in (0, 1, 7, 300):
        data = rng.integers(0, 256, length, dtype=np.uint8).tobytes()
        assert tokenizer.decode_bytes(tokenizer.encode_bytes(data)) == data
    for text in TEXTS:
        assert tokenizer.encode_bytes(text.encode()) == tokenizer.encode(text)


def test_the_vocabulary_has_the_size_asked_for_or_all_pairs():
    assert trained(300).vocab_size == 300
    assert trained(300, special_tokens=["<s>"]).vocab_size == 300
    everything = BytePairTokenizer.train(["abc"], 1000)
    assert everything.vocab_size == 258
    assert everything.encode("abc") == [257]
    assert len(BytePairTokenizer.train(["ab ab", "cd"], 1000, min_frequency=2).merges) == 1


def test_special_tokens_stand_for_themselves():
    tokenizer = trained(300, special_tokens=["<|end|>", "<|end|>!"])
    assert tokenizer.special_tokens == {"<|end|>": 298, "<|end|>!": 299}
    ids = tokenizer.encode("a<|end|>!b<|end|>")
    assert ids == [97, 299, 98, 298]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "ab"
    assert 298 not in tokenizer.encode("<|end|>", parse_special=False)


def test_long_pieces_are_not_quadratic():
    tokenizer = trained()
    assert len(tokenizer.encode("a" * 200_000)) < 200_000  # minutes, if each merge scanned the piece


def test_files_come_back(tmp_path):
    tokenizer = trained(320, special_tokens=["<|end|>"])
    tokenizer.save(tmp_path / "tokenizer.json")
    again = BytePairTokenizer.load(tmp_path / "tokenizer.json")
    assert again.merges == tokenizer.merges
    assert again.special_tokens == tokenizer.special_tokens
    for text in (*TEXTS, "a<|end|>b"):
        assert again.encode(text) == tokenizer.encode(text)


def test_hugging_face_reads_the_file_and_gives_the_same_ids(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    ours = trained(320, special_tokens=["<|end|>"])
    theirs = tokenizers.Tokenizer.from_str(ours.to_json())
    for text in (*TEXTS, "unseen wörds ☃ a<|end|>b"):
        ids = ours.encode(text)
        assert theirs.encode(text).ids == ids
        assert theirs.decode(ids, skip_special_tokens=False) == text
    again = BytePairTokenizer.from_json(theirs.to_str())
    assert again.encode(TEXTS[0]) == ours.encode(TEXTS[0])


def test_a_file_that_hugging_face_trained_gives_the_same_ids():
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.ByteLevelBPETokenizer()
    theirs.train_from_iterator(TEXTS, vocab_size=330, min_frequency=2, special_tokens=["<s>", "<pad>"])
    ours = BytePairTokenizer.from_json(theirs.to_str())
    for text in (*TEXTS, "unseen wörds ☃ <s>a<pad>b"):
        assert ours.encode(text) == theirs.encode(text).ids


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BytePairTokenizer.train(["a"], 255), "vocab_size must be at least 256"),
        (lambda: BytePairTokenizer.train(["a"], 300, special_tokens=["x", "x"]), "different non-empty strings"),
        (lambda: trained().encode("ab\ud800"), "lone surrogate at position 2"),
        (lambda: trained().decode([10_000]), "between 0 and 329; got 10000"),
        (lambda: BytePairTokenizer.from_json("{"), "no JSON"),
        (lambda: BytePairTokenizer.from_json("{}"), "no tokenizer.json"),
        (lambda: BytePairTokenizer.from_json('{"model": {"type": "WordPiece"}}'), "got WordPiece after None"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_texts_are_strings():
    with pytest.raises(TypeError, match="texts must be strings; got int"):
        BytePairTokenizer.train(["a", 3], 300)


def test_a_file_that_would_change_the_text_is_refused():
    content = json.loads(trained().to_json())
    content["pre_tokenizer"]["add_prefix_space"] = True
    with pytest.raises(ValueError, match="add_prefix_space of the file must be False; got True"):
        BytePairTokenizer.from_json(json.dumps(content))
