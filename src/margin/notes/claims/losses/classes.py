"""Cross-entropy, negative log-likelihood and divergence between distributions over classes."""

from __future__ import annotations

import math
import warnings
from itertools import permutations

import numpy as np
import torch
from torch import nn

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.foundations.information import cross_entropy as entropy_between
from margin.neural import activations as act
from margin.neural import losses
from margin.neural.activations import log_softmax, softmax
from margin.notes.claims import claim
from margin.notes.claims.forms import one_form
from margin.notes.claims.losses.regression import gradient, minimizer

LOGITS = torch.tensor([[2.0, 0.0, -1.0], [0.5, 1.0, 0.0]], dtype=torch.float64)
LABELS = torch.tensor([0, 2])


def problem(seed: int, *shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits with classes along axis 1, and labels."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(size=shape)), torch.from_numpy(
        rng.integers(0, shape[1], size=(shape[0], *shape[2:]))
    )


@claim("categorical-cross-entropy")
def cross_entropy_of_raw_scores(seed: int) -> Verdict:
    z, y = problem(seed, 4, 3)
    image, mask = problem(seed, 2, 4, 3, 5)
    one_hot = nn.functional.one_hot(y, 3)
    total = losses.cross_entropy(z, y, reduction="sum")
    truth = every(
        as_run=one_form(losses.cross_entropy, losses.fused_cross_entropy, image, mask),
        numbers=near(float(losses.cross_entropy(LOGITS, LABELS)), 0.9251, tolerance=5e-5),
        torch=near(float(losses.cross_entropy(z, y)), float(nn.CrossEntropyLoss()(z, y)), tolerance=1e-13),
        images=near(
            float(losses.cross_entropy(image, mask)), float(nn.CrossEntropyLoss()(image, mask)), tolerance=1e-13
        ),
        gradient=near(
            gradient(lambda t: losses.cross_entropy(t, y, reduction="sum"), z), softmax(z) - one_hot, tolerance=1e-13
        ),
        uniform=near(float(losses.cross_entropy(torch.zeros(5, 7), torch.arange(5))), math.log(7), tolerance=1e-6),
        two_classes=near(
            float(losses.cross_entropy(z[:, :2], y % 2)),
            float(losses.bce_with_logits(z[:, 1] - z[:, 0], (y % 2).double())),
            tolerance=1e-13,
        ),
        stable=equal(float(losses.cross_entropy(torch.tensor([[1000.0, 0.0]]), torch.tensor([1]))), 1000.0),
    )
    fair = float(entropy_between([0.5, 0.5], [0.5, 0.5]))
    printed = -z.gather(1, y[:, None]).sum() - torch.logsumexp(z, dim=1).sum()  # the bracket is missing
    return every(
        formula=corrected(truth, printed=near(float(printed), float(total), tolerance=1e-6)),
        no_distance=corrected(near(fair, math.log(2), tolerance=1e-12), printed=near(fair, 0.0, tolerance=1e-6)),
        always_finite=corrected(
            equal(impossible := float(entropy_between([0.5, 0.5], [1.0, 0.0])), math.inf),
            printed=below(impossible, math.inf),
        ),
    )


@claim("cross-entropy-example")
def the_example_uses_decimal_logarithms() -> Verdict:
    by_base = [float(entropy_between([0, 0, 1], [0.1, 0.2, 0.7], base=base)) for base in (10, math.e, 2)]
    from_logits = float(losses.cross_entropy(torch.log(torch.tensor([[0.1, 0.2, 0.7]]).double()), torch.tensor([2])))
    two_rows = entropy_between([[0.0, 0.0, 1.0], [0.5, 0.5, 0.0]], [[0.1, 0.2, 0.7], [0.25, 0.25, 0.5]], base=2)
    truth = every(
        rows=near(two_rows, [-math.log2(0.7), 2.0], tolerance=1e-12),
        bases=near(by_base, [0.1549, 0.3567, 0.5146], tolerance=5e-5),
        loss=near(from_logits, by_base[1], tolerance=1e-7),
    )
    return corrected(truth, printed=near(from_logits, 0.15, tolerance=0.01))  # without a base: the natural logarithm


