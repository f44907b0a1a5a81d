"""Generic data tests: each is a query whose rows are failures. Names and arguments follow dbt where dbt has them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from debatebench.shared.amounts import did_you_mean
from debatebench.shared.duckdb_sql import quoted_identifier, quoted_text

# SQL text. DuckDB's parser crashes only if it nests some thousands deep.
Expression = Annotated[str, Field(max_length=10_000)]


def sql_literal(value: Any) -> str:
    """A YAML scalar as SQL text. Raises `ValueError` for anything else."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | Decimal) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value) if isinstance(value, float) else str(value)
    if isinstance(value, str | date | datetime):
        return quoted_text(str(value))
    raise ValueError(f"{value!r} is not text, a number, a date, true or false")


class GenericTest(BaseModel):
    """A test of one column or of one whole SQL model."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    kind: ClassVar[str] = ""
    needs_column: ClassVar[bool | None] = None
    """True: stands under a column. False: stands under the SQL model. None: under either."""

    name: str | None = None
    where: Expression | None = None
    severity: Literal["error", "warn"] = "error"

    @property
    def compared_with(self) -> tuple[str, ...]:
        """The relations that the test reads besides the tested one."""
        return ()

    @property
    def is_tested(self) -> str:
        """The condition under which a row is tested."""
        return f"({self.where})" if self.where else "true"

    def bad_row(self, column: str | None) -> str | None:
        """The condition under which one row fails, for tests that look at rows one by one."""
        return None

    def suspects(self, column: str | None) -> str | None:
        """An aggregate over all rows that is 0 only if no row fails; None if one scan of the rows cannot tell.

        With it, the tests of a SQL model share one scan.
        """
        bad_row = self.bad_row(column)
        return f"count(case when ({bad_row}) and {self.is_tested} then 1 end)" if bad_row else None

    def failing_rows(self, relation: str, column: str | None) -> str:
        """A query over `relation` (SQL text for FROM) that returns the failing rows."""
        return f"select * from {relation} where {self.bad_row(column)}"

    def count_failing_rows(self, relation: str, column: str | None) -> str:
        """A query that returns the number of rows that fail."""
        return f"select count(*) from (\n{self.failing_rows(relation, column)}\n)"


def _repeated(condition: str, columns: str) -> str:
    """An aggregate: how many rows repeat another's values of `columns`, among the rows where `condition` holds.

    Compares hashes, which is a third cheaper than comparing values. Two values with the same hash are a false alarm.
    """
    return f"count(case when {condition} then 1 end) - count(distinct case when {condition} then hash({columns}) end)"


class Unique(GenericTest):
    """No value occurs twice; nulls do not count."""

    kind = "unique"
    needs_column = True

    def suspects(self, column: str | None) -> str:
        name = quoted_identifier(column or "")
        return _repeated(f"{name} is not null and {self.is_tested}", name)

    def failing_rows(self, relation: str, column: str | None) -> str:
        name = quoted_identifier(column or "")
        return (
            f"select {name}, count(*) as rows_with_it from {relation} where {name} is not null "
            f"group by {name} having count(*) > 1"
        )


class NotNull(GenericTest):
    """No value is null."""

    kind = "not_null"
    needs_column = True

    def bad_row(self, column: str | None) -> str:
        return f"{quoted_identifier(column or '')} is null"


def values_with_texts(values: Any) -> Any:
    """A list of values, or a mapping of values to texts of which some are missing, as a mapping with all texts."""
    if isinstance(values, list | tuple) and values and all(isinstance(value, Hashable) for value in values):
        return dict.fromkeys(values, "")
    if isinstance(values, Mapping) and values:
        if wrong := [value for value, text in values.items() if not isinstance(text, str | None)]:
            raise ValueError(f"what {wrong[0]!r} means is not text; write it in quotes")
        return {value: text or "" for value, text in values.items()}
    raise ValueError("`values` is a list of values, or a mapping of values to what they mean")


class AcceptedValues(GenericTest):
    """Every value is one of `values`; nulls pass.

    `values` is a list, as in dbt, or a mapping: value → what it means. What a list names, and what a mapping gives no
    text, has an empty text here.
    """

    kind = "accepted_values"
    needs_column = True
    values: Annotated[dict[str | bool | int | float | date, str], BeforeValidator(values_with_texts)]
    quote: bool = True

    def bad_row(self, column: str | None) -> str:
        listed = ", ".join(sql_literal(value) for value in self.values)
        return f"{quoted_identifier(column or '')} not in ({listed})"

    def failing_rows(self, relation: str, column: str | None) -> str:
        name = quoted_identifier(column or "")
        return f"select {name}, count(*) as rows_with_it from {relation} where {self.bad_row(column)} group by {name}"


def accepted_values(tests: Iterable[GenericTest]) -> dict[str, str]:
    """The values that tests of one column list for all rows, as text → what each means, or an empty text."""
    listed = (test.values for test in tests if isinstance(test, AcceptedValues) and test.where is None)
    return {
        str(value).lower() if value is True or value is False else str(value): text
        for values in listed
        for value, text in values.items()
    }


class Relationships(GenericTest):
    """Every value exists in column `field` of `to`; nulls pass.

    Under a whole SQL model, `columns` are compared together with `fields` (by default the same names).
    """

    kind = "relationships"
    to: str
    field: str | None = None
    columns: tuple[str, ...] = ()
    fields_: tuple[str, ...] = Field((), alias="fields")

    @property
    def compared_with(self) -> tuple[str, ...]:
        return (self.to,)

    def pairs(self, column: str | None) -> list[tuple[str, str]]:
        """(column here, column of `to`), one or more."""
        if column is not None:
            return [(column, self.field or column)]
        return list(zip(self.columns, self.fields_ or self.columns, strict=True))

    @model_validator(mode="after")
    def _check(self) -> Relationships:
        if self.fields_ and len(self.fields_) != len(self.columns):
            raise ValueError("`fields` must name as many columns as `columns`")
        if self.columns and self.field:
            raise ValueError("use `field` under a column, or `columns` and `fields` under the SQL model")
        return self

    def failing_rows(self, relation: str, column: str | None) -> str:
        pairs = self.pairs(column)
        known = " and ".join(f"child.{quoted_identifier(here)} is not null" for here, _ in pairs)
        equal = " and ".join(
            f"parent.{quoted_identifier(there)} = child.{quoted_identifier(here)}" for here, there in pairs
        )
        return (
            f"select child.* from {relation} as child where {known} "
            f"and not exists (select 1 from {self.to} as parent where {equal})"
        )

    def count_failing_rows(self, relation: str, column: str | None) -> str:
        # DuckDB takes three times as long to count the rows of a `not exists`.
        pairs = [(quoted_identifier(here), quoted_identifier(there)) for here, there in self.pairs(column)]
        equal = " and ".join(f"parent.{there} = child.{here}" for here, there in pairs)
        known = " and ".join(f"child.{here} is not null" for here, _ in pairs)
        return f"select count(*) from {relation} as child anti join {self.to} as parent on {equal} where {known}"


class ExpressionIsTrue(GenericTest):
    """The expression holds in every row; under a column it follows the column's name (`>= 0`). Null passes."""

    kind = "expression_is_true"
    expression: Expression

    def bad_row(self, column: str | None) -> str:
        subject = f"{quoted_identifier(column)} " if column else ""
        return f"not ({subject}{self.expression})"


