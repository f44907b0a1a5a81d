"""Files → checked SQL models: each SQL file is joined with its YAML, every name is known, and there is no cycle."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.transform.broken import Broken
from debatebench.transform.domain import Domain, PythonFunctions
from debatebench.transform.graph import check_layers, check_references, did_you_mean, in_order
from debatebench.transform.load_macros import load_macros, macro_tests
from debatebench.transform.macros import Macro, check_macro_calls
from debatebench.transform.properties import (
    AddedVersions,
    CommonColumn,
    LocatedMacroTest,
    LocatedUnitTest,
    ModelProperties,
    PropertiesFile,
    UnitTest,
    read_properties,
)
from debatebench.transform.sql_model import (
    MACROS,
    Query,
    Reference,
    SingularTest,
    SqlModel,
    parse_query,
    read_sql,
    split_version,
)
from debatebench.transform.testing.generic_tests import GenericTest, Relationships, RowCount

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TAKEN_SCHEMAS = {"raw", "meta", "main", "temp", "pg_catalog", "information_schema", "system"}


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of `models` in a YAML file."""

    properties: ModelProperties
    file: Path
    line: int

    @property
    def where(self) -> str:
        return f"{shown_path(self.file)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Checked:
    """The checked content of the files of a project; see the properties of `Project`."""

    models: dict[str, SqlModel]
    macros: dict[str, Macro]
    singular_tests: tuple[SingularTest, ...]
    unit_tests: tuple[LocatedUnitTest, ...]
    macro_tests: tuple[LocatedMacroTest, ...]
    common_columns: dict[str, str]
    broken: Broken
    """What was left out."""


def load_files(files: Mapping[str, Path], domain: Domain, *, skip_broken: bool = False) -> Checked:
    """SQL models and macros in dependency order, tests and common columns of `files` (relative path → file).

    With `skip_broken`, what has an error is left out with all that depends on it; else the first error is raised.
    """
    broken = Broken(skip=skip_broken)
    yaml_files = read_yaml_files(files, broken)
    common = _common_columns(yaml_files, broken)
    entries = _entries(yaml_files, common, broken)
    macros = load_macros(files, yaml_files, domain.functions, broken)
    models, singular = _read_models(files, entries, broken)
    _check_described_files(entries, models, files, broken)
    models |= _aliases(entries, models, broken)

    known = [*models, *domain.tables, *broken]
    for model in models.values():
        with broken.of(model.name):
            if model.alias_of is None:
                check_references(model.query, model.file, known)
                check_macro_calls(model.query, model.file, macros, broken)
                check_layers(model)
                _check_functions(model, domain.functions)
            _check_test_targets(model, known)
    for test in singular.values():
        with broken.of(f"tests.{test.name}"):
            check_references(test.query, test.file, known)
            check_macro_calls(test.query, test.file, macros, broken)
    ordered = in_order(models, broken)
    _check_incremental(ordered, domain, broken)
    broken.spread({name: _needed(model.query) for name, model in ordered.items()})
    broken.spread({f"tests.{name}": _needed(test.query) for name, test in singular.items()})
    ordered = {name: model for name, model in ordered.items() if name not in broken}
    return Checked(
        models=ordered,
        macros=macros,
        singular_tests=tuple(test for name, test in singular.items() if f"tests.{name}" not in broken),
        unit_tests=tuple(_unit_tests(yaml_files, ordered, broken)),
        macro_tests=tuple(macro_tests(yaml_files, macros, broken)),
        common_columns={name: column.description for name, column in common.items()},
        broken=broken,
    )


def _needed(query: Query) -> list[str]:
    """The SQL models that a query reads and the macros that it calls."""
    return [*(reference.name for reference in query.references), *(call.name for call in query.macro_calls)]


def _read_models(
    files: Mapping[str, Path], entries: Mapping[str, _Entry], broken: Broken
) -> tuple[dict[str, SqlModel], dict[str, SingularTest]]:
    """The SQL models and singular tests by name."""
    models: dict[str, SqlModel] = {}
    singular: dict[str, SingularTest] = {}
    for path, file in sorted(files.items()):
        if not path.endswith(".sql") or path.startswith(f"{MACROS}/"):
            continue
        where = PurePosixPath(path)
        name = f"{where.parts[0]}.{where.stem}" if len(where.parts) > 1 else path
        with broken.of(name):
            if where.parts[0] == "tests":
                _check_new(f"the test '{where.stem}'", file, singular.get(where.stem))
                singular[where.stem] = SingularTest(where.stem, file, parse_query(read_sql(file), file))
            else:
                _check_read(name, entries, broken)
                _check_new(name, file, models.get(name))
                models[name] = _model(path, file, entries)
    return models, singular


