"""The sparse autoencoder: its objective by hand, its units, and what the penalty does."""

import numpy as np
import pytest
import torch

from margin.generative import SparseAutoencoder
from margin.generative.sparse_autoencoder import SparseAutoencoderNetwork, sparse_reconstruction_loss


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return (rng.random((300, 5)) < 0.3) * rng.random((300, 5)) @ rng.normal(size=(5, 4)) + 7


def test_objective_is_the_formula():
    torch.manual_seed(0)
    net, x = SparseAutoencoderNetwork(3, 5).double(), torch.randn(4, 3, dtype=torch.float64)
    directions = net.vectors / net.vectors.norm(dim=1, keepdim=True)
    code = (x @ net.encoder.weight.T + net.encoder.bias).clamp(min=0)
    expected = ((code @ directions - x) ** 2).sum(dim=1) + 0.7 * code.sum(dim=1)
    found = sparse_reconstruction_loss(net, (x,), torch.Generator(), weight=0.7)["loss"]
    torch.testing.assert_close(found, expected)


def test_directions_have_length_one_and_codes_the_units_of_the_rows(rows):
    model = SparseAutoencoder(2.0, l1=0.2, max_iter=20, random_state=0).fit(rows)
    np.testing.assert_allclose(np.linalg.norm(model.directions_, axis=1), 1)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(rows)), model.transform(rows) @ model.directions_ + model.center_
    )
    other = SparseAutoencoder(2.0, l1=0.2, max_iter=20, random_state=0).fit(1000 * rows)
    assert other.score(1000 * rows) == pytest.approx(model.score(rows), abs=1e-3)


def test_more_penalty_more_zeros(rows):
    active = [
        np.mean(SparseAutoencoder(2.0, l1=l1, max_iter=30, random_state=0).fit(rows).transform(rows) > 0)
        for l1 in (0.0, 0.5, 3.0)
    ]
    assert active[0] > active[1] > active[2]


def test_codes_of_another_width_are_refused(rows):
    model = SparseAutoencoder(2.0, max_iter=1, random_state=0).fit(rows)
    with pytest.raises(ValueError, match="Z must have 8 columns, one per direction; got 3"):
        model.inverse_transform(np.zeros((2, 3)))