@claim("claim-one-hot-cross-entropy-depends-on-true-class-only")
def only_the_probability_of_the_true_class_counts(seed: int) -> Verdict:
    q = softmax(problem(seed, 1, 5)[0])
    values = [
        float(losses.nll_loss(torch.log(torch.cat([q[:, :1], q[:, 1:][:, list(order)]], dim=1)), torch.tensor([0])))
        for order in permutations(range(4))
    ]
    grid = [
        float(losses.nll_loss(torch.log(torch.tensor([[p, 1 - p]])), torch.tensor([0])))
        for p in np.linspace(0.01, 0.99, 50)
    ]
    return every(
        permuted=near(values, np.full(24, values[0]), tolerance=1e-12),
        minus_log=near(values[0], -math.log(float(q[0, 0])), tolerance=1e-12),
        decreasing=below(float(np.diff(grid).max()), 0.0),
    )


@claim("claim-cross-entropy-equals-nll")
def minimizing_cross_entropy_is_maximum_likelihood(seed: int) -> Verdict:
    y = torch.from_numpy(np.random.default_rng(seed).choice(3, size=200, p=[0.5, 0.3, 0.2]))
    counts = torch.bincount(y, minlength=3).double()
    logits = minimizer(lambda t: losses.cross_entropy(t.expand(200, 3), y), torch.zeros(3, dtype=torch.float64))
    q = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
    nll = float(-(counts * q.log()).sum())
    entropy = float(entropy_between((counts / 200).numpy(), q.numpy()))
    truth = every(
        frequencies=near(softmax(logits), counts / 200, tolerance=1e-6),
        positive_factor=near(nll, 200 * entropy, tolerance=1e-9),
        by_likelihood=near(float(losses.build_loss("categorical")(q.log().expand(200, 3), y)), nll, tolerance=1e-9),
    )
    # Read as relative frequencies, p in the exponent gives the log-likelihood only up to the factor N.
    return corrected(truth, printed=near(entropy, nll, tolerance=1e-6))


@claim("log-softmax")
def log_softmax_is_below_0(seed: int) -> Verdict:
    z, _ = problem(seed, 6, 4)
    s = log_softmax(z)
    first = float(log_softmax(torch.tensor([30.0, 0.0]).double())[0])  # minus log(1 + exp(-30)), told apart from 0
    truth = every(
        as_run=one_form(log_softmax, act.fused_log_softmax, z),
        moderate=near(s, torch.log(softmax(z)), tolerance=1e-13),
        sum=near(torch.exp(s).sum(dim=1), np.ones(6), tolerance=1e-13),
        stable=equal(log_softmax(torch.tensor([200.0, 0.0])).tolist(), [0.0, -200.0]),
        far=equal(log_softmax(torch.tensor([1000.0, -1000.0])).tolist(), [0.0, -2000.0]),
        strictly_below=near(first / -math.exp(-30.0), 1.0, tolerance=0.05),
        one_class=equal(float(log_softmax(z[:1, :1])), 0.0),
    )
    return corrected(truth, printed=equal(first, 0.0))  # that the end 0 is a value for two finite inputs


