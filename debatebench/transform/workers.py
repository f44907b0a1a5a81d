"""Create SQL models on several connections at once, each after those that it reads.

Most of a build uses one thread at a time: DuckDB binds a view, reads a table with a single row group, or waits for a
Python function. Creating two models at once keeps two processors busy.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, TypeVar

from debatebench.shared.duckdb_sql import transaction
from debatebench.shared.errors import SqlDataError, SqlModelError
from debatebench.transform.broken import Broken
from debatebench.transform.sql_model import SqlModel

if TYPE_CHECKING:
    import duckdb

    Create = Callable[[duckdb.DuckDBPyConnection, SqlModel], "T"]
    _Result = tuple[list["T"], dict[str, SqlModelError]]

T = TypeVar("T")

# More would mostly wait for each other: few models are ready at the same time, and Python functions run one by one.
_MOST_WORKERS = 4
# The assumed seconds for a model, until they are known. They only affect the order in which models begin.
_TABLE_S, _VIEW_S = 0.05, 0.005
# Two Python functions at once take turns, and one that computes in small steps waits this long at every step.
_TURN_S = 0.0005
# A transaction for each view is not faster, and a table should not have to wait for many views.
_VIEWS_AT_ONCE = 4


def create_all(
    con: duckdb.DuckDBPyConnection,
    models: Mapping[str, SqlModel],
    chosen: Collection[str],
    create: Create[T],
    done: list[T],
    broken: Broken,
    seconds: Mapping[str, float],
) -> None:
    """Call `create` for every chosen one of `models` (all, in dependency order), and add what it returns to `done`.

    A `SqlModelError` of one model, unless it is a `SqlDataError`, is added to `broken`, with all that reads the model.

    Each call gets a connection to the database of `con` with an open transaction; what it reads, directly or not, is
    committed before. Each table has its own transaction; views share one. `seconds` are the seconds that models took
    before, where they are known: the longest chain of models starts first. The first other error is raised when the
    other running calls have ended; `done` then contains what is committed.
    """
    queue = _Queue(models, chosen, seconds)
    workers = max(1, min(_MOST_WORKERS, _processors(), len(chosen)))
    with ExitStack() as stack:
        stack.callback(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(_TURN_S)
        connections = [stack.enter_context(connection_beside(con)) for _ in range(workers)]
        idle = list(connections)
        pool = stack.enter_context(ThreadPoolExecutor(workers))
        working: dict[Future[_Result[T]], tuple[duckdb.DuckDBPyConnection, list[SqlModel]]] = {}
        try:
            while True:
                while idle and (batch := queue.take()):
                    cursor = idle.pop()
                    working[pool.submit(_in_transaction, cursor, batch, create)] = cursor, batch
                if not working:
                    return
                for future in wait(working, return_when=FIRST_COMPLETED).done:
                    cursor, batch = working.pop(future)
                    created, failed = future.result()
                    done += created
                    broken |= failed
                    idle.append(cursor)
                    queue.finish(batch, broken)
        except BaseException as error:
            if not isinstance(error, Exception):
                # On an interrupt, do not wait for running queries to end.
                for cursor in connections:
                    cursor.interrupt()
            for future in wait(working).done:
                if future.exception() is None:
                    done += future.result()[0]
            raise


@contextmanager
def connection_beside(con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Another connection to the same database, which may differ from the one that DuckDB was opened with."""
    ((database,),) = con.execute("select current_database()").fetchall()
    with closing(con.cursor()) as cursor:
        cursor.execute(f'use "{database}"')
        yield cursor


def _in_transaction(con: duckdb.DuckDBPyConnection, batch: Sequence[SqlModel], create: Create[T]) -> _Result[T]:
    """What `create` returned for each of these models, and name → error of those that failed."""
    try:
        with transaction(con):
            return [create(con, model) for model in batch], {}
    except SqlDataError:
        raise
    except SqlModelError as error:
        if len(batch) == 1:
            return [], {batch[0].name: error}
    done: list[T] = []
    failed: dict[str, SqlModelError] = {}
    for model in batch:
        created, wrong = _in_transaction(con, [model], create)
        done += created
        failed |= wrong
    return done, failed


class _Queue:
    """Which models can be created next, and which of them goes first."""

    def __init__(self, models: Mapping[str, SqlModel], chosen: Collection[str], seconds: Mapping[str, float]) -> None:
        self.waits_for = _chosen_above(models, chosen)
        self.waiting = {name: models[name] for name in self.waits_for}
        self.length = _chain_lengths(self.waiting, self.waits_for, seconds)

    def take(self) -> list[SqlModel]:
        """What an idle worker creates next: the model at the start of the longest chain; empty when none is ready.

        Views are returned a few at a time.
        """
        ready = [model for name, model in self.waiting.items() if not self.waits_for[name]]
        ready.sort(key=lambda model: self.length[model.name], reverse=True)
        views = [model for model in ready if model.materialized == "view"]
        is_view_first = bool(ready) and ready[0].materialized == "view"
        taken = views[:_VIEWS_AT_ONCE] if is_view_first else ready[:1]
        for model in taken:
            del self.waiting[model.name]
        return taken

    def finish(self, models: Iterable[SqlModel], broken: Broken) -> None:
        """Models have been created, or have failed: what waits for something broken is not created."""
        broken.spread({name: self.waits_for[name] for name in self.waiting})
        self.waiting = {name: model for name, model in self.waiting.items() if name not in broken}
        finished = {model.name for model in models}
        for names in self.waits_for.values():
            names -= finished


def _chosen_above(models: Mapping[str, SqlModel], chosen: Collection[str]) -> dict[str, set[str]]:
    """Chosen model, in order → the nearest chosen models that it reads, directly or through models not chosen."""
    above: dict[str, set[str]] = {}
    for name, model in models.items():
        above[name] = set()
        for dependency in model.dependencies:
            above[name] |= {dependency} if dependency in chosen else above.get(dependency, set())
    return {name: names for name, names in above.items() if name in chosen}


def _chain_lengths(
    models: Mapping[str, SqlModel], waits_for: Mapping[str, set[str]], seconds: Mapping[str, float]
) -> dict[str, float]:
    """Name → the seconds of the longest chain of models that begins with this one."""
    length = dict.fromkeys(models, 0.0)
    for name in reversed(tuple(models)):
        usual = _TABLE_S if models[name].materialized == "table" else _VIEW_S
        length[name] += seconds.get(name, usual)
        for above in waits_for[name]:
            length[above] = max(length[above], length[name])
    return length


def _processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
