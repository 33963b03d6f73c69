"""Sentences of a few words that return."""

# ruff: noqa: ARG001 (every set takes a seed, also one that never changes)

from __future__ import annotations

__all__ = [
    "number_words",
    "reviews",
    "sentences",
    "story",
    "tagged",
    "word_counts",
]


def story(seed):
    """A few sentences in which the same words return."""
    return (
        "the river runs to the sea and the sea gives back the rain. the rain falls on the hill and the hill holds it "
        "for the river. a boat goes down the river in the morning and comes up the river at night. at night the wind "
        "sleeps on the hill, and in the morning the wind wakes the sea. the boat waits for the wind, the wind waits "
        "for the sun, and the sun waits for nobody. "
    ) * 3, None


def sentences(seed):
    """Sentences in which some words keep company."""
    import numpy as np

    rng = np.random.default_rng(seed)
    kings, fruit, sea = ["king queen crown throne", "apple pear plum cherry", "boat wave sail harbor"]
    groups = [group.split() for group in (kings, fruit, sea)]
    return [" ".join(rng.choice(groups[rng.integers(3)], 6)) for _ in range(120)], None


def reviews(seed):
    """Short reviews, and whether they are glad."""
    import numpy as np

    rng = np.random.default_rng(seed)
    things, glad = ["the film", "this book", "the meal", "our trip"], ["was lovely", "made me smile", "is a joy"]
    sad, tails = ["was dull", "made me yawn", "is a waste"], ["", " today", " in the end", " for all of us"]
    y = np.tile([0, 1], 40)
    return [f"{rng.choice(things)} {rng.choice(glad if label else sad)}{rng.choice(tails)}" for label in y], y


def tagged(seed):
    """Sentences, and the part of speech of every word."""
    import numpy as np

    rng = np.random.default_rng(seed)
    words = {"D": ["the", "a", "every"], "A": ["old", "red", "quiet"], "N": ["boat", "bird", "road"]}
    words["V"] = ["sees", "finds", "follows"]
    shapes = ["D N V D N", "D A N V D N", "D N V D A N", "N V N"]
    tags = [shapes[rng.integers(len(shapes))] for _ in range(60)]
    return [" ".join(rng.choice(words[tag]) for tag in text.split()) for text in tags], tags


def number_words(seed):
    """Numbers in English, and in German."""
    import itertools

    names = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier"}
    sources = [" ".join(words) for words in itertools.product(names, repeat=3)]
    return sources, [" ".join(names[word] for word in text.split()) for text in sources]


def word_counts(seed):
    """How often twelve words occur in eighty texts of three subjects."""
    import numpy as np

    rng = np.random.default_rng(seed)
    topics = np.repeat(np.eye(3), 4, axis=1) + 0.05
    shares = rng.dirichlet([0.3, 0.3, 0.3], 80) @ (topics / topics.sum(axis=1, keepdims=True))
    return np.array([rng.multinomial(40, share) for share in shares]).astype(float), None
