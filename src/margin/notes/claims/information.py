"""Claims about surprise, entropy, divergences and codes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import integrate, optimize, stats

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises, within
from margin.foundations.information import (
    PoissonFit,
    cross_entropy,
    cross_entropy_sampled,
    decode,
    encode,
    entropy,
    entropy_of_weights,
    fit_poisson_to_geometric,
    huffman_code,
    js_divergence,
    kl_divergence,
    kl_gaussians,
    kl_monte_carlo,
    kl_normal,
    mean_code_length,
    shannon_code,
    surprise,
    surprise_laws,
)
from margin.metrics import log_loss
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS

Loss = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _simplex(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    return rng.dirichlet(np.ones(k), size=n)


@claim("surprise")
def surprise_is_minus_the_logarithm(seed: int) -> Verdict:
    printed_sign = np.log([0.01, 0.99])
    laws = surprise_laws(surprise, np.random.default_rng(seed))
    return corrected(
        every(
            laws=equal(tuple(laws), (True, True, True)),
            values=near(surprise([0.01, 0.99]), [4.605, 0.01005], tolerance=5e-4),
        ),
        minus_is_missing=near(printed_sign, [4.61, 0.01], tolerance=5e-3),
        more_probable_is_more_surprising=above(float(surprise(0.99)), float(surprise(0.01))),
    )


@claim("claim-surprise-unique")
def only_the_logarithm_has_all_three_properties(seed: int) -> Verdict:
    def laws(candidate: Callable[[np.ndarray], np.ndarray]) -> tuple[bool, ...]:
        return tuple(surprise_laws(candidate, np.random.default_rng(seed)))

    truth = every(
        minus_log=equal(laws(lambda p: -np.log(p)), (True, True, True)),
        other_base=equal(laws(lambda p: -3.0 * np.log(p)), (True, True, True)),
        linear=equal(laws(lambda p: 1.0 - p), (True, False, True)),
        odds=equal(laws(lambda p: 1.0 / p - 1.0), (True, False, True)),
        entropy_term=equal(laws(lambda p: -p * np.log(p))[2], False),
    )
    certain, pairs, others = _events_of([0.2, 0.3, 0.5])
    linear = {probability: 1.0 - probability for probability in (certain, *others)}
    only_trivial = every(
        certain_events_are_no_surprise=equal(linear[certain], 0.0),
        additive=near(
            [linear[a] + linear[b] - linear[both] for a, b, both in pairs], np.zeros(len(pairs)), tolerance=0.0
        ),
        falls=equal(sorted(linear, key=linear.__getitem__), sorted(linear, reverse=True)),
    )
    bases = [linear[p] / -math.log(p) for p in others]
    return corrected(
        every(all_distributions=truth, one_variable=only_trivial),
        unique_for_one_variable=near(bases, np.full(len(bases), bases[0]), tolerance=0.05),
    )


def _events_of(law: list[float]) -> tuple[float, list[tuple[float, float, float]], list[float]]:
    """Of one variable: the certain event, its pairs of independent events (with both), the others' probabilities."""
    events = [frozenset(np.flatnonzero(mask)) for mask in np.ndindex(*[2] * len(law)) if any(mask)]
    P = {event: round(sum(law[i] for i in event), 12) for event in events}
    pairs = [(P[a], P[b], P[a & b]) for a in events for b in events if a & b and math.isclose(P[a] * P[b], P[a & b])]
    return 1.0, pairs, sorted({p for p in P.values() if p < 1})


@claim("entropy")
def entropy_lies_between_zero_and_log_k(seed: int) -> Verdict:
    p = _simplex(np.random.default_rng(seed), 1000, 7)
    k = np.arange(1, 200)
    return corrected(
        every(
            scipy=near(entropy(p), stats.entropy(p, axis=1), tolerance=1e-12),
            as_run=near(entropy_of_weights(40.0 * p), entropy(p), tolerance=1e-12),
            point_mass=equal(float(entropy([0, 1, 0])), 0.0),
            uniform=near(entropy(np.full(7, 1 / 7)), math.log(7), tolerance=1e-12),
            largest=below(float(entropy(p).max()), math.log(7)),
            geometric=near(entropy(0.5**k), 2 * math.log(2), tolerance=1e-12),
        ),
        printed=within(float(entropy([0.25] * 4, base=2)), 0.0, 1.0),
    )