class Range(GenericTest):
    """Every value is between `min` and `max`, ends included unless `inclusive` is false; nulls pass."""

    kind = "range"
    needs_column = True
    min: int | float | Expression | None = Field(None, validation_alias=AliasChoices("min", "min_value"))
    max: int | float | Expression | None = Field(None, validation_alias=AliasChoices("max", "max_value"))
    inclusive: bool = True

    @model_validator(mode="after")
    def _check(self) -> Range:
        if self.min is None and self.max is None:
            raise ValueError("give `min`, `max` or both")
        return self

    def bad_row(self, column: str | None) -> str:
        name, equal = quoted_identifier(column or ""), "" if self.inclusive else "="
        # A text limit is an expression, such as another column's name.
        limits = []
        if self.min is not None:
            limits.append(f"{name} <{equal} ({self.min})")
        if self.max is not None:
            limits.append(f"{name} >{equal} ({self.max})")
        return f"({' or '.join(limits)})"


class RowCount(GenericTest):
    """The number of rows is between `min` and `max`, or equals that of the SQL model `same_as`."""

    kind = "row_count"
    needs_column = False
    min: int | None = Field(None, ge=0)
    max: int | None = Field(None, ge=0)
    same_as: str | None = None

    @model_validator(mode="after")
    def _check(self) -> RowCount:
        if self.min is None and self.max is None and self.same_as is None:
            raise ValueError("give `min`, `max` or `same_as`")
        return self

    @property
    def compared_with(self) -> tuple[str, ...]:
        return (self.same_as,) if self.same_as else ()

    def failing_rows(self, relation: str, column: str | None) -> str:
        other = f"(select count(*) from {self.same_as})" if self.same_as else "null"
        wrong = [
            *([f"count(*) < {self.min}"] if self.min is not None else []),
            *([f"count(*) > {self.max}"] if self.max is not None else []),
            *([f"count(*) <> {other}"] if self.same_as else []),
        ]
        expected = f", {other} as rows_expected" if self.same_as else ""
        return f"select count(*) as rows_found{expected} from {relation} having {' or '.join(wrong)}"


