"""Short formulas of networks against torch's own: activations and their slopes, losses, norms, recurrent steps."""

from __future__ import annotations

from typing import Any

import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch import Tensor, nn
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every
from margin.neural.activations import functions, slopes
from margin.neural.activations.softmax import log_softmax, logsumexp, softmax, softmax_jacobian
from margin.neural.attention import decoder, dot_product, feed_forward, relative, subquadratic
from margin.neural.layers import recurrent
from margin.neural.losses import binary, divergence, margins
from margin.neural.normalization import functions as norms


@oracle(
    *(f"{PATH}.activations.functions.{name}" for name in ("gelu", "silu", "elu", "leaky_relu", "tanh", "sigmoid",
                                                         "binary_step", "steep_sigmoid")),
    *(f"{PATH}.activations.slopes.{name}" for name in ("gelu_slope", "silu_slope", "sigmoid_slope")),
    *(f"{PATH}.activations.softmax.{name}" for name in ("softmax", "log_softmax", "logsumexp", "softmax_jacobian")),
)  # fmt: skip
def activations_by_torch(seed: int) -> Verdict:
    """Also at numbers whose exponential is beyond all floats, and step functions at the jump."""
    x = torch.cat([3 * normal(seed, 40), torch.tensor([-800.0, -40.0, 0.0, 40.0, 800.0], dtype=torch.float64)])
    z = torch.cat([3 * normal(seed, 4, 5), 900 + 5 * normal(seed + 1, 1, 5)])
    x.requires_grad_()
    large = torch.tensor([1e16, 1e16 + 2], dtype=torch.float64)  # two neighbors whose difference is exact
    jumps = torch.tensor([-2.0, -1e-9, 0.0, 1e-9, 3.0], dtype=torch.float64)
    by_hand = {
        "gelu": functional.gelu(x),
        "silu": functional.silu(x),
        "elu": functional.elu(x),
        "leaky_relu": functional.leaky_relu(x),
        "tanh": torch.tanh(x),
        "sigmoid": torch.sigmoid(x),
    }
    parts = {name: same(getattr(functions, name)(x).detach(), values.detach()) for name, values in by_hand.items()}
    for name in ("gelu", "silu", "sigmoid"):
        (slope,) = torch.autograd.grad(by_hand[name].sum(), x, retain_graph=True)
        parts[f"{name}_slope"] = same(getattr(slopes, f"{name}_slope")(x.detach()), slope)
    jacobian = torch.autograd.functional.jacobian(lambda v: torch.softmax(v, dim=0), z[0])
    return every(
        **parts,
        elu_scaled=same(functions.elu(x.detach(), 0.7), functional.elu(x.detach(), 0.7)),
        leaky_scaled=same(functions.leaky_relu(x.detach(), 0.3), functional.leaky_relu(x.detach(), 0.3)),
        step=equal(functions.binary_step(jumps).tolist(), [0.0, 0.0, 1.0, 1.0, 1.0]),
        steep=same(functions.steep_sigmoid(x.detach(), 2.5, 0.4), torch.sigmoid(2.5 * (x.detach() - 0.4))),
        softmax=same(softmax(z, dim=1), torch.softmax(z, dim=1)),
        log_softmax=same(log_softmax(z, dim=1), torch.log_softmax(z, dim=1)),
        logsumexp=same(logsumexp(z, dim=1), torch.logsumexp(z, dim=1)),
        large=same(log_softmax(large), torch.log_softmax(large - 1e16, dim=0)),
        jacobian=same(softmax_jacobian(torch.softmax(z[0], dim=0)), jacobian),
    )


