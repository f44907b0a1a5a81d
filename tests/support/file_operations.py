"""Random operations of other programs on the files of a workspace, while commands run and between them.

A round begins with a workspace that has two landed sources: the run `base` and the import `old`. A tournament `tiny` is
played over HTTP; meanwhile something replaces, moves, truncates, extends, flips, deletes or restores its journal. Then
come one or two operations on any journal, import or the warehouse, each followed by commands. After every command:

- no answer that was paid for is on the disk no more, if it was there before the command;
- what the warehouse shows of a run is what it showed at the beginning, or nothing;
- exit code 0 means that everything is there: the tournament is complete and landed, the sources are whole;
- a source that is not what it was is named by `doctor` with exit code 3.
"""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
from command_line import Done, debatebench, debatebench_here
from fake_provider import Behaviour, FakeProvider, Received, answer, delayed
from imported import ORIGINAL
from started_run import start, wait_until_asked
from tournament import is_judge, play, verdict_text, write_workspace

_ANSWER = re.compile(rb"paid-\d+-\d+")
_DEBATES = 12
_CALLS = 48
_SLOTS = 4
_SHOWN = (
    "select run_tag, debate_id, winner, sum(pro_mean_score) as pro, sum(con_mean_score) as con "
    "from marts.panel_winners join marts.judge_verdicts using (run_tag, debate_id) group by all order by all"
)


def numbered(received: Received) -> Behaviour:
    """A good answer with a number of its own, by which it is found again on the disk."""
    text = verdict_text(received) if is_judge(received) else f"A speech about {received.prompt[:40]}"
    return delayed(0.002, answer(text, id=f"paid-{received.number}-{os.getpid()}"))


def prepare(root: Path) -> Path:
    """The workspace with which every round begins."""
    with FakeProvider(numbered) as server:
        write_workspace(root, server)
        assert play(root, tag="base").code == 0
    done = debatebench(root, "import", "debatebench", str(ORIGINAL), "--run-tag", "old")
    assert done.code == 0, done.err
    return root


