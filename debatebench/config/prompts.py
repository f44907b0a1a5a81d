"""Prompt templates: read them, check them, fill them, hash them.

A template is plain text with `{{ name }}` placeholders. A template from `configs/prompts/` may open with a front matter

    ---
    declares_winner: true
    ---

which is not sent. A prompt in config.yaml takes precedence over the file, and has no front matter. The hash is that of
the template text used for requests; the frozen plan keeps that text, so a run can be played again without the files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from debatebench.config.transcript_layout import escape_speech
from debatebench.shared.errors import ConfigError

if TYPE_CHECKING:
    from debatebench.config.load import Config, DimensionConfig, MemberConfig, Round
    from debatebench.shared.records import Side
    from debatebench.shared.workspace import Workspace

__all__ = [
    "DEBATER_PLACEHOLDERS",
    "JUDGE_PLACEHOLDERS",
    "LibraryPrompt",
    "PromptSet",
    "debater_values",
    "fill",
    "judge_values",
    "load_prompts",
    "prompt_library",
]

DEBATER_PLACEHOLDERS = (
    "motion",
    "category",
    "info_slide",
    "language",
    "side",
    "opponent",
    "stance",
    "stage",
    "length_hint",
    "transcript",
)
"""The placeholders allowed in `debater_pro.md`, `debater_con.md` and `debater_turn.md`."""

JUDGE_PLACEHOLDERS = ("motion", "category", "info_slide", "language", "dimensions", "answer_shape", "transcript")
"""The placeholders allowed in `judge_<style>.md` and `judge_user.md`."""

SIDES = ("pro", "con")

_QUOTED = json.JSONEncoder(ensure_ascii=False).encode
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*\n", re.DOTALL | re.MULTILINE)


class PromptSet(BaseModel):
    """The templates of one run, frozen. `templates` maps `debater_pro`, `judge_default`, … to the text that is sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    templates: dict[str, str]
    winner_styles: tuple[str, ...] = ()

    def debater_system(self, side: Side) -> str:
        """The system template of a side."""
        return self.templates[f"debater_{side}"]

    @property
    def debater_turn(self) -> str:
        """The template of the user message that asks a debater for a speech."""
        return self.templates["debater_turn"]

    def judge_system(self, style: str) -> str:
        """The system template of a judging style."""
        return self.templates[f"judge_{style}"]

    @property
    def judge_user(self) -> str:
        """The template of the user message that gives a judge the rubric and the transcript."""
        return self.templates["judge_user"]

    @property
    def styles(self) -> tuple[str, ...]:
        """The available judging styles, in order."""
        judging = (name.removeprefix("judge_") for name in self.templates if name.startswith("judge_"))
        return tuple(sorted(style for style in judging if style != "user"))

    def declares_winner(self, style: str) -> bool:
        """Whether the judging style asks for a winner label in addition to the scores."""
        return style in self.winner_styles

    def hashes(self) -> dict[str, str]:
        """Template name → SHA-256 (hexadecimal) of its text in UTF-8."""
        return {name: hashlib.sha256(text.encode("utf-8")).hexdigest() for name, text in sorted(self.templates.items())}

    def only_styles(self, styles: Iterable[str]) -> PromptSet:
        """The same set without the judging styles that are not in `styles`."""
        wanted = set(styles)
        dropped = {f"judge_{style}" for style in self.styles if style not in wanted}
        return PromptSet(
            templates={name: text for name, text in self.templates.items() if name not in dropped},
            winner_styles=tuple(style for style in self.winner_styles if style in wanted),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads back."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, data: Any) -> PromptSet:
        """The set that `to_json` wrote."""
        return cls.model_validate(data)


@dataclass(frozen=True, slots=True)
class LibraryPrompt:
    """A stored prompt that a run can choose: for both debaters (`pro` and `con` files), or for judges."""

    role: Literal["debater", "judge"]
    style: str
    paths: tuple[Path, ...]
    opening: str
    """The first line of its text."""


def prompt_library(workspace: Workspace) -> tuple[LibraryPrompt, ...]:
    """The prompts in `configs/prompts/` that a run can choose, debaters' first, in order of their names.

    `debater_pro_<style>.md` and `debater_con_<style>.md` form a pair; without a style they are `default`. A judging
    prompt is `judge_<style>.md`. Raises `ConfigError` where one of a pair is missing.
    """
    files = workspace.files("configs", "prompts/*.md")
    names = [Path(name).stem for name in files]
    debating = {name.removeprefix(f"debater_{side}") for side in SIDES for name in names if _is_of_side(name, side)}
    judging = {name.removeprefix("judge_") for name in names if name.startswith("judge_") and name != "judge_user"}
    wanted: list[tuple[Literal["debater", "judge"], str, list[str]]] = [
        ("debater", suffix.removeprefix("_") or "default", [f"debater_{side}{suffix}" for side in SIDES])
        for suffix in sorted(debating)
    ]
    wanted += [("judge", style, [f"judge_{style}"]) for style in sorted(judging)]
    found = []
    for role, style, stems in wanted:
        texts = [_read_template(files, stem)[0] for stem in stems]
        paths = tuple(files[f"prompts/{stem}.md"] for stem in stems)
        found.append(LibraryPrompt(role, style, paths, texts[0].strip().splitlines()[0]))
    return tuple(found)


def _is_of_side(name: str, side: str) -> bool:
    return name == f"debater_{side}" or name.startswith(f"debater_{side}_")


def load_prompts(
    workspace: Workspace, config: Config, judges: Iterable[MemberConfig], debater_style: str | None = None
) -> PromptSet:
    """Read every template that debaters and `judges` need, and the style `default`.

    A prompt in `config` replaces the file: `judge_system_prompt` replaces `judge_default.md`. With a `debater_style`
    the debaters' prompts are `debater_pro_<style>.md` and `debater_con_<style>.md` instead (`default`: the plain
    files), regardless of `config`. Raises `ConfigError` for a missing or empty file and for an unknown
    placeholder.
    """
    files = workspace.files("configs", "prompts/*.md")
    given = {"judge_default": config.judge_system_prompt}
    if debater_style is None:
        given |= {"debater_pro": config.system_prompt_pro, "debater_con": config.system_prompt_con}
    variant = f"_{debater_style}" if debater_style not in (None, "default") else ""
    styles = {"default"} | {judge.prompt_style for judge in judges}
    names = ["debater_pro", "debater_con", "debater_turn", "judge_user", *(f"judge_{s}" for s in sorted(styles))]
    templates: dict[str, str] = {}
    winner_styles: list[str] = []
    for name in names:
        text = given.get(name)
        if text is None:
            stem = name + variant if name in ("debater_pro", "debater_con") else name
            text, declares_winner = _read_template(files, stem)
            if declares_winner:
                winner_styles.append(name.removeprefix("judge_"))
            source = f"configs/prompts/{stem}.md"
        else:
            source = f"config.yaml, the prompt in place of {name}.md"
        known = JUDGE_PLACEHOLDERS if name.startswith("judge_") else DEBATER_PLACEHOLDERS
        _check_placeholders(text, known, source)
        templates[name] = text
    return PromptSet(templates=templates, winner_styles=tuple(winner_styles))


def _read_template(files: Mapping[str, Path], name: str) -> tuple[str, bool]:
    """The text of a template file without its front matter, and whether it asks for a winner."""
    from debatebench.config.setting import Setting, parse_yaml, read_text

    path = files.get(f"prompts/{name}.md")
    if path is None:
        raise ConfigError(_missing(files, name))
    text, declares_winner = read_text(path), False
    if front := _FRONT_MATTER.match(text):
        settings = Setting(str(path), "", parse_yaml(front[1], str(path)))
        settings.allow(("declares_winner",))
        declares_winner = settings.at("declares_winner").flag(default=False)
        text = text[front.end() :]
    if not text.strip():
        raise ConfigError(f"{path}: found no text; allowed: a prompt.")
    return text, declares_winner


def _missing(files: Mapping[str, Path], name: str) -> str:
    """The message about a missing template."""
    if not name.startswith("judge_") or name in ("judge_user", "judge_default"):
        return f"There is no prompt configs/prompts/{name}.md; `debatebench init` writes one."
    styles = re.findall(r"^prompts/judge_(?!user\.)(\w[\w-]*)\.md$", "\n".join(sorted(files)), re.MULTILINE)
    return (
        f"No judging prompt configs/prompts/{name}.md for prompt_style '{name.removeprefix('judge_')}'. "
        f"Known: {', '.join(styles)}."
    )


def _check_placeholders(text: str, known: Iterable[str], source: str) -> None:
    """Reject unknown placeholders before anything is sent."""
    names = tuple(known)
    for match in _PLACEHOLDER.finditer(text):
        if match[1] not in names:
            raise ConfigError(f"{source}: found the placeholder '{match[0]}'; allowed: {', '.join(sorted(names))}.")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace `{{ name }}` with its entry in `values`; placeholders within a value are not expanded.

    A name that is not in `values` raises `ConfigError`.
    """

    parts = list(_parts(template))
    try:
        parts[1::2] = [values[name] for name in parts[1::2]]
    except KeyError as missing:
        placeholder, known = f"{{{{ {missing.args[0]} }}}}", ", ".join(sorted(values))
        raise ConfigError(f"No value for the placeholder '{placeholder}'. Known: {known}.") from None
    return "".join(parts)


@cache
def _parts(template: str) -> tuple[str, ...]:
    """A template split at its placeholders: text, name, text, name, …, text."""
    return tuple(_PLACEHOLDER.split(template))


def debater_values(
    config: Config,
    turn: Round,
    *,
    motion: str,
    category: str | None,
    info_slide: str | None,
    transcript: str,
    token_cap: int | None,
) -> dict[str, str]:
    """Placeholder → text for a debater's system and turn templates, one value for each of `DEBATER_PLACEHOLDERS`.

    `transcript` is the rendered history; `token_cap` is the limit in the request.
    """
    return {
        **_topic_values(motion, category, info_slide),
        "language": turn.language or config.language,
        "side": turn.role.upper(),
        "opponent": "CON" if turn.role == "pro" else "PRO",
        "stance": "for the motion" if turn.role == "pro" else "against the motion",
        "stage": turn.stage,
        "length_hint": _length_hint(token_cap),
        "transcript": transcript,
    }


def judge_values(
    config: Config,
    *,
    motion: str,
    category: str | None,
    info_slide: str | None,
    transcript: str,
    declares_winner: bool,
    sides: Sequence[Side] = ("pro", "con"),
) -> dict[str, str]:
    """Placeholder → text for a judge's system and user templates, one value for each of `JUDGE_PLACEHOLDERS`.

    `sides` is the order in which the answer must give their scores.
    """
    return {
        **_topic_values(motion, category, info_slide),
        "language": config.language,
        "dimensions": "\n".join([_dimension_line(name, d) for name, d in config.dimensions.items()]),
        "answer_shape": _answer_shape(config.dimensions, declares_winner, sides),
        "transcript": transcript,
    }


def _topic_values(motion: str, category: str | None, info_slide: str | None) -> dict[str, str]:
    """The topic's values; a motion or an info slide cannot imitate the layout of a transcript."""
    slide = ""
    if info_slide:
        slide = f"Information slide, known to both sides and to the judges:\n{escape_speech(info_slide)}\n"
    return {"motion": escape_speech(motion), "category": category or "general", "info_slide": slide}


def _length_hint(token_cap: int | None) -> str:
    """The note to a debater about the length of the speech."""
    if token_cap is None:
        return "No fixed limit; three to five short paragraphs are enough."
    return f"At most {token_cap} tokens, after which the speech is cut off; plan to stay well below."


def _dimension_line(name: str, dimension: DimensionConfig) -> str:
    """One line of the rubric: name, scale, description."""
    line = f"- {name}: {dimension.scale}"
    return f"{line}. {dimension.description}" if dimension.description else f"{line}."


def _answer_shape(dimensions: Mapping[str, DimensionConfig], declares_winner: bool, sides: Sequence[Side]) -> str:
    """The JSON object that a judge must return, with the allowed values in angle brackets."""
    scores = ",\n".join([f"      {_QUOTED(name)}: <{d.scale}>" for name, d in dimensions.items()])
    shapes = [f'    "{side}": {{\n{scores}\n    }}' for side in sides]
    winner = ',\n  "winner": <"pro", "con" or "tie">' if declares_winner else ""
    return '{\n  "scores": {\n' + ",\n".join(shapes) + "\n  }" + winner + "\n}"