def _check_read(name: str, entries: Mapping[str, _Entry], broken: Mapping[str, SqlModelError]) -> None:
    """Refuse a SQL model that is not described if a YAML file of its schema cannot be read, by the file's error."""
    schema, _, table = name.partition(".")
    if name not in entries and f"{schema}.{split_version(table)[0]}" not in entries:
        for path, error in broken.items():
            if path.startswith(f"{schema}/"):
                raise error


def read_yaml_files(files: Mapping[str, Path], broken: Broken) -> dict[PurePosixPath, PropertiesFile]:
    """Every YAML file of `files` by relative path, with the versions that one file adds to another's SQL model."""
    read: dict[PurePosixPath, PropertiesFile] = {}
    for name, file in sorted(files.items()):
        if name.endswith((".yml", ".yaml")):
            with broken.of(name):
                read[PurePosixPath(name)] = read_properties(file)
    added = _added_versions(read)
    if not added:
        return read
    for path, each in read.items():
        models = tuple(
            (_completed(entry, added.pop(dotted_name(entry.name, path), ()), broken), line)
            for entry, line in each.models
        )
        read[path] = replace(each, models=models)
    for name, versions in added.items():
        for addition in versions:
            with broken.of(str(addition.path)):
                raise SqlModelError(
                    f"{addition.where}: {name} has versions here, but no file describes it. Describe it, or rename "
                    "this file if it replaces the packaged one that does."
                )
    return read


@dataclass(frozen=True, slots=True)
class _Added:
    """Versions that one YAML file adds to the SQL model of another."""

    versions: AddedVersions
    path: PurePosixPath
    where: str


def _added_versions(read: Mapping[PurePosixPath, PropertiesFile]) -> dict[str, tuple[_Added, ...]]:
    """Dotted name → the versions that are added to the SQL model."""
    found: dict[str, tuple[_Added, ...]] = {}
    for path, each in read.items():
        for added, line in each.added:
            name = dotted_name(added.name, path)
            found[name] = (*found.get(name, ()), _Added(added, path, f"{shown_path(each.file)}:{line}"))
    return found


def _completed(properties: ModelProperties, added: Iterable[_Added], broken: Broken) -> ModelProperties:
    for each in added:
        with broken.of(str(each.path)):
            try:
                properties = properties.with_added(each.versions)
            except ValueError as error:
                raise SqlModelError(f"{each.where}: {properties.name}: {error}.") from None
    return properties


def _common_columns(yaml_files: Mapping[PurePosixPath, PropertiesFile], broken: Broken) -> dict[str, CommonColumn]:
    """The columns that have the same meaning everywhere, by name."""
    found: dict[str, CommonColumn] = {}
    places: dict[str, str] = {}
    for path, read in yaml_files.items():
        for column, line in zip(read.properties.columns, read.column_lines, strict=True):
            name, where = column.name.lower(), f"{shown_path(read.file)}:{line}"
            with broken.of(str(path)):
                if name in places:
                    raise SqlModelError(f"{where}: the column '{name}' is already described at {places[name]}.")
                found[name], places[name] = column, where
    return found


def _entries(
    yaml_files: Mapping[PurePosixPath, PropertiesFile], common: Mapping[str, CommonColumn], broken: Broken
) -> dict[str, _Entry]:
    """Dotted name → entry; the schema of an undotted name is the top folder of the YAML file."""
    typed = {name: column for name, column in common.items() if column.data_type is not None}
    entries: dict[str, _Entry] = {}
    for path, read in yaml_files.items():
        for properties, line in read.models:
            name = dotted_name(properties.name, path)
            entry = _Entry(properties, read.file, line)
            with broken.of(name):
                try:
                    entry = replace(entry, properties=properties.with_common(typed))
                except KeyError as missing:
                    raise SqlModelError(
                        f"{entry.where}: {name} lists the column {missing}, which has no common `data_type`; write "
                        f"`{{name: {missing.args[0]}, data_type: …}}`.{did_you_mean(missing.args[0], typed)}"
                    ) from None
                if name in entries:
                    raise SqlModelError(f"{entry.where}: {name} is already described at {entries[name].where}.")
                entries[name] = entry
    return entries


def dotted_name(name: str, yaml_path: PurePosixPath) -> str:
    """The name of a SQL model in a YAML file, with its schema, which is by default the folder of the file."""
    name = name.lower()
    return name if "." in name or len(yaml_path.parts) < 2 else f"{yaml_path.parts[0]}.{name}"


