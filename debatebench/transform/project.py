"""A project: every SQL model, its YAML, the singular tests and the unit tests, checked against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.shared.hashing import hash_of

if TYPE_CHECKING:
    from debatebench.transform.properties import LocatedUnitTest
    from debatebench.transform.sql_model import SingularTest, SqlModel

__all__ = ["Project", "load_project"]


@dataclass(frozen=True, slots=True)
class _Checked:
    models: dict[str, SqlModel]
    singular_tests: tuple[SingularTest, ...]
    unit_tests: tuple[LocatedUnitTest, ...]


@dataclass(frozen=True)
class Project:
    """The files of a project. They are read and checked on first use of `models`, `singular_tests` or `unit_tests`.

    Everything wrong in them is a `SqlModelError` with file and line.
    """

    files: Mapping[str, Path]

    @cached_property
    def sha256(self) -> str:
        """Hash of every file's path and bytes; it needs no parsing."""
        return hash_of(*(part for path in sorted(self.files) for part in (path, self.files[path].read_bytes())))

    @cached_property
    def _checked(self) -> _Checked:
        from debatebench.transform.load import load_files

        return _Checked(*load_files(self.files))

    @property
    def models(self) -> dict[str, SqlModel]:
        """Every SQL model by dotted name, each after everything that it reads."""
        return self._checked.models

    @property
    def singular_tests(self) -> tuple[SingularTest, ...]:
        """The queries of `tests/`."""
        return self._checked.singular_tests

    @property
    def unit_tests(self) -> tuple[LocatedUnitTest, ...]:
        """The unit tests of all YAML files."""
        return self._checked.unit_tests


def load_project(files: Mapping[str, Path]) -> Project:
    """The project made of `files`: path relative to `sql/` (`marts/debates.sql`) → the file that holds it."""
    return Project(dict(files))
