"""DebateFlow's own JSON: a file per debate, annotation and review, in both shapes.

`debates/` and `annotations/` hold what DebateFlow itself reads, `other/` what only debatebench's importer does.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import duckdb

from debatebench.config.parts import load_rubric
from debatebench.output.export.manifest import Contents, LeftOut
from debatebench.output.export.snapshot import Snapshot
from debatebench.query.landed_records import landed_records
from debatebench.shared.errors import UsageError
from debatebench.shared.hashing import hash_of
from debatebench.shared.json_bytes import mapping
from debatebench.shared.records import Adjudication, Annotation, Debate, Debater, Record, Score, Topic, Turn, Weakness
from debatebench.shared.workspace import packaged

Shape = Literal["listed", "keyed"]
RecordT = TypeVar("RecordT", bound=Record)

_TYPES = ("weak_evidence", "argument_dropping", "logical_gaps", "burden_of_proof", "side_concession")
_CATEGORIES = ("policy", "values", "empirical")
_ROLES = ("opening", "response", "rebuttal", "closing")
_KEYS = {
    "clash_engagement": "clash",
    "burden_fulfillment": "burden_of_proof",
    "rebuttal_quality": "rebuttal",
    "argument_extension": "extension",
    "strategic_adaptation": "adaptation",
}
"""Dimension → its name in keyed scores."""
_SIDES = {"pro": "aff", "con": "neg", "tie": "tie"}
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_LOWEST, _HIGHEST = 1, 3


def write(snapshot: Snapshot, folder: Path) -> Contents:
    """Write `debates/` and `annotations/` of the one chosen run, with `annotator_id` and listed `dimension_scores`.

    Debates that DebateFlow does not read are in `other/debates/`; annotations of these, and others that it does not
    read, in `other/annotations/`. What reviewers recorded as agreed is written to `adjudications/` in the same shape,
    with `is_adjudicated`. What the format cannot hold is left out and listed. Raises `UsageError` for several runs, and
    if nothing is left.
    """
    return _write_flow(snapshot, folder, shape="listed")


def write_keyed(snapshot: Snapshot, folder: Path) -> Contents:
    """The same, with `annotator` and keyed `scores`."""
    return _write_flow(snapshot, folder, shape="keyed")


def _write_flow(snapshot: Snapshot, folder: Path, *, shape: Shape) -> Contents:
    if len(snapshot.run_tags) != 1:
        raise UsageError("DebateFlow's format holds one collection; choose the run with --run-tag.")
    (run_tag,) = snapshot.run_tags
    flow = _Flow(snapshot.con, run_tag)
    debates = {debate.debate_id: debate for debate in flow.debates() if flow.objection(debate) is None}
    if not debates:
        raise UsageError(f"No debate of '{run_tag}' fits DebateFlow's format: complete, two sides, with speeches.")
    rows: dict[str, int] = {}
    read = {debate_id for debate_id, debate in debates.items() if flow.is_read(debate)}
    for debate in debates.values():
        place = folder if debate.debate_id in read else folder / "other"
        _write(place / "debates" / f"{_file_name(debate.debate_id)}.json", flow.debate(debate), rows, folder)
    written = flow.listed if shape == "listed" else flow.keyed
    for annotation in flow.annotations:
        if annotation.debate_id in debates:
            place = folder if annotation.debate_id in read and _is_read(annotation) else folder / "other"
            _write(place / "annotations" / _verdict_name(annotation), written(annotation), rows, folder)
    for review in flow.reviews:
        if review.debate_id in debates:
            _write(folder / "adjudications" / _verdict_name(review), written(review), rows, folder)
    return Contents(rows, tuple(flow.left_out(debates)))


class _Flow:
    """A run's records, and what each of them is in DebateFlow's words."""

    def __init__(self, con: duckdb.DuckDBPyConnection, run_tag: str) -> None:
        self._con = con
        self._run_tag = run_tag
        ((self._source, self._format),) = con.execute(
            "select source, format from raw.runs where run_tag = ?", [run_tag]
        ).fetchall()
        self._topics = {topic.topic_id: topic for topic in self._all(Topic)}
        self._debaters = {debater.model_id: debater for debater in self._all(Debater)}
        self._weaknesses = _by_debate(landed_records(con, Weakness, run_tag, "staging.stg_weaknesses"))
        self._turns = _by_debate(self._all(Turn))
        annotations = self._all(Annotation)
        self.annotations = [each for each in annotations if each.skip_reason is None]
        self._count_skipped = len(annotations) - len(self.annotations)
        self.reviews = [_as_annotation(each) for each in self._all(Adjudication)]

    def _all(self, kind: type[RecordT]) -> list[RecordT]:
        return landed_records(self._con, kind, self._run_tag)

    def debates(self) -> list[Debate]:
        """The debates in the order of their source."""
        return sorted(self._all(Debate), key=lambda debate: debate.source_position)

    def objection(self, debate: Debate) -> str | None:
        """Why the format cannot hold a debate; None if it can."""
        if debate.format != "two_sided":
            return "they have more than two sides"
        if debate.status != "complete":
            return f"they are {debate.status}"
        if debate.source_debate_id is not None:
            return "their speeches are those of another run"
        if debate.pro_model_id is None or debate.con_model_id is None:
            return "their debaters are not known"
        if not self._turns[debate.debate_id]:
            return "they have no speeches"
        if debate.topic_id not in self._topics or not self._topics[debate.topic_id].motion.strip():
            return "they have no motion"
        return None

    def is_read(self, debate: Debate) -> bool:
        """Whether DebateFlow reads it: a category and roles of its own, known providers, and a known flaw or none."""
        return (
            self._topics[debate.topic_id].category in _CATEGORIES
            and all(turn.stage in _ROLES for turn in self._turns[debate.debate_id])
            and all("provider" in model for model in self._models(debate))
            and self._is_control(debate) is not None
        )

    def _is_control(self, debate: Debate) -> bool | None:
        """Whether no weakness was injected. A run that was played here knows it of all its debates."""
        if debate.is_control is None and self._source == "run":
            return not self._weaknesses[debate.debate_id]
        return debate.is_control

    def debate(self, debate: Debate) -> dict[str, Any]:
        """A debate with its metadata, its weakness and its speeches."""
        topic = self._topics[debate.topic_id]
        kept = mapping(debate.metadata) if self._format == "debateflow" else {}
        weakness = next(iter(self._weaknesses[debate.debate_id]), None)
        is_control = self._is_control(debate)
        # DebateFlow wants a constraint of every debate; that of a control has nulls.
        constraint: dict[str, Any] | None = {"type": None, "target_side": None} if is_control else None
        if weakness is not None:
            constraint = {"type": weakness.weakness_type, "target_side": _SIDES[weakness.side]}
            if weakness.weakness_type not in _TYPES:
                # DebateFlow reads no types but its own.
                constraint |= {"type": None, "own_type": weakness.weakness_type, "taxonomy": weakness.taxonomy}
            constraint |= mapping(weakness.metadata)
        aff_model, neg_model = self._models(debate)
        metadata = {
            "debate_id": debate.debate_id,
            "resolution": topic.motion,
            "category": topic.category,
            "aff_model": aff_model,
            "neg_model": neg_model,
            "constraint": constraint,
            "is_control": is_control,
            "generated_at": _time(debate.created_at),
            **{key: value for key, value in kept.items() if key not in ("pro_model", "con_model")},
        }
        turns = [self._turn(turn) for turn in self._turns[debate.debate_id]]
        return {"metadata": _without_nulls(metadata), "turns": turns}

    def _models(self, debate: Debate) -> tuple[dict[str, Any], dict[str, Any]]:
        """The debaters of both sides, as the source named them or else as they are known here."""
        kept = mapping(debate.metadata) if self._format == "debateflow" else {}
        return (
            kept.get("pro_model") or self._model(debate.pro_model_id),
            kept.get("con_model") or self._model(debate.con_model_id),
        )

    def _model(self, model_id: str | None) -> dict[str, Any]:
        """A debater under the name that its debates use."""
        debater = self._debaters.get(model_id or "")
        return _without_nulls({"provider": debater.provider if debater else None, "model_name": model_id})

    def _turn(self, turn: Turn) -> dict[str, Any]:
        more = mapping(turn.metadata) if self._format == "debateflow" else {}
        return _without_nulls({"speaker": _SIDES[turn.side], "role": turn.stage, "text": turn.content, **more})

    def listed(self, annotation: Annotation) -> dict[str, Any]:
        """An annotation with a list of scores."""
        scores = [
            {"dimension": score.dimension, "aff_score": int(score.pro), "neg_score": int(score.con)}
            for score in _held(annotation)
        ]
        # DebateFlow's schema wants both, also where only a winner was named.
        return {"winner_justification": "", "dimension_scores": []} | _without_nulls(
            {
                "debate_id": annotation.debate_id,
                "annotator_id": annotation.annotator_id,
                "source": annotation.source,
                "winner": _SIDES.get(annotation.winner or ""),
                "winner_justification": annotation.justification,
                "dimension_scores": scores or None,
                "annotated_at": _time(annotation.annotated_at),
                **_further(annotation),
            }
        )

    def keyed(self, annotation: Annotation) -> dict[str, Any]:
        """An annotation with scores by dimension and side."""
        scores = {_KEYS[score.dimension]: {"AFF": int(score.pro), "NEG": int(score.con)} for score in _held(annotation)}
        return _without_nulls(
            {
                "debate_id": annotation.debate_id,
                "annotator": annotation.annotator_id,
                "timestamp": _time(annotation.annotated_at),
                "scores": scores or None,
                "winner": _SIDES[annotation.winner].upper() if annotation.winner else None,
                "justification": annotation.justification,
                "source": annotation.source,
                **_further(annotation),
            }
        )

    def left_out(self, written: Collection[str]) -> list[LeftOut]:
        """Debates, annotations, reviews and scores that the format cannot hold; it can hold the debates `written`."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for debate in self.debates():
            if (objection := self.objection(debate)) is not None:
                found[objection].append(debate.debate_id)
        parts = [
            LeftOut(what="debates", why=why, count=len(ids), run_tag=self._run_tag, names=tuple(ids))
            for why, ids in found.items()
        ]
        for what, verdicts in (("annotations", self.annotations), ("agreed verdicts", self.reviews)):
            lost = sum(each.debate_id not in written for each in verdicts)
            if lost:
                parts.append(LeftOut(what=what, why="so are their debates", count=lost, run_tag=self._run_tag))
            scores = sum(len(each.scores or ()) - len(_held(each)) for each in verdicts)
            if scores:
                why = "DebateFlow's rubric has no such dimension or score"
                parts.append(LeftOut(what=f"scores of {what}", why=why, count=scores, run_tag=self._run_tag))
        if self._count_skipped:
            why = "DebateFlow has no skipped debates"
            parts.append(LeftOut(what="annotations", why=why, count=self._count_skipped, run_tag=self._run_tag))
        return parts


