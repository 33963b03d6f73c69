r"""A convolution with two input channels, number by number

The output is :math:`\sum_c K_c * I_c` (cross-correlation): of the inputs 0..8 and 1..9 and the kernels 0..3 and 1..4
it is 56, 72 / 104, 120. Flipping the kernel makes it a convolution; flipping the input does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, corrected, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INPUT = np.stack([np.arange(9.0).reshape(3, 3), np.arange(1.0, 10.0).reshape(3, 3)])
KERNELS = np.stack([np.arange(4.0).reshape(2, 2), np.arange(1.0, 5.0).reshape(2, 2)])
MARKED = (0, 1)  # the output whose patch is marked


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.convolution.equations import convolve, correlate

    second = np.random.default_rng(seed).integers(-2, 3, KERNELS.shape).astype(float)
    filters = np.stack([KERNELS, second])
    flipped_input = INPUT[:, ::-1, ::-1]
    return {
        "output": correlate(INPUT[None], filters)[0],
        "per_channel": np.stack([correlate(INPUT[None, c : c + 1], filters[:, c : c + 1])[0] for c in range(2)]),
        "filters": filters,
        "convolved": convolve(INPUT[None], filters)[0],
        "input_flipped": correlate(flipped_input[None], filters)[0],
    }


def check(data: dict[str, Any]) -> Verdict:
    i, j = MARKED
    patch = INPUT[:, i : i + 2, j : j + 2]
    truth = every(
        printed_arrays=equal(data["output"][0].tolist(), [[56.0, 72.0], [104.0, 120.0]]),
        sum_of_channels=near(data["output"], data["per_channel"].sum(axis=0), tolerance=1e-12),
        marked_patch=near(data["output"][:, i, j], (data["filters"] * patch).sum(axis=(1, 2, 3)), tolerance=1e-12),
        flipped_input_gives_the_flipped_result=near(
            data["input_flipped"][:, ::-1, ::-1], data["convolved"], tolerance=1e-12
        ),
    )
    return corrected(truth, the_input_was_flipped=near(data["input_flipped"], data["convolved"], tolerance=1e-3))


def draw(data: dict[str, Any], figure: Figure) -> None:
    """A row per kernel: channels times their kernels, added up."""
    figure.set_size_inches(13, 5.6)
    i, j = MARKED
    for row, axes in enumerate(figure.subplots(2, 9, width_ratios=[3, 0.5, 2, 0.5, 3, 0.5, 2, 0.5, 2])):
        for c in range(2):
            _numbers(axes[4 * c], INPUT[c], f"input, channel {c + 1}" if row == 0 else "")
            axes[4 * c].add_patch(_frame(j, i, 2))
            _numbers(axes[4 * c + 2], data["filters"][row, c], f"kernel {row + 1}, channel {c + 1}")
        _numbers(axes[8], data["output"][row], f"output, channel {row + 1}")
        axes[8].add_patch(_frame(j, i, 1))
        for axis, sign in zip(axes[1::2], ("$*$", "+", "$*$", "=")):
            axis.text(0.5, 0.5, sign, ha="center", va="center", fontsize=16)
            axis.set_axis_off()


def _numbers(ax: Any, array: np.ndarray, title: str) -> None:
    ax.imshow(array, cmap="Blues", alpha=0.6)
    for (r, c), value in np.ndenumerate(array):
        ax.text(c, r, f"{value:g}", ha="center", va="center")
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, fontsize=9)


def _frame(column: int, row: int, size: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), size, size, fill=False, color="C3", lw=2.5)
