"""Packages that add a judge method, a provider or an importer: the one of docs/extending.md, and ones that cannot."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from added import EXAMPLE, Beside, add_package
from built_warehouse import begin_built
from command_line import debatebench_from_the_start, debatebench_here
from fake_provider import JSON_TYPE, FakeProvider, Wire
from paths import REPOSITORY
from tournament import KEY

from debatebench.config.types import MemberConfig
from debatebench.journal.reading import read_journal
from debatebench.judges import BASELINES, LATEST, METHODS, find_method
from debatebench.judges.baselines import METHODS as RULES
from debatebench.landing.importers import FORMATS, importer_of
from debatebench.providers import KNOWN, make_provider
from debatebench.shared import extensions
from debatebench.shared.errors import DebatebenchError, UsageError

TINY = (
    "run",
    "--run-tag",
    "tiny",
    "--sample-topics",
    "1",
    "--debater",
    "sim-atlas",
    "--debater",
    "sim-cedar",
)


def rows(root: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        return con.execute(sql).fetchall()


# --- the example ------------------------------------------------------------------------------------------------------


def test_the_documentation_shows_the_example_that_these_tests_use():
    page = (REPOSITORY / "docs" / "extending.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^```\w+\n(?:# |<!-- )([\w./]+)(?: -->)?\n(.*?)^```$", page, re.M | re.S))
    paths = [path for path in EXAMPLE.rglob("*") if path.suffix in (".md", ".py", ".toml") and path.stem != "__init__"]
    assert shown == {path.relative_to(EXAMPLE).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@pytest.mark.slow
def test_a_judge_method_of_a_package_is_planned_played_shown_and_read_again(tmp_path: Path):
    root, beside = begin_built(tmp_path / "workspace"), Beside(tmp_path / "site")
    playing = (*TINY, "--judge-method", "overview")
    own = root / "configs" / "prompts" / "judge" / "overview"
    own.mkdir(parents=True)
    (own / "debate.md").write_text("You sum up.\n<!-- user -->\n{{ material }}\n")
    planned = beside(root, *playing, "--dry-run", "--format", "json")
    assert planned.code == 0, planned.err
    estimated = [row for row in json.loads(planned.out) if row["role"] == "judge"]
    played = beside(root, *playing)
    assert played.code == 0, played.err
    assert rows(
        root,
        "select distinct method, count_asks, is_valid "
        "from staging.stg_verdicts join staging.stg_judges using (run_tag, judge_id)",
    ) == [("overview", 2, True)]
    ((calls, tokens),) = rows(
        root, "select count(*), sum(prompt_tokens) from staging.stg_calls where purpose = 'verdict'"
    )
    assert calls == sum(row["calls"] for row in estimated)
    assert tokens == pytest.approx(sum(row["prompt_tokens"] for row in estimated), rel=0.1)
    journal = root / "warehouse" / "journal" / "tiny.jsonl"
    prompts = next(iter(read_journal(journal))).data["plan"]["prompts"]["templates"]
    assert prompts["judge/overview/debate"].startswith("You sum up.\n")
    assert prompts["judge/overview/verdict"].startswith("You judge debates.\n")
    ((debate,),) = rows(root, "select min(debate_id) from marts.debates")
    shown = beside(root, "inspect-debate", debate)
    assert "overview" in shown.out
    again = beside(root, "land", "--reparse", "--no-build", "--format", "json")
    assert (again.code, json.loads(again.out)) == (0, [])
    for command in (["retry", "tiny"], ["land", "--reparse", "--no-build"]):
        gone = debatebench_here(root, *command)
        assert gone.code == 2
        assert "no judge method 'overview'. Known: direct, whole_debate, " in gone.error_line
        assert gone.error_line.endswith("If a package adds it, install that package.")
    (root / "warehouse" / "debatebench.duckdb").unlink()
    assert debatebench_here(root, "land", "--no-build").code == 0


def plain_server(failures: list[int]) -> Any:
    """Answers in the form that the example reads, first with these statuses."""

    def behave(wire: Wire) -> None:
        status = failures.pop() if failures else 200
        answer = {"text": f"Speech {wire.received.number} about trees.", "tokens": [7, 5]}
        wire.send(
            status,
            JSON_TYPE,
            json.dumps(answer).encode() + wire.received.headers.get("x-key", "").encode() * (status != 200),
        )

    return FakeProvider([behave])


@pytest.mark.slow
def test_a_provider_of_a_package_is_asked_read_again_and_its_key_is_kept_nowhere(tmp_path: Path):
    root, beside = begin_built(tmp_path / "workspace"), Beside(tmp_path / "site")
    (root / "configs").mkdir()
    with plain_server([503]) as server:
        entries = [
            f"  - {{id: {name}, provider: plain, model: {name}, endpoint: '{server.url}', api_key_env: PLAIN_API_KEY, "
            "pricing: {prompt: 0.001, completion: 0.002}}\n"
            for name in ("tall", "small")
        ]
        (root / "configs" / "models.yaml").write_text("models:\n" + "".join(entries))
        run = ("run", "--run-tag", "tiny", "--sample-topics", "1", "--no-build")
        unset = beside(root, *run)
        assert (unset.code, "set the environment variable PLAIN_API_KEY" in unset.error_line) == (2, True)
        planned = beside(root, *run, "--dry-run", PLAIN_API_KEY=KEY)
        assert (planned.code, server.requests) == (0, [])
        played = beside(root, *run, PLAIN_API_KEY=KEY)
        assert played.code == 0, played.err
        asked = len(server.requests)
    spoken = rows(root, "select provider, status, prompt_tokens, cost from raw.calls where purpose = 'turn'")
    assert {(provider, status, tokens, float(cost or 0)) for provider, status, tokens, cost in spoken} == {
        ("plain", "answered", 7, 0.017),
        ("plain", "retried", None, 0.0),
    }
    assert len(spoken) == asked
    assert all(server.requests[0].headers["x-key"] == KEY for _ in spoken)
    assert [path for path in root.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []
    pricing = ("land", "--no-build", "--reparse", "--prices", str(root / "configs" / "models.yaml"))
    assert beside(root, *pricing).code == 0
    gone = debatebench_here(root, *pricing)
    assert (gone.code, "Error: No provider 'plain' (of '" in gone.error_line) == (2, True)


@pytest.mark.slow
def test_an_importer_of_a_package_imports_and_its_files_land_again_while_it_is_installed(tmp_path: Path):
    root, beside = begin_built(tmp_path / "workspace"), Beside(tmp_path / "site")
    source = tmp_path / "talks"
    source.mkdir()
    (source / "trees.txt").write_text("Towns should plant trees.\npro: They cool.\ncon: They cost.\n")
    importing = ("import", "dialogue", str(source), "--run-tag", "talks", "--no-build")
    imported = beside(root, *importing)
    assert imported.code == 0, imported.err
    turns = "select debate_id, model_id, content from raw.turns order by turn_index"
    assert rows(root, turns) == [("trees", "pro", "They cool."), ("trees", "con", "They cost.")]
    (source / "roads.txt").write_text("Towns should build roads.\nboth: Perhaps.\n")
    bad = beside(root, *importing)
    assert (bad.code, "roads.txt: It is not a dialogue: line 2 begins with neither" in bad.err) == (3, True)
    (root / "warehouse" / "debatebench.duckdb").unlink()
    gone = debatebench_here(root, "land", "--no-build")
    assert (gone.code, "No format 'dialogue'" in gone.error_line) == (3, True)
    assert "If a package adds it, install that package." in gone.error_line
    found = debatebench_here(root, "doctor")
    assert (found.code, "newer_import" in found.out) == (0, True), found.out
    assert beside(root, "land", "--no-build").code == 0
    assert len(rows(root, turns)) == 2


# --- packages that cannot be used -------------------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where this process finds installed packages."""
    monkeypatch.setattr(extensions, "_loaded", {})
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("program", "value", "why"),
    [
        ("import no_such_module", "broken_extra:METHOD", "cannot be loaded (ModuleNotFoundError: No module named"),
        ("raise SystemExit(0)", "broken_extra:METHOD", "cannot be loaded (SystemExit: 0)"),
        ("def method(:", "broken_extra:METHOD", "cannot be loaded (SyntaxError: "),
        ("", "broken_extra:METHOD", "cannot be loaded (AttributeError: "),
        (
            "METHOD = print",
            "broken_extra:METHOD",
            "is broken_extra:METHOD, which is a builtin_function_or_method and not a ",
        ),
    ],
)
def test_a_package_that_cannot_be_used_is_one_sentence(
    site: Path, monkeypatch: pytest.MonkeyPatch, program: str, value: str, why: str
):
    (site / "broken_extra.py").write_text(program)
    monkeypatch.delitem(sys.modules, "broken_extra", raising=False)
    add_package(site, {"debatebench.judge_methods": {"mine": value}}, "broken-extra")
    with pytest.raises(DebatebenchError) as raised:
        find_method("mine")
    assert raised.value.exit_code == 1
    assert raised.value.message.startswith(f"The judge method 'mine' of the installed package broken-extra 1.0 {why}")
    assert raised.value.message.endswith("repair that package, or uninstall it.")


