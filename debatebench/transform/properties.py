"""YAML next to the SQL → descriptions, columns, versions, data tests and unit tests, with dbt's keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.shared.strict_yaml import Yaml, YamlError, read_yaml
from debatebench.transform.testing.generic_tests import (
    GenericTest,
    accepted_values,
    parse_generic_test,
    values_with_texts,
)

T = TypeVar("T")

_LARGEST_FILE = 1024 * 1024
_DEEPEST_NESTING = 32
_ALIAS = ":{line}: YAML aliases are not allowed here; write the value out"
_YAML_MESSAGES = {
    "size": ": is larger than 1 MiB; split it",
    "encoding": ": cannot be read ({cause})",
    "characters": ":1: this is not YAML: {found}",
    "syntax": ":{line}: this is not YAML: {found}",
    "documents": ":{line}: this is not YAML: found another document",
    "alias": _ALIAS,
    "anchor": _ALIAS,
    "tag": ":{line}: the YAML tag {found} is not allowed here; write the value without it",
    "depth": ": is nested too deeply to be read",
    "complex key": ":{line}: a key is a list or mapping; use a name",
    "key": ":{line}: the key {found!r} is not text; write it in quotes",
    "repeated key": ":{line}: the key '{found}' occurs twice",
    "number": ":{line}: {found} is too large for a number",
}

_LONGEST_ANSWER = 5
_TEXT_IN_SQL = re.compile(r"'[^']*'")
_PARAMETER = re.compile(r"[$?]\w*")

# The text of a block begins below its key.
_BLOCK = re.compile(rb":\s*[|>][-+0-9]*\s*$")

DataTest = Annotated[GenericTest, BeforeValidator(parse_generic_test)]
_TESTS = AliasChoices("data_tests", "tests")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class Contract(_Frozen):
    """Whether the build checks the names and types of the columns against the YAML."""

    enforced: bool = False


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class SqlModelConfig(_Frozen):
    """How a SQL model is built and found."""

    materialized: Literal["view", "table"] = "view"
    incremental_by: str | None = None
    scope: Literal["part", "whole"] | None = None
    contract: Contract = Contract()
    tags: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ()
    meta: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> SqlModelConfig:
        if self.incremental_by is not None and self.materialized != "table":
            raise ValueError("`incremental_by` needs `materialized: table`; a view stores no rows")
        return self


class ColumnProperties(_Frozen):
    """A column: its meaning, its DuckDB type, and its data tests."""

    name: str
    description: str = ""
    data_type: str | None = None
    data_tests: tuple[DataTest, ...] = Field((), validation_alias=_TESTS)
    meta: dict[str, Any] = Field(default_factory=dict)

    @property
    def values(self) -> dict[str, str]:
        """The values that the column can have, as text → what each means; empty if no test lists them."""
        return accepted_values(self.data_tests)


class CommonName(ColumnProperties):
    """The name of a column whose type and data tests are those of the common column of this name."""


def _flat(value: Any) -> Any:
    """`[[a, b], {name: c}]`: a list of names among columns stands for common columns."""
    if not isinstance(value, list):
        return value
    found: list[Any] = []
    for each in value:
        is_names = isinstance(each, list) and all(isinstance(name, str) and name for name in each)
        found += [CommonName(name=name) for name in each] if is_names else [each]
    return found


class InheritedColumns(_Frozen):
    """`include` (`all` or names) and `exclude`: which columns of the base a version keeps."""

    include: Literal["all", "*"] | tuple[str, ...] = "all"
    exclude: tuple[str, ...] = ()


def _column_kind(value: Any) -> str:
    inherits = isinstance(value, InheritedColumns) or (isinstance(value, dict) and {"include", "exclude"} & set(value))
    return "inherited" if inherits else "column"


VersionColumn = Annotated[
    Annotated[InheritedColumns, Tag("inherited")] | Annotated[ColumnProperties, Tag("column")],
    Discriminator(_column_kind),
]


class ModelVersion(_Frozen):
    """What differs in one version of a SQL model."""

    v: int = Field(gt=0)
    description: str | None = None
    deprecation_date: date | None = None
    prerelease: bool = False
    config: dict[str, Any] = Field(default_factory=dict)
    columns: Annotated[tuple[VersionColumn, ...], BeforeValidator(_flat)] = ()
    data_tests: tuple[DataTest, ...] | None = Field(None, validation_alias=_TESTS)


class Question(_Frozen):
    """A question that people ask, and the SELECT that answers it from the SQL model that has this entry."""

    question: str
    sql: str

    @model_validator(mode="after")
    def _check(self) -> Question:
        if not self.question.endswith("?"):
            raise ValueError("a question ends with a question mark")
        if len(self.sql.strip().splitlines()) > _LONGEST_ANSWER:
            raise ValueError(f"the SQL has more than {_LONGEST_ANSWER} lines; a SQL model should answer in fewer")
        if found := _PARAMETER.search(_TEXT_IN_SQL.sub("", self.sql)):
            raise ValueError(f"the SQL has a parameter, {found[0]}; select the column instead")
        return self


class ModelProperties(_Frozen):
    """One entry of `models`. `start_here` marks what to read first of its subject, which is the folder of its file."""

    name: str
    description: str = Field(min_length=1)
    latest_version: int | None = None
    versions: tuple[ModelVersion, ...] = ()
    deprecation_date: date | None = None
    config: SqlModelConfig = SqlModelConfig()
    columns: Annotated[tuple[ColumnProperties, ...], BeforeValidator(_flat)] = ()
    data_tests: tuple[DataTest, ...] = Field((), validation_alias=_TESTS)
    questions: tuple[Question, ...] = ()
    start_here: bool = False
    meta: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> ModelProperties:
        names = [column.name.lower() for column in self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"column '{twice[0]}' is described twice")
        self._check_versions()
        return self

    @property
    def placed_tests(self) -> list[tuple[GenericTest, str | None]]:
        """Every data test, with the column that it is under; None for one of the whole SQL model."""
        placed = [(test, column.name) for column in self.columns for test in column.data_tests]
        return [*placed, *((test, None) for test in self.data_tests)]

    def _check_versions(self) -> None:
        numbers = [version.v for version in self.versions]
        if twice := [number for number in numbers if numbers.count(number) > 1]:
            raise ValueError(f"version {twice[0]} is listed twice; the next free number is {max(numbers) + 1}")
        if self.latest_version is not None and self.latest_version not in numbers:
            raise ValueError(f"latest_version {self.latest_version} is not one of the versions {numbers}")
        for version in self.versions:
            if version.prerelease and version.v == self.latest:
                raise ValueError(f"version {version.v} is a prerelease, so it cannot be the latest")
            _merged(self.config, version)

    def with_added(self, added: AddedVersions) -> ModelProperties:
        """The same entry with more versions, or another latest version. Raises `ValueError` if they do not fit."""
        latest = self.latest_version if added.latest_version is None else added.latest_version
        changed = self.model_copy(update={"versions": (*self.versions, *added.versions), "latest_version": latest})
        changed._check_versions()
        return changed

    def with_common(self, common: Mapping[str, CommonColumn | ColumnProperties]) -> ModelProperties:
        """The same entry with the types and tests of common columns. Raises `KeyError` with a name that is not one."""

        def filled(column: Any) -> Any:
            if not isinstance(column, CommonName):
                return column
            of_all = common[column.name.lower()]
            return ColumnProperties(name=column.name, data_type=of_all.data_type, data_tests=of_all.data_tests)

        versions = (v.model_copy(update={"columns": tuple(map(filled, v.columns))}) for v in self.versions)
        return self.model_copy(update={"columns": tuple(map(filled, self.columns)), "versions": tuple(versions)})

    @property
    def latest(self) -> int | None:
        """The version behind the unsuffixed name: `latest_version`, else the highest that is not a prerelease."""
        if self.latest_version is not None or not self.versions:
            return self.latest_version
        return max((v.v for v in self.versions if not v.prerelease), default=None)

    def of_version(self, number: int) -> ModelProperties:
        """The properties of one version, with its overrides applied."""
        version = next(v for v in self.versions if v.v == number)
        tests = self.data_tests if version.data_tests is None else version.data_tests
        return self.model_copy(
            update={
                "description": version.description or self.description,
                "deprecation_date": version.deprecation_date or self.deprecation_date,
                "config": _merged(self.config, version),
                "columns": _version_columns(self.columns, version.columns),
                "data_tests": tests,
            }
        )


class SeedConfig(SqlModelConfig):
    """How a CSV file is read. `column_types` is dbt's way to give what `data_type` of a column gives here."""

    materialized: Literal["view", "table"] = "table"
    column_types: dict[str, str] = Field(default_factory=dict)
    delimiter: str = Field(",", min_length=1, max_length=1)

    @model_validator(mode="after")
    def _check_seed(self) -> SeedConfig:
        if self.materialized != "table" or self.incremental_by is not None:
            raise ValueError("a seed is always a whole table")
        if self.delimiter in '\r\n"':
            raise ValueError("`delimiter` separates values; a quote or a line end cannot")
        return self


