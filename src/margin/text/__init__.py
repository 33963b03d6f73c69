"""Text: tokens, vectors of texts and of words, topics, tags, and networks on strings."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from margin.text.bpe import BytePairTokenizer
from margin.text.glove import GloVe
from margin.text.lda import LatentDirichletAllocation
from margin.text.taggers import CRFTagger, HMMTagger
from margin.text.token_file import TokenFile
from margin.text.vocabulary import VocabularyTokenizer
from margin.text.word2vec import Word2Vec

if TYPE_CHECKING:
    from margin.text.classifier import TextClassifier
    from margin.text.language_model import LanguageModel
    from margin.text.masked_language_model import MaskedLanguageModel
    from margin.text.token_tagger import TokenTagger
    from margin.text.translator import Translator

__all__ = [
    "BytePairTokenizer",
    "CRFTagger",
    "GloVe",
    "HMMTagger",
    "LanguageModel",
    "LatentDirichletAllocation",
    "MaskedLanguageModel",
    "TextClassifier",
    "TokenFile",
    "TokenTagger",
    "Translator",
    "VocabularyTokenizer",
    "Word2Vec",
]

# Networks are imported on first use: topics and word vectors need no torch.
NETWORKS = {
    "LanguageModel": "margin.text.language_model",
    "MaskedLanguageModel": "margin.text.masked_language_model",
    "TextClassifier": "margin.text.classifier",
    "TokenTagger": "margin.text.token_tagger",
    "Translator": "margin.text.translator",
}


def __getattr__(name: str) -> Any:
    if name in NETWORKS:
        return getattr(import_module(NETWORKS[name]), name)
    raise AttributeError(f"module 'margin.text' has no attribute {name!r}")
