"""Rewrites of a typed query, each for one construct that another engine understands differently.

A rewrite takes a node of sqlglot's tree and returns the one to put in its place. What Spark needs is written as Spark
SQL, with the parts of the node as `:name`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import UnsupportedError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.simplify import simplify

from debatebench.transform.lineage.qualified_query import output_names
from debatebench.transform.spark.typed_query import is_list, name_of

if TYPE_CHECKING:
    Rewrite = Callable[[Any], exp.Expr]


def rewritten(tree: exp.Query) -> exp.Query:
    """The tree with all rewrites applied to it, inner expressions first."""
    by_class, root = _by_class(), exp.Subquery(this=tree)
    for node in reversed(list(tree.walk(bfs=False))):
        rewrite = by_class.get(type(node)) or _BY_NAME.get(name_of(node))
        if rewrite is None:
            continue
        new = rewrite(node)
        if new is not node:
            new.type = node.type
            node.replace(new)
    query: exp.Query = root.this.pop()
    return query


def spark(text: str, **parts: exp.Expr | None) -> exp.Expr:
    """The expression that `text` is in Spark's SQL, with `parts` in the places of `:name`."""
    return exp.replace_placeholders(
        _template(text).copy(), **{name: each.copy() for name, each in parts.items() if each}
    )


@cache
def _template(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="spark")


def _spark_type(data_type: exp.DataType | None) -> exp.DataType:
    is_known = data_type is not None and not data_type.is_type(exp.DType.UNKNOWN, exp.DType.NULL)
    return data_type.copy() if is_known and data_type else exp.DataType.build("double")


def _is(node: exp.Expr, *types: str) -> bool:
    return node.type is not None and node.type.this.name in types


def _is_decimal(node: exp.Expr) -> bool:
    return _is(node, "DECIMAL")


def _is_real(node: exp.Expr) -> bool:
    """Whether a number is a double; sqlglot takes `0.5` and what is computed from it for one, too."""
    if not _is(node, "DOUBLE", "FLOAT"):
        return False
    if isinstance(node, exp.Literal):
        return "e" in node.name.lower()
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        return _is_real(node.this) or _is_real(node.expression)
    if isinstance(node, exp.Paren | exp.Neg):
        # What a rewrite has put there, such as a quotient, has no type of its own.
        return node.this.type is None or _is_real(node.this)
    return True


def _as_double(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Cast) and node.to.is_type("double"):
        return node.copy()
    return exp.cast(node.copy(), "double")


_REPEATED = 20
"""An expression with no more nodes than this may be written twice."""


def _is_never_zero(node: exp.Expr) -> bool:
    """Whether a divisor is null instead of zero, or a number other than zero."""
    node = node.unnest()
    while isinstance(node, exp.Cast | exp.Paren):
        node = node.this
    if isinstance(node, exp.Nullif):
        return isinstance(node.expression, exp.Literal) and float(node.expression.name or 0) == 0
    return isinstance(node, exp.Literal) and not node.is_string and float(node.name) != 0


def division(node: exp.Div) -> exp.Expr:
    """`a / b` is a quotient of doubles; Spark divides decimals as decimals and rounds, and refuses zero."""
    left, right = _as_double(node.this), _as_double(node.expression)
    quotient = exp.Paren(this=exp.Div(this=left, expression=right, typed=False, safe=False))
    if _is_never_zero(node.expression):
        return quotient
    if any(len(list(side.walk())) > _REPEATED for side in (left, right)):
        # Written once: quotients of quotients would double in length at each step.
        return spark(
            "element_at(transform(array(struct(:a as a, :b as b)), "
            "q -> case when q.b = 0D then q.a * double('Infinity') else q.a / q.b end), 1)",
            a=left,
            b=right,
        )
    return spark("case when :b = 0D then :a * double('Infinity') else :q end", a=left, b=right, q=quotient)


def length(node: exp.Length) -> exp.Expr:
    """`len(list)` counts elements; Spark's `length` is that of a text."""
    return spark("size(:x)", x=node.this) if is_list(node.this) or _is(node.this, "MAP") else node