class SeedProperties(ModelProperties):
    """One entry of `seeds`: a CSV file."""

    config: SeedConfig = SeedConfig()

    @model_validator(mode="after")
    def _check_seed(self) -> SeedProperties:
        if self.versions or self.latest_version is not None:
            raise ValueError("a seed has no versions")
        types = {name.lower(): sql_type for name, sql_type in self.config.column_types.items()}
        for column in self.columns:
            listed = types.get(column.name.lower(), column.data_type)
            if column.data_type is not None and listed is not None and listed.lower() != column.data_type.lower():
                raise ValueError(f"column '{column.name}' is {column.data_type} and, in `column_types`, {listed}")
        return self

    def with_types(self, types: Mapping[str, str]) -> SeedProperties:
        """The same entry with a column, and its type, for each column of the CSV file."""
        named = {column.name.lower(): column for column in self.columns}
        columns = (
            named.get(name, ColumnProperties(name=name)).model_copy(update={"data_type": sql_type})
            for name, sql_type in types.items()
        )
        return self.model_copy(update={"columns": tuple(columns)})


class AddedVersions(_Frozen):
    """An entry of `models` without a description: adds versions to, or sets the latest of, a model of another file.

    A workspace can change the latest version this way without a copy of the whole description.
    """

    name: str
    latest_version: int | None = None
    versions: tuple[ModelVersion, ...] = ()


