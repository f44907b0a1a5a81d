"""How close a run comes to the minimum time it can take, and how much CPU and memory it uses.

    python benchmarks/runner.py [--runs 50x32 1000x64] [--latency 0.1] [--repeat 3]

Each run has its own process (`debatebench run --no-build`: playing, journal, validation, landing). A local server in
another process answers after `--latency` seconds. `50x32` is 50 debates of 6 turns and 3 judges with 32 requests in
flight. The bound is calls / slots, rounded up, times the latency: no schedule can be faster. Span is the time from the
first request to the last answer, measured by the server. Memory is the process's peak while it plays, before it lands.
CPU is the user and system time of the whole process, per 1,000 calls. Figures are medians, followed by the minimum and
maximum. The last line measures the journal alone: durable events per second with 64 waiting. The load shows whether
other work shared the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from debatebench.journal.writing import Journal

TURNS, JUDGES, TOPIC_WORDS = 6, 3, "This house would rather measure than guess"
EVENTS, WRITERS = 20_000, 64


@dataclass(frozen=True)
class Size:
    """How many debates are played with how many requests in flight."""

    debates: int
    slots: int

    @classmethod
    def parse(cls, text: str) -> Size:
        debates, slots = map(int, text.split("x"))
        return cls(debates, slots)

    @property
    def calls(self) -> int:
        return self.debates * (TURNS + JUDGES)

    def bound_s(self, latency_s: float) -> float:
        return math.ceil(self.calls / self.slots) * latency_s


@dataclass(frozen=True)
class Played:
    """One finished run: seconds measured by the server and by the clock, CPU seconds, peak memory in MB."""

    span_s: float
    wall_s: float
    cpu_s: float
    playing_cpu_s: float
    playing_mb: float
    connections: int
    most_in_flight: int


@contextmanager
def served(latency_s: float) -> Iterator[str]:
    """The address of a server in its own process."""
    program = [sys.executable, Path(__file__).with_name("chat_server.py"), "--latency", str(latency_s)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.communicate()


def write_workspace(root: Path, size: Size, url: str) -> Path:
    """Write a workspace whose plan has exactly the given number of debates: topics × ordered pairs of debaters."""
    debaters = next(n for n in (5, 4, 3, 2) if size.debates % (n * (n - 1)) == 0)
    topics = size.debates // (debaters * (debaters - 1))
    config = {
        "debate": {"rounds": [{"role": ("pro", "con")[n % 2], "stage": f"turn {n}"} for n in range(TURNS)]},
        "scoring": {"judges_per_debate": JUDGES, "dimensions": {"logic": {}, "clarity": {}}},
    }
    files = {
        "config.yaml": config,
        "topics.json": [{"id": f"t{n}", "motion": f"{TOPIC_WORDS}, case {n}."} for n in range(topics)],
        "models.yaml": {"models": [_member(f"debater-{n}", url) for n in range(debaters)]},
        "judges.yaml": {"judges": [_member(f"judge-{n}", url) for n in range(5)]},
    }
    (root / "configs").mkdir(parents=True)
    for name, content in files.items():
        # Every JSON document is also YAML.
        (root / "configs" / name).write_text(json.dumps(content))
    return root


def _member(name: str, url: str) -> dict[str, object]:
    pricing = {"prompt": 0.000001, "completion": 0.000002}
    return {"id": name, "provider": "http", "model": name, "endpoint": f"{url}/v1", "pricing": pricing}


def played(root: Path, size: Size, url: str) -> Played:
    """Play a run to its end and measure it; if it fails, stop with its output."""
    arguments = ["--root", str(root), "run", "--run-tag", "bench", "--concurrency", str(size.slots), "--no-build"]
    with tempfile.TemporaryFile("w+") as said:
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "debatebench", *arguments], stdout=said, stderr=said)
        playing_cpu_s, playing_mb = _watch_playing(process, root / "warehouse" / "debatebench.duckdb")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.perf_counter() - started
        if process.returncode:
            said.seek(0)
            sys.exit(f"The run failed:\n{said.read()}")
    with urllib.request.urlopen(url) as answer:
        seen = json.load(answer)
    if seen["requests"] != size.calls:
        sys.exit(f"The run made {seen['requests']} calls and not {size.calls}.")
    return Played(
        seen["last_answer_at"] - seen["first_request_at"],
        wall_s,
        usage.ru_utime + usage.ru_stime,
        playing_cpu_s,
        playing_mb,
        seen["connections"],
        seen["most_in_flight"],
    )


def _watch_playing(process: subprocess.Popen[bytes], warehouse: Path) -> tuple[float, float]:
    """CPU seconds and peak memory until the process begins to land, that is, until it loads DuckDB (Linux only)."""
    cpu_s, peak_mb = 0.0, 0.0
    folder = Path(f"/proc/{process.pid}")
    while _is_running(process.pid):
        try:
            if "duckdb" in (folder / "maps").read_text():
                break
            status = (folder / "status").read_text()
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            break
        if "VmHWM:" in status:
            peak_mb = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        time.sleep(0.02)
    return cpu_s, peak_mb


def _is_running(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def events_per_second(folder: Path) -> float:
    """Durable events per second of the journal alone, with a fixed number waiting at a time."""

    async def write(journal: Journal, count: int) -> None:
        for number in range(count):
            await journal.durable(journal.append({"type": "intent", "number": number, "text": "x" * 500}))

    async def write_all(journal: Journal) -> None:
        await asyncio.gather(*(write(journal, EVENTS // WRITERS) for _ in range(WRITERS)))

    with Journal.open(folder / f"events-{time.monotonic_ns()}.jsonl") as journal:
        started = time.perf_counter()
        asyncio.run(write_all(journal))
        return journal.count / (time.perf_counter() - started)


def spread(values: Sequence[float], form: str) -> str:
    """The median, followed by the minimum and maximum."""
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Size.parse, nargs="*", default=[Size(50, 32), Size(1000, 64)])
    parser.add_argument("--latency", type=float, default=0.1, help="seconds until an answer")
    parser.add_argument("--repeat", type=int, default=3, help="how often each run is measured")
    options = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    print(f"{'run':<10}{'span s':>22}{'/ bound':>22}{'CPU s / 1000':>22}{'playing only':>22}{'MB':>16}  in flight")
    with tempfile.TemporaryDirectory(prefix="debatebench-benchmark-") as temporary, served(options.latency) as url:
        for size in options.runs:
            runs = []
            for number in range(options.repeat):
                root = write_workspace(Path(temporary) / f"{size.debates}-{size.slots}-{number}", size, url)
                runs.append(played(root, size, url))
            bound_s = size.bound_s(options.latency)
            print(
                f"{size.debates}x{size.slots:<5}"
                f"{spread([run.span_s for run in runs], '.2f'):>22}"
                f"{spread([run.span_s / bound_s for run in runs], '.3f'):>22}"
                f"{spread([run.cpu_s * 1000 / size.calls for run in runs], '.2f'):>22}"
                f"{spread([run.playing_cpu_s * 1000 / size.calls for run in runs], '.2f'):>22}"
                f"{spread([run.playing_mb for run in runs], '.0f'):>16}"
                f"  {max(run.most_in_flight for run in runs)} on {max(run.connections for run in runs)} connections",
                flush=True,
            )
        rates = [events_per_second(Path(temporary)) for _ in range(options.repeat)]
    print(f"journal: {spread(rates, ',.0f')} durable events/s with {WRITERS} waiting")
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
