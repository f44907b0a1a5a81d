"""The wheel: built, installed into an empty environment, and used from an empty folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from paths import REPOSITORY

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def tracked(folder: str) -> list[str]:
    """The files of the project in a folder: what git knows, and what it would take in."""
    return run("git", "ls-files", "--cached", "--others", "--exclude-standard", folder, cwd=REPOSITORY).split()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a checkout in which the demo was played."""
    folder, checkout = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("checkout")
    for name in tracked("."):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(REPOSITORY / name, checkout / name)
    (checkout / "reports" / "site").mkdir()
    (checkout / "reports" / "site" / "index.html").write_text("output")
    (checkout / "warehouse" / "debatebench.duckdb").write_bytes(b"output")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(folder)]
    run(sys.executable, "-m", "pip", "wheel", *options, checkout, cwd=folder)
    (path,) = folder.glob("debatebench_warehouse-*.whl")
    return path


def test_the_wheel_ships_configuration_models_pages_and_types(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "debatebench/py.typed" in names
    for folder in ("sql", "configs", "reports"):
        assert tracked(folder)
        assert {f"debatebench/packaged/{name}" for name in tracked(folder)} <= names
    assert {name for name in tracked("debatebench") if not name.endswith(".py")} <= names
    assert not [name for name in names if name.endswith(".duckdb") or "/site/" in name or name.startswith("tests")]


def test_the_tour_works_from_an_empty_folder(wheel: Path, tmp_path: Path):
    environment, folder = tmp_path / "environment", tmp_path / "folder"
    folder.mkdir()
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=tmp_path)
    python = environment / "bin" / "python"
    install = ["--no-index", "--no-deps", "--quiet", str(wheel)]
    run(sys.executable, "-m", "pip", "--python", python, "install", *install, cwd=tmp_path)
    # The dependencies are those of this environment: tests run without network. Its editable install is not seen,
    # because .pth files count only in site folders.
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def debatebench(*arguments: str) -> str:
        return run(environment / "bin" / "debatebench", *arguments, cwd=folder)

    where = run(python, "-c", "import debatebench; print(debatebench.__file__)", cwd=folder)
    assert Path(where.strip()).is_relative_to(environment)
    debatebench("init")
    debatebench("run", "--run-tag", "first", "--sample-topics", "1")
    assert "sim-atlas" in debatebench("show-leaderboard", "--run-tag", "first")
    index = Path(debatebench("report").strip().splitlines()[-1])
    assert (folder / index).is_relative_to(folder)
    assert "first" in (folder / index).read_text(encoding="utf-8")
