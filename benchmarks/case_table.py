"""The cases of `cases.yml`, and how their commands become processes.

A command is one line, or a list of lines of which the last one is measured and the others come before it in every
round. Its first word is `debatebench` (the code of the checkout that is measured), `python` (of the contestant's
environment) or a program of that environment. Words in braces stand for:

    {n}       the size
    {here}    the folder of these scripts
    {work}    a folder that is empty at the beginning of every round
    {out}     what a fixture makes
    {url}     the address of the case's server
    {NAME}    what the fixture NAME has made
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from figures import Target
from measuring import LIMIT_S, Command, CommandError, Contestant, measured

HERE = Path(__file__).resolve().parent
OURS = "debatebench"
EFFORTS = ("quick", "full")
FIXTURE_LIMIT_S = 3600.0


class TableError(Exception):
    """The table, or what is asked of it, is wrong; the text is one sentence."""


@dataclass(frozen=True)
class Fixture:
    """What cases need and nobody measures. A shared one does not depend on the code that is measured."""

    name: str
    commands: tuple[str, ...]
    is_shared: bool = False
    # Always made at this size, whatever the case's.
    at: int | None = None
    venv: str | None = None
    folder: str | None = None


@dataclass(frozen=True)
class Environment:
    """Where peers are installed: a file of pinned requirements, and the packages whose versions the page names."""

    requirements: Path
    measured: tuple[str, ...]

    def versions(self) -> dict[str, str]:
        """The pinned versions of the measured packages; of a repository, its name and the short name of a commit."""
        lines = [line for line in self.requirements.read_text().splitlines() if not line.startswith("#")]
        pins = dict(line.split("==") for line in lines if "==" in line)
        repositories = (line.rpartition("/")[2].split("@") for line in lines if " @ git+" in line)
        pins |= {name: commit[:8] for name, commit in repositories}
        return {package: pins[package] for package in self.measured}


@dataclass(frozen=True)
class Peer:
    """What a case compares us with: commands in the environment `venv`; with `is_step`, it prints its CPU seconds."""

    name: str
    commands: tuple[str, ...]
    venv: str | None = None
    is_step: bool = False
    sizes: tuple[int, ...] | None = None
    folder: str | None = None
    # A command that takes longer on the clock is stopped.
    limit_s: float = LIMIT_S


@dataclass(frozen=True)
class Case:
    """One thing that is measured, ours beside its peers, at several sizes."""

    name: str
    title: str
    about: str
    unit: str
    sizes: Mapping[str, tuple[int, ...]]
    ours: Peer
    peers: tuple[Peer, ...] = ()
    targets: tuple[Target, ...] = ()
    # Contestant → the growth of its CPU that is promised.
    growth: Mapping[str, float] = field(default_factory=dict)
    server: str | None = None
    repeat: int = 5
    warm_up: bool = True
    # The file in {work} with what was found, as JSON: peers must find the same.
    same: str | None = None


@dataclass(frozen=True)
class Table:
    """All environments, fixtures and cases by name."""

    environments: Mapping[str, Environment]
    fixtures: Mapping[str, Fixture]
    cases: Mapping[str, Case]

    def chosen(self, names: Sequence[str]) -> list[Case]:
        """The cases with these names; all without any."""
        if unknown := [name for name in names if name not in self.cases]:
            raise TableError(f"There is no case `{unknown[0]}`. The cases are: {', '.join(self.cases)}.")
        return [case for name, case in self.cases.items() if not names or name in names]


def read_table(path: Path) -> Table:
    """The table in a YAML file."""
    content = yaml.safe_load(path.read_text())
    fixtures = {name: _fixture(name, entry) for name, entry in content.get("fixtures", {}).items()}
    environments = {
        name: Environment(path.parent / entry["requirements"], tuple(entry["measured"]))
        for name, entry in content.get("environments", {}).items()
    }
    return Table(environments, fixtures, {name: _case(name, entry) for name, entry in content["cases"].items()})


def _lines(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _fixture(name: str, entry: Mapping[str, Any]) -> Fixture:
    shared, at, venv, folder = entry.get("shared", False), entry.get("at"), entry.get("venv"), entry.get("in")
    return Fixture(name, _lines(entry["run"]), shared, at, venv, folder)


def _peer(name: str, entry: Any) -> Peer:
    if not isinstance(entry, Mapping):
        return Peer(name, _lines(entry))
    sizes = tuple(entry["sizes"]) if "sizes" in entry else None
    is_step, limit_s = entry.get("step", False), entry.get("limit_s", LIMIT_S)
    return Peer(name, _lines(entry["run"]), entry.get("venv"), is_step, sizes, entry.get("in"), limit_s)


def _case(name: str, entry: Mapping[str, Any]) -> Case:
    peers = tuple(_peer(peer, each) for peer, each in entry.get("peers", {}).items())
    targets = tuple(Target(**target) for target in entry.get("targets", ()))
    if strangers := {target.peer for target in targets} - {peer.name for peer in peers}:
        raise TableError(f"A target of `{name}` is about {strangers.pop()}, which is not among its peers.")
    return Case(
        name,
        entry["title"],
        " ".join(entry["about"].split()),
        entry.get("unit", "debates"),
        {effort: tuple(entry["sizes"].get(effort, ())) for effort in EFFORTS},
        _peer(OURS, entry["ours"]),
        peers,
        targets,
        entry.get("growth", {}),
        entry.get("server"),
        entry.get("repeat", 5),
        entry.get("warm_up", True),
        entry.get("same"),
    )


@dataclass
class Bench:
    """Where things lie: the checkout that is measured, the environments of peers, the folder for all else."""

    folder: Path
    checkout: Path
    table: Table
    venvs: Path
    label: str = OURS
    # Of a kept folder, what another commit has made is not used.
    commit: str | None = None
    made: dict[tuple[str, int], Path] = field(default_factory=dict)

    def contestant(self, peer: Peer, n: int, url: str | None = None, same: str | None = None) -> Contestant:
        """A peer, or ourselves, at one size. Makes the fixtures that its commands name. Raises `CommandError`."""
        name = self.label if peer.name == OURS else peer.name
        work = self.folder / "work" / re.sub(r"\W+", "-", f"{self.label} {peer.name}")
        words = {"n": str(n), "here": str(HERE), "work": str(work), "url": str(url)}
        *before, command = [self._command(line, peer, words, n) for line in peer.commands]

        def prepare() -> None:
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            for each in before:
                measured(each)

        return Contestant(name, command, prepare, peer.is_step, work / same if same else None, peer.limit_s)

    def _command(self, line: str, place: Peer | Fixture | None, words: Mapping[str, str], n: int) -> Command:
        """The command of a line, in the environment and the folder of a peer or fixture."""
        venv, folder = (None, None) if place is None else (place.venv, place.folder)

        def word_for(match: re.Match[str]) -> str:
            name = match[1]
            if name in words:
                return words[name]
            if name not in self.table.fixtures:
                raise TableError(f"`{line}` names {{{name}}}, which is no fixture.")
            return str(self.fixture(name, n))

        def filled(text: str) -> str:
            return re.sub(r"\{(\w+)\}", word_for, text)

        first, *rest = map(filled, shlex.split(line))
        is_ours = venv is None or first == "debatebench"
        # Some environments forbid to keep compiled modules, which would be compiled again in each process.
        environ = {"PYTHONPATH": str(self.checkout) if is_ours else "", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": ""}
        return Command([*self._program(first, venv), *rest], environ, Path(filled(folder)) if folder else self.folder)

    def _program(self, word: str, venv: str | None) -> list[str]:
        if word == "debatebench":
            return [*self._program("python", venv), "-m", "debatebench"]
        if venv is None:
            return [sys.executable if word == "python" else word]
        program = self.venvs / venv / "bin" / word
        return [str(program) if program.exists() else word]

    def fixture(self, name: str, n: int) -> Path:
        """The path of a fixture, which is made at its first use and kept in the folder."""
        fixture = self.table.fixtures[name]
        n = fixture.at or n
        if (name, n) in self.made:
            return self.made[name, n]
        owner = "shared" if fixture.is_shared else re.sub(r"\W+", "-", f"{self.label} {self.commit}")
        path = self.folder / owner / f"{name}-{n}"
        if not path.exists():
            part = path.with_name(f"{path.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            part.unlink(missing_ok=True)
            part.parent.mkdir(parents=True, exist_ok=True)
            if fixture.folder is not None:
                part.mkdir()
            words = {"n": str(n), "here": str(HERE), "out": str(part)}
            for line in fixture.commands:
                try:
                    measured(self._command(line, fixture, words, n), limit_s=FIXTURE_LIMIT_S)
                except CommandError as error:
                    raise CommandError(f"What it needs could not be made (`{name}`). {error}") from None
            part.rename(path)
        self.made[name, n] = path
        return path

    @contextmanager
    def served(self, case: Case) -> Iterator[str | None]:
        """The address of the case's server, if it has one, while it runs in a process of its own."""
        if case.server is None:
            yield None
            return
        words = {"here": str(HERE)}
        command = self._command(case.server, None, words, 0)
        with subprocess.Popen(command.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
            process.communicate()
