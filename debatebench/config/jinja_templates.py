"""Templates in Jinja → prompts of ours: the part of Jinja that Debatrix uses, with the names that it uses.

Values become placeholders. An `if` becomes lines that begin with a condition: one line for each way in which the
conditions of a line may hold. A loop over speeches or judgments becomes the material, which has a layout of its own.
Anything else is refused, and nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from debatebench.shared.amounts import known_names
from debatebench.shared.errors import ConfigError
from debatebench.shared.visible_text import shortened

if TYPE_CHECKING:
    from debatebench.config.setting import Setting

_TAG = re.compile(r"\{\{-?(?P<value>.*?)-?\}\}|\{%-?(?P<block>.*?)-?%\}|\{#.*?#\}", re.DOTALL)
_TRIMMED_BEFORE, _TRIMMED_AFTER = re.compile(r"\s*(?=\{[{%]-)"), re.compile(r"(?<=-[}%]\})\s*")
_WORD = re.compile(r"""'[^']*'|"[^"]*"|\w+|[^\w\s]""")
_MOST_CONDITIONS = 4

_Guard = tuple[tuple[str, bool], ...]
"""Conditions and whether they hold."""


@dataclass(frozen=True, slots=True)
class Words:
    """What the expressions of a template mean here. Expressions are written as `canonical` writes them."""

    values: Mapping[str, str]
    """Expression → the text in its place, usually a placeholder."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """Expression → the placeholder that has a value where it holds; `no_` before its name stands for the opposite."""
    loops: Mapping[str, str] = field(default_factory=dict)
    """What a loop is over → the text in the place of the loop."""
    only_where: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    """Expression → a condition and whether it must hold wherever the expression stands."""


def canonical(expression: str) -> str:
    """An expression without blanks that mean nothing, and with single quotes."""
    written = ""
    for word in _WORD.findall(expression):
        word = f"'{word[1:-1]}'" if word[0] == '"' else word
        written += f" {word}" if written and (written[-1] + word[0]).replace("_", "a").isalnum() else word
    return written


def translated(setting: Setting, words: Words) -> str:
    """The template in a setting in our language. Raises `ConfigError` that names what cannot be said in it."""
    text = _TRIMMED_AFTER.sub("", _TRIMMED_BEFORE.sub("", setting.text()))
    lines: list[str] = []
    for line in _lines(_Reader(setting, words, text).pieces()):
        conditions = list(dict.fromkeys(name for guard, _ in line for name, _ in guard))
        if len(conditions) > _MOST_CONDITIONS:
            setting.refuse(f"at most {_MOST_CONDITIONS} conditions on a line", is_shown=False)
        shown = [(held, said.rstrip()) for held, said in _ways(line, conditions, {}) if said.strip()]
        lines += [_condition(held) + said for held, said in shown] or [""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Reader:
    """Reads a template once, from its beginning."""

    def __init__(self, setting: Setting, words: Words, text: str) -> None:
        self._setting, self._words = setting, words
        self._parts = list(_parts(text))
        self._next = 0

    def pieces(self) -> list[tuple[_Guard, str]]:
        """The texts of the template in order, each with the conditions under which it stands."""
        found, ended_by = self._body(())
        if ended_by:
            self._refuse(ended_by, "every `else` and `endif` after an `if`, and every `endfor` after a `for`")
        return found

    def _body(self, guard: _Guard) -> tuple[list[tuple[_Guard, str]], str]:
        """The texts up to a block that ends this body, and that block."""
        found: list[tuple[_Guard, str]] = []
        while self._next < len(self._parts):
            kind, said = self._parts[self._next]
            self._next += 1
            if kind == "text":
                if left := re.search(r"\{[{%#]", said):
                    self._refuse(said[left.start() :], "tags that are closed")
                found.append((guard, said))
            elif kind == "value":
                found.append((guard, self._value(said, guard)))
            elif said in ("else", "endif", "endfor"):
                return found, said
            elif said.startswith("if "):
                found += self._choice(said.removeprefix("if "), guard)
            elif said.startswith("for ") and " in " in said:
                found.append((guard, self._loop(said)))
            else:
                self._refuse(f"{{% {said} %}}", "`if`, `else` and `for`")
        return found, ""

    def _choice(self, expression: str, guard: _Guard) -> list[tuple[_Guard, str]]:
        name, holds = self._condition(expression)
        found, ended_by = self._body((*guard, (name, holds)))
        if ended_by == "else":
            others, ended_by = self._body((*guard, (name, not holds)))
            found += others
        if ended_by != "endif":
            self._refuse(f"{{% if {expression} %}}", "an `endif` for every `if`")
        return found

    def _loop(self, block: str) -> str:
        over = block.rpartition(" in ")[2]
        if over not in self._words.loops:
            self._unknown(f"{{% {block} %}}", over, self._words.loops)
        depth = 1
        while depth and self._next < len(self._parts):
            kind, said = self._parts[self._next]
            self._next += 1
            if kind == "block":
                depth += 1 if said.startswith("for ") else -1 if said == "endfor" else 0
        if depth:
            self._refuse(f"{{% {block} %}}", "an `endfor` for every `for`")
        return self._words.loops[over]

    def _value(self, expression: str, guard: _Guard) -> str:
        if expression not in self._words.values:
            self._unknown(f"{{{{ {expression} }}}}", expression, self._words.values)
        needed = self._words.only_where.get(expression)
        if needed is not None and needed not in guard:
            self._refuse(f"{{{{ {expression} }}}}", "that only where the template asks whether speeches were analysed")
        return self._words.values[expression]

    def _condition(self, expression: str) -> tuple[str, bool]:
        bare = expression.removeprefix("not ")
        if bare not in self._words.conditions:
            self._unknown(f"{{% if {expression} %}}", bare, self._words.conditions)
        return self._words.conditions[bare], bare == expression

    def _unknown(self, shown: str, name: str, known: Mapping[str, str]) -> None:
        raise ConfigError(f"{self._setting.place}: nothing stands for {_short(shown)} here.{known_names(name, known)}")

    def _refuse(self, shown: str, allowed: str) -> None:
        raise ConfigError(f"{self._setting.place}: found {_short(shown)}; allowed: {allowed}.")


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """(`text`, `value` or `block`, what it says) in order; comments are left out."""
    end = 0
    for tag in _TAG.finditer(text):
        yield "text", text[end : tag.start()]
        end = tag.end()
        if tag.lastgroup is not None:
            yield tag.lastgroup, canonical(tag[tag.lastgroup])
    yield "text", text[end:]


def _lines(pieces: Sequence[tuple[_Guard, str]]) -> Iterator[list[tuple[_Guard, str]]]:
    """The pieces of each line."""
    line: list[tuple[_Guard, str]] = []
    for guard, text in pieces:
        first, *others = text.split("\n")
        line.append((guard, first))
        for other in others:
            yield line
            line = [(guard, other)]
    yield line


def _ways(
    line: Sequence[tuple[_Guard, str]], conditions: Sequence[str], held: Mapping[str, bool]
) -> list[tuple[_Guard, str]]:
    """What a line says under all conditions that matter to it."""
    if not conditions:
        said = "".join(text for guard, text in line if all(held[name] is holds for name, holds in guard))
        return [((), said)]
    first, *others = conditions
    ways = {holds: _ways(line, others, {**held, first: holds}) for holds in (True, False)}
    if ways[True] == ways[False]:
        return ways[True]
    return [(((first, holds), *rest), said) for holds, found in ways.items() for rest, said in found]


def _condition(guard: _Guard) -> str:
    return "".join(f"{{{{? {name if holds else f'no_{name}'} }}}}" for name, holds in guard)


def _short(text: str) -> str:
    return shortened(" ".join(text.split()), 80)