@pytest.mark.slow
def test_an_error_in_the_code_of_a_package_names_it_and_the_line(tmp_path: Path):
    site = tmp_path / "site"
    add_package(site, {"debatebench.judge_methods": {"mine": "failing_extra:METHOD"}}, "failing-extra")
    (site / "failing_extra.py").write_text(
        "from debatebench.judges.deliberation import Method\n"
        "async def judge(deliberation): return {}['nothing']\n"
        "METHOD = Method(judge)\n"
    )
    here = {"PYTHONPATH": str(site)}
    done = debatebench_from_the_start(tmp_path, "run", "--judge-method", "mine", "--dry-run", environ=here)
    assert (done.code, done.error_line) == (
        1,
        f"Error: The installed package failing-extra 1.0 failed in {site / 'failing_extra.py'}, line 2 "
        "(KeyError: 'nothing'): repair that package, or use nothing of it.",
    )


def test_a_name_of_two_packages_is_refused(site: Path):
    for name in ("one", "another"):
        add_package(site, {"debatebench.importers": {"mine": "nowhere:IMPORTER"}}, name)
    with pytest.raises(
        DebatebenchError, match=r"in several installed packages \(another 1.0, one 1.0\): keep only one"
    ):
        importer_of("mine")


def test_no_package_replaces_a_name_that_comes_with_debatebench(site: Path):
    names = {"judge_methods": (*METHODS, *BASELINES), "importers": FORMATS, "providers": KNOWN}
    add_package(site, {f"debatebench.{group}": dict.fromkeys(own, "nowhere:IT") for group, own in names.items()})
    assert all(find_method(name) for name in names["judge_methods"])
    assert all(importer_of(name) for name in FORMATS)
    assert make_provider(MemberConfig(id="a", provider="simulated", model="a"), {}).is_simulated


