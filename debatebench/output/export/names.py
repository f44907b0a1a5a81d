"""Names of people in texts: where they stand in any way of writing, and words that only a reader can judge.

A text is compared in a *folded* form: compatibility forms (NFKC), upper and lower case, accents and characters without
a shape make no difference. What is replaced or shown is the text as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from unicodedata import combining, name, normalize

from debatebench.output.export.pseudonyms import PSEUDONYM
from debatebench.shared.visible_text import is_hidden

SOMEONE = "annotator"
"""In place of a name that several people share."""

_SHORTEST = 2
_CERTAIN = 4
"""Letters from which a name is replaced in lower case too: shorter ones are often other words."""
_UNBROKEN = 6
"""Letters from which a name of several words is found where they are written as one."""
# Words of names that stand in many sentences, also with a capital; and words that do so in small letters.
_PARTICLES = re.compile("al|an|ap|as|bin|d[aeiou]|das|de[lnrs]|dos|el|la|las|le|los|so|te|ten|ter|van|von")
_OTHER_WORDS = frozenset(
    """
    amber april bell best bill black brook brown carol chance chase christian church cliff cook dale dawn dean drew
    earl faith field fields forest frank gene glen good grace grant green guy hall heath hill holly hope hunter iris
    ivory jack jean jewel josh joy june king lance lane law little long love major mark marsh mason mercy miles
    miller monk moss noble olive page paris pearl penny pierce poole pope power price prince read reed rich rock
    rose sage sandy scott sharp short stark stone story strong summer swift todd violet wade ward ware weeks west
    white will winter wise wolf wood woods young
    """.split()  # noqa: SIM905
)
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI")
# Letters that Unicode does not decompose, as people write them without.
_LETTERS = str.maketrans({"ı": "i", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "þ": "th"})
_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"[\w.+-]+@[\w.-]+|(?<!\w)@\w+|https?://\S+")
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK")


@cache
def _folded_character(character: str) -> str:
    if is_hidden(character):
        return ""
    plain = "".join(each for each in normalize("NFKD", character) if not combining(each))
    cased = normalize("NFKD", plain.casefold())
    return "".join(each for each in cased if not combining(each)).translate(_LETTERS)


def _fold(text: str) -> tuple[str, list[int]]:
    """The folded text, and for each of its characters the place of the one in `text` that it comes from."""
    pieces = [_folded_character(each) for each in text]
    return "".join(pieces), [place for place, piece in enumerate(pieces) for _ in piece]


class Names:
    """The names of people, and the pseudonym of each."""

    def __init__(self, pseudonyms: Mapping[str, str]) -> None:
        self.pseudonyms = dict(pseudonyms)
        self._of: dict[str, set[str]] = {}
        """Folded letters of a name, or of a word of one → pseudonyms."""
        self._written: dict[str, set[str]] = {}
        """The same as written."""
        patterns: dict[str, int] = {}
        for full, pseudonym in pseudonyms.items():
            words = _WORD.findall(_fold(full)[0])
            length = sum(map(len, words))
            if length >= _SHORTEST:
                between = r"[\W_]*" if length >= _UNBROKEN else r"[\W_]{1,3}"
                patterns[_bounded(between.join(map(re.escape, words)), words)] = length
                self._of.setdefault("".join(words), set()).add(pseudonym)
                self._written.setdefault(normalize("NFKC", full), set()).add(pseudonym)
        # Who is called what another person is called in part is meant by it.
        whole = frozenset(self._of)
        for full, pseudonym in pseudonyms.items():
            for word in _WORD.findall(normalize("NFKC", full)):
                part = _fold(word)[0]
                if len(part) < _SHORTEST or part.isdigit() or part in whole or part == SOMEONE:
                    continue
                patterns[_bounded(re.escape(part), [part])] = len(part)
                self._of.setdefault(part, set()).add(pseudonym)
                if not _PARTICLES.fullmatch(part):
                    self._written.setdefault(word, set()).add(pseudonym)
        # The longest first, or a first name would be replaced inside of a full name.
        listed = sorted(patterns, key=lambda pattern: (-patterns[pattern], pattern))
        self._pattern = re.compile("|".join(listed)) if listed else None

    def without(self, text: str) -> str:
        """`text` with a pseudonym for every name, and for every word of a name of more than one.

        One of two or three letters is replaced where it is written as in the name, or not in small letters only:
        elsewhere it may be another word. One of a single letter stays.
        """
        parts, end = [], 0
        for start, stop, key in self._found(text):
            if self._is_certain(key, text[start:stop]):
                parts += [text[end:start], self._pseudonym(key, text[start:stop])]
                end = stop
        return "".join([*parts, text[end:]])

    def named_in(self, text: str) -> Iterator[tuple[str, str]]:
        """(words, why) for what looks like a name of one of the people in a text by someone else."""
        for start, stop, key in self._found(text):
            if key not in _OTHER_WORDS and self._is_certain(key, text[start:stop]):
                yield text[start:stop], "a name, or a word of one"

    def left_in(self, text: str) -> Iterator[tuple[str, str]]:
        """(words, why) for what may still show a person in a text that `without` has changed."""
        rest = PSEUDONYM.sub(" ", text)
        for start, stop, _ in self._found(rest):
            yield rest[start:stop], "a short word of a name"
        for address in _ADDRESS.finditer(rest):
            yield address[0], "an address"
        for match in _WORD.finditer(rest):
            folded = _fold(match[0])[0]
            if any(folded != part and self._resembles(folded, part, match[0]) for part in self._of):
                yield match[0], "it contains a word of a name"
            elif not match[0].isascii() and len({_script(each) for each in match[0]} - {None}) > 1:
                yield match[0], "its letters are of different scripts"

    def _found(self, text: str) -> Iterator[tuple[int, int, str]]:
        """(start, end, folded letters) of everything in `text` that could be a name or a word of one."""
        if self._pattern is None:
            return
        folded, places = (text.lower(), range(len(text))) if text.isascii() else _fold(text)
        for match in self._pattern.finditer(folded):
            stop = places[match.end() - 1] + 1
            # The accents of the last letter are part of it.
            while stop < len(text) and not _folded_character(text[stop]):
                stop += 1
            yield places[match.start()], stop, "".join(_WORD.findall(match[0]))

    def _is_certain(self, key: str, written: str) -> bool:
        if normalize("NFKC", written) in self._written:
            return True
        if _PARTICLES.fullmatch(key):
            return False
        return not written.islower() or (len(key) >= _CERTAIN and key not in _OTHER_WORDS)

    def _pseudonym(self, key: str, written: str) -> str:
        people = self._written.get(normalize("NFKC", written)) or self._of[key]
        return next(iter(people)) if len(people) == 1 else SOMEONE

    def _resembles(self, folded: str, part: str, written: str) -> bool:
        if len(part) >= _CERTAIN:
            return part in folded
        return len(part) > _SHORTEST and not written.islower() and folded.startswith(part)


def _bounded(pattern: str, words: list[str]) -> str:
    """The pattern of whole words; scripts without spaces have no ends of words that could be looked for."""
    if all(name(each, "").startswith(_UNSPACED) for word in words for each in word):
        return pattern
    return rf"(?<![^\W_]){pattern}(?![^\W_])"


def _script(character: str) -> str | None:
    known = name(character, "").partition(" ")[0]
    return known if known in _SCRIPTS else None
