"""Text in Markdown: names from data are shown as they are, never read as markup, links or HTML."""

from __future__ import annotations

import re
import shlex
from typing import Any

__all__ = ["code", "plain", "shell_path"]

# An underscore inside a word is none of emphasis, and names are full of them.
_MARKUP = re.compile(r"[\\`*\[\]<>~|@]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])|:(?=//)|(?<=www)\.", re.IGNORECASE)
_BEGINNING = re.compile(r"^(\s*)([#+=-]|\d+(?=[.)]))")


def plain(text: Any) -> str:
    r"""``text`` in one line, with a backslash before what Markdown would read as markup.

    >>> print(plain('size_m2 <img src=x> [a](http://b) *c* _d_'))
    size_m2 \<img src=x\> \[a\](http\://b) \*c\* \_d\_
    """
    line = _MARKUP.sub(lambda found: "\\" + found.group(), " ".join(str(text).split()))
    return _BEGINNING.sub(lambda found: f"{found.group(1)}&#{ord(found.group(2)[0])};{found.group(2)[1:]}", line)


def code(text: Any) -> str:
    """``text`` as code, fenced by more backticks than it has in a row.

    >>> print(code("a `b` c"), code("`x"))
    ``a `b` c`` `` `x ``
    """
    line = " ".join(str(text).splitlines())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    blank = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{blank}{line}{blank}{fence}"


def shell_path(path: Any) -> str:
    """A path as an argument of a shell command: quoted, and never taken for an option.

    >>> print(shell_path("my runs/$(rm -r x)"), shell_path("-x"), shell_path("runs/a"))
    'my runs/$(rm -r x)' ./-x runs/a
    """
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") and text != "-" else text)
