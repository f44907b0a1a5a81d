"""Importers: foreign formats → records. A new format is one module here and one name in `IMPORTERS`.

additions.py           what a new source adds to what is kept
base.py                what an importer is
debatebench.py         the original harness's JSONL
debatebench_rows.py    a debate of the original → its rows
debatebench_source.py  a line of the original → a checked debate
debateflow.py          DebateFlow: debates with weaknesses, annotations
import_landing.py      landing of kept imports
manifest.py            kept imports: their manifest and numbered parts
panelbench.py          PanelBench: human debates
panelbench_gold.py     the gold verdicts of PanelBench
source_schema.py       strict pydantic types for foreign schemas
store.py               keep what was given; read back what is kept
strict_json.py         JSON from strangers, read strictly
strict_yaml.py         YAML from strangers, where every scalar is text
two_readers.py         half of a large file is read by a second process
"""

from __future__ import annotations

from debatebench.landing.importers.base import BadRecord, Imported, Importer

__all__ = ["IMPORTERS", "BadRecord", "Imported", "Importer"]

IMPORTERS: dict[str, Importer] = {name: Importer(name) for name in ("debatebench", "debateflow", "panelbench")}