def subscript(node: exp.Bracket) -> exp.Expr:
    """`x[i]` is null outside the list and counts from 1; in Spark it fails and counts from 0."""
    (index,) = node.expressions
    if isinstance(index, exp.Slice):
        return _slice(node.this, index.this or exp.Literal.number(1), index.expression)
    if isinstance(index, exp.Literal) and index.is_string and not _is(node.this, "MAP"):
        return node
    index = _as_written(node, index)
    return spark("try_element_at(:x, :i)", x=node.this, i=index if _is(node.this, "MAP") else _position(index))


def _as_written(node: exp.Bracket, index: exp.Expr) -> exp.Expr:
    """The index of a subscript; sqlglot took 1 from it where it saw an integer, without the types of columns."""
    is_list_or_column = _type_without_columns(node.this).is_type(exp.DType.UNKNOWN, exp.DType.ARRAY)
    if is_list_or_column and _type_without_columns(index).is_type(*exp.DataType.INTEGER_TYPES):
        index = simplify(exp.Add(this=exp.paren(index.copy()), expression=exp.Literal.number(1)))
    return index


def _type_without_columns(node: exp.Expr) -> exp.Expr:
    """A copy with the types that sqlglot found while it parsed."""
    bare = node.copy()
    for each in bare.walk():
        each.type = None
    return annotate_types(bare, dialect="duckdb")


def _position(index: exp.Expr) -> exp.Expr:
    """A position in a list as an integer that is not 0, which `try_element_at` refuses."""
    return index if index.is_int else spark("nullif(cast(:i as int), 0)", i=index)


def list_extract(node: exp.Anonymous) -> exp.Expr:
    """See `subscript`."""
    return spark("try_element_at(:x, :i)", x=node.expressions[0], i=_position(node.expressions[1]))


def list_slice(node: exp.Anonymous) -> exp.Expr:
    """`list_slice(x, 1, n)` names the last element; Spark's `slice` a length."""
    return _slice(*node.expressions)


def _slice(items: exp.Expr, low: exp.Expr, high: exp.Expr | None) -> exp.Expr:
    if high is None:
        return spark("filter(:x, (_v, _i) -> _i + 1 >= :low)", x=items, low=low)
    return spark("filter(:x, (_v, _i) -> _i + 1 >= :low and _i + 1 <= :high)", x=items, low=low, high=high)


def list_sum(node: exp.Anonymous) -> exp.Expr:
    """The sum of the elements that are not null, and null without any; Spark has no such function."""
    kind = _spark_type(node.type).sql("spark")
    return spark(
        f"aggregate(:x, cast(null as {kind}), (total, v) -> cast(coalesce(total + v, total, v) as {kind}))",
        x=node.expressions[0],
    )


def list_avg(node: exp.Anonymous) -> exp.Expr:
    """The mean of the elements that are not null, and null without any; Spark has no such function."""
    return spark(
        "aggregate(filter(:x, v -> v is not null), named_struct('s', 0D, 'n', 0L), "
        "(t, v) -> named_struct('s', t.s + cast(v as double), 'n', t.n + 1L), t -> t.s / nullif(t.n, 0L))",
        x=node.expressions[0],
    )


def list_count(node: exp.Anonymous) -> exp.Expr:
    """The number of elements that are not null; Spark has no such function."""
    return spark("size(filter(:x, v -> v is not null))", x=node.expressions[0])


def list_position(node: exp.Anonymous) -> exp.Expr:
    """Null if there is no such element; Spark says 0."""
    return spark("nullif(array_position(:x, :v), 0)", x=node.expressions[0], v=node.expressions[1])


def list_intersect(node: exp.Anonymous) -> exp.Expr:
    """Named differently in Spark."""
    return spark("array_intersect(:x, :y)", x=node.expressions[0], y=node.expressions[1])


def list_distinct(node: exp.ArrayDistinct) -> exp.Expr:
    """The different elements without null; Spark keeps it."""
    return spark("filter(array_distinct(:x), v -> v is not null)", x=node.this)


def list_concat(node: exp.ArrayConcat) -> exp.Expr:
    """A null instead of a list is an empty list; in Spark it makes the whole null."""
    parts = [spark("coalesce(:x, array())", x=each) for each in (node.this, *node.expressions)]
    return exp.func("concat", *parts, dialect="spark")


def list_text(node: exp.ArrayToString) -> exp.Expr:
    """The text of a list of nulls is null; in Spark it is empty."""
    return spark(
        "case when size(:x) = 0 or exists(:x, v -> v is not null) then array_join(:x, :by) end",
        x=node.this,
        by=node.expression,
    )