@dataclass
class Round:
    """One round on a copy of a prepared workspace: what happened, and which promises were broken."""

    root: Path
    draw: random.Random
    problems: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.elsewhere = self.root / "elsewhere"
        self.elsewhere.mkdir()
        self.originals = {path: path.read_bytes() for path in self._files()}
        self.shown = dict(self._shown())
        self.is_warehouse_intact = True

    # --- operations of other programs ---------------------------------------------------------------------------------

    def operate(self, path: Path) -> None:
        """Do something to a file that exists."""
        operation = self.draw.choice(["replace", "move", "truncate", "append", "flip", "delete", "restore"])
        content = path.read_bytes()
        at = self.draw.randrange(max(len(content), 1))
        if operation == "replace":
            lines = content.splitlines(keepends=True)
            new = self.root / "new"
            new.write_bytes(b"".join(lines[: self.draw.randint(0, len(lines))]))
            new.replace(path)
        elif operation == "move":
            path.rename(self.elsewhere / f"{len(self.log)}-{path.name}")
        elif operation == "truncate":
            os.truncate(path, at)
        elif operation == "append":
            with path.open("ab") as file:
                file.write(self.draw.choice([b"foreign\n", b"torn", content.splitlines(keepends=True)[0], b"\0" * 100]))
        elif operation == "flip":
            with path.open("r+b") as file:
                file.seek(at)
                file.write(bytes([content[at] ^ 1 << self.draw.randrange(8)]) if content else b"x")
        elif operation == "delete":
            path.unlink()
        else:
            # As `cp` restores a backup, which of the running tournament is an older one.
            path.write_bytes(self.originals.get(path, content[:at]))
        if path == self._database:
            self.is_warehouse_intact = False
        self.log.append(f"{operation} {path.relative_to(self.root)} at {at} of {len(content)}")

    def operate_on_any(self) -> None:
        """Do something to one of the files that the workspace keeps."""
        # The warehouse is what knows of lost sources, so one round damages it or sources, not both.
        files = [path for path in self._files() if path.exists()]
        touched = [line for line in self.log if " warehouse/" in line and "tiny.jsonl" not in line]
        if any("debatebench.duckdb" in line for line in touched):
            files = [path for path in files if path == self._database]
        elif touched:
            files = [path for path in files if path != self._database]
        if files:
            self.operate(self.draw.choice(files))

    # --- commands and what must hold after them -----------------------------------------------------------------------

    def command(self, *arguments: str) -> Done:
        """Run a command between two looks at the disk."""
        before = self._answers()
        done = debatebench_here(self.root, *arguments)
        self._check(" ".join(arguments), done.code, done.err, before)
        return done

    def _check(self, command: str, code: int, err: str, before: set[bytes]) -> None:
        self.log.append(f"{command}: {code} {err.splitlines()[-1] if err else ''}")
        if lost := before - self._answers():
            self.problems.append(f"{command} lost {len(lost)} answers")
        if code not in (0, 2, 3, 5) or "Traceback" in err:
            self.problems.append(f"{command} ended with {code}: {err}")
        for tag, rows in self._shown():
            if tag in self.shown and rows != self.shown[tag]:
                self.problems.append(f"after {command}, the warehouse shows other numbers of '{tag}'")

    def play_disturbed(self, server: FakeProvider) -> None:
        """Play the tournament, and operate on its journal meanwhile; then do what the error says."""
        path = self.root / "warehouse" / "journal" / "tiny.jsonl"
        process = start(self.root, "--concurrency", str(_SLOTS))
        if wait_until_asked(server, process, self.draw.randint(3, 40)) and path.exists():
            self.operate(path)
        on_disk = self._answers()
        _, err = process.communicate()
        self._check("run", process.returncode, err, on_disk)
        if process.returncode == 0:
            self._check_complete(path)
        saved = path.with_name("tiny.jsonl.saved")
        if saved.exists():
            # What is not there was in flight.
            missing = len(server.requests) - len(self._answers_in(iter([saved])))
            if missing > _SLOTS:
                self.problems.append(f"{missing} answers were not saved")
            if play(self.root).code != 3:
                self.problems.append("a run goes on without the events that were saved")
            saved.replace(path)
            again = play(self.root)
            self._check("run again", again.code, again.err, set())
            if again.code != 0 or len(server.requests) > _CALLS + missing:
                self.problems.append(f"after a rename, {len(server.requests)} answers were bought: {again.err}")
            self._check_complete(path)

    def _check_complete(self, journal: Path) -> None:
        """A run that ended well has landed as a whole, and its journal is whole."""
        with duckdb.connect(str(self._database), read_only=True) as con:
            ((complete,),) = con.execute(
                "select count(*) from marts.debates where run_tag = 'tiny' and status = 'complete'"
            ).fetchall()
        if complete != _DEBATES:
            self.problems.append(f"the run ended with exit code 0 and {complete} debates in the warehouse")
        if not journal.exists():
            self.problems.append("the run ended with exit code 0 and without a journal")

    def check_doctor(self) -> None:
        """Whatever has changed is named."""
        done = self.command("doctor")
        for path, content in self.originals.items():
            tag = "base" if path.name == "base.jsonl" else "old"
            if path == self._database or not self.is_warehouse_intact or not self._is_lost(path, content):
                continue
            if done.code != 3 or tag not in done.out:
                self.problems.append(f"doctor does not name the loss of {path.name}: {done.code} {done.err}")
        if not self.is_warehouse_intact and done.code == 0 and not self._is_readable():
            self.problems.append("doctor calls a warehouse sound that cannot be read")

    def finish(self) -> None:
        """Put the original files back: everything is as it was."""
        for path, content in self.originals.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for path in (self.root / "warehouse" / "journal").glob("tiny*"):
            path.rename(self.elsewhere / f"last-{path.name}")
        for command in (["land"], ["build", "--from-journals"], ["doctor"]):
            if (done := self.command(*command)).code != 0:
                self.problems.append(f"with all files back, {command} ends with {done.code}: {done.err}")
        if dict(self._shown()) != self.shown:
            self.problems.append("with all files back, the warehouse is another one")

    # --- the truth ----------------------------------------------------------------------------------------------------

    @property
    def _database(self) -> Path:
        return self.root / "warehouse" / "debatebench.duckdb"

    def _files(self) -> list[Path]:
        """The journal of `base`, every file of the import, and the warehouse."""
        kept = (self.root / "warehouse" / "imports" / "old").rglob("*")
        journal = self.root / "warehouse" / "journal" / "base.jsonl"
        return [journal, self._database, *sorted(path for path in kept if path.is_file())]

    def _answers(self) -> set[bytes]:
        return self._answers_in(path for path in self.root.rglob("*.jsonl*") if path.is_file())

    def _answers_in(self, paths: Iterator[Path]) -> set[bytes]:
        return {text for path in paths for text in _ANSWER.findall(path.read_bytes())}

    def _shown(self) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
        """Run tag → what the warehouse shows of it; nothing if it cannot be read."""
        try:
            with duckdb.connect(str(self._database), read_only=True) as con:
                rows = con.execute(_SHOWN).fetchall()
        except duckdb.Error:
            return
        for tag in sorted({row[0] for row in rows}):
            yield tag, [row for row in rows if row[0] == tag]

    def _is_readable(self) -> bool:
        try:
            with duckdb.connect(str(self._database), read_only=True) as con:
                for schema, table in con.execute("select schema_name, table_name from duckdb_tables()").fetchall():
                    con.execute(f'from "{schema}"."{table}"').fetchall()
        except duckdb.Error:
            return not self._database.exists()
        return True

    def _is_lost(self, path: Path, content: bytes) -> bool:
        """Whether a source has lost something; a torn line after it takes nothing away."""
        if not path.exists():
            return True
        now = path.read_bytes()
        is_extended = path.name == "base.jsonl" and now.startswith(content) and b"\n" not in now[len(content) :]
        return now != content and not is_extended


def one_round(prepared: Path, root: Path, seed: int) -> Round:
    """Play a round on a copy of the prepared workspace at `root`."""
    shutil.copytree(prepared, root)
    round_ = Round(root, random.Random(seed))
    with FakeProvider(numbered) as server:
        for name in ("models", "judges"):
            file = root / "configs" / f"{name}.yaml"
            file.write_text(re.sub(r"127\.0\.0\.1:\d+", server.url.split("/")[2], file.read_text()))
        round_.play_disturbed(server)
    commands: list[Callable[[], object]] = [
        lambda: round_.command("land"),
        lambda: round_.command("build", "--from-journals"),
        lambda: round_.command("report", "--run-tag", "base"),
        lambda: round_.command("show-leaderboard", "--run-tag", "base"),
        lambda: round_.command("rate", "--run-tag", "old"),
    ]
    for _ in range(round_.draw.randint(1, 2)):
        round_.operate_on_any()
        round_.check_doctor()
        round_.draw.choice(commands)()
    round_.finish()
    return round_
