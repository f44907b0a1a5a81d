"""The full description of a column: it is written where the column is made, and inherited down the lineage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeVar

from sqlglot import exp

from debatebench.transform.domain import LandedColumn
from debatebench.transform.graph import upstream
from debatebench.transform.lineage.passed_on import OutputColumns
from debatebench.transform.project import Project
from debatebench.transform.sql_model import MACROS, is_macro_call, syntax_tree

if TYPE_CHECKING:
    from debatebench.transform.properties import ColumnProperties

    Values = Mapping[str, str]

T = TypeVar("T")

Sources = tuple[tuple[str, str] | None, ...]
"""(relation, column) of what a column passes on, (macro, an empty text) of a macro that makes it, None for all else.

Beside None, they are what an expression chooses among.
"""

_COMPUTED: Sources = (None,)


@lru_cache(maxsize=1)
def descriptions_of(project: Project) -> Descriptions:
    """The descriptions of a project. Its columns are traced once, however many ask."""
    return Descriptions(project)


class Descriptions:
    """The descriptions of all columns of a project, and their values. What a column's own YAML omits is traced."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._columns: dict[str, dict[str, Sources]] = {}
        self._of_every = project.common_columns
        self._of_macros = {f"{name}.": macro.properties.values for name, macro in project.macros.items()}
        self._own: dict[str, ColumnProperties | LandedColumn] = {
            f"{name}.{column.name.lower()}": column
            for name, model in project.models.items()
            for column in model.properties.columns
        }
        self._own |= {
            f"{table}.{name}": column
            for table, columns in project.domain.tables.items()
            for name, column in columns.items()
        }

    def text(self, relation: str, column: str) -> str:
        """The description of a column and its values, as one text; empty if it has no description."""
        description = self.description(relation, column)
        values = self.values(relation, column) if description else {}
        return f"{description} {values_text(values)}" if values else description

    def description(self, relation: str, column: str) -> str:
        """The description of a column of a SQL model or landed table, without its values; empty if there is none.

        It is the column's own description; else that of the column that it passes on unchanged, perhaps renamed, if all
        sides of a union agree; else the project's common description for columns of this name. A landed column without
        its own has that of the column of a SQL model that passes it on.
        """
        column = column.lower()
        written = self._inherited(relation, column, self._described, "")
        return written or self._inherited(relation, column, self._common, "")

    def values(self, relation: str, column: str) -> Values:
        """The values that a column can have, as text, each with its meaning or an empty text; empty if any is possible.

        They are those of the column's own test `accepted_values`; else those of the column that it passes on unchanged,
        or of the macro that makes it. A value without a meaning has the one that it has there, or in a macro of the
        column's expression, or else in the project's common column of this name.
        """
        column = column.lower()
        nothing: Values = {}
        listed = self._inherited(relation, column, self._listed, nothing)
        if all(listed.values()):
            return listed
        common = self._of_every[column].values if column in self._of_every else {}
        known = {**common, **self._meanings(relation, column)}
        return {value: text or known.get(value, "") for value, text in listed.items()}

    def columns(self, relation: str) -> Mapping[str, Sources]:
        """The columns of a SQL model or landed table, each with what it passes on.

        A pattern hides which columns a query selects, so those of the YAML are added.
        """
        if relation not in self._columns:
            models = self.project.models
            # From the bottom up, so that a long chain does not recurse deeply.
            above = upstream(models, [relation]) - self._columns.keys() if relation in models else set()
            for name in [*(name for name in models if name in above), relation]:
                self._columns[name] = self._of_relation(name)
        return self._columns[relation]

    def _of_relation(self, name: str) -> dict[str, Sources]:
        model = self.project.models.get(name)
        if model is None:
            return dict.fromkeys(self.project.domain.tables.get(name, ()), ())
        if model.seed is not None:
            return dict.fromkeys(model.seed.types, ())
        outputs = OutputColumns(self._passed_on, _COMPUTED, _computed, _merged)
        found = outputs.of(syntax_tree(model.query))
        described = dict.fromkeys((column.name.lower() for column in model.properties.columns), ())
        return found | {column: nothing for column, nothing in described.items() if column not in found}

    def _passed_on(self, relation: str) -> dict[str, Sources]:
        return {column: ((relation, column),) for column in self.columns(relation)}

    def _inherited(self, relation: str, column: str, said_of: Callable[[str], T], nothing: T) -> T:
        """What is said of a column, or of the nearest ones that it passes on: the same on all sides of a union."""
        found: list[T] = []
        open_columns, seen = [(relation, column)], set()
        while open_columns:
            place = open_columns.pop()
            if place in seen:
                continue
            seen.add(place)
            said = said_of(".".join(place))
            sources = () if said else self.columns(place[0]).get(place[1], ())
            if None in sources:
                return nothing
            if not sources:
                found.append(said or next(filter(None, map(said_of, self._readers.get(place, ()))), nothing))
            open_columns += [source for source in sources if source is not None]
        return found[0] if all(said == found[0] for said in found) else nothing

    def _meanings(self, relation: str, column: str) -> Values:
        """Value → what it means, where a column comes from; the nearest text of each."""
        found: dict[str, str] = {}
        places = [(relation, column)]
        for place in places:
            explained = {value: text for value, text in self._listed(".".join(place)).items() if text}
            found = explained | found
            sources = self.columns(place[0]).get(place[1], ())
            places += [source for source in sources if source is not None and source not in places]
        return found

    @cached_property
    def _readers(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """Landed column → the columns that pass it on, those of the SQL model with the shortest name first."""
        found: dict[tuple[str, str], list[str]] = {}
        models = self.project.models.values()
        reading = [
            model.name for model in models if not self.project.domain.tables.keys().isdisjoint(model.dependencies)
        ]
        for reader in sorted(reading, key=lambda name: (len(name), name)):
            for name, sources in self.columns(reader).items():
                if len(sources) == 1 and sources[0] is not None:
                    found.setdefault(sources[0], []).append(f"{reader}.{name}")
        return found

    def _described(self, name: str) -> str:
        return self._own[name].description if name in self._own else ""

    def _listed(self, name: str) -> Values:
        return self._own[name].values if name in self._own else self._of_macros.get(name, {})

    def _common(self, name: str) -> str:
        common = self._of_every.get(name.rpartition(".")[2])
        return common.description if common else ""


def values_text(values: Values) -> str:
    """``Values: `open`: not yet paid; `paid`; `closed`.``"""
    listed = (f"`{value}`: {text}" if text else f"`{value}`" for value, text in values.items())
    return f"Values: {'; '.join(listed)}."


def _computed(expression: exp.Expr, of_column: Callable[[exp.Column], Sources]) -> Sources:
    """The macro that an expression calls; else None, and what CASE and COALESCE choose among."""
    if is_macro_call(expression):
        return (_macro(expression),)
    found: list[Sources] = [_COMPUTED]
    for result in _results(expression):
        if isinstance(result, exp.Column):
            found.append(of_column(result))
        elif is_macro_call(result):
            found.append((_macro(result),))
    return _merged(found)


def _results(expression: exp.Expr) -> Iterator[exp.Expr]:
    """The expressions whose value can be that of a CASE or COALESCE; of any other expression, itself."""
    if isinstance(expression, exp.Case):
        inner = [*(each.args["true"] for each in expression.args["ifs"]), expression.args.get("default")]
    elif isinstance(expression, exp.Coalesce):
        inner = [expression.this, *expression.expressions]
    else:
        yield expression
        return
    for each in inner:
        yield from _results(each) if each is not None else ()


def _macro(call: exp.Expr) -> tuple[str, str]:
    return f"{MACROS}.{call.expression.name}".lower(), ""


def _merged(found: Sequence[Sources]) -> Sources:
    return tuple(dict.fromkeys(source for sources in found for source in sources))
