"""How fast the warehouse is: whole commands, each in its own process, on many debates in the original's format.

    python benchmarks/warehouse.py --generator GENERATOR.py [--sizes 20000 100000] [--repeat 3] [--folder FOLDER]
    python benchmarks/warehouse.py --debates DEBATES.jsonl [--repeat 3] [--folder FOLDER]

GENERATOR is called with `--n N --seed S --out FILE` and writes N debates; later runs reuse the file. Measured per size:
an import into an empty workspace, a full build, a build when nothing has changed, landing a run of 120 debates that was
played elsewhere, and a query. Times are medians, followed by the minimum and maximum; CPU is user and system
time, including child processes; memory is the peak of the largest process. The load shows whether other work shared the
machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-m", "debatebench"]
SEED = 7


@dataclass(frozen=True)
class Process:
    """One finished process: seconds on the clock, seconds of CPU, peak memory in MB."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def measured(*arguments: str | Path) -> Process:
    """Run a command of debatebench to its end; if it fails, stop with its output."""
    with tempfile.TemporaryFile("w+") as said:
        started = time.perf_counter()
        process = subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.perf_counter() - started
        if process.returncode:
            said.seek(0)
            sys.exit(f"`debatebench {' '.join(map(str, arguments))}` failed:\n{said.read()}")
    # Linux counts memory in KiB, macOS in bytes.
    unit = 1024 if sys.platform == "linux" else 1024**2
    return Process(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def new_workspace(root: Path) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    measured("--root", root, "init")
    return root


def played_runs(root: Path, count: int) -> list[Path]:
    """Journals of finished simulated runs, 120 debates each."""
    new_workspace(root)
    for number in range(count):
        measured("--root", root, "run", "--run-tag", f"small-{number}", "--sample-topics", "4", "--no-build")
    return sorted((root / "warehouse" / "journal").glob("*.jsonl"))


def steps(debates: Path, folder: Path, journals: list[Path]) -> Iterator[tuple[str, list[Process]]]:
    """Every measured step by name, with its repetitions."""
    root = folder / "workspace"

    def repeated(step: Callable[[int], Process]) -> list[Process]:
        return [step(number) for number in range(len(journals))]

    def import_(_: int) -> Process:
        new_workspace(root)
        return measured("--root", root, "import", "debatebench", debates, "--run-tag", "many")

    def land(number: int) -> Process:
        target = root / "warehouse" / "journal"
        target.mkdir(exist_ok=True)
        shutil.copy(journals[number], target)
        return measured("--root", root, "land", "--run-tag", journals[number].stem)

    yield "import", repeated(import_)
    yield "build --full-refresh", repeated(lambda _: measured("--root", root, "build", "--full-refresh"))
    yield "build, nothing to do", repeated(lambda _: measured("--root", root, "build"))
    yield "land 120 debates", repeated(land)
    yield 'query "select 1"', repeated(lambda _: measured("--root", root, "query", "select 1"))


def row(size: int, name: str, processes: list[Process]) -> str:
    """A line of the table."""
    walls = [process.wall_s for process in processes]
    wall_s = statistics.median(walls)
    cpu_s = statistics.median(process.cpu_s for process in processes)
    peak_mb = max(process.peak_mb for process in processes)
    rate = f"{size / wall_s:>10,.0f}" if name == "import" else " " * 10
    spread = f"{min(walls):.2f}-{max(walls):.2f}"
    return f"{size:>10,}  {name:<22}{wall_s:>8.2f}{spread:>16}{cpu_s:>8.2f}{peak_mb:>8,.0f}{rate}"


def generated(generator: Path, size: int, folder: Path) -> Path:
    """A file of `size` debates; an existing file is reused."""
    path = folder / f"debates-{size}.jsonl"
    if not path.exists():
        part = path.with_suffix(".part")
        subprocess.run([sys.executable, generator, "--n", str(size), "--seed", str(SEED), "--out", part], check=True)
        part.rename(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--generator", type=Path, help="a program that writes debates")
    source.add_argument("--debates", type=Path, help="a file of debates")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000], help="numbers of debates to generate")
    parser.add_argument("--repeat", type=int, default=3, help="how often each step is measured")
    parser.add_argument("--folder", type=Path, help="where to work; default: a folder that is removed afterwards")
    options = parser.parse_args()
    source_path = options.generator or options.debates
    if not source_path.is_file():
        print(f"Skipped: there is no file {source_path}.")
        return
    with tempfile.TemporaryDirectory(prefix="debatebench-benchmark-") as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        journals = played_runs(folder / "played", options.repeat)
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
        print(f"{'debates':>10}  {'command':<22}{'wall s':>8}{'spread':>16}{'CPU s':>8}{'MB':>8}{'debates/s':>10}")
        if options.debates:
            files = [options.debates]
        else:
            files = [generated(options.generator, size, folder) for size in options.sizes]
        for debates in files:
            with debates.open("rb") as lines:
                size = sum(1 for _ in lines)
            for name, processes in steps(debates, folder, journals):
                print(row(size, name, processes), flush=True)
        print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
