"""A page of the documentation, carried out from top to bottom in one workspace.

Of its fenced blocks, `sh` are commands (a line that ends with a backslash goes on), `sql` are queries that have rows,
and a block with a path, such as `yaml configs/my_judges.yaml`, is a file that the page asks the reader to write. Other
blocks are only shown. A comment `<!-- exit: 6 -->` before commands says with which exit code they end, if not with 0.
`debatebench annotate` waits for people, so it runs beside a function that acts for them.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from preloaded import write_command
from serving import Answer, ServedCommand, ask

from debatebench.query.safe_query import parse_params, run_query

__all__ = ["AnnotationPage", "Section", "Tour", "sections_of"]

_HEADING = re.compile(r"^## (.+)$", re.M)
_FENCE = re.compile(
    r"^(?:<!-- (?P<note>[^\n]*) -->\n)?```(?P<language>\w+)(?: (?P<path>\S+))?\n(?P<text>.*?)^```$", re.M | re.S
)
_SHOWN_ONLY = ("text", "json", "python", "yaml")


@dataclass(frozen=True)
class Section:
    """A heading of second order and what is below it."""

    title: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The lines of its `sh` blocks."""
        blocks = [match["text"] for match in _FENCE.finditer(self.text) if match["language"] == "sh"]
        return [line for block in blocks for line in _lines(block)]


def _lines(block: str) -> list[str]:
    joined = block.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def sections_of(page: Path) -> dict[str, Section]:
    """The sections of a page by title, in order; a title must not occur twice."""
    text = page.read_text(encoding="utf-8")
    parts = _HEADING.split(text)
    titles = parts[1::2]
    assert len(set(titles)) == len(titles), titles
    return {title: Section(title, body) for title, body in zip(titles, parts[2::2], strict=True)}


class AnnotationPage:
    """The page of `debatebench annotate` as the browser of one person sees it."""

    def __init__(self, url: str, annotator: str, is_review: bool) -> None:
        self.url, self.annotator, self.is_review = url, annotator, is_review

    def get(self, path: str) -> Any:
        """Data of the page."""
        answer = ask(self.url + path, None, {})
        assert answer.status == 200, answer
        return answer.data

    def text(self, path: str = "") -> str:
        """The page itself."""
        answer = ask(self.url + path, None, {})
        assert answer.status == 200, answer
        return answer.text

    def post(self, path: str, value: Any) -> Answer:
        """Send a form."""
        import json

        return ask(self.url + path, json.dumps(value).encode(), {"content-type": "application/json"})


@dataclass
class Tour:
    """A workspace in which the blocks of a page are carried out."""

    root: Path
    people: Callable[[AnnotationPage], None]
    """What people do with an annotation page before it is stopped."""
    ran: list[str] = field(default_factory=list)

    @property
    def database(self) -> Path:
        return self.root / "warehouse" / "debatebench.duckdb"

    def follow(self, section: Section) -> None:
        """Carry out every block of a section, in order; the first that fails says where it stands."""
        for match in _FENCE.finditer(section.text):
            where = f"section '{section.title}'"
            if match["path"]:
                place = self.root / match["path"]
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(match["text"], encoding="utf-8")
            elif match["language"] == "sql":
                assert self.rows(match["text"], match["note"] or ""), f"{where}: no rows from {match['text']}"
            elif match["language"] == "sh":
                code = int(note.removeprefix("exit:")) if (note := match["note"] or "").startswith("exit:") else 0
                for line in _lines(match["text"]):
                    self._run(line, where, code)
            else:
                assert match["language"] in _SHOWN_ONLY, f"{where}: a block of {match['language']}"

    def rows(self, sql: str, note: str = "") -> list[Any]:
        """The rows of a query; `note` may hold its parameters, as in `params: tag=flow`."""
        params = parse_params(shlex.split(note.removeprefix("params:"))) if note.startswith("params:") else {}
        result = run_query(self.database, sql, params)
        assert not result.truncated
        return list(result.rows)

    def _run(self, line: str, where: str, code: int) -> None:
        self.ran.append(line)
        words = shlex.split(line)
        if words[:2] == ["debatebench", "annotate"]:
            self._annotate(words[2:], where)
            return
        with tempfile.TemporaryDirectory() as folder:
            write_command(Path(folder))
            done = subprocess.run(
                ["bash", "-ec", line],
                cwd=self.root,
                capture_output=True,
                text=True,
                env={**_environ(), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
            )
        assert done.returncode == code, f"{where}: {line}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        assert "leaked" not in done.stderr, done.stderr

    def _annotate(self, arguments: list[str], where: str) -> None:
        """Start the page, let people do their work, and stop it as Ctrl-C does."""
        arguments = [word for word in arguments if word != "--no-browser"]
        with ServedCommand(self.root, "annotate", *arguments, environ=_environ()) as server:
            annotator = arguments[arguments.index("--annotator") + 1]
            self.people(AnnotationPage(server.url, annotator, "--review" in arguments))
            _, err = server.stop(signal.SIGINT)
        assert "Traceback" not in err, f"{where}: {err}"


def _environ() -> dict[str, str]:
    """No key, no address of a provider, and a proxy that refuses: the tour needs no network."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    return {**kept, **nowhere, "no_proxy": "127.0.0.1,localhost", "COLUMNS": "200"}
