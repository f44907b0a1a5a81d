"""Ways to install debatebench: what the distributions hold, and the command from them. `make dist` tries every way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml
from paths import REPOSITORY

from debatebench.shared.version import __version__

DIST = os.environ.get("DEBATEBENCH_DIST")
TOOLS = REPOSITORY / ".venv-dist" / "bin"
needs_dist = pytest.mark.skipif(not DIST, reason="DEBATEBENCH_DIST names no folder of distributions; see `make dist`")
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def run(*command: str | Path, cwd: Path, **environ: str) -> str:
    without = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env={**without, **environ}, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def wheel() -> Path:
    (path,) = Path(str(DIST)).glob("*.whl")
    return path


def test_the_citation_names_this_version():
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert citation["authors"] == [{"name": "The debatebench developers"}]
    assert {"cff-version", "message", "title", "license"} <= citation.keys()


@needs_dist
@pytest.mark.slow
def test_the_source_distribution_holds_what_a_contributor_needs():
    (path,) = Path(str(DIST)).glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CONTRIBUTING.md", "CITATION.cff", "SECURITY.md", "CHANGELOG.md", "Makefile", "constraints.txt"} <= names
    assert {"docs/requirements.txt", "docs/generator/pages.py", "tests/test_install_paths.py"} <= names
    assert not [name for name in names if name.endswith(".duckdb") or name.startswith(("build/", "reports/site/"))]


@needs_dist
@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_a_fresh_environment_of_each_python_plays_and_ranks(tmp_path: Path, version: str):
    # A command may be there and start nothing, as with a manager of several versions.
    found = [path for path in _pythons(version) if _starts(path, version)]
    if not found:
        pytest.skip(f"Python {version} is not on this machine")
    run(found[0], "-m", "venv", tmp_path / "environment", cwd=tmp_path)
    binaries = tmp_path / "environment" / "bin"
    install = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run(binaries / "python", *install, "--constraint", REPOSITORY / "constraints.txt", wheel(), cwd=tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    run(binaries / "debatebench", "run", "--run-tag", "first", "--sample-topics", "1", cwd=folder)
    assert "sim-atlas" in run(binaries / "debatebench", "show-leaderboard", "--run-tag", "first", cwd=folder)


def _pythons(version: str) -> list[Path]:
    on_path = shutil.which(f"python{version}")
    managed = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    return [*managed, *([Path(on_path)] if on_path else [])]


def _starts(python: Path, version: str) -> bool:
    say = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", say], capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.strip() == version


@needs_dist
@pytest.mark.slow
@pytest.mark.parametrize("tool", ["uvx", "pipx"])
def test_the_command_runs_from_the_wheel_without_an_installation(tmp_path: Path, tool: str):
    if not (TOOLS / tool).exists():
        pytest.skip(f"{tool} is not in .venv-dist; `make dist` installs it")
    how = ["uvx", "--from"] if tool == "uvx" else ["pipx", "run", "--python", sys.executable, "--spec"]
    homes = {"UV_CACHE_DIR": "uv", "PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin"}
    environ = {name: str(tmp_path / folder) for name, folder in homes.items()}
    done = run(TOOLS / how[0], *how[1:], wheel(), "debatebench", "--version", cwd=tmp_path, **environ)
    assert done.strip() == f"debatebench {__version__}"


# Each asks for what `debatebench sho` can become, with the script that `--show-completion` prints for the shell.
ASKED = {
    "bash": 'source "$SCRIPT"; COMP_WORDS=(debatebench sho); COMP_CWORD=1; _debatebench_completion debatebench; '
    'echo "${COMPREPLY[@]}"',
    "zsh": "compdef() { :; }; _arguments() { print -r -- $@; }; _describe() { print -r -- ${(P)2} $@; }; "
    'source "$SCRIPT"; words=(debatebench sho); CURRENT=2; _debatebench_completion',
    "fish": 'source "$SCRIPT"; complete --do-complete "debatebench sho"',
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", ASKED)
def test_the_script_that_completes_commands_works_in_the_shell(tmp_path: Path, shell: str):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not on this machine")
    command = tmp_path / "bin" / "debatebench"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m debatebench "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    plain = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", "PATH": path}
    script = tmp_path / "script"
    script.write_text(run(command, "--show-completion", shell, cwd=tmp_path, **plain))
    environ = {"PATH": path, "SCRIPT": str(script), "HOME": str(tmp_path)}
    assert "show-leaderboard" in run(shell, "-c", ASKED[shell], cwd=tmp_path, **environ)
