"""What a page may show of a run: what its judges were given, which is the topic, the speeches and the rubric.

Only this leaves the warehouse for the pages. Weaknesses, debaters, judges and verdicts are never read, so that no page
can show them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from debatebench.config.transcript_layout import BP_POSITIONS, SPEAKING_RULES, special_tasks
from debatebench.query.landed_records import landed_records, landed_run
from debatebench.query.safe_query import open_for_reading
from debatebench.shared.categories import of_category
from debatebench.shared.config_sections import ConfigSections, config_sections
from debatebench.shared.errors import UsageError
from debatebench.shared.hashing import hash_of
from debatebench.shared.json_bytes import from_json, mapping
from debatebench.shared.records import Adjudication, Annotation, Side
from debatebench.shared.scales import Scale, plain
from debatebench.shared.visible_text import is_blank

# More buttons than on a scale from 0 to 10 would not fit on a phone.
_MOST_BUTTONS = 11
_KEY_LENGTH = 16
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", re.ASCII)
# The column at which the lines of the rules are broken.
_WIDTH = 119
_RANGE = re.compile(r"(?P<low>-?\d+(\.\d+)?)(\s*(-|–|to|\.\.+)\s*(?P<high>-?\d+(\.\d+)?))?", re.ASCII)

TWO_SIDES = {"pro": "Pro", "con": "Con"}
"""The sides of a debate of two, with their names."""
TEAMS = {
    "OG": "Opening Government",
    "OO": "Opening Opposition",
    "CG": "Closing Government",
    "CO": "Closing Opposition",
}
"""The teams of a British Parliamentary debate, with their names; they stand in the place of the sides."""
SPEAKER_POINTS = "speaker_points"
"""What each of four teams gets in a run without dimensions."""

_DEBATES = """
select debates.debate_id, debates.format, topics.motion, topics.category, topics.info_slide
from raw.debates
left join raw.topics using (run_tag, topic_id)
where
    debates.run_tag = $run_tag
    and debates.status = 'complete'
    and debates.source_debate_id is null
    and debates.attack is null
order by debates.source_position, debates.debate_id
"""
_RUN = """
select source_run_tag, language, config from raw.runs where run_tag = ?
"""
_SPEECHES = """
select debate_id, side, position, stage, instruction, content, turn_index
from raw.turns where run_tag = ? order by debate_id, turn_index
"""
_DIMENSIONS = """
select dimension, min_score, max_score, step, description, anchors, by_category, weight
from raw.dimensions where run_tag = ? order by source_position, dimension
"""

NOT_SHOWN = (
    "Who debates, and which weakness a debater was told to show: judges are not told either.",
    "The shape of a judge's answer: the form stands for it.",
    "The wording of a judge's instructions: the questions of the form, and what is said here, are yours.",
    "What a judge that works in steps wrote down before: those are its own notes.",
    "The other side first: some judges are shown it so. You read the speeches in the order in which they were given.",
)
"""What is in judges' prompts or in the warehouse, and not on the pages, and why."""
# The stages of a judge method at which it is told what to look for on a dimension, in words.
_GUIDED_STAGES = {
    "speech": "in a speech",
    "earlier": "in a speech that follows others",
    "debate": "in the debate",
    "debate_by_analyses": "in the debate, going by analyses of the speeches",
    "summary": "beside the other dimensions",
}