@claim("nats-and-bits")
def one_bit_is_log_two_nats(seed: int) -> Verdict:
    p = _simplex(np.random.default_rng(seed), 100, 5)
    return every(
        as_run=near(entropy_of_weights(40.0 * p, base=2), entropy(p, base=2), tolerance=1e-12),
        conversion=near(entropy(p, base=2), entropy(p) / math.log(2), tolerance=1e-12),
        coin_in_bits=near(entropy([0.5, 0.5], base=2), 1.0, tolerance=1e-15),
        coin_in_nats=near(entropy([0.5, 0.5]), 0.693147, tolerance=5e-7),
    )


@claim("coding-interpretation")
def a_better_fit_gives_shorter_codes(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    p, far = _simplex(rng, 2, 12)
    close = 0.9 * p + 0.1 * far
    data = rng.choice(12, size=20_000, p=p)
    bits_close, bits_far = (len(encode(data, shannon_code(q))) / len(data) for q in (close, far))
    excess = [mean_code_length(p, shannon_code(q)) - float(cross_entropy(p, q, 2)) for q in (close, far)]
    return every(
        close=within(excess[0], 0.0, 1.0),
        far=within(excess[1], 0.0, 1.0),
        huffman=within(mean_code_length(p, huffman_code(p)) - float(entropy(p, 2)), 0.0, 1.0),
        shorter_on_data=below(bits_close, bits_far),
        lossless=equal(decode(encode(data[:100], huffman_code(p)), huffman_code(p)), data[:100].tolist()),
    )


@claim("cross-entropy")
def cross_entropy_is_least_at_the_truth(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    p, q = _simplex(rng, 500, 6), _simplex(rng, 500, 6)
    labels = rng.integers(6, size=500)
    x = rng.normal(1.0, 2.0, size=100_000)
    sampled = cross_entropy_sampled(x, stats.norm(0, 1).logpdf)
    exact = float(kl_normal(1, 2, 0, 1)) + 0.5 * math.log(2 * math.pi * math.e * 4)
    # A variable and its copy: nothing is left to learn of one that knows the other, H(X, Y) - H(Y).
    left_given_the_copy = float(entropy(np.diag(p[0]).ravel()) - entropy(p[0]))
    truth = every(
        as_run=near(log_loss(labels, q), cross_entropy(np.eye(6)[labels], q).mean(), tolerance=1e-12),
        sum_of_parts=near(cross_entropy(p, q), entropy(p) + kl_divergence(p, q), tolerance=1e-12),
        excess=above(float((cross_entropy(p, q) - entropy(p)).min()), -1e-12),
        at_the_truth=near(cross_entropy(p, p), entropy(p), tolerance=1e-12),
        impossible=equal(float(cross_entropy([0.5, 0.5], [1, 0])), math.inf),
        # The standard error of the sampled value is 0.016.
        sampled=near(sampled, exact, tolerance=0.08),
        nothing_is_left=near(left_given_the_copy, 0.0, tolerance=1e-12),
    )
    return corrected(
        truth, uncertainty_given_the_other=near(cross_entropy(p[0], p[0]), left_given_the_copy, tolerance=1e-3)
    )


@claim("kl-divergence")
def kl_is_a_divergence_and_no_distance(seed: int) -> Verdict:
    p, q, r = np.array([[0.5, 0.5], [0.75, 0.25], [0.99, 0.01]])
    direct, detour = float(kl_divergence(p, r)), float(kl_divergence(p, q) + kl_divergence(q, r))
    notes_pair = kl_divergence([0.2, 0.3, 0.5], [0.5, 0.25, 0.25])
    rng = np.random.default_rng(seed)
    many_p, many_q = _simplex(rng, 200, 5), _simplex(rng, 200, 5)
    x = rng.normal(1, 2, size=50_000)
    sampled, error = kl_monte_carlo(x, stats.norm(1, 2).logpdf, stats.norm(0, 1).logpdf)
    bits, _ = kl_monte_carlo(x, stats.norm(1, 2).logpdf, stats.norm(0, 1).logpdf, base=2)
    return corrected(
        every(
            scipy=near(kl_divergence(many_p, many_q), stats.entropy(many_p, many_q, axis=1), tolerance=1e-12),
            notes=near(notes_pair, 0.218012, tolerance=5e-7),
            equal_gives_zero=equal(float(kl_divergence(p, p)), 0.0),
            missing_mass=equal(float(kl_divergence([0.5, 0.5], [1, 0])), math.inf),
            in_bits=near(
                kl_divergence(many_p, many_q, base=2) * math.log(2), kl_divergence(many_p, many_q), tolerance=1e-12
            ),
            sampled=near(sampled, kl_normal(1, 2, 0, 1), tolerance=ERRORS * error),
            # The variance of the log-ratio under p is 8.5: that of 3/2 z^2 + 2 z.
            standard_error=near(error / math.sqrt(8.5 / 50_000), 1.0, tolerance=0.1),
            sampled_in_bits=near(bits * math.log(2), sampled, tolerance=1e-9),
        ),
        non_zero=above(float(kl_divergence(p, p)), 0.0),
        triangle=below(direct, detour),
    )


@claim("claim-kl-nonnegative")
def kl_is_never_negative(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    p, q = _simplex(rng, 10_000, 8), _simplex(rng, 10_000, 8)
    m0, m1 = rng.normal(size=(2, 10_000))
    s0, s1 = rng.lognormal(size=(2, 10_000))
    return every(
        discrete=above(float(kl_divergence(p, q).min()), -1e-12),
        normals=above(float(kl_normal(m0, s0, m1, s1).min()), -1e-12),
        same_discrete=near(kl_divergence(p, p), np.zeros(10_000), tolerance=0.0),
        same_normals=near(kl_normal(m0, s0, m0, s0), np.zeros(10_000), tolerance=0.0),
    )


@claim("claim-kl-asymmetric")
def kl_has_a_direction_and_js_none() -> Verdict:
    p, q = [0.2, 0.5, 0.3], [0.6, 0.1, 0.3]
    gap = abs(float(kl_divergence(p, q)) - float(kl_divergence(q, p)))
    return every(
        normals=near(kl_normal(1, 2, 0, 1), 1.3069, tolerance=5e-5),
        normals_reversed=near(kl_normal(0, 1, 1, 2), 0.4431, tolerance=5e-5),
        discrete_gap=above(gap, 0.05),
        js=near(js_divergence(p, q), 0.12510, tolerance=5e-6),
        js_reversed=equal(float(js_divergence(p, q)), float(js_divergence(q, p))),
    )


@claim("claim-kl-cross-minus-self-entropy")
def kl_and_cross_entropy_have_the_same_minimizer(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    p, q = _simplex(rng, 500, 6), _simplex(rng, 500, 6)
    target, values = np.array([0.5, 0.3, 0.2]), np.array([-1.0, 0.0, 2.0])

    def family(theta: float) -> np.ndarray:
        weights = np.exp(theta * values)
        return weights / weights.sum()

    def slope(loss: Loss, theta: float, step: float = 1e-4) -> float:
        return float(loss(target, family(theta + step)) - loss(target, family(theta - step))) / (2 * step)

    def minimizer(loss: Loss) -> float:
        return optimize.minimize_scalar(lambda t: loss(target, family(t)), (-3, 3), tol=1e-10).x

    slopes = [[slope(loss, theta) for theta in np.linspace(-2, 2, 9)] for loss in (kl_divergence, cross_entropy)]
    return every(
        in_bits=near(
            [kl_divergence(p, q, base=2), cross_entropy(p, q, base=2)],
            np.array([kl_divergence(p, q), cross_entropy(p, q)]) / np.log(2),
            tolerance=1e-12,
        ),
        difference=near(kl_divergence(p, q), cross_entropy(p, q) - entropy(p), tolerance=1e-12),
        # Differences of values of order one, divided by 2e-4, carry a rounding error of about 1e-12.
        slopes=near(slopes[0], slopes[1], tolerance=1e-11),
        minimizer=near(minimizer(kl_divergence), minimizer(cross_entropy), tolerance=1e-6),
    )


@claim("kl-example")
def one_hot_against_two_guesses() -> Verdict:
    p, q = [0, 0, 1], [0.1, 0.2, 0.7]
    one_to_minus_infinity = 1.0 ** (-math.inf)
    printed_q2 = [1 - one_to_minus_infinity, 0.0, one_to_minus_infinity]
    return corrected(
        every(
            base_ten=near(kl_divergence(p, q, base=10), 0.155, tolerance=5e-4),
            nats=near(kl_divergence(p, q), 0.357, tolerance=5e-4),
            vanishing=equal(float(kl_divergence(p, [1, 0, 0])), math.inf),
        ),
        nats=near(kl_divergence(p, q), 0.15, tolerance=5e-3),
        q2=equal(float(kl_divergence(p, printed_q2)), math.inf),
    )


@claim("example-poisson-fit")
def the_best_poisson_matches_the_mean() -> Verdict:
    failures, trials = fit_poisson_to_geometric(start=0), fit_poisson_to_geometric(start=1)
    truncated = fit_poisson_to_geometric(start=1, truncated=True)

    def numbers(fit: PoissonFit) -> list[float]:
        return [fit.rate, fit.cross_entropy, fit.kl]

    return corrected(
        every(
            from_zero=near(numbers(failures), [1.0, 1.507834, 0.121540], tolerance=1e-6),
            from_one=near(numbers(trials), [2.0, 1.629373, 0.243079], tolerance=1e-6),
            truncated=near([truncated.rate, truncated.kl], [1.593624, 0.063840], tolerance=1e-6),
        ),
        sum_of_k_over_two_to_the_k=near(sum(k * 2.0**-k for k in range(1, 60)), 1.0, tolerance=1e-9),
        cross_entropy=near(failures.cross_entropy, 2.01567, tolerance=5e-3),
        divergence=near(failures.kl, 0.63, tolerance=5e-3),
    )


def _kl_of_codes(mean: list[float], sd: list[float]) -> float:
    """The divergence from the standard normal as a variational autoencoder computes it."""
    import torch

    from margin.generative.elbo import kl_to_standard_normal

    log_variance = 2 * torch.tensor([sd], dtype=torch.float64).log()
    return float(kl_to_standard_normal(torch.tensor([mean], dtype=torch.float64), log_variance))


@claim("kl-univariate-gaussians")
def kl_between_normals_matches_the_integral() -> Verdict:
    def integral(m0: float, s0: float, m1: float, s1: float) -> float:
        p, q = stats.norm(m0, s0), stats.norm(m1, s1)
        return integrate.quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), m0 - 12 * s0, m0 + 12 * s0)[0]

    cases = [(1, 2, 0, 1), (0.5, 0.3, -1, 1.5), (0, 1, 1, 2)]
    printed_same = math.log(2 / 2) - 1 / (2 * 4) + (4 + 0) / (2 * 4)
    return corrected(
        every(
            integral=near([kl_normal(*case) for case in cases], [integral(*case) for case in cases], tolerance=1e-9),
            notes=near(kl_normal(1, 2, 0, 1), 1.306853, tolerance=5e-7),
            same=equal(float(kl_normal(0, 2, 0, 2)), 0.0),
            as_run=near(_kl_of_codes([1.3], [0.4]), kl_normal(1.3, 0.4, 0, 1), tolerance=1e-12),
        ),
        printed=near(printed_same, kl_normal(0, 2, 0, 2), tolerance=1e-9),
    )


@claim("kl-multivariate-gaussians")
def kl_between_gaussians_uses_the_squared_mahalanobis_distance(seed: int) -> Verdict:
    m0, S0, m1, S1 = np.zeros(2), np.array([[2.0, 1], [1, 2]]), np.array([1.0, -1]), np.diag([3.0, 1])
    x = np.random.default_rng(seed).multivariate_normal(m0, S0, size=100_000)
    log_p, log_q = stats.multivariate_normal(m0, S0).logpdf, stats.multivariate_normal(m1, S1).logpdf
    sampled, error = kl_monte_carlo(x, log_p, log_q)
    squared = (m1 - m0) @ np.linalg.solve(S1, m1 - m0)
    without_means = kl_gaussians(m0, S0, m0, S1)
    return corrected(
        every(
            exact=near(kl_gaussians(m0, S0, m1, S1), 1.0, tolerance=1e-12),
            sampled=near(sampled, 1.0, tolerance=ERRORS * error),
            same=near(kl_gaussians(m0, S0, m0, S0), 0.0, tolerance=1e-15),
            as_run=near(
                _kl_of_codes([1.3, -0.2], [0.4, 1.7]),
                kl_gaussians([1.3, -0.2], np.diag([0.4, 1.7]) ** 2, m0, np.eye(2)),
                tolerance=1e-12,
            ),
            one_dimension=near(kl_gaussians([1], [[4]], [0], [[1]]), kl_normal(1, 2, 0, 1), tolerance=1e-12),
        ),
        printed=near(without_means + 0.5 * math.sqrt(squared), 1.0, tolerance=1e-3),
    )


@claim("js-divergence")
def the_root_of_js_is_a_metric(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    p, q, r = (_simplex(rng, 2000, 5) for _ in range(3))
    pq, qr, pr = (np.sqrt(js_divergence(x, y)) for x, y in ((p, q), (q, r), (p, r)))
    oracle = [stats.entropy(x, (x + y) / 2) / 2 + stats.entropy(y, (x + y) / 2) / 2 for x, y in zip(p[:50], q[:50])]
    return every(
        oracle=near(js_divergence(p, q)[:50], oracle, tolerance=1e-12),
        symmetric=near(js_divergence(p, q), js_divergence(q, p), tolerance=0.0),
        bounded=below(float(js_divergence(p, q).max()), math.log(2)),
        disjoint=near(js_divergence([1, 0], [0, 1]), math.log(2), tolerance=1e-15),
        triangle=above(float((pq + qr - pr).min()), -1e-12),
        other_classes=raises(ValueError, lambda: js_divergence([1, 0], [1, 0, 0]), match="classes"),
    )
