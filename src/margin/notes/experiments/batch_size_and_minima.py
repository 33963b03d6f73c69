r"""Where small and large batches end

The same networks, trained with the same rate until they have the same training loss, once in batches of 2 and once on
all rows. Small batches end where the loss is less curved (largest eigenvalue of its Hessian) and where the gradients of
examples agree more. It is a tendency, shown for several starts with its spread. It does not follow that they predict
better: on this problem their test loss is the higher one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS, UNITS, RATE, SMALL = 24, 12, 0.05, 2


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.nets.ensemble import MLPEnsemble
    from margin.neural.weights import build

    rng = np.random.default_rng(seed)
    members, steps = (8, 3000) if fast else (10, 20_000)
    X = torch.from_numpy(rng.uniform(-2, 2, size=(ROWS, 1)))
    y = torch.sin(2 * X) + 0.3 * torch.from_numpy(rng.normal(size=(ROWS, 1)))
    new = torch.linspace(-2, 2, 200, dtype=torch.float64)[:, None]
    generator = torch.Generator().manual_seed(seed)
    data, goal = {}, None
    for name in ("small", "large"):
        net = build(partial(MLPEnsemble, members, [1, UNITS, 1], "tanh"), seed, torch.float64)
        optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
        for step in range(steps if name == "small" else 10 * steps):
            if name == "small":
                index = torch.randint(ROWS, (members, SMALL), generator=generator)
                inputs, targets = X[index], y[index]
            else:
                inputs, targets = X.expand(members, -1, -1), y
            optimizer.zero_grad()
            loss = (net(inputs) - targets).square().mean(dim=(1, 2)).sum()  # members do not share a gradient
            loss.backward()
            optimizer.step()
            if name == "large" and step % 50 == 0 and float(loss.detach()) / members <= goal:  # type: ignore[operator]
                break
        with torch.no_grad():
            errors = (net(X) - y).square()[..., 0]
            test = (net(new) - torch.sin(2 * new)).square().mean(dim=(1, 2))
        goal = float(errors.mean())
        sharp, variance = _curvature(net, X, y, members)
        data[name] = {
            "loss": errors.mean(dim=1).numpy(), "spread": errors.std(dim=1).numpy(), "test": test.numpy(),
            "sharpness": sharp, "variance": variance,
        }  # fmt: skip
    return data


def _curvature(net: Any, X: Any, y: Any, members: int) -> tuple[np.ndarray, np.ndarray]:
    """Per member: the largest eigenvalue of the Hessian, and the variance of the gradients of single rows."""
    import torch

    sharp, variance = np.empty(members), np.empty(members)
    for m in range(members):
        parts = [p[m].detach() for p in (*net.weights, *net.biases)]
        sizes = [part.numel() for part in parts]

        def errors(theta: Any, parts: Any = parts, sizes: Any = sizes) -> Any:
            W1, W2, b1, b2 = (t.reshape(part.shape) for t, part in zip(theta.split(sizes), parts))
            return ((torch.tanh(X @ W1 + b1) @ W2 + b2) - y).square()[:, 0]

        theta = torch.cat([part.flatten() for part in parts])
        H = torch.func.hessian(lambda t, errors=errors: errors(t).mean())(theta)
        sharp[m] = float(torch.linalg.eigvalsh(H)[-1])
        each = torch.func.jacrev(errors)(theta)
        variance[m] = float((each - each.mean(dim=0)).square().sum(dim=1).mean())
    return sharp, variance


def check(data: dict[str, Any]) -> Verdict:
    small, large = data["small"], data["large"]
    return every(
        equal_losses=below(abs(float(small["loss"].mean() / large["loss"].mean()) - 1), 0.25),
        flatter=below(float(small["sharpness"].mean()), float(large["sharpness"].mean())),
        gradients_agree_more=below(float(small["variance"].mean()), 1.1 * float(large["variance"].mean())),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 5)
    names = ("loss", "sharpness", "variance", "spread", "test")
    for axis, name in zip(figure.subplots(1, len(names)), names):
        for k, size in enumerate(("small", "large")):
            values = data[size][name]
            axis.plot(np.full(len(values), k) + np.linspace(-0.1, 0.1, len(values)), values, "o", alpha=0.6)
            axis.plot([k - 0.2, k + 0.2], [values.mean()] * 2, color="black")
        both = np.r_[data["small"][name], data["large"][name]]
        test = np.r_[data["small"]["test"], data["large"]["test"]]
        axis.set_title(f"{name}\ncorrelation with test loss {np.corrcoef(both, test)[0, 1]:.2f}")
        axis.set_xticks([0, 1], ["small\nbatches", "all rows"])
