"""Scripts of `benchmarks/` as modules, for tests that simulate the same designs."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from paths import REPOSITORY


def benchmark(name: str) -> ModuleType:
    """A module of `benchmarks/`."""
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
