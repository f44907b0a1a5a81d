"""DebateFlow's JSON as `debateflow` writes it, with annotations in the shape of `annotator` and keyed `scores`."""

from __future__ import annotations

from pathlib import Path

from debatebench.output.export.debateflow import write_flow
from debatebench.output.export.manifest import Contents
from debatebench.output.export.snapshot import Snapshot


def write(snapshot: Snapshot, folder: Path) -> Contents:
    """Write the one chosen run as `debateflow` does."""
    return write_flow(snapshot, folder, shape="keyed")