@claim("nll-loss")
def nll_loss_expects_log_probabilities(seed: int) -> Verdict:
    z, y = problem(seed, 3, 4, 2, 5)
    w = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)
    weighted = losses.nll_loss(log_softmax(LOGITS, dim=1), LABELS, weight=w)
    terms = losses.nll_loss(log_softmax(LOGITS, dim=1), LABELS, weight=w, reduction="none")
    ignored, log_p = y.clone(), log_softmax(z, dim=1)
    ignored[0] = 3
    skipping = float(nn.NLLLoss(ignore_index=3)(log_p, ignored))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        raw = float(losses.nll_loss(LOGITS, LABELS))
    truth = every(
        as_run=one_form(losses.nll_loss, losses.fused_nll_loss, log_p, y, w.repeat(2)[:4]),
        torch=near(float(losses.nll_loss(log_p, y)), float(nn.NLLLoss()(log_p, y)), tolerance=1e-13),
        ignored=near(float(losses.nll_loss(log_p, ignored, ignore_index=3)), skipping, tolerance=1e-13),
        weighted=near(float(weighted), 1.4285, tolerance=5e-5),
        plain_mean=near(float(terms.mean()), 4.2856, tolerance=5e-5),
        warned=equal(len(caught), 1),
        labels=raises(ValueError, lambda: losses.nll_loss(LOGITS, torch.tensor([0, 3])), match="labels from 0 to 2"),
    )
    return corrected(truth, printed=near(raw, 0.9251, tolerance=1e-2))  # on raw scores, as the notes say


@claim("weighted-cross-entropy")
def class_weights_raise_the_recall_of_the_rare_class(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    y = torch.from_numpy((np.arange(400) < 20).astype(int))
    X = torch.from_numpy(rng.normal(size=(400, 2))) + 1.2 * y[:, None]
    design = torch.cat([X, torch.ones(400, 1)], dim=1)
    balanced = 400 / (2 * torch.bincount(y).double())
    recall = {}
    for name, weight in (("plain", None), ("balanced", balanced)):
        theta = minimizer(
            lambda t, w=weight: losses.cross_entropy(design @ t.view(3, 2), y, weight=w), torch.zeros(6).double()
        )
        recall[name] = float(((design @ theta.view(3, 2)).argmax(dim=1)[y == 1] == 1).double().mean())
    z, labels = problem(seed, 8, 3)
    ones = torch.ones(3, dtype=torch.float64)
    return every(
        as_run=one_form(losses.cross_entropy, losses.fused_cross_entropy, z, labels, 1 + ones.cumsum(0)),
        weight_1=near(
            float(losses.cross_entropy(z, labels, weight=ones)), float(losses.cross_entropy(z, labels)), tolerance=1e-14
        ),
        recall=above(recall["balanced"], recall["plain"] + 0.2),
        length=raises(ValueError, lambda: losses.cross_entropy(z, labels, weight=ones[:2]), match="each of 3 classes"),
    )


@claim("kldiv-loss")
def the_divergence_needs_batchmean() -> Verdict:
    P = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]], dtype=torch.float64)
    Q = torch.tensor([[0.4, 0.4, 0.2], [0.3, 0.3, 0.4]], dtype=torch.float64)
    zero = torch.tensor([[0.0, 1.0, 0.0]], dtype=torch.float64)
    by_hand = float((P * (P.log() - Q.log())).sum() / 2)
    batchmean, mean = (float(losses.kl_div_loss(Q.log(), P, reduction=r)) for r in ("batchmean", "mean"))
    truth = every(
        mean_divergence=near([batchmean, by_hand], [0.1225, 0.1225], tolerance=5e-5),
        default=near([mean, by_hand / 3], [0.0408, 0.0408], tolerance=5e-5),
        torch=near(batchmean, float(nn.KLDivLoss(reduction="batchmean")(Q.log(), P)), tolerance=1e-14),
        log_target=near(
            float(losses.kl_div_loss(Q.log(), P.log(), "batchmean", log_target=True)), batchmean, tolerance=1e-14
        ),
        zero_counts_0=near(float(losses.kl_div_loss(Q[:1].log(), zero, "sum")), -math.log(0.4), tolerance=1e-14),
    )
    return corrected(
        truth,
        inputs_are_probabilities=near(float(losses.kl_div_loss(Q, P, "batchmean")), by_hand, tolerance=1e-2),
        default_is_the_divergence=near(mean, by_hand, tolerance=1e-2),
    )
