"""Commands drawn at random on one workspace, one after the other with signals, or all at once; and what must hold."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from command_line import Done, debatebench
from imported import ORIGINAL
from whole_marts import marts

# What an undisturbed disk and sound files allow: done, inputs that do not fit (yet), another process has the run.
CALM = {0, 2, 4}
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
STOPPED = {130, *(-number for number in SIGNALS)}
LONGEST_S = 3.0


def begin(root: Path) -> Path:
    """A workspace with a run in it, `first`."""
    for arguments in (("init",), ("run", "--run-tag", "first", "--quick-test")):
        done = debatebench(root, *arguments)
        assert done.code == 0, done.err
    return root


def draw_command(draw: random.Random) -> tuple[str, ...]:
    """A command that plays, judges, imports, lands, builds, reads or publishes."""
    number = draw.randrange(3)
    return draw.choice(
        [
            ("run", "--run-tag", f"run-{number}", "--quick-test"),
            ("run", "--run-tag", f"run-{number}", "--quick-test", "--no-build"),
            ("retry", f"run-{number}"),
            ("judge", "first", "--as", f"judged-{number}"),
            ("probe-judges", "first", "--as", f"probed-{number}"),
            ("import", "debatebench", str(ORIGINAL), "--run-tag", f"imported-{number}"),
            ("land",),
            ("land", "--reparse"),
            ("build", "--full-refresh"),
            ("build", "--from-journals"),
            ("rate",),
            ("summarize",),
            ("report",),
            ("docs",),
            ("doctor",),
            ("query", "select count(*) from marts.debates"),
            ("export", "--format", "jsonl", "--out-dir", f"exported-{number}", "--force"),
        ]
    )


def sequence(root: Path, draw: random.Random, length: int) -> list[str]:
    """Run commands one after the other, half of them ended by a signal; return what should not have happened."""
    wrong = []
    for _ in range(length):
        before = journals(root)
        arguments = draw_command(draw)
        process = _start(root, arguments)
        sent = None
        if draw.random() < 0.5:
            time.sleep(draw.random() * LONGEST_S)
            sent = draw.choice(SIGNALS)
            process.send_signal(sent)
        wrong += _judged(arguments, process, CALM if sent is None else CALM | STOPPED)
        wrong += _lost(before, journals(root), arguments)
    return wrong + end(root)


def at_once(root: Path, draw: random.Random, count: int) -> list[str]:
    """Run commands at the same time; return what should not have happened."""
    before = journals(root)
    lines = [draw_command(draw) for _ in range(count)]
    started = [(arguments, _start(root, arguments)) for arguments in lines]
    wrong = [each for arguments, process in started for each in _judged(arguments, process, CALM)]
    return wrong + _lost(before, journals(root), ("at once",)) + end(root)


def end(root: Path) -> list[str]:
    """Finish every run, land everything, and compare the warehouse with one that is created again."""
    wrong = []
    tags = sorted(journals(root))
    for tag in tags:
        done = debatebench(root, "retry", tag)
        # A journal in which nothing but its beginning was written is not yet a run.
        wrong += _unless(done.code == 0, f"retry {tag}: {done.code} {done.err}")
    for arguments in (("land",), ("doctor",)):
        done = debatebench(root, *arguments)
        wrong += _unless(done.code == 0, f"{' '.join(arguments)}: {done.code} {done.out} {done.err}")
    landed = marts(root)
    missing = set(tags) - {str(row[0]) for row in landed["marts.runs"]}
    wrong += _unless(not missing, f"not landed: {missing}")
    done = debatebench(root, "build", "--from-journals")
    wrong += _unless(done.code == 0, f"build --from-journals: {done.code} {done.err}")
    differing = [name for name, rows in marts(root).items() if landed[name] != rows]
    return wrong + _unless(not differing, f"differ after a rebuild: {differing}")


def journals(root: Path) -> dict[str, bytes]:
    """The whole lines of every journal that has one, by tag."""
    found = {}
    for path in sorted((root / "warehouse" / "journal").glob("*.jsonl")):
        content = path.read_bytes()
        if b"\n" in content:
            found[path.stem] = content[: content.rindex(b"\n") + 1]
    return found


def _start(root: Path, arguments: tuple[str, ...]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "debatebench", "--root", str(root), *arguments],
        cwd=root,
        env={**os.environ, "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _judged(arguments: tuple[str, ...], process: subprocess.Popen[str], allowed: set[int]) -> list[str]:
    out, err = process.communicate()
    done = Done(process.returncode, out, err)
    is_well = done.code in allowed and "Traceback" not in done.err
    return _unless(is_well, f"{' '.join(arguments)}: {done.code} {done.err}")


def _lost(before: dict[str, bytes], after: dict[str, bytes], arguments: tuple[str, ...]) -> list[str]:
    lost = [tag for tag, content in before.items() if not after.get(tag, b"").startswith(content)]
    return _unless(not lost, f"{' '.join(arguments)}: events of {lost} are lost")


def _unless(is_well: bool, problem: str) -> list[str]:
    return [] if is_well else [problem]
