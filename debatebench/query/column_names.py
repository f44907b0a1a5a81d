"""Check that columns are named by the one rule of `docs/sql-models.md`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from debatebench.transform.sql_model import SqlModel

# The folder whose SQL models keep the names that their tables have elsewhere.
_KEPT_NAMES = "original"

_INTEGER = r"U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?"
_FRACTION = r"DOUBLE|FLOAT|DECIMAL\(.*\)"
_NUMBER = f"{_INTEGER}|{_FRACTION}"

# A plural is a count, unless it is the record of a debater (as in `pro_wins`), has a unit or is a rank.
_PLURAL = r"(?!count_|rank_)(?!.*(?:games|wins|losses|ties|tokens|characters|places)$).+(?<![su])(?<!i)s"


class _Rule(NamedTuple):
    """Names that match `wrong`, of columns whose types match `types`, break the rule."""

    rule: str
    types: str
    wrong: str


_RULES = (
    _Rule(
        "a duration is named duration_ms or x_duration_ms, and is in milliseconds",
        _NUMBER,
        r"(?!(?:.+_)?duration_ms$)(?:.+_)?(?:ms|milliseconds|seconds|minutes|duration|latency)",
    ),
    _Rule("a count is named count_x", _INTEGER, rf"(?:n|nr|num|number_of)_.+|.+_count|total|{_PLURAL}"),
    _Rule("a mean is named mean_x", _FRACTION, r"(?:avg|average)_.+|(?:.+_)?(?:avg|average|mean)"),
    _Rule("a share is named x_rate", _FRACTION, r"(?:.+_)?(?:share|fraction|proportion|percent|percentage|pct)"),
    _Rule(
        "the ends of an interval are named x_ci_low and x_ci_high",
        _FRACTION,
        r"(?!(?:.+_)?ci_(?:low|high)$)(?:.+_)?(?:low|lower|high|upper)",
    ),
    _Rule("a p value is named p_value or x_p_value", _FRACTION, r"(?:.+_)?(?:p|pval|pvalue)(?:_(?:holm|bh|adjusted))?"),
    _Rule("a value of one side is named pro_x or con_x", _NUMBER, r"(?!count_).+_(?:pro|con)"),
    _Rule("an amount of money is named cost_usd or x_usd", _NUMBER, r"(?!count_)(?:.+_)?(?:cost|price|dollars|usd_.+)"),
)


def misnamed_columns(model: SqlModel, types: Mapping[str, str]) -> list[str]:
    """What breaks the rule for names: `num_votes: a count is named count_x`. `types` maps columns to DuckDB types.

    SQL models in a folder `original` may have any names.
    """
    if model.file.parent.name == _KEPT_NAMES:
        return []
    broken = ((column, _broken_rule(column, data_type)) for column, data_type in types.items())
    return [f"{column}: {rule}" for column, rule in broken if rule is not None]


def _broken_rule(column: str, data_type: str) -> str | None:
    """The first rule that the name breaks."""
    return next(
        (
            each.rule
            for each in _RULES
            if re.fullmatch(each.types, data_type) and re.fullmatch(each.wrong, column, re.IGNORECASE)
        ),
        None,
    )
