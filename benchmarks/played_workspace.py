"""Write a workspace whose plan has exactly so many debates, played over HTTP: six turns and three judges a debate.

    python benchmarks/played_workspace.py DEBATES URL FOLDER

The plan is topics × ordered pairs of debaters. `chat_server.py` serves the URL.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TURNS, JUDGES = 6, 3
MOTION = "This house would rather measure than guess"


def write_workspace(root: Path, debates: int, url: str) -> None:
    debaters = next(n for n in (5, 4, 3, 2) if debates % (n * (n - 1)) == 0)
    topics = debates // (debaters * (debaters - 1))
    config = {
        "debate": {"rounds": [{"role": ("pro", "con")[n % 2], "stage": f"turn {n}"} for n in range(TURNS)]},
        "scoring": {"judges_per_debate": JUDGES, "dimensions": {"logic": {}, "clarity": {}}},
    }
    files = {
        "config.yaml": config,
        "topics.json": [{"id": f"t{n}", "motion": f"{MOTION}, case {n}."} for n in range(topics)],
        "models.yaml": {"models": [_member(f"debater-{n}", url) for n in range(debaters)]},
        "judges.yaml": {"judges": [_member(f"judge-{n}", url) for n in range(5)]},
    }
    (root / "configs").mkdir(parents=True)
    for name, content in files.items():
        # Every JSON document is also YAML.
        (root / "configs" / name).write_text(json.dumps(content))


def _member(name: str, url: str) -> dict[str, object]:
    pricing = {"prompt": 0.000001, "completion": 0.000002}
    return {"id": name, "provider": "http", "model": name, "endpoint": f"{url}/v1", "pricing": pricing}


if __name__ == "__main__":
    write_workspace(Path(sys.argv[3]), int(sys.argv[1]), sys.argv[2])
