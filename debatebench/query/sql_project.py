"""The project of a set of SQL files: SQL models over the landed records, with the Python functions of `stats`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.shared.hashing import hash_of
from debatebench.transform.domain import LandedColumn, PythonFunctions
from debatebench.transform.project import Project
from debatebench.transform.sql_model import SqlModel

if TYPE_CHECKING:
    import duckdb


_PACKAGE = Path(__file__).parents[1]


def load_project(files: Mapping[str, Path], *, skip_broken: bool = False) -> Project:
    """The project of `files`: path relative to `sql/` (`marts/debates.sql`) → the file."""
    return Project(dict(files), _Debates(), skip_broken)


class _Debates:
    """What SQL models are about here, see `Domain`: each part of the landed rows is a run.

    A check that a warehouse is up to date needs neither tables nor functions, and does not load them.
    """

    part = "run_tag"
    about = ("raw.runs", "source_run_tag")
    asked = ("marts", "ratings")
    apart = ("raw.run_marks",)

    @cached_property
    def tables(self) -> Mapping[str, Mapping[str, LandedColumn]]:
        from debatebench.shared.record_columns import column_types
        from debatebench.shared.records import TABLES

        return {
            f"raw.{table}": {
                name: LandedColumn(data_type, record.model_fields[name].description or "")
                for name, data_type in column_types(record).items()
            }
            for table, record in TABLES.items()
        }

    @cached_property
    def descriptions(self) -> Mapping[str, str]:
        from debatebench.shared.records import TABLES

        return {f"raw.{table}": " ".join((record.__doc__ or "").split()) for table, record in TABLES.items()}

    @property
    def functions(self) -> PythonFunctions:
        from debatebench.stats import sql

        return sql

    def landed(self, con: duckdb.DuckDBPyConnection) -> dict[str, str] | None:
        import duckdb

        # To list the tables first takes DuckDB longer than everything else.
        try:
            return dict(con.execute("select run_tag, content_sha256 from meta.landings order by all").fetchall())
        except duckdb.CatalogException:
            return None

    def landed_with_bases(self, con: duckdb.DuckDBPyConnection) -> dict[str, str] | None:
        """A run that judges the debates of another run is about the other."""
        landed = self.landed(con)
        judged = con.execute(
            "select 1 from duckdb_columns() where database_name = current_database() and schema_name = 'raw' "
            "and table_name = 'runs' and column_name = 'source_run_tag'"
        )
        if landed is None or not judged.fetchall():
            return landed
        found = con.execute("select run_tag, source_run_tag from raw.runs where source_run_tag is not null").fetchall()
        return landed | {tag: hash_of(landed[tag], landed.get(source, "")) for tag, source in found if tag in landed}

    def misnamed_columns(self, model: SqlModel, types: Mapping[str, str]) -> list[str]:
        from debatebench.query.column_names import misnamed_columns

        return misnamed_columns(model, types)

    def code(self) -> Iterator[Path]:
        yield Path(__file__)
        for name in ("record_columns.py", "records.py", "strict_yaml.py"):
            yield _PACKAGE / "shared" / name
        yield from _PACKAGE.glob("stats/**/*.py")
