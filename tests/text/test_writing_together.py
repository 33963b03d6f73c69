"""Several prompts at once, beam search, and a conversation."""

import itertools

import numpy as np
import pytest

from margin.text import LanguageModel
from margin.text.beam import length_worth

TEXT = "the cat sat. a dog ran. the dog sat. a cat ran. " * 30


@pytest.fixture(scope="module")
def model():
    settings = {"d_model": 16, "n_heads": 2, "n_blocks": 1, "context": 12, "max_iter": 4, "random_state": 0}
    return LanguageModel(**settings).fit([TEXT[i : i + 48] for i in range(0, 1440, 48)])


PROMPTS = ["the ", "a dog", "the cat sat. a", "a ca", "the d", ""]


def test_prompts_together_are_continued_as_alone(model):
    alone = [model.generate(prompt, 40, temperature=0) for prompt in PROMPTS]
    assert model.generate(PROMPTS, 40, temperature=0) == alone  # beyond the context, too
    assert len(set(alone)) > 3
    cut = [text.partition("sat")[0] for text in alone]
    assert model.generate(PROMPTS, 40, temperature=0, stop="sat") == cut


def test_one_seed_draws_the_same_texts_whatever_stands_beside(model):
    drawn = model.generate(PROMPTS, 20, random_state=3)
    assert drawn == model.generate(PROMPTS, 20, random_state=3)
    assert drawn != model.generate(PROMPTS, 20, random_state=4)
    assert model.generate(PROMPTS[:2], 20, random_state=3) == drawn[:2]
    same = model.generate(["a "] * 8, 20, random_state=0, temperature=2.0)
    assert len(set(same)) > 1


def test_texts_that_end_leave_the_others_alone(model):
    texts = model.generate(["the cat ran. " * 3] * 12, 60, temperature=1.0, random_state=0)
    assert len({len(text) for text in texts}) > 1
    assert len(texts) == 12


def test_a_wide_beam_finds_the_most_probable_text(model):
    """All texts of two tokens are tried one by one, those that end before and those that go on."""
    prompt, codes = "a dog r", model._codes()
    characters = [codes.decode([i]) for i in range(1, codes.size)]

    def log_probability(text, *, ended=False):
        values = model.token_log_proba(prompt + text)
        return values[len(prompt) : len(prompt) + len(text) + ended].sum()

    worth = {"": log_probability("", ended=True) / length_worth(1, 0.6)}
    worth |= {c: log_probability(c, ended=True) / length_worth(2, 0.6) for c in characters}
    pairs = map("".join, itertools.product(characters, repeat=2))
    worth |= {pair: log_probability(pair) / length_worth(2, 0.6) for pair in pairs}
    best = max(worth, key=worth.get)
    assert model.generate(prompt, 2, beams=codes.size) == best
    greedy = model.generate(prompt, 2, temperature=0)
    assert worth[best] >= worth[greedy] - 1e-6
    both = model.generate([prompt, "the "], 8, beams=3)
    assert both == [model.generate(prompt, 8, beams=3), model.generate("the ", 8, beams=3)]


def test_a_conversation_is_one_growing_text(model):
    chat = model.chat("the start. ", user="the ", reply=" a ", end=". ")
    first = chat.say("cat", 12, temperature=0)
    text = "the start. the cat.  a "
    assert first == model.generate(text, 12, temperature=0, stop=". the ").removesuffix(". ")
    pieces = list(chat.stream("dog", 12, temperature=0.7, random_state=1))
    assert chat.turns == [("cat", first), ("dog", "".join(pieces).removesuffix(". "))]
    assert chat.text == f"{text}{first}. the dog.  a {chat.turns[1][1]}. "


def test_wrong_wishes_are_refused(model):
    with pytest.raises(ValueError, match="beams must be an integer at least 1; got 0"):
        model.generate("a", beams=0)
    with pytest.raises(ValueError, match=r"beams above 1 draw nothing; got .*top_k=3"):
        model.generate("a", beams=2, top_k=3)
    with pytest.raises(TypeError, match="prompt must be strings; text 1 is of type int"):
        model.generate(["a", 3])
    with pytest.raises(ValueError, match="message must be a string with something in it; got ''"):
        model.chat().say("")
    with pytest.raises(ValueError, match="user must be a string of some length; got ''"):
        model.chat(user="")
    assert np.all([isinstance(text, str) for text in model.generate(["a"], 3, random_state=0)])
