"""What the documentation shows runs as a reader would paste it: SQL, Python and commands of README.md and docs/*.md.

A block ```sql is the argument of `debatebench query` on a warehouse with the runs `demo` and `second`, and has rows.
`$tag` is `demo`; an HTML comment before the block gives other values: `<!-- params: tag=second n=3 -->`. Blocks
```python of a page run in order, in one namespace; `<!-- needs: pandas -->` skips one where pandas is missing. Blocks
```sh of a page are pasted into one bash in such a workspace, those of README.md and then of tutorial.md into a
checkout. A comment such as `<!-- not run: needs a key -->` leaves one out, and how many there are is held below. Pages
that other tests run whole are left to those.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner
from command_line import debatebench_here
from paths import REPOSITORY
from preloaded import write_command
from two_runs import two_runs

from debatebench.cli.app import GROUPS
from debatebench.query.safe_query import parse_params

pytestmark = pytest.mark.slow

__all__ = ["two_runs"]

CI_PAGE, PUBLISHING = REPOSITORY / "docs" / "ci.md", REPOSITORY / "docs" / "publishing.md"
TUTORIAL = REPOSITORY / "docs" / "tutorial.md"


def _documents() -> dict[str, Callable[..., dict[Path, str]]]:
    spec = importlib.util.spec_from_file_location("build_documents", REPOSITORY / "docs" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


built = _documents()["built"]

RUN_BY_OTHER_TESTS = {"debateflow.md", "exporting.md", "extending.md", "marts.md", "sql-models.md", "verdicts.md"}
BLOCK = re.compile(r"^(?:<!-- (?P<note>[^\n]*) -->\n)?```(?P<language>sql|python|sh)\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    note: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"

    def noted(self, kind: str) -> list[str]:
        """The words of the comment before the block, when it is of this kind."""
        return shlex.split(self.note.removeprefix(f"{kind}:")) if self.note.startswith(f"{kind}:") else []


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text[: match.start("text")].count("\n") + 1, match["language"], match["note"] or "", match["text"])
        for match in BLOCK.finditer(text)
    ]


PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
BLOCKS = [block for page in PAGES if page.name not in RUN_BY_OTHER_TESTS for block in blocks_of(page)]
QUERIES = [block for block in BLOCKS if block.language == "sql"]
PROGRAMS = sorted({block.page for block in BLOCKS if block.language == "python"})
SHELL = {page: [block for block in BLOCKS if block.page == page and block.language == "sh"] for page in PAGES}
NOT_RUN = {
    "needs a checkout of Debatrix": 1,
    "needs a bucket": 1,
    "needs a browser": 1,
    "needs a token": 1,
    "needs a key": 7,
    "needs the network": 3,
    "needs PanelBench": 1,
    "needs Spark": 1,
    "is the test": 1,
}
"""Why blocks of shell are not run, and how many."""


def test_there_are_examples_to_run():
    assert {"README.md", "querying.md"} <= {block.page.name for block in QUERIES}
    assert [page.name for page in PROGRAMS] == ["python-api.md"]
    left_out = Counter(block.note.removeprefix("not run: ") for block in BLOCKS if block.note.startswith("not run: "))
    assert left_out == NOT_RUN
    assert sum(map(len, SHELL.values())) >= 18


@pytest.mark.parametrize("block", QUERIES, ids=str)
def test_a_documented_query_can_be_pasted_and_has_rows(two_runs: Path, block: Block):
    params = {"tag": "demo", **parse_params(block.noted("params"))}
    given = [f"--param={name}={value}" for name, value in params.items() if f"${name}" in block.text]
    done = debatebench_here(two_runs, "query", block.text, *given, "--format", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out) or block.noted("rows"), "the comment `rows: only …` says why there may be none"
    assert "Only the first" not in done.err


@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.name)
def test_documented_python_runs_from_top_to_bottom(two_runs: Path, page: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.chdir(two_runs)
    namespace: dict[str, object] = {}
    for block in blocks_of(page):
        if block.language == "python" and all(map(importlib.util.find_spec, block.noted("needs"))):
            exec(compile("\n" * block.line + block.text, page, "exec"), namespace)
    printed = capsys.readouterr().out
    assert "sim-" in printed
    assert "A query may read only the warehouse" in printed


def to_paste(page: Path) -> list[Block]:
    return [block for block in SHELL[page] if not block.note.startswith("not run: ")]


def pasted(blocks: Sequence[Block], folder: Path, environ: Mapping[str, str]) -> None:
    """Paste commands into one shell; each must succeed, or end with the code that a comment names."""
    script = "set -eu\n" + "".join(f"echo {block} >&2\n{block.text}" for block in blocks)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def lines_of(blocks: Sequence[Block]) -> set[str]:
    """The lines of commands without their comments."""
    return {line.partition("  #")[0].strip() for block in blocks for line in block.text.splitlines()}


@pytest.fixture(scope="module")
def on_the_path(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which `debatebench` is a command."""
    folder = write_command(tmp_path_factory.mktemp("bin")).parent
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