def strlen(node: exp.Anonymous) -> exp.Expr:
    """The length in bytes."""
    return spark("octet_length(:x)", x=node.expressions[0])


def series(node: exp.GenerateSeries) -> exp.Expr:
    """A range whose end is before its start is empty; Spark's `sequence` counts backwards."""
    start, end = node.args["start"], node.args["end"]
    step = node.args.get("step")
    if node.args.get("is_end_exclusive"):
        end = spark("(:e) - 1", e=end)
    if step is not None:
        return spark(
            "case when :s <= :e then sequence(:s, :e, :step) else cast(array() as array<bigint>) end",
            s=exp.cast(start.copy(), "bigint"),
            e=exp.cast(end.copy(), "bigint"),
            step=exp.cast(step.copy(), "bigint"),
        )
    return spark(
        "case when :s <= :e then sequence(:s, :e) when :s > :e then cast(array() as array<bigint>) end",
        s=exp.cast(start.copy(), "bigint"),
        e=exp.cast(end.copy(), "bigint"),
    )


def json_text(node: exp.JSONExtractScalar) -> exp.Expr:
    """A path that is computed may name keys as `."key"`; Spark reads `['key']`."""
    path = node.expression
    if isinstance(path, exp.JSONPath | exp.Literal):
        return node
    written = spark("""regexp_replace(:p, '[.]"([^"]*)"', "['$1']")""", p=path)
    return exp.Anonymous(this="get_json_object", expressions=[node.this.copy(), written])


def percentile(node: exp.PercentileCont) -> exp.Expr:
    """`quantile_cont(x, 0.9)` interpolates in doubles, which Spark calls `percentile`; in decimals it rounds."""
    if _is_decimal(node.this):
        raise UnsupportedError("quantile_cont of decimals rounds in its own way; cast its argument to double")
    return spark("percentile(:x, :p)", x=_as_double(node.this), p=node.expression)


def average(node: exp.Avg) -> exp.Expr:
    """The mean of decimals is a double; in Spark a decimal with four digits more."""
    return node if _is_real(node.this) or isinstance(node.this, exp.Distinct) else exp.Avg(this=_as_double(node.this))


def rounded(node: exp.Round) -> exp.Expr:
    """A double is rounded by its exact value, half away from zero; Spark rounds the decimal digits that it shows.

    Where x · 10ⁿ as a double is halfway between two integers, the exact product is beside it on the side that the error
    of the multiplication says: T. J. Dekker, "A floating-point technique for extending the available precision" (1971).
    """
    digits = node.args.get("decimals")
    is_known = _is_real(node.this) or node.this.is_type("unknown")
    if digits is None or not digits.is_int or not is_known:
        return node
    power = 10.0 ** int(digits.name)
    high = _upper_half(power)
    one, upper, lower = f"{power:.0f}D", f"{high:.0f}D", f"{power - high:.0f}D"
    half = f"({_SPLIT:.0f}D * x - ({_SPLIT:.0f}D * x - x))"
    error = f"({half} * {upper} - x * {one} + {half} * {lower} + (x - {half}) * {upper} + (x - {half}) * {lower})"
    is_short = f"abs(x * {one}) % 1D = 0.5D and signum({error}) = -signum(x)"
    return spark(
        f"element_at(transform(array(:x), x -> case when {is_short} then x * {one} - signum(x) * 0.5D "
        f"else round(x * {one}) end / {one}), 1)",
        x=node.this,
    )


def _upper_half(x: float) -> float:
    """The number with the upper half of a double's digits: a product of two such halves is exact."""
    return _SPLIT * x - (_SPLIT * x - x)


def joined(node: exp.Concat) -> exp.Expr:
    """A null is an empty text among texts; Spark would read the empty text as the number that is null."""
    parts = [each if _is(each, "TEXT", "VARCHAR") else exp.cast(each.copy(), "text") for each in node.expressions]
    node.set("expressions", parts)
    return node


