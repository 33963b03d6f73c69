"""The blood-pressure trial: a drug group A and a placebo group B, 20 patients each, before and after treatment.

The published tables show nine of the twenty values per row; the summaries are quoted for all twenty and cannot be
recomputed from the nine.
"""

from __future__ import annotations

from dataclasses import dataclass

from margin.foundations.statistics.p_values import HypothesisTest
from margin.foundations.statistics.t_tests import Summary, t_test_from_summaries

__all__ = ["BloodPressureTrial", "blood_pressure", "blood_pressure_t_test"]


@dataclass(frozen=True)
class BloodPressureTrial:
    """Values in mmHg and summaries, by group and time."""

    values: dict[str, tuple[int, ...]]
    summaries: dict[str, Summary]


def blood_pressure() -> BloodPressureTrial:
    """The four printed rows of nine values and the four quoted summaries (mean, sd, n = 20)."""
    return BloodPressureTrial(
        values={
            "A before": (150, 145, 160, 155, 148, 152, 158, 150, 147),
            "A after": (138, 132, 140, 142, 136, 142, 147, 135, 140),
            "B before": (148, 152, 145, 150, 146, 144, 155, 158, 153),
            "B after": (146, 150, 143, 148, 145, 142, 154, 156, 152),
        },
        summaries={
            "A before": Summary(153.6, 5.45, 20),
            "A after": Summary(143.25, 4.37, 20),
            "B before": Summary(150.45, 3.34, 20),
            "B after": Summary(149.55, 3.10, 20),
        },
    )


def blood_pressure_t_test(equal_var: bool = True) -> HypothesisTest:
    """Drug against placebo after treatment, from the quoted summaries.

    Parameters
    ----------
    equal_var : bool
        Whether the variances are pooled.

    Examples
    --------
    >>> result = blood_pressure_t_test()
    >>> round(result.standard_error, 3), round(result.statistic, 2), result.df, f"{result.p_value:.1e}"
    (1.198, -5.26, 38.0, '5.9e-06')
    >>> result.sentence(0.05)
    'p = 5.91e-06 is below 0.05: reject that the two means are equal.'
    """
    summaries = blood_pressure().summaries
    return t_test_from_summaries(summaries["A after"], summaries["B after"], equal_var=equal_var)
