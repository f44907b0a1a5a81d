"""Which relations a query needs rows of: without them the query has none, and need not be planned to know.

Only what is certain counts: a relation in an outer join, a SELECT that may be an aggregate of all rows, and any syntax
that is not listed here are never a reason for a query to have no rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from sqlglot import exp

_Needs = frozenset[frozenset[str]]
"""Each is a set of relations: if all in one of them have no rows, the query has none."""
_NOTHING: _Needs = frozenset()
# Every combination of the sets of two queries in UNION is one of the whole.
_MOST = 30

_METHODS, _SIDES = ("", "NATURAL", "ASOF"), ("", "LEFT", "RIGHT")
_INNER = ("", "INNER", "CROSS", "SEMI")


def needed_relations(tree: exp.Expr) -> tuple[tuple[str, ...], ...]:
    """Sets of dotted names, in lower case: if all in one of them have no rows, the query has none."""
    return tuple(sorted(tuple(sorted(names)) for names in _smallest(_of(tree, {}))))


def _smallest(needs: Iterable[frozenset[str]]) -> _Needs:
    """Those that contain none of the others: the rest follows from them. If there are very many, some of them."""
    found: list[frozenset[str]] = []
    for names in sorted(set(needs), key=lambda names: (len(names), sorted(names))):
        if not any(other <= names for other in found):
            found.append(names)
    return frozenset(found[:_MOST])


def _of(node: exp.Expr | None, ctes: Mapping[str, _Needs], is_lateral: bool = False) -> _Needs:
    """The relations that a query, or something in FROM, needs; `ctes` are those that are visible to it.

    What `is_lateral` may read columns of what stands before it in FROM.
    """
    if isinstance(node, exp.Table):
        return _of_table(node, ctes)
    if not isinstance(node, exp.Query) or node.args.get("pivots"):
        return _NOTHING
    with_clause = node.args.get("with_")
    if with_clause is not None and with_clause.args.get("recursive"):
        return _NOTHING
    visible = dict(ctes)
    for cte in node.ctes:
        visible[cte.alias.lower()] = _of(cte.this, visible, is_lateral)
    if isinstance(node, exp.Subquery):
        return _joined(_of(node.this, visible, is_lateral), node, visible)
    if isinstance(node, exp.Union):
        pairs = product(_of(node.left, visible, is_lateral), _of(node.right, visible, is_lateral))
        return _smallest(left | right for left, right in pairs)
    if isinstance(node, exp.Except):
        return _of(node.left, visible, is_lateral)
    if not isinstance(node, exp.Select) or _may_be_of_all_rows(node, is_lateral):
        return _NOTHING
    source = node.args.get("from_")
    return _joined(_NOTHING if source is None else _of(source.this, visible), node, visible) | _listed(node, visible)


def _listed(select: exp.Select, ctes: Mapping[str, _Needs]) -> _Needs:
    """What is needed by conditions that a value is among those of a query."""
    where = select.args.get("where")
    if where is None:
        return _NOTHING
    conditions = where.this.flatten() if isinstance(where.this, exp.And) else [where.this]
    queries = (each.args["query"] for each in conditions if isinstance(each, exp.In) and each.args.get("query"))
    return _NOTHING.union(*(_of(query, ctes, is_lateral=True) for query in queries))


def _of_table(table: exp.Table, ctes: Mapping[str, _Needs]) -> _Needs:
    if isinstance(table.this, exp.Func) or table.args.get("pivots"):
        return _NOTHING
    if table.db:
        return _joined(frozenset({frozenset({f"{table.db}.{table.name}".lower()})}), table, ctes)
    return _joined(ctes.get(table.name.lower(), _NOTHING), table, ctes)


def _joined(needs: _Needs, node: exp.Expr, ctes: Mapping[str, _Needs]) -> _Needs:
    """What is needed with all joins of a node, in their order."""
    for join in node.args.get("joins") or ():
        side, kind, method = join.side.upper(), join.kind.upper(), str(join.method).upper()
        if method not in _METHODS or side not in _SIDES or kind not in (*_INNER, "ANTI", "OUTER"):
            return _NOTHING
        other = _of(join.this, ctes, is_lateral=True)
        if side == "RIGHT":
            needs = other
        elif side == "" and kind in _INNER:
            needs |= other
    return needs


def _may_be_of_all_rows(select: exp.Select, is_lateral: bool) -> bool:
    """Whether a SELECT may be an aggregate without groups, which has one row where it reads none.

    One that names a column outside of any function cannot be: DuckDB would refuse it.
    """
    if select.args.get("having") is not None and select.args.get("group") is None:
        return True
    group = select.args.get("group")
    if group is None and all(isinstance(each, exp.Column) for each in select.expressions):
        return False
    if group is None or group.args.get("all"):
        return not any(_is_own_column(each, select, is_lateral) for each in select.expressions)
    sets = any(value for key, value in group.args.items() if key != "expressions")
    odd = any(isinstance(each, exp.Tuple | exp.Cube | exp.Rollup | exp.GroupingSets) for each in group.expressions)
    return sets or odd or not group.expressions


def _is_own_column(each: exp.Expr, select: exp.Select, is_lateral: bool) -> bool:
    """Whether this is a column, or all columns, that the SELECT itself reads, and neither an outer one nor an alias."""
    each = each.this if isinstance(each, exp.Alias) else each
    if isinstance(each, exp.Star):
        # Without some columns, it might be without any.
        return not any(each.args.values())
    if not isinstance(each, exp.Column):
        return False
    sources = [select.args["from_"], *(select.args.get("joins") or ())] if select.args.get("from_") else []
    if each.table:
        return each.table.lower() in {source.this.alias_or_name.lower() for source in sources}
    aliases = {other.alias.lower() for other in select.expressions if isinstance(other, exp.Alias)}
    return not is_lateral and each.name.lower() not in aliases
