"""Claims about networks that are held back: dropout, noise, early stopping, averages of several."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.notes.claims import claim


@claim("early-stopping")
def training_ends_after_its_patience_with_the_best_weights(seed: int) -> Verdict:
    from margin.neural import NeuralRegressor
    from margin.neural.generators import Seeds
    from margin.neural.training import validation_split

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 8)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=60)  # mostly noise: soon nothing is left to learn
    patience = 5
    params: dict[str, Any] = {
        "early_stopping": True,
        "validation_fraction": 0.2,
        "n_iter_no_change": patience,
        "tol": 0.0,
    }
    model = NeuralRegressor(**params, learning_rate_init=0.02, batch_size=16, max_iter=200, random_state=seed)
    records = [record for record in model.iterate(X, y) if "valid_loss" in record.values]
    losses = np.array([record["valid_loss"] for record in records])
    best = int(losses.argmin())
    train, valid = validation_split(60, 0.2, Seeds.of(model.get_state()["seed"]).split)  # the rows held out
    held = lambda m: float(np.mean((m.predict(X[valid]) - y[valid]) ** 2) / 2)  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        path = model.save_weights(Path(folder) / "best.safetensors")
        reloaded = NeuralRegressor(**params).load_weights(path)
    return every(
        patience=equal(len(losses) - 1 - best, patience),
        ends_early=below(len(losses), 200),
        fifth_is_held_out=equal((len(train), len(valid)), (48, 12)),
        best_weights=near(held(model), float(losses[best]), tolerance=1e-5),
        from_a_file=near(held(reloaded), held(model), tolerance=1e-7),
    )


@claim("dropout")
def dropout_keeps_the_mean_by_dividing(seed: int) -> Verdict:
    import torch

    from margin.neural.layers.dropout import Dropout

    p, generator = 0.3, torch.Generator().manual_seed(seed)
    layer = Dropout(p).train()
    layer.generator = generator
    h = torch.ones(200, 500, dtype=torch.float64, requires_grad=True)
    out, again = layer(h), layer(h)
    (gradient,) = torch.autograd.grad(out.sum(), h)
    kept = (out != 0).double()
    rng = np.random.default_rng(seed)
    w, x, q = rng.normal(size=12), rng.normal(size=12) + 1, 0.2
    masks = rng.random((20_000, 12)) >= q  # q is the probability of being dropped
    mean = float((masks * x @ w).mean())
    weight = torch.tensor([1.0], requires_grad=True)
    moving = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    for factor in (1.0, 0.0):  # the second time the unit is silent
        moving.zero_grad()
        (factor * weight).sum().backward()
        before = float(weight.detach())
        moving.step()
    truth = every(
        dropped=within(float(1 - kept.mean()), p - 0.01, p + 0.01),
        mean_is_kept=within(float(out.detach().mean()), 0.98, 1.02),
        identity_when_predicting=equal(bool((layer.eval()(h) == h).all()), True),
        gradient_is_the_mask=near(gradient.numpy(), (kept / (1 - p)).numpy(), tolerance=1e-12),
        test_weights_times_presence=near(mean, (1 - q) * float(w @ x), tolerance=0.1),
        momentum_moves_a_silent_unit=above(abs(before - float(weight.detach())), 0.01),
    )
    unscaled = float((out * (1 - p)).detach().mean())  # what comes without dividing
    return corrected(
        truth,
        one_mask_per_epoch=equal(bool((out == again).all()), True),
        no_rescaling=near(unscaled, 1.0, tolerance=0.1),
        weights_times_the_drop_probability=near(mean, q * float(w @ x), tolerance=0.1),
    )


@claim("claim-dropout-trains-2-to-the-n-networks")
def the_average_of_all_thinned_networks_has_scaled_weights(seed: int) -> Verdict:
    from margin.neural.layers.dropout import thinned_masks

    rng = np.random.default_rng(seed)
    n, keep = 8, 0.6
    h, W = rng.normal(size=n), rng.normal(size=(3, n))
    masks = thinned_masks(n).numpy().astype(float)
    chance = keep ** masks.sum(axis=1) * (1 - keep) ** (n - masks.sum(axis=1))
    average = chance @ ((masks * h) @ W.T)
    return every(
        how_many=equal(len(masks), 2**n),
        all_different=equal(len(np.unique(masks, axis=0)), 2**n),
        chances_add_up=near(chance.sum(), 1.0, tolerance=1e-12),
        scaled_weights=near(average, keep * W @ h, tolerance=1e-12),
    )


@claim("claim-dropout-test-output-equals-expectation")
def scaling_is_exact_before_the_activation_only(seed: int) -> Verdict:
    from margin.neural.layers.dropout import thinned_masks

    rng = np.random.default_rng(seed)
    n, keep = 8, 0.5
    h, w = rng.normal(size=n), rng.normal(size=n)
    b = -keep * float(w @ h) - 0.1  # just below zero at test time, so that the rectifier is off
    masks = thinned_masks(n).numpy().astype(float)
    sums = (masks * h) @ w + b
    test = keep * float(w @ h) + b
    return corrected(
        every(
            linear=near(float(sums.mean()), test, tolerance=1e-12),  # with keep = 1/2 all masks are as likely
            gap_after_the_rectifier=above(float(np.maximum(sums, 0).mean()) - max(test, 0.0), 0.01),
        ),
        printed=near(float(np.maximum(sums, 0).mean()), max(test, 0.0), tolerance=0.01),
    )


@claim("noise-injection")
def noise_on_the_inputs_is_ridge_regression(seed: int) -> Verdict:
    import torch

    from margin.linear import Ridge
    from margin.neural import MLPClassifier
    from margin.neural.training.noise import with_input_noise, with_weight_noise
    from margin.neural.training.objectives import smoothed_cross_entropy

    rng = np.random.default_rng(seed)
    n, s = 40, 0.5
    seen: list[Any] = []
    X = rng.normal(size=(n, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=n)

    def record(_module: Any, batch: Any, _noise: Any) -> dict[str, Any]:
        seen.append(batch[0])
        return {}

    with_input_noise(record, s)(None, (torch.from_numpy(X).repeat(5000, 1),), torch.Generator().manual_seed(seed))
    noisy, target = seen[0].numpy(), np.tile(y, 5000)
    by_noise = np.linalg.lstsq(noisy, target, rcond=None)[0]
    ridge = Ridge(alpha=n * s**2, fit_intercept=False).fit(X, y)
    layer = torch.nn.Linear(3, 1, bias=False, dtype=torch.float64)
    out = lambda module, batch, _noise: {"loss": module(batch[0]).squeeze(1)}  # noqa: E731
    generator = torch.Generator().manual_seed(seed)
    row = torch.ones(1, 3, dtype=torch.float64)
    moved: Any = with_weight_noise(out, 0.2)
    losses = [float(moved(layer, (row,), generator)["loss"].detach()) for _ in range(400)]
    labels = (X[:, 0] > 0).astype(int)
    options: dict[str, Any] = {"input_noise": 0.2, "weight_noise": 0.05, "label_smoothing": 0.1}
    model = MLPClassifier((8,), max_iter=100, learning_rate_init=0.02, random_state=seed, **options).fit(X, labels)
    logits = torch.zeros(1, 2, requires_grad=True)
    identity = torch.nn.Identity().train()
    smooth: Any = smoothed_cross_entropy(0.1)(identity, (logits, torch.tensor([0])), generator)["loss"]
    (pull,) = torch.autograd.grad(smooth.sum(), logits)
    return every(
        ridge=near(by_noise, ridge.coef_, tolerance=0.02),
        weights_vary=within(float(np.std(losses)), 0.2 * 3**0.5 * 0.85, 0.2 * 3**0.5 * 1.15),
        smoothed_target=near(pull.numpy(), [[0.5 - 0.95, 0.5 - 0.05]], tolerance=1e-6),
        still_learns=above(model.score(X, labels), 0.85),
    )


@claim("ensembling")
def the_average_of_networks_is_no_worse_than_their_mean(seed: int) -> Verdict:
    import torch

    from margin.neural import MLPRegressor
    from margin.neural.diagnostics import descend
    from margin.neural.nets.ensemble import MLPEnsemble
    from margin.neural.weights import build
    from margin.trees import BaggingRegressor

    rng = np.random.default_rng(seed)
    X = torch.from_numpy(rng.uniform(-2, 2, size=(80, 1)))
    y = torch.sin(3 * X) + 0.3 * torch.from_numpy(rng.normal(size=(80, 1)))
    net = build(lambda: MLPEnsemble(8, [1, 20, 1], "tanh"), seed, torch.float64)
    train, test = slice(0, 30), slice(30, 80)
    objective = lambda: (net(X[train]) - y[train]).square().mean()  # noqa: E731
    descend(net.parameters(), objective, steps=200, rate=0.02, rule=torch.optim.Adam)
    with torch.no_grad():
        outputs = net(X[test])
        members = (outputs - y[test]).square().mean(dim=(1, 2)).numpy()
        together = float((outputs.mean(dim=0) - y[test]).square().mean())
        chance = torch.sigmoid(4 * outputs)  # as probabilities of y > 0
        labels = (y[test] > 0).double()
        loss = lambda p: -(labels * p.log() + (1 - labels) * (1 - p).log()).mean(dim=(-2, -1))  # noqa: E731
        each, mixed = float(loss(chance).mean()), float(loss(chance.mean(dim=0)))
    base = MLPRegressor((16,), "tanh", max_iter=60, learning_rate_init=0.02)
    bagged = BaggingRegressor(base, n_estimators=4, random_state=seed).fit(X[train].numpy(), y[train, 0].numpy())
    alone = [float(np.mean((m.predict(X[test].numpy()) - y[test, 0].numpy()) ** 2)) for m in bagged.estimators_]
    all_together = float(np.mean((bagged.predict(X[test].numpy()) - y[test, 0].numpy()) ** 2))
    return every(
        squared_error=below(together, float(members.mean())),
        probabilities=below(mixed, each),
        bagging=below(all_together, float(np.mean(alone))),
        members_differ=above(float(members.std()), 0.0),
    )
