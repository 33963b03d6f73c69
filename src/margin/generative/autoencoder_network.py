"""The autoencoder as a plain module: an encoder, a code that may be sparse, and a decoder."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from margin.generative.coders import make_decoder, make_encoder
from margin.generative.sparsity import keep_largest
from margin.neural.activations import activation_layer

__all__ = ["AutoencoderNetwork"]


class AutoencoderNetwork(nn.Module):
    r"""Code :math:`h = f(x)` and reconstruction :math:`r = g(h)`, mirror images.

    With ``n_active`` only so many coordinates of the code, those of largest absolute value, are not 0.
    """

    def __init__(
        self,
        n_features: int,
        n_components: int,
        hidden: Sequence[int],
        activation: str = "relu",
        code_activation: str = "identity",
        out_activation: str = "identity",
        image_shape: Sequence[int] | None = None,
        n_active: int | None = None,
    ):
        super().__init__()
        self.encoder = make_encoder(n_features, hidden, n_components, activation, image_shape)
        self.decoder = make_decoder(n_features, hidden, n_components, activation, image_shape)
        self.code_activation = activation_layer(code_activation)
        self.out_activation = activation_layer(out_activation)
        self.n_active = n_active

    def encode(self, x: Tensor) -> Tensor:
        code = self.code_activation(self.encoder(x))
        return code if self.n_active is None else keep_largest(code, self.n_active)

    def decode(self, code: Tensor) -> Tensor:
        return self.out_activation(self.decoder(code))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Code and reconstruction."""
        code = self.encode(x)
        return code, self.decode(code)
