"""One idea, one implementation: torch's losses, softmaxes, norms and initializers are named in one place each.

Everything else calls that place, so that the code which a row of the notes cites is the code that runs. Claims and
experiments may use torch as an oracle; detection's decoder is a whole module of torch's.
"""

import ast
from pathlib import Path

import pytest

import margin

ROOT = Path(margin.__file__).parent

# Where a function of torch's may be named, and what is called instead everywhere else.
HOMES = {
    "neural/losses/fused.py": {
        "cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss",
        "smooth_l1_loss", "huber_loss", "kl_div", "hinge_embedding_loss", "triplet_margin_loss", "poisson_nll_loss",
    },
    "neural/activations/fused.py": {"softmax", "log_softmax", "logsumexp", "softplus"},
    "neural/normalization/fused.py": {"batch_norm", "layer_norm", "group_norm", "instance_norm"},
    "neural/initialize/schemes.py": {
        "kaiming_normal_", "kaiming_uniform_", "xavier_normal_", "xavier_uniform_", "orthogonal_",
    },
}  # fmt: skip
NORM_LAYERS = {"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LayerNorm", "GroupNorm", "InstanceNorm2d", "RMSNorm"}
MAY_NAME_LAYERS = {
    "neural/normalization/layers.py",  # ours derive from them
    "neural/training/optimizers.py",  # parameters of anyone's norms are spared
    "neural/attention/backward.py",  # asks what a layer is
    "vision/detection/detr.py",  # the decoder is torch's, with its norm
}
TORCH = {"functional", "torch", "F", "nn", "init", "special"}

FILES = [path for path in sorted(ROOT.rglob("*.py")) if path.relative_to(ROOT).parts[0] != "notes"]


def names_of_torch(tree):
    """Functions of torch that are named: ``functional.softmax``, ``nn.init.orthogonal_``, or methods of a tensor."""
    uses_torch = any(
        isinstance(node, ast.Import | ast.ImportFrom)
        and any("torch" in (name or "") for name in [getattr(node, "module", ""), *(a.name for a in node.names)])
        for node in ast.walk(tree)
    )
    for node in ast.walk(tree) if uses_torch else ():
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            if name in TORCH or (
                node.attr in {"softmax", "log_softmax", "logsumexp"} and name not in {"special", "self", "np"}
            ):
                yield node.attr, node.lineno


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_torchs_forms_are_named_in_their_home_only(path):
    place = path.relative_to(ROOT).as_posix()
    for name, line in names_of_torch(ast.parse(path.read_text())):
        homes = [home for home, names in HOMES.items() if name in names]
        assert not homes or place in homes, f"{place}:{line} names torch's {name}; call {homes[0]} instead"
        if name in NORM_LAYERS and place not in MAY_NAME_LAYERS:
            pytest.fail(f"{place}:{line} names torch's {name}; neural/normalization/layers.py has it")