def _as_annotation(review: Adjudication) -> Annotation:
    """A review in the shape of an annotation, marked as what was agreed."""
    return Annotation(
        run_tag=review.run_tag,
        debate_id=review.debate_id,
        annotator_id=review.adjudicator_id,
        winner=review.winner,
        justification=review.justification,
        scores=review.scores,
        is_coherent=review.is_coherent,
        annotated_at=review.adjudicated_at,
        metadata={"is_adjudicated": True},
    )


@cache
def _dimensions() -> frozenset[str]:
    """The dimensions of DebateFlow's rubric."""
    return frozenset(load_rubric(packaged("configs") / "rubrics" / "debateflow.yaml").dimensions)


def _held(annotation: Annotation) -> list[Score]:
    """The scores that the format can hold: whole ones of its own dimensions."""
    return [
        score
        for score in annotation.scores or ()
        if score.dimension in _dimensions()
        and all(_LOWEST <= value <= _HIGHEST and value == int(value) for value in (score.pro, score.con))
    ]


def _is_read(annotation: Annotation) -> bool:
    """Whether DebateFlow reads an annotation: it knows neither ties nor missing winners, and wants the time."""
    return annotation.winner in ("pro", "con") and annotation.annotated_at is not None


def _further(annotation: Annotation) -> dict[str, Any]:
    return {
        "confidence": annotation.confidence,
        "is_coherent": annotation.is_coherent,
        **mapping(annotation.metadata),
    }


def _by_debate(records: list[RecordT]) -> defaultdict[str, list[RecordT]]:
    found: defaultdict[str, list[RecordT]] = defaultdict(list)
    for record in records:
        found[str(getattr(record, "debate_id", ""))].append(record)
    return found


def _time(value: datetime | None) -> str | None:
    return None if value is None else f"{value.isoformat()}Z"


def _without_nulls(value: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in value.items() if each is not None}


def _verdict_name(annotation: Annotation) -> str:
    return f"{_file_name(annotation.debate_id)}_{_file_name(annotation.annotator_id)}.json"


def _file_name(name: str) -> str:
    """A name as part of a file name; one with other characters is replaced by its hash."""
    return name if _SAFE_NAME.fullmatch(name) else f"x{hash_of(name)[:16]}"


def _write(path: Path, value: dict[str, Any], rows: dict[str, int], folder: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    rows[path.relative_to(folder).as_posix()] = 1
