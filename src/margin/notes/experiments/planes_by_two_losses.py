r"""A support vector machine and logistic regression on one data set, judged by both measures

Both minimize :math:`\tfrac12\lVert w\rVert^2 + C\sum_i \ell(y_i f(x_i))`, one with the hinge
:math:`\max(0, 1 - m)`, the other with :math:`\log(1 + e^{-m})`. Each plane is the best by its own measure and only
near by the other's. On separable clouds the widest margin is the machine's; where they overlap the planes all but
agree, and only the logistic one's values are probabilities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

C, ROWS, FRESH = 1.0, 120, 20_000
CLOUDS = {"separable": (4.5, 0.7), "overlapping": (2.0, 1.0)}  # distance of the centers, deviation
NAMES = ("svm", "logistic")


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.kernels import LinearSVC
    from margin.linear import LogisticRegression

    rng = np.random.default_rng(seed)
    data: dict[str, Any] = {}
    for kind, (gap, deviation) in CLOUDS.items():
        X, y = two_clouds(rng, ROWS, gap, deviation)
        fresh, labels = two_clouds(rng, FRESH, gap, deviation)
        machine = LinearSVC(C=C, loss="hinge", tol=1e-8, max_iter=100_000, random_state=seed).fit(X, y)
        models = dict(zip(NAMES, (machine, LogisticRegression(C=C, tol=1e-10).fit(X, y))))
        planes = {name: np.append(model.coef_[0], model.intercept_[0]) for name, model in models.items()}
        data[kind] = {
            "X": X,
            "y": y,
            "planes": planes,
            "measures": {name: measures(plane, X, y) for name, plane in planes.items()},
            "fresh": {name: measures(plane, fresh, labels) for name, plane in planes.items()},
        }
    return data


def two_clouds(rng: np.random.Generator, n: int, gap: float, deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """Normal clouds with labels -1 and 1 of which the second is flatter; in the separable case none comes too near."""
    y = np.where(np.arange(n) % 3 == 0, 1, -1)
    spread = np.where(y[:, None] > 0, [1.0, 0.5], [0.8, 1.0]) * deviation
    noise = np.clip(rng.normal(size=(n, 2)), -2, 2) if gap > 4 else rng.normal(size=(n, 2))
    return noise * spread + gap / 2 * y[:, None] * np.array([0.8, 0.6]), y


def measures(plane: np.ndarray, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Both objectives, the geometric margin, the mean log-loss and the accuracy of (w, b)."""
    m, w = y * (X @ plane[:2] + plane[2]), plane[:2]
    return {
        "svm": float(0.5 * w @ w + C * np.maximum(0, 1 - m).sum()),
        "logistic": float(0.5 * w @ w + C * np.logaddexp(0, -m).sum()),
        "margin": float(m.min() / np.linalg.norm(w)),
        "log_loss": float(np.logaddexp(0, -m).mean()),
        "accuracy": float((m > 0).mean()),
    }


def check(data: dict[str, Any]) -> Verdict:
    parts: dict[str, Verdict] = {}
    for kind, found in data.items():
        by = found["measures"]
        for own, other in (NAMES, NAMES[::-1]):
            parts[f"{kind}_{own}_is_best_by_its_own"] = below(by[own][own], by[other][own] * (1 - 1e-4))
    apart, mixed = data["separable"], data["overlapping"]
    w = [plane[:2] / np.linalg.norm(plane[:2]) for plane in mixed["planes"].values()]
    return every(
        **parts,
        both_separate=equal([apart["measures"][name]["accuracy"] for name in NAMES], [1.0, 1.0]),
        the_machine_has_the_wider_margin=above(
            apart["measures"]["svm"]["margin"] / apart["measures"]["logistic"]["margin"], 1.0
        ),
        planes_agree_where_they_overlap=above(float(w[0] @ w[1]), 0.97),
        as_accurate=below(abs(mixed["fresh"]["svm"]["accuracy"] - mixed["fresh"]["logistic"]["accuracy"]), 0.02),
        probabilities=below(mixed["fresh"]["logistic"]["log_loss"], mixed["fresh"]["svm"]["log_loss"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 6.2)
    for ax, (kind, found) in zip(figure.subplots(1, 2), data.items()):
        X, y = found["X"], found["y"]
        for label, marker in ((-1, "o"), (1, "^")):
            ax.plot(*X[y == label].T, marker, ms=4, alpha=0.5, color="C7" if label < 0 else "C4")
        across = np.array([X[:, 0].min() - 0.5, X[:, 0].max() + 0.5])
        for color, (name, plane) in zip(("C0", "C1"), found["planes"].items()):
            m, own = found["measures"][name], "SVM" if name == "svm" else "logistic"
            words = f"{own}: hinge {m['svm']:.2f}, log-loss {m['logistic']:.2f}, nearest row at {m['margin']:.2f}"
            for level, style in ((-1, ":"), (0, "-"), (1, ":")):
                ax.plot(across, (level - plane[2] - plane[0] * across) / plane[1], style, color=color,
                        label=words if level == 0 else None)  # fmt: skip
        ax.set(title=f"{kind} clouds", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
        ax.set(xlim=across, ylim=(X[:, 1].min() - 0.5, X[:, 1].max() + 0.5))
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14))
