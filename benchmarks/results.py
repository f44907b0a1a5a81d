"""The file of results: what was measured, when, on which machine and with which versions.

A run of `bench.py` replaces the results of the cases and sizes that it measured, and keeps the others. All
contestants of a case and size are from one run, because figures of different runs cannot be compared.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from measuring import Rounds, Sample

OUR_PARTS = ("duckdb", "numpy", "msgspec", "httptools", "uvloop")


@dataclass
class Results:
    """Runs by number, and the rounds of each case and size with the number of their run."""

    runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    measured: dict[tuple[str, int], tuple[int, Rounds]] = field(default_factory=dict)
    number: int = 0

    @classmethod
    def read(cls, path: Path) -> Results:
        """The results in a file; none if there is no file."""
        if not path.exists():
            return cls()
        content = json.loads(path.read_text())
        measured = {}
        for entry in content["measured"]:
            samples = {name: [Sample(*values) for values in each] for name, each in entry["samples"].items()}
            measured[entry["case"], entry["size"]] = (entry["run"], Rounds(samples, entry["not_measured"]))
        return cls({run["run"]: run for run in content["runs"]}, measured)

    def begin(self, about: Mapping[str, Any], effort: str) -> None:
        """Begin a run."""
        self.number = max(self.runs, default=0) + 1
        self.runs[self.number] = {"run": self.number, "effort": effort, **about}

    def add(self, case: str, size: int, rounds: Rounds) -> None:
        """Record what the run has measured."""
        self.measured[case, size] = (self.number, rounds)

    def end(self, peers: Mapping[str, str]) -> None:
        """Record the versions of the peers, and drop runs of which nothing is left."""
        self.runs[self.number]["peers"] = dict(peers)
        self.runs[self.number]["load_at_end"] = round(os.getloadavg()[0], 1)
        left = {number for number, _ in self.measured.values()}
        self.runs = {number: run for number, run in self.runs.items() if number in left}

    def write(self, path: Path) -> None:
        """Write the file; a sample is [CPU s, seconds on the clock, MB]."""
        entries = [
            {
                "case": case,
                "size": size,
                "run": number,
                "samples": {name: [_values(sample) for sample in each] for name, each in rounds.samples.items()},
                "not_measured": rounds.failures,
            }
            for (case, size), (number, rounds) in sorted(self.measured.items())
        ]
        lines = ",\n".join(f"  {json.dumps(entry)}" for entry in entries)
        runs = ",\n".join(f"  {json.dumps(run)}" for run in self.runs.values())
        part = path.with_name(f"{path.name}.part")
        part.write_text(f'{{"runs": [\n{runs}\n], "measured": [\n{lines}\n]}}\n')
        part.replace(path)


def _values(sample: Sample) -> tuple[float, float, float]:
    return round(sample.cpu_s, 4), round(sample.wall_s, 4), round(sample.peak_mb, 1)


def machine(repository: Path) -> dict[str, Any]:
    """This machine, this moment and our versions."""
    return {
        "began": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit_of(repository),
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_at_beginning": round(os.getloadavg()[0], 1),
        "ours": {name: found for name in OUR_PARTS if (found := _version(name))},
    }


def commit_of(repository: Path) -> str | None:
    """The short name of the commit that is checked out; None outside Git."""
    try:
        words = ["git", "-C", str(repository), "rev-parse", "--short", "HEAD"]
        done = subprocess.run(words, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
