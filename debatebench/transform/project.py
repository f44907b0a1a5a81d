"""A project: every SQL model and macro, its YAML, the singular tests and the unit tests, checked against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.shared.errors import SqlModelError
from debatebench.shared.hashing import hash_of
from debatebench.transform.domain import Domain
from debatebench.transform.sql_model import Query, SingularTest, SqlModel

if TYPE_CHECKING:
    from debatebench.transform.load import Checked
    from debatebench.transform.macros import Macro
    from debatebench.transform.properties import CommonColumn, LocatedTest, MacroTest, SchemaProperties, UnitTest


@dataclass(frozen=True, eq=False)
class Project:
    """The files of a project: path relative to `sql/` (`marts/orders.sql`) → the file, and what they are about.

    The files are read and checked on first use of `models`, `macros` or tests.

    Every error in them is a `SqlModelError` with file and line. With `skips_broken` it is not raised: what has an error
    is in `broken`, with all that depends on it, and in no other property.

    A project is equal only to itself, so what is derived from it can be cached by it.
    """

    files: Mapping[str, Path]
    domain: Domain
    skips_broken: bool = False

    @cached_property
    def sha256(self) -> str:
        """Hash of every file's path and bytes; does not parse the files."""
        return hash_of(*(part for path in sorted(self.files) for part in (path, self.files[path].read_bytes())))

    @cached_property
    def _checked(self) -> Checked:
        from debatebench.transform.load import load_files

        return load_files(self.files, self.domain, skip_broken=self.skips_broken)

    @property
    def models(self) -> dict[str, SqlModel]:
        """Every SQL model by dotted name, each after the ones that it reads."""
        return self._checked.models

    @property
    def macros(self) -> dict[str, Macro]:
        """Every macro by dotted name, each after the ones that it calls."""
        return self._checked.macros

    @property
    def singular_tests(self) -> tuple[SingularTest, ...]:
        """The queries of `tests/`."""
        return self._checked.singular_tests

    @property
    def unit_tests(self) -> tuple[LocatedTest[UnitTest], ...]:
        """The unit tests of SQL models, of all YAML files."""
        return self._checked.unit_tests

    @property
    def common_columns(self) -> dict[str, CommonColumn]:
        """The columns that have the same meaning in every SQL model, by name in lower case."""
        return self._checked.common_columns

    @property
    def schemas(self) -> dict[str, SchemaProperties]:
        """What each schema holds, by name in lower case."""
        return self._checked.schemas

    @property
    def macro_tests(self) -> tuple[LocatedTest[MacroTest], ...]:
        """The unit tests of macros, of all YAML files."""
        return self._checked.macro_tests

    @property
    def broken(self) -> Mapping[str, SqlModelError]:
        """Name → why it cannot be read; see `broken.Broken`."""
        return self._checked.broken

    def select(self, selectors: Sequence[str] | None) -> list[str]:
        """The SQL models that `graph.select_models` selects, or all, each after those that it reads."""
        from debatebench.transform.graph import select_models

        return list(self.models) if selectors is None else select_models(self.models, selectors, self.broken)

    @property
    def queries(self) -> Iterator[Query]:
        """All parsed texts."""
        yield from (model.query for model in self.models.values())
        yield from (macro.query for macro in self.macros.values())
        yield from (test.query for test in self.singular_tests)
