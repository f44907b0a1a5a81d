"""The scope of a SQL model: which landed rows it must see together, so that a build can be cut into pieces.

Landed rows come in parts (`Domain.part`). A *family* is a part with all parts that are about it, or that it is about.

part    each row belongs to one part, which the part's column names, and is computed from that part's family alone
fixed   the rows depend on nothing that has landed
whole   anything else: the rows of several families are needed together
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.transform.sql_model import SqlModel

Scope = Literal["part", "fixed", "whole"]


def scopes(models: Mapping[str, SqlModel], columns: Mapping[str, Collection[str]], part: str) -> dict[str, Scope]:
    """The scope of each of `models` (all, in dependency order) whose `columns` are known.

    It follows from the graph. What reads only what is fixed is fixed; what has no column `part`, or reads what is
    whole, is whole; the rest is a part's. A SQL model that has the column and still looks across parts says
    `scope: whole`. Raises `SqlModelError` where a SQL model says `scope: part` and cannot be.
    """
    found: dict[str, Scope] = {}
    for name, model in models.items():
        read: set[Scope] = {found.get(each, "part") for each in model.dependencies}
        is_whole = "whole" in read or part not in columns[name] or model.properties.config.scope == "whole"
        found[name] = "fixed" if read <= {"fixed"} else "whole" if is_whole else "part"
        if model.properties.config.scope == "part" and found[name] == "whole":
            across = next((each for each in model.dependencies if found.get(each) == "whole"), None)
            why = f"it reads {across}, whose scope is whole" if across else f"it has no column {part}"
            raise SqlModelError(
                f"{shown_path(model.properties_file)}: {name} cannot have `scope: part`: {why}; leave `scope` out."
            )
    return found


def families(parts: Iterable[str], about: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """The families of `parts`, each sorted. `about` are pairs of a part and what it is about, which may be absent."""
    family = {part: {part} for part in parts}
    for one, other in about:
        if one in family and other in family and family[one] is not family[other]:
            family[one] |= family[other]
            for part in family[other]:
                family[part] = family[one]
    return sorted({tuple(sorted(members)) for members in family.values()})
