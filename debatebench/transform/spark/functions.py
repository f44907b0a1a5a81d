"""The Python functions that SQL models call, as functions of a Spark session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from debatebench.transform.domain import PythonFunctions, Signed
from debatebench.transform.spark.translation import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register_functions(session: SparkSession, functions: PythonFunctions, names: Iterable[str]) -> None:
    """Make those of `names` that are Python functions callable in the SQL of a session, and set its `SETTINGS`.

    Works on Spark Connect too. The workers need this package installed, as the session's own process does.
    """
    for key, value in SETTINGS.items():
        session.conf.set(key, value)
    for name in functions.python_functions(names):
        function = functions.signature(name)
        session.udf.register(name, _callable(name, function), spark_type(function.returns))


def _callable(name: str, function: Signed) -> Callable[..., Any]:
    """The function for Spark's values: null for a null argument, and numbers of the types that were declared.

    Spark hands over decimals as they are and takes a whole number for a double as null.
    """
    call, returns = function.call, function.returns
    parameters = function.parameters

    def called(*arguments: Any) -> Any:
        if None in arguments:
            return None
        values = [_number(value, kind) for value, kind in zip(arguments, parameters, strict=True)]
        try:
            result = call(*values)
        except (ValueError, ArithmeticError) as error:
            raise ValueError(f"{name}: {error}") from error
        if is_dataclass(result) and not isinstance(result, type):
            result = asdict(result)
        return _fitted(result, _type(returns))

    return called


def _number(value: Any, kind: str) -> Any:
    """An argument as its parameter's type, through all lists."""
    if value is None or kind == "VARCHAR":
        return value
    if kind.endswith("[]"):
        return [_number(each, kind.removesuffix("[]")) for each in value]
    return float(value) if kind == "DOUBLE" else int(value)


def _fitted(value: Any, kind: exp.DataType) -> Any:
    """A result as its declared type, through lists and structs."""
    if value is None:
        return None
    if kind.is_type(exp.DType.STRUCT):
        return tuple(_fitted(value.get(field.name), field.kind) for field in kind.expressions)
    if kind.is_type(exp.DType.ARRAY, exp.DType.LIST):
        return [_fitted(each, kind.expressions[0]) for each in value]
    if kind.is_type(exp.DType.DOUBLE):
        return float(value)
    if kind.is_type(exp.DType.BOOLEAN):
        return bool(value)
    return int(value) if kind.is_type(*exp.DataType.INTEGER_TYPES) else value


def spark_type(data_type: str) -> str:
    """A DuckDB type as Spark writes it: JSON is text, and a HUGEINT a decimal of 38 digits."""
    names = {exp.DType.JSON: "STRING", exp.DType.INT128: "DECIMAL(38, 0)"}

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.DataType) and node.this in names:
            return exp.DataType.build(names[node.this], dialect="spark")
        return node

    return _type(data_type).transform(replaced).sql("spark")


def _type(data_type: str) -> exp.DataType:
    return exp.DataType.build(data_type, dialect="duckdb")
