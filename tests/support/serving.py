"""A command that serves pages in its own process, and requests as a browser or a script sends them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from patience import LONGEST_WAIT_S

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

    def __init__(self, root: Path, *arguments: str) -> None:
        self._command = [sys.executable, "-m", "debatebench", "--root", str(root), *arguments, "--no-browser"]

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(self.process.communicate()[1])
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
        if self.process.stdout is not None and self.process.stdout.closed:
            return self.process.returncode, ""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=LONGEST_WAIT_S)
        return self.process.returncode, err

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
