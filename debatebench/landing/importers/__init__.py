"""Importers: foreign formats → records. A new format is one module here and one name in `IMPORTERS`.

additions.py        what a new source adds to what is kept
base.py             what an importer is
debate_rows.py      plain debates → rows, in SQL
debatebench.py      the original harness's JSONL
debateflow.py       DebateFlow: debates with weaknesses, annotations
manifest.py         kept imports: their manifest and numbered parts
panelbench.py       PanelBench: human debates
panelbench_gold.py  the gold verdicts of PanelBench
plain_debates.py    lines so regular that DuckDB reads the same from them
plain_landing.py    landing of kept imports
plain_scan.py       looking for plain debates in a file
source_schema.py    strict pydantic types for foreign schemas
store.py            keep what was given; read back what is kept
strict_json.py      JSON from strangers, read strictly
strict_yaml.py      YAML from strangers, where every scalar is text
"""

from __future__ import annotations

from debatebench.landing.importers.base import BadRecord, Imported, Importer

__all__ = ["IMPORTERS", "BadRecord", "Imported", "Importer"]

IMPORTERS: dict[str, Importer] = {name: Importer(name) for name in ("debatebench", "debateflow", "panelbench")}
