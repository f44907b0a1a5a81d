"""Text from outside as a person may see it, in a terminal, on a page or in a spreadsheet.

Model output, imported data and other people's files are hostile text: they can move the cursor, turn the direction of
a line, or hold characters that have no shape. All that people read passes through `visible`. Data for programs stays
exact.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Controls, formats, halves of surrogate pairs, and separators of lines and paragraphs.
_HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# Of the formats, only the signs around Arabic, Syriac and Kaithi numbers have a shape.
_SHAPED_FORMATS = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]")
# What Unicode's Default_Ignorable_Code_Point has outside these categories; `unicodedata` does not know the property.
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_JOINERS = re.compile("[\u200c\u200d\ufe0e\ufe0f]")
# Latin letters, dashes, dots and the minus: most tables have nothing else, and rich takes long to load.
_NARROW = re.compile("[\u0020-\u007e\u00a0-\u00ac\u00ae-\u02ff\u2010-\u2027\u2212]*")
_REPLACEMENT = 0xFFFD
_VIRAMA = 9
_BRAILLE_BLANK = "\u2800"
_FORMULA_STARTS = "=+-@"


@cache
def is_hidden(character: str) -> bool:
    """Whether a character has no shape of its own, such as a control, a zero-width space or a tag character."""
    if unicodedata.category(character) in _HIDDEN_CATEGORIES:
        return not _SHAPED_FORMATS.match(character)
    return _IGNORABLE.match(character) is not None


def is_blank(character: str) -> bool:
    """Whether a character looks like a space."""
    return character.isspace() or character == _BRAILLE_BLANK


class _Signs(dict[int, int]):
    """Character → the sign that is shown for it, for `str.translate`; found when a character first occurs."""

    def __missing__(self, code: int) -> int:
        sign = code
        if is_hidden(chr(code)):
            sign = 0x2400 + code if code < 0x20 else 0x2421 if code == 0x7F else _REPLACEMENT
        self[code] = sign
        return sign


_SIGNS = _Signs()
_SIGNS_BUT_LINES = _Signs({0x09: 0x09, 0x0A: 0x0A})


def visible(text: str, *, keep_lines: bool = False) -> str:
    """`text` with control characters as pictures (NUL → ␀) and other characters without a shape as U+FFFD.

    A terminal then runs nothing, and no character is hidden. The joiners and variation selectors that emoji, Arabic
    and Indic scripts need stay as they are. `keep_lines` keeps line feeds and tabs, and removes carriage returns before
    line feeds.
    """
    if text.isascii() and text.isprintable():
        return text
    if keep_lines:
        text = text.replace("\r\n", "\n")
    shown = text.translate(_SIGNS_BUT_LINES if keep_lines else _SIGNS)
    if needed := [match.start() for match in _JOINERS.finditer(text) if _is_needed(text, match.start())]:
        characters = list(shown)
        for place in needed:
            characters[place] = text[place]
        return "".join(characters)
    return shown


def plain_name(text: str) -> str:
    """A name as a reader sees it: in Unicode's form NFC, without hidden characters, each white space as one space.

    Two names that look the same for one of these reasons are then one name. Upper and lower case stay different, and so
    do letters of different scripts that look alike. The joiners that `visible` keeps stay.
    """
    if text.isascii() and text.isprintable() and text == text.strip() and "  " not in text:
        return text
    while True:
        composed = unicodedata.normalize("NFC", text)
        kept = [
            each
            for place, each in enumerate(composed)
            if each.isspace() or not is_hidden(each) or (_JOINERS.match(each) and _is_needed(composed, place))
        ]
        plain = unicodedata.normalize("NFC", " ".join("".join(kept).split()))
        # Without a character, a joiner may have other neighbours.
        if plain == text:
            return plain
        text = plain


def _is_needed(text: str, place: int) -> bool:
    """Whether the joiner or variation selector at `place` changes the shape of its neighbours.

    It does next to a virama, between Arabic letters (so RFC 5892 allows it in names there) and in an emoji. Elsewhere
    it could hide data, or make two names look like one.
    """
    before, after = text[max(place - 1, 0) : place], text[place + 1 : place + 2]
    if not before:
        return False
    if text[place] in "\ufe0e\ufe0f":
        return _is_symbol(before) or before in "‼⁉〰" or after == "\u20e3"
    if any(unicodedata.combining(each) == _VIRAMA for each in before + after):
        return True
    if text[place] == "\u200d" and _is_symbol(after):
        return _is_symbol(before) or before == "\ufe0f" or "\U0001f3fb" <= before <= "\U0001f3ff"
    return bool(after) and unicodedata.bidirectional(before) == unicodedata.bidirectional(after) == "AL"


def _is_symbol(character: str) -> bool:
    return character != "" and unicodedata.category(character) in ("So", "Sm")


def shortened(text: str, longest: int) -> str:
    """`text` in at most `longest` characters, with an ellipsis for the rest."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def width(text: str) -> int:
    """The number of terminal columns that `text` takes."""
    if _NARROW.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, columns: int) -> str:
    """`text` in at most this many terminal columns, with an ellipsis where text was cut."""
    if width(text) <= columns:
        return text
    from rich.cells import set_cell_size

    return set_cell_size(text, columns - 1) + "…"


def wrapped(text: str, columns: int) -> list[str]:
    """`text` in lines of at most this many terminal columns, broken at spaces, and within a word that is longer."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and width(longer := f"{lines[-1]} {word}") <= columns:
            lines[-1] = longer
        elif width(word) <= columns:
            lines.append(word)
        else:
            from rich.cells import chop_cells

            lines += chop_cells(word, columns)
    return lines


def spreadsheet_safe(text: str) -> str:
    """`text`, with an apostrophe before it if a spreadsheet could take it for a formula.

    A formula begins with = + - @, also in full width, and also after characters that a spreadsheet may trim.
    """
    first = next((each for each in text if not (each.isspace() or is_hidden(each))), "")
    is_formula = first != "" and unicodedata.normalize("NFKC", first)[0] in _FORMULA_STARTS
    return f"'{text}" if is_formula or text.startswith(("\t", "\n", "\r")) else text
