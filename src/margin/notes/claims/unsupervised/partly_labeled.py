"""Claims about learning where only some rows have labels."""

from __future__ import annotations

from functools import partial

import numpy as np

from margin.core.verdict import Verdict, above, equal, every, near
from margin.notes.claims import claim
from margin.notes.claims.unsupervised.clusters import _two_groups


def _partly_labeled(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three rows of each group keep their label."""
    X, label = _two_groups(seed)
    kept = np.concatenate([np.flatnonzero(label == group)[:3] for group in (0, 1)])
    return X, np.where(np.isin(np.arange(len(X)), kept), label, -1)


@claim("semi-supervised-learning")
def rows_without_a_label_are_used_however_they_are_marked(seed: int) -> Verdict:
    from margin.meta.semi import PseudoLabel, SelfTrainingClassifier
    from margin.neural.estimators import MLPClassifier

    X, y = _partly_labeled(seed)
    known = y >= 0
    as_none = y.astype(object)
    as_none[~known] = None
    spellings = [y, np.where(known, y, np.nan), as_none]
    answers = [SelfTrainingClassifier().fit(X, labels).predict_proba(X) for labels in spellings]
    alone = SelfTrainingClassifier().fit(X[known], y[known]).predict_proba(X)
    network = PseudoLabel(MLPClassifier((8,), max_iter=2), random_state=seed)
    taught = [network.fit(X, labels).predict_proba(X) for labels in spellings]
    return every(
        as_nan=equal(answers[1], answers[0]),
        as_none=equal(answers[2], answers[0]),
        network_as_nan=equal(taught[1], taught[0]),
        network_as_none=equal(taught[2], taught[0]),
        used=above(float(np.abs(answers[0] - alone).max()), 0.01),
    )


@claim("self-training")
def only_confident_rows_are_added_and_given_labels_stay(seed: int) -> Verdict:
    from margin.meta.semi import SelfTrainingClassifier

    X, y = _partly_labeled(seed)
    model, least, left = SelfTrainingClassifier(threshold=0.9, max_iter=None), [], [int((y < 0).sum())]
    before = None
    for record in model.iterate(X, y):
        if before is not None and record["added"]:
            chosen = model.labeled_iter_ == record.iteration
            least.append(before.predict_proba(X[chosen]).max(axis=1).min())
        before = model.estimator_
        left.append(int(record["unlabeled"]))
    return every(
        confident=above(min(least), 0.9),
        shrinking=equal(sorted(left, reverse=True), left),
        given=equal(model.transduction_[y >= 0], y[y >= 0]),
        accuracy=above(float((model.predict(X) == _two_groups(seed)[1]).mean()), 0.98),
    )


@claim("pseudo-labelling")
def the_loss_of_rows_without_a_label_is_weighted_by_the_ramp(seed: int) -> Verdict:
    import torch

    from margin.meta.semi.pseudo_label import pseudo_label_loss, ramp

    torch_rng = torch.Generator().manual_seed(seed)
    module = torch.nn.Linear(2, 3, dtype=torch.float64)
    X = torch.randn(8, 2, dtype=torch.float64, generator=torch_rng)
    y = torch.tensor([0, 1, 2, -1, -1, -1, -1, -1])
    log_p = torch.log_softmax(module(X), dim=1).detach().numpy()
    labeled = -np.mean([log_p[i, int(y[i])] for i in range(3)])
    guessed = -np.mean(log_p[3:].max(axis=1))
    losses = [
        pseudo_label_loss(module, (X, y), torch_rng, alpha=partial(float, weight))["loss"].detach().mean().item()
        for weight in (0.0, 1.5)
    ]
    return every(
        without=near(losses[0], labeled, tolerance=1e-12),
        weighted=near(losses[1], labeled + 1.5 * guessed, tolerance=1e-12),
        ramp=near([ramp(t, 0.1, 0.7, 3.0) for t in (0.0, 0.1, 0.4, 0.7, 1.0)], [0, 0, 1.5, 3, 3], tolerance=1e-12),
    )