class UniqueCombinationOfColumns(GenericTest):
    """No combination of the columns' values occurs twice; here null equals null."""

    kind = "unique_combination_of_columns"
    needs_column = False
    combination_of_columns: tuple[str, ...] = Field(min_length=1)
    quote_columns: bool = False

    def suspects(self, column: str | None) -> str:
        return _repeated(self.is_tested, ", ".join(map(quoted_identifier, self.combination_of_columns)))

    def failing_rows(self, relation: str, column: str | None) -> str:
        names = ", ".join(quoted_identifier(name) for name in self.combination_of_columns)
        return f"select {names}, count(*) as rows_with_it from {relation} group by {names} having count(*) > 1"


class Finite(GenericTest):
    """No number in `columns` is NaN or infinite, which JSON lacks. Every SQL model has it without a line of YAML."""

    kind = "finite"
    needs_column = False
    columns: tuple[str, ...] = Field(min_length=1)

    def bad_row(self, column: str | None) -> str:
        return " or ".join(f"not isfinite({quoted_identifier(name)})" for name in self.columns)


class HasWidth(GenericTest):
    """No interval from the column to `high` has zero width or only one end. It needs no line of YAML."""

    kind = "has_width"
    needs_column = True
    high: str

    def bad_row(self, column: str | None) -> str:
        low, high = quoted_identifier(column or ""), quoted_identifier(self.high)
        return f"{low} = {high} or ({low} is null) <> ({high} is null)"


class Explained(GenericTest):
    """Where the column is null, `reason` says why; it is never null without `reason`. It needs no line of YAML."""

    kind = "explained"
    needs_column = True
    reason: str | None

    def bad_row(self, column: str | None) -> str:
        is_null = f"{quoted_identifier(column or '')} is null"
        return f"{is_null} and {quoted_identifier(self.reason)} is null" if self.reason else is_null


def uncertainty_tests(columns: Collection[str]) -> Iterator[tuple[GenericTest, str]]:
    """The tests of every interval (`x_ci_low`, `x_ci_high`) and p value (`x_p_value`), each with its column.

    The reason for a null is in `x_reason`, or else in `reason`.
    """
    for column in columns:
        if found := re.fullmatch(r"(?:(.+)_)?(ci_low|p_value)", column):
            prefix, kind = found.groups()
            named = ("reason" if prefix is None else f"{prefix}_reason", "reason")
            yield Explained(reason=next((name for name in named if name in columns), None)), column
            if kind == "ci_low":
                yield HasWidth(high=column.removesuffix("low") + "high"), column


GENERIC_TESTS: dict[str, type[GenericTest]] = {
    cls.kind: cls
    for cls in (
        Unique,
        NotNull,
        AcceptedValues,
        Relationships,
        ExpressionIsTrue,
        Range,
        RowCount,
        UniqueCombinationOfColumns,
    )
}
GENERIC_TESTS["accepted_range"] = Range


def parse_generic_test(value: Any) -> GenericTest:
    """Read `unique` or `{accepted_values: {values: […]}}`; `config` and `arguments` may be nested as in dbt.

    Raises `ValueError` for a test that does not exist or whose arguments do not fit.
    """
    if isinstance(value, GenericTest):
        return value
    if isinstance(value, str):
        value = {value: {}}
    if not isinstance(value, Mapping) or not value:
        raise ValueError("a data test is a name, or a name with its arguments below it")
    entry = dict(value)
    common = {key: entry.pop(key) for key in ("name", "config", "description") if key in entry}
    if len(entry) != 1:
        raise ValueError(f"a data test has one name; found {', '.join(map(str, entry)) or 'none'}")
    ((name, arguments),) = entry.items()
    known = GENERIC_TESTS.get(str(name).removeprefix("dbt_utils."))
    if known is None:
        hint = did_you_mean(str(name), GENERIC_TESTS)
        raise ValueError(f"no data test '{name}'.{hint} Known: {', '.join(sorted(GENERIC_TESTS))}")
    if arguments is not None and not isinstance(arguments, Mapping):
        raise ValueError(f"the arguments of '{name}' must be keys and values")
    fields = {**common, **(arguments or {})}
    for nested in ("config", "arguments"):
        inner = fields.pop(nested, None) or {}
        if not isinstance(inner, Mapping):
            raise ValueError(f"`{nested}` of '{name}' must be keys and values")
        fields |= inner
    fields.pop("description", None)
    return known.model_validate(fields)
