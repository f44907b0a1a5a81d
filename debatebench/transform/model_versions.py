"""Versions of a SQL model: which exist, which are prereleases or deprecated, and what the latest one lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING

from debatebench.shared.amounts import did_you_mean
from debatebench.shared.errors import UsageError
from debatebench.shared.files import shown_path
from debatebench.transform.contracts import columns_of_all
from debatebench.transform.one_query import execute_one
from debatebench.transform.sql_model import SqlModel

if TYPE_CHECKING:
    import duckdb


def versions_of(models: Mapping[str, SqlModel], name: str) -> tuple[SqlModel, dict[int, SqlModel]]:
    """The unsuffixed SQL model named `name` (with or without its schema), and its versions by number.

    Raises `UsageError` when the SQL model does not exist or has no versions.
    """
    wanted = name.strip().lower()
    named = [model for model in models.values() if wanted in (model.name, model.name.partition(".")[2])]
    aliases = {model.name: model for model in models.values() if model.alias_of is not None}
    if not named:
        known = [*aliases, *(alias.partition(".")[2] for alias in aliases), *models]
        raise UsageError(f"No SQL model '{name}'.{did_you_mean(wanted, known)} With versions: {', '.join(aliases)}.")
    if len(named) > 1:
        raise UsageError(f"'{name}' is ambiguous: {' or '.join(model.name for model in named)}; write the schema too.")
    model = aliases.get(f"{named[0].schema}.{named[0].base_name}")
    if model is None:
        listed = ", ".join(aliases) or "none"
        raise UsageError(f"{named[0].name} has no versions. SQL models with versions: {listed}.")
    found = {
        each.version: each
        for each in models.values()
        if each.version is not None and (each.schema, each.base_name) == (model.schema, model.base_name)
    }
    return model, dict(sorted(found.items()))


def is_prerelease(model: SqlModel) -> bool:
    """Whether a version can be queried, but is not yet a candidate for the unsuffixed name."""
    if model.version is None:
        return False
    latest = model.properties.latest
    marked = any(each.v == model.version and each.prerelease for each in model.properties.versions)
    return marked or (latest is not None and model.version > latest)


def remarks(model: SqlModel, today: date) -> list[str]:
    """Remarks for users of this SQL model: that it is a prerelease, or deprecated."""
    found = []
    if is_prerelease(model):
        found.append(f"{model.name} is a prerelease: its meaning may still change.")
    deprecated = model.properties.deprecation_date
    if deprecated is not None:
        is_past = deprecated <= today
        found.append(
            f"{model.name} {'has been deprecated since' if is_past else 'will be deprecated on'} {deprecated}."
        )
    return found


def reading_warnings(models: Mapping[str, SqlModel], today: date) -> Iterator[str]:
    """One warning for each SQL model that reads a deprecated one, or a prerelease without being one itself."""
    for model in models.values():
        for dependency in model.dependencies:
            read = models.get(dependency)
            if read is None:
                continue
            deprecated = read.properties.deprecation_date
            if deprecated is not None and deprecated <= today:
                yield f"{model.name} reads {dependency}, which has been deprecated since {deprecated}."
            if is_prerelease(read) and not is_prerelease(model):
                yield f"{model.name} reads {dependency}, a prerelease whose meaning may still change."


def version_that_fits(
    con: duckdb.DuckDBPyConnection,
    model: SqlModel,
    models: Mapping[str, SqlModel],
    wrong: str,
    is_right: Callable[[Mapping[str, str]], bool],
) -> str:
    """What to add to the message `wrong` of a build if another version of what `model` reads has what it needs.

    `wrong` names the column. A version is tried in the place of the latest: the query of `model` must be bound with it,
    and `is_right` accept its columns, with types. Empty if there is no such version, or if it is not built. `con` is
    without a transaction.
    """
    columns = columns_of_all(con)
    named = set(re.findall(r"\w+", wrong.lower()))
    for reference in model.query.references:
        if reference.name not in models or models[reference.name].alias_of is None:
            continue
        alias, versions = versions_of(models, reference.name)
        latest = models[str(alias.alias_of)]
        if latest.name not in columns:
            continue
        for number, column, change in _changes(latest, versions, columns):
            if column.lower() not in named:
                continue
            found = _columns_with(con, model, alias.name, versions[number].name)
            if found is not None and is_right(found):
                return (
                    f" It reads {alias.name}, which {change}: to have {column} as before, fix "
                    f"{shown_path(latest.file)}, set `latest_version: {number}`, or change {model.name}."
                )
    return ""


def _columns_with(con: duckdb.DuckDBPyConnection, model: SqlModel, name: str, other: str) -> dict[str, str] | None:
    """The columns, with types, of `model` if `name` were `other`; None if its query could not be bound."""
    import duckdb

    con.execute("begin")
    try:
        con.execute(f"create or replace view {name} as select * from {other}")
        rows = execute_one(con, f"{model.query.sql}\n", model.file, into="describe ").fetchall()
    except duckdb.Error:
        return None
    finally:
        con.execute("rollback")
    return {column: sql_type for column, sql_type, *_ in rows}


def _changes(
    latest: SqlModel, versions: Mapping[int, SqlModel], columns: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[int, str, str]]:
    """(version, column, how the latest version changes it), from the version that is closest to the latest."""
    top = latest.version or 0
    have = {number: columns.get(version.name, {}) for number, version in versions.items()}
    for number in sorted(have.keys() - {top}, key=lambda n: (abs(n - top), n)):
        for column, sql_type in have[number].items():
            now = have[top].get(column)
            if now == sql_type:
                continue
            since = min((n for n in have if number < n <= top and have[n].get(column) != sql_type), default=None)
            when = f"in version {top}" if since is None else f"since version {since}"
            if now is None:
                yield number, column, f"lacks {column} {when} (version {number} has it)"
            else:
                yield number, column, f"has {column} as {now} {when} ({sql_type} in version {number})"