def pattern(node: exp.RegexpReplace | exp.RegexpLike | exp.RegexpExtract) -> exp.Expr:
    """A script in a pattern is `\\p{Latin}`, in Java `\\p{IsLatin}`; flags, which sqlglot drops, stand in the pattern.

    Without the flag `g` only the first match is replaced; Spark replaces all.
    """
    flag = next((node.args[name] for name in ("modifiers", "flag", "parameters") if node.args.get(name)), None)
    flags = "" if flag is None else flag.name
    if not isinstance(node.expression, exp.Literal) or not set(flags) <= set("cgis"):
        raise UnsupportedError(f"a pattern that is computed, or its flags '{flags}'")
    text = _SCRIPT.sub(r"\\\1{Is\2}", node.expression.name)
    inline = "".join(each for each in flags if each in "is")
    if isinstance(node, exp.RegexpReplace):
        is_first, new = "g" not in flags, node.args["replacement"]
        if not isinstance(new, exp.Literal):
            raise UnsupportedError("a replacement that is computed")
        if is_first:
            text = f"^((?s:.*?))(?:{text})"
        groups = _GROUP.sub(lambda match: f"${int(match[1]) + is_first}", new.name.replace("$", "\\$"))
        node.set("replacement", exp.Literal.string(f"$1{groups}" if is_first else groups))
    node.set("expression", exp.Literal.string(f"(?{inline}){text}" if inline else text))
    for name in ("modifiers", "flag", "single_replace"):
        node.set(name, None)
    return node


# 2²⁷ + 1: times this, a double of 53 binary digits falls apart into two halves.
_SPLIT = 134217729.0
_SCRIPT = re.compile(r"\\([pP])\{([A-Z][a-z]+)\}")
_GROUP = re.compile(r"\\([0-9])")


def by_name(node: exp.Union) -> exp.Expr:
    """`union by name` matches columns by name, and fills in nulls; Spark has only the one by position."""
    if not node.args.get("by_name"):
        return node
    names = output_names(node)
    for side in ("this", "expression"):
        query = node.args[side]
        there = output_names(query)
        columns = [exp.column(name) if name in there else exp.alias_(exp.null(), name) for name in names]
        node.set(side, exp.select(*columns).from_(query.subquery("side")))
    node.set("by_name", None)
    return node


def casted(node: exp.Cast) -> exp.Expr:
    """A double as an integer is rounded to the nearest, half to even, and a decimal half up; Spark cuts digits off.

    A double as a decimal is rounded after it is multiplied by a power of ten; Spark rounds the digits that it shows.
    JSON text as a struct or a list is read; Spark has a function for it.
    """
    if node.to.is_type(*exp.DataType.NESTED_TYPES) and _is(node.this, "JSON", "TEXT", "VARCHAR"):
        return spark("from_json(:x, :schema)", x=node.this, schema=exp.Literal.string(node.to.sql("spark")))
    if node.to.is_type(*exp.DataType.INTEGER_TYPES):
        if _is_real(node.this) or node.this.is_type(exp.DType.UNKNOWN):
            return exp.cast(spark("rint(:x)", x=node.this), node.to)
        if _is(node.this, "DECIMAL", "DOUBLE"):
            return exp.cast(spark("round(:x)", x=node.this), node.to)
    if node.to.is_type("decimal") and node.to.expressions and _is_real(node.this):
        power = f"1e{node.to.expressions[-1].name}D"
        return exp.cast(spark(f"round(:x * {power}) / {power}", x=node.this), node.to)
    return node


def named_window(node: exp.Window) -> exp.Expr:
    """`over w - x` subtracts x; Spark reads `w - x` as one name with a hyphen that needs quotes."""
    return exp.Paren(this=node.copy()) if node.args.get("alias") else node


def cte(node: exp.CTE) -> exp.Expr:
    """Spark has no `as materialized`; it is about speed and not about rows."""
    node.set("materialized", None)
    return node


