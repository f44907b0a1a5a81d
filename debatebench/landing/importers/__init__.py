"""Importers: formats of other systems → records. A new format is one module here and one name in `IMPORTERS`.

additions.py           what a new source adds to the kept imports
base.py                what an importer is
debatebench.py         the original harness's JSONL
debatebench_rows.py    a debate of the original → its rows
debatebench_source.py  a line of the original → a checked debate
debateflow.py          DebateFlow: debates with weaknesses, annotations
import_landing.py      landing of kept imports
manifest.py            kept imports: their manifest and numbered parts
panelbench.py          PanelBench: human debates
panelbench_gold.py     the gold verdicts of PanelBench
source_schema.py       strict pydantic types for the schemas of other systems
store.py               keep imported files; read kept files
strict_json.py         a strict reader for untrusted JSON
strict_yaml.py         a strict reader for untrusted YAML, with every scalar as text
two_readers.py         read half of a large file in a second process
"""

from __future__ import annotations

from debatebench.landing.importers.base import Importer

IMPORTERS: dict[str, Importer] = {name: Importer(name) for name in ("debatebench", "debateflow", "panelbench")}
