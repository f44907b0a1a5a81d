"""Prompt templates: fill them and hash them.

A template is plain text with `{{ name }}` placeholders. The hash is that of the template text used for requests; the
frozen plan keeps that text, so a run can be played again without the files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from debatebench.config.answer_form import AnswerForm
from debatebench.config.transcript_layout import (
    BP_POSITIONS,
    BP_TEAMS,
    FORMAT_RULES,
    SPEAKING_RULES,
    escape_material,
    escape_speech,
)
from debatebench.shared.amounts import known_names
from debatebench.shared.categories import of_category
from debatebench.shared.errors import ConfigError
from debatebench.shared.records import Position, Side

if TYPE_CHECKING:
    from debatebench.config.types import Config, DimensionConfig, Round

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

TEAM_PLACEHOLDERS = (*DEBATER_PLACEHOLDERS, "team", "partner")
"""The placeholders allowed in `debater_team.md` and `debater_team_turn.md`."""

INSTRUCTION_PLACEHOLDERS = (*DEBATER_PLACEHOLDERS, "instruction")
"""The placeholders allowed in `debater_weakness.md` and `debater_instruction.md`; `instruction` is required."""

JUDGE_PLACEHOLDERS = ("motion", "category", "info_slide", "language", "dimensions", "answer_shape", "transcript")
"""The placeholders allowed in `judge_<style>.md` and `judge_user.md`."""

STAGE_PLACEHOLDERS = (
    "motion",
    "category",
    "info_slide",
    "language",
    "format",
    "dimension",
    "preference",
    "earlier_preference",
    "dimensions",
    "position",
    "stage",
    "material",
    "answer_shape",
    "speech_number",
    "speech_count",
    "debater_count",
    "debaters",
    "pro_debaters",
    "con_debaters",
    "names",
    "team",
    "half",
    "role",
    "rules",
    "tie",
    "no_tie",
    "earlier",
    "no_earlier",
    "analyses",
    "no_analyses",
    "answer_schema",
    "error",
)
"""The placeholders allowed in `judge/<method>/<stage>.md`, the prompts of judge methods; `material` is required."""

WEAKNESS_TEMPLATE = "debater_weakness"
"""The template that tells a debater which weakness its speech is to have, at the end of its system message."""

INSTRUCTION_TEMPLATE = "debater_instruction"
"""The template that tells a debater what the format asks of its speech, at the end of the user message."""

TEAM_TEMPLATE = "debater_team"
"""The template of the system message to a debater who is one of four teams."""

TEAM_TURN_TEMPLATE = "debater_team_turn"
"""The template of the user message that asks such a debater for a speech."""

USER_LINE = "<!-- user -->"
"""The line of a prompt of a judge method that separates the system message from the user message."""

PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")

CONDITION = re.compile(r"^((?:\{\{\?\s*\w+\s*\}\})+)(.*(?:\n|\Z))", re.MULTILINE)
"""A line that begins with `{{? name }}`, once or more often, which is left out where a `name` has no value."""

_NAMES_OF_CONDITION = re.compile(r"\w+")


class StandIn(str):
    """A text that is shown where a value is missing; conditions take it for none."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


