"""The full description of a column: it is written where the column is made, and inherited down the lineage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from debatebench.transform.lineage.column_lineage import Lineage

if TYPE_CHECKING:
    from debatebench.transform.domain import LandedColumn
    from debatebench.transform.project import Project
    from debatebench.transform.properties import ColumnProperties

    Values = Mapping[str, str]

T = TypeVar("T")


class Descriptions:
    """The descriptions of all columns of a project, and their values. What a column's own YAML omits is traced."""

    def __init__(self, project: Project) -> None:
        self.project, self.lineage = project, Lineage(project)
        self._of_every = project.common_columns
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
        sides of a union agree; else the project's common description for columns of this name.
        """
        column = column.lower()
        written = self._inherited(relation, column, self._described, "")
        return written or self._inherited(relation, column, self._common, "")

    def values(self, relation: str, column: str) -> Values:
        """The values that a column can have, as text, each with its meaning or an empty text; empty if any is possible.

        They are those of the column's own test `accepted_values`; else those of the column that it passes on unchanged.
        A value without a meaning has the one that it has there, or else in the project's common column of this name.
        """
        column = column.lower()
        nothing: Values = {}
        listed = self._inherited(relation, column, self._listed, nothing)
        if all(listed.values()):
            return listed
        common = self._of_every[column].values if column in self._of_every else {}
        known = {**common, **self._inherited(relation, column, self._explained, nothing)}
        return {value: text or known.get(value, "") for value, text in listed.items()}

    def _inherited(self, relation: str, column: str, said_of: Callable[[str], T], nothing: T) -> T:
        """What is said of a column, or of the nearest ones that it passes on: the same on all sides of a union."""
        own = said_of(f"{relation}.{column}")
        if own or column not in self.lineage.columns(relation):
            return own
        found: list[T] = []
        seen: set[int] = set()
        open_nodes = [self.lineage.column(relation, column)]
        while open_nodes:
            node = open_nodes.pop()
            # A CTE may use a common name with another meaning.
            said = nothing if node.kind == "cte" else said_of(node.name)
            if said or not node.same_as:
                found.append(said)
            elif id(node) not in seen:
                seen.add(id(node))
                open_nodes.extend(node.same_as)
        return found[0] if all(said == found[0] for said in found) else nothing

    def _described(self, name: str) -> str:
        return self._own[name].description if name in self._own else ""

    def _listed(self, name: str) -> Values:
        return self._own[name].values if name in self._own else {}

    def _explained(self, name: str) -> Values:
        return {value: text for value, text in self._listed(name).items() if text}

    def _common(self, name: str) -> str:
        common = self._of_every.get(name.rpartition(".")[2])
        return common.description if common else ""


def values_text(values: Values) -> str:
    """``Values: `open`: not yet paid; `paid`; `closed`.``"""
    listed = (f"`{value}`: {text}" if text else f"`{value}`" for value, text in values.items())
    return f"Values: {'; '.join(listed)}."