@oracle(
    f"{PATH}.losses.binary.bce_with_logits", f"{PATH}.losses.binary.bernoulli_log_likelihood",
    f"{PATH}.losses.divergence.kl_div_loss",
    *(f"{PATH}.losses.margins.{name}" for name in ("hinge_loss", "soft_margin_objective", "triplet_loss")),
)  # fmt: skip
def losses_by_torch(seed: int) -> Verdict:
    z, weight, positive = 3 * normal(seed, 6, 4), normal(seed + 1, 6, 4).abs() + 0.2, normal(seed + 2, 4).abs() + 0.3
    target = torch.sigmoid(normal(seed + 3, 6, 4))
    p, q = torch.softmax(normal(seed, 5, 3), dim=1), torch.softmax(normal(seed + 1, 5, 3), dim=1)
    a, b, c = (normal(seed + k, 5, 3) for k in range(3))
    X, w, y = normal(seed, 7, 3), normal(seed + 1, 3), torch.sign(normal(seed + 2, 7))
    logits = functional.binary_cross_entropy_with_logits
    scores = X @ w + 0.3
    slack = torch.stack([torch.clamp(1 - s * f, min=0) for s, f in zip(y, scores)])
    squares = [((a[i] - b[i]) ** 2).sum() - ((a[i] - c[i]) ** 2).sum() + 0.7 for i in range(5)]
    labels = (y + 1) / 2
    parts: dict[str, Verdict] = {}
    cells = functional.kl_div(q.log(), p, reduction="none")
    apart = {"mean": cells.mean(), "sum": cells.sum(), "none": cells}
    for reduction in ("mean", "sum", "none"):
        options: dict[str, Any] = {"reduction": reduction}
        parts |= {
            f"logits_{reduction}": same(
                binary.bce_with_logits(z, target, weight, pos_weight=positive, **options),
                logits(z, target, weight, pos_weight=positive, **options),
            ),
            f"divergence_{reduction}": same(divergence.kl_div_loss(q.log(), p, **options), apart[reduction]),
            f"of_logs_{reduction}": same(
                divergence.kl_div_loss(q.log(), p.log(), log_target=True, **options), apart[reduction]
            ),
        }
    return every(
        **parts,
        batch_mean=same(
            divergence.kl_div_loss(q.log(), p, reduction="batchmean"),
            functional.kl_div(q.log(), p, reduction="batchmean"),
        ),
        likelihood=same(
            binary.bernoulli_log_likelihood(w, X, labels), -logits(X @ w, labels, reduction="sum")
        ),
        hinge=same(margins.hinge_loss(scores, y), slack.mean()),
        objective=same(
            margins.soft_margin_objective(w, torch.tensor(0.3, dtype=torch.float64), X, y, 1.7),
            (w**2).sum() + 1.7 * slack.sum(),
        ),
        triplet=same(margins.triplet_loss(a, b, c, 0.7), torch.stack(squares).clamp(min=0).mean()),
    )  # fmt: skip


@oracle(*(f"{PATH}.normalization.functions.{name}" for name in
          ("batch_norm", "layer_norm", "rms_norm", "instance_norm", "standardize_backward")))  # fmt: skip
def norms_by_torch(seed: int) -> Verdict:
    """With running statistics away from 0 and 1, a shift, a scale and a large epsilon."""
    x, grad = 3 * normal(seed, 4, 3, 5) + 2, normal(seed + 1, 4, 3, 5)
    weight, bias = normal(seed + 2, 3), normal(seed + 3, 3)
    mean, variance = normal(seed + 4, 3), normal(seed + 5, 3).abs() + 0.5
    running = norms.BatchStatistics(mean.clone(), variance.clone())
    kept, spread = mean.clone(), variance.clone()
    expected = functional.batch_norm(x, kept, spread, weight, bias, training=True, momentum=0.3, eps=0.2)
    in_training, after = norms.batch_norm(x, running, weight, bias, training=True, momentum=0.3, eps=0.2)
    normalized, _ = norms.batch_norm(x, running, weight, bias, eps=0.2)
    tokens, scale = normal(seed, 4, 6), normal(seed + 1, 6)
    moving = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(functional.layer_norm(moving, (3, 5), eps=0.2), moving, grad)
    return every(
        training=same(in_training, expected),
        running_mean=same(after.mean, kept),
        running_variance=same(after.variance, spread),
        predicting=same(normalized, functional.batch_norm(x, mean, variance, weight, bias, eps=0.2)),
        layer=same(
            norms.layer_norm(tokens, [6], scale, scale + 1, 0.2),
            functional.layer_norm(tokens, (6,), scale, scale + 1, 0.2),
        ),
        rms=same(norms.rms_norm(tokens, scale, 0.2), functional.rms_norm(tokens, (6,), scale, 0.2)),
        instance=same(
            norms.instance_norm(x, weight, bias, 0.2), functional.instance_norm(x, weight=weight, bias=bias, eps=0.2)
        ),
        backward=same(norms.standardize_backward(grad, x, [1, 2], 0.2), slope),
    )


