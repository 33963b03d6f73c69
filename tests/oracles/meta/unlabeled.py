"""Learning with rows without a label: rounds and losses written out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier as Peer
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.meta.semi import PseudoLabel, SelfTrainingClassifier
from margin.meta.semi.pseudo_label import pseudo_label_loss, ramp
from margin.neural.estimators import MLPClassifier


@oracle("margin.meta.semi.SelfTrainingClassifier")
def rounds_as_in_scikit_learn(seed: int) -> Verdict:
    """Three classes of unequal size, most labels hidden; by threshold and by the k surest, round by round."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, p=[0.5, 0.3, 0.2], size=60)
    X = rng.normal(size=(60, 2)) + 2.0 * np.array([[0, 0], [1, 1.5], [2, -0.5]])[truth]
    y = np.where(rng.random(60) < 0.3, truth, -1)
    y[[np.flatnonzero(truth == k)[0] for k in range(3)]] = np.arange(3)
    parts = {}
    for name, options in (
        ("threshold", {"threshold": 0.8, "max_iter": 4}),
        ("k_best", {"criterion": "k_best", "k_best": 7, "max_iter": 3}),
    ):
        ours = SelfTrainingClassifier(LogisticRegression(), **options).fit(X, y)
        theirs = Peer(LogisticRegression(), **options).fit(X, y)
        parts[name] = every(
            rounds=equal(ours.labeled_iter_.tolist(), theirs.labeled_iter_.tolist()),
            labels=equal(ours.transduction_.tolist(), theirs.transduction_.tolist()),
            probabilities=near(ours.predict_proba(X), theirs.predict_proba(X), tolerance=1e-9),
        )
    return every(**parts)


@oracle("margin.meta.semi.PseudoLabel", "margin.meta.semi.pseudo_label.ramp")
def both_sums_of_the_loss(seed: int) -> Verdict:
    """Five labeled rows and eight others; without weight of the others the fit sees labeled rows alone."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(13, 3)), np.r_[rng.integers(0, 3, 5), np.full(8, -1)]
    net = torch.nn.Linear(3, 3, dtype=torch.float64)
    batch = (torch.from_numpy(X), torch.from_numpy(y))
    loss = pseudo_label_loss(net, batch, torch.Generator(), alpha=lambda: 1.7)
    logs = log_softmax(X @ net.weight.detach().numpy().T + net.bias.detach().numpy(), axis=1)
    known, guessed = -np.mean([logs[i, y[i]] for i in range(5)]), -logs[5:].max(axis=1).mean()
    line = [0.0 if t < 0.2 else 3.0 if t > 0.7 else 6 * (t - 0.2) for t in np.linspace(0, 1, 21)]
    options: dict[str, Any] = {"hidden_layer_sizes": (4,), "max_iter": 3, "batch_size": 6}
    given = np.where(np.arange(60) < 6, np.arange(60) % 2, -1)
    fits = []
    for rows in (rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 5.0):
        rows[:6] = np.arange(12.0).reshape(6, 2)
        model = PseudoLabel(MLPClassifier(**options), alpha=2.0, ramp_start=0.5, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # three epochs are few
            model.fit(rows, given)
        fits.append(model.predict_proba(rows[:6]))
    return every(
        sums=near(float(loss["loss"].mean().detach()), known + 1.7 * guessed, tolerance=1e-10),
        parts=near([float(loss[name].mean().detach()) for name in ("labeled_loss", "pseudo_loss")], [known, guessed],
                   tolerance=1e-10),
        ramp=near([ramp(t, 0.2, 0.7, 3.0) for t in np.linspace(0, 1, 21)], line, tolerance=1e-9),
        probabilities=near(np.sum(fits, axis=2), np.ones((2, 6)), tolerance=1e-6),
        others_count=equal(bool(np.abs(fits[0] - fits[1]).max() > 1e-6), True),
    )  # fmt: skip
