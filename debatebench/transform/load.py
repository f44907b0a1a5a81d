"""Files → checked SQL models and macros: each SQL file is joined with its YAML, every name is known, and nothing is in
a cycle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

from debatebench.shared.amounts import did_you_mean
from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.transform.broken import Broken
from debatebench.transform.domain import Domain
from debatebench.transform.graph import check_layers, check_references, in_order
from debatebench.transform.macros import Macro, check_macro_calls, read_macro
from debatebench.transform.properties import (
    AddedVersions,
    CommonColumn,
    Located,
    LocatedMacro,
    LocatedTest,
    MacroTest,
    ModelProperties,
    PropertiesFile,
    SchemaProperties,
    SeedProperties,
    UnitTest,
    read_properties,
)
from debatebench.transform.seeds import SEEDS, is_seed_file, read_seed, seed_name
from debatebench.transform.sql_model import (
    MACROS,
    NAME,
    Query,
    Reference,
    SingularTest,
    SqlModel,
    parse_query,
    read_sql,
    split_version,
)
from debatebench.transform.testing.generic_tests import Relationships, RowCount

_TAKEN_SCHEMAS = {"raw", "meta", "main", "temp", "pg_catalog", "information_schema", "system"}

T = TypeVar("T")
Named = TypeVar("Named", CommonColumn, SchemaProperties)
Test = TypeVar("Test", UnitTest, MacroTest)
Item = TypeVar("Item", SqlModel, Macro, SingularTest)


@dataclass(frozen=True, slots=True)
class Checked:
    """The checked content of the files of a project; see the properties of `Project`."""

    models: dict[str, SqlModel]
    macros: dict[str, Macro]
    singular_tests: tuple[SingularTest, ...]
    unit_tests: tuple[LocatedTest[UnitTest], ...]
    macro_tests: tuple[LocatedTest[MacroTest], ...]
    common_columns: dict[str, CommonColumn]
    schemas: dict[str, SchemaProperties]
    broken: Broken
    """What was left out."""


def load_files(files: Mapping[str, Path], domain: Domain, *, skip_broken: bool = False) -> Checked:
    """SQL models and macros in dependency order, tests and common columns of `files` (relative path → file).

    With `skip_broken`, what has an error is left out with all that depends on it; else the first error is raised.
    """
    return _Loading(files, domain, Broken(skip=skip_broken)).checked()


def read_yaml_files(files: Mapping[str, Path], broken: Broken) -> dict[PurePosixPath, PropertiesFile]:
    """Every YAML file of `files` by relative path, with the versions that one file adds to another's SQL model."""
    read: dict[PurePosixPath, PropertiesFile] = {}
    for name, file in sorted(files.items()):
        if is_yaml(name):
            with broken.of(name):
                read[PurePosixPath(name)] = read_properties(file)
    added: dict[str, list[tuple[PurePosixPath, Located[AddedVersions]]]] = {}
    for path, each in read.items():
        for addition in each.added:
            added.setdefault(dotted_name(addition.entry.name, path), []).append((path, addition))
    for path, each in read.items() if added else ():
        models = [_completed(model, added.pop(relation_name(model.entry, path), ()), broken) for model in each.models]
        read[path] = replace(each, models=tuple(models))
    for name, additions in added.items():
        for path, addition in additions:
            with broken.of(str(path)):
                raise SqlModelError(
                    f"{addition.where}: {name} has versions here, but no file describes it. Describe it, or rename "
                    "this file if it replaces the packaged one that does."
                )
    return read


def _completed(
    model: Located[ModelProperties], additions: Iterable[tuple[PurePosixPath, Located[AddedVersions]]], broken: Broken
) -> Located[ModelProperties]:
    for path, addition in additions:
        with broken.of(str(path)):
            try:
                model = replace(model, entry=model.entry.with_added(addition.entry))
            except ValueError as error:
                raise SqlModelError(f"{addition.where}: {model.entry.name}: {error}.") from None
    return model