def list_of(node: exp.ArrayAgg) -> exp.Expr:
    """`list(x order by k)` keeps nulls and its order, and is null without rows; Spark's `collect_list` does neither.

    So structs of value and keys are collected, which are never null, sorted, and the values taken out of them.
    """
    value, keys, is_distinct = node.this, [], False
    if isinstance(value, exp.Order):
        value, keys = value.this, value.expressions
    if isinstance(value, exp.Distinct):
        (value,), is_distinct = value.expressions, True
    is_struct = isinstance(value, exp.Struct) and not keys
    packed = (
        value.copy()
        if is_struct
        else exp.Struct(
            expressions=[
                exp.PropertyEQ(this=exp.to_identifier(name), expression=each.copy())
                for name, each in [("v", value), *((f"k{n}", key.this) for n, key in enumerate(keys))]
            ]
        )
    )
    place: exp.Expr = node
    collected: exp.Expr = exp.ArrayAgg(this=packed, nulls_excluded=False)
    while isinstance(place.parent, exp.Filter | exp.Window | exp.IgnoreNulls) and place.parent.this is place:
        place = place.parent
        if not isinstance(place, exp.IgnoreNulls):
            around = place.copy()
            around.set("this", collected)
            collected = around
    result = collected
    if keys:
        result = spark("array_sort(:x, (l, r) -> :c)", x=result, c=_comparison(keys))
    if not is_struct:
        result = spark("transform(:x, e -> e.v)", x=result)
    if is_distinct:
        result = spark("array_distinct(:x)", x=result)
    result = spark("nullif(:x, array())", x=result)
    if place is node:
        return result
    result.type = node.type
    place.replace(result)
    return node


def _comparison(keys: list[exp.Ordered]) -> exp.Expr:
    """−1, 0 or 1 for two structs `l` and `r` with the keys k0, k1, …"""
    whens = []
    for n, key in enumerate(keys):
        less, more = (1, -1) if key.args.get("desc") else (-1, 1)
        first, last = (-1, 1) if key.args.get("nulls_first") else (1, -1)
        whens.append(
            f"when l.k{n} < r.k{n} then {less} when l.k{n} > r.k{n} then {more} "
            f"when l.k{n} is null and r.k{n} is not null then {first} "
            f"when l.k{n} is not null and r.k{n} is null then {last} "
        )
    return _template("case " + "".join(whens) + "else 0 end")


def qualified(node: exp.Select) -> exp.Expr:
    """Before version 4.2, Spark has no QUALIFY: its windows become columns of a subquery, with what it compares."""
    condition = node.args.get("qualify")
    if condition is None:
        return node
    names = node.named_selects
    inner, kept = node.copy(), condition.this.copy()
    with_clause = inner.args.pop("with_", None)
    inner.set("qualify", None)
    inner.set("order", None)
    holder = exp.Paren(this=kept)
    moved = [each for each in holder.walk(prune=_is_moved) if _is_moved(each)]
    for number, each in enumerate(moved):
        name = f"_qualify_{number}"
        inner.append("expressions", exp.alias_(each.copy(), name))
        each.replace(exp.column(name))
    outer = exp.select(*[exp.column(name, table="_qualified") for name in names])
    outer = outer.from_(inner.subquery("_qualified")).where(holder.this)
    outer.set("with_", with_clause)
    return outer


def zipped(node: exp.Select) -> exp.Select:
    """Lists that are unnested side by side become columns of the same rows; Spark allows one such list in a SELECT."""
    made = [
        each
        for item in node.expressions
        for each in item.find_all(exp.Explode, exp.Anonymous)
        if each.parent_select is node and (isinstance(each, exp.Explode) or name_of(each) == "generate_subscripts")
    ]
    if len(made) < 2 and all(isinstance(each.parent, exp.Alias | exp.Select) for each in made):
        return node
    names = [f"item_{number}" for number in range(len(made))]
    lists = [_unnested(each) for each in made]
    for name, each in zip(names, made, strict=True):
        new = exp.column(name, table="unnested")
        new.type = each.type
        each.replace(new)
    rows = exp.Anonymous(this="inline", expressions=[exp.Anonymous(this="arrays_zip", expressions=lists)])
    alias = exp.TableAlias(this=exp.to_identifier("unnested"), columns=[exp.to_identifier(name) for name in names])
    node.append("laterals", exp.Lateral(this=rows, view=True, alias=alias))
    return node


def _unnested(node: exp.Expr) -> exp.Expr:
    """The list whose elements are unnested, empty instead of null."""
    if name_of(node) == "generate_subscripts":
        items = "transform(:x, (_v, _i) -> cast(_i + 1 as bigint))"
        return spark(f"coalesce({items}, array())", x=node.expressions[0])
    return spark("coalesce(:x, array())", x=node.this)


def select(node: exp.Select) -> exp.Expr:
    """See `zipped` and `qualified`."""
    return qualified(zipped(node))


