"""What a page may show of a run: what its judges were given, which is the topic, the speeches and the rubric.

Only this leaves the warehouse for the pages. Weaknesses, debaters, judges and verdicts are never read, so that no page
can show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.config.transcript_layout import BP_POSITIONS, FORMAT_RULES
from debatebench.query.landed_records import landed_records, landed_run
from debatebench.query.safe_query import open_for_reading
from debatebench.shared.config_sections import config_sections
from debatebench.shared.errors import UsageError
from debatebench.shared.hashing import hash_of
from debatebench.shared.json_bytes import from_json, mapping
from debatebench.shared.records import Adjudication, Annotation, Side
from debatebench.shared.visible_text import is_blank

if TYPE_CHECKING:
    import duckdb

# A scale with more steps would not fit on a phone.
_MOST_STEPS = 20
_KEY_LENGTH = 16

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
select debate_id, side, position, stage, content from raw.turns where run_tag = ? order by debate_id, turn_index
"""
_DIMENSIONS = """
select dimension, min_score, max_score, description, anchors, weight
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
_GUIDED_STAGES = {"speech": "in a speech", "debate": "in the debate", "summary": "beside the other dimensions"}


@dataclass(frozen=True, slots=True)
class Speech:
    """One speech. `side` may be a team of four; `stage` is its place in the debate, where the format names it."""

    side: str
    stage: str | None
    text: str

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read in it."""
        return all(map(is_blank, self.text))


@dataclass(frozen=True, slots=True)
class DimensionShown:
    """A dimension with the scores that can be chosen, each with what it means, where the rubric says so."""

    name: str
    description: str | None
    anchors: tuple[tuple[int, str | None], ...]
    weight: Decimal = Decimal(1)
    guidance: tuple[tuple[str, str], ...] = ()
    """What judges that work in steps were told to look for: when, and what."""

    @property
    def title(self) -> str:
        """The name as people read it."""
        return self.name.replace("_", " ")

    @property
    def scores(self) -> tuple[int, ...]:
        """The scores that can be chosen, the lowest first."""
        return tuple(score for score, _ in self.anchors)


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

    @property
    def is_of_teams(self) -> bool:
        """Whether four teams are ranked; otherwise, one of two sides wins or the debate is tied."""
        return self.sides[0] in TEAMS

    @property
    def rules(self) -> str:
        """Who speaks for what, as judges are told."""
        return FORMAT_RULES["british_parliamentary" if self.is_of_teams else "two_sided"]

    @property
    def names(self) -> dict[str, str]:
        """Side or team → what people read."""
        return TEAMS if self.is_of_teams else TWO_SIDES

    @property
    def benches(self) -> dict[str, Side]:
        """Side or team → the side for which it speaks."""
        return BP_POSITIONS if self.is_of_teams else {"pro": "pro", "con": "con"}


@dataclass(frozen=True, slots=True)
class Material:
    """What there is to annotate in a run."""

    run_tag: str
    debates: tuple[ShownDebate, ...]
    dimensions: tuple[DimensionShown, ...]
    language: str | None = None
    """The language that judges were told to expect."""

    @property
    def has_weights(self) -> bool:
        """Whether some dimensions count more than others."""
        return len({dimension.weight for dimension in self.dimensions}) > 1


def read_material(database: Path, run_tag: str) -> Material:
    """The complete debates of a run or import, in its order, and its dimensions with a scale of whole scores.

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
        dimensions = tuple(_dimensions(con, run_tag, _guidance(config)))
        debates = tuple(_shown_debates(con, run_tag, dimensions))
        if not debates:
            raise UsageError(
                f"Run '{run_tag}' has no debate to annotate: it needs complete debates, in which each side or team has "
                "a speech."
            )
        return Material(run_tag, debates, dimensions, language)


def _shown_debates(
    con: duckdb.DuckDBPyConnection, run_tag: str, dimensions: tuple[DimensionShown, ...]
) -> Iterator[ShownDebate]:
    """The debates in which every side or team speaks."""
    turns: dict[str, list[tuple[str, str, str | None, str]]] = {}
    for debate_id, *turn in con.execute(_SPEECHES, [run_tag]).fetchall():
        turns.setdefault(debate_id, []).append(tuple(turn))
    for debate_id, how, motion, category, slide in con.execute(_DEBATES, {"run_tag": run_tag}).fetchall():
        is_of_teams = how == "british_parliamentary"
        sides = tuple(TEAMS if is_of_teams else TWO_SIDES)
        speeches = tuple(
            Speech(position if is_of_teams else side, stage, content)
            for side, position, stage, content in turns.get(debate_id, ())
        )
        if {speech.side for speech in speeches} == set(sides):
            asked = dimensions or ((_speaker_points(),) if is_of_teams else ())
            key = _key(run_tag, debate_id)
            yield ShownDebate(key, debate_id, motion or "", speeches, asked, sides, category, slide)


def _speaker_points() -> DimensionShown:
    """The scale of speakers in British Parliamentary debate."""
    words = "How well the team spoke, from 50 to 100; an ordinary speech is worth 75."
    return DimensionShown(SPEAKER_POINTS, words, tuple((score, None) for score in range(50, 101)))


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


def _guidance(config: str | None) -> dict[str, tuple[tuple[str, str], ...]]:
    """Dimension → what the run's configuration tells judges to look for. Nothing else of it is read: it has secrets."""
    of_run = config_sections(mapping(from_json(config.encode()) if config is not None else None))
    return {
        name: tuple((when, str(texts[stage])) for stage, when in _GUIDED_STAGES.items() if texts.get(stage))
        for name, settings in of_run.dimensions.items()
        for texts in [mapping(settings.get("preferences"))]
    }


def _dimensions(
    con: duckdb.DuckDBPyConnection, run_tag: str, guidance: Mapping[str, tuple[tuple[str, str], ...]]
) -> list[DimensionShown]:
    found = []
    for name, lowest, highest, description, anchors, weight in con.execute(_DIMENSIONS, [run_tag]).fetchall():
        scores = _scores(lowest, highest)
        if scores:
            texts = from_json(anchors.encode()) if anchors is not None else None
            meanings = tuple((score, _anchor(texts, score)) for score in scores)
            found.append(DimensionShown(name, description, meanings, weight, guidance.get(name, ())))
    return found


def _scores(lowest: Decimal | None, highest: Decimal | None) -> range:
    """The whole scores of a scale; none where the scale is not known or too long to choose from."""
    if lowest is None or highest is None or lowest % 1 or highest % 1 or highest - lowest >= _MOST_STEPS:
        return range(0)
    return range(int(lowest), int(highest) + 1)


def _anchor(anchors: Any, score: int) -> str | None:
    """What a score means; the keys of anchors are scores as text."""
    if not isinstance(anchors, dict):
        return None
    for key, text in anchors.items():
        try:
            if Decimal(str(key)) == score and text is not None:
                return str(text)
        except ArithmeticError:
            continue
    return None
