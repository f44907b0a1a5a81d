"""The dependency graph of SQL models: what may read what, in which order, and which models a selection matches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Protocol, TypeVar

from debatebench.shared.amounts import did_you_mean
from debatebench.shared.errors import SqlModelError, UsageError
from debatebench.shared.files import shown_path
from debatebench.transform.broken import Broken, broken_among
from debatebench.transform.dbt_words import as_seed, is_file_name
from debatebench.transform.sql_model import MacroCall, Query, Reference, SqlModel


def check_references(query: Query, file: Path, known: Collection[str]) -> None:
    """Refuse a name that is not one of the `known` SQL models and raw tables, by file and line."""
    for reference in query.references:
        if reference.name not in known:
            hint = did_you_mean(reference.name, known)
            if not hint and is_file_name(reference.name):
                hint = f" If it is a file: {as_seed(reference.name)}."
            raise SqlModelError(
                f"{shown_path(file)}:{reference.line}: no SQL model or raw table '{reference.name}'.{hint}"
            )


def check_layers(model: SqlModel) -> None:
    """Refuse a reference against the direction raw → staging → everything else."""
    for reference in model.query.references:
        where = f"{shown_path(model.file)}:{reference.line}"
        reads_raw = reference.name.startswith("raw.")
        if model.schema == "staging" and not reads_raw:
            raise SqlModelError(f"{where}: {model.name} may read only raw, so it cannot read '{reference.name}'.")
        if model.schema != "staging" and reads_raw:
            raise SqlModelError(
                f"{where}: only staging reads raw tables, so {model.name} cannot read '{reference.name}'; "
                "read its staging model."
            )


class _Item(Protocol):
    """What is put in order: a SQL model, which reads others, or a macro, which calls others."""

    @property
    def file(self) -> Path: ...

    @property
    def needs(self) -> Sequence[Reference | MacroCall]: ...


Item = TypeVar("Item", bound=_Item)


def in_order(
    items: Mapping[str, Item], broken: Broken | None = None, *, kind: str = "SQL models", verb: str = "read"
) -> dict[str, Item]:
    """The same items, each after those that it needs; equal inputs give equal orders.

    A cycle is refused, or its items are added to `broken` and left out.
    """
    edges = {name: [each.name for each in items[name].needs if each.name in items] for name in sorted(items)}
    try:
        return {name: items[name] for name in TopologicalSorter(edges).static_order()}
    except CycleError as error:
        cycle: list[str] = error.args[1][::-1]
    steps = []
    for item, needed in pairwise(cycle):
        line = next(each.line for each in items[item].needs if each.name == needed)
        steps.append(f"{item} {verb}s {needed} ({shown_path(items[item].file)}:{line})")
    found = SqlModelError(f"{kind} {verb} each other in a cycle: {', '.join(steps)}.")
    if broken is None:
        raise found
    for name in cycle:
        with broken.of(name):
            raise found
    rest = {name: item for name, item in items.items() if name not in cycle}
    return in_order(rest, broken, kind=kind, verb=verb)


def upstream(models: Mapping[str, SqlModel], names: Iterable[str]) -> set[str]:
    """`names` and every SQL model that they read, directly or not."""
    found: set[str] = set()
    open_names = list(names)
    while open_names:
        name = open_names.pop()
        if name in models and name not in found:
            found.add(name)
            open_names.extend(models[name].dependencies)
    return found


def downstream(models: Mapping[str, SqlModel], names: Iterable[str]) -> set[str]:
    """`names` and every SQL model that reads them, directly or not."""
    found = set(names)
    for name in in_order(models):
        if any(dependency in found for dependency in models[name].dependencies):
            found.add(name)
    return found


def select_models(
    models: Mapping[str, SqlModel], selectors: Sequence[str], broken: Mapping[str, SqlModelError] | None = None
) -> list[str]:
    """The SQL models that match any of `selectors`, each after those that it reads.

    A selector is `name`, `schema.name` (both may contain `*`), `tag:x` or `path:sql/marts/sales` (a folder or file); a
    `+` before it adds everything that those models read, a `+` after it everything that reads them. The base name of a
    versioned model matches all versions. Raises `UsageError` for a selector that matches nothing.
    """
    chosen: set[str] = set()
    for selector in (part for text in selectors for part in text.split()):
        core = selector.removeprefix("+").removesuffix("+")
        matched = {name for name, model in models.items() if _matches(model, core)}
        if not matched and not broken_among(broken or {}, [core]):
            raise UsageError(f"'{selector}' selects nothing.{_closest(core, models)}")
        if selector.startswith("+"):
            chosen |= upstream(models, matched)
        if selector.endswith("+"):
            chosen |= downstream(models, matched)
        chosen |= matched
    return [name for name in models if name in chosen]


def _matches(model: SqlModel, core: str) -> bool:
    """Whether one selector, without its plus signs, matches this SQL model."""
    kind, separator, value = core.partition(":")
    if separator and kind == "tag":
        return value in model.properties.config.tags
    if separator and kind == "path":
        wanted = value.removeprefix("./").removeprefix("sql/").rstrip("/")
        return wanted in ("", "sql") or model.path == wanted or model.path.startswith(wanted + "/")
    table = model.name.partition(".")[2]
    names = (model.name, table, f"{model.schema}.{model.base_name}", model.base_name)
    return any(fnmatchcase(name, core) for name in names)


def _closest(core: str, models: Mapping[str, SqlModel]) -> str:
    kind, separator, _ = core.partition(":")
    if separator and kind == "tag":
        tags = sorted({tag for model in models.values() for tag in model.properties.config.tags})
        return f" Known tags: {', '.join(tags) or 'none'}."
    if separator and kind == "path":
        folders = {str(folder) for model in models.values() for folder in PurePosixPath("sql", model.path).parents}
        return f" Known folders: {', '.join(sorted(folders - {'.', 'sql'}))}."
    return did_you_mean(core, [*models, *(name.partition(".")[2] for name in models)])