def _is_moved(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window | exp.Column)


def extreme(node: exp.ArgMax | exp.ArgMin) -> exp.Expr:
    """`arg_max(x, y)` leaves out rows where either is null; Spark takes a null x."""
    new = node.copy()
    kept = exp.and_(node.this.is_(exp.null()).not_(), node.expression.is_(exp.null()).not_())
    if isinstance(node.parent, exp.Filter):
        node.parent.expression.set("this", exp.and_(node.parent.expression.this.copy(), kept))
        return node
    return exp.Filter(this=new, expression=exp.Where(this=kept))


def lambda_index(node: exp.Transform | exp.ArrayFilter) -> exp.Expr:
    """The second variable of a lambda counts from 1; in Spark from 0."""
    function = node.expression
    if isinstance(function, exp.Lambda) and len(function.expressions) == 2:
        name = function.expressions[1].name
        for each in list(function.this.find_all(exp.Identifier)):
            if each.name == name and not isinstance(each.parent, exp.Dot | exp.Column | exp.PropertyEQ):
                each.replace(spark("(:i + 1)", i=each))
    return node


def log_gamma(node: exp.Anonymous) -> exp.Expr:
    """Spark has no `lgamma`; Stirling's series, at 10 or more to 14 digits, is the same for an argument above 0."""
    inside = (
        "(z - 0.5D) * ln(z) - z + 0.9189385332046727418D + 1D / (12D * z) - 1D / (360D * power(z, 3D)) "
        "+ 1D / (1260D * power(z, 5D)) - 1D / (1680D * power(z, 7D)) + 1D / (1188D * power(z, 9D))"
    )
    product = " * ".join(f"(x + {n}D)" for n in range(10))
    series = inside.replace("z", "(x + 10D)")
    return spark(
        f"element_at(transform(array(:x), x -> case when x >= 10D then {inside.replace('z', 'x')} "
        f"else {series} - ln({product}) end), 1)",
        x=exp.cast(node.expressions[0].copy(), "double"),
    )


def finite(node: exp.Anonymous) -> exp.Expr:
    """Spark has no `isfinite`. A finite number differs from itself by zero, and others by NaN."""
    return spark("(:x - :x = 0D)", x=_as_double(node.expressions[0]))


def infinite(node: exp.IsInf) -> exp.Expr:
    """Spark has no `isinf`."""
    return spark("(abs(:x) = CAST('Infinity' AS DOUBLE))", x=_as_double(node.this))


def not_a_number(node: exp.IsNan) -> exp.Expr:
    """`isnan` of null is null; in Spark, it is false."""
    return spark("(:x = CAST('NaN' AS DOUBLE))", x=_as_double(node.this))


@cache
def _by_class() -> dict[type[exp.Expr], Rewrite]:
    return {
        exp.Div: division,
        exp.Length: length,
        exp.Bracket: subscript,
        exp.ArrayDistinct: list_distinct,
        exp.ArrayConcat: list_concat,
        exp.ArrayToString: list_text,
        exp.GenerateSeries: series,
        exp.Avg: average,
        exp.Cast: casted,
        exp.CTE: cte,
        exp.Round: rounded,
        exp.Concat: joined,
        exp.RegexpReplace: pattern,
        exp.RegexpLike: pattern,
        exp.RegexpExtract: pattern,
        exp.Union: by_name,
        exp.Window: named_window,
        exp.ArrayAgg: list_of,
        exp.Select: select,
        exp.ArgMax: extreme,
        exp.ArgMin: extreme,
        exp.Transform: lambda_index,
        exp.JSONExtractScalar: json_text,
        exp.PercentileCont: percentile,
        exp.ArrayFilter: lambda_index,
        exp.IsInf: infinite,
        exp.IsNan: not_a_number,
    }


_BY_NAME: dict[str, Rewrite] = {
    "isfinite": finite,
    "lgamma": log_gamma,
    "list_avg": list_avg,
    "list_count": list_count,
    "list_extract": list_extract,
    "list_intersect": list_intersect,
    "list_position": list_position,
    "list_slice": list_slice,
    "list_sum": list_sum,
    "strlen": strlen,
}

TRANSLATED_FUNCTIONS = frozenset(_BY_NAME)
"""The functions that sqlglot has no class for, and that are translated."""
