"""Vectors of texts against scikit-learn."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from margin.text.vectors import count_terms, inverse_document_frequency, ngrams, one_hot, tf_idf

TEXTS = ["The cat sat on the mat.", "A dog sat on the log; the dog slept!", "x y z", "Größe, naïve café 42 x2", ""]


@pytest.mark.parametrize("span", [(1, 1), (1, 2), (2, 3)])
def test_counts_are_those_of_scikit_learn(span):
    theirs = CountVectorizer(ngram_range=span)
    expected = theirs.fit_transform(TEXTS)
    counts, terms = count_terms(TEXTS, ngram_range=span)
    assert terms == theirs.get_feature_names_out().tolist()
    np.testing.assert_array_equal(counts.toarray(), expected.toarray())


def test_a_given_vocabulary_keeps_its_order_and_leaves_others_out():
    counts, terms = count_terms(["cat dog cat bird"], vocabulary=["dog", "fish", "cat"])
    assert terms == ["dog", "fish", "cat"]
    assert counts.toarray().tolist() == [[1, 0, 2]]


@pytest.mark.parametrize("norm", ["l1", "l2", None])
@pytest.mark.parametrize("sublinear", [False, True])
def test_weights_are_those_of_scikit_learn(norm, sublinear):
    counts, _ = count_terms(TEXTS)
    expected = TfidfTransformer(norm=norm, sublinear_tf=sublinear).fit_transform(counts)
    np.testing.assert_allclose(tf_idf(counts, norm=norm, sublinear=sublinear).toarray(), expected.toarray(), rtol=1e-14)
    plain = TfidfTransformer(smooth_idf=False).fit(counts).idf_
    np.testing.assert_allclose(inverse_document_frequency(counts, smooth=False), plain, rtol=1e-14)


def test_one_hot_rows_come_back():
    ids = np.random.default_rng(0).integers(0, 7, (5, 4))
    assert (one_hot(ids, 7).argmax(axis=-1) == ids).all()
    with pytest.raises(ValueError, match="integers from 0 to 2; got 0 to 3"):
        one_hot([0, 3], 3)


def test_runs_are_no_longer_than_the_text():
    """Counting to 2^40, as the file of a model may ask, would never end."""
    assert ngrams(["to", "be"], 1, 2**40) == ["to", "be", "to be"]
    assert ngrams([], 1, 2**40) == []
