"""Probability: laws with their densities, draws and fits; rules that combine them; limits, tails and kernels.

Reading order: ``distribution`` (what every law offers); the laws ``trials``, ``categories``, ``waiting``, ``uniform``,
``normal``, ``multivariate_normal``, ``exponential``, ``laplace``, ``heavy``, ``stable`` and ``mixture``; their
``moments``; ``joint``, ``bayes`` and ``estimation``; ``convolution``, ``limits``, ``monte_carlo``, ``transform``,
``convexity``, ``tails``, ``markov`` and ``tweedie``; then ``kernels`` and ``feature_maps``.
"""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names
from margin.foundations.probability.bayes import DiscreteBayes, bayes, grid_posterior, normal_posterior, posterior
from margin.foundations.probability.monte_carlo import MonteCarloEstimate, monte_carlo, monte_carlo_pi
from margin.foundations.probability.tweedie import (
    denoised_mean,
    natural_parameter_mean,
    poisson_rate_mean,
    tweedie,
)

if TYPE_CHECKING:
    from margin.foundations.probability.categories import Categorical, Multinomial, multinomial_coefficient
    from margin.foundations.probability.convexity import jensen_gap
    from margin.foundations.probability.convolution import (
        convolve_densities,
        convolve_masses,
        noised_density,
        self_convolve_masses,
    )
    from margin.foundations.probability.distribution import Continuous, Discrete, Distribution, Support, Univariate
    from margin.foundations.probability.estimation import (
        DistributionEstimate,
        likelihood,
        log_likelihood,
        maximum_a_posteriori,
        maximum_likelihood,
    )
    from margin.foundations.probability.exponential import Exponential, Gamma
    from margin.foundations.probability.feature_maps import (
        polynomial_features,
        product_features,
        radial_features,
        random_fourier_features,
        rbf_taylor_features,
    )
    from margin.foundations.probability.heavy import Cauchy, Levy, StudentT
    from margin.foundations.probability.joint import Joint, marginal_density
    from margin.foundations.probability.kernels import (
        gamma_from_length_scale,
        is_positive_semidefinite,
        is_stationary,
        laplace_kernel,
        length_scale_from_gamma,
        linear_kernel,
        periodic_kernel,
        polynomial_kernel,
        rbf_kernel,
        squared_distances,
    )
    from margin.foundations.probability.laplace import Laplace, Logistic
    from margin.foundations.probability.limits import (
        BinomialApproximation,
        binomial_normal_approximation,
        kolmogorov_distance,
        kolmogorov_p_value,
        means_of_samples,
        running_mean,
        standardized_means,
    )
    from margin.foundations.probability.markov import MarkovChain, partial_correlation
    from margin.foundations.probability.mixture import Empirical, Mixture
    from margin.foundations.probability.moments import (
        absolute_central_moment,
        expectation,
        moment,
        sample_moment,
        skewness,
    )
    from margin.foundations.probability.multivariate_normal import MultivariateNormal
    from margin.foundations.probability.normal import Normal
    from margin.foundations.probability.special import gamma_function
    from margin.foundations.probability.stable import AlphaStable
    from margin.foundations.probability.tails import StabilityTest, TailReport, heavy_tail_report, stability_test
    from margin.foundations.probability.transform import (
        log_abs_det_jacobian,
        pathwise_derivative,
        pushforward_log_density,
        sample_inverse_cdf,
    )
    from margin.foundations.probability.trials import Bernoulli, Binomial, log_binomial_coefficient
    from margin.foundations.probability.uniform import DiscreteUniform, Uniform
    from margin.foundations.probability.waiting import Geometric, NegativeBinomial, Poisson
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "AlphaStable",
    "Bernoulli",
    "Binomial",
    "BinomialApproximation",
    "Categorical",
    "Cauchy",
    "Continuous",
    "Discrete",
    "DiscreteBayes",
    "DiscreteUniform",
    "Distribution",
    "DistributionEstimate",
    "Empirical",
    "Exponential",
    "Gamma",
    "Geometric",
    "Joint",
    "Laplace",
    "Levy",
    "Logistic",
    "MarkovChain",
    "Mixture",
    "MonteCarloEstimate",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "Poisson",
    "StabilityTest",
    "StudentT",
    "Support",
    "TailReport",
    "Uniform",
    "Univariate",
    "absolute_central_moment",
    "bayes",
    "binomial_normal_approximation",
    "convolve_densities",
    "convolve_masses",
    "denoised_mean",
    "expectation",
    "gamma_from_length_scale",
    "gamma_function",
    "grid_posterior",
    "heavy_tail_report",
    "is_positive_semidefinite",
    "is_stationary",
    "jensen_gap",
    "kolmogorov_distance",
    "kolmogorov_p_value",
    "laplace_kernel",
    "length_scale_from_gamma",
    "likelihood",
    "linear_kernel",
    "log_abs_det_jacobian",
    "log_binomial_coefficient",
    "log_likelihood",
    "marginal_density",
    "maximum_a_posteriori",
    "maximum_likelihood",
    "means_of_samples",
    "moment",
    "monte_carlo",
    "monte_carlo_pi",
    "multinomial_coefficient",
    "natural_parameter_mean",
    "noised_density",
    "normal_posterior",
    "partial_correlation",
    "pathwise_derivative",
    "periodic_kernel",
    "poisson_rate_mean",
    "polynomial_features",
    "polynomial_kernel",
    "posterior",
    "product_features",
    "pushforward_log_density",
    "radial_features",
    "random_fourier_features",
    "rbf_kernel",
    "rbf_taylor_features",
    "running_mean",
    "sample_inverse_cdf",
    "sample_moment",
    "self_convolve_masses",
    "skewness",
    "squared_distances",
    "stability_test",
    "standardized_means",
    "tweedie",
]
