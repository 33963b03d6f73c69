"""Steps of torch's optimizers and of our rules from the same random gradients, with a rate that changes."""

import numpy as np
import torch


def assert_equals_torch(rule, name, *, rate=0.03, changing=True, shape=(4, 3), steps=40, rtol=1e-10, **options):
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape)
    theirs = torch.tensor(x, requires_grad=True)
    optimizer = getattr(torch.optim, name)([theirs], lr=rate, **options)
    state = rule.start(x)
    for t in range(steps):
        now = rate / (1 + 0.1 * t) if changing else rate
        gradient = rng.normal(size=shape) * np.geomspace(1e-3, 1e3, x.size).reshape(shape)
        state, step = rule.update(state, gradient, x, now)
        x = x + step
        theirs.grad = torch.tensor(gradient)
        optimizer.param_groups[0]["lr"] = now
        optimizer.step()
        np.testing.assert_allclose(x, theirs.detach().numpy(), rtol=rtol, atol=0.01 * rtol)
