"""Text in LaTeX documents: it is shown as it is, and no command, comment or ligature in it comes to life."""

from __future__ import annotations

import re

from debatebench.shared.visible_text import visible

_ESCAPED = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "%": r"\%",
        "#": r"\#",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        '"': r"\textquotedbl{}",
        # At the beginning of a row, they would be an argument of the line end before it.
        "[": "{[}",
        "*": "{*}",
        "−": "$-$",
    }
)
# Two hyphens would become a dash, and two apostrophes a quotation mark.
_PAIRS = re.compile(r"([-'])(?=\1)")


def latex_text(text: str) -> str:
    """One line of LaTeX, also for a cell of a table, that shows `text` and nothing else.

    Quotation marks need `\\usepackage[T1]{fontenc}` in pdfLaTeX; characters that its fonts lack need LuaLaTeX.
    """
    return _PAIRS.sub(r"\1{}", visible(text).translate(_ESCAPED)).replace("–", "--")
