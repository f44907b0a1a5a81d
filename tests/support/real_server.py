"""A server that is not ours, in its own process, and a workspace whose debaters and judges it answers for."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from patience import LONGEST_WAIT_S
from tournament import DIMENSIONS, KEY

import debatebench as db
from debatebench.journal.reading import read_journal
from debatebench.play.attempts import reply_of

DEBATERS, JUDGES, TAG = 2, 3, "tiny"
_WITHOUT_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))

Attempts = dict[tuple[str, int], Any]


class RealServer:
    """A program that serves chat completions on a free port of 127.0.0.1 while the `with` block lasts.

    `provider` is its name in models.yaml. In `command`, `{port}` stands for the port. `health` is a path that is
    answered with 200 when the server is ready, and `mark` stands in its log once for every answer that it made.
    """

    def __init__(
        self,
        provider: str,
        command: Sequence[str],
        folder: Path,
        *,
        health: str,
        mark: str,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.provider = provider
        self.port = _free_port()
        self._command = [word.replace("{port}", str(self.port)) for word in command]
        self._folder = folder
        self._health = f"http://127.0.0.1:{self.port}{health}"
        self._mark = mark
        self._environ = {**os.environ, **(environ or {})}
        self._log = folder / "server.log"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def answers(self) -> int:
        """The number of answers that the server says it has made."""
        return self.log.count(self._mark)

    def __enter__(self) -> RealServer:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=self._environ, stdout=log, stderr=subprocess.STDOUT
            )
        latest = time.monotonic() + LONGEST_WAIT_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > latest:
                self.__exit__()
                raise RuntimeError(f"{self._command[0]} did not start:\n{self.log[-4000:]}")
            time.sleep(0.1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _is_ready(self) -> bool:
        try:
            with _WITHOUT_PROXY.open(self._health, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_workspace(root: Path, server: RealServer, *, topics: int = 1, judges: int = JUDGES) -> Path:
    """A workspace with two debaters: two debates per topic, each of two turns and `judges` verdicts."""
    rounds = [{"role": role, "stage": "opening"} for role in ("pro", "con")]
    dimensions = {name: {"min": 1, "max": 10} for name in DIMENSIONS}
    files = {
        "config.yaml": {
            "benchmark": {"name": "real", "version": "v1"},
            "debate": {"rounds": rounds},
            "scoring": {"judges_per_debate": judges, "dimensions": dimensions},
        },
        "topics.json": [{"id": f"t{n}", "motion": f"Case {n} should be measured, not guessed."} for n in range(topics)],
        "models.yaml": {"models": [_member(server, f"debater-{n}", 64) for n in range(DEBATERS)]},
        # A grammar allows many blanks between the parts of a verdict, and noise makes use of them.
        "judges.yaml": {"judges": [_member(server, f"judge-{n}", 1000) for n in range(judges)]},
    }
    (root / "configs").mkdir(parents=True)
    for name, content in files.items():
        # Every JSON document is also YAML.
        (root / "configs" / name).write_text(json.dumps(content))
    return root


def _member(server: RealServer, name: str, token_limit: int) -> dict[str, Any]:
    return {
        "id": name,
        "provider": server.provider,
        "model": name,
        "endpoint": server.url,
        "api_key_env": "TINY_API_KEY",
        "token_limit": token_limit,
    }


def replies(root: Path) -> Attempts:
    """Every reply in the journal."""
    events = (event.data for event in read_journal(root / "warehouse" / "journal" / f"{TAG}.jsonl"))
    return {(e["call_id"], e["attempt"]): reply_of(e) for e in events if e["type"] == "response"}


def reported_tokens(root: Path) -> Attempts:
    """The tokens of the prompt, of the answer and in total of every reply, as the server reported them."""
    found = {}
    for attempt, reply in replies(root).items():
        usage = json.loads(reply.body).get("usage") or {}
        found[attempt] = tuple(usage.get(f"{name}_tokens") for name in ("prompt", "completion", "total"))
    return found


def stored_tokens(root: Path) -> Attempts:
    """The same from the warehouse, for every attempt that got a reply."""
    with db.open(root) as warehouse:
        rows = warehouse.sql(
            "select call_id, attempt, prompt_tokens, completion_tokens, total_tokens "
            "from raw.calls where http_status is not null"
        ).fetchall()
    return {(call_id, attempt): tuple(tokens) for call_id, attempt, *tokens in rows}


def files_with_key(root: Path) -> list[Path]:
    """The files of a workspace that hold the key."""
    return [path for path in root.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
