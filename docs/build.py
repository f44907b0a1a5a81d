"""Write what the documents show of the program: what commands print about the demo, and a picture of its ratings.

`python docs/build.py` plays the demo in a temporary workspace and writes the files again; a test compares them.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DEMO = ("run", "--run-tag", "demo", "--sample-topics", "4")
"""The run that `make demo` plays. All of it is simulated and seeded, so it ends the same everywhere."""

_OUTPUT = re.compile(r"(<!-- output: debatebench ([^\n]*) -->\n```text\n).*?(```\n)", re.DOTALL)


def with_outputs(text: str, workspace: Path) -> str:
    """A page with the output of every command that a comment `<!-- output: debatebench … -->` names."""
    return _OUTPUT.sub(lambda found: found[1] + _output(shlex.split(found[2]), workspace) + found[3], text)


def _output(arguments: Sequence[str], workspace: Path) -> str:
    command = [sys.executable, "-m", "debatebench", "--root", str(workspace), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def leaderboard_picture(workspace: Path) -> str:
    """The ratings of the demo with their intervals, as `report --fragment leaderboard` writes them."""
    folder = workspace / "fragments"
    _output(("report", "--run-tag", "demo", "--fragment", "leaderboard", "--out-dir", str(folder)), workspace)
    return (folder / "leaderboard.svg").read_text(encoding="utf-8")


def built(workspace: Path) -> dict[Path, str]:
    """Every file that is written, with its text; `workspace` holds the run that `DEMO` plays."""
    pages = (REPOSITORY / "README.md", REPOSITORY / "docs" / "tutorial.md")
    texts = {page: with_outputs(page.read_text(encoding="utf-8"), workspace) for page in pages}
    return {**texts, REPOSITORY / "docs" / "leaderboard.svg": leaderboard_picture(workspace)}


def main() -> None:
    """Play the demo, and write the files."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        _output(DEMO, workspace)
        for path, text in built(workspace).items():
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
