"""Muon: singular vectors kept, singular values near 1, and the whole rule by singular values."""

import pytest
import torch

from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import DecoderTransformer
from margin.neural.training.muon import BatchedMuon, orthogonalize_all
from margin.neural.training.optimizers import make_optimizers
from margin.optimize.rules import Muon


def drawn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def by_singular_values(matrix):
    u, s, v = torch.linalg.svd(matrix, full_matrices=False)
    values = s / s.norm()
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    assert values.max() < 1.21
    return u @ torch.diag(values) @ v


@pytest.mark.parametrize("shape", [(8, 8), (8, 24), (24, 8), (8, 10), (1, 5)])
def test_singular_values_by_the_polynomial_and_vectors_kept(shape):
    matrix = drawn(*shape).double()
    torch.testing.assert_close(orthogonalize_all(matrix[None])[0], by_singular_values(matrix))


def test_zero_matrices_stay_zero():
    assert orthogonalize_all(torch.zeros(2, 3, 5)).abs().max() == 0


@pytest.mark.parametrize("nesterov", [True, False])
def test_steps_by_the_rule(nesterov):
    shapes, rate, decay, keep = [(16, 16), (16, 48), (48, 16), (16, 16)], 0.02, 0.1, 0.9
    parameters = [torch.nn.Parameter(drawn(*shape)) for shape in shapes]
    expected = [p.detach().double() for p in parameters]
    memory = [torch.zeros_like(p) for p in expected]
    muon = BatchedMuon(parameters, lr=rate, weight_decay=decay, momentum=keep, nesterov=nesterov)
    for i in range(3):
        for parameter in parameters:
            parameter.grad = drawn(*parameter.shape) + i
        muon.step()
        for k, parameter in enumerate(parameters):
            gradient = parameter.grad.double()
            memory[k] = keep * memory[k] + (1 - keep) * gradient
            direction = keep * memory[k] + (1 - keep) * gradient if nesterov else memory[k]
            moved = 0.2 * max(shapes[k]) ** 0.5 * by_singular_values(direction)
            expected[k] = (1 - rate * decay) * expected[k] - rate * moved
            torch.testing.assert_close(parameter.detach().double(), expected[k], atol=1e-4, rtol=0)


def test_all_matrices_of_tied_blocks_are_hidden():
    config = TransformerConfig(d_model=8, n_heads=2, n_blocks=2, context=8)
    for tied, spared in ((True, 0), (False, 2)):
        module = DecoderTransformer(11, config, tied=tied)
        muon, _ = make_optimizers(module, Muon(), 0.01)
        matrices = [p for n, p in module.named_parameters() if p.ndim == 2 and "embedding" not in n]
        assert len(muon.param_groups[0]["params"]) == len(matrices) - spared


def test_only_matrices():
    with pytest.raises(ValueError, match="BatchedMuon: params must be matrices"):
        BatchedMuon([torch.nn.Parameter(torch.zeros(3))])
