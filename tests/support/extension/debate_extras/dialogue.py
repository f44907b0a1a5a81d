"""Dialogue: a text file per debate, with the motion in its first line and `pro: …` or `con: …` in each other one."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from debatebench.landing.importers.base import BadRecord, BadSourceError, Imported, Importer, Purpose, visible_files
from debatebench.shared.records import Debate, Debater, Participant, Record, Side, Topic, Turn


def find_files(path: Path) -> list[Path]:
    return [path] if path.suffix == ".txt" else visible_files(path, ".txt")


def read(path: Path, run_tag: str, purpose: Purpose) -> Iterator[Imported | BadRecord]:
    for file in find_files(path):
        try:
            motion, *lines = file.read_text(encoding="utf-8").splitlines()
            records = tuple(_records(run_tag, file.stem, motion, lines))
        except (ValueError, BadSourceError) as error:
            yield BadRecord(file.name, f"It is not a dialogue: {error}.")
        else:
            yield Imported.of_records(("debate", file.stem), file.name, [motion, *lines], records, run_facts={})


def _records(run_tag: str, debate_id: str, motion: str, lines: list[str]) -> Iterator[Record]:
    topic_id = hashlib.sha256(motion.encode()).hexdigest()[:8]
    yield Topic(run_tag=run_tag, topic_id=topic_id, source_position=0, motion=motion)
    yield Debate(
        run_tag=run_tag,
        debate_id=debate_id,
        source_position=0,
        topic_id=topic_id,
        pro_model_id="pro",
        con_model_id="con",
    )
    sides: tuple[Side, ...] = ("pro", "con")
    for side in sides:
        yield Debater(run_tag=run_tag, model_id=side)
        yield Participant(run_tag=run_tag, debate_id=debate_id, position=side, model_id=side, side=side)
    for index, line in enumerate(lines):
        name, _, said = line.partition(": ")
        speaker = next((side for side in sides if side == name), None)
        if speaker is None:
            raise BadSourceError(f"line {index + 2} begins with neither 'pro: ' nor 'con: '")
        yield Turn(
            run_tag=run_tag,
            debate_id=debate_id,
            turn_index=index,
            position=speaker,
            side=speaker,
            model_id=speaker,
            content=said,
        )


IMPORTER = Importer("a text file of a dialogue, or a folder of such files", find_files, read)
