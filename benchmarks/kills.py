"""A run that is killed many times: what it loses, what it buys twice, and whether its results stay the same.

    python benchmarks/kills.py [--kills 100] [--slots 8] [--latency 0.02] [--seed 1]

A local server gives the same answer to the same question. The run has its own process. It gets SIGKILL after a seeded
number of requests and a seeded part of the latency. After `--kills` kills it plays to its end.
Printed: answers that were in the journal but were requested again (must be 0), requests in flight at the kills, and
questions that were bought twice (at most as many as were in flight). Also whether everything in `marts` and `ratings`
equals that of an undisturbed run, apart from times, attempts and the possible cost of ambiguous attempts. The exit code
is 1 when a check fails.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from command_line import debatebench
from fake_provider import FakeProvider, delayed
from started_run import start, wait_until_asked
from tournament import KEY, good_answers, play, write_workspace
from whole_marts import marts

from debatebench.journal.reading import read_journal


def journalled(root: Path) -> tuple[set[str], set[tuple[str, int]]]:
    """The calls that have a reply in the journal, and the attempts that have none and no outcome."""
    replies: set[str] = set()
    open_attempts: set[tuple[str, int]] = set()
    for event in read_journal(root / "warehouse" / "journal" / "tiny.jsonl"):
        data = event.data
        if data["type"] == "intent":
            open_attempts.add((data["call_id"], data["attempt"]))
        elif data["type"] == "response":
            replies.add(data["call_id"])
            open_attempts.discard((data["call_id"], data["attempt"]))
    return replies, open_attempts


def main() -> int:
    """Kill the run, resume it, and compare the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--latency", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    # A kill comes after 1 to 8 requests, so this many debates do not finish before the last kill.
    per_pair = max(1, options.kills // 8)
    arguments = ["--concurrency", str(options.slots), "--debates-per-pair", str(per_pair)]
    with tempfile.TemporaryDirectory() as folder:
        with FakeProvider(good_answers) as server:
            calm = write_workspace(Path(folder, "calm"), server)
            assert play(calm, *arguments).code == 0
            calls = len(server.requests)
        with FakeProvider(lambda received: delayed(options.latency, good_answers(received))) as server:
            root = write_workspace(Path(folder, "killed"), server)
            kills, lost, in_flight = 0, 0, 0
            replies: set[str] = set()
            began = time.monotonic()
            while kills < options.kills:
                process = start(root, *arguments, "--no-build")
                if not wait_until_asked(server, process, len(server.requests) + draw.randint(1, 8)):
                    process.communicate()
                    break
                time.sleep(draw.random() * options.latency)
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
                now, open_attempts = journalled(root)
                lost += len(replies - now)
                replies, in_flight = now, len(open_attempts)
            done = play(root, *arguments)
            assert done.code == 0, done.err
            questions = Counter(received.body for received in server.requests)
            took = time.monotonic() - began
        twice = sum(questions.values()) - len(questions)
        differing = [name for name, rows in marts(calm).items() if marts(root)[name] != rows]
        kept = [path for path in root.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
        doctor = debatebench(root, "doctor")
    print(f"{kills} kills in {took:.0f} s, {calls} calls, {options.slots} slots")
    print(f"journalled answers lost: {lost}")
    print(f"attempts in flight at a kill: {in_flight}; questions bought twice: {twice}")
    print(f"marts and ratings that differ: {', '.join(differing) or 'none'}")
    print(f"files that hold the key: {len(kept)}; doctor: exit {doctor.code}, {doctor.err.strip()}")
    is_good = kills == options.kills and lost == 0 and twice <= in_flight <= kills * options.slots
    return 0 if is_good and len(questions) == calls and not differing and not kept else 1


if __name__ == "__main__":
    sys.exit(main())