def is_yaml(name: str) -> bool:
    """Whether a file of this name is YAML."""
    return name.endswith((".yml", ".yaml"))


def dotted_name(name: str, yaml_path: PurePosixPath) -> str:
    """The name of a SQL model in a YAML file, with its schema, which is by default the folder of the file."""
    name = name.lower()
    return name if "." in name or len(yaml_path.parts) < 2 else f"{yaml_path.parts[0]}.{name}"


def relation_name(entry: ModelProperties, yaml_path: PurePosixPath) -> str:
    """The name of a SQL model or seed in a YAML file, with its schema."""
    return seed_name(entry.name) if isinstance(entry, SeedProperties) else dotted_name(entry.name, yaml_path)


class _Loading:
    """Reads and checks the files; what is wrong goes to `broken`, which raises it unless it is to be skipped."""

    def __init__(self, files: Mapping[str, Path], domain: Domain, broken: Broken) -> None:
        self.files, self.domain, self.broken = files, domain, broken
        self.yaml_files = read_yaml_files(files, broken)
        self.common = self._named("column", (column for read in self.yaml_files.values() for column in read.columns))
        self.schemas = self._named("schema", (schema for read in self.yaml_files.values() for schema in read.schemas))
        self.described = self._once(self._described_models())
        self.described_macros = self._described_macros()
        versions = (f"{name}_v{v.v}" for name, located in self.described.items() for v in located.entry.versions)
        self.names = {*domain.tables, *self.described, *versions}
        """What a query may read, as far as it is known before the queries are read."""

    def _once(self, entries: Iterable[tuple[str, Located[T]]]) -> dict[str, Located[T]]:
        """Name → entry; a second entry with the same name is refused."""
        found: dict[str, Located[T]] = {}
        for name, located in entries:
            with self.broken.of(name):
                if name in found:
                    raise SqlModelError(f"{located.where}: {name} is already described at {found[name].where}.")
                found[name] = located
        return found

    def _named(self, kind: str, entries: Iterable[Located[Named]]) -> dict[str, Named]:
        """Name in lower case → entry; a second entry with the same name is refused."""
        once = self._once((f"the {kind} '{located.entry.name.lower()}'", located) for located in entries)
        return {located.entry.name.lower(): located.entry for located in once.values()}

    def _described_macros(self) -> dict[str, LocatedMacro]:
        """Dotted name → entry. A later folder, such as a workspace's, replaces entries of an earlier one."""
        found: dict[str, LocatedMacro] = {}
        folder_of = {PurePosixPath(path): file.parents[path.count("/")] for path, file in self.files.items()}
        ranks = {folder: rank for rank, folder in enumerate(dict.fromkeys(folder_of.values()))}
        for path, read in sorted(self.yaml_files.items(), key=lambda item: (ranks[folder_of[item[0]]], item[0])):
            for each in read.macros:
                name = f"{MACROS}.{each.entry.name.lower()}"
                with self.broken.of(name):
                    other = found.get(name)
                    if other is not None and other.file.is_relative_to(folder_of[path]):
                        raise SqlModelError(f"{each.where}: {name} is already described at {other.where}.")
                    found[name] = each
        return found

    def _described_models(self) -> Iterator[tuple[str, Located[ModelProperties]]]:
        """The dotted name and the entry of every SQL model and seed in the YAML."""
        typed = {name: column for name, column in self.common.items() if column.data_type is not None}
        for path, read in self.yaml_files.items():
            for located in read.models:
                name = relation_name(located.entry, path)
                with self.broken.of(name):
                    yield name, _with_common(located, name, typed)

    def checked(self) -> Checked:
        """Everything that is in order."""
        macros = self._macros()
        models, singular = self._read_models()
        for name, located in self.described.items():
            versions = [f"{name}_v{version.v}" for version in located.entry.versions]
            self._check_files(located, versions or [name], models)
        models |= self._aliases(models)
        known = [*models, *self.domain.tables, *self.broken]
        for model in models.values():
            with self.broken.of(model.name):
                if model.alias_of is None:
                    self._check_names(model, known, macros)
                    check_layers(model)
                    self._check_functions(model)
                _check_test_targets(model, known)
        for name, test in singular.items():
            with self.broken.of(name):
                self._check_names(test, known, macros)
        ordered = in_order(models, self.broken)
        self._check_incremental(ordered)
        ordered = self._without_broken(ordered)
        return Checked(
            models=ordered,
            macros=macros,
            singular_tests=tuple(self._without_broken(singular).values()),
            unit_tests=tuple(self._unit_tests(ordered)),
            macro_tests=tuple(self._macro_tests(macros)),
            common_columns=self.common,
            schemas=self.schemas,
            broken=self.broken,
        )

    def _without_broken(self, items: Mapping[str, Item]) -> dict[str, Item]:
        """What is not broken and needs nothing that is; `items` are in dependency order."""
        self.broken.spread({name: _needed(item.query) for name, item in items.items()})
        return {name: item for name, item in items.items() if name not in self.broken}

    # --- files ---

    def _macros(self) -> dict[str, Macro]:
        """Every macro that is not broken, each after those that it calls."""
        macros: dict[str, Macro] = {}
        for path, file in sorted(self.files.items()):
            if path.endswith(".sql") and path.startswith(f"{MACROS}/"):
                with self.broken.of(f"{MACROS}.{PurePosixPath(path).stem}"):
                    raise SqlModelError(
                        f"{shown_path(file)}: a macro is an entry of `macros` in YAML; write its expression there, "
                        "under `sql`."
                    )
        for name, located in self.described_macros.items():
            with self.broken.of(name):
                macros[name] = read_macro(located, self.domain.functions)
        for macro in macros.values():
            with self.broken.of(macro.name):
                check_macro_calls(macro.query, macro.file, macros, self.broken)
        sound = {name: macro for name, macro in macros.items() if name not in self.broken}
        return self._without_broken(in_order(sound, self.broken, kind="Macros", verb="call"))

    def _read_models(self) -> tuple[dict[str, SqlModel], dict[str, SingularTest]]:
        """The SQL models and singular tests by name; the name of a test begins with `tests.`."""
        models: dict[str, SqlModel] = {}
        singular: dict[str, SingularTest] = {}
        for path, file in sorted(self.files.items()):
            if is_seed_file(path):
                name = f"{SEEDS}.{PurePosixPath(path).stem}" if path.startswith(f"{SEEDS}/") else f"sql/{path}"
                with self.broken.of(name):
                    self._check_read(name, self.described)
                    _check_new(name, file, models.get(name))
                    models[name] = self._seed(path, file)
            if not path.endswith(".sql") or path.startswith(f"{MACROS}/"):
                continue
            where = PurePosixPath(path)
            name = f"{where.parts[0]}.{where.stem}" if len(where.parts) > 1 else path
            with self.broken.of(name):
                if where.parts[0] == "tests":
                    _check_new(f"the test '{where.stem}'", file, singular.get(name))
                    singular[name] = SingularTest(where.stem, file, parse_query(read_sql(file), file, self.names))
                else:
                    self._check_read(name, self.described)
                    _check_new(name, file, models.get(name))
                    models[name] = self._model(path, file)
        return models, singular

    def _check_read(self, name: str, described: Collection[str]) -> None:
        """Refuse what is not described if a YAML file of its schema cannot be read, by the file's error."""
        schema, _, table = name.partition(".")
        if name not in described and f"{schema}.{split_version(table)[0]}" not in described:
            for path, error in self.broken.items():
                if path.startswith(f"{schema}/"):
                    raise error

    def _check_files(self, located: Located[T], names: Iterable[str], there: Collection[str]) -> None:
        """Refuse a description without a SQL file."""
        kind = ".csv" if isinstance(located.entry, SeedProperties) else ".sql"
        for name in names:
            if name not in there and name not in self.broken:
                path = f"{name.replace('.', '/')}{kind}"
                with self.broken.of(name):
                    raise SqlModelError(
                        f"{located.where}: {name} is described, but there is no sql/{path}."
                        f"{did_you_mean(path, (other for other in self.files if other.endswith(kind)))}"
                    )

    def _model(self, path: str, file: Path) -> SqlModel:
        """The SQL model of one SQL file and its YAML."""
        parts = PurePosixPath(path).parts
        if len(parts) < 2:
            raise SqlModelError(
                f"{shown_path(file)}: a SQL model must be in a folder, which is its schema: marts/name.sql."
            )
        schema, table = parts[0], parts[-1].removesuffix(".sql")
        if schema in _TAKEN_SCHEMAS:
            raise SqlModelError(f"{shown_path(file)}: the schema '{schema}' is not for SQL models; use another folder.")
        if schema == SEEDS:
            raise SqlModelError(f"{shown_path(file)}: sql/{SEEDS} holds CSV files; move this file to another folder.")
        _check_plain((schema, table), file)
        name = f"{schema}.{table}"
        base, version = split_version(table)
        located = self.described.get(name)
        properties = located.entry if located else None
        if located is not None and located.entry.versions:
            numbers = ", ".join(str(v.v) for v in located.entry.versions)
            raise SqlModelError(
                f"{shown_path(file)}: {name} has the versions {numbers} ({located.where}), so the build creates the "
                "unsuffixed name; rename the file to one of the versions."
            )
        if located is None and version is not None:
            located = self.described.get(f"{schema}.{base}")
            if located is not None and any(v.v == version for v in located.entry.versions):
                properties = located.entry.of_version(version)
        # First what is wrong with the query: whoever writes dbt's templates has to know that before all else.
        query = parse_query(read_sql(file), file, self.names)
        if located is None or properties is None:
            raise self._without_description(name, file, "models")
        is_version = bool(properties.versions)
        return SqlModel(
            name=name,
            file=file,
            path=path,
            query=query,
            properties=properties,
            base_name=base if is_version else table,
            version=version if is_version else None,
            properties_file=located.file,
        )

    def _seed(self, path: str, file: Path) -> SqlModel:
        """The seed of one CSV file and its YAML."""
        where = PurePosixPath(path)
        if len(where.parts) < 2 or where.parts[0] != SEEDS:
            raise SqlModelError(f"{shown_path(file)}: a CSV file is a seed; move it to sql/{SEEDS}/{where.name}.")
        _check_plain((where.stem,), file)
        name = f"{SEEDS}.{where.stem}"
        located = self.described.get(name)
        if located is None:
            raise self._without_description(name, file, "seeds")
        if not isinstance(located.entry, SeedProperties):
            raise SqlModelError(
                f"{located.where}: {name} is a CSV file, {shown_path(file)}; describe it under `seeds`, not `models`."
            )
        query, seed = read_seed(file, located.entry, located.where)
        return SqlModel(
            name=name,
            file=file,
            path=path,
            query=query,
            properties=located.entry.with_types(seed.types),
            base_name=where.stem,
            properties_file=located.file,
            seed=seed,
        )

    def _without_description(self, name: str, file: Path, key: str) -> SqlModelError:
        """What to add where: in the YAML file of its name or the only one of its folder, else in a new one."""
        beside = [other for other in self.files.values() if other.parent == file.parent and is_yaml(other.name)]
        named = [other for other in beside if other.stem == file.stem]
        there = named or (beside if len(beside) == 1 else [])
        place = f"in {shown_path(there[0])}" if there else f"in a new file {shown_path(file.with_suffix('.yml'))}"
        entry = f"{{name: {name.partition('.')[2]}, description: …}}"
        return SqlModelError(
            f"{shown_path(file)}:1: {name} has no description; write `{key}: [{entry}]` {place}."
            f"{did_you_mean(name, self._described_without_file(name.partition('.')[0]))}"
        )

    def _described_without_file(self, schema: str) -> list[str]:
        """The names in the YAML of a schema that no file has, of which one may be misspelt."""
        stems = (PurePosixPath(path).stem for path in self.files if path.startswith(f"{schema}/") and not is_yaml(path))
        there = {f"{schema}.{each}" for stem in stems for each in (stem, split_version(stem)[0])}
        return [name for name in self.described if name.startswith(f"{schema}.") and name not in there]

    def _aliases(self, models: Mapping[str, SqlModel]) -> dict[str, SqlModel]:
        """The unsuffixed name of every versioned model: a view on the latest version."""
        found: dict[str, SqlModel] = {}
        for name, located in self.described.items():
            if not located.entry.versions:
                continue
            with self.broken.of(name):
                number = located.entry.latest
                if number is None:
                    raise SqlModelError(
                        f"{located.where}: every version of {name} is a prerelease; one must be the latest."
                    )
                if (latest := f"{name}_v{number}") in self.broken:
                    raise self.broken[latest]
                found[name] = _alias(name, located, models[latest])
        return found

    # --- checks ---

    def _check_names(self, item: SqlModel | SingularTest, known: Collection[str], macros: Mapping[str, Macro]) -> None:
        """Refuse unknown relations and macros."""
        check_references(item.query, item.file, known)
        check_macro_calls(item.query, item.file, macros, self.broken)

    def _check_functions(self, model: SqlModel) -> None:
        """Refuse a view that calls a Python function, because another process could not read it."""
        called = self.domain.functions.python_functions(model.query.functions)
        if called and model.materialized == "view":
            raise SqlModelError(
                f"{shown_path(model.file)}: {model.name} calls the Python function '{called[0]}', so it cannot be a "
                f"view; set `config: {{materialized: table}}` in {shown_path(model.properties_file)}."
            )

    def _check_incremental(self, models: Mapping[str, SqlModel]) -> None:
        """Refuse `incremental_by` where rows cannot be separated by part; `models` are in dependency order."""
        reading_parts = set(self.domain.tables)
        apart = {name: name for name in self.domain.apart}
        for model in models.values():
            # Model → the table that it reads, itself or through others.
            if tables := [apart[name] for name in model.dependencies if name in apart]:
                apart[model.name] = tables[0]
            above = [name for name in model.dependencies if name in reading_parts]
            reading_parts |= {model.name} if above else set()
            part = model.properties.config.incremental_by
            if part is None:
                continue
            where = f"{shown_path(model.properties_file)}: {model.name} is incremental by {part}"
            with self.broken.of(model.name):
                if part != self.domain.part:
                    raise SqlModelError(
                        f"{where}, but rows are landed by {self.domain.part}; write `{self.domain.part}`."
                    )
                if not model.has_column(part):
                    raise SqlModelError(f"{where}, but it describes no column of that name.")
                if model.name in apart:
                    raise SqlModelError(
                        f"{where}, but it reads {apart[model.name]}, which changes apart from landings; leave "
                        "`incremental_by` out."
                    )
                for name in above:
                    if name in models and not models[name].has_column(part):
                        raise SqlModelError(
                            f"{where}, but it reads {name}, whose rows are computed for all values of {part} together; "
                            "leave `incremental_by` out."
                        )

    # --- unit tests ---

    def _unit_tests(self, models: Mapping[str, SqlModel]) -> Iterator[LocatedTest[UnitTest]]:
        """Every unit test of a SQL model that is not broken."""

        def tested(test: UnitTest, name: str, where: str) -> str:
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

        for_models = (
            (dotted_name(each.entry.model, path), each)
            for path, read in self.yaml_files.items()
            for each in read.unit_tests
        )
        return self._located(for_models, tested)

    def _macro_tests(self, macros: Mapping[str, Macro]) -> Iterator[LocatedTest[MacroTest]]:
        """Every unit test of a macro that is not broken."""

        def tested(test: MacroTest, name: str, where: str) -> str:
            for argument in dict.fromkeys(key for row in test.given for key in row):
                if argument not in macros[name].parameters:
                    raise SqlModelError(
                        f"{where}: {name} has no argument '{argument}'."
                        f"{did_you_mean(argument, macros[name].parameters)}"
                    )
            return name

        for_macros = (
            (name, Located(test, located.file, line))
            for name, located in self.described_macros.items()
            for test, line in zip(located.entry.unit_tests, located.test_lines, strict=True)
        )
        return self._located(for_macros, tested)

    def _located(
        self, tests: Iterable[tuple[str, Located[Test]]], tested: Callable[[Test, str, str], str]
    ) -> Iterator[LocatedTest[Test]]:
        """The tests of what is not broken. `tested` returns the name of what a test runs, after a check that it can."""
        seen: dict[tuple[str, str], str] = {}
        for name, located in tests:
            test, where = located.entry, f"{located.where}: unit test {located.entry.name}"
            if name in self.broken:
                continue
            with self.broken.of(f"unit test {test.name}"):
                key = (tested(test, name, where), test.name)
                if key in seen:
                    raise SqlModelError(f"{where}: the name is already used at {seen[key]}.")
                seen[key] = located.where
                yield LocatedTest(test, key[0], located.file, located.line)