IN_TWO_RUNS = [page for page in PAGES[1:] if SHELL[page] and page != TUTORIAL]


@pytest.mark.slow_inputs
@pytest.mark.parametrize("page", IN_TWO_RUNS, ids=lambda page: page.name)
def test_the_commands_of_a_page_can_be_pasted(two_runs: Path, tmp_path: Path, on_the_path: dict[str, str], page: Path):
    pasted(to_paste(page), Path(shutil.copytree(two_runs, tmp_path / "workspace")), on_the_path)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh copy of the project's files."""
    folder = tmp_path_factory.mktemp("checkout")
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.split():
        if (REPOSITORY / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(REPOSITORY / name, folder / name)
    return folder


def test_the_commands_of_the_readme_and_the_tutorial_can_be_pasted_in_a_checkout(
    checkout: Path, on_the_path: dict[str, str]
):
    readme = to_paste(PAGES[0])
    pasted(readme, checkout, on_the_path)
    # Its runs are those of README.md, so they are there, and what README.md shows as well has been tried.
    known = lines_of(readme)
    blocks = [block for block in to_paste(TUTORIAL) if not lines_of([block]) <= known]
    assert len(blocks) >= 7
    pasted(blocks, checkout, on_the_path)
    assert (checkout / "reports" / "site" / "index.html").is_file()
    texts = built(checkout)
    assert texts == {path: path.read_text(encoding="utf-8") for path in texts}, (
        "`python docs/build.py` writes these files again"
    )


def test_the_readme_lists_the_commands_in_the_groups_of_the_overview():
    table = PAGES[0].read_text(encoding="utf-8").partition("## Commands")[2].partition("\nFrom Python")[0]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ") and line != "| | |"]
    listed: dict[str, list[str]] = {}
    for row in rows:
        if row.startswith("**"):
            listed[row.strip("*")] = []
        else:
            listed[list(listed)[-1]] += [name.split()[0] for name in re.findall(r"`([^`]+)`", row)]
    assert {group: sorted(names) for group, names in listed.items()} == {
        group: sorted(names) for group, names in GROUPS.items()
    }
    assert list(listed) == list(GROUPS)


def pipelines(page: Path) -> dict[str, str]:
    """The files of YAML that a page shows, by the names that it gives them."""
    return dict(re.findall(r"^```yaml (\S+)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S))


PIPELINES = pipelines(CI_PAGE)
SHOWN = [(page, name) for page in (CI_PAGE, PUBLISHING) for name in pipelines(page)]


def test_both_services_have_a_pipeline_on_both_pages():
    assert sorted(name for _, name in SHOWN) == [
        ".github/workflows/debates.yml",
        ".github/workflows/pages.yml",
        ".gitlab-ci.yml",
        ".gitlab-ci.yml",
    ]


@pytest.mark.parametrize(("page", "name"), SHOWN, ids=lambda value: getattr(value, "stem", value))
def test_a_documented_pipeline_is_valid(tmp_path: Path, page: Path, name: str):
    schema = "vendor.github-workflows" if name.startswith(".github") else "vendor.gitlab-ci"
    check = ["--builtin-schema", schema, str(tmp_path / "pipeline.yml")]
    shown = pipelines(page)[name]
    broken = re.sub(r"^( *)(gate|site|pages):$", r"\1\2: 1\n\1rest:", shown, flags=re.M)
    for text, is_valid in ((shown, True), (broken, False)):
        (tmp_path / "pipeline.yml").write_text(text)
        done = CliRunner().invoke(check_jsonschema, check)
        assert (done.exit_code == 0) == is_valid, done.output


@pytest.mark.parametrize("name", PIPELINES)
def test_the_commands_of_a_documented_pipeline_run(
    two_runs: Path, tmp_path: Path, on_the_path: dict[str, str], name: str
):
    pipeline = yaml.safe_load(PIPELINES[name])
    job = pipeline.get("jobs", pipeline)["gate"]
    steps = job.get("script") or [step["run"] for step in job["steps"] if "run" in step]
    commands = [step for step in steps if step.startswith("debatebench ")]
    assert len(commands) >= 4
    root = Path(shutil.copytree(two_runs, tmp_path / "workspace"))
    topics = json.loads((root / "configs" / "topics.json").read_text())
    (root / "configs" / "topics.json").write_text(json.dumps(topics[:1]))
    environ = {**os.environ, **on_the_path, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    for command in commands:
        # The simulated judges have no limit on the length of their answers, which a limit on the cost needs.
        words = command.replace(" --max-cost 20", "")
        done = subprocess.run(["bash", "-ec", words], cwd=root, capture_output=True, text=True, env=environ)
        assert done.returncode in (0, 6 if " gate " in command else 0), (command, done.stderr)
    assert ElementTree.parse(root / "gate.xml").getroot().findall("testcase")


@pytest.fixture(scope="module")
def after(
    two_runs: Path, tmp_path_factory: pytest.TempPathFactory, on_the_path: dict[str, str]
) -> Callable[[tuple[str, ...]], Path]:
    """The folder in which commands have run on what a checkout has; once, as both services run the same."""

    @cache
    def folder_after(commands: tuple[str, ...]) -> Path:
        folder = tmp_path_factory.mktemp("pages")
        # What a checkout has: the journals, and no warehouse.
        (folder / "warehouse").mkdir()
        shutil.copytree(two_runs / "warehouse" / "journal", folder / "warehouse" / "journal")
        for command in commands:
            done = subprocess.run(
                ["bash", "-ec", command], cwd=folder, capture_output=True, text=True, env={**os.environ, **on_the_path}
            )
            assert done.returncode == 0, (command, done.stderr)
        return folder

    return folder_after


@pytest.mark.parametrize("name", pipelines(PUBLISHING))
def test_the_commands_of_a_pipeline_for_pages_make_the_site(after: Callable[[tuple[str, ...]], Path], name: str):
    pipeline = yaml.safe_load(pipelines(PUBLISHING)[name])
    job = pipeline["jobs"]["site"] if "jobs" in pipeline else pipeline["pages"]
    steps = job.get("script") or [step["run"] for step in job["steps"] if "run" in step]
    folder = after(tuple(step for step in steps if step.startswith("debatebench ")))
    uploaded = [step["with"]["path"] for step in job.get("steps", ()) if "path" in step.get("with", {})]
    assert (uploaded or job["artifacts"]["paths"]) == ["public"]
    assert (folder / "public" / "index.html").is_file()


def test_every_file_that_the_documentation_names_is_there():
    pages = [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").glob("*.md")]
    named = {
        name
        for page in pages
        if page.name != "CHANGELOG.md"
        for name in re.findall(r"`((?:tests|benchmarks|docs|debatebench)/[\w/.-]+\.(?:py|md))`", page.read_text())
    }
    assert len(named) > 15
    assert {name for name in named if not (REPOSITORY / name).is_file()} == set()
