"""`debatebench run` as a person at a terminal runs it."""

from __future__ import annotations

import os
import select as descriptors
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from patience import LONGEST_WAIT_S


class PseudoTerminal:
    """`debatebench run` in a pseudo-terminal."""

    def __init__(
        self, root: Path, *arguments: str, output_to_terminal: bool = True, environ: Mapping[str, str] | None = None
    ) -> None:
        self.descriptor, theirs = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "debatebench", "--root", str(root), "run", *arguments],
            stdin=theirs,
            stdout=theirs if output_to_terminal else subprocess.DEVNULL,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "TERM": "dumb", "COLUMNS": "100", **(environ or {})},
        )
        os.close(theirs)

    def until(self, text: str) -> str:
        """Everything that the terminal shows, up to `text`."""
        shown = ""
        while text not in shown:
            ready, _, _ = descriptors.select([self.descriptor], [], [], 60)
            assert ready, f"{text!r} never came after {shown!r}"
            try:
                shown += os.read(self.descriptor, 65536).decode()
            except OSError:
                raise AssertionError(f"it ended without {text!r}: {shown!r}") from None
        return shown

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def end(self) -> tuple[int, str]:
        """The exit code, and what was shown to the end."""
        shown = ""
        with suppress(OSError):
            while data := os.read(self.descriptor, 65536):
                shown += data.decode()
        return self.process.wait(LONGEST_WAIT_S), shown

    def close(self) -> None:
        self.process.kill()
        self.process.wait(LONGEST_WAIT_S)
        os.close(self.descriptor)
