r"""More text and more parameters: the loss of small language models

Text from a source whose entropy is known is learned by decoders of several widths from several amounts of text. The
loss on new text falls with both, and never below the entropy of the source. A decoder 36 blocks deep and 1280 wide has
the 750 million parameters, more or less, of the model in the notes, which is counted but not trained here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LETTERS = "abcdefgh"


def source(rng: np.random.Generator) -> np.ndarray:
    """Probabilities of the next letter given the last two, (8, 8, 8), mostly on few letters."""
    return rng.dirichlet(np.full(len(LETTERS), 0.3), size=(len(LETTERS), len(LETTERS)))


def text(rng: np.random.Generator, P: np.ndarray, n: int) -> tuple[str, float]:
    """``n`` letters of the source, and the mean of their negative log-probabilities."""
    a, b, letters, loss = 0, 0, [], 0.0
    cumulative = P.cumsum(axis=-1)
    for u in rng.random(n):
        c = min(int(np.searchsorted(cumulative[a, b], u, side="right")), len(LETTERS) - 1)
        loss -= np.log(P[a, b, c])
        letters.append(LETTERS[c])
        a, b = b, c
    return "".join(letters), loss / n


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.attention.config import TransformerConfig
    from margin.neural.nets.language_nets import GPT2_VOCABULARY, decoder_parameters
    from margin.text.language_model import LanguageModel

    rng = np.random.default_rng(seed)
    P = source(rng)
    amounts = (400, 3200) if fast else (1000, 4000, 16_000, 64_000)
    widths = (4, 32) if fast else (8, 16, 32, 64)
    updates = 150 if fast else 1500
    learned, _ = text(rng, P, amounts[-1])
    new, entropy = text(rng, P, 1000 if fast else 10_000)
    losses, parameters = np.empty((len(widths), len(amounts))), []
    for i, width in enumerate(widths):
        for j, amount in enumerate(amounts):
            epochs = max(1, round(updates * 16 * 16 / amount))  # the same number of updates for every amount
            model = LanguageModel(
                d_model=width, n_heads=2, n_blocks=1, context=16, batch_size=16, max_iter=epochs, random_state=seed
            ).fit(learned[:amount])
            losses[i, j] = -model.score([new])
        parameters.append(sum(w.size for w in model.weights_.values()))
    large = TransformerConfig(d_model=1280, n_heads=20, n_blocks=36, context=1024)
    return {
        "amounts": np.array(amounts),
        "parameters": np.array(parameters),
        "losses": losses,
        "entropy": entropy,
        "large": decoder_parameters(GPT2_VOCABULARY, large),
    }


def check(data: dict[str, Any]) -> Verdict:
    losses = data["losses"]
    return every(
        about_750_million=within(data["large"] / 1e6, 700, 800),
        more_text_helps=equal(bool((losses[-1, 1:] < losses[-1, :-1]).all()), True),
        more_parameters_help=equal(bool(losses[-1, -1] < losses[0, -1]), True),
        best_with_most_of_both=equal(float(losses.min()), float(losses[-1, -1])),
        not_below_the_entropy=above(float(losses.min()), data["entropy"] - 0.05),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(9, 5)
    axis = figure.subplots()
    for k, (n, row) in enumerate(zip(data["parameters"], data["losses"])):
        axis.plot(data["amounts"], row, "o-", color=f"C{k}")
        place = (data["amounts"][-1], row[-1])
        axis.annotate(
            f"{n:,} parameters",
            place,
            (9, 0),
            textcoords="offset points",
            va="center",
            color=f"C{k}",
            annotation_clip=False,
        )
    axis.axhline(data["entropy"], color="C7", ls=":")
    axis.annotate("entropy of the source: no model goes below", (data["amounts"][0], data["entropy"]), (0, 5),
                  textcoords="offset points", color="C7")  # fmt: skip
    axis.set(xscale="log", xlabel="letters learned from", ylabel="nats per letter on new text")
    axis.set(title="More text helps the model that has room for it", xlim=(None, 1.6 * max(data["amounts"])))
    axis.set_xticks(data["amounts"], [f"{amount:,}" for amount in data["amounts"]])
    axis.set_xticks([], minor=True)
