"""A private warehouse and site, renewed as journals grow, in a thread that gives way to a run that plays."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from debatebench.output.report.choice import Choice
from debatebench.output.report.site import build_site
from debatebench.output.view.playing import Playing, ProgressFiles
from debatebench.output.view.standing import Standing, standing_of
from debatebench.query.run_tags import default_order, landed_tags
from debatebench.query.safe_query import open_for_query, open_for_reading
from debatebench.shared.activity import Step, shown_by
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.visible_text import visible
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.sources import import_folders, sources
from debatebench.warehouse.update import update_warehouse

_LOOK_EVERY_S = 0.5
# What following may take of a processor's time: after a second of work, it rests for four.
_REST = 4.0
_LEAST_REST_S = 1.0
# Pages take longer than a leaderboard, and nobody reads all of them anew every few seconds.
_SITE_REST = 9.0
_MOST_FOLLOWED = 4
_NICE = 10


class _StoppedError(Exception):
    """Ends a renewal when the server ends."""


class Following:
    """The private warehouse and site of a view, in `folder`; `site` is the folder of its pages.

    `choice` is what the site is about. `now` is the clock, in naive UTC.
    """

    def __init__(self, workspace: Workspace, folder: Path, choice: Choice, now: Callable[[], datetime]) -> None:
        self.site = folder / "site"
        self._workspace = replace(workspace, private_database=folder / "debatebench.duckdb")
        self._published = workspace.database
        self._choice = choice
        self._now = now
        self._files = ProgressFiles(workspace)
        self._stop = threading.Event()
        self._seen: object = None
        self._standings: dict[str, Standing] = {}
        self._built_at: datetime | None = None
        self._problems: list[str] = []
        self._version = 0
        self._is_site_old = True
        self._site_cost_s = self._site_made_s = 0.0

    @property
    def version(self) -> int:
        """The number of the site's last renewal."""
        return self._version

    def begin(self) -> None:
        """Build the warehouse and the site for the first time; raises what `update_warehouse` and `build_site` do.

        Raises `UsageError` if there is no run or import.
        """
        if self._published.is_file():
            # Open, it cannot be changed in place meanwhile.
            with open_for_reading(self._published):
                shutil.copyfile(self._published, self._workspace.database)
        elif not sources(self._workspace):
            raise UsageError(
                "There is nothing to view yet: `debatebench run` plays a run, and `debatebench import` imports one."
            )
        self._seen = self._sources()
        self._land()
        self._render()

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Renew warehouse and site while the block runs, whenever a journal or import has changed."""
        thread = threading.Thread(target=self._follow, name="follow", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def playing(self) -> list[str]:
        """The runs of the site that play at this moment."""
        return self._playing(self._files.read())

    def state(self) -> dict[str, Any]:
        """Everything that the page of the present shows, made visible: the runs that play, else the usual one."""
        files = self._files.read()
        playing = self._playing(files)
        tags = playing[:_MOST_FOLLOWED] or list(self._standings)[:1]
        built_at = None if self._built_at is None else f"{self._built_at:%H:%M:%S} UTC"
        shown: dict[str, Any] = {
            "version": self._version,
            "is_playing": bool(playing),
            "playing": [f"{tag}: {files[tag].done:,} of {files[tag].planned:,} debates" for tag in playing],
            "built_at": built_at,
            "problems": self._problems,
            "runs": [_run(tag, files.get(tag), self._standings.get(tag)) for tag in tags],
        }
        return {name: _visible(value) for name, value in shown.items()}

    def _playing(self, files: dict[str, Playing]) -> list[str]:
        wanted = self._choice.run_tags
        return [tag for tag, run in files.items() if run.is_playing and (not wanted or tag in wanted)]

    def _follow(self) -> None:
        with suppress(OSError, AttributeError):
            # On Linux a thread has its own, and DuckDB's threads inherit it.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        rest_s = _LEAST_REST_S
        with shown_by(self._check):
            while not self._stop.wait(rest_s):
                rest_s = _LOOK_EVERY_S
                now_there = self._sources()
                is_late = not self.playing() or time.monotonic() - self._site_made_s > _SITE_REST * self._site_cost_s
                is_new = now_there != self._seen
                if not is_new and not (self._is_site_old and is_late):
                    continue
                started = time.monotonic()
                self._seen = now_there
                self._renew(is_new, is_late)
                rest_s = max(_LEAST_REST_S, _REST * (time.monotonic() - started))

    def _renew(self, is_new: bool, is_late: bool) -> None:
        """One renewal; whatever goes wrong is told on the page, which keeps what it had."""
        try:
            if is_new:
                self._land()
            if is_late:
                self._render()
        except _StoppedError:
            return
        except Exception as error:
            if not self._stop.is_set():
                reason = str(error) if isinstance(error, DebatebenchError) else repr(error)
                self._problems = [f"This page could not be renewed: {reason}"]

    def _check(self, _: Step) -> None:
        """Called at each step of a renewal."""
        if self._stop.is_set():
            raise _StoppedError

    def _land(self) -> None:
        update = update_warehouse(self._workspace, None, now=self._now)
        self._problems = [*update.set_aside.values(), *([update.unbuilt] if update.unbuilt else [])]
        with closing(open_for_query(self._workspace.database)) as con:
            there = landed_tags(con)
            usual = self._choice.run_tags or default_order(con) or there
            wanted = dict.fromkeys([*self.playing(), *list(usual)[:1]])
            self._standings = {tag: standing_of(con, tag) for tag in wanted if tag in there}
        self._built_at = self._now()
        self._is_site_old = True

    def _render(self) -> None:
        started = time.monotonic()
        files = self._workspace.files("reports", "**/*")
        choice = self._choice
        build_site(
            self._workspace.database,
            files,
            self.site,
            run_tags=choice.run_tags,
            compare=choice.comparisons,
            title=choice.title,
            front=choice.front,
        )
        self._version += 1
        self._is_site_old = False
        self._site_made_s = time.monotonic()
        self._site_cost_s = self._site_made_s - started

    def _sources(self) -> object:
        """A value that differs after a journal, import, annotation or mark has changed."""
        folders = import_folders(self._workspace)
        files = [*self._workspace.journal.glob("**/*.jsonl"), *(folder / "manifest.json" for folder in folders)]
        found = []
        for path in sorted(files):
            with suppress(OSError):
                status = path.stat()
                found.append((path, status.st_ino, status.st_size, status.st_mtime_ns))
        return found


def _run(tag: str, file: Playing | None, standing: Standing | None) -> dict[str, Any]:
    """One run: while it plays as its process says, else as its journal does."""
    limit = None if file is None else file.limit
    shown: dict[str, Any] = {"tag": tag, "board": [], "notes": []}
    if standing is not None:
        shown |= {"board": standing.board, "notes": standing.notes, "done_on_board": standing.done}
        shown["least_debates"] = standing.least_debates
    if file is not None and file.is_playing:
        shown |= {"words": file.words, "done": file.done, "planned": file.planned, "facts": file.facts}
    elif standing is not None:
        words = standing.words if file is None else file.words
        facts = standing.with_cost(limit)
        shown |= {"words": words, "done": standing.done, "planned": standing.planned, "facts": facts}
    return shown


def _visible(value: Any) -> Any:
    """The same with all text made visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {name: _visible(each) for name, each in value.items()}
    return [_visible(each) for each in value] if isinstance(value, list | tuple) else value
