"""The transform engine: SQL files and their YAML → tables and views of the warehouse, tested and versioned."""

from __future__ import annotations

from debatebench.transform.build import BuildResult, build
from debatebench.transform.parsed import recall_parsed
from debatebench.transform.project import Project, load_models
from debatebench.transform.state import BuiltModel, is_current

__all__ = ["BuildResult", "BuiltModel", "Project", "build", "is_current", "load_models", "recall_parsed"]
