"""All that landed of a run, or every mart and rating, for comparing two runs that had the same answers."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

import duckdb
from built_warehouse import stored

# What may differ between two runs with the same answers: times, and attempts that gave none.
# The cost of a debate is known where that of each attempt is, so the spread of costs depends on them as well.
MAY_DIFFER = re.compile(
    r"created_at|.*_ms|.*unused.*|count_unpriced(_calls)?|count_unmetered|possible_cost_usd"
    r"|count_priced_debates|(median|p90)_debate_cost_usd"
)
# The value of debaters and judges and the cost of a rank include the cost of failed attempts, and are unknown when one
# of them may have been billed. Calls are counted by their attempts.
MAY_DIFFER_WHOLLY = {"marts.calls", "marts.debater_value", "marts.judge_value", "marts.rank_costs"}

DISTURBED = {"created_at", "sent_at", "duration_ms", "latency_ms", "panel_latency_ms", "attempt"}

Marts = dict[str, list[tuple[object, ...]]]


def landed(root: Path) -> Marts:
    """Every row of `raw`, apart from times and attempts that gave no answer. All marts are made of it."""
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        names = con.execute("select table_name from duckdb_tables() where schema_name = 'raw'").fetchall()
        rows = {name: con.table(f"raw.{name}") for (name,) in names}
        rows["calls"] = rows["calls"].filter("status = 'answered'")
        kept = {name: [column for column in each.columns if column not in DISTURBED] for name, each in rows.items()}
        return {name: each.select(*kept[name]).order("all").fetchall() for name, each in rows.items()}


def marts(root: Path) -> Marts:
    """Every row of `marts` and `ratings`, apart from times and attempts."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = stored(Path(shutil.copy(root / "warehouse" / "debatebench.duckdb", folder)))
        with duckdb.connect(str(copy), read_only=True) as con:
            names = con.execute(
                "select distinct schema_name || '.' || table_name from duckdb_columns() "
                "where schema_name in ('marts', 'ratings') order by 1"
            ).fetchall()
            for (name,) in names:
                if name in MAY_DIFFER_WHOLLY:
                    continue
                described = [column for (column, *_) in con.execute(f"describe {name}").fetchall()]
                columns = [column for column in described if not MAY_DIFFER.fullmatch(column)]
                found[name] = con.execute(f"select {', '.join(columns)} from {name} order by all").fetchall()
    return found
