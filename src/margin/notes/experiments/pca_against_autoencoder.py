r"""A curve kept by one coordinate, a surface kept by two: PCA gives a line and a plane, an autoencoder bends

PCA with k components restores rows on a k-dimensional plane, whatever the data look like; an autoencoder
:math:`g(f(x))` restores them on a curved one. How many coordinates are kept is a choice: with all of them PCA restores
every row exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, corrected, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISE = 0.05


def curve(seed: int) -> dict[int, np.ndarray]:
    """Rows near a parabola in the plane, and near a saddle in space."""
    rng = np.random.default_rng(seed)
    t, uv = rng.uniform(-1.5, 1.5, size=(300, 1)), rng.uniform(-1.5, 1.5, size=(300, 2))
    plane = np.hstack([t, t**2])
    space = np.column_stack([uv, uv[:, 0] ** 2 - uv[:, 1] ** 2])
    return {2: plane + NOISE * rng.normal(size=(300, 2)), 3: space + NOISE * rng.normal(size=(300, 3))}


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.generative import Autoencoder
    from margin.reduction import PCA

    data: dict[str, Any] = {}
    for p, X in curve(seed).items():
        pca = PCA(n_components=p - 1).fit(X)
        bent = Autoencoder(p - 1, (16,), activation="tanh", solver="lbfgs", max_iter=150 if fast else 1000)
        bent.set_params(standardize=False, random_state=seed).fit(X)
        all_components = PCA(n_components=p).fit(X)
        data[f"rows_{p}"] = X
        data[f"pca_{p}"] = pca.inverse_transform(pca.transform(X))
        data[f"autoencoder_{p}"] = bent.reconstruct(X)
        data[f"all_components_{p}"] = all_components.inverse_transform(all_components.transform(X))
    return data


def error(data: dict[str, Any], name: str, p: int) -> float:
    return float(np.square(data[f"{name}_{p}"] - data[f"rows_{p}"]).mean())


def check(data: dict[str, Any]) -> Verdict:
    parts = {}
    for p in (2, 3):
        restored = data[f"pca_{p}"] - data[f"pca_{p}"].mean(axis=0)
        parts[f"pca_is_flat_{p}"] = equal(int(np.linalg.matrix_rank(restored, tol=1e-8)), p - 1)
        parts[f"autoencoder_is_nearer_{p}"] = below(error(data, "autoencoder", p), 0.5 * error(data, "pca", p))
        parts[f"all_components_lose_nothing_{p}"] = below(error(data, "all_components", p), 1e-20)
    # If two-dimensional data had to become one-dimensional, keeping both components would not restore them.
    return corrected(every(**parts), printed=below(error(data, "pca", 2), 10 * error(data, "all_components", 2)))


def draw(data: dict[str, Any], figure: Figure) -> None:
    titles = {"rows": "data", "pca": "by PCA", "autoencoder": "by an autoencoder"}
    for row, p in enumerate((2, 3)):
        for column, (name, title) in enumerate(titles.items()):
            options: dict[str, Any] = {"projection": "3d"} if p == 3 else {}
            ax: Any = figure.add_subplot(2, 3, 3 * row + column + 1, **options)
            ax.scatter(*data[f"{name}_{p}"].T, s=6, c=data[f"rows_{p}"][:, 0])
            ax.set_title(f"{title}, {p - 1} of {p} coordinates" if column else f"{title} in {p} dimensions")