def _model(path: str, file: Path, entries: Mapping[str, _Entry]) -> SqlModel:
    """The SQL model of one SQL file and its YAML."""
    parts = PurePosixPath(path).parts
    if len(parts) < 2:
        raise SqlModelError(
            f"{shown_path(file)}: a SQL model must be in a folder, which is its schema: marts/name.sql."
        )
    schema, table = parts[0], parts[-1].removesuffix(".sql")
    if schema in _TAKEN_SCHEMAS:
        raise SqlModelError(f"{shown_path(file)}: the schema '{schema}' is not for SQL models; use another folder.")
    for part in (schema, table):
        if not _NAME.fullmatch(part):
            raise SqlModelError(f"{shown_path(file)}: '{part}' is not a name; use lower-case letters, digits and _.")
    name = f"{schema}.{table}"
    base, version = split_version(table)
    entry = entries.get(name)
    properties, properties_file = (entry.properties, entry.file) if entry else (None, file)
    if entry is not None and entry.properties.versions:
        numbers = ", ".join(str(v.v) for v in entry.properties.versions)
        raise SqlModelError(
            f"{shown_path(file)}: {name} has the versions {numbers} ({entry.where}), so the build creates the "
            "unsuffixed name; rename the file to one of the versions."
        )
    if entry is None and version is not None:
        entry = entries.get(f"{schema}.{base}")
        if entry is not None and any(v.v == version for v in entry.properties.versions):
            properties, properties_file = entry.properties.of_version(version), entry.file
    if properties is None:
        raise SqlModelError(
            f"{shown_path(file)}:1: {name} has no description; add it under `models` in sql/{schema}/_{schema}.yml."
            f"{did_you_mean(name, (other for other in entries if other.startswith(schema + '.')))}"
        )
    is_version = bool(properties.versions)
    return SqlModel(
        name=name,
        file=file,
        path=path,
        query=parse_query(read_sql(file), file),
        properties=properties,
        base_name=base if is_version else table,
        version=version if is_version else None,
        properties_file=properties_file,
    )


def _check_new(name: str, file: Path, earlier: SqlModel | SingularTest | None) -> None:
    """Refuse a second file of the same name; subfolders are not part of a name."""
    if earlier is not None:
        raise SqlModelError(
            f"{shown_path(file)}: {name} is also defined in {shown_path(earlier.file)}; rename or remove one of them."
        )


def _check_described_files(
    entries: Mapping[str, _Entry], models: Mapping[str, SqlModel], files: Mapping[str, Path], broken: Broken
) -> None:
    """Refuse a description without a SQL file."""
    for name, entry in entries.items():
        names = [f"{name}_v{v.v}" for v in entry.properties.versions] or [name]
        for expected in names:
            if expected not in models and expected not in broken:
                path = expected.replace(".", "/") + ".sql"
                with broken.of(expected):
                    raise SqlModelError(
                        f"{entry.where}: {expected} is described, but there is no sql/{path}."
                        f"{did_you_mean(path, (other for other in files if other.endswith('.sql')))}"
                    )


def _aliases(entries: Mapping[str, _Entry], models: Mapping[str, SqlModel], broken: Broken) -> dict[str, SqlModel]:
    """The unsuffixed name of every versioned model: a view on the latest version."""
    found: dict[str, SqlModel] = {}
    for name, entry in entries.items():
        if not entry.properties.versions:
            continue
        with broken.of(name):
            number = entry.properties.latest
            if number is None:
                raise SqlModelError(f"{entry.where}: every version of {name} is a prerelease; one must be the latest.")
            if (latest := f"{name}_v{number}") in broken:
                raise broken[latest]
            found[name] = _alias(name, entry, models[latest])
    return found


def _alias(name: str, entry: _Entry, latest: SqlModel) -> SqlModel:
    described = latest.properties
    return SqlModel(
        name=name,
        file=entry.file,
        path=str(PurePosixPath(latest.path).with_name(f"{latest.base_name}.sql")),
        query=_alias_query(latest.name, entry.line),
        properties=described.model_copy(
            update={
                "config": described.config.model_copy(update={"materialized": "view", "incremental_by": None}),
                # The version's own tests are enough, because the view has the same rows.
                "columns": tuple(c.model_copy(update={"data_tests": ()}) for c in described.columns),
                "data_tests": (),
            }
        ),
        base_name=latest.base_name,
        alias_of=latest.name,
        properties_file=entry.file,
    )


def _alias_query(name: str, line: int) -> Query:
    sql = f"select * from {name}"
    sha256 = hashlib.sha256(sql.encode()).hexdigest()
    return Query(sql, sha256, sha256, (Reference(name, line),), ())