def test_an_unknown_name_is_answered_with_those_of_packages_too(site: Path):
    add_package(site, {"debatebench.importers": {"mine": "nowhere:IMPORTER"}})
    with pytest.raises(
        UsageError, match=r"Known: debatebench, debateflow, panelbench, verdicts, mine\. If a package adds it, install"
    ):
        importer_of("yours")


def test_python_in_a_workspace_never_runs_by_itself(tmp_path: Path):
    """Also not with -m, where Python looks for modules in the current folder first."""
    add_package(tmp_path, {"debatebench.judge_methods": {"mine": "mine:METHOD"}})
    for name in ("mine", "yaml", "uvloop"):
        (tmp_path / f"{name}.py").write_text("from pathlib import Path\nPath('has_run').touch()\n")
    done = subprocess.run(
        [sys.executable, "-m", "debatebench", "run", "--judge-method", "mine", "--sample-topics", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, "no judge method 'mine'. Known: direct, " in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "has_run").exists()


# --- our own ----------------------------------------------------------------------------------------------------------


def test_every_name_of_a_method_is_declared_and_documented():
    methods = {name: find_method(name) for name in (*METHODS, *BASELINES)}
    assert {name for name, method in methods.items() if method and method.is_baseline} == set(BASELINES) == set(RULES)
    estimates = (REPOSITORY / "sql" / "marts" / "panelbench" / "panelbench_tokens.sql").read_text(encoding="utf-8")
    plain = tuple(dict.fromkeys(name.partition("_v")[0] for name in METHODS))
    assert tuple(re.findall(r"when '(\w+)'", estimates)) == plain
    versions = (REPOSITORY / "sql" / "macros" / "names.yml").read_text(encoding="utf-8").partition("judge_method\n")[2]
    assert tuple(re.findall(r"'(\w+)'", versions.partition("unit_tests")[0]))[:-1] == tuple(LATEST)
    page = (REPOSITORY / "docs" / "judging.md").read_text(encoding="utf-8")
    described, rules = page.split("\n## Baselines\n")
    assert tuple(re.findall(r"^\| `(\w+)` \| ", described.partition("|---")[2], re.M)) == METHODS
    cells = re.findall(r"^\| (`.*?`) \|", rules.partition("\n## ")[0], re.M)
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted(BASELINES)
