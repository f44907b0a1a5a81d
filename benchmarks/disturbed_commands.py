"""Commands that are ended by signals, and commands that run at the same time: what they lose, and how they exit.

    python benchmarks/disturbed_commands.py [--sequences 64] [--rounds 20] [--seed 1]

A sequence is six commands on one workspace, drawn with a seed; half of them get SIGKILL, SIGTERM or SIGINT at a drawn
time. A round is eight such commands at the same time. After each, every run is finished, everything lands, and the
warehouse is created again. Printed: every exit code that is not documented, every event that a journal has lost, every
run that did not land, and every mart that differs after the warehouse was created again. The exit code is 1 if there is
any.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from disturbed_commands import at_once, begin, sequence


def main() -> int:
    """Play all sequences and rounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sequences", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    count_wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        first = begin(Path(folder, "first"))
        for number in range(options.sequences + options.rounds):
            draw = random.Random(f"{options.seed} {number}")
            root = Path(shutil.copytree(first, Path(folder, "w")))
            is_sequence = number < options.sequences
            wrong = sequence(root, draw, 6) if is_sequence else at_once(root, draw, 8)
            shutil.rmtree(root)
            count_wrong += len(wrong)
            for problem in wrong:
                print(f"{'sequence' if is_sequence else 'round'} {number}: {problem}", flush=True)
    took = time.monotonic() - began
    print(f"{options.sequences} sequences and {options.rounds} rounds in {took:.0f} s: {count_wrong} problems")
    return 0 if count_wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
