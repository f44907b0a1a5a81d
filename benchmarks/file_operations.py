"""Rounds of random operations on the files of a workspace: no answer is lost, no wrong number shown, every loss named.

    python benchmarks/file_operations.py [--rounds 100] [--seed 1]

Each round plays a tournament over HTTP while another program replaces, moves, truncates, extends, flips, deletes or
restores files; see `tests/support/file_operations.py` for what must hold. Printed: every broken promise with what had
happened in its round, and how often each operation came. The exit code is 1 when a promise is broken.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from file_operations import one_round, prepare


def main() -> int:
    """Play the rounds and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    operations: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    broken = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(Path(folder, "prepared"))
        for number in range(options.rounds):
            played = one_round(prepared, Path(folder, "round"), options.seed + number)
            for line in played.log:
                is_command = ": " in line
                (codes if is_command else operations)[line.partition(" at ")[0] if not is_command else line[:30]] += 1
            if played.problems:
                broken += 1
                print(f"round {options.seed + number}:", *played.problems, "after:", *played.log, sep="\n  ")
            shutil.rmtree(Path(folder, "round"))
    print(f"{options.rounds} rounds in {time.monotonic() - began:.0f} s, {broken} with a broken promise")
    for name, count in sorted(operations.items()):
        print(f"{count:5} {name}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
