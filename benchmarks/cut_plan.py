"""How much time and memory does it take to cut a large plan into shards?

    python benchmarks/cut_plan.py [--debates 1000000] [--shards 8]

Writes the file of a plan with so many debates (those of the demo, under other ids), and reads one shard of it in a
process of its own, as `run --plan FILE --shard 2/8` does before its first request. Prints CPU seconds and peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from debatebench.journal.lines import encode_line, text_in

READ = """
import resource, sys
from pathlib import Path
from debatebench.journal.shards import Shard
from debatebench.plan.plan_file import read_plan
plan = read_plan(Path(sys.argv[1]), Shard.of(sys.argv[2]))
print(len(plan.debates), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def write_large(small: Path, large: Path, debates: int) -> None:
    """Write the plan in `small` again and again, until it has so many debates."""
    first, *lines = small.read_bytes().splitlines(keepends=True)
    head, rows = json.loads(text_in(first)), [json.loads(text_in(line)) for line in lines]
    with open(large, "wb") as file:
        line, crc = encode_line(1, 0, {**head, "debates": debates})
        file.write(line)
        for place in range(debates):
            data = rows[place % len(rows)]
            row = {**data["row"], "debate_id": f"{place:016x}", "schedule_position": place}
            line, crc = encode_line(place + 2, crc, {**data, "row": row})
            file.write(line)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--debates", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small.plan"), Path(folder, "large.plan")
        line = [sys.executable, "-m", "debatebench", "--root", folder, "run", "--run-tag", "large", "--dry-run"]
        subprocess.run([*line, "--plan-output", str(small)], check=True, capture_output=True)
        write_large(small, large, options.debates)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        number = f"{min(2, options.shards)}/{options.shards}"
        command = [sys.executable, "-c", READ, str(large), number]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        count, memory = map(int, done.stdout.split())
        size = large.stat().st_size / 1e6
        whole = f"{options.debates:,} debates ({size:,.0f} MB)"
        print(f"{whole}, shard {number}: {count:,} debates, {cpu:.1f} CPU seconds, {memory:,} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
