"""Text: tokens, vectors of texts and of words, topics, tags."""

from margin.text.bpe import BytePairTokenizer
from margin.text.glove import GloVe
from margin.text.language_model import LanguageModel
from margin.text.lda import LatentDirichletAllocation
from margin.text.masked_language_model import MaskedLanguageModel
from margin.text.taggers import CRFTagger, HMMTagger
from margin.text.translator import Translator
from margin.text.vocabulary import VocabularyTokenizer
from margin.text.word2vec import Word2Vec

__all__ = [
    "BytePairTokenizer",
    "CRFTagger",
    "GloVe",
    "HMMTagger",
    "LanguageModel",
    "LatentDirichletAllocation",
    "MaskedLanguageModel",
    "Translator",
    "VocabularyTokenizer",
    "Word2Vec",
]
