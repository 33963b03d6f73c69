"""Which of the code that a row of the atlas cites really runs in its check."""

from __future__ import annotations

import importlib
import inspect
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import margin

RECEIVERS = {"self", "cls", "_cls"}  # first arguments by which a method knows its class
OURS = (str(Path(margin.__file__).parent), "<")  # files of the package, and what dataclasses compile


def resolve(path: str) -> Any:
    """The object behind a dotted path: an attribute wherever there is one, else a module."""
    names = path.split(".")
    member: Any = importlib.import_module(names[0])
    for end in range(1, len(names)):
        if not hasattr(member, names[end]):
            # Either a module not imported yet, or the part before it named both a module and a function.
            owner = ".".join(names[:end])
            member = sys.modules.get(owner, member)
            if not hasattr(member, names[end]):
                importlib.import_module(f"{owner}.{names[end]}")
        member = getattr(member, names[end])
    return member


class Calls:
    """Records every Python function that is called inside the ``with`` block, and the classes of their receivers.

    Watching makes Python half as slow again. So with ``sought``, cited objects, it ends as soon as all were reached.
    """

    def __init__(self, *sought: Any) -> None:
        self.codes: set[CodeType] = set()
        self.receivers: set[type] = set()
        self.methods: set[CodeType] = set()
        self.left = list(sought)
        self.watches = True

    def __enter__(self) -> Calls:
        threading.settrace(self._note_call)
        sys.settrace(self._note_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _note_call(self, frame: FrameType, _event: str, _argument: Any) -> None:
        if not self.watches:
            sys.settrace(None)  # of this thread: the one that found the last may have been another
            return
        code = frame.f_code
        is_new = code not in self.codes
        if is_new:
            self.codes.add(code)
            # What others wrote is run for our classes too, but never without a method of their own.
            if code.co_argcount and code.co_varnames[0] in RECEIVERS and code.co_filename.startswith(OURS):
                self.methods.add(code)
        if code in self.methods:
            receiver = frame.f_locals.get(code.co_varnames[0])
            owner = receiver if isinstance(receiver, type) else type(receiver)
            is_new |= owner not in self.receivers
            self.receivers.add(owner)
        if is_new and self.left:
            self.left = [cited for cited in self.left if not self.reached(cited)]
            self.watches = bool(self.left)

    def reached(self, cited: Any) -> bool:
        """Whether a function, a property, a method of a class or a function of a module ran; data need not."""
        if isinstance(cited, property):
            cited = cited.fget
        if isinstance(cited, type):
            is_protocol = getattr(cited, "_is_protocol", False)  # says what others must offer, and has no code
            return is_protocol or any(cited in receiver.__mro__ for receiver in self.receivers)
        if isinstance(cited, ModuleType):
            return any(code.co_filename == cited.__file__ for code in self.codes)
        function = inspect.unwrap(cited) if callable(cited) else None
        code = getattr(function, "__code__", None)
        return code is None or code in self.codes
