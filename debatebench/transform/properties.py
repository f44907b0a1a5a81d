"""YAML beside the SQL → descriptions, columns, versions, data tests and unit tests, with dbt's keys."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
from debatebench.transform.testing.generic_tests import GenericTest, parse_generic_test

if TYPE_CHECKING:
    import yaml

_YAML_TEXT = "tag:yaml.org,2002:str"
_YAML_LIST = "tag:yaml.org,2002:seq"
_YAML_MAP = "tag:yaml.org,2002:map"

__all__ = [
    "ColumnProperties",
    "CommonColumn",
    "LocatedMacroTest",
    "LocatedUnitTest",
    "MacroArgument",
    "MacroProperties",
    "MacroTest",
    "ModelProperties",
    "ModelVersion",
    "Properties",
    "PropertiesFile",
    "SqlModelConfig",
    "UnitTest",
    "read_properties",
]

_LARGEST_FILE = 1024 * 1024

DataTest = Annotated[GenericTest, BeforeValidator(parse_generic_test)]
_TESTS = AliasChoices("data_tests", "tests")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class Contract(_Frozen):
    """Whether names and types of the columns are a promise that the build checks."""

    enforced: bool = False


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class SqlModelConfig(_Frozen):
    """How a SQL model is built and found."""

    materialized: Literal["view", "table"] = "view"
    incremental_by: Literal["run_tag"] | None = None
    contract: Contract = Contract()
    tags: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ()
    meta: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> SqlModelConfig:
        if self.incremental_by is not None and self.materialized != "table":
            raise ValueError("`incremental_by` needs `materialized: table`; a view holds no rows")
        return self


class ColumnProperties(_Frozen):
    """A column: what it means, its DuckDB type, and what must hold for it."""

    name: str
    description: str = ""
    data_type: str | None = None
    data_tests: tuple[DataTest, ...] = Field((), validation_alias=_TESTS)
    meta: dict[str, Any] = Field(default_factory=dict)


class InheritedColumns(_Frozen):
    """`include: all` or names, and `exclude`: which columns of the base a version keeps."""

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
    columns: tuple[VersionColumn, ...] = ()
    data_tests: tuple[DataTest, ...] | None = Field(None, validation_alias=_TESTS)


class ModelProperties(_Frozen):
    """One entry of `models`."""

    name: str
    description: str = Field(min_length=1)
    latest_version: int | None = None
    versions: tuple[ModelVersion, ...] = ()
    deprecation_date: date | None = None
    config: SqlModelConfig = SqlModelConfig()
    columns: tuple[ColumnProperties, ...] = ()
    data_tests: tuple[DataTest, ...] = Field((), validation_alias=_TESTS)
    meta: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> ModelProperties:
        names = [column.name.lower() for column in self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"column '{twice[0]}' is described twice")
        numbers = [version.v for version in self.versions]
        if len(set(numbers)) != len(numbers):
            raise ValueError("a version is listed twice")
        if self.latest_version is not None and self.latest_version not in numbers:
            raise ValueError(f"latest_version {self.latest_version} is not among the versions {numbers}")
        for version in self.versions:
            if version.prerelease and version.v == self.latest:
                raise ValueError(f"version {version.v} is a prerelease, so it cannot be the latest")
            _merged(self.config, version)
        return self

    @property
    def latest(self) -> int | None:
        """The version that the unsuffixed name stands for: `latest_version`, else the highest that is no prerelease."""
        if self.latest_version is not None or not self.versions:
            return self.latest_version
        return max((v.v for v in self.versions if not v.prerelease), default=None)

    def of_version(self, number: int) -> ModelProperties:
        """The properties of one version, with what it overrides put in place."""
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


def _merged(config: SqlModelConfig, version: ModelVersion) -> SqlModelConfig:
    """The configuration of a version: its own keys over those of the SQL model."""
    return SqlModelConfig.model_validate(config.model_dump() | version.config)


def _version_columns(
    base: tuple[ColumnProperties, ...], own: tuple[InheritedColumns | ColumnProperties, ...]
) -> tuple[ColumnProperties, ...]:
    """The base's columns, less those left out, with those of the same name replaced and new ones at the end."""
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
    """An argument of a macro: what it means, and its DuckDB type in unit tests."""

    name: str
    type: str = Field(min_length=1)
    description: str = ""


class MacroProperties(_Frozen):
    """One entry of `macros`."""

    name: str
    description: str = Field(min_length=1)
    arguments: tuple[MacroArgument, ...] = ()
    meta: dict[str, Any] = Field(default_factory=dict)


class UnitInput(_Frozen):
    """Rows that stand in for one table or view that the SQL model reads; columns left out are null."""

    input: str
    rows: tuple[dict[str, Any], ...] = ()


class UnitExpect(_Frozen):
    """Rows that must come out, in any order; only the columns named are compared."""

    rows: tuple[dict[str, Any], ...] = ()


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


class MacroTest(_Frozen):
    """Given arguments → the values that a macro makes of them, one for each row, or one for all where it aggregates."""

    name: str
    description: str = ""
    macro: str
    given: tuple[dict[str, Any], ...] = Field(min_length=1)
    expect: tuple[Any, ...] = Field(min_length=1)


def _test_kind(value: Any) -> str:
    is_of_macro = isinstance(value, MacroTest) or (isinstance(value, dict) and "macro" in value)
    return "macro_test" if is_of_macro else "unit_test"


