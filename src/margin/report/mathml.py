r"""Equations for a browser: LaTeX as MathML, which browsers draw by themselves, without a script.

The conversion is latex2mathml's; what it leaves to attributes that browsers no longer read (bold and double-struck
letters, limits below an operator) is written out here.

>>> mathml(r"\min_\theta L")
'<math display="block"><mrow><munder><mo>min</mo><mi>θ</mi></munder><mi>L</mi></mrow></math>'
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

__all__ = ["mathml"]

#: Operators that have what stands below them below them, where there is room.
LIMITS = {"min", "max", "sup", "inf", "lim", "arg min", "arg max"}
#: Letters of an alphabet are characters of their own, from these on (capital and small); some lie elsewhere.
ALPHABETS = {"bold": (0x1D400, 0x1D41A), "double-struck": (0x1D538, 0x1D552), "script": (0x1D49C, 0x1D4B6)}
DIGITS = {"bold": 0x1D7CE, "double-struck": 0x1D7D8}
ELSEWHERE = dict(zip("𝔺𝔿𝕅𝕇𝕈𝕉𝕑", "ℂℍℕℙℚℝℤ")) | dict(zip("𝒝𝒠𝒡𝒣𝒤𝒧𝒨𝒭", "ℬℰℱℋℐℒℳℛ"))
#: All that an equation may consist of: the conversion passes on what stands in a text as it is.
ELEMENTS = {
    "math", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow", "mspace", "msqrt", "mstyle",
    "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover",
}  # fmt: skip
NORM = "\u2016"
HAT, BAR = "\u02c6", "\u00af"


@lru_cache(maxsize=4096)
def mathml(tex: str, *, display: bool = True) -> str:
    """The equation as an element ``<math>``, on a line of its own or, without ``display``, inside a sentence."""
    from latex2mathml.converter import convert

    kind = "block" if display else "inline"
    written = convert(_spell(tex), display=kind).replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
    try:
        root = ElementTree.fromstring(written)
    except ElementTree.ParseError:
        raise ValueError(f"mathml: {tex!r} is no equation that can be written as MathML.") from None
    foreign = next((element.tag for element in root.iter() if element.tag not in ELEMENTS), None)
    if foreign is not None:
        raise ValueError(f"mathml: {tex!r} holds an element {foreign!r}, which is not one of equations.")
    _mend(root, display)
    return ElementTree.tostring(root, encoding="unicode")


def _spell(tex: str) -> str:
    """Commands that the conversion does not know, by others."""
    tex = re.sub(r"\\arg\s*\\(min|max)", r"\\operatorname{arg\1}", tex)
    return re.sub(r"\\[bB]ig+[lr]?\s*(\\[lr](?:ceil|floor))", r"\1", tex)


def _mend(element: Any, display: bool) -> None:
    for child in list(element):
        _mend(child, display)
        if child.tag == "mo" and not (child.text or "").strip() and not len(child):
            element.remove(child)
    _mend_text(element)
    if element.tag in ("msub", "msubsup") and display and len(element) and element[0].text in LIMITS:
        element.tag = "munder" if element.tag == "msub" else "munderover"
    if element.tag == "mover" and len(element) == 2:
        _mend_accent(element[1])
    if element.tag == "mrow":
        _join_upright(element)


def _mend_text(element: Any) -> None:
    text, alphabet = element.text or "", element.get("mathvariant")
    if element.tag == "mo":
        element.text = {"argmin": "arg min", "argmax": "arg max"}.get(text, text.removeprefix("\\"))
        if text == NORM:  # the closing one carries an exponent and would stay small while the opening one grows
            element.set("stretchy", "false")
    if alphabet in ALPHABETS and len(text) == 1:
        element.text = _letter(text, alphabet)
        del element.attrib["mathvariant"]


def _letter(text: str, alphabet: str) -> str:
    capital, small = ALPHABETS[alphabet]
    if "A" <= text <= "Z":
        letter = chr(capital + ord(text) - ord("A"))
    elif "a" <= text <= "z":
        letter = chr(small + ord(text) - ord("a"))
    elif "0" <= text <= "9" and alphabet in DIGITS:
        letter = chr(DIGITS[alphabet] + int(text))
    else:
        letter = text
    return ELSEWHERE.get(letter, letter)


def _mend_accent(accent: Any) -> None:
    """A hat and a bar of their own size; the conversion takes those of a keyboard."""
    if accent.text in ("^", "\u2015"):
        accent.text = HAT if accent.text == "^" else BAR


def _join_upright(row: Any) -> None:
    """Letters of one upright name (KL, Var) as one identifier: spaced as a word, and upright by that alone."""
    letters = [child.tag == "mi" and child.get("mathvariant") == "normal" for child in row]
    for i in reversed(range(1, len(row))):
        if letters[i] and letters[i - 1]:
            row[i - 1].text = (row[i - 1].text or "") + (row[i].text or "")
            row.remove(row[i])
    for child in row:
        if child.get("mathvariant") == "normal" and len(child.text or "") > 1:
            del child.attrib["mathvariant"]
