r"""Student's tests of means: one sample, two independent samples (Welch or pooled), pairs.

All divide a difference of means by its standard error; they differ in that error and in its degrees of freedom.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.statistics.arguments import Floats, integer, pair, vector
from margin.foundations.statistics.p_values import HypothesisTest, p_value

__all__ = ["Summary", "t_test", "t_test_from_error", "t_test_from_summaries", "t_test_one_sample", "welch_df"]


class Summary(NamedTuple):
    """What a t-test needs of a sample: its mean, its standard deviation (divisor n - 1) and its size."""

    mean: float
    sd: float
    n: int

    @classmethod
    def of(cls, x: ArrayLike) -> Summary:
        values = vector("Summary.of", "x", x, least=2)
        return cls(float(values.mean()), float(values.std(ddof=1)), len(values))


def t_test_one_sample(x: ArrayLike, mean: float = 0.0, alternative: str = "two-sided") -> HypothesisTest:
    r"""Does the population of ``x`` have this mean? :math:`t = (\bar x - \mu) / (s / \sqrt n)`, :math:`n - 1` degrees.

    ``s`` is the standard deviation of the *sample*; the unknown population one never enters.

    Parameters
    ----------
    x : array-like of shape (n,)
        Observations.
    mean : float
        Mean under the null, :math:`\mu`.
    alternative : {"two-sided", "less", "greater"}
        The alternative.

    Examples
    --------
    >>> round(t_test_one_sample([1.0, 2.0, 3.0], mean=1.0).statistic, 6)
    1.732051
    """
    sample = Summary.of(vector("t_test_one_sample", "x", x, least=2))
    error = sample.sd / np.sqrt(sample.n)
    return t_test_from_error(f"the mean is {mean:g}", sample.mean - mean, error, sample.n - 1, alternative)


def t_test(
    a: ArrayLike, b: ArrayLike, *, paired_samples: bool = False, equal_var: bool = False, alternative: str = "two-sided"
) -> HypothesisTest:
    r"""Have the populations of ``a`` and ``b`` one mean?

    Independent samples: :math:`t = (\bar a - \bar b) / \sqrt{s_a^2/n_a + s_b^2/n_b}` with Welch's degrees of
    freedom, or the pooled form if ``equal_var``. With ``paired_samples`` the i-th values belong together
    (before and after, husband and wife) and the differences are tested against zero.

    Parameters
    ----------
    a : array-like of shape (n,)
        The first sample.
    b : array-like of shape (m,)
        The second sample.
    paired_samples : bool
        Whether the i-th values belong together.
    equal_var : bool
        Whether the variances are pooled.
    alternative : {"two-sided", "less", "greater"}
        The alternative.
    """
    if paired_samples:
        if equal_var:
            raise ValueError("t_test: equal_var has no meaning for paired samples; got equal_var=True.")
        first, second = pair("t_test", a, b, names="a and b")
        outcome = t_test_one_sample(first - second, 0.0, alternative)
        return HypothesisTest(**{**vars(outcome), "null": "the mean difference within pairs is 0"})
    samples = [Summary.of(vector("t_test", name, values, least=2)) for name, values in (("a", a), ("b", b))]
    return t_test_from_summaries(*samples, equal_var=equal_var, alternative=alternative)


def t_test_from_summaries(
    a: Summary, b: Summary, *, equal_var: bool = False, alternative: str = "two-sided"
) -> HypothesisTest:
    """The two-sample test from means, standard deviations and sizes alone.

    Parameters
    ----------
    a : Summary
        Mean, standard deviation and size of the first sample.
    b : Summary
        Those of the second.
    equal_var : bool
        Whether the variances are pooled.
    alternative : {"two-sided", "less", "greater"}
        The alternative.

    Examples
    --------
    >>> result = t_test_from_summaries(Summary(143.25, 4.37, 20), Summary(149.55, 3.10, 20))
    >>> round(result.statistic, 2), round(result.df, 1), result.reject(0.05)
    (-5.26, 34.3, True)
    """
    for sample in (a, b):
        if not sample[1] >= 0:
            raise ValueError(f"t_test_from_summaries: sd must be at least 0; got {sample[1]!r}.")
        integer("t_test_from_summaries", "n", sample[2], low=2)
    (mean_a, sd_a, n_a), (mean_b, sd_b, n_b) = a, b
    if equal_var:
        df = float(n_a + n_b - 2)
        pooled = ((n_a - 1) * sd_a**2 + (n_b - 1) * sd_b**2) / df
        error = np.sqrt(pooled * (1 / n_a + 1 / n_b))
    else:
        error = np.sqrt(sd_a**2 / n_a + sd_b**2 / n_b)
        df = welch_df(sd_a**2 / n_a, n_a, sd_b**2 / n_b, n_b) if error > 0 else 1.0
    return t_test_from_error("the two means are equal", mean_a - mean_b, error, df, alternative)


def welch_df(error_a: float, n_a: int, error_b: float, n_b: int) -> float:
    r"""Welch's degrees of freedom from the squared standard errors :math:`v = s^2 / n` of both means:

    .. math:: \frac{(v_a + v_b)^2}{v_a^2 / (n_a - 1) + v_b^2 / (n_b - 1)} .

    Parameters
    ----------
    error_a : float
        Squared standard error of the first mean.
    n_a : int
        Size of the first sample.
    error_b : float
        Squared standard error of the second mean.
    n_b : int
        Size of the second sample.
    """
    return float((error_a + error_b) ** 2 / (error_a**2 / (n_a - 1) + error_b**2 / (n_b - 1)))


def t_test_from_error(
    null: str, difference: float, error: float | Floats, df: float, alternative: str = "two-sided"
) -> HypothesisTest:
    r"""The t-test of a difference by its standard error, :math:`t = d / \mathrm{se}`: what all of these end with.

    Parameters
    ----------
    null : str
        What is tested, as a sentence.
    difference : float
        How far the estimate is from the null.
    error : float
        Standard error of the difference, above 0.
    df : float
        Degrees of freedom of that error.
    alternative : {"two-sided", "less", "greater"}
        The alternative.

    Examples
    --------
    >>> round(t_test_from_error("the mean is 1", 1.0, 3**-0.5, df=2).statistic, 6)
    1.732051
    """
    if not error > 0:
        raise ValueError(f"t-test that {null}: the values must vary; got standard error {float(error):g}.")
    t = float(difference / error)
    return HypothesisTest(null, t, float(df), p_value(t, df, alternative), alternative, float(error))
