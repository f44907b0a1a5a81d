"""The original harness: `summarize` and `rate` of a file of debates, as two commands.

python original.py DEBATES.jsonl FOLDER
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

CONFIG = {
    "benchmark": {"version": "v0"},
    "debate": {"rounds": [{"role": side, "stage": "opening"} for side in ("pro", "con")]},
    "scoring": {"dimensions": {"reasoning": {"min": 1, "max": 10}}},
    "elo": {"initial_rating": 400, "k_factor": 32},
}


def main() -> None:
    debates, folder = map(Path, sys.argv[1:])
    config = folder / "config.yaml"
    # Every JSON document is also YAML.
    config.write_text(json.dumps(CONFIG))
    for words in (
        ["summarize", "--out-dir", folder / "summaries"],
        ["rate", "--config-path", config, "--ratings-path", folder / "ratings.json"],
    ):
        done = subprocess.run([sys.executable, "-m", "debatebench.cli", *words, "--debates-path", debates])
        if done.returncode:
            # The last line says why.
            sys.exit(done.returncode)


if __name__ == "__main__":
    main()