class PromptSet(BaseModel):
    """The templates of one run, frozen. `templates` maps `debater_pro`, `judge_default`, … to the text that is sent.

    `judge/debatrix/speech` is the template of a stage of a judge method, with a variant of a judging style behind `_`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    templates: dict[str, str]
    winner_styles: tuple[str, ...] = ()
    reasoned: tuple[str, ...] = ()
    """The names of the judges' templates that ask for reasons."""

    def debater_system(self, role: Position) -> str:
        """The system template of a side; all four teams have the same one."""
        return self.templates[TEAM_TEMPLATE if role in BP_POSITIONS else f"debater_{role}"]

    def speaking(self, values: Mapping[str, str], turn: Round, flaw: str | None = None) -> tuple[str, str]:
        """The system and the user message to the debater of a turn; `flaw` is what is to be wrong with its speech."""
        user_template = self.templates[TEAM_TURN_TEMPLATE] if turn.is_of_team else self.debater_turn
        system, user = fill(self.debater_system(turn.role), values), fill(user_template, values)
        if flaw is not None:
            system = self._told(system, WEAKNESS_TEMPLATE, values, flaw)
        if turn.instruction is not None:
            user = self._told(user, INSTRUCTION_TEMPLATE, values, turn.instruction)
        return system, user

    def _told(self, message: str, template: str, values: Mapping[str, str], instruction: str) -> str:
        """The message with an instruction at its end."""
        return f"{message.rstrip()}\n\n{fill(self.templates[template], {**values, 'instruction': instruction})}"

    @property
    def debater_turn(self) -> str:
        """The template of the user message that asks a debater of two sides for a speech."""
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

    def gives_reasons(self, name: str) -> bool:
        """Whether the judges' template of that name asks for reasons."""
        return name in self.reasoned

    def stage(self, name: str, style: str) -> str:
        """The name of the template of a stage: the variant of the judging style if there is one."""
        variant = f"{name}_{style}"
        return variant if variant in self.templates else name

    def messages(self, name: str) -> tuple[str, str]:
        """The templates of the system and the user message of a stage."""
        return _messages(self.templates[name])

    def hashes(self) -> dict[str, str]:
        """Template name → SHA-256 (hexadecimal) of its text in UTF-8."""
        return {name: hashlib.sha256(text.encode("utf-8")).hexdigest() for name, text in sorted(self.templates.items())}

    def only(self, used: Iterable[str]) -> PromptSet:
        """The same set without the judges' templates whose names are not in `used`."""
        wanted = set(used)
        kept = {n: text for n, text in self.templates.items() if n in wanted or not n.startswith(("judge_", "judge/"))}
        return PromptSet(
            templates=kept,
            winner_styles=tuple(style for style in self.winner_styles if f"judge_{style}" in wanted),
            reasoned=tuple(name for name in self.reasoned if name in wanted),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads back."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, data: Any) -> PromptSet:
        """The set that `to_json` wrote."""
        return cls.model_validate(data)


def repair_stage(stage: str) -> str:
    """The stage beside another one whose template, if there is one, asks for a better answer than a useless one."""
    return f"{stage.rpartition('/')[0]}/repair"


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace `{{ name }}` with its entry in `values`; placeholders within a value are not expanded.

    A line that begins with `{{? name }}`, once or more often, is left out if such an entry is empty. A name that
    is not in `values` raises `ConfigError`.
    """
    if "{{?" in template:
        template = "".join([text for names, text in _conditions(template) if all(map(values.get, names))])
    parts = list(_parts(template))
    try:
        parts[1::2] = [values[name] for name in parts[1::2]]
    except KeyError as missing:
        placeholder, known = f"{{{{ {missing.args[0]} }}}}", known_names(missing.args[0], sorted(values))
        raise ConfigError(f"No value for the placeholder '{placeholder}'.{known}") from None
    return "".join(parts)


@cache
def _conditions(template: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """A template in pieces: the names that must have a value, and the text that is left out if one has none."""
    pieces: list[tuple[tuple[str, ...], str]] = []
    end = 0
    for line in CONDITION.finditer(template):
        pieces += ((), template[end : line.start()]), (tuple(_NAMES_OF_CONDITION.findall(line[1])), line[2])
        end = line.end()
    return (*pieces, ((), template[end:]))


@cache
def _parts(template: str) -> tuple[str, ...]:
    """A template split at its placeholders: text, name, text, name, …, text."""
    return tuple(PLACEHOLDER.split(template))


@cache
def _messages(template: str) -> tuple[str, str]:
    """The two halves of a template of a stage."""
    system, _, user = template.partition(f"{USER_LINE}\n")
    return system.strip(), user.strip()


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

    A debater who is one of four teams also has those of `TEAM_PLACEHOLDERS`. `transcript` is the rendered history;
    `token_cap` is the limit in the request.
    """
    values = {
        **topic_values(motion, category, info_slide, escape_material if turn.is_of_team else escape_speech),
        "language": turn.language or config.language,
        "side": turn.role.upper(),
        "opponent": "CON" if turn.role == "pro" else "PRO",
        "stance": "for the motion" if turn.side == "pro" else "against the motion",
        "stage": turn.stage,
        "length_hint": _length_hint(token_cap),
        "transcript": transcript,
    }
    if not turn.is_of_team:
        return values
    opponents = [team for team, side in BP_POSITIONS.items() if side != turn.side]
    partner = next(team for team, side in BP_POSITIONS.items() if side == turn.side and team != turn.role)
    return {**values, "opponent": " and ".join(opponents), "team": BP_TEAMS[turn.role], "partner": partner}


def judge_values(
    config: Config,
    form: AnswerForm,
    *,
    motion: str,
    category: str | None,
    info_slide: str | None,
    transcript: str,
    tasks: str = "",
    guided: str | None = None,
) -> dict[str, str]:
    """Placeholder → text for a judge's system and user templates, one value for each of `JUDGE_PLACEHOLDERS`.

    `form` is that of the answer, and `tasks` says what the format asks of particular speeches. `guided` is the category
    of which the rubric says what it asks of each side.
    """
    rules = _with_tasks(_rules(is_of_teams=True), tasks) if form.is_of_teams else tasks
    return {
        **topic_values(motion, category, info_slide),
        "language": config.language,
        "dimensions": "\n".join(
            _dimension_line(name, d, guidance_lines(d, guided, is_of_teams=form.is_of_teams))
            for name, d in form.dimensions.items()
        ),
        "answer_shape": form.shape(),
        "transcript": f"{rules}\n\n{transcript}" if rules else transcript,
    }


@dataclass(frozen=True, slots=True)
class DebateAtAGlance:
    """Who debates and how often they speak, as the prompts of a stage may say it."""

    positions: tuple[str, ...] = ()
    speeches: int = 0
    names: Mapping[str, str] = field(default_factory=dict)
    """Position → the name of who holds it. No prompt that comes with debatebench shows it to a judge."""

    def on_side(self, side: Side) -> str:
        """The positions on a side, teams with their names."""
        if BP_POSITIONS.keys() >= set(self.positions):
            teams = [each for each in BP_POSITIONS if each in self.positions and BP_POSITIONS[each] == side]
            return ", ".join(f"{team} ({BP_TEAMS[team]})" for team in teams)
        return side.upper()


def stage_values(
    config: Config,
    form: AnswerForm | None,
    *,
    motion: str,
    category: str | None,
    info_slide: str | None,
    is_of_teams: bool,
    material: str,
    dimension: str | None = None,
    preference: str = "",
    rubric: str | None = None,
    position: str | None = None,
    stage: str | None = None,
    debate: DebateAtAGlance = DebateAtAGlance(),
    speech_number: int | None = None,
    role: str | None = None,
    allows_tie: bool | None = None,
    earlier: int = 0,
    earlier_preference: str = "",
    has_analyses: bool = False,
    tasks: str = "",
    guided: str | None = None,
) -> dict[str, str]:
    """Placeholder → text for the templates of a stage, one value for each of `STAGE_PLACEHOLDERS`.

    `form` is that of the answer, None where it is a text. `rubric` replaces the description of its dimensions.
    `allows_tie` is None where no winner is asked for. `earlier` is the number of speeches before the one that is
    analysed, and `has_analyses` says whether the material has analyses of speeches in their place, or judgments.
    `tasks` and `guided` are as in `judge_values`.
    """
    team = BP_TEAMS.get(position or "", "")
    lines = [
        _dimension_line(name, d, guidance_lines(d, guided, is_of_teams=is_of_teams))
        for name, d in (form.dimensions if form else {}).items()
    ]
    return {
        **topic_values(motion, category, info_slide, escape=escape_material),
        "language": config.language,
        "format": _with_tasks(_rules(is_of_teams=is_of_teams), tasks),
        "dimension": dimension or "",
        "preference": preference,
        "dimensions": "\n".join(lines) if rubric is None else rubric,
        "position": (position or "").upper(),
        "stage": _in_one_line(stage or ""),
        "material": material,
        "answer_shape": form.shape() if form else "",
        "speech_number": "" if speech_number is None else str(speech_number),
        "speech_count": str(debate.speeches),
        "debater_count": str(len(debate.positions)),
        "pro_debaters": debate.on_side("pro"),
        "con_debaters": debate.on_side("con"),
        "names": "\n".join(f"{each.upper()}: {_in_one_line(name)}" for each, name in debate.names.items()),
        "team": team,
        "half": team.partition(" ")[0].lower(),
        "role": role or "",
        "rules": _with_tasks(SPEAKING_RULES["british_parliamentary" if is_of_teams else "two_sided"], tasks),
        "tie": "allowed" if allows_tie else "",
        "no_tie": "not allowed" if allows_tie is False else "",
        "earlier": str(earlier) if earlier else "",
        "no_earlier": "" if earlier else "none",
        "earlier_preference": earlier_preference if earlier else "",
        "analyses": "analyses" if has_analyses else "",
        "no_analyses": "" if has_analyses else "speeches",
        "debaters": "/".join(each.upper() for each in debate.positions),
        "answer_schema": json.dumps(form.schema(), ensure_ascii=False) if form else "",
        "error": "",
    }


def _in_one_line(text: str) -> str:
    return escape_material(" ".join(text.split()))


def _with_tasks(rules: str, tasks: str) -> str:
    return f"{rules}\n{tasks}" if tasks else rules


def _rules(*, is_of_teams: bool) -> str:
    return FORMAT_RULES["british_parliamentary" if is_of_teams else "two_sided"]


def topic_values(
    motion: str, category: str | None, info_slide: str | None, escape: Callable[[str], str] = escape_speech
) -> dict[str, str]:
    """The values of the topic's placeholders; none of them can imitate the layout of a transcript."""
    slide = ""
    if info_slide:
        slide = f"Information slide, known to both sides and to the judges:\n{escape(info_slide)}\n"
    # A category is one line of a prompt, also where an import has line breaks in it.
    named = " ".join((category or "").split()) or StandIn("general")
    return {"motion": escape(motion), "category": escape(named) if named else named, "info_slide": slide}


def _length_hint(token_cap: int | None) -> str:
    """The note to a debater about the length of the speech."""
    if token_cap is None:
        return "No fixed limit; three to five short paragraphs are enough."
    return f"At most {token_cap} tokens, after which the speech is cut off; plan to stay well below."


def guidance_lines(dimension: DimensionConfig, category: str | None, *, is_of_teams: bool) -> list[str]:
    """A line for each side that says what a dimension asks of it in debates of a category; none where nothing does."""
    found = of_category(dimension.by_category, category)
    if found is None:
        return []
    name, asked = found
    sides = {"pro": asked.pro, "con": asked.con}
    return [
        f"{_bench(side) if is_of_teams else side.upper()} in the category {name}: {text}"
        for side, text in sides.items()
    ]


def _bench(side: str) -> str:
    return " and ".join(team for team, of in BP_POSITIONS.items() if of == side)


def _dimension_line(name: str, dimension: DimensionConfig, guidance: Iterable[str] = ()) -> str:
    """One line of the rubric: name, scale, description; below it `guidance`, and a line for each score's meaning."""
    line = f"- {name}: {dimension.scale}"
    line = f"{line}. {dimension.description}" if dimension.description else f"{line}."
    # In the order of the scores, which a stored plan has lost: its keys are sorted as texts.
    anchors = sorted(dimension.anchors.items(), key=lambda anchor: Decimal(anchor[0]))
    return "\n".join([line, *(f"  {each}" for each in guidance), *(f"  {score} = {said}" for score, said in anchors)])
