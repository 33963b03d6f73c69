"""A Sphinx directive: a picture that moves, and stands still for readers who asked for reduced motion.

``{motion} lloyd-iterations`` shows what the experiment of that name animates; its text is the caption.
"""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

__all__ = ["setup"]


class Motion(Directive):
    """Both pictures in one figure; the style sheet shows one of them."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        name, alt = self.arguments[0], self.options["alt"]
        figure = nodes.figure("", classes=["motion"])
        for suffix, kind in ((".webp", "moving"), (".png", "still")):
            uri = f"/gallery/images/{name}{suffix}"
            figure += nodes.image("", uri=uri, alt=alt, classes=[kind], loading="lazy")
        if self.content:
            text, messages = self.state.inline_text(" ".join(self.content), self.lineno)
            figure += nodes.caption("", "", *text)
            figure += messages
        self.add_name(figure)
        return [figure]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("motion", Motion)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