def _entry_kind(value: Any) -> str:
    keys = set(value) if isinstance(value, dict) else set()
    is_added = isinstance(value, AddedVersions) or ("name" in keys and keys & _VERSION_KEYS and not keys - _ADDED_KEYS)
    return "added" if is_added else "described"


_VERSION_KEYS = {"latest_version", "versions"}
_ADDED_KEYS = {"name", *_VERSION_KEYS}


def _merged(config: SqlModelConfig, version: ModelVersion) -> SqlModelConfig:
    """The configuration of a version: its own keys over those of the SQL model."""
    return type(config).model_validate(config.model_dump() | version.config)


def _version_columns(
    base: tuple[ColumnProperties, ...], own: tuple[InheritedColumns | ColumnProperties, ...]
) -> tuple[ColumnProperties, ...]:
    """The base's columns without those left out; columns of the same name are replaced, new ones come at the end."""
    inherited = next((entry for entry in own if isinstance(entry, InheritedColumns)), None)
    named = {entry.name: entry for entry in own if isinstance(entry, ColumnProperties)}
    if inherited is None:
        # As in dbt: a version that lists columns without `include` inherits none.
        kept = [] if named else list(base)
    else:
        wanted = None if isinstance(inherited.include, str) else set(inherited.include)
        kept = [c for c in base if (wanted is None or c.name in wanted) and c.name not in inherited.exclude]
    columns = [named.pop(column.name, column) for column in kept]
    return (*columns, *named.values())


class MacroArgument(_Frozen):
    """An argument of a macro: its meaning, and its DuckDB type in unit tests."""

    name: str
    type: str = Field(min_length=1)
    description: str = ""


class MacroTest(_Frozen):
    """Given arguments → the expected values of a macro, one for each row, or one for all rows if it aggregates."""

    name: str
    description: str = ""
    given: tuple[dict[str, Any], ...] = Field(min_length=1)
    expect: tuple[Any, ...] = Field(min_length=1)


class MacroProperties(_Frozen):
    """One entry of `macros`: a macro with its tests. `sql` is an expression over its arguments.

    `values` are the texts that it can return, if they are few, with their meanings; a column that it makes has them.
    """

    name: str
    description: str = Field(min_length=1)
    arguments: tuple[MacroArgument, ...] = ()
    values: Annotated[dict[str, str], BeforeValidator(values_with_texts)] = Field(default_factory=dict)
    sql: str = Field(min_length=1)
    unit_tests: tuple[MacroTest, ...] = ()
    meta: dict[str, Any] = Field(default_factory=dict)


