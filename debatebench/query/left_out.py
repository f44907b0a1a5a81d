"""What does not count in the results of runs, in sentences, from `marts.left_out`."""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from debatebench.query.relations import has_relation

# Of one run it is asked with `=`, which DuckDB moves to the tables that are read; `$1 is null or …` it would not move.
_LEFT_OUT = """
select run_tag, kind, judge_id, is_warning, explanation
from marts.left_out
{where}
order by run_tag, kind, judge_id
"""


class LeftOut(NamedTuple):
    """A kind of what does not count in a run; `judge_id` is empty where it is not about a single judge."""

    run_tag: str
    kind: str
    judge_id: str
    is_warning: bool
    explanation: str

    @property
    def sentence(self) -> str:
        """The explanation, marked if every reader of the results should know it."""
        return f"Warning: {self.explanation}" if self.is_warning else self.explanation


def left_out(con: duckdb.DuckDBPyConnection, run_tag: str | None = None) -> list[LeftOut]:
    """What does not count in a run, or in each run; nothing in a warehouse that was built without `marts.left_out`."""
    if not has_relation(con, "marts.left_out"):
        return []
    where, values = ("", []) if run_tag is None else ("where run_tag = ?", [run_tag])
    return [LeftOut(*row) for row in con.execute(_LEFT_OUT.format(where=where), values).fetchall()]
