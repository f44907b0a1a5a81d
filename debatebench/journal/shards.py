"""A run that is played in shards: the folder `<run_tag>.shards` holds its plan and one journal for each shard.

    plan.jsonl      the file of the plan, as it was written
    2-of-8.jsonl    the journal of the second of eight shards; its header names the plan by its hash

A shard plays a part of the debates of a plan, and no debate is in two. Its journal may come from any machine and have
any name that ends with `.jsonl`. A copy that is the beginning of another one counts as an earlier state of it.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from debatebench.journal.reading import SHARDS, check_saved, end_of_lines, events_of, has_begun, is_played_now, run_of
from debatebench.shared.errors import DamagedDataError, DebatebenchError, UsageError
from debatebench.shared.files import make_folder, not_written, replacing_file

_PLAN = "plan.jsonl"
_SHARD = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """One of `count` parts of a plan, by its number from 1."""

    count: int
    number: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def name(self) -> str:
        """The name of its journal, without the ending."""
        return f"{self.number}-of-{self.count}"

    @classmethod
    def of(cls, text: str) -> Shard:
        """The shard that a text such as `2/8` names; raises `UsageError` for any other."""
        found = _SHARD.fullmatch(text.strip())
        if found is None or int(found[1]) > int(found[2]):
            raise UsageError(f"--shard '{text}' is not a shard: write number/count, such as 2/8 for the second of 8.")
        return cls(int(found[2]), int(found[1]))


@dataclass(frozen=True, slots=True)
class ShardHeader:
    """What the header of a shard's journal says."""

    run_tag: str
    shard: Shard
    plan_sha256: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Shards:
    """The journals of a run in shards, by number, each the longest of its copies."""

    run_tag: str
    folder: Path
    plan_sha256: str
    count: int
    created_at: str
    """When the first of these shards began."""
    journals: dict[int, Path]

    @property
    def plan(self) -> Path:
        """The file of the plan."""
        return plan_in(self.folder)

    @property
    def missing(self) -> list[Shard]:
        """The shards that have no journal here."""
        return [Shard(self.count, n) for n in range(1, self.count + 1) if n not in self.journals]


def shards_folder(journals: Path, run_tag: str) -> Path:
    """The folder of a run in shards, which need not exist."""
    return journals / f"{run_tag}{SHARDS}"


def plan_in(folder: Path) -> Path:
    """The file of the plan in a folder of shards."""
    return folder / _PLAN


def journal_at(journals: Path, run_tag: str, shard: Shard | None) -> Path:
    """Where the journal of a run, or of a shard of it, is written."""
    if shard is None:
        return journals / f"{run_tag}.jsonl"
    return shards_folder(journals, run_tag) / f"{shard.name}.jsonl"


def shard_header(shard: Shard, run_tag: str, plan_sha256: str, created_at: str) -> dict[str, Any]:
    """What the header of a shard's journal has in the place of the plan. A version without shards refuses it."""
    return {
        "plan": {"run_tag": run_tag},
        "shard": {"number": shard.number, "count": shard.count, "plan_sha256": plan_sha256},
        "created_at": created_at,
    }


def header_of(path: Path, data: dict[str, Any]) -> ShardHeader:
    """The header of a shard's journal; raises `DamagedDataError` for that of another journal."""
    try:
        said = data["shard"]
        shard = Shard(int(said["count"]), int(said["number"]))
        return ShardHeader(data["plan"]["run_tag"], shard, str(said["plan_sha256"]), str(data["created_at"]))
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedDataError(f"{path} is not the journal of a shard: move it elsewhere.") from error


def folders_of_shards(journals: Path) -> dict[str, Path]:
    """Run tag → its folder of shards, for every run of which a shard has begun."""
    found = sorted(folder for folder in journals.glob(f"*{SHARDS}") if folder.is_dir())
    return {run_of(folder): folder for folder in found if journals_in(folder)}


def journals_in(folder: Path) -> list[Path]:
    """Every journal in a folder of shards that has begun, also copies."""
    files = (path for path in sorted(folder.glob("*.jsonl")) if path.name != _PLAN)
    return [path for path in files if path.is_file() and has_begun(path)]


def journals_of(journals: Path, run_tag: str) -> list[Path]:
    """The journals of a run that has begun: one, or one for each shard; none if it has not begun."""
    whole = journals / f"{run_tag}.jsonl"
    if whole.is_file():
        return [whole]
    return journals_in(shards_folder(journals, run_tag))


def run_tags_in(journals: Path) -> list[str]:
    """The runs that have a journal here, in one piece or in shards."""
    whole = {path.stem for path in journals.glob("*.jsonl") if path.is_file()}
    return sorted(whole | folders_of_shards(journals).keys())


def count_here(folder: Path) -> tuple[int, int]:
    """How many shards of a run have a journal here, and of how many it has. Reads only their headers."""
    found = {read_header(path).shard for path in journals_in(folder)}
    return len(found), max(shard.count for shard in found)


def is_any_played(path: Path) -> bool:
    """Whether a process plays the run of this journal, or a shard in this folder, at this moment."""
    return any(map(is_played_now, journals_in(path))) if path.is_dir() else is_played_now(path)


