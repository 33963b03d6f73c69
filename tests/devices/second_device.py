"""A second device on the CPU, in this process alone: real to torch, and strict as a graphics card.

Its tensors hold CPU tensors and say that they lie on ``fakegpu:0``. An operation on tensors of which one lies here and
another there is refused, ``.numpy()`` is refused, and copies go through ``.to`` and ``.cpu`` only. Registering a device
cannot be undone, so tests run this in a process of their own.
"""

from functools import partial

import torch
import torch._decomp.decompositions
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

NAME = "fakegpu"  # torch gives every module and tensor a method of this name, so no network may use it
# Copies, and what takes the lengths of sequences from the CPU.
CROSSING = {
    "aten::_to_copy",
    "aten::copy_",
    "aten::_pack_padded_sequence",
    "aten::_pack_padded_sequence_backward",
    "aten::_pad_packed_sequence",
}

# These would make an empty tensor and let another operation change its size, which a wrapper does not see.
FACTORIES = (
    "arange",
    "arange.start",
    "arange.start_step",
    "linspace",
    "eye",
    "eye.m",
    "randperm.generator",
    "randperm",
)
RECURRENT = ("gru", "lstm", "rnn_tanh", "rnn_relu")  # torch would call kernels that graphics cards have

TENSOR, STREAM = torch.tensor, torch.Generator()
LIBRARIES = []


class Backend(_DummyBackendModule):
    """What torch asks of the module of a device."""

    def get_rng_state(self, _device=None):
        return STREAM.get_state()

    def set_rng_state(self, state, _device=None):
        STREAM.set_state(state)

    def get_amp_supported_dtype(self):
        return [torch.bfloat16]


class Placed(torch.Tensor):
    """A tensor of the second device; ``raw`` holds its numbers."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, raw):
        return torch.Tensor._make_wrapper_subclass(
            cls, raw.size(), strides=raw.stride(), storage_offset=raw.storage_offset(), dtype=raw.dtype,
            layout=raw.layout, device=torch.device(NAME, 0), requires_grad=False,
        )  # fmt: skip

    def __init__(self, raw):
        self.raw = raw

    def numpy(self, *, force=False):
        if not force:
            raise TypeError(f"a tensor on {NAME} has no memory that NumPy could share: copy it with .cpu() first.")
        return self.detach().raw.numpy()

    def tolist(self):
        return self.raw.tolist()

    def new_tensor(self, data, *, dtype=None, device=None):
        return torch.tensor(data, dtype=dtype or self.dtype, device=device or self.device)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return run(func, *args, **(kwargs or {}))


def run(func, *args, **kwargs):
    """The operation on the numbers behind the tensors, after a check that all of them lie on this device."""
    name = func._overloadpacket._qualified_op_name
    leaves = tree_leaves((args, kwargs))
    here = [leaf for leaf in leaves if isinstance(leaf, Placed)]
    # As on a graphics card, a single number may come from the CPU.
    elsewhere = [
        leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and not isinstance(leaf, Placed) and leaf.ndim
    ]
    if here and elsewhere and name not in CROSSING:
        raise RuntimeError(f"{func}: tensors on {NAME} and on the CPU meet.")
    outputs = func(*tree_map(_raw, args), **tree_map(_raw, kwargs))
    if not func._schema.returns:
        return None
    if name == "aten::_pack_padded_sequence":
        return Placed(outputs[0]), outputs[1]
    device = kwargs.get("device")
    if device is not None and torch.device(device).type == "cpu":
        return outputs
    assert all(leaf.shape == leaf.raw.shape for leaf in here), f"{func} changed a shape behind the wrapper"
    known = {id(_raw(leaf)): leaf for leaf in (*here, *elsewhere)}  # what was changed in place is itself
    return tree_map(lambda out: known[id(out)] if id(out) in known else _wrapped(out), outputs)


def _raw(value):
    if isinstance(value, Placed):
        return value.raw
    return torch.device("cpu") if isinstance(value, torch.device) else value


def _wrapped(value):
    return Placed(value) if isinstance(value, torch.Tensor) else value


class Generator(torch.Generator):
    """A generator of the second device: torch has none for devices written in Python, so the CPU's draws for it.

    A tensor that draws from it without saying its device lies on the CPU, and is refused where it meets the others.
    """

    def __new__(cls, _device="cpu"):
        return super().__new__(cls, "cpu")

    def __init__(self, device="cpu"):
        self.place = torch.device(device)

    @property
    def device(self):
        return self.place


class OwnGenerators(TorchFunctionMode):
    """Refuses what torch refuses: a generator that draws for a tensor of another device."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for leaf in (*args, *(kwargs or {}).values()):
            if isinstance(leaf, Generator) and leaf.device.type != getattr(made, "device", leaf.device).type:
                raise RuntimeError(
                    f"{func.__name__}: a generator of {leaf.device} draws for a tensor on {made.device}."
                )
        return made


def tensor(data, *, dtype=None, device=None, requires_grad=False):
    """``torch.tensor``, which cannot make those of a device written in Python."""
    made = TENSOR(data, dtype=dtype).to(device or "cpu")
    return made.requires_grad_() if requires_grad else made


def install():
    """Let torch know the device, for the rest of this process."""
    _setup_privateuseone_for_python_backend(NAME, Backend())
    torch.Generator, torch.tensor = Generator, tensor
    torch.inference_mode = torch.no_grad  # views of wrapped tensors do not work in it
    OwnGenerators().__enter__()
    every, aten = (torch.library.Library(name, "IMPL") for name in ("_", "aten"))
    every.fallback(run, "PrivateUse1")
    for name in FACTORIES:
        packet, _, overload = name.partition(".")
        operation = getattr(getattr(torch.ops.aten, packet), overload or "default")
        aten.impl(name, partial(run, operation), "PrivateUse1")
    for name in RECURRENT:
        for overload in ("input", "data"):
            operation = getattr(getattr(torch.ops.aten, name), overload)
            written_out = operation.py_kernels[torch._C.DispatchKey.CompositeImplicitAutograd]
            aten.impl(f"{name}.{overload}", written_out, "AutogradPrivateUse1")
    LIBRARIES.extend([every, aten])  # what they say holds while they live
