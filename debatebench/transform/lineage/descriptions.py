"""The full description of a column: it is written where the column is made, and inherited down the lineage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from debatebench.transform.lineage.column_lineage import Lineage

if TYPE_CHECKING:
    from debatebench.transform.lineage.within_query import LineageNode
    from debatebench.transform.project import Project


class Descriptions:
    """The descriptions of all columns of a project. A column is traced only if its own YAML omits the description."""

    def __init__(self, project: Project) -> None:
        self.project, self.lineage = project, Lineage(project)
        self._of_every = project.common_columns
        self._own = {
            f"{name}.{column.name.lower()}": column.description
            for name, model in project.models.items()
            for column in model.properties.columns
        }
        self._own |= {
            f"{table}.{name}": column.description
            for table, columns in project.domain.tables.items()
            for name, column in columns.items()
        }

    def text(self, relation: str, column: str) -> str:
        """The description of a column of a SQL model or landed table; empty if there is none.

        It is the column's own description; else that of the column that it passes on unchanged, perhaps renamed, if all
        sides of a union agree; else the project's common description for columns of this name.
        """
        column = column.lower()
        own = self._own.get(f"{relation}.{column}")
        if own:
            return own
        if column not in self.lineage.columns(relation):
            return self._common(column)
        node = self.lineage.column(relation, column)
        return _inherited(node, self._written) or _inherited(node, self._of_name)

    def _written(self, node: LineageNode) -> str:
        return self._own.get(node.name, "")

    def _of_name(self, node: LineageNode) -> str:
        return self._common(node.name.rpartition(".")[2])

    def _common(self, name: str) -> str:
        return self._of_every.get(name, "")


def _inherited(node: LineageNode, text_of: Callable[[LineageNode], str]) -> str:
    """The nearest description on the way down from a node; none if the sides of a union lead to several."""
    texts: set[str] = set()
    seen: set[int] = set()
    open_nodes = [node]
    while open_nodes:
        each = open_nodes.pop()
        # A CTE may use a common name with another meaning.
        text = "" if each.kind == "cte" else text_of(each)
        if text or not each.same_as:
            texts.add(text)
        elif id(each) not in seen:
            seen.add(id(each))
            open_nodes.extend(each.same_as)
    return texts.pop() if len(texts) == 1 else ""