def read_shards(folder: Path) -> Shards:
    """The shards in a folder, of which only headers are read.

    Raises `DamagedDataError` for one that is foreign or was played twice, and if the plan is missing.
    """
    run_tag = run_of(folder)
    found = {path: read_header(path) for path in journals_in(folder)}
    if not found:
        raise DamagedDataError(f"{folder} holds no journal of a shard.")
    if not plan_in(folder).is_file():
        raise DamagedDataError(
            f"The plan of the shards in {folder} is missing: copy the file that was played to {plan_in(folder)}."
        )
    plan_sha256 = sha256_of(plan_in(folder))
    by_number: dict[int, Path] = {}
    first = next(iter(found))
    for path, header in found.items():
        _check_own(path, header, run_tag, plan_sha256, folder)
        if header.shard.count != found[first].shard.count:
            raise DamagedDataError(
                f"{first} is a shard of {found[first].shard.count} and {path} is one of {header.shard.count}: a run is "
                "cut in one way only. Move the journals of one of them elsewhere."
            )
        check_saved(path)
        number = header.shard.number
        by_number[number] = path if number not in by_number else _later(by_number[number], path, header.shard)
    return Shards(
        run_tag,
        folder,
        plan_sha256,
        found[first].shard.count,
        min(header.created_at for header in found.values()),
        dict(sorted(by_number.items())),
    )


def read_header(path: Path) -> ShardHeader:
    """The header of a shard's journal."""
    data = next(events_of(path, ("header",)), {})
    return header_of(path, data)


def _check_own(path: Path, header: ShardHeader, run_tag: str, plan_sha256: str, folder: Path) -> None:
    if header.run_tag != run_tag:
        raise DamagedDataError(
            f"{path} is a shard of run '{header.run_tag}', not of '{run_tag}': move it to "
            f"{shards_folder(folder.parent, header.run_tag)}."
        )
    if header.plan_sha256 != plan_sha256:
        raise DamagedDataError(
            f"{path} is shard {header.shard} of another plan of run '{run_tag}' ({header.plan_sha256[:12]}) than "
            f"{plan_in(folder)} ({plan_sha256[:12]}): move it elsewhere, or put the plan that it played in the "
            "place of that file."
        )


def _later(one: Path, other: Path, shard: Shard) -> Path:
    """The longer of two copies of the same journal. Raises `DamagedDataError` if neither begins with the other.

    Only whole lines count: a copy that was made while its process wrote may end within one.
    """
    with open(one, "rb") as first, open(other, "rb") as second:
        ends = end_of_lines(first), end_of_lines(second)
        first.seek(0)
        second.seek(0)
        left = min(ends)
        while left and (block := first.read(min(_BLOCK, left))) == second.read(len(block)):
            left -= len(block)
    if left:
        raise DamagedDataError(
            f"{one} and {other} are both shard {shard} with different contents, so it was played twice: keep the one "
            "that is to count, and move the other elsewhere."
        )
    return one if ends[0] >= ends[1] else other


def sha256_of(path: Path) -> str:
    """The hash of a file."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DebatebenchError(f"Cannot read {path}: {error.strerror}.") from error


def check_place(journals: Path, run_tag: str, shard: Shard, plan_sha256: str) -> None:
    """Raise `UsageError` unless this shard of this plan can be played here: before anything is written."""
    whole, folder = journals / f"{run_tag}.jsonl", shards_folder(journals, run_tag)
    if whole.exists():
        raise UsageError(
            f"Run '{run_tag}' has begun in one piece ({whole}), so no shard of it can be played: go on without --shard."
        )
    if plan_in(folder).exists() and (there := sha256_of(plan_in(folder))) != plan_sha256:
        raise UsageError(
            f"{folder} holds shards of another plan of run '{run_tag}' ({there[:12]}, and this is "
            f"{plan_sha256[:12]}): go on with {plan_in(folder)}, or plan under another --run-tag."
        )
    for path in journals_in(folder):
        held = read_header(path).shard
        if held.count != shard.count:
            raise UsageError(
                f"Run '{run_tag}' is cut into {held.count} shards ({path}), so shard {shard} is not one of them: "
                f"play --shard N/{held.count}, or plan under another --run-tag."
            )


def place_plan(journals: Path, run_tag: str, plan: Path, plan_sha256: str) -> None:
    """Put a copy of the plan beside the journals of its shards, unless it is there."""
    target = plan_in(shards_folder(journals, run_tag))
    if target.exists():
        return
    try:
        make_folder(target.parent)
        with replacing_file(target) as new:
            shutil.copyfile(plan, new)
            if sha256_of(new) != plan_sha256:
                raise DamagedDataError(f"The plan {plan} was changed while it was read: give the same command again.")
    except OSError as error:
        raise not_written(target, error) from error


def check_not_in_shards(journals: Path, run_tag: str) -> None:
    """Raise `UsageError` if a run is played in shards, so that only they can go on."""
    folder = shards_folder(journals, run_tag)
    if begun := journals_in(folder):
        shard = read_header(begun[0]).shard
        raise UsageError(
            f"Run '{run_tag}' is played in {shard.count} shards, each by itself: name one with --shard, such as "
            f"--shard {shard}."
        )
