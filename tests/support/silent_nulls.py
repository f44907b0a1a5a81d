"""Numbers of marts that are null without a reason."""

from __future__ import annotations

import re

import duckdb

from debatebench.transform.lineage.descriptions import descriptions_of
from debatebench.transform.project import Project

# A text that says when a number is null, as in "null where the cost is unknown".
_SAYS_WHEN = re.compile(r"\bnull,? (where|when|with|without|if|for|unless|until|of|in|on|not)\b", re.IGNORECASE)
_NUMERIC = re.compile(r"(TINY|SMALL|BIG|HUGE|U\w*)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*")


def silent_nulls(con: duckdb.DuckDBPyConnection, project: Project) -> list[str]:
    """The columns of marts with a null that neither its row nor the column's text explains, and how many there are.

    What explains column `x_y` in a row is `x_reason`, or where there is none, any reason of the row.
    """
    descriptions, found = descriptions_of(project), []
    for name, model in project.models.items():
        if model.schema != "marts" or model.alias_of is not None or model.properties.deprecation_date is not None:
            continue
        columns = {column: str(kind) for column, kind, *_ in con.execute(f"describe {name}").fetchall()}
        reasons = sorted((column for column in columns if re.fullmatch(r"(.+_)?reason", column)), key=len)
        suspects = {}
        for column, kind in columns.items():
            if _NUMERIC.fullmatch(kind) and not _SAYS_WHEN.search(descriptions.description(name, column)):
                own = [each for each in reasons if each != "reason" and column.startswith(each.removesuffix("_reason"))]
                suspects[column] = " and ".join(f'"{each}" is null' for each in (column, *(own[-1:] or reasons)))
        if suspects:
            counts = ", ".join(f"count(case when {condition} then 1 end)" for condition in suspects.values())
            row = con.execute(f"select {counts} from {name}").fetchone() or ()
            found += [f"{name}.{column}: {count}" for column, count in zip(suspects, row, strict=True) if count]
    return found
