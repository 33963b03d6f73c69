from margin.optimize import AdamW
from peers import assert_equals_torch


def test_equals_torch():
    assert_equals_torch(
        AdamW(0.8, 0.99, 1e-4, weight_decay=0.2), "AdamW", betas=(0.8, 0.99), eps=1e-4, weight_decay=0.2
    )
    assert_equals_torch(AdamW(), "AdamW", weight_decay=0.01)
