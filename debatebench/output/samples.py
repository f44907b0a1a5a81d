"""Debates drawn from a run, one Markdown file each."""

from __future__ import annotations

import os
import re
from pathlib import Path

import duckdb

from debatebench.query.drawn_debates import debate_document, drawn_debates
from debatebench.shared.errors import UsageError
from debatebench.shared.files import not_written, write_atomically
from debatebench.shared.output_paths import check_output_folder
from debatebench.shared.workspace import Workspace

_NAME = re.compile(r"debate-[1-9][0-9]{0,4}\.md")


def write_samples(
    con: duckdb.DuckDBPyConnection, workspace: Workspace, run_tag: str, count: int, seed: int, out_dir: Path
) -> list[Path]:
    """Write `count` debates of a run as `debate-1.md` and so on into `out_dir`, and return the files.

    Those of an earlier draw are replaced. Raises `UsageError` for a folder with files of other origin and for a run
    without a complete debate, and `DebatebenchError` when `out_dir` cannot be written to.
    """
    earlier = {name for name in os.listdir(out_dir) if _NAME.fullmatch(name)} if out_dir.is_dir() else set()
    check_output_folder(workspace, out_dir, earlier)
    ids = drawn_debates(con, run_tag, count, seed)
    if not ids:
        raise UsageError(f"Run '{run_tag}' has no complete debate.")
    texts = {out_dir / f"debate-{n}.md": debate_document(con, run_tag, each) for n, each in enumerate(ids, 1)}
    try:
        for path, text in texts.items():
            write_atomically(path, text)
        for name in earlier - {path.name for path in texts}:
            (out_dir / name).unlink(missing_ok=True)
    except OSError as error:
        raise not_written(out_dir, error) from error
    return list(texts)
