"""Statistics: streaming moments, covariance, tests, intervals, bootstrap, power, regression inference, likelihood.

Also the models that are statistics more than machine learning: generalized linear models, Bayesian linear
regression, Gaussian processes and random fields, and the distances that know the shape of a cloud. Pure functions
of arrays and small immutable results; whatever is random takes a generator.
"""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names
from margin.foundations.statistics.blood_pressure import BloodPressureTrial, blood_pressure, blood_pressure_t_test
from margin.foundations.statistics.bootstrap import bootstrap, bootstrap_indices, bootstrap_interval, distinct_fraction
from margin.foundations.statistics.covariance import (
    correlation,
    covariance,
    covariance_matrix,
    variance,
    variance_shortcut,
)
from margin.foundations.statistics.residuals import jarque_bera, normal_quantile_points, residuals

if TYPE_CHECKING:
    from margin.core.quantiles import lower_weighted_median, weighted_quantile
    from margin.foundations.statistics.anova import (
        f_test_from_sums,
        linearity_test,
        natural_spline_basis,
        nested_f_test,
        one_way_anova,
    )
    from margin.foundations.statistics.bayesian_linear import LinearPosterior, linear_posterior
    from margin.foundations.statistics.covariance_functions import (
        LaplaceCovariance,
        LinearCovariance,
        PeriodicCovariance,
        RBFCovariance,
    )
    from margin.foundations.statistics.criteria import aic, bic
    from margin.foundations.statistics.distances import (
        MetricAxioms,
        mahalanobis,
        metric_axioms,
        quadratic_distance,
        spherical_distance,
        whitening,
    )
    from margin.foundations.statistics.gaussian_process import GaussianProcess, observation_weights
    from margin.foundations.statistics.glm import GLMFit, fit_glm
    from margin.foundations.statistics.intervals import Interval, confidence_interval, mean_interval, studentized_mean
    from margin.foundations.statistics.likelihood import LikelihoodEstimate, fit_conditional, mle, mle_numerical
    from margin.foundations.statistics.p_values import HypothesisTest, p_value, t_quantile, t_table
    from margin.foundations.statistics.power import sample_size, t_test_power
    from margin.foundations.statistics.random_field import field_from_kernel, field_from_spectrum
    from margin.foundations.statistics.regression_inference import (
        CoefficientTable,
        LeastSquares,
        RSquared,
        coefficient_table,
        least_squares,
        r_squared_forms,
        with_intercept,
    )
    from margin.foundations.statistics.regression_to_the_mean import correlated_pairs, galton_heights, regression_slope
    from margin.foundations.statistics.slice_sampling import elliptical_slice_samples
    from margin.foundations.statistics.streaming import (
        CoMoments,
        Moments,
        updated_mean,
        updated_squares,
        updated_squares_from_means,
    )
    from margin.foundations.statistics.t_tests import (
        Summary,
        t_test,
        t_test_from_error,
        t_test_from_summaries,
        t_test_one_sample,
        welch_df,
    )
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "BloodPressureTrial",
    "CoMoments",
    "CoefficientTable",
    "GLMFit",
    "GaussianProcess",
    "HypothesisTest",
    "Interval",
    "LaplaceCovariance",
    "LeastSquares",
    "LikelihoodEstimate",
    "LinearCovariance",
    "LinearPosterior",
    "MetricAxioms",
    "Moments",
    "PeriodicCovariance",
    "RBFCovariance",
    "RSquared",
    "Summary",
    "aic",
    "bic",
    "blood_pressure",
    "blood_pressure_t_test",
    "bootstrap",
    "bootstrap_indices",
    "bootstrap_interval",
    "coefficient_table",
    "confidence_interval",
    "correlated_pairs",
    "correlation",
    "covariance",
    "covariance_matrix",
    "distinct_fraction",
    "elliptical_slice_samples",
    "f_test_from_sums",
    "field_from_kernel",
    "field_from_spectrum",
    "fit_conditional",
    "fit_glm",
    "galton_heights",
    "jarque_bera",
    "least_squares",
    "linear_posterior",
    "linearity_test",
    "lower_weighted_median",
    "mahalanobis",
    "mean_interval",
    "metric_axioms",
    "mle",
    "mle_numerical",
    "natural_spline_basis",
    "nested_f_test",
    "normal_quantile_points",
    "observation_weights",
    "one_way_anova",
    "p_value",
    "quadratic_distance",
    "r_squared_forms",
    "regression_slope",
    "residuals",
    "sample_size",
    "spherical_distance",
    "studentized_mean",
    "t_quantile",
    "t_table",
    "t_test",
    "t_test_from_error",
    "t_test_from_summaries",
    "t_test_one_sample",
    "t_test_power",
    "updated_mean",
    "updated_squares",
    "updated_squares_from_means",
    "variance",
    "variance_shortcut",
    "weighted_quantile",
    "welch_df",
    "whitening",
    "with_intercept",
]
