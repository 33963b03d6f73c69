"""Pictures that move: one drawing per frame, for what a fit does step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.animation import Animation
    from matplotlib.figure import Figure

__all__ = ["film"]

PAUSE = 8  # frames for which the end stands still


def film(
    draw: Callable[[Figure, Any], None], moments: Sequence[Any], *, size: tuple[float, float], interval: int = 200
) -> Animation:
    """``draw(figure, moment)`` for every moment on an empty figure; ``interval`` in milliseconds."""
    from matplotlib.animation import FuncAnimation
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=80, layout="constrained")
    FigureCanvasAgg(figure)

    def update(moment: Any) -> list[Any]:
        figure.clear()
        draw(figure, moment)
        return list(figure.axes)

    # Without a first call of its own, which would draw the first moment twice.
    frames = [*moments, *[moments[-1]] * PAUSE]
    return FuncAnimation(figure, update, frames=frames, interval=interval, init_func=lambda: [])
