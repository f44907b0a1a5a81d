"""The gold verdicts of PanelBench: who won, overall and by dimension, in CSV files next to the debates."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from debatebench.landing.importers.base import BadRecord, BadSourceError, Imported
from debatebench.landing.importers.strict_json import read_bytes
from debatebench.shared.records import Gold, Winner
from debatebench.shared.visible_text import plain_name

_ID_COLUMNS = {"dart_id": "debateart_{:04d}", "bp_id": "bp_{:03d}"}
_WINNERS: dict[Decimal, Winner] = {Decimal(0): "pro", Decimal("0.5"): "tie", Decimal(1): "con"}
_BP_POSITIONS = ("OG", "OO", "CG", "CO")


def read_gold(files: list[Path], prefix: str, debate_ids: list[str], run_tag: str) -> Iterator[Imported | BadRecord]:
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
    value, winner, positions = _positions(label) if column == "bp_id" else _label(label)
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


def _positions(text: str) -> tuple[None, None, tuple[str, ...]]:
    """The winning teams of a British Parliamentary debate, which has no winning side."""
    positions = tuple(position.strip() for position in text.split(","))
    if not set(positions) <= set(_BP_POSITIONS) or len(set(positions)) != len(positions):
        raise BadSourceError(f"The label {text[:60]!r} is not a list of teams. Known: {', '.join(_BP_POSITIONS)}.")
    return None, None, positions


def _whole(text: str, column: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise BadSourceError(f"{column} must be a whole number, found {text[:60]!r}.")
    return int(text)


def _flag(text: str) -> bool | str:
    return {"True": True, "False": False}.get(text, text)
