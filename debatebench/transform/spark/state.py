"""What a target was built from, as its table `meta/builds`: a row is added when a build begins and when it ends."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from debatebench.shared.errors import UsageError
from debatebench.transform.spark.session import reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROWS = "number bigint, state string"


@dataclass(frozen=True, slots=True)
class TargetState:
    """The newest row. A build that did not end leaves the families that it was about to change out of its first row."""

    number: int = 0
    inputs: str = ""
    """Hash of the SQL files and of the code that builds them; empty while all is built."""
    families: dict[str, list[str]] = field(default_factory=dict)
    """Hash of a family's content → its parts."""
    rows: dict[str, dict[str, int]] = field(default_factory=dict)
    """SQL model → part → number of rows; the name of the part is empty where rows have none."""
    stale: list[str] = field(default_factory=list)
    """The parts that a build was about to replace: of their rows, some may be of before it and some of after it."""
    format: str = "parquet"
    """In which the tables are stored."""
    is_whole: bool = False
    """Whether what looks across families is up to date, too."""


def read_state(spark: SparkSession, target: str) -> TargetState:
    """The state of a target; that of a new one where there is nothing. Raises `UsageError` for a folder of others."""
    try:
        rows = spark.read.schema(_ROWS).parquet(_place(target)).collect()
    except Exception as error:
        if "PATH_NOT_FOUND" not in str(error):
            raise UsageError(f"{target} cannot be read as a target of a build: {reason(error)}") from None
        rows = []
        _check_empty(spark, target)
    newest = max(rows, key=lambda row: int(row[0]), default=None)
    return TargetState() if newest is None else TargetState(**json.loads(newest[1]))


def write_state(spark: SparkSession, target: str, state: TargetState) -> None:
    """Add a row, whole or not at all."""
    from pyspark.sql import functions as sf

    rows = spark.range(1).select(sf.lit(state.number).alias("number"), sf.lit(json.dumps(asdict(state))).alias("state"))
    rows.coalesce(1).write.mode("append").parquet(_place(target))


def _place(target: str) -> str:
    return f"{target.rstrip('/')}/meta/builds"


def _check_empty(spark: SparkSession, target: str) -> None:
    try:
        files = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(target)
        is_empty = not files.select("path").limit(1).collect()
    except Exception as error:
        if "PATH_NOT_FOUND" not in str(error):
            raise UsageError(f"{target} cannot be used as a target: {reason(error)}") from None
        return
    if not is_empty:
        raise UsageError(f"{target} is not empty, and holds no build of SQL models; give another folder as --target.")