class CommonColumn(_Frozen):
    """What columns of this name mean in every SQL model that does not say otherwise."""

    name: str = Field(min_length=1)
    description: str = Field(min_length=1)


class Properties(_Frozen):
    """One YAML file. Its `columns` mean the same in every SQL model."""

    version: int = 2
    columns: tuple[CommonColumn, ...] = ()
    models: tuple[ModelProperties, ...] = ()
    macros: tuple[MacroProperties, ...] = ()
    unit_tests: tuple[
        Annotated[
            Annotated[UnitTest, Tag("unit_test")] | Annotated[MacroTest, Tag("macro_test")],
            Discriminator(_test_kind),
        ],
        ...,
    ] = ()


@dataclass(frozen=True, slots=True)
class LocatedMacroTest:
    """A unit test of a macro, and where it is written."""

    test: MacroTest
    macro: str
    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class LocatedUnitTest:
    """A unit test of the YAML, the SQL model it is about, and where it is written."""

    test: UnitTest
    model: str
    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class PropertiesFile:
    """A YAML file that was read, with the line of every entry."""

    file: Path
    properties: Properties
    column_lines: tuple[int, ...]
    model_lines: tuple[int, ...]
    macro_lines: tuple[int, ...]
    unit_test_lines: tuple[int, ...]


def read_properties(file: Path) -> PropertiesFile:
    """Read one YAML file. Raises `SqlModelError` with file, line, key path and what is wrong."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SqlModelError(f"{shown_path(file)}: cannot be read ({error}).") from None
    if len(content) > _LARGEST_FILE:
        raise SqlModelError(f"{shown_path(file)}: is larger than 1 MiB; split it.")
    return _properties(file, content)


@lru_cache(maxsize=1024)
def _properties(file: Path, content: bytes) -> PropertiesFile:
    """A file's content, read once in the life of the process."""
    node, data = _load(file, content)
    try:
        properties = Properties.model_validate(data or {})
    except ValidationError as error:
        first = error.errors()[0]
        where, line = _locate(node, first["loc"])
        message = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
        found = "" if first["type"] in ("missing", "value_error") else f" (found {_short(first['input'])})"
        raise SqlModelError(f"{shown_path(file)}:{line}: {where}: {message}{found}.") from None
    return PropertiesFile(
        file=file,
        properties=properties,
        column_lines=tuple(_locate(node, ("columns", i))[1] for i in range(len(properties.columns))),
        model_lines=tuple(_locate(node, ("models", i))[1] for i in range(len(properties.models))),
        macro_lines=tuple(_locate(node, ("macros", i))[1] for i in range(len(properties.macros))),
        unit_test_lines=tuple(_locate(node, ("unit_tests", i))[1] for i in range(len(properties.unit_tests))),
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _load(file: Path, content: bytes) -> tuple[yaml.Node | None, Any]:
    """The node tree (for lines) and the plain data of a YAML file: safe, no duplicate keys, no aliases."""
    import yaml

    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loader = loader_class(content.decode("utf-8"))
        try:
            node = loader.get_single_node()
            if node is None:
                return None, None
            return node, _plain(node, loader, file, set())
        finally:
            loader.dispose()
    except UnicodeDecodeError as error:
        raise SqlModelError(f"{shown_path(file)}: cannot be read ({error}).") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        raise SqlModelError(
            f"{shown_path(file)}:{line}: this is not YAML: {getattr(error, 'problem', error)}."
        ) from None
    except RecursionError:
        raise SqlModelError(f"{shown_path(file)}: is nested too deeply to be read.") from None


def _plain(node: yaml.Node, loader: yaml.SafeLoader, file: Path, seen: set[int]) -> Any:
    """Plain data of a node. A node that comes twice (an alias) and a key that comes twice are refused.

    PyYAML's own way to plain data allows for cycles and merges, which costs several times as much.
    """
    if id(node) in seen:
        line = node.start_mark.line + 1
        raise SqlModelError(f"{shown_path(file)}:{line}: YAML aliases are not allowed here; write the value out.")
    seen.add(id(node))
    if node.tag == _YAML_TEXT:
        return node.value
    if node.tag == _YAML_LIST:
        return [_plain(item, loader, file, seen) for item in node.value]
    if node.tag != _YAML_MAP:
        return loader.construct_object(node, deep=True)
    plain: dict[Any, Any] = {}
    for key, value in node.value:
        name = _plain(key, loader, file, seen)
        if not isinstance(name, Hashable):
            raise SqlModelError(
                f"{shown_path(file)}:{key.start_mark.line + 1}: a key is a list or mapping; use a name."
            )
        if name in plain:
            raise SqlModelError(f"{shown_path(file)}:{key.start_mark.line + 1}: the key '{key.value}' comes twice.")
        plain[name] = _plain(value, loader, file, seen)
    return plain


def _locate(node: yaml.Node | None, path: tuple[int | str, ...]) -> tuple[str, int]:
    """The key path as far as the YAML goes along it, and the line of its end."""
    import yaml

    line, keys = 1, []
    for position, step in enumerate(path):
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            keys.append(f"[{step}]")
            line = node.start_mark.line + 1
            continue
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        entry = next(((key, value) for key, value in pairs if key.value == step), None)
        if entry is not None:
            node = entry[1]
            keys.append(f".{step}")
            line = entry[0].start_mark.line + 1
        elif position == len(path) - 1 and isinstance(step, str):
            # A key that is missing is named; a step that is pydantic's own (the branch of a union) is passed over.
            keys.append(f".{step}")
    return "".join(keys).lstrip(".") or "the file", line
