"""The landed files: `raw/TABLE/PART_COLUMN=PART/*.parquet`, as `debatebench export --format parquet` writes them.

Spark lists them, so the source is any address that it reads. Their content is read by workers only: a path of the
machine as it is, any other address through Arrow's file systems (S3, Google Cloud Storage, Azure, HDFS).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from debatebench.shared.errors import UsageError
from debatebench.shared.hashing import hash_of
from debatebench.transform.domain import Domain
from debatebench.transform.scope import families
from debatebench.transform.spark.session import reason

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


_BLOCK = 1 << 20
# DuckDB needs about as long for so much Parquet as for its plans.
_TASK_BYTES = 4 << 20
_TASK_FILES = 200


@dataclass(frozen=True, slots=True)
class LandedFile:
    """A Parquet file with rows of one part of a landed table."""

    address: str
    table: str
    part: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Family:
    """Parts that must be seen together, with their files; `sha256` changes with the content of any."""

    parts: tuple[str, ...]
    files: tuple[LandedFile, ...]
    sha256: str

    @property
    def bytes(self) -> int:
        """The size of all its files."""
        return sum(file.bytes for file in self.files)


def landed_families(spark: SparkSession, source: str, domain: Domain) -> list[Family]:
    """Every family of the landed files below `source`, the largest first. Raises `UsageError` where there is none."""
    files = _listed(spark, source, domain)
    table, column = domain.about
    own = [file.address for file in files if file.table == table]
    if not own:
        raise UsageError(
            f"{source} has no landed rows: there is no {table.replace('.', '/')}/{domain.part}=…/*.parquet. "
            "`debatebench export --format parquet --select 'raw.*'` writes such a folder."
        )
    rows = spark.read.option("basePath", f"{source.rstrip('/')}/{table.replace('.', '/')}").parquet(*own)
    about = [(str(row[0]), str(row[1])) for row in rows.select(domain.part, column).dropna().collect()]
    hashes = dict(_on_workers(spark, _hashes, files))
    of_part: dict[str, list[LandedFile]] = {}
    for file in files:
        of_part.setdefault(file.part, []).append(file)
    found = []
    for parts in families(of_part, about):
        members = tuple(file for part in parts for file in of_part[part])
        content = sorted(f"{file.table} {file.part} {hashes[file.address]}" for file in members)
        found.append(Family(parts, members, hash_of(*content)))
    return sorted(found, key=lambda family: (-family.bytes, family.parts))


def _listed(spark: SparkSession, source: str, domain: Domain) -> list[LandedFile]:
    """The landed files, in order."""
    options: dict[str, bool | str] = {"recursiveFileLookup": True, "pathGlobFilter": "*.parquet"}
    try:
        listed = spark.read.format("binaryFile").options(**options).load(f"{source.rstrip('/')}/raw")
        rows = listed.select("path", "length").collect()
    except Exception as error:
        raise UsageError(f"{source} cannot be read as a folder of landed rows: {reason(error)}") from None
    place = re.compile(rf"/(raw)/([^/]+)/{re.escape(domain.part)}=([^/]+)/[^/]+\.parquet")
    found = []
    for address, length in rows:
        if (match := place.search(address)) and f"{match[1]}.{match[2]}" in domain.tables:
            found.append(LandedFile(address, f"{match[1]}.{match[2]}", unquote(match[3]), length))
    return sorted(found, key=lambda file: file.address)


def shared_out(changed: Sequence[Family]) -> list[Family]:
    """Families, each as large as a task should be: small ones are joined, since to plan every SQL model takes seconds.

    Two or more are never all in one.
    """
    total = sum(family.bytes for family in changed)
    tasks: list[list[Family]] = [[] for _ in range(min(len(changed), max(2, -(-total // _TASK_BYTES))))]
    for family in sorted(changed, key=lambda family: -family.bytes):
        min(tasks, key=lambda task: (sum(each.bytes for each in task), len(task))).append(family)
    return [
        Family(
            tuple(part for each in task for part in each.parts),
            tuple(file for each in task for file in each.files),
            hash_of(*(each.sha256 for each in task)),
        )
        for task in tasks
    ]


def _on_workers(spark: SparkSession, function: Any, files: Sequence[LandedFile]) -> Iterator[tuple[str, str]]:
    """What `function` finds in the files. A far store takes its time for each file, and any for each byte."""
    addresses = [file.address for file in files]
    tasks = min(1 + sum(file.bytes for file in files) // _TASK_BYTES + len(files) // _TASK_FILES, 64, len(files))

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for number in batch.column(0).to_pylist():
                found = function(addresses[number::tasks])
                yield pa.RecordBatch.from_pydict({"address": list(found), "sha256": list(found.values())})

    rows = spark.range(0, tasks, 1, tasks).mapInArrow(work, "address string, sha256 string").collect()
    return ((row[0], row[1]) for row in rows)


def _hashes(addresses: Sequence[str]) -> Mapping[str, str]:
    """Address → hash of the file's bytes. Runs in a worker."""
    found = {}
    for address in addresses:
        sha256 = hashlib.sha256()
        with closing(opened(address)) as file:
            while block := file.read(_BLOCK):
                sha256.update(block)
        found[address] = sha256.hexdigest()
    return found


def opened(address: str) -> Any:
    """The file at an address, opened for reading. Runs in a worker."""
    if (path := local_path(address)) is not None:
        return path.open("rb")
    from pyarrow import fs

    # Hadoop's name for S3 has an `a` that nobody else writes.
    system, path_there = fs.FileSystem.from_uri(re.sub(r"^s3[an]:", "s3:", address))
    return system.open_input_stream(path_there)


def local_path(address: str) -> Path | None:
    """The path of an address on this machine; None for one elsewhere."""
    found = re.fullmatch(r"(?:file:/*(?=/))?(/.*)", address)
    return Path(found[1]) if found else None
