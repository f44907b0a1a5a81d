"""Runs under `--max-cost` against a server that bills what it generated: whether the limit is ever passed.

    python benchmarks/spending_limit.py [--runs 50] [--seed 1]

A third of the server's answers come whole. Else it gives up like a gateway, breaks off, refuses, reports no usage,
zeros or counts that contradict each other, and bills what it generated all the same. Each run gets SIGKILL up to three
times between requests and answers, and is resumed. Printed for each run: its limit, what the server billed, and what
the journal records as known and as possible. The exit code is 1 when more was billed than the limit, or than is
recorded as known and possible together.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from billed_runs import billed_run


def main() -> int:
    """Play the runs, and compare what was billed with the limit and with the records."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{'seed':>4}{'limit':>9}{'billed':>9}{'known':>9}{'possible':>10}{'kills':>7}{'exit':>6}")
    runs = []
    for seed in range(options.seed, options.seed + options.runs):
        with tempfile.TemporaryDirectory() as folder:
            run = billed_run(Path(folder, "root"), seed)
        runs.append(run)
        amounts = f"{run.limit:>9.4f}{run.billed:>9.4f}{run.known:>9.4f}{run.possible:>10.4f}"
        print(f"{seed:>4}{amounts}{run.kills:>7}{run.exit_code:>6}", flush=True)
    passed = sum(run.billed > run.limit for run in runs)
    missed = sum(not run.known <= run.billed <= run.known + run.possible for run in runs)
    stopped = sum(run.exit_code == 5 for run in runs)
    share = sum(run.billed / run.limit for run in runs) / len(runs)
    statuses = sum((run.statuses for run in runs[1:]), runs[0].statuses)
    print(f"{len(runs)} runs, {stopped} stopped early; billed {100 * share:.0f} % of the limit on average")
    print("attempts: " + ", ".join(f"{count:,} {status}" for status, count in statuses.most_common()))
    print(f"limits passed: {passed}; bills outside what is recorded: {missed}")
    return 1 if passed or missed else 0


if __name__ == "__main__":
    sys.exit(main())
