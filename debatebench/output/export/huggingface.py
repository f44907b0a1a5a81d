"""A dataset for publication: Parquet files, a card that says what they hold and where they come from, and checksums.

`datasets.load_dataset(FOLDER, "debates")` reads it, because the card's front matter names the files of each table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import duckdb

from debatebench.output.export.dataset_card import dataset_card
from debatebench.output.export.dataset_tables import ATTACKED, TABLES, DatasetTable
from debatebench.output.export.manifest import Contents, LeftOut, ToRead, file_sha256
from debatebench.output.export.names import Names
from debatebench.output.export.parquet import file_texts, write_file
from debatebench.output.export.pseudonyms import make_pseudonyms, pseudonym_key
from debatebench.output.export.snapshot import Snapshot
from debatebench.shared.duckdb_sql import quoted_identifier, quoted_text
from debatebench.shared.errors import UsageError
from debatebench.shared.visible_text import shortened
from debatebench.transform.comments import stored_texts
from debatebench.transform.stored_views import stored_views

CARD = "README.md"
CHECKSUMS = "checksums.sha256"

_LONGEST_EXCERPT = 200
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]*")

_NAMES = """
select annotator_id from staging.stg_annotations where list_contains($tags, run_tag)
union
select adjudicator_id from staging.stg_adjudications where list_contains($tags, run_tag)
"""


def write(snapshot: Snapshot, folder: Path) -> Contents:
    """Write one file per table and run that has rows, the card and the checksums.

    Raises `UsageError` without a licence, and where the chosen runs have no debates.
    """
    license_id = _license(snapshot.dataset.license)
    names = _names(snapshot) if snapshot.dataset.anonymize else None
    instead, left_out = ({}, []) if names is None else _anonymised(snapshot, names)
    rows: dict[str, int] = {}
    totals: dict[DatasetTable, int] = {}
    texts = stored_texts(snapshot.con)
    parts = [(table, run_tag) for table in _tables(snapshot) for run_tag in snapshot.run_tags]
    with stored_views(snapshot.con, [table.relations for table, _ in parts]) as views:
        for table, run_tag in parts:
            path = _path(table, run_tag)
            with views.ready(table.relations):
                about = file_texts(texts, table.relation, dict(table.sources()))
                count = _write_rows(views.con, table, run_tag, folder / path, instead, about)
            if count:
                rows[path] = count
                totals[table] = totals.get(table, 0) + count
    if not any(table.name in ("debates", "attacked_debates") for table in totals):
        raise UsageError(f"{', '.join(snapshot.run_tags)} has no debates to publish.")
    (folder / CARD).write_text(dataset_card(snapshot, license_id, totals), encoding="utf-8")
    _write_checksums(folder)
    to_read = None if names is None else tuple(_to_read(snapshot.con, folder, rows, names))
    return Contents(rows, (*left_out, *_attacked_left_out(snapshot)), to_read=to_read)


def _license(text: str | None) -> str:
    """The identifier as the Hub writes it, or a sentence that says what is missing."""
    if text is None:
        raise UsageError(
            "A dataset states its licence; give it with --license, for example --license cc-by-4.0, or --license other."
        )
    license_id = text.strip().lower()
    if not _LICENSE.fullmatch(license_id):
        raise UsageError(
            f"{text!r} is not the identifier of a licence, such as mit or cc-by-4.0; give `other` for one without."
        )
    return license_id


def _tables(snapshot: Snapshot) -> tuple[DatasetTable, ...]:
    return (*TABLES, *ATTACKED) if snapshot.dataset.with_attacked else TABLES


def _attacked_left_out(snapshot: Snapshot) -> list[LeftOut]:
    """The altered copies of debates, where they are not asked for."""
    if snapshot.dataset.with_attacked:
        return []
    found = snapshot.con.execute(
        "select run_tag, count(*) from staging.stg_attacked_debates where list_contains($tags, run_tag) "
        "group by run_tag order by run_tag",
        {"tags": list(snapshot.run_tags)},
    ).fetchall()
    return [
        LeftOut(what="attacked copies of debates", why="--with-attacked adds them", count=count, run_tag=run_tag)
        for run_tag, count in found
    ]


def _path(table: DatasetTable, run_tag: str) -> str:
    return f"data/{table.name}/{quote(run_tag, safe='')}.parquet"


def _write_rows(
    con: duckdb.DuckDBPyConnection,
    table: DatasetTable,
    run_tag: str,
    path: Path,
    instead: dict[str, str],
    about: Mapping[str, str],
) -> int:
    """Write a run's rows of a table and return their number. Without rows there is no file, and perhaps no folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = write_file(con, path, table.query(con, instead), [run_tag], about)
    if not count:
        path.unlink()
        with suppress(OSError):  # the folder has files of other runs
            path.parent.rmdir()
    return count


