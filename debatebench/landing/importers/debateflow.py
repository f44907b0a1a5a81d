"""DebateFlow: synthetic debates with an injected weakness, and human annotations in the two shapes that occur."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from debatebench.config.parts import load_rubric
from debatebench.config.types import DimensionConfig
from debatebench.landing.importers.base import BadRecord, BadSourceError, Imported, Importer, Purpose, visible_files
from debatebench.landing.importers.strict_source import (
    Category,
    Name,
    Source,
    SourceSide,
    SourceTime,
    Words,
    check,
    json_lines,
    known,
    parse_json,
    read_bytes,
    score,
)
from debatebench.shared.amounts import known_names
from debatebench.shared.records import (
    Adjudication,
    Annotation,
    Debate,
    Debater,
    Dimension,
    Participant,
    Record,
    Score,
    Side,
    Topic,
    Turn,
    Weakness,
    Winner,
)
from debatebench.shared.workspace import packaged

_SHORT_NAMES = {
    "clash": "clash_engagement",
    "burden": "burden_fulfillment",
    "burden_of_proof": "burden_fulfillment",
    "rebuttal": "rebuttal_quality",
    "extension": "argument_extension",
    "adaptation": "strategic_adaptation",
}
_LOWEST, _HIGHEST = 1, 3
_TAXONOMY = "debateflow"
_FOLDERS = ("debates", "annotations", "adjudications", "other/debates", "other/annotations")


def _winner(value: Any) -> Any:
    """aff, neg or tie in any case → pro, con or tie."""
    words = {"aff": "pro", "neg": "con", "tie": "tie", "draw": "tie"}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


def _lower_keys(value: Any) -> Any:
    """AFF and NEG → aff and neg; a repeated side is left for the schema to refuse."""
    if not isinstance(value, dict):
        return value
    lowered = {key.lower() if isinstance(key, str) else key: inner for key, inner in value.items()}
    if len(lowered) != len(value):
        raise ValueError("a side occurs twice")
    return lowered


class _Model(Source):
    provider: str | None = None
    model_name: Name
    temperature: float | None = None


class _Constraint(Source):
    type: Category | None = None
    target_side: SourceSide | None = None
    own_type: Category | None = None
    """A weakness that DebateFlow does not know, as debatebench exports it."""
    taxonomy: Category | None = None


class _Metadata(Source):
    debate_id: Name
    resolution: Words
    category: Category | None = None
    aff_model: _Model
    neg_model: _Model
    constraint: _Constraint | None = None
    is_control: bool | None = None
    generated_at: SourceTime | None = None
    generator_version: str | None = None


class _Turn(Source):
    speaker: SourceSide
    role: str | None = None
    text: str


class _Debate(Source):
    metadata: _Metadata
    turns: Annotated[list[_Turn], Field(min_length=1)]


ScaleValue = Annotated[float, Field(ge=_LOWEST, le=_HIGHEST)]


class _DimensionScore(Source):
    dimension: Name
    aff_score: ScaleValue
    neg_score: ScaleValue


class _SideScores(Source):
    aff: ScaleValue
    neg: ScaleValue


class _Annotation(Source):
    debate_id: Name
    winner: Annotated[Winner | None, BeforeValidator(_winner)] = None
    confidence: Annotated[int, Field(ge=1, le=5)] | None = None
    is_coherent: bool | None = None
    is_adjudicated: bool = False
    """Whether it is what a reviewer recorded as agreed."""


class _ListedAnnotation(_Annotation):
    """The shape with `annotator_id` and a list `dimension_scores`."""

    annotator_id: Name
    justification: str | None = Field(None, validation_alias="winner_justification")
    listed: list[_DimensionScore] | None = Field(None, validation_alias="dimension_scores")
    annotated_at: SourceTime | None = None
    source: str | None = None

    def scores(self) -> Iterator[tuple[str, float, float]]:
        return ((each.dimension, each.aff_score, each.neg_score) for each in self.listed or ())


class _KeyedAnnotation(_Annotation):
    """The shape with `annotator` and an object `scores`, keyed by dimension and side."""

    annotator_id: Name = Field(validation_alias="annotator")
    justification: str | None = None
    keyed: dict[Name, Annotated[_SideScores, BeforeValidator(_lower_keys)]] | None = Field(
        None, validation_alias="scores"
    )
    annotated_at: SourceTime | None = Field(None, validation_alias="timestamp")
    source: str | None = None

    def scores(self) -> Iterator[tuple[str, float, float]]:
        return ((name, sides.aff, sides.neg) for name, sides in (self.keyed or {}).items())


def find_files(path: Path) -> list[Path]:
    """The file itself; or the *.json and *.jsonl in the folders of debates and verdicts, else in this one, by name."""
    if not path.is_dir():
        return [path]
    folders = [path / name for name in _FOLDERS if (path / name).is_dir()] or [path]
    return [file for folder in folders for file in visible_files(folder, ".json", ".jsonl")]


def read(path: Path, run_tag: str, purpose: Purpose) -> Iterator[Imported | BadRecord]:
    """Every debate and annotation; its keys show which of the two a record is. A .jsonl file holds one per line."""
    for file in find_files(path):
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        for where, text in _texts(file, name):
            try:
                yield _read_unit(text, where, run_tag)
            except BadSourceError as error:
                yield BadRecord(where, str(error))


def _texts(file: Path, name: str) -> Iterator[tuple[str, bytes]]:
    if file.suffix == ".jsonl":
        for number, line in json_lines(file):
            yield f"{name}:{number}", line
    else:
        yield name, read_bytes(file)


def _read_unit(text: bytes, where: str, run_tag: str) -> Imported:
    value = parse_json(text)
    try:
        if isinstance(value, dict) and "turns" in value:
            return _read_debate(value, where, run_tag)
        if isinstance(value, dict) and ("annotator_id" in value or "annotator" in value):
            return _read_annotation(value, where, run_tag)
    except ValidationError as error:
        raise BadSourceError(f"It does not fit its tables: {error.errors()[0]['msg']}.") from error
    raise BadSourceError(
        "It is neither a debate (with `turns`) nor an annotation (with `annotator` or `annotator_id`)."
    )


def _read_debate(value: dict[str, Any], where: str, run_tag: str) -> Imported:
    source = check(_Debate, value)
    return Imported.of_records(
        key=("debate", source.metadata.debate_id),
        where=where,
        source=value,
        records=(*_dimensions(run_tag), *_debate_records(source, run_tag)),
        run_facts=known(benchmark_name="DebateFlow", benchmark_version=source.metadata.generator_version) or {},
    )


def _debate_records(source: _Debate, run_tag: str) -> Iterator[Record]:
    about = source.metadata
    models: dict[Side, _Model] = {"pro": about.aff_model, "con": about.neg_model}
    topic_id = f"df-{hashlib.sha256(about.resolution.encode('utf-8')).hexdigest()[:8]}"
    yield Topic(
        run_tag=run_tag, topic_id=topic_id, source_position=0, motion=about.resolution, category=about.category or None
    )
    yield Debate(
        run_tag=run_tag,
        debate_id=about.debate_id,
        source_position=0,
        topic_id=topic_id,
        pro_model_id=about.aff_model.model_name,
        con_model_id=about.neg_model.model_name,
        created_at=about.generated_at,
        is_control=about.is_control,
        metadata=known(
            source.model_extra,
            about.model_extra,
            generator_version=about.generator_version,
            pro_model=about.aff_model.model_dump(exclude_none=True),
            con_model=about.neg_model.model_dump(exclude_none=True),
        ),
    )
    for side, model in models.items():
        yield Debater(run_tag=run_tag, model_id=model.model_name, provider=model.provider, model_name=model.model_name)
        yield Participant(
            run_tag=run_tag, debate_id=about.debate_id, position=side, model_id=model.model_name, side=side
        )
    for index, turn in enumerate(source.turns):
        yield Turn(
            run_tag=run_tag,
            debate_id=about.debate_id,
            turn_index=index,
            position=turn.speaker,
            side=turn.speaker,
            model_id=models[turn.speaker].model_name,
            stage=turn.role,
            content=turn.text,
            metadata=turn.model_extra or None,
        )
    yield from _weakness(about, run_tag)


def _weakness(about: _Metadata, run_tag: str) -> Iterator[Weakness]:
    constraint = about.constraint
    kind = None if constraint is None else constraint.type or constraint.own_type
    if constraint is None or kind is None:
        return
    if constraint.target_side is None:
        raise BadSourceError(f"metadata.constraint: the weakness {kind[:60]!r} has no target_side.")
    yield Weakness(
        run_tag=run_tag,
        debate_id=about.debate_id,
        side=constraint.target_side,
        weakness_type=kind,
        taxonomy=_TAXONOMY if constraint.type else constraint.taxonomy,
        metadata=constraint.model_extra or None,
    )


def _read_annotation(value: dict[str, Any], where: str, run_tag: str) -> Imported:
    source = check(_ListedAnnotation, value) if "annotator_id" in value else check(_KeyedAnnotation, value)
    said: dict[str, Any] = {
        "run_tag": run_tag,
        "debate_id": source.debate_id,
        "winner": source.winner,
        "scores": _scores(source.scores()),
        "is_coherent": source.is_coherent,
    }
    record: Record
    if source.is_adjudicated:
        kind = "adjudication"
        record = Adjudication(
            **said,
            adjudicator_id=source.annotator_id,
            justification=source.justification or None,
            adjudicated_at=source.annotated_at,
        )
    else:
        kind = "annotation"
        record = Annotation(
            **said,
            annotator_id=source.annotator_id,
            justification=source.justification,
            confidence=source.confidence,
            annotated_at=source.annotated_at,
            source=source.source,
            metadata=source.model_extra or None,
        )
    return Imported.of_records(
        key=(kind, source.debate_id, source.annotator_id),
        where=where,
        source=value,
        records=(*_dimensions(run_tag), record),
        run_facts={"benchmark_name": "DebateFlow"},
    )


@lru_cache(maxsize=16)
def _dimensions(run_tag: str) -> tuple[Dimension, ...]:
    """The rubric, the same for every debate and annotation."""
    return tuple(
        Dimension(
            run_tag=run_tag,
            dimension=name,
            source_position=position,
            min_score=Decimal(_LOWEST),
            max_score=Decimal(_HIGHEST),
            step=Decimal(1),
            description=dimension.description,
            anchors=dimension.anchors,
            by_category=dimension.columns()["by_category"],
        )
        for position, (name, dimension) in enumerate(_rubric().items())
    )


@cache
def _rubric() -> dict[str, DimensionConfig]:
    """The dimensions of the packaged rubric: the sources name them, and do not say what they mean."""
    return load_rubric(packaged("configs") / "rubrics" / "debateflow.yaml").dimensions


def _scores(named: Iterator[tuple[str, float, float]]) -> tuple[Score, ...] | None:
    """Scores under the rubric's own names, in the order of the source."""
    scores: dict[str, Score] = {}
    for name, aff, neg in named:
        dimension = _SHORT_NAMES.get(name.lower(), name.lower())
        if dimension not in _rubric():
            raise BadSourceError(f"No dimension {name[:60]!r}.{known_names(name[:60], (*_rubric(), *_SHORT_NAMES))}")
        if dimension in scores:
            raise BadSourceError(f"The dimension {dimension} is scored twice.")
        scores[dimension] = score(dimension, aff, neg)
    return tuple(scores.values()) or None


IMPORTER = Importer(
    "a DebateFlow folder (debates/*.json, annotations/*.json), one of these two folders, or a file of one",
    find_files,
    read,
)
