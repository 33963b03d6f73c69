"""Small pieces of reStructuredText: headings, escapes, docstrings made safe, files written only when they change."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

__all__ = [
    *("bullets", "definition", "details", "escape", "heading", "indent"),
    *("safe_docstring", "sections", "toctree", "write"),
]

# What keeps its meaning inside a paragraph: literals, roles, links, emphasis.
INLINE = re.compile(r"(``.+?``|:[\w:]+:`[^`]+`|`[^`]+`_{0,2}|\*\*[^\s*][^*]*\*\*|(?<![\w*])\*[^\s*][^*]*\*(?![\w*]))")
FOREIGN_ROLE = re.compile(r":(?:ref|term|doc|user_guide|pep):`~?([^`<]+?)\s*(?:<[^`>]*>)?`")
PYTHON_ROLE = re.compile(r":(?:py:)?(?:class|func|meth|mod|attr|data|exc|obj):`~?(?:[\w.]*\.)?([^`.]+)`")
STRAY = re.compile(r"[*|]|(?<=[a-zA-Z0-9])_+(?!\w)")  # what would be read as markup, and is none
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def heading(text: str, mark: str = "=") -> str:
    return f"{text}\n{mark * max(len(text), 3)}\n\n"


def escape(text: str) -> str:
    r"""Plain text, in which no character is markup.

    >>> print(escape("A* has |w| and x_{t-1}|x_ there"))
    A\* has \|w\| and x_{t-1}\|x\_ there
    """
    return re.sub(r"([\\*`|]|_(?!\w|\{))", r"\\\1", text)


def indent(text: str, spaces: int = 3) -> str:
    return textwrap.indent(text, " " * spaces)


def bullets(lines: Iterable[str]) -> str:
    return "".join(f"* {line}\n" for line in lines) + "\n"


def definition(term: str, text: str) -> str:
    """One entry of a definition list."""
    return f"{term}\n{indent(text.strip() or '..', 4)}\n\n"


def details(summary: str, body: str, kind: str = "") -> str:
    """A part that a reader opens; ``summary`` is HTML."""
    opening = f'<details class="{kind}"><summary>{summary}</summary>'
    return f".. raw:: html\n\n   {opening}\n\n{body.rstrip()}\n\n.. raw:: html\n\n   </details>\n\n"


def toctree(pages: Iterable[str], depth: int = 0) -> str:
    """The pages below this one; those of depth 0 are in the navigation alone."""
    head = f"   :maxdepth: {depth}\n" if depth else "   :hidden:\n"
    return f".. toctree::\n{head}\n" + "".join(f"   {page}\n" for page in pages) + "\n"


def sections(docstring: str) -> dict[str, str]:
    """A docstring by its underlined sections; what stands before them is under ``""``.

    >>> list(sections("Summary.\n\nExamples\n--------\n>>> 1\n1"))
    ['', 'Examples']
    """
    parts = SECTION.split(docstring)
    return {"": parts[0].strip(), **{name: text.strip("\n") for name, text in zip(parts[1::2], parts[2::2])}}


def safe_docstring(text: str) -> str:
    r"""A docstring in which ``|x|`` and ``name_`` are text; literals, roles, equations and examples stay as they are.

    >>> print(safe_docstring("Keep ``a_`` and :math:`x_1`; |w| and coef_ are text."))
    Keep ``a_`` and :math:`x_1`; \|w\| and coef\_ are text.
    """
    lines, block = [], -1  # the indentation of a directive or literal block whose body is left alone
    example = False  # from a prompt to the next empty line
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if block >= 0 and (not line.strip() or depth > block):
            lines.append(line)
            continue
        block = depth if re.match(r"\s*\.\. \w[\w:-]*::", line) or line.rstrip().endswith("::") else -1
        is_code = example or block >= 0 or set(line.strip()) <= set("=- ")
        lines.append(line if is_code else _safe_line(line))
    return "\n".join(lines)


def _safe_line(line: str) -> str:
    line = FOREIGN_ROLE.sub(r"\1", line)
    line = PYTHON_ROLE.sub(r"``\1``", line)
    parts = INLINE.split(line)
    return "".join(
        part if i % 2 else STRAY.sub(lambda match: re.sub("(.)", r"\\\1", match[0]), part)
        for i, part in enumerate(parts)
    )


def write(path: Path, text: str) -> None:
    """Write a page; one that is the same keeps its date, so that Sphinx does not read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
