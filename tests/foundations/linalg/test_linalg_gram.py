import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margin.foundations.linalg import gram
from margin.foundations.linalg.gram import add_gram, mirror


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 40), st.integers(1, 12), st.sampled_from("CF"), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_it_adds_the_product_in_either_order(b, p, order, skipped, seed):
    rng = np.random.default_rng(seed)
    table = np.asarray(rng.normal(size=(b + skipped, p)), order=order)
    rows, total = table[skipped:], rng.normal(size=(p, p))
    total += total.T
    expected = total + rows.T @ rows
    add_gram(rows, total)
    np.testing.assert_allclose(mirror(total), expected, rtol=1e-12, atol=1e-12)


def test_a_slice_of_wider_rows_is_read_in_place():
    table = np.random.default_rng(0).normal(size=(30, 9))
    total = np.zeros((4, 4))
    add_gram(table[:, 2:6], total)
    np.testing.assert_allclose(mirror(total), table[:, 2:6].T @ table[:, 2:6], rtol=1e-12)


def test_the_upper_triangle_is_left_alone():
    total = np.full((3, 3), 7.0)
    add_gram(np.ones((5, 3)), total)
    assert (total[np.triu_indices(3, 1)] == 7.0).all()
    assert (total[np.tril_indices(3)] == 12.0).all()


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((4, 3), dtype=np.float32),
        np.ones((8, 6))[::2, ::2],
        np.broadcast_to(np.ones(3), (4, 3)),
        np.ones((4, 6))[:, ::-2],
    ],
)
def test_rows_that_blas_cannot_walk_are_refused(rows):
    total = np.zeros((3, 3))
    with pytest.raises(ValueError, match="add_gram: rows must be float64"):
        add_gram(rows, total)
    assert not total.any()


@pytest.mark.parametrize("total", [np.zeros((3, 3), order="F")[:, :2], np.zeros((2, 2)), np.zeros((3, 3), np.float32)])
def test_a_total_of_another_form_is_refused(total):
    with pytest.raises(ValueError, match="add_gram: total must be a C-ordered float64"):
        add_gram(np.ones((4, 3)), total)


def test_the_routine_is_called_only_with_the_signature_it_should_have(monkeypatch):
    assert gram._dsyrk() is not None, "SciPy's dsyrk changed its signature: blocks are added by NumPy, more slowly"
    wider = "void (char *, char *, long *, long *, x_d *, x_d *, long *, x_d *, x_d *, long *)"
    assert gram._kinds(wider) != gram.SIGNATURE
    monkeypatch.setattr(gram, "_dsyrk", lambda: None)
    rows, total = np.random.default_rng(0).normal(size=(9, 4)), np.full((4, 4), 7.0)
    add_gram(rows, total)
    np.testing.assert_allclose(np.tril(total), np.tril(7 + rows.T @ rows), rtol=1e-12)
    assert (total[np.triu_indices(4, 1)] == 7.0).all()