def _with_common(
    model: Located[ModelProperties], name: str, common: Mapping[str, CommonColumn]
) -> Located[ModelProperties]:
    try:
        return replace(model, entry=model.entry.with_common(common))
    except KeyError as missing:
        raise SqlModelError(
            f"{model.where}: {name} lists the column {missing}, which has no common `data_type`; write "
            f"`{{name: {missing.args[0]}, data_type: …}}`.{did_you_mean(missing.args[0], common)}"
        ) from None


def _needed(query: Query) -> list[str]:
    """The SQL models that a query reads and the macros that it calls."""
    return [*(reference.name for reference in query.references), *(call.name for call in query.macro_calls)]


def _check_plain(parts: Iterable[str], file: Path) -> None:
    """Refuse a folder or file whose name cannot be the name of a schema or relation."""
    for part in parts:
        if not NAME.fullmatch(part):
            raise SqlModelError(f"{shown_path(file)}: '{part}' is not a name; use lower-case letters, digits and _.")


def _check_new(name: str, file: Path, earlier: SqlModel | SingularTest | None) -> None:
    """Refuse a second file of the same name; subfolders are not part of a name."""
    if earlier is not None:
        raise SqlModelError(
            f"{shown_path(file)}: {name} is also defined in {shown_path(earlier.file)}; rename or remove one of them."
        )


def _alias(name: str, located: Located[ModelProperties], latest: SqlModel) -> SqlModel:
    described = latest.properties
    return SqlModel(
        name=name,
        file=located.file,
        path=str(PurePosixPath(latest.path).with_name(f"{latest.base_name}.sql")),
        query=_alias_query(latest.name, located.line),
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
        properties_file=located.file,
    )


def _alias_query(name: str, line: int) -> Query:
    sql = f"select * from {name}"
    sha256 = hashlib.sha256(sql.encode()).hexdigest()
    return Query(sql, sha256, sha256, (Reference(name, line),), (), needed=((name,),))


def _check_test_targets(model: SqlModel, known: Collection[str]) -> None:
    """Refuse data tests in the wrong place, with unknown columns, or that compare with unknown SQL models."""
    columns = {column.name.lower() for column in model.properties.columns}
    for test, column in model.properties.placed_tests:
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
