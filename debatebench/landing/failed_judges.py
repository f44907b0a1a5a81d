"""The judges' answers without a vote, as a file: material for fixing a prompt or a parser. It sends no requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from debatebench.landing.journal_records import journal_records
from debatebench.shared.files import write_atomically
from debatebench.shared.records import Verdict


def failed_judgements(journal_path: Path) -> Iterator[dict[str, Any]]:
    """Every ask of a judge that gave no vote, in the order of the journal: judge, debate, reason and raw text.

    `text` is null if the call ended without an answer. A judge that was asked again may have voted then; `is_valid`
    says whether it did.
    """
    for record in journal_records(journal_path):
        if not isinstance(record, Verdict):
            continue
        metadata = record.metadata or {}
        reasons = metadata.get("reasons", [])
        # Runs of earlier versions kept only the text of the last answer.
        last = None if record.is_valid else record.raw_response
        texts = metadata.get("rejected", [None] * (len(reasons) - 1) + [last])
        for ask, (reason, text) in enumerate(zip(reasons, texts, strict=False)):
            yield {
                "run_tag": record.run_tag,
                "debate_id": record.debate_id,
                "judge_id": record.judge_id,
                "panel_position": record.panel_position,
                "ask": ask,
                "reason": reason,
                "text": text,
                "is_valid": record.is_valid,
            }


def write_failed_judges(journal_path: Path, path: Path) -> int:
    """Write them as JSON lines and return their number; if there are none, the file is empty."""
    lines = [json.dumps(row, ensure_ascii=True) for row in failed_judgements(journal_path)]
    write_atomically(path, "".join(f"{line}\n" for line in lines))
    return len(lines)
