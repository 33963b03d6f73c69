"""Embeddings of tokens as products with one-hot vectors."""

from __future__ import annotations

import numpy as np
import torch
from tests.oracles import oracle

from margin.core.verdict import Verdict, near
from margin.text.language import embed_tokens


@oracle("margin.text.language.embed_tokens")
def columns_by_one_hot_vectors(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    table, ids = rng.normal(size=(4, 7)), rng.integers(0, 7, size=5)
    one_hot = np.array([[float(token == i) for token in ids] for i in range(7)])
    return near(embed_tokens(torch.from_numpy(table), torch.from_numpy(ids)).numpy(), table @ one_hot, tolerance=1e-12)
