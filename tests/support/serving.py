"""A command that serves pages in its own process, and requests as a browser or a script sends them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import tempfile
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from patience import LONGEST_WAIT_S
from preloaded import begin_preloaded

_WITHOUT_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Answer:
    """What a server answered."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def data(self) -> Any:
        return json.loads(self.text)


class ServedCommand:
    """A command that serves pages, in its own process while the `with` block lasts; `url` is what it prints."""

    def __init__(self, root: Path, *arguments: str, environ: dict[str, str] | None = None) -> None:
        self._arguments = ["--root", str(root), *arguments, "--no-browser"]
        self._environ = dict(os.environ) if environ is None else environ

    def __enter__(self) -> Self:
        reading, writing = os.pipe()
        self._out, self._err = os.fdopen(reading), tempfile.TemporaryFile("w+")
        with open(os.devnull) as nothing:
            files = [nothing.fileno(), writing, self._err.fileno()]
            self._process = begin_preloaded(self._arguments, self._environ, files)
        self.pid = self._process.pid
        os.close(writing)
        self.url = self._out.readline().strip()
        if not self.url:
            raise RuntimeError(self._ended()[1])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(signal.SIGTERM)

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    def stop(self, number: signal.Signals = signal.SIGKILL) -> tuple[int, str]:
        """End the process, and return its exit code and what it wrote to stderr."""
        if self._out.closed:
            return self._code, ""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
        return self._ended()

    def _ended(self) -> tuple[int, str]:
        """Wait for the end of the process: its exit code, and what it wrote to stderr."""
        self._code = self._process.exit_code(LONGEST_WAIT_S)
        with self._out, self._err:
            self._err.seek(0)
            return self._code, self._err.read()

    def get(self, path: str = "", **headers: str) -> Answer:
        return ask(self.url + path, None, headers)

    def post(self, path: str, value: Any, **headers: str) -> Answer:
        return ask(self.url + path, json.dumps(value).encode(), {"content-type": "application/json", **headers})

    def asked(self, method: str, path: str, **headers: str) -> tuple[int, str]:
        """Send a request with exactly these headers besides those that HTTP needs; `path` is the whole path."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONGEST_WAIT_S)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def ask(url: str, body: bytes | None, headers: dict[str, str]) -> Answer:
    """Send one request; an underscore in the name of a header stands for a hyphen."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, data=body, headers=named)
    try:
        with _WITHOUT_PROXY.open(request, timeout=LONGEST_WAIT_S) as answer:
            return Answer(answer.status, dict(answer.headers.items()), answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, dict(error.headers.items()), error.read().decode())
