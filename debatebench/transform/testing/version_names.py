"""Check that only a versioned SQL model's own files name a version, and that everything else uses the latest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from debatebench.shared.files import shown_path
from debatebench.transform.project import Project
from debatebench.transform.sql_model import SqlModel
from debatebench.transform.testing.data_tests import TestResult, failed, run_test

# In prose, a name is in backquotes.
_DOTTED = re.compile(r"(?<![\w.`])[a-z]\w*\.\w+_v[1-9]\d*\b", re.IGNORECASE)


def version_name_test(project: Project, pages: Mapping[str, Path]) -> TestResult:
    """Whether SQL, data tests, unit tests and the queries of `pages` name a version of a SQL model.

    The files of a versioned SQL model may name versions: `totals_v1` reads `orders_v1`.
    """

    def difference() -> Mapping[str, Any]:
        found = sorted({*_in_project(project), *_in_pages(project, pages)})
        problems = [
            f"{shown_path(file)}:{line} names {name}; write {name.rpartition('_v')[0]}, which is the latest version."
            for file, line, name in found
        ]
        return failed(problems) | ({"file": found[0][0]} if found else {})

    name = "description_versions_are_named_by_versions_only"
    return run_test(TestResult(name, "description", None, Path("sql"), "pass"), difference)


def _in_project(project: Project) -> Iterator[tuple[Path, int, str]]:
    """(file, line, version) of every version that SQL or YAML names outside the files of versioned SQL models."""
    models = project.models
    plain = {name: model for name, model in models.items() if model.version is None and model.alias_of is None}
    texts = [(each.query, each.file) for each in plain.values()]
    texts += [(each.query, each.file) for each in project.singular_tests]
    for query, file in texts:
        for reference in query.references:
            if _is_version(reference.name, models):
                yield file, reference.line, reference.name
    for model in plain.values():
        for text in _test_queries(model):
            for name in _versions_in(text, models):
                yield model.properties_file, _line_of(name, model.properties_file), name
    for unit in project.unit_tests:
        for given in unit.test.given if unit.tested in plain else ():
            if _is_version(given.input.lower(), models):
                yield unit.file, unit.line, given.input.lower()


def _test_queries(model: SqlModel) -> Iterator[str]:
    """The queries of its data tests."""
    for test, column in model.properties.placed_tests:
        yield f"{test.failing_rows(model.name, column)} {test.where or ''}"


def _in_pages(project: Project, pages: Mapping[str, Path]) -> Iterator[tuple[Path, int, str]]:
    for file in pages.values():
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            for name in _versions_in(line, project.models):
                yield file, number, name


def _is_version(name: str, models: Mapping[str, SqlModel]) -> bool:
    return name in models and models[name].version is not None


def _versions_in(text: str, models: Mapping[str, SqlModel]) -> set[str]:
    return {name for name in _dotted_names(text) if _is_version(name, models)}


def _line_of(name: str, file: Path) -> int:
    """The first line that names it."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return next((number for number, line in enumerate(lines, 1) if name in _dotted_names(line)), 1)


def _dotted_names(text: str) -> set[str]:
    return {match.lower() for match in _DOTTED.findall(text)} if "_v" in text.lower() else set()