@dataclass(frozen=True, slots=True)
class Speech:
    """One speech. `side` may be a team of four; `stage` is its place in the debate, where the format names it.

    `language` is a tag such as `en` or `pt-BR`; None where the run has none, or names its language otherwise.
    """

    side: str
    stage: str | None
    text: str
    language: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read in it."""
        return all(map(is_blank, self.text))


@dataclass(frozen=True, slots=True)
class Anchor:
    """What a score means, or all scores of a range; `score` as the rubric writes it."""

    score: str
    text: str
    low: Decimal | None
    high: Decimal | None
    """The scores of which it says what they mean; null where the rubric writes something else than scores."""


@dataclass(frozen=True, slots=True)
class DimensionShown:
    """A dimension with its scale, and with what scores mean, where the rubric says so: the lowest first."""

    name: str
    description: str | None
    scale: Scale
    anchors: tuple[Anchor, ...]
    weight: Decimal = Decimal(1)
    guidance: tuple[tuple[str, str], ...] = ()
    """What judges that work in steps were told to look for: when, and what."""
    by_category: tuple[tuple[str, tuple[tuple[Side, str], ...]], ...] = ()
    """Categories, each with what it asks of each side then."""

    @property
    def title(self) -> str:
        """The name as people read it."""
        return self.name.replace("_", " ")

    @property
    def buttons(self) -> tuple[Decimal, ...]:
        """The scores that are shown as buttons; none where there are so many that a number is entered."""
        return self.scale.scores() if self.scale.count <= _MOST_BUTTONS else ()

    @property
    def keys(self) -> str:
        """What keys do in a question about this dimension."""
        buttons = self.buttons
        if not buttons:
            return (
                f"digits write the score; up and down change it by {plain(self.scale.notch)}, with Shift by "
                f"{plain(10 * self.scale.notch)}."
            )
        single = [score for score in buttons if 0 <= score < 10 and score % 1 == 0]
        found = [" to ".join(dict.fromkeys((plain(single[0]), plain(single[-1]))))] if single else []
        found += [
            f"{' '.join(plain(score))}, one key after the other, for {plain(score)}"
            for score in (
                next((score for score in buttons if score < 0), None),
                next((score for score in buttons if score > 0 and score % 1), None),
                next((score for score in buttons if score >= 10 and score % 1 == 0), None),
            )
            if score is not None
        ]
        return f"{'; '.join(found)}.".replace("-", "\N{MINUS SIGN}")

    def anchor(self, score: Decimal) -> int | None:
        """The place of the anchor that says what a score means."""
        for place, each in enumerate(self.anchors):
            if each.low is not None and each.high is not None and each.low <= score <= each.high:
                return place
        return None


@dataclass(frozen=True, slots=True)
class ShownDebate:
    """A debate as an annotator sees it, and what its form asks. `key` stands for its id, which may name debaters."""

    key: str
    debate_id: str
    motion: str
    speeches: tuple[Speech, ...]
    dimensions: tuple[DimensionShown, ...]
    """What is scored, of each side."""
    sides: tuple[str, ...] = tuple(TWO_SIDES)
    """`pro` and `con`, or the four teams, in the order of the form."""
    category: str | None = None
    info_slide: str | None = None
    tasks: str = ""
    """What the format asks of particular speeches."""

    @property
    def is_of_teams(self) -> bool:
        """Whether four teams are ranked; otherwise, one of two sides wins or the debate is tied."""
        return self.sides[0] in TEAMS

    @property
    def rules(self) -> str:
        """Who speaks for what, as judges are told."""
        rules = SPEAKING_RULES["british_parliamentary" if self.is_of_teams else "two_sided"]
        return "\n".join(filter(None, (rules, self.tasks)))

    @property
    def rules_unwrapped(self) -> str:
        """The same, each paragraph and each point on a line of its own, however wide the page is."""
        return unwrapped(self.rules)

    @property
    def names(self) -> dict[str, str]:
        """Side or team → what people read."""
        return TEAMS if self.is_of_teams else TWO_SIDES

    def asked_of(self, dimension: DimensionShown) -> dict[str, str]:
        """What a dimension asks of each side in debates of this category: who it is for, and what; empty without it."""
        found = of_category(dict(dimension.by_category), self.category)
        return {
            " and ".join(name for side, name in self.names.items() if self.benches[side] == bench): text
            for bench, text in (found[1] if found else ())
        }

    @property
    def benches(self) -> dict[str, Side]:
        """Side or team → the side for which it speaks."""
        return BP_POSITIONS if self.is_of_teams else {"pro": "pro", "con": "con"}


@dataclass(frozen=True, slots=True)
class Material:
    """What there is to annotate in a run. `without_scale` are the titles of the dimensions that cannot be scored."""

    run_tag: str
    debates: tuple[ShownDebate, ...]
    dimensions: tuple[DimensionShown, ...]
    language: str | None = None
    """The language that judges were told to expect."""
    without_scale: tuple[str, ...] = ()
    kept_back: str = ""
    """The sentence about debates that this person is not shown; empty if there are none."""

    @property
    def has_weights(self) -> bool:
        """Whether some dimensions count more than others."""
        return len({dimension.weight for dimension in self.dimensions}) > 1

    @property
    def left_out(self) -> str | None:
        """The sentences about what people are not asked or shown, and what helps; None where there is nothing."""
        return " ".join(each for each in (self.kept_back, self._not_asked()) if each) or None

    def _not_asked(self) -> str | None:
        if self.without_scale:
            names = ", ".join(self.without_scale)
            return (
                f"Not asked, because the import does not say from where to where scores go: {names}. "
                f"{_HOW_TO_GET_A_SCALE}"
            )
        if not any(debate.dimensions for debate in self.debates):
            return f"No scores are asked, because the import has no dimensions. {_HOW_TO_GET_A_SCALE}"
        return None


_HOW_TO_GET_A_SCALE = (
    "Import it again with --rubric and the name of a rubric in configs/rubrics/ that has the dimensions."
)


def unwrapped(text: str) -> str:
    """A text whose lines end where the next word would be beyond the column `_WIDTH`, with one line per paragraph.

    A line that could have held the next word ends a paragraph, and one that is indented goes on with the one before.
    """
    paragraphs: list[str] = []
    before = ""
    for line in text.split("\n"):
        goes_on = line.startswith(" ") or (before and line and len(f"{before} {line.partition(' ')[0]}") > _WIDTH)
        if goes_on and paragraphs and not line.startswith("- "):
            paragraphs[-1] += f" {line.strip()}"
        else:
            paragraphs.append(line)
        before = line
    return "\n".join(paragraphs)


def read_material(database: Path, run_tag: str) -> Material:
    """The complete debates of a run or import, in its order, and the dimensions with a scale.

    Raises `UsageError` for a run that has not landed, that judges the debates of another one, or that has no debate to
    annotate.
    """
    with open_for_reading(database) as con:
        landed_run(con, run_tag)
        ((source, language, config),) = con.execute(_RUN, [run_tag]).fetchall()
        if source is not None:
            raise UsageError(
                f"Run '{run_tag}' judges the debates of run '{source}'; annotate them there: --run-tag {source}."
            )
        sections = config_sections(mapping(from_json(config.encode()) if config is not None else None))
        dimensions, without = _dimensions(con, run_tag, _guidance(sections))
        languages = {name: each.get("language") for name, each in sections.rounds.items()}
        debates = tuple(_shown_debates(con, run_tag, dimensions, lambda turn: _tag(languages.get(turn) or language)))
        if not debates:
            raise UsageError(
                f"Run '{run_tag}' has no debate to annotate: it needs complete debates, in which each side or team has "
                "a speech."
            )
        return Material(run_tag, debates, dimensions, language, without)


def _shown_debates(
    con: duckdb.DuckDBPyConnection,
    run_tag: str,
    dimensions: tuple[DimensionShown, ...],
    language_of: Callable[[str], str | None],
) -> Iterator[ShownDebate]:
    """The debates in which every side or team speaks; `language_of` says in which language `turn 1` is."""
    turns: dict[str, list[tuple[str, str, str | None, str | None, str, int]]] = {}
    for debate_id, *turn in con.execute(_SPEECHES, [run_tag]).fetchall():
        turns.setdefault(debate_id, []).append(tuple(turn))
    for debate_id, how, motion, category, slide in con.execute(_DEBATES, {"run_tag": run_tag}).fetchall():
        is_of_teams = how == "british_parliamentary"
        sides = tuple(TEAMS if is_of_teams else TWO_SIDES)
        said = [
            (position if is_of_teams else side, stage, instruction, content, language_of(f"turn {index + 1}"))
            for side, position, stage, instruction, content, index in turns.get(debate_id, ())
        ]
        speeches = tuple(Speech(speaker, stage, content, language) for speaker, stage, _, content, language in said)
        if {speech.side for speech in speeches} == set(sides):
            asked = dimensions or ((_speaker_points(),) if is_of_teams else ())
            key = _key(run_tag, debate_id)
            tasks = special_tasks(each[:3] for each in said)
            yield ShownDebate(key, debate_id, motion or "", speeches, asked, sides, category, slide, tasks)


def _speaker_points() -> DimensionShown:
    """The scale of speakers in British Parliamentary debate."""
    words = "How well the team spoke, from 50 to 100; an ordinary speech is worth 75."
    return DimensionShown(SPEAKER_POINTS, words, Scale.between(Decimal(50), Decimal(100)), ())


def imported_annotations(database: Path, run_tag: str) -> list[Annotation]:
    """The annotations that have landed with a run; those made here are among them."""
    with open_for_reading(database) as con:
        return landed_records(con, Annotation, landed_run(con, run_tag))


def imported_reviews(database: Path, run_tag: str) -> list[Adjudication]:
    """What reviewers recorded as agreed and has landed with a run; what was recorded here is among it."""
    with open_for_reading(database) as con:
        return landed_records(con, Adjudication, landed_run(con, run_tag))


def _key(run_tag: str, debate_id: str) -> str:
    return hash_of("debate to annotate", run_tag, debate_id)[:_KEY_LENGTH]


def _tag(language: object) -> str | None:
    """A language as pages and voices name it; None for one that is named otherwise."""
    return language if isinstance(language, str) and _LANGUAGE_TAG.fullmatch(language) else None


def _guidance(of_run: ConfigSections) -> dict[str, tuple[tuple[str, str], ...]]:
    """Dimension → what the run's configuration tells judges to look for. Of the rest, only languages are read."""
    return {
        name: tuple((when, str(texts[stage])) for stage, when in _GUIDED_STAGES.items() if texts.get(stage))
        for name, settings in of_run.dimensions.items()
        for texts in [mapping(settings.get("preferences"))]
    }