def _check_functions(model: SqlModel, functions: PythonFunctions) -> None:
    """Refuse a view that calls a Python function, because another process could not read it."""
    called = functions.python_functions(model.query.functions)
    if called and model.materialized == "view":
        raise SqlModelError(
            f"{shown_path(model.file)}: {model.name} calls the Python function '{called[0]}', so it cannot be a view; "
            f"set `config: {{materialized: table}}` in {shown_path(model.properties_file)}."
        )


def _check_incremental(models: Mapping[str, SqlModel], domain: Domain, broken: Broken) -> None:
    """Refuse `incremental_by` where rows cannot be separated by part; `models` are in dependency order."""
    reading_parts = set(domain.tables)
    for model in models.values():
        above = [name for name in model.dependencies if name in reading_parts]
        reading_parts |= {model.name} if above else set()
        part = model.properties.config.incremental_by
        if part is None:
            continue
        where = f"{shown_path(model.properties_file)}: {model.name} is incremental by {part}"
        with broken.of(model.name):
            if part != domain.part:
                raise SqlModelError(f"{where}, but rows are landed by {domain.part}; write `{domain.part}`.")
            if not model.has_column(part):
                raise SqlModelError(f"{where}, but it describes no column of that name.")
            for name in above:
                if name in models and not models[name].has_column(part):
                    raise SqlModelError(
                        f"{where}, but it reads {name}, whose rows are computed for all values of {part} together; "
                        "leave `incremental_by` out."
                    )


def _check_test_targets(model: SqlModel, known: Collection[str]) -> None:
    """Refuse data tests in the wrong place, with unknown columns, or that compare with unknown SQL models."""
    columns = {column.name.lower() for column in model.properties.columns}
    placed: list[tuple[GenericTest, str | None]] = [(test, None) for test in model.properties.data_tests]
    placed += [(test, column.name) for column in model.properties.columns for test in column.data_tests]
    for test, column in placed:
        where = f"{shown_path(model.properties_file)}: {test.kind} of {model.name}{'.' + column if column else ''}"
        if test.needs_column is True and column is None:
            raise SqlModelError(f"{where}: the test belongs under a column, not under the SQL model.")
        if test.needs_column is False and column is not None:
            raise SqlModelError(f"{where}: the test belongs under the SQL model, not under a column.")
        if isinstance(test, Relationships) and column is None and not test.columns:
            raise SqlModelError(f"{where}: name the `columns`, or put the test under a column.")
        target = test.to if isinstance(test, Relationships) else test.same_as if isinstance(test, RowCount) else None
        if target is not None and target not in known:
            raise SqlModelError(f"{where}: no SQL model '{target}'.{did_you_mean(target, known)}")
        used = [here for here, _ in test.pairs(None)] if isinstance(test, Relationships) and column is None else []
        used += getattr(test, "combination_of_columns", ())
        for name in used:
            if columns and name.lower() not in columns:
                raise SqlModelError(f"{where}: no column '{name}'.{did_you_mean(name, sorted(columns))}")


def _unit_tests(
    yaml_files: Mapping[PurePosixPath, PropertiesFile], models: Mapping[str, SqlModel], broken: Broken
) -> Iterator[LocatedUnitTest]:
    """Every unit test of a SQL model that is not broken, after a check that its SQL model and inputs exist."""
    seen: dict[tuple[str, str], str] = {}
    for path, read in yaml_files.items():
        for test, line in zip(read.properties.unit_tests, read.unit_test_lines, strict=True):
            if not isinstance(test, UnitTest) or (name := dotted_name(test.model, path)) in broken:
                continue
            place = f"{shown_path(read.file)}:{line}"
            with broken.of(f"unit test {test.name}"):
                model = _tested_model(test, name, f"{place}: unit test {test.name}", models)
                if (model, test.name) in seen:
                    raise SqlModelError(
                        f"{place}: unit test {test.name}: the name is already used at {seen[model, test.name]}."
                    )
                seen[model, test.name] = place
                yield LocatedUnitTest(test, model, read.file, line)


def _tested_model(test: UnitTest, name: str, where: str, models: Mapping[str, SqlModel]) -> str:
    """The SQL model that a unit test runs, after a check that it exists and reads the inputs that are given."""
    if name not in models:
        raise SqlModelError(f"{where}: no SQL model '{name}'.{did_you_mean(name, models)}")
    model = models[models[name].alias_of or name]
    for given in test.given:
        if given.input.lower() not in model.dependencies:
            raise SqlModelError(
                f"{where}: {model.name} does not read '{given.input}'; it reads "
                f"{', '.join(model.dependencies) or 'nothing'}."
            )
    return model.name
