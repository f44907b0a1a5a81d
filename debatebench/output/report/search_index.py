"""A word index of the texts of debates, in parts that a page loads when somebody searches for a word.

A text is split into words where `reports/assets/debates-search.js` splits a search: both fold case, accents, vowel
points and full-width letters. Scripts that do not separate words by spaces (Chinese, Japanese, Thai, Lao, Khmer,
Burmese) are indexed by single characters and by pairs of neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import sub
from typing import Any

LONGEST_WORD = 40
"""Of longer words, only this many characters count."""

# Accents, vowel points and the tatweel: marks that people leave out when they search.
_POINTS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b"
    "\u3041-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\uf900-\ufaff\U00020000-\U0003ffff]+)"
)
_PLAIN_WORD = re.compile("[a-z0-9]+")
_PLAIN = re.compile("[a-z0-9]{1,40}")
_MOST_IN_PART = 100_000


def words_of(text: str) -> list[str]:
    """The words by which `text` is found, in order, with repetitions."""
    if text.isascii():
        return [word[:LONGEST_WORD] for word in _PLAIN_WORD.findall(text.lower())]
    words: list[str] = []
    for run in "".join(map(_letter_or_space, fold(text))).split():
        for n, piece in enumerate(_UNSPACED.split(run)):
            if n % 2:
                words += piece
                words += map("".join, pairwise(piece))
            elif piece:
                words.append(piece[:LONGEST_WORD])
    return words


def fold(text: str) -> str:
    """`text` without the differences between upper and lower case, accents, and full and half width."""
    bare = unicodedata.normalize("NFKC", _POINTS.sub("", unicodedata.normalize("NFKD", text)))
    return bare.upper().lower().replace("ς", "σ")


def _letter_or_space(character: str) -> str:
    return character if unicodedata.category(character)[0] in "LMN" else " "


class WordIndex:
    """Which documents contain which word, for documents that are added in order and numbered from 0.

    Memory grows with the number of different words of each document, not with the length of texts.
    """

    def __init__(self) -> None:
        # By what stands between spaces, which becomes words once at the end and not again for each document.
        self._pieces: defaultdict[str, array[int]] = defaultdict(_numbers)
        # The words of pieces that are too long to be kept.
        self._long: defaultdict[str, array[int]] = defaultdict(_numbers)
        self._count = 0

    def add(self, texts: Iterable[str]) -> None:
        """Add the next document."""
        pieces = set(" ".join(texts).split())
        number = self._count
        if pieces and max(map(len, pieces)) > LONGEST_WORD:
            long = {piece for piece in pieces if len(piece) > LONGEST_WORD}
            pieces -= long
            for word in {word for piece in long for word in words_of(piece)}:
                self._long[word].append(number)
        documents = self._pieces
        for piece in pieces:
            documents[piece].append(number)
        self._count += 1

    def _documents(self) -> dict[str, Sequence[int]]:
        """The documents of each word, in order."""
        found: dict[str, list[array[int]]] = {word: [documents] for word, documents in self._long.items()}
        for piece, documents in self._pieces.items():
            for word in (piece,) if _PLAIN.fullmatch(piece) else set(words_of(piece)):
                found.setdefault(word, []).append(documents)
        return {
            word: documents[0] if len(documents) == 1 else sorted(set().union(*documents))
            for word, documents in found.items()
        }

    def __len__(self) -> int:
        return self._count

    def parts(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The first word of each part, and the part: words in the order of UTF-16, and the documents of each.

        Documents are steps from the one before, the first from -1. A list that begins with 0 has the documents that do
        not contain the word, because they are fewer.
        """
        words: list[str] = []
        steps: list[list[int]] = []
        size = 0
        documents, everywhere = self._documents(), frozenset(range(self._count))
        for word in sorted(documents, key=_utf16):
            words.append(word)
            steps.append(_steps(documents[word], everywhere))
            size += len(steps[-1]) + 2
            if size >= _MOST_IN_PART:
                yield words[0], {"words": words, "documents": steps}
                words, steps, size = [], [], 0
        if words:
            yield words[0], {"words": words, "documents": steps}


def _numbers() -> array[int]:
    return array("I")


def _steps(documents: Sequence[int], everywhere: frozenset[int]) -> list[int]:
    """The documents of a word as steps, or those of `everywhere` that are not among them."""
    if 2 * len(documents) <= len(everywhere):
        return _differences(documents)
    return [0, *_differences(sorted(everywhere.difference(documents)))]


def _differences(numbers: Sequence[int]) -> list[int]:
    return [numbers[0] + 1, *map(sub, numbers[1:], numbers)] if numbers else []


def _utf16(word: str) -> bytes:
    """The order in which JavaScript compares texts."""
    return word.encode("utf-16-be", "surrogatepass")
