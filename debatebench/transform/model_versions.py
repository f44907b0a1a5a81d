"""Versions of a SQL model: which there are, which is not out yet, which should no longer be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING

from debatebench.shared.errors import UsageError
from debatebench.transform.graph import did_you_mean

if TYPE_CHECKING:
    from debatebench.transform.sql_model import SqlModel

__all__ = ["is_prerelease", "reading_warnings", "remarks", "versions_of"]


def versions_of(models: Mapping[str, SqlModel], name: str) -> tuple[SqlModel, dict[int, SqlModel]]:
    """The unsuffixed SQL model that `name` means (with or without its schema), and its versions by number.

    Raises `UsageError` when there is no such SQL model, or it has no versions.
    """
    wanted = name.strip().lower()
    named = [model for model in models.values() if wanted in (model.name, model.name.partition(".")[2])]
    aliases = {model.name: model for model in models.values() if model.alias_of is not None}
    if not named:
        known = [*aliases, *(alias.partition(".")[2] for alias in aliases), *models]
        raise UsageError(f"No SQL model '{name}'.{did_you_mean(wanted, known)} With versions: {', '.join(aliases)}.")
    if len(named) > 1:
        raise UsageError(f"'{name}' can be {' and '.join(model.name for model in named)}: write the schema, too.")
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
    """Whether a version can be queried, but is not yet what the unsuffixed name may become."""
    if model.version is None:
        return False
    latest = model.properties.latest
    marked = any(each.v == model.version and each.prerelease for each in model.properties.versions)
    return marked or (latest is not None and model.version > latest)


def remarks(model: SqlModel, today: date) -> list[str]:
    """What somebody who uses this SQL model should know: that it is a prerelease, or deprecated."""
    found = []
    if is_prerelease(model):
        found.append(f"{model.name} is a prerelease: its meaning may still change.")
    deprecated = model.properties.deprecation_date
    if deprecated is not None:
        is_past = deprecated <= today
        found.append(f"{model.name} {'is deprecated since' if is_past else 'will be deprecated on'} {deprecated}.")
    return found


def reading_warnings(models: Mapping[str, SqlModel], today: date) -> Iterator[str]:
    """One warning for each SQL model that reads a prerelease, or something that is deprecated by now."""
    for model in models.values():
        for dependency in model.dependencies:
            read = models.get(dependency)
            if read is None:
                continue
            deprecated = read.properties.deprecation_date
            if deprecated is not None and deprecated <= today:
                yield f"{model.name} reads {dependency}, which is deprecated since {deprecated}."
            if is_prerelease(read):
                yield f"{model.name} reads {dependency}, a prerelease whose meaning may still change."
