"""Every file of a workspace's configuration, SQL and reports is read through one guard: no link leads out of them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from built_warehouse import begin_built
from command_line import Done, debatebench

from debatebench.shared.workspace import packaged

pytestmark = pytest.mark.slow

KINDS = ("configs", "sql", "reports")

TWO = ("--debater=sim-atlas", "--debater=sim-breeze")
RUN = ("run", "--run-tag", "played", "--sample-topics", "1", "--no-input", *TWO)
METHODS = ("direct", "dimensional_v1", "non_iterative_v1", "chronological_v1", "debatrix_v1", "debatrix_v2")
JUDGES = "judges:\n" + "".join(
    f"  - {{id: {method}, provider: simulated, model: careful, method: {method}, prompt_style: {style}}}\n"
    for method, style in zip(METHODS, ("reasoned", *["default"] * 5), strict=True)
)
DRY = ("--dry-run", "--sample-topics", "1", "--no-input")
FIRST = "ROOT/configs/weaknesses_debatebench.yaml"
COMMANDS = (
    (*RUN, "--rubric", "debateflow", "--weaknesses", "ROOT/configs/weaknesses.yaml"),
    ("run", "--list-prompts"),
    ("run", "--run-tag", "quick", "--quick-test", "--dry-run", "--no-input"),
    ("run", "--run-tag", "popper", "--debate-format", "karl_popper", "--weaknesses", FIRST, *DRY),
    ("run", "--run-tag", "flow", "--rubric", "coherence", "--topics-path", "ROOT/configs/topics_debateflow.json", *DRY),
    ("run", "--run-tag", "teams", "--debate-format", "british_parliamentary", *DRY),
    ("run", "--run-tag", "crossed", "--debate-format", "policy_cx", *DRY),
    ("run", "--run-tag", "pressed", "--debate-format", "pressure_questions", *DRY),
    ("judge", "played", "--as", "released", "--dry-run", "--rubric", "debatrix_bp"),
    ("judge", "played", "--as", "again", "--dry-run", "--judges-path", "ROOT/configs/all_judges.yaml"),
    ("judge", "played", "--as", "bp", "--dry-run", "--config-path", "ROOT/configs/panelbench_bp.yaml"),
    ("judge", "played", "--as", "pb", "--dry-run", "--config-path", "ROOT/configs/panelbench.yaml"),
    ("probe-judges", "played", "--as", "probed", "--dry-run"),
    ("report", "--out-dir", "OUT/site"),
    ("docs", "--out-dir", "OUT/docs"),
)


class Watched:
    """A workspace with every packaged file in it, and commands whose opened files are known."""

    def __init__(self, folder: Path) -> None:
        self.root, self.folder, self.outside = folder / "root", folder, folder / "outside"
        for kind in KINDS:
            shutil.copytree(packaged(kind), self.root / kind, ignore=shutil.ignore_patterns("site", "docs"))
        (self.root / "configs" / "all_judges.yaml").write_text(JUDGES)
        (self.root / "configs" / "quick-test-models.yaml").write_text(
            "debaters:\n  - {id: a, provider: simulated, model: a}\n  - {id: b, provider: simulated, model: b}\n"
            "num_judges: 1\njudges:\n  - {id: j, provider: simulated, model: careful}\n"
        )
        shutil.copytree(self.root, self.outside)
        begin_built(self.root)

    def run(self, command: tuple[str, ...]) -> tuple[Done, set[Path]]:
        """The end of a command, and the files that it opened."""
        log = self.folder / "opened"
        log.unlink(missing_ok=True)
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        places = {"OUT": str(self.folder / "out"), "ROOT": str(self.root)}
        arguments = [re.sub("^(OUT|ROOT)(?=/)", lambda match: places[match[0]], each) for each in command]
        done = debatebench(self.root, *arguments, environ={"OPENED_LOG": str(log)})
        return done, {Path(line) for line in log.read_text(errors="surrogateescape").splitlines()}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return Watched(tmp_path_factory.mktemp("watched"))


@pytest.fixture(scope="module")
def read_by(watched: Watched) -> dict[Path, tuple[str, ...]]:
    """Every file of the workspace's sources that a command reads, and the first command that does."""
    found: dict[Path, tuple[str, ...]] = {}
    for command in COMMANDS:
        done, opened = watched.run(command)
        assert done.code == 0, (command, done.err)
        sources = {path for kind in KINDS for path in opened if path.is_relative_to(watched.root / kind)}
        found = {path: command for path in sources if path.is_file()} | found
    return found


def test_commands_read_every_kind_of_file(watched: Watched, read_by: dict[Path, tuple[str, ...]]) -> None:
    files = {path for kind in KINDS for path in (watched.root / kind).rglob("*") if path.is_file()}
    assert sorted(path.relative_to(watched.root).as_posix() for path in files - read_by.keys()) == []


def test_no_link_leads_out_of_the_sources(watched: Watched, read_by: dict[Path, tuple[str, ...]]) -> None:
    """Every file of the configuration's own folder, and of the others one of each suffix in each folder."""
    chosen: dict[tuple[str, str], str] = {}
    for path in sorted(read_by):
        name = path.relative_to(watched.root).as_posix()
        folder = path.parent.relative_to(watched.root).as_posix()
        is_sql = folder.startswith("sql/")
        key = (name, "") if folder == "configs" else ("/".join(folder.split("/")[: 2 if is_sql else 3]), path.suffix)
        chosen.setdefault(key, name)
    assert len(chosen) > 20
    for name in chosen.values():
        linked(watched, name, read_by[watched.root / name])


@pytest.mark.parametrize("name", ["configs/attacks", "configs/prompts/judge", "configs/rubrics", "sql/marts"])
def test_no_linked_folder_leads_out_of_the_sources(
    watched: Watched, read_by: dict[Path, tuple[str, ...]], name: str
) -> None:
    folder = watched.root / name
    linked(watched, name, next(command for path, command in read_by.items() if path.is_relative_to(folder)))


def linked(watched: Watched, name: str, command: tuple[str, ...]) -> None:
    """Put a link to a copy elsewhere in place of a file or folder: the command refuses it before it opens a copy."""
    file, kept = watched.root / name, watched.folder / "kept"
    file.rename(kept)
    file.symlink_to(watched.outside / name)
    try:
        done, opened = watched.run(command)
    finally:
        file.unlink()
        kept.rename(file)
    assert (done.code, [path for path in opened if path.is_relative_to(watched.outside)]) == (2, []), (name, done.err)
    assert "is a link that leads out of" in done.error_line, name
