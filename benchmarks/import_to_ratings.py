"""Import debates, write their summaries and rate them, as three commands: ours of the case `original`.

python benchmarks/import_to_ratings.py WORKSPACE DEBATES.jsonl
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TAG = "many"


def main() -> None:
    root, debates = map(Path, sys.argv[1:])
    for words in (
        ["import", "debatebench", debates, "--run-tag", TAG],
        ["summarize", "--run-tag", TAG, "--out-dir", root / "summaries"],
        ["rate", "--run-tag", TAG, "--ratings-path", root / "ratings.json"],
    ):
        done = subprocess.run([sys.executable, "-m", "debatebench", "--root", root, *words])
        if done.returncode:
            # The last line says why.
            sys.exit(done.returncode)


if __name__ == "__main__":
    main()
