"""Text: tokens, vectors of texts and of words, topics, tags."""

from margin.text.bpe import BytePairTokenizer

__all__ = ["BytePairTokenizer"]
