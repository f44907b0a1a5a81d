"""The families of a task, in a worker: read their files, create the SQL models with DuckDB, and hand over their rows.

A worker sends rows as Arrow streams, a few thousand rows each, beside the name of their SQL model: one task returns the
rows of all SQL models, whose columns differ. `unpacked` is the way back, in another task.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from debatebench.shared.duckdb_sql import NO_EXTENSIONS, quoted_identifier, quoted_text
from debatebench.transform.domain import Domain
from debatebench.transform.empty_warehouse import columns_of, create, empty_warehouse
from debatebench.transform.macros import Macro
from debatebench.transform.spark.relations import carried_query
from debatebench.transform.spark.source import Family, LandedFile, local_path, opened
from debatebench.transform.sql_model import SqlModel

if TYPE_CHECKING:
    import pyarrow as pa


PACKED = "model string, row_count bigint, packed binary"
"""What a task returns; a row whose model is `REPORT` has a JSON object instead of rows."""
REPORT = "report"

_ROWS_AT_ONCE = 4096
_MEMORY = "2GB"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a worker needs to build a family: plain data, the same for all."""

    domain: Domain
    macros: dict[str, Macro]
    models: tuple[SqlModel, ...]
    """In dependency order, with all that they read."""
    kept: frozenset[str]
    """The SQL models whose rows are handed over."""


def packed_family(recipe: Recipe, family: Family) -> Iterator[pa.RecordBatch]:
    """The rows of every kept SQL model of a family, and at the end a report: `{"parts": …, "rows": …}` or `error`."""
    rows: dict[str, dict[str, int]] = {}
    report: dict[str, Any] = {"parts": family.parts, "rows": rows}
    with tempfile.TemporaryDirectory(prefix=f"debatebench-worker-{os.getpid()}-", dir=_local_folder()) as folder:
        settings: dict[str, Any] = {**NO_EXTENSIONS, "threads": 1, "memory_limit": _MEMORY, "temp_directory": folder}
        with closing(duckdb.connect(config=settings)) as con:
            model = None
            try:
                con.execute("set TimeZone = 'UTC'; set checkpoint_threshold = '1TB'")
                empty_warehouse(con, recipe.domain, recipe.macros, recipe.models)
                for file in family.files:
                    _land(con, file, recipe.domain.part, Path(folder))
                unneeded = _last_read(recipe.models)
                for model in recipe.models:
                    create(con, model)
                    if model.name in recipe.kept:
                        rows[model.name] = _counted(con, model.name, recipe.domain.part)
                        yield from _packed(con, model.name)
                    for name in unneeded.get(model.name, ()):
                        con.execute(f"drop table {name}")
            except duckdb.Error as error:
                # Another attempt would fail as well, so it is not an error of the task.
                report["error"] = str(error).split("\n\n")[0]
                report["model"] = None if model is None else model.name
    yield _batch(REPORT, 0, json.dumps(report).encode())


def _local_folder() -> str | None:
    """Where Spark keeps files of this worker, which it removes when it ends, also what a killed worker left there."""
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return folder if os.path.isdir(folder) else None


def _land(con: duckdb.DuckDBPyConnection, file: LandedFile, part: str, folder: Path) -> None:
    """Append the rows of a file to their landed table; columns that the file lacks are null."""
    path = local_path(file.address)
    copy = None
    if path is None:
        path = copy = folder / "landed.parquet"
        with closing(opened(file.address)) as stream, copy.open("wb") as out:
            while block := stream.read(_BLOCK):
                out.write(block)
    read = f"read_parquet({quoted_text(str(path))}, hive_partitioning = false)"
    tag = f"{quoted_text(file.part)} as {quoted_identifier(part)}"
    con.execute(f"insert into {file.table} by name select {tag}, * from {read}")
    if copy is not None:
        copy.unlink()


def _last_read(models: Iterable[SqlModel]) -> dict[str, list[str]]:
    """SQL model → those that nothing after it reads."""
    last: dict[str, str] = {}
    for model in models:
        last |= dict.fromkeys((model.name, *model.dependencies), model.name)
    found: dict[str, list[str]] = {}
    for name, reader in last.items():
        found.setdefault(reader, []).append(name)
    return found


def _counted(con: duckdb.DuckDBPyConnection, name: str, part: str) -> dict[str, int]:
    """Part → number of rows; everything is under an empty name where rows have no part."""
    if part not in columns_of(con, name):
        return {"": con.execute(f"select count(*) from {name}").fetchall()[0][0]}
    return dict(con.execute(f"select coalesce({part}, ''), count(*) from {name} group by all").fetchall())


def _packed(con: duckdb.DuckDBPyConnection, name: str) -> Iterator[pa.RecordBatch]:
    """All rows of a relation, in at least one batch."""
    import pyarrow as pa

    reader = con.sql(carried_query(con, name)).to_arrow_reader(_ROWS_AT_ONCE)
    has_rows = False
    for batch in reader:
        has_rows = True
        yield _batch(name, batch.num_rows, _stream(reader.schema, batch))
    if not has_rows:
        yield _batch(name, 0, _stream(reader.schema, *pa.Table.from_batches([], reader.schema).to_batches()))


def _stream(schema: pa.Schema, *batches: pa.RecordBatch) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        for batch in batches:
            writer.write_batch(batch)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _batch(model: str, rows: int, packed: bytes) -> pa.RecordBatch:
    import pyarrow as pa

    columns = [pa.array([model], pa.string()), pa.array([rows], pa.int64()), pa.array([packed], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["model", "row_count", "packed"])


def unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in the column `packed` of these batches."""
    import pyarrow as pa

    for batch in batches:
        for stream in batch.column("packed"):
            yield from pa.ipc.open_stream(stream.as_buffer())