@oracle(*(f"{PATH}.layers.recurrent.{name}" for name in ("rnn_step", "lstm_step", "gru_step")))
def recurrent_steps(seed: int) -> Verdict:
    x, h, memory = normal(seed, 4, 3), normal(seed + 1, 4, 5), normal(seed + 2, 4, 5)
    parts: dict[str, Verdict] = {}
    for name, make in (("rnn", nn.RNNCell), ("lstm", nn.LSTMCell), ("gru", nn.GRUCell)):
        cell = make(3, 5).double().requires_grad_(False)
        for k, part in enumerate(cell.parameters()):
            part.copy_(normal(seed + k, *part.shape))
        weights = (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
        if name == "lstm":
            ours, theirs = recurrent.lstm_step(x, (h, memory), weights), cell(x, (h, memory))
            parts |= {"lstm": same(ours[0], theirs[0]), "lstm_memory": same(ours[1], theirs[1])}
        else:
            parts[name] = same(getattr(recurrent, f"{name}_step")(x, h, weights), cell(x, h))
    return every(**parts)


@oracle(
    f"{PATH}.attention.dot_product.attention_scores", f"{PATH}.attention.dot_product.attention_weights",
    f"{PATH}.attention.relative.relative_bias", f"{PATH}.attention.relative.RelativeBias",
    f"{PATH}.attention.feed_forward.load_balancing_loss", f"{PATH}.attention.feed_forward.MixtureOfExperts",
    f"{PATH}.attention.subquadratic.linear_attention", f"{PATH}.attention.subquadratic.kernel_attention",
)  # fmt: skip
def parts_of_attention(seed: int) -> Verdict:
    """Pair by pair, token by token, expert by expert."""
    q, k, v = normal(seed, 4, 3), normal(seed + 1, 6, 3), normal(seed + 2, 6, 2)
    scores = torch.stack([torch.stack([q[i] @ k[j] / 3**0.5 for j in range(6)]) for i in range(4)])
    table = normal(seed, 2, 9)
    layer = relative.RelativeBias(2, 5).double().requires_grad_(False)
    layer.table.copy_(table)
    far = torch.stack([torch.stack([table[:, (i + 2) - j + 4] for j in range(5)], dim=1) for i in range(3)], dim=1)
    logits = normal(seed + 3, 7, 3)
    routes = feed_forward.route(logits, 2)
    chosen = [sum(int(e in logits[t].topk(2).indices) for t in range(7)) for e in range(3)]
    balance = 3 * sum(chosen[e] / 14 * float(torch.softmax(logits, dim=1)[:, e].mean()) for e in range(3))
    return every(
        scores=same(dot_product.attention_scores(q, k), scores),
        weights=same(dot_product.attention_weights(q, k), torch.softmax(scores, dim=1)),
        distances=same(relative.relative_bias(table, 3, 5), far),
        learned=same(layer(3, 5), far),
        balance=same(feed_forward.load_balancing_loss(routes), torch.tensor(balance, dtype=torch.float64)),
        **_mixed(seed),
        **_linear(q, k, v),
    )


def _mixed(seed: int) -> dict[str, Verdict]:
    from margin.neural.attention.config import TransformerConfig
    from margin.neural.weights import build

    config = TransformerConfig(4, 2, d_ff=5, feed_forward="experts", n_experts=3, top_k=2)
    mixture: Any = build(lambda: decoder.feed_forward(config), seed, torch.float64).requires_grad_(False).eval()
    x = normal(seed, 1, 6, 4)
    output, expected = mixture(x)[0], []
    for token in x[0]:
        logits = mixture.router(token)
        best = logits.topk(2)
        weights = torch.softmax(best.values, dim=0)
        expected.append(sum(w * mixture.experts[int(e)](token) for w, e in zip(weights, best.indices)))
    return {"experts": same(output, torch.stack(expected))}


def _linear(q: Tensor, k: Tensor, v: Tensor) -> dict[str, Verdict]:
    """Features of queries and keys are positive numbers, weights their products."""
    a, b = q.exp(), k.exp()

    def mixed(i: int, keys: range) -> Tensor:
        weights = [a[i] @ b[j] for j in keys]
        return torch.stack([w * v[j] for w, j in zip(weights, keys)]).sum(dim=0) / sum(weights)

    both = torch.stack([mixed(i, range(6)) for i in range(4)])
    past = torch.stack([mixed(i, range(i + 1)) for i in range(4)])
    parts = {}
    for attend in (subquadratic.linear_attention, subquadratic.kernel_attention):
        parts[attend.__name__] = same(attend(a, b, v), both)
        parts[f"{attend.__name__}_causal"] = same(attend(a, b[:4], v[:4], causal=True), past)
    return parts