def _names(snapshot: Snapshot) -> Names:
    """The people of the chosen runs."""
    found = snapshot.con.execute(_NAMES, {"tags": list(snapshot.run_tags)}).fetchall()
    return Names(make_pseudonyms([name for (name,) in found], pseudonym_key(snapshot.database.parent)) if found else {})


def _anonymised(snapshot: Snapshot, names: Names) -> tuple[dict[str, str], list[LeftOut]]:
    """Tables without names, by the SQL model that they stand for; and what they lack."""
    con, tags, pseudonyms = snapshot.con, {"tags": list(snapshot.run_tags)}, names.pseudonyms
    con.execute("create or replace table memory.main.people (name varchar, pseudonym varchar)")
    con.execute("insert into memory.main.people select unnest(?), unnest(?)", [[*pseudonyms], [*pseudonyms.values()]])
    instead: dict[str, str] = {}
    for relation, person in (("stg_annotations", "annotator_id"), ("stg_adjudications", "adjudicator_id")):
        texts = con.execute(
            f"select distinct justification from staging.{relation} "
            "where list_contains($tags, run_tag) and justification is not null",
            tags,
        ).fetchall()
        con.execute(f"create or replace table memory.main.{relation}_texts (text varchar, clean varchar)")
        con.execute(
            f"insert into memory.main.{relation}_texts select unnest(?), unnest(?)",
            [[text for (text,) in texts], [names.without(text) for (text,) in texts]],
        )
        no_metadata = ", null::json as metadata" if relation == "stg_annotations" else ""
        con.execute(
            f"create or replace table memory.main.{relation} as "
            f"select given.* replace (people.pseudonym as {person}, texts.clean as justification{no_metadata}) "
            f"from staging.{relation} as given "
            f"inner join memory.main.people on given.{person} = people.name "
            f"left join memory.main.{relation}_texts as texts on given.justification = texts.text"
        )
        instead[f"staging.{relation}"] = f"memory.main.{relation}"
    ((count,),) = con.execute(
        "select count(metadata) from staging.stg_annotations where list_contains($tags, run_tag)", tags
    ).fetchall()
    if not count:
        return instead, []
    return instead, [LeftOut(what="annotations' metadata", why="they may name the annotator", count=count)]


def _to_read(con: duckdb.DuckDBPyConnection, folder: Path, paths: Iterable[str], names: Names) -> Iterator[ToRead]:
    """What may show a person in the written files: in their own texts, and where others' texts have their names."""
    for path in paths:
        file = quoted_text(str(folder / path))
        columns = con.execute(
            f"select column_name from (describe from {file}) where column_type = 'VARCHAR'"
        ).fetchall()
        for (column,) in columns:
            find = names.left_in if column == "justification" else names.named_in
            texts = con.execute(
                f"select distinct {quoted_identifier(column)} as text from {file} order by text"
            ).fetchall()
            for (text,) in texts:
                for words, why in dict.fromkeys(find(text or "")):
                    yield ToRead(path, column, words, why, shortened(" ".join((text or "").split()), _LONGEST_EXCERPT))


def _write_checksums(folder: Path) -> None:
    """The SHA-256 of every file, as `sha256sum --check` reads it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{file_sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")