def _dimensions(
    con: duckdb.DuckDBPyConnection, run_tag: str, guidance: Mapping[str, tuple[tuple[str, str], ...]]
) -> tuple[tuple[DimensionShown, ...], tuple[str, ...]]:
    """The dimensions with a scale, and the titles of those without."""
    found, without = [], []
    for name, low, high, step, description, anchors, by_category, weight in con.execute(
        _DIMENSIONS, [run_tag]
    ).fetchall():
        if low is None or high is None or Scale.between(low, high, step).count < 1:
            without.append(name.replace("_", " "))
            continue
        texts, asked = (None if text is None else from_json(text.encode()) for text in (anchors, by_category))
        scale = Scale.between(low, high, step)
        found.append(
            DimensionShown(
                name, description, scale, _anchors(texts), weight, guidance.get(name, ()), _by_category(asked)
            )
        )
    return tuple(found), tuple(without)


def _by_category(asked: Any) -> tuple[tuple[str, tuple[tuple[Side, str], ...]], ...]:
    """What is asked of each side, by category."""
    sides: tuple[Side, ...] = ("pro", "con")
    return tuple(
        (category, tuple((side, str(texts[side])) for side in sides if side in texts))
        for category, texts in ((name, mapping(each)) for name, each in mapping(asked).items())
    )


def _anchors(texts: Any) -> tuple[Anchor, ...]:
    """The anchors in the order of their scores; those that name no score come last."""
    found = []
    for key, text in texts.items() if isinstance(texts, dict) else ():
        if text is not None:
            low, high = _range(str(key))
            found.append(Anchor(str(key), str(text), low, high))
    return tuple(sorted(found, key=lambda each: (each.low is None, each.low or 0, each.high or 0)))


def _range(text: str) -> tuple[Decimal, Decimal] | tuple[None, None]:
    """The scores that the key of an anchor names: one, such as "-1" or "2.5", or a range, such as "1-3" or "1 to 3"."""
    match = _RANGE.fullmatch(text.strip().replace("\N{MINUS SIGN}", "-"))
    if match is None:
        return None, None
    low = Decimal(match["low"])
    high = Decimal(match["high"]) if match["high"] else low
    return min(low, high), max(low, high)
