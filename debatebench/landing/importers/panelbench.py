"""PanelBench: human debates with human verdicts, from DebateArt (two sides) and British Parliamentary competitions.

Gold verdicts, overall and by dimension, lie in CSV files next to the debates.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import AliasChoices, BeforeValidator, Field, ValidationError

from debatebench.landing.importers.base import BadRecord, BadSourceError, Imported, Importer, Purpose, visible_files
from debatebench.landing.importers.strict_source import Name, Source, Words, check, parse_yaml, read_bytes
from debatebench.shared.records import Debate, Debater, Gold, Participant, Record, Side, Topic, Turn, Winner
from debatebench.shared.visible_text import plain_name

_FOLDERS = ("motion", "speech", "gold")
_NO_INFO_SLIDE = ("", "no information", "no information.")
_BP_SIDES: dict[str, Side] = {"OG": "pro", "OO": "con", "CG": "pro", "CO": "con"}
_ID_COLUMNS = {"dart_id": "debateart_{:04d}", "bp_id": "bp_{:03d}"}
_WINNERS: dict[Decimal, Winner] = {Decimal(0): "pro", Decimal("0.5"): "tie", Decimal(1): "con"}
_BP_NAMES = {
    "openinggovernment": "OG",
    "openingopposition": "OO",
    "closinggovernment": "CG",
    "closingopposition": "CO",
}


def _named(value: Any) -> Any:
    """A plain name means a speaker with that name."""
    return {"name": value} if isinstance(value, str) else value


class _Speaker(Source):
    name: Name


_Speakers = Annotated[list[Annotated[_Speaker, BeforeValidator(_named)]], Field(min_length=1)]


class _Motion(Source):
    """A motion file; DebateArt and BP-Competition name its keys differently."""

    motion: Words
    pro: _Speakers = Field(validation_alias=AliasChoices("pro_side", "pro_speakers"))
    con: _Speakers = Field(validation_alias=AliasChoices("con_side", "con_speakers"))
    info_slide: str | None = None
    speech_order: list[str] | None = None


class _Speech(Source):
    name: Name = Field(validation_alias=AliasChoices("debater_name", "speaker_name", "name"))
    content: str | None = None


class _Debate(Source):
    motion: _Motion
    speech: Annotated[list[_Speech], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class _Seat:
    """Where a speaker of the source sits: `pro`, `con` (`pro_2` and so on for a team), or `OG`, `OO`, `CG`, `CO`."""

    position: str
    side: Side
    model_id: str


def find_files(path: Path) -> list[Path]:
    """Motions, speeches and gold verdicts of every set at `path`; none if it is a file."""
    return [
        file
        for folder in _sets(path)
        for file in (*_yaml_files(folder / "motion"), *_yaml_files(folder / "speech"), *_gold_files(folder))
    ]


def read(path: Path, run_tag: str, purpose: Purpose) -> Iterator[Imported | BadRecord]:
    """For each set, every debate by name and then the gold verdicts of each debate."""
    for folder in _sets(path):
        prefix = "" if folder == path else f"{folder.name}/"
        motions = {plain_name(file.stem): file for file in _yaml_files(folder / "motion")}
        speeches = {plain_name(file.stem): file for file in _yaml_files(folder / "speech")}
        for debate_id in sorted(motions.keys() | speeches.keys()):
            file = motions.get(debate_id) or speeches[debate_id]
            where = f"{prefix}{file.parent.name}/{file.name}"
            try:
                yield _read_debate(debate_id, motions.get(debate_id), speeches.get(debate_id), where, run_tag)
            except BadSourceError as error:
                yield BadRecord(where, str(error))
        yield from _read_gold(_gold_files(folder), prefix, sorted(motions), run_tag)


def _sets(path: Path) -> list[Path]:
    """The folders with a set: `path` itself, or folders in it."""

    def is_set(folder: Path) -> bool:
        return any((folder / name).is_dir() for name in _FOLDERS)

    if not path.is_dir():
        return []
    return [path] if is_set(path) else sorted(f for f in path.iterdir() if is_set(f) and not f.name.startswith("."))


def _yaml_files(folder: Path) -> list[Path]:
    return visible_files(folder, ".yml", ".yaml")


def _gold_files(folder: Path) -> list[Path]:
    """The CSVs of a set; the overall verdicts (`final`) come before those by dimension."""
    return sorted(visible_files(folder / "gold", ".csv"), key=lambda file: (file.stem == "dimension", file.name))


def _read_debate(debate_id: str, motion: Path | None, speech: Path | None, where: str, run_tag: str) -> Imported:
    if motion is None or speech is None:
        raise BadSourceError(f"There is no {'motion' if motion is None else 'speech'} file of the same name.")
    value = {"motion": _parse(motion), "speech": _parse(speech)}
    try:
        records = tuple(_records(debate_id, check(_Debate, value), run_tag))
    except ValidationError as error:
        raise BadSourceError(f"It does not fit its tables: {error.errors()[0]['msg']}.") from error
    return Imported.of_records(
        key=("debate", debate_id),
        where=where,
        source=value,
        records=records,
        run_facts={"benchmark_name": "PanelBench"},
    )


def _parse(file: Path) -> Any:
    try:
        return parse_yaml(read_bytes(file))
    except BadSourceError as error:
        raise BadSourceError(f"{file.parent.name}/{file.name}: {error}") from error


def _records(debate_id: str, source: _Debate, run_tag: str) -> Iterator[Record]:
    motion = source.motion
    seats, is_parliamentary = _seats(motion)
    order = [speech.name for speech in source.speech]
    if motion.speech_order is not None and order != motion.speech_order:
        raise BadSourceError("The speeches are not in the order of the motion's speech_order.")
    topic = _topic(motion, run_tag)
    yield topic
    yield Debate(
        run_tag=run_tag,
        debate_id=debate_id,
        source_position=0,
        topic_id=topic.topic_id,
        format="british_parliamentary" if is_parliamentary else "two_sided",
        # A side with several debaters has no single one to name; they are all listed as participants.
        pro_model_id=motion.pro[0].name if len(motion.pro) == 1 else None,
        con_model_id=motion.con[0].name if len(motion.con) == 1 else None,
        metadata=_metadata(motion, seats, is_parliamentary),
    )
    for seat in seats.values():
        yield Debater(run_tag=run_tag, model_id=seat.model_id)
        yield Participant(
            run_tag=run_tag, debate_id=debate_id, position=seat.position, model_id=seat.model_id, side=seat.side
        )
    for index, speech in enumerate(source.speech):
        if speech.name not in seats:
            raise BadSourceError(f"speech[{index}]: {speech.name[:60]!r} is not on a side of the motion.")
        seat = seats[speech.name]
        yield Turn(
            run_tag=run_tag,
            debate_id=debate_id,
            turn_index=index,
            position=seat.position,
            side=seat.side,
            model_id=seat.model_id,
            content=speech.content or "",
            metadata=speech.model_extra or None,
        )


def _topic(motion: _Motion, run_tag: str) -> Topic:
    """The topic of a motion: the same motion with the same info slide is the same topic in every debate."""
    info_slide = motion.info_slide or ""
    if info_slide.strip().lower() in _NO_INFO_SLIDE:
        info_slide = ""
    digest = hashlib.sha256(f"{motion.motion}\0{info_slide}".encode()).hexdigest()
    return Topic(
        run_tag=run_tag,
        topic_id=f"pb-{digest[:8]}",
        source_position=0,
        motion=motion.motion,
        info_slide=info_slide or None,
    )


def _seats(motion: _Motion) -> tuple[dict[str, _Seat], bool]:
    """Each speaker's seat by name, and whether the debate is British Parliamentary."""
    sides = cast("dict[Side, list[str]]", {"pro": [s.name for s in motion.pro], "con": [s.name for s in motion.con]})
    names = [name for side in sides.values() for name in side]
    if len(set(names)) != len(names):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise BadSourceError(f"{twice[:60]!r} occurs twice among the sides.")
    positions = [_bp_position(name) for name in names]
    if None not in positions:
        if sorted(zip(positions, (side for side in sides for _ in sides[side]), strict=True)) != sorted(
            _BP_SIDES.items()
        ):
            raise BadSourceError(
                "British Parliamentary needs OG and CG for the motion, and OO and CO against it, each once."
            )
        return {name: _Seat(p, _BP_SIDES[p], p) for name, p in zip(names, positions, strict=True) if p}, True
    return {
        name: _Seat(side if number == 1 else f"{side}_{number}", side, name)
        for side, speakers in sides.items()
        for number, name in enumerate(speakers, 1)
    }, False


