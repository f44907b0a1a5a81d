"""Runs whose provider misbehaves in two hundred ways: nothing is lost, and every command ends as documented.

    python benchmarks/hostile_provider.py [--modes NAME …] [--at-once 2]

For each mode of `tests/support/hostile_provider.py` a tournament is played over HTTP by `run`, `retry` and `land`. Its
server misbehaves for some of the questions until the retry; the module says what must hold. In the end all runs land
together, and all SQL models are built from them. Printed: every broken promise. The exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from command_line import debatebench
from hostile_provider import MODES, play_commands


def main() -> int:
    """Play the modes and print what they broke."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=list(MODES), metavar="NAME")
    parser.add_argument("--at-once", type=int, default=2)
    options = parser.parse_args()
    began, broken = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.at_once) as pool:
        tags = [f"m{number}" for number in range(len(options.modes))]
        roots = [Path(folder, tag) for tag in tags]
        together = Path(folder, "together", "warehouse", "journal")
        together.mkdir(parents=True)
        found = pool.map(play_commands, roots, options.modes, tags)
        for mode, root, problems in zip(options.modes, roots, found, strict=True):
            broken += bool(problems)
            print(mode, "ok" if not problems else "BROKEN", *problems, sep="\n  " if problems else ": ", flush=True)
            journal = root / "warehouse" / "journal" / f"{root.name}.jsonl"
            if journal.exists():
                shutil.copy(journal, together)
            shutil.rmtree(root)
        landed = debatebench(Path(folder, "together"), "land")
        if landed.code != 0:
            broken += 1
            print(f"`land` of all runs ended with exit code {landed.code}: {landed.err.strip()}")
    print(f"{len(options.modes)} modes in {time.monotonic() - began:.0f} s, {broken} with a broken promise")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
