"""Landing of kept imports: by DuckDB alone where all units are plain debates, as records otherwise."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.landing.importers import IMPORTERS
from debatebench.landing.importers import debate_rows as rows
from debatebench.landing.importers.manifest import ImportManifest, check_part, files_of, kept_manifest, replacing_parts
from debatebench.landing.importers.store import read_import, run_record
from debatebench.landing.land import check_rows, insert_records, land_records, land_run_settings, remove_run
from debatebench.shared.duckdb_sql import transaction
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.records import TABLES

if TYPE_CHECKING:
    import duckdb

__all__ = ["land_import"]


def land_import(con: duckdb.DuckDBPyConnection, folder: Path, landed_sha256: str | None = None) -> dict[str, int]:
    """Land what is kept in `warehouse/imports/<tag>`, and return the rows per table that the tag has then.

    `landed_sha256` is the hash of the manifest that was landed before: parts that are new since then are added to what
    is there, if they replace nothing. Everything happens, or `DamagedDataError` is raised and nothing has changed.
    """
    import duckdb

    manifest = kept_manifest(folder)
    if _is_plain(manifest):
        try:
            return _land_plain(con, folder, manifest, _landed_parts(manifest, landed_sha256))
        except (duckdb.InvalidInputException, duckdb.ConversionException):
            # What was found to be plain is not, for this version of DuckDB: the strict importer can read it.
            pass
    return land_records(con, manifest.run_tag, read_import(folder))


def _is_plain(manifest: ImportManifest) -> bool:
    rules = IMPORTERS[manifest.format].plain_rules
    return rules is not None and all(part.plain_rules == rules for part in manifest.parts)


def _landed_parts(manifest: ImportManifest, landed_sha256: str | None) -> int:
    """How many parts were landed before and still count as they are."""
    for count in range(len(manifest.parts) - 1, 0, -1):
        if manifest.parts[count].replaces:
            break
        earlier = manifest.model_copy(update={"parts": manifest.parts[:count]})
        if hashlib.sha256(earlier.content().encode()).hexdigest() == landed_sha256:
            return count
    return 0


def _land_plain(
    con: duckdb.DuckDBPyConnection, folder: Path, manifest: ImportManifest, landed_parts: int
) -> dict[str, int]:
    """Land the parts behind the first `landed_parts`, whose rows are there."""
    with _linked(folder, manifest, landed_parts) as parts, ThreadPoolExecutor(1) as pool:
        con.execute(rows.READ_DEBATES, {"paths": list(parts)})
        # Beside what DuckDB does next, which keeps one processor busy.
        checking = pool.submit(_check, folder, manifest, landed_parts)
        try:
            with transaction(con):
                landed = _insert_rows(con, manifest, parts, landed_parts)
                checking.result()
        except DamagedDataError:
            # That a file is another says more than what came of it.
            checking.result()
            raise
        con.execute("drop table temp.read_debates; drop table temp.new_lines")
    return landed


def _insert_rows(
    con: duckdb.DuckDBPyConnection, manifest: ImportManifest, parts: Mapping[str, int], landed_parts: int
) -> dict[str, int]:
    """Insert the rows of the parts (path → index of the part), whose debates were read; the rows that are there now."""
    run_tag, paths = manifest.run_tag, list(parts)
    if not landed_parts:
        remove_run(con, run_tag)
    before = _counts(con, run_tag)
    replaced = replacing_parts(manifest)
    con.execute(
        rows.NEW_LINES,
        {
            "run_tag": run_tag,
            "paths": paths,
            "parts": list(parts.values()),
            "replaced": [key[1] for key in replaced],
            "replacing": list(replaced.values()),
        },
    )
    expected = _expected(con)
    only_new = expected["debates"] < _count(con, "select count(*) from temp.read_debates")
    con.execute(f"insert into raw.debates {rows.DEBATES}", {"run_tag": run_tag})
    con.execute(f"insert into raw.participants {rows.PARTICIPANTS}", {"run_tag": run_tag})
    con.execute(f"insert into raw.turns {rows.turns(only_new)}", {"run_tag": run_tag, "paths": paths})
    con.execute(f"insert into raw.verdicts {rows.verdicts(only_new)}", {"run_tag": run_tag, "paths": paths})
    for table, count in expected.items():
        check_rows(con, table, run_tag, before.get(table, 0) + count)
    _replace_shared_rows(con, manifest)
    return _counts(con, run_tag)


@contextmanager
def _linked(folder: Path, manifest: ImportManifest, landed_parts: int) -> Iterator[dict[str, int]]:
    """The files of the parts to land, each with the index of its part, under names that are no patterns."""
    with tempfile.TemporaryDirectory(prefix="debatebench-landing-") as links:
        found: dict[str, int] = {}
        for index, part in enumerate(manifest.parts):
            if index >= landed_parts:
                for file in files_of(folder, manifest, part):
                    link = os.path.join(links, f"{len(found)}.jsonl")
                    os.symlink(file.resolve(), link)
                    found[link] = index
        yield found


def _check(folder: Path, manifest: ImportManifest, landed_parts: int) -> None:
    """Raise `DamagedDataError` if a file to land is not what was imported."""
    for part in manifest.parts[landed_parts:]:
        check_part(folder, manifest, part)


def _replace_shared_rows(con: duckdb.DuckDBPyConnection, manifest: ImportManifest) -> None:
    run_tag = manifest.run_tag
    for table, select in rows.SHARED_ROWS.items():
        con.execute(f"create or replace temp table replacement as {select}", {"run_tag": run_tag})
        con.execute(f"delete from raw.{table} where run_tag = ?", [run_tag])
        con.execute(f"insert into raw.{table} from temp.replacement")
    con.execute("drop table temp.replacement")
    stated = ", ".join(f"list(distinct {value}) filter ({value} is not null)" for value in rows.RUN_FACTS.values())
    *values, created_at = con.execute(
        f"select {stated}, min(created_at) from raw.debates where run_tag = ?", [run_tag]
    ).fetchall()[0]
    facts = {name: set(found or ()) for name, found in zip(rows.RUN_FACTS, values, strict=True)}
    con.execute("delete from raw.runs where run_tag = ?", [run_tag])
    insert_records(con, run_tag, [run_record(manifest, facts, created_at)])
    land_run_settings(con, run_tag)


def _expected(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """How many rows the new debates must give, by table."""
    debates, turns, verdicts = con.execute(
        f"select count(*), coalesce(sum(count_turns), 0), coalesce(sum(count_verdicts), 0) from {rows.NEW_DEBATES}"
    ).fetchall()[0]
    return {"debates": debates, "participants": 2 * debates, "turns": int(turns), "verdicts": int(verdicts)}


def _counts(con: duckdb.DuckDBPyConnection, run_tag: str) -> dict[str, int]:
    """The tag's rows by table, where there are any."""
    counts = {table: _count(con, f"select count(*) from raw.{table} where run_tag = ?", run_tag) for table in TABLES}
    return {table: count for table, count in counts.items() if count}


def _count(con: duckdb.DuckDBPyConnection, query: str, *values: Any) -> int:
    ((count,),) = con.execute(query, list(values)).fetchall()
    return int(count)