def _bp_position(name: str) -> str | None:
    """`Opening_Government_(OG)`, `Opening Government` and `OG` → OG; None for any other name."""
    words = re.fullmatch(r"(.*?)[\s_]*\(?(OG|OO|CG|CO)?\)?", name.strip(), re.DOTALL)
    letters = "".join(character for character in words[1].lower() if character.isalpha()) if words else ""
    code = words[2] if words else None
    spelled = _BP_NAMES.get(letters)
    if code and letters and spelled != code:
        return None
    return code or spelled


def _metadata(motion: _Motion, seats: dict[str, _Seat], is_parliamentary: bool) -> dict[str, Any] | None:
    names = {"names": {seat.position: name for name, seat in seats.items()}} if is_parliamentary else {}
    speakers = {s.name: s.model_extra for s in (*motion.pro, *motion.con) if s.model_extra}
    return {**(motion.model_extra or {}), **names, **({"speakers": speakers} if speakers else {})} or None


def _read_gold(files: list[Path], prefix: str, debate_ids: list[str], run_tag: str) -> Iterator[Imported | BadRecord]:
    """One unit per debate with every gold verdict on it, in the order in which `files` name the debates.

    `prefix` is put before the file names in messages. A gold verdict names its debate by a number, the one at the end
    of a name in `debate_ids`; if no name ends in it, the verdict gets the name that its debate would have.
    """
    by_number = {int(match[0]): name for name in debate_ids if (match := re.search(r"\d{1,9}\Z", name))}
    units: dict[str, dict[str, tuple[str, dict[str, str], Gold]]] = {}
    for file in files:
        try:
            for number, row in _rows(file):
                where = f"{prefix}gold/{file.name}:{number}"
                try:
                    gold = _gold(row, by_number, run_tag)
                    _add(units.setdefault(gold.debate_id, {}), where, row, gold)
                except BadSourceError as error:
                    yield BadRecord(where, str(error))
        except BadSourceError as error:
            yield BadRecord(f"{prefix}gold/{file.name}", str(error))
    for debate_id, verdicts in units.items():
        yield Imported.of_records(
            key=("gold", debate_id),
            where=next(where for where, _, _ in verdicts.values()),
            source={unit: row for unit, (_, row, _) in verdicts.items()},
            records=tuple(gold for _, _, gold in verdicts.values()),
            run_facts={"benchmark_name": "PanelBench"},
        )


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and cells by column of every row that is not blank."""
    try:
        text = read_bytes(file).decode("utf-8")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(reader, [])
        if len(set(header)) != len(header) or "label" not in header or not _ID_COLUMNS.keys() & set(header):
            raise BadSourceError(
                f"The first line must name the columns {' or '.join(_ID_COLUMNS)}, and label, each once."
            )
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise BadSourceError(f"Line {reader.line_num} has {len(cells)} cells instead of {len(header)}.")
            yield reader.line_num, {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
    except UnicodeDecodeError as error:
        raise BadSourceError(f"Byte {error.start + 1} is not UTF-8.") from error
    except csv.Error as error:
        raise BadSourceError(f"Line {reader.line_num} is not CSV: {error}.") from error


def _add(verdicts: dict[str, tuple[str, dict[str, str], Gold]], where: str, row: dict[str, str], gold: Gold) -> None:
    earlier = verdicts.get(gold.unit)
    if earlier is None:
        verdicts[gold.unit] = (where, row, gold)
    elif earlier[1] != row:
        raise BadSourceError(f"It differs from the verdict on the same debate and unit in {earlier[0]}.")


def _gold(row: dict[str, str], by_number: dict[int, str], run_tag: str) -> Gold:
    cells: dict[str, Any] = dict(row)
    column = next(column for column in _ID_COLUMNS if column in cells)
    number = _whole(cells.pop(column), column)
    debate_id = by_number.get(number) or _ID_COLUMNS[column].format(number)
    label = cells.pop("label")
    unit = cells.pop("dimension", None)
    if unit == "":
        raise BadSourceError("The dimension is empty.")
    vote_count = cells.pop("vote_count", "")
    value, winner, positions = _winning_teams(label) if column == "bp_id" else _label(label)
    return Gold(
        run_tag=run_tag,
        debate_id=debate_id,
        unit=plain_name(unit or "winner"),
        label=value,
        winner=winner,
        winning_positions=positions,
        vote_count=_whole(vote_count, "vote_count") if vote_count else None,
        metadata={name: _flag(cell) for name, cell in cells.items()} or None,
    )


def _label(text: str) -> tuple[Decimal, Winner, tuple[str, ...]]:
    """0, 0.5 or 1 → the label, the winner as a word, and the positions that won."""
    try:
        label = Decimal(text)
        winner = _WINNERS[label]
    except (InvalidOperation, KeyError, TypeError) as error:
        raise BadSourceError(f"The label {text[:60]!r} is none of 0 (pro), 0.5 (tie) and 1 (con).") from error
    return label, winner, ("pro", "con") if winner == "tie" else (winner,)


def _winning_teams(text: str) -> tuple[None, None, tuple[str, ...]]:
    """The winning teams of a British Parliamentary debate, which has no winning side."""
    positions = tuple(position.strip() for position in text.split(","))
    if not set(positions) <= set(_BP_SIDES) or len(set(positions)) != len(positions):
        raise BadSourceError(f"The label {text[:60]!r} is not a list of teams. Known: {', '.join(_BP_SIDES)}.")
    return None, None, positions


def _whole(text: str, column: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise BadSourceError(f"{column} must be a whole number, found {text[:60]!r}.")
    return int(text)


def _flag(text: str) -> bool | str:
    return {"True": True, "False": False}.get(text, text)


IMPORTER = Importer(
    "the PanelBench folder, or one of its sets (DebateArt, BP-Competition) with the folders motion, speech and gold",
    find_files,
    read,
)
