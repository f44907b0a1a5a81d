"""Whether the warehouse is up to date: what a build asks first, so it loads little."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from debatebench.query import open_for_query
from debatebench.transform.project import load_models
from debatebench.transform.state import state_with_landings

if TYPE_CHECKING:
    from debatebench.workspace import Workspace

__all__ = ["build_is_current"]


def build_is_current(workspace: Workspace) -> bool:
    """Whether a build would change nothing: same SQL models, same landed data, same code. Quick, and copies nothing."""
    if not workspace.database.exists():
        return False
    import duckdb

    project = load_models(workspace.files("sql", "**/*"))
    with closing(open_for_query(workspace.database)) as con:
        try:
            stored = con.execute("select state from meta.build_state").fetchall()
            return stored == [(state_with_landings(con, project),)]
        except duckdb.CatalogException:
            return False
