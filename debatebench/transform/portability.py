"""Constructs whose meaning changes when a SQL model is written for another engine, as data: what, why, what instead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp

from debatebench.transform.spark.rewrites import TRANSLATED_FUNCTIONS
from debatebench.transform.spark.typed_query import is_list, name_of


@dataclass(frozen=True, slots=True)
class Rule:
    """One construct. `is_translated` says that it keeps its meaning for Spark, by `spark/rewrites.py`."""

    construct: str
    why: str
    instead: str
    holds: Callable[[exp.Expr], bool]
    is_translated: bool = True


class Finding(NamedTuple):
    """A rule that holds for a place in a query, and the line of the place in its file."""

    rule: Rule
    line: int


def sentences(found: Sequence[Finding]) -> list[str]:
    """One sentence for each rule, without the full stop, with all its lines."""
    lines: dict[str, list[int]] = {}
    rules = {each.rule.construct: each.rule for each in found}
    for each in found:
        lines.setdefault(each.rule.construct, []).append(each.line)
    return [
        f"line {', '.join(map(str, numbers))}: {name} {rules[name].why}; {rules[name].instead}"
        + ("" if rules[name].is_translated else "; it is not translated for Spark either")
        for name, numbers in lines.items()
    ]


def findings(tree: exp.Query, python_functions: Collection[str]) -> list[Finding]:
    """What in a typed query (`spark.typed_query`) means something else elsewhere: each rule once for a line, in order.

    `python_functions` are the names of the functions that are registered with an engine.
    """
    found = {(line, rule.construct): Finding(rule, line) for line, rule in _found(tree, python_functions)}
    return [found[key] for key in sorted(found)]


def _found(tree: exp.Query, python_functions: Collection[str]) -> Iterator[tuple[int, Rule]]:
    for node in tree.walk():
        name = name_of(node)
        if name in python_functions:
            yield (
                _line(node),
                Rule(
                    f"{name}(…)", "is a Python function", "register it with the engine, as Spark's session has it", bool
                ),
            )
        elif name and name not in _LIST_FUNCTIONS and name not in _COMMON:
            yield _line(node), _unknown(name)
        for rule in RULES:
            if rule.holds(node):
                yield _line(node), rule


def _unknown(name: str) -> Rule:
    return Rule(
        f"{name}(…)",
        "is written as it is, and may not exist or mean something else",
        "use a function that standard SQL has, or a Python function",
        bool,
        is_translated=name in TRANSLATED_FUNCTIONS,
    )


def _line(node: exp.Expr) -> int:
    """The line of the first name in a node, or of one around it."""
    around: exp.Expr | None = node
    while around is not None:
        lines = [int(each.meta["line"]) for each in around.walk() if "line" in each.meta]
        if lines:
            return min(lines)
        around = around.parent
    return 1


def _class(*names: str) -> Callable[[exp.Expr], bool]:
    return lambda node: type(node).__name__ in names


def _is_unknown(node: exp.Expr) -> bool:
    return node.type is None or node.is_type(exp.DType.UNKNOWN)


def _divides_decimals(node: exp.Expr) -> bool:
    sides = (node.this, node.expression) if isinstance(node, exp.Div) else ()
    return bool(sides) and not any(side.is_type(exp.DType.DOUBLE, exp.DType.FLOAT) for side in sides)


def _counts_a_list(node: exp.Expr) -> bool:
    return type(node).__name__ == "Length" and is_list(node.this)


def _counts_something(node: exp.Expr) -> bool:
    return type(node).__name__ == "Length" and _is_unknown(node.this)


def _subscripts(node: exp.Expr) -> bool:
    return isinstance(node, exp.Bracket) and not (node.expressions[0].is_string and not is_list(node.this))


def _may_be_empty(node: exp.Expr) -> bool:
    if not isinstance(node, exp.GenerateSeries):
        return False
    ends = (node.args.get("start"), node.args.get("end"))
    return not all(end is not None and end.unnest().is_int for end in ends)


def _means_decimals(node: exp.Expr) -> bool:
    return isinstance(node, exp.Avg) and node.this.is_type(exp.DType.DECIMAL, *exp.DataType.INTEGER_TYPES)


def _rounds(node: exp.Expr) -> bool:
    if not isinstance(node, exp.Cast) or not node.to.is_type(*exp.DataType.INTEGER_TYPES):
        return False
    return bool(node.this.is_type(exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.DECIMAL))


def _reads_json(node: exp.Expr) -> bool:
    return isinstance(node, exp.Cast) and bool(
        node.to.is_type(*exp.DataType.NESTED_TYPES) and node.this.is_type("json")
    )


def _computes_a_path(node: exp.Expr) -> bool:
    return isinstance(node, exp.JSONExtractScalar | exp.JSONExtract) and not isinstance(
        node.expression, exp.JSONPath | exp.Literal
    )


def _has_an_index(node: exp.Expr) -> bool:
    return isinstance(node, exp.Lambda) and len(node.expressions) > 1


def _calls_a_list_function(node: exp.Expr) -> bool:
    return name_of(node) in _LIST_FUNCTIONS


# Functions of lists that few engines have, and the length of a text in bytes.
_LIST_FUNCTIONS = TRANSLATED_FUNCTIONS - {"lgamma"}
# Functions that sqlglot has no class for, and that mean the same in Spark.
_COMMON = {"printf", "generate_subscripts"}

RULES: tuple[Rule, ...] = (
    Rule(
        "a / b",
        "of decimals or integers is a double here, and elsewhere a decimal with few digits or a whole number",
        "write cast(a as double) / nullif(b, 0)",
        _divides_decimals,
    ),
    Rule(
        "list(…)",
        "keeps nulls and its order and is null without rows, and elsewhere drops nulls, has any order or is empty",
        "filter nulls, sort in the function that reads the list, and write coalesce(list(…), [])",
        _class("ArrayAgg"),
    ),
    Rule("len(list)", "is the length of a text elsewhere", "write array_length(list)", _counts_a_list),
    Rule(
        "len(…)",
        "of a value whose type is not known may count elements or letters",
        "cast the value, or write array_length(list)",
        _counts_something,
        is_translated=False,
    ),
    Rule("x[i]", "fails or counts from 0 elsewhere", "join on the position of an unnested list", _subscripts),
    Rule(
        "range(a, b)",
        "is empty if b is not above a, and elsewhere counts backwards",
        "write case when a < b then range(a, b) else [] end",
        _may_be_empty,
    ),
    Rule(
        "avg(x)",
        "of decimals or integers is a double here, and not elsewhere",
        "write avg(cast(x as double))",
        _means_decimals,
    ),
    Rule("cast(x as bigint)", "rounds, and elsewhere cuts digits off", "write cast(round(x) as bigint)", _rounds),
    Rule("cast(json as struct)", "reads JSON, and elsewhere fails", "take fields out with ->>", _reads_json),
    Rule(
        "a JSON path",
        "that is computed is written differently elsewhere",
        "use a path that is a literal",
        _computes_a_path,
    ),
    Rule(
        "lambda x, i: …",
        "counts from 1, and elsewhere from 0",
        "zip the list with range(1, array_length(list) + 1)",
        _has_an_index,
    ),
    Rule(
        "a function of lists",
        "such as list_sum does not exist in most engines",
        "unnest the list and use an aggregate",
        _calls_a_list_function,
    ),
    Rule(
        "lgamma(x)", "does not exist in most engines", "use a Python function", lambda node: name_of(node) == "lgamma"
    ),
    Rule(
        "arg_max(x, y)",
        "leaves out rows without x, and elsewhere takes a null",
        "add filter (where x is not null)",
        _class("ArgMax", "ArgMin"),
    ),
    Rule("list_distinct(x)", "drops nulls, and elsewhere keeps one", "filter nulls first", _class("ArrayDistinct")),
    Rule(
        "list_concat(x, y)",
        "takes a null for an empty list, and elsewhere gives null",
        "write list_concat(coalesce(x, []), coalesce(y, []))",
        _class("ArrayConcat"),
    ),
    Rule(
        "a sample, a pivot, or a star with a pattern",
        "has no equal elsewhere",
        "name the columns and rows",
        _class("Pivot", "Columns", "TableSample", "Summarize"),
        is_translated=False,
    ),
    Rule(
        "a join by position or the nearest time",
        "has no equal elsewhere",
        "number the rows and join on the number",
        lambda node: (
            type(node).__name__ == "Join" and str(node.args.get("method") or "").upper() in ("POSITIONAL", "ASOF")
        ),
        is_translated=False,
    ),
)
"""Every construct that is looked for."""
