"""Python functions for SQL, over lists: the pure functions of `debatebench.stats` behind SQL signatures.

SQL may hand over the elements of its lists in any order, so a function for which order matters takes the order as an
argument. A null argument gives null. Only tables may call these functions: a view that did could not be read by another
process. This package imports neither numpy nor scipy before a function is called.

Lists are passed as JSON text, which DuckDB produces by itself: passing Python objects takes four times as long.

bradley_terry.py  Bradley-Terry ratings
plackett_luce.py  the same from rankings of more than two
quality.py        how close judges come to people
ratings.py        Elo ratings
significance.py   intervals, tests, power
sql_function.py   a Python function with its SQL signature
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from functools import cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.shared.hashing import hash_of
from debatebench.stats.sql import bradley_terry, plackett_luce, quality, ratings, significance
from debatebench.stats.sql.sql_function import SqlFunction

if TYPE_CHECKING:
    import duckdb


FUNCTIONS: Mapping[str, SqlFunction] = {
    **bradley_terry.FUNCTIONS,
    **plackett_luce.FUNCTIONS,
    **quality.FUNCTIONS,
    **ratings.FUNCTIONS,
    **significance.FUNCTIONS,
}

# A name in front of a bracket, with whatever SQL lets stand between the two.
_CALL = re.compile(r"(?<![a-z0-9_])([a-z_][a-z0-9_]*+)\"?(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*+\*/)*+\(")


def named_in(sql: str) -> list[str]:
    """The functions that a text seems to call; every one that it calls is among them."""
    return sorted(set(_CALL.findall(sql.lower())) & FUNCTIONS.keys())


def python_functions(names: Iterable[str]) -> list[str]:
    """Those of `names` that are functions of this package, in their order."""
    return [name for name in names if name in FUNCTIONS]


def signature(name: str) -> SqlFunction:
    """The function of this name with the types of its parameters, for engines that pass lists as lists."""
    return FUNCTIONS[name]


def register(con: duckdb.DuckDBPyConnection, names: Iterable[str] | None = None) -> None:
    """Make functions of `FUNCTIONS` (all, or `names`) callable on this connection; doing it again changes nothing.

    No result of the connection may be half read.
    """
    wanted = sorted(FUNCTIONS if names is None else names)
    if not wanted:
        return
    # DuckDB would say that it is not installed where there is only not enough memory to load it.
    import numpy  # noqa: F401
    from duckdb.func import SPECIAL

    there = "select function_name from duckdb_functions() where list_contains(?, function_name)"
    known = {name for (name,) in con.execute(there, [wanted]).fetchall()}
    for name in wanted:
        if name not in known:
            function = FUNCTIONS[name]
            parameters = ["JSON" if kind.endswith("[]") else kind for kind in function.parameters]
            con.create_function(name, _callable(name), [*parameters], function.returns, null_handling=SPECIAL)


@cache
def _callable(name: str) -> Callable[..., Any]:
    """A function that gives null for a null argument, and its name with whatever it refuses.

    DuckDB's own way with nulls forbids a function to find that there is no result.

    Kept for the life of the process: DuckDB shares functions among the connections to a file, but forgets the Python
    object with the connection that brought it, and the others crash.
    """
    function = FUNCTIONS[name]
    call = function.call
    lists = [(place, _decoder(kind)) for place, kind in enumerate(function.parameters) if kind.endswith("[]")]

    def called(*arguments: Any) -> Any:
        if None in arguments:
            return None
        values = list(arguments)
        try:
            for place, decode in lists:
                values[place] = decode(values[place])
            result = call(*values)
            return asdict(result) if is_dataclass(result) and not isinstance(result, type) else result
        except (ValueError, ArithmeticError) as error:
            raise ValueError(f"{name}: {error}") from error

    # DuckDB counts the parameters, and the function may have more, with defaults.
    names = [Parameter(f"p{place}", Parameter.POSITIONAL_ONLY) for place in range(len(function.parameters))]
    called.__signature__ = Signature(names)  # type: ignore[attr-defined]
    return called


def _decoder(kind: str) -> Callable[[str], Any]:
    """JSON text → the list that a parameter of this type takes; `ValueError` for other elements."""
    import msgspec

    element = kind.rstrip("[]")
    item: Any = {"DOUBLE": float, "VARCHAR": str}.get(element, int) | None
    for _ in range(kind.count("[]")):
        item = list[item]
    decoder = msgspec.json.Decoder(item)

    def decode(text: str) -> Any:
        with suppress(msgspec.DecodeError):
            return decoder.decode(text)
        try:
            # DuckDB writes NaN and Infinity, which JSON lacks; the function decides whether to refuse them.
            return msgspec.convert(json.loads(text), item)
        except msgspec.ValidationError as error:
            raise ValueError(f"a list of {element} contains a value of another type ({error})") from None

    return decode


def fingerprint(name: str) -> str:
    """Hash of a function's signature and of the code behind it; it changes when results may change."""
    function = FUNCTIONS[name]
    package = Path(__file__).parents[2]
    own = Path(str(sys.modules[function.call.__module__].__file__))
    code = (file.read_bytes() for file in (own, *(package / source for source in function.sources)))
    return hash_of(name, str(function.parameters), function.returns, *code)
