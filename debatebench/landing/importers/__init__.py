"""Importers: foreign formats → records. A new format is one module here and one name in `IMPORTERS`."""

from __future__ import annotations

from debatebench.landing.importers.base import BadRecord, Imported, Importer

__all__ = ["IMPORTERS", "BadRecord", "Imported", "Importer"]

IMPORTERS: dict[str, Importer] = {name: Importer(name) for name in ("debatebench", "debateflow", "panelbench")}