class UnitRows(_Frozen):
    """Rows of a unit test: mappings; or a table, whose `columns` are named once and whose rows are lists of values.

    `every_row` has values that all rows share.
    """

    rows: tuple[dict[str, Any], ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _as_mappings(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not {"columns", "every_row"} & data.keys():
            return data
        kept = {key: value for key, value in data.items() if key not in ("columns", "every_row")}
        table = _UnitTable.model_validate({key: value for key, value in data.items() if key in _UnitTable.model_fields})
        return kept | {"rows": [table.every_row | row for row in table.mappings()]}


class _UnitTable(_Frozen):
    columns: tuple[str, ...] | None = None
    every_row: dict[str, Any] = Field(default_factory=dict)
    rows: tuple[Any, ...] = ()

    def mappings(self) -> Iterator[dict[str, Any]]:
        """Column → value for every row. Raises `ValueError` for a row that does not fit the columns."""
        for number, row in enumerate(self.rows, 1):
            if self.columns is not None and (not isinstance(row, list) or len(row) != len(self.columns)):
                raise ValueError(f"row {number} is not a list of {len(self.columns)} values, one for each of `columns`")
            if self.columns is None and not isinstance(row, dict):
                raise ValueError(f"row {number} is not a mapping; name the columns of lists in `columns`")
            yield row if self.columns is None else dict(zip(self.columns, row, strict=True))


class UnitInput(UnitRows):
    """Rows that replace one table or view that the SQL model reads; columns left out are null."""

    input: str


class UnitExpect(UnitRows):
    """The expected rows, in any order; only the columns named are compared."""


class UnitTest(_Frozen):
    """Given rows → expected rows of one SQL model."""

    name: str
    description: str = ""
    model: str
    given: tuple[UnitInput, ...] = ()
    expect: UnitExpect

    @model_validator(mode="after")
    def _check(self) -> UnitTest:
        inputs = [given.input.lower() for given in self.given]
        if len(set(inputs)) != len(inputs):
            raise ValueError("an input is given twice")
        return self


class CommonColumn(_Frozen):
    """The meaning of columns of this name in every SQL model that does not describe them itself.

    Where a SQL model only lists the name, the column has this type and these data tests.
    """

    name: str = Field(min_length=1)
    description: str = ""
    data_type: str | None = None
    data_tests: tuple[DataTest, ...] = Field((), validation_alias=_TESTS)

    @model_validator(mode="after")
    def _check(self) -> CommonColumn:
        if not self.description and self.data_type is None:
            raise ValueError("a common column needs a `description` or a `data_type`")
        return self

    @property
    def values(self) -> dict[str, str]:
        """As those of `ColumnProperties`."""
        return accepted_values(self.data_tests)


class RecordTable(_Frozen):
    """A table in which the warehouse records something about itself."""

    name: str = Field(min_length=1)
    description: str = Field(min_length=1)
    columns: tuple[ColumnProperties, ...] = ()


class SchemaProperties(_Frozen):
    """One entry of `schemas`: what a schema holds, and those of its tables that are neither SQL models nor landed."""

    name: str = Field(min_length=1)
    description: str = Field(min_length=1)
    tables: tuple[RecordTable, ...] = ()


class Properties(_Frozen):
    """One YAML file. Its `columns` have the same meaning in every SQL model."""

    version: int = 2
    schemas: tuple[SchemaProperties, ...] = ()
    columns: tuple[CommonColumn, ...] = ()
    models: tuple[
        Annotated[
            Annotated[ModelProperties, Tag("described")] | Annotated[AddedVersions, Tag("added")],
            Discriminator(_entry_kind),
        ],
        ...,
    ] = ()
    seeds: tuple[SeedProperties, ...] = ()
    macros: tuple[MacroProperties, ...] = ()
    unit_tests: tuple[UnitTest, ...] = ()


@dataclass(frozen=True, slots=True)
class Located(Generic[T]):
    """An entry of a YAML file, with its place."""

    entry: T
    file: Path
    line: int

    @property
    def where(self) -> str:
        """`file:line`."""
        return f"{shown_path(self.file)}:{self.line}"


@dataclass(frozen=True, slots=True)
class LocatedMacro(Located[MacroProperties]):
    """An entry of `macros`, with the line where its SQL begins and that of each of its tests."""

    sql_line: int
    test_lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LocatedTest(Generic[T]):
    """A unit test of the YAML, with the dotted name of the SQL model or macro that it tests, and its place."""

    test: T
    tested: str
    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class PropertiesFile:
    """The entries of a YAML file: `models` are the SQL models and seeds that it describes.

    `added` are the SQL models to which it adds versions.
    """

    file: Path
    schemas: tuple[Located[SchemaProperties], ...]
    columns: tuple[Located[CommonColumn], ...]
    models: tuple[Located[ModelProperties], ...]
    added: tuple[Located[AddedVersions], ...]
    macros: tuple[LocatedMacro, ...]
    unit_tests: tuple[Located[UnitTest], ...]


def read_properties(file: Path) -> PropertiesFile:
    """Read one YAML file. Raises `SqlModelError` with file, line, key path and what is wrong."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SqlModelError(f"{shown_path(file)}: cannot be read ({error}).") from None
    return _properties(file, content)


@lru_cache(maxsize=1024)
def _properties(file: Path, content: bytes) -> PropertiesFile:
    """The content of a file, read once per process."""
    yaml = _read_yaml(file, content)
    try:
        properties = Properties.model_validate(yaml.data or {})
    except ValidationError as error:
        first = error.errors()[0]
        where, line = _locate(yaml.lines, _in_file(yaml.data, first["loc"]))
        message = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
        found = "" if first["type"] in ("missing", "value_error") else f" (found {_short(first['input'])})"
        raise SqlModelError(f"{shown_path(file)}:{line}: {where}: {message}{found}.") from None

    def located(key: str, kind: type[T]) -> tuple[Located[T], ...]:
        entries = enumerate(getattr(properties, key))
        return tuple(
            Located(entry, file, _locate(yaml.lines, (key, place))[1])
            for place, entry in entries
            if isinstance(entry, kind)
        )

    return PropertiesFile(
        file,
        located("schemas", SchemaProperties),
        located("columns", CommonColumn),
        (*located("models", ModelProperties), *located("seeds", ModelProperties)),
        located("models", AddedVersions),
        tuple(_located_macro(macro, file, yaml.lines, content, at) for at, macro in enumerate(properties.macros)),
        located("unit_tests", UnitTest),
    )


def _located_macro(
    macro: MacroProperties, file: Path, lines: Mapping[tuple[str | int, ...], int], content: bytes, place: int
) -> LocatedMacro:
    """The entry at this place of `macros`."""
    sql_line = lines["macros", place, "sql"]
    if _BLOCK.search(content.splitlines()[sql_line - 1]):
        sql_line += 1
    test_lines = (lines["macros", place, "unit_tests", number] for number in range(len(macro.unit_tests)))
    return LocatedMacro(macro, file, lines["macros", place], sql_line, tuple(test_lines))


def _in_file(data: Any, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The place in the file of a place in the data, where lists of names are flat."""
    found: list[str | int] = []
    for step in path:
        position = -1
        if isinstance(data, list) and isinstance(step, int):
            is_columns = found and found[-1] == "columns"
            lengths = [len(each) if is_columns and isinstance(each, list) else 1 for each in data]
            position = next((i for i in range(len(data)) if sum(lengths[: i + 1]) > step), len(data) - 1)
            data = data[position] if position >= 0 else None
        elif isinstance(data, dict) and step in data:
            data = data[step]
        found.append(step if position < 0 else position)
    return tuple(found)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _read_yaml(file: Path, content: bytes) -> Yaml:
    try:
        return read_yaml(content, largest=_LARGEST_FILE, deepest=_DEEPEST_NESTING)
    except YamlError as error:
        raise SqlModelError(f"{shown_path(file)}{error.sentence(_YAML_MESSAGES)}.") from None


def _locate(lines: Mapping[tuple[str | int, ...], int], path: Sequence[str | int]) -> tuple[str, int]:
    """The part of the key path that exists in the YAML, and the line where it ends."""
    place: tuple[str | int, ...] = ()
    shown = ""
    for position, step in enumerate(path):
        is_there = (*place, step) in lines
        if is_there:
            place = (*place, step)
        # A missing key is part of the path; a step that pydantic adds (the branch of a union) is skipped.
        if is_there or (position == len(path) - 1 and isinstance(step, str)):
            shown += f"[{step}]" if isinstance(step, int) else f".{step}"
    return shown.lstrip(".") or "the file", lines.get(place, 1)
