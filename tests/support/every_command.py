"""Every command with arguments for a test that runs them all, and what each does with a warehouse that does not fit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from unittest.mock import patch

from command_line import Done, debatebench, debatebench_here
from imported import ORIGINAL

__all__ = ["RULES", "WAY_OUT", "Rule", "done_by"]

WAY_OUT = "`debatebench build`"


@dataclass(frozen=True)
class Rule:
    """How a command treats a warehouse that was built from other SQL models, and an older one, which lacks some.

    `refuses` both; `warns` of the one and refuses the other; `shows` both with a warning, as the user names what is
    read; `brings_up_to_date` both; `reads_landed` tables only, so it refuses those of another version; `reads_none`, or
    a copy that it brings up to date.
    Words in capitals stand for what a workspace has: see `done_by`.
    """

    kind: Literal["refuses", "warns", "shows", "brings_up_to_date", "reads_landed", "reads_none"]
    arguments: tuple[str, ...] = ()
    in_process: bool = True


_JUDGED = ("--as", "again", "--baseline", "always_pro")
RULES = {
    "init": Rule("reads_none"),
    "import": Rule("brings_up_to_date", ("debatebench", str(ORIGINAL), "--run-tag", "IMPORTED")),
    "prompts": Rule("reads_none"),
    "run": Rule("brings_up_to_date", ("--no-input", "RUN"), in_process=False),
    "retry": Rule("brings_up_to_date", ("FIRST",), in_process=False),
    "judge": Rule("warns", ("FIRST", *_JUDGED), in_process=False),
    "probe-judges": Rule("warns", ("FIRST", *_JUDGED), in_process=False),
    "annotate": Rule("reads_landed", ("--run-tag", "FIRST", "--annotator", "ann", "--no-browser")),
    "runs": Rule("warns"),
    "view": Rule("reads_none", ("--run-tag", "FIRST", "--no-browser")),
    "show-leaderboard": Rule("warns"),
    "inspect-debate": Rule("warns", ("DEBATE",)),
    "query": Rule("shows", ("select 1",)),
    "sql": Rule("shows", in_process=False),
    "mcp": Rule("warns", in_process=False),
    "compare": Rule("warns", ("FIRST", "SECOND")),
    "gate": Rule("refuses", ("FIRST", "SECOND", "--max-drop", "9999", "--allow-missing")),
    "report": Rule("warns", ("--run-tag", "FIRST")),
    "plot": Rule("warns", ("--select", "winner_counts", "--format", "svg")),
    "summarize": Rule("warns"),
    "sample-debates": Rule("warns"),
    "rate": Rule("brings_up_to_date", ("--run-tag", "FIRST")),
    "export": Rule("refuses", ("--format", "parquet", "--out-dir", "OUT")),
    "upload": Rule("reads_none", ("--bucket", "b", "--source", "SITE", "--dry-run")),
    "build": Rule("brings_up_to_date"),
    "test": Rule("warns", ("--select", "intermediate.int_comparison_topics")),
    "lineage": Rule("reads_none", ("marts.runs.run_tag",)),
    "diff-models": Rule("warns", ("panel_winners", "--from", "1", "--to", "2")),
    "transpile": Rule("reads_none", ("--dialect", "spark", "marts.runs")),
    "docs": Rule("reads_none"),
    "land": Rule("brings_up_to_date"),
    "doctor": Rule("shows"),
}


def done_by(command: str, root: Path, words: Mapping[str, tuple[str, ...]]) -> Done:
    """How a command ends in a workspace; a page to annotate is opened and closed at once.

    `words` are the FIRST and the SECOND run or import, a DEBATE, the arguments of a RUN, and the tag of what is
    IMPORTED, else a new one.
    """
    rule, folders = RULES[command], {"OUT": (str(root / "out"),), "SITE": (str(root / "SITE"),)}
    words = {"IMPORTED": ("new",), **folders, **words}
    arguments = [part for word in rule.arguments for part in words.get(word, (word,))]
    if "SITE" in rule.arguments:
        (root / "SITE").mkdir(exist_ok=True)
        (root / "SITE" / "index.html").touch()
        (root / "SITE" / "manifest.json").write_text('{"format": "debatebench-site/1", "files": {"index.html": null}}')
    if not rule.in_process:
        return debatebench(root, command, *arguments, stdin="")
    # No credentials are looked for elsewhere.
    of_aws = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull}
    with patch.dict(os.environ, of_aws), patch("debatebench.output.serving.serve.serve", lambda *_, **__: None):
        return debatebench_here(root, command, *arguments)
