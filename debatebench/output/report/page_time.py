"""The time that pages state: the one that was asked for, else that of the data; never that of the clock."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import duckdb

from debatebench.query.safe_query import run_query
from debatebench.shared.errors import UsageError

VARIABLE = "SOURCE_DATE_EPOCH"
"""The variable of the environment that all programs read for this: https://reproducible-builds.org/specs/."""

_TIMEOUT_S = 600.0
_NEWEST = """
with times as (
    select run_tag, created_at as made_at from staging.stg_runs
    union all by name
    select run_tag, max(created_at) as made_at from staging.stg_debates group by run_tag
    union all by name
    select run_tag, max(created_at) as made_at from staging.stg_verdicts group by run_tag
    union all by name
    select run_tag, max(annotated_at) as made_at from staging.stg_annotations group by run_tag
)
select max(made_at) from times where list_contains($run_tags::varchar[], run_tag)
"""


def chosen_time(environ: Mapping[str, str]) -> datetime | None:
    """The time in `SOURCE_DATE_EPOCH` (seconds since 1970) as naive UTC; None if it is not set.

    Raises `UsageError` for anything but a number of seconds up to the year 9999.
    """
    text = environ.get(VARIABLE, "")
    if not text:
        return None
    # Also refuses digits that are not those of ASCII.
    if not re.fullmatch("[0-9]{1,12}", text) or int(text) > _LAST_SECOND:
        raise UsageError(
            f"{VARIABLE} is '{text}'; it must be a number of seconds since 1970, as `date +%s` prints it, or unset."
        )
    return datetime.fromtimestamp(int(text), UTC).replace(tzinfo=None)


def data_time(con: duckdb.DuckDBPyConnection, run_tags: Sequence[str]) -> datetime | None:
    """When the newest of the runs, debates, verdicts and annotations under these tags was made, to the second.

    It is naive UTC; None if no record says when it was made. When something landed does not count, because the same
    journals can land again at any time.
    """
    ((newest,),) = run_query(con, _NEWEST, {"run_tags": list(run_tags)}, timeout_s=_TIMEOUT_S).rows
    return newest.replace(microsecond=0) if newest else None


_LAST_SECOND = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
