"""The format number of journals stands for their content: the kinds of events, and the columns of their records."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
from paths import DATA

from debatebench.journal import events
from debatebench.journal.lines import JOURNAL_FORMAT
from debatebench.shared.record_columns import column_types
from debatebench.shared.records import TABLES

# What is derived while a run lands is in no journal of a run, and what is decided about runs has a journal of its own.
DERIVED = {"run_settings", "run_marks"}


def content() -> dict[str, Any]:
    """What a journal of this version may hold."""
    kinds = {kind.__struct_config__.tag: kind for kind in get_args(events.AnyEvent)}
    return {
        "events": {tag: [field.name for field in msgspec.structs.fields(kind)] for tag, kind in sorted(kinds.items())},
        "records": {name: column_types(TABLES[name]) for name in sorted(TABLES.keys() - DERIVED)},
    }


def test_the_number_rises_when_events_or_records_grow():
    """If this fails, raise `JOURNAL_FORMAT`, and keep `content()` as the file of the new number."""
    golden = DATA / "journals" / f"format-{JOURNAL_FORMAT}-content.json"
    assert json.loads(golden.read_text(encoding="utf-8")) == content()
