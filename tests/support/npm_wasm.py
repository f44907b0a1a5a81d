"""DuckDB-WASM as npm installs it, once for all test processes and for later runs."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from debatebench.output.report.console import PACKAGES, WasmFiles, find_wasm
from debatebench.shared.errors import UsageError

FOLDER = Path(os.environ.get("DEBATEBENCH_WASM") or Path(tempfile.gettempdir()) / "debatebench-wasm")
"""`.ci/run` installs it here, or somewhere else that the variable names."""


def installed_wasm() -> WasmFiles:
    """The files, installed if need be. Without npm the test is skipped, and in CI it fails."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return find_wasm([FOLDER])
        except UsageError:
            reason = _install()
    if reason is None:
        return find_wasm([FOLDER])
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _install() -> str | None:
    """Install it by npm; why that failed, if it did."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed, so the SQL console is not tried"
    command = [
        npm,
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(FOLDER),
        *PACKAGES.split(),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    return None if done.returncode == 0 else f"npm could not install DuckDB-WASM: {done.stderr[-400:]}"
