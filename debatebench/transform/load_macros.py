"""Files → checked macros: each file of `macros/` is joined with its YAML and its unit tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.transform.graph import did_you_mean
from debatebench.transform.macros import Macro, check_macro_calls, macros_in_order, parse_macro
from debatebench.transform.properties import LocatedMacroTest, MacroProperties, MacroTest
from debatebench.transform.sql_model import MACROS, read_sql

if TYPE_CHECKING:
    from debatebench.transform.broken import Broken
    from debatebench.transform.domain import PythonFunctions
    from debatebench.transform.properties import PropertiesFile

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def load_macros(
    files: Mapping[str, Path],
    yaml_files: Mapping[PurePosixPath, PropertiesFile],
    functions: PythonFunctions,
    broken: Broken,
) -> dict[str, Macro]:
    """Every macro with its YAML that is not broken, each after those that it calls."""
    described: dict[str, tuple[MacroProperties, Path, str]] = {}
    for read in yaml_files.values():
        for properties, line in zip(read.properties.macros, read.macro_lines, strict=True):
            name, where = f"{MACROS}.{properties.name.lower()}", f"{shown_path(read.file)}:{line}"
            with broken.of(name):
                if name in described:
                    raise SqlModelError(f"{where}: {name} is already described at {described[name][2]}.")
                described[name] = (properties, read.file, where)
    macros: dict[str, Macro] = {}
    unread = next((error for path, error in broken.items() if path.startswith(f"{MACROS}/")), None)
    for path in sorted(path for path in files if path.startswith(f"{MACROS}/") and path.endswith(".sql")):
        name = f"{MACROS}.{PurePosixPath(path).stem}"
        with broken.of(name):
            if name not in described and unread is not None:
                raise unread
            macros[name] = _macro(path, files[path], described, functions)
    for name, (_, _, where) in described.items():
        if name not in macros and name not in broken:
            with broken.of(name):
                raise SqlModelError(
                    f"{where}: {name} is described, but there is no sql/{name.replace('.', '/')}.sql."
                    f"{did_you_mean(name, macros)}"
                )
    for macro in macros.values():
        with broken.of(macro.name):
            check_macro_calls(macro.query, macro.file, macros, broken)
    return macros_in_order({name: macro for name, macro in macros.items() if name not in broken}, broken)


def _macro(
    path: str, file: Path, described: Mapping[str, tuple[MacroProperties, Path, str]], functions: PythonFunctions
) -> Macro:
    """The macro of one file of `macros/` and its YAML."""
    if len(PurePosixPath(path).parts) != 2:
        raise SqlModelError(f"{shown_path(file)}: a macro must be in sql/{MACROS} itself, not in a subfolder.")
    sql = read_sql(file)
    found = parse_macro(sql, file)
    stem, (own, *parameters) = PurePosixPath(path).stem, found.signature
    name = f"{MACROS}.{stem}"
    if own != stem:
        raise SqlModelError(
            f"{shown_path(file)}: contains the macro '{own}'; rename the file to {own}.sql, or the macro to {stem}."
        )
    for part in found.signature:
        if not _NAME.fullmatch(part):
            raise SqlModelError(f"{shown_path(file)}: '{part}' is not a name; use lower-case letters, digits and _.")
    for function in functions.python_functions([own, *found.functions]):
        what = "has the name of" if function == own else "calls"
        raise SqlModelError(
            f"{shown_path(file)}: {name} {what} the Python function '{function}'; "
            "a macro is SQL that any client can run."
        )
    if name not in described:
        raise SqlModelError(
            f"{shown_path(file)}:1: {name} has no description; add it under `macros` in sql/{MACROS}/_{MACROS}.yml."
            f"{did_you_mean(name, described)}"
        )
    properties, properties_file, where = described[name]
    for argument in properties.arguments:
        if argument.name not in parameters:
            listed = ", ".join(parameters) or "none"
            raise SqlModelError(f"{where}: {name} has no argument '{argument.name}'. Its arguments: {listed}.")
    query = found.query(sql)
    return Macro(
        name=name,
        file=file,
        query=query,
        parameters=tuple(parameters),
        expression=query.sql[found.start :],
        places=found.places,
        properties=properties,
        properties_file=properties_file,
    )


def macro_tests(
    yaml_files: Mapping[PurePosixPath, PropertiesFile], macros: Mapping[str, Macro], broken: Broken
) -> Iterator[LocatedMacroTest]:
    """Every unit test of a macro that is not broken, after a check that its macro and arguments exist."""
    seen: dict[tuple[str, str], str] = {}
    for read in yaml_files.values():
        for test, line in zip(read.properties.unit_tests, read.unit_test_lines, strict=True):
            if not isinstance(test, MacroTest):
                continue
            place = f"{shown_path(read.file)}:{line}"
            name = f"{MACROS}.{test.macro.lower().removeprefix(f'{MACROS}.')}"
            if name in broken:
                continue
            with broken.of(f"unit test {test.name}"):
                _check_macro_test(test, name, place, macros)
                if (name, test.name) in seen:
                    raise SqlModelError(
                        f"{place}: unit test {test.name}: the name is already used at {seen[name, test.name]}."
                    )
                seen[name, test.name] = place
                yield LocatedMacroTest(test, name, read.file, line)


def _check_macro_test(test: MacroTest, name: str, place: str, macros: Mapping[str, Macro]) -> None:
    """Refuse a unit test of a macro that does not exist, or with arguments that it does not have."""
    if name not in macros:
        raise SqlModelError(f"{place}: unit test {test.name}: there is no macro '{name}'.{did_you_mean(name, macros)}")
    for argument in dict.fromkeys(key for row in test.given for key in row):
        if argument not in macros[name].parameters:
            raise SqlModelError(
                f"{place}: unit test {test.name}: {name} has no argument '{argument}'."
                f"{did_you_mean(argument, macros[name].parameters)}"
            )
