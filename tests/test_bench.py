"""The harness of `benchmarks/bench.py`: turns, ratios, growth, targets, page, exit codes. No test depends on a time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from paths import REPOSITORY

BENCHMARKS = REPOSITORY / "benchmarks"
MODULES = ("measuring", "figures", "case_table", "results", "measured_page", "bench")


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    """`bench.py` as a module, with the modules beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import bench

        yield bench
    for name in MODULES:
        sys.modules.pop(name, None)


TABLE = """
environments:
  none: {requirements: none.txt, measured: [no-such-package]}
fixtures:
  number: {shared: true, run: "python -c 'import sys; open(sys.argv[2], \\"w\\").write(sys.argv[1])' {n} {out}"}
cases:
  say:
    title: Say a number
    about: Prints a number of CPU seconds.
    unit: words
    sizes: {quick: [10, 100]}
    repeat: 2
    warm_up: false
    ours: {step: true, run: "python -c 'import sys; print(int(open(sys.argv[1]).read()) / 100)' {number}"}
    peers:
      half: {step: true, run: "python -c 'import sys; print(int(sys.argv[1]) / 50)' {n}"}
      broken: python -c "raise SystemExit('no such luck')"
      absent: {venv: none, run: python -c ""}
    growth: {debatebench: 0.9, half: 1.0, broken: 1.0}
    targets:
      - {peer: half, size: 100, cpu: 0.6}
      - {peer: half, size: 10, cpu: 0.4}
      - {peer: broken, size: 10, memory: 2.0}
"""


README = "Before.\n\n<!-- benchmarks -->\n\n{table}\nAfter.\n"
WRITTEN = {"--results": "results.json", "--page": "page.md", "--readme": "readme.md"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "none.txt").write_text("no-such-package==0\n")
    path = tmp_path / "cases.yml"
    path.write_text(TABLE)
    return path


@pytest.fixture
def run(bench: ModuleType, table: Path, tmp_path: Path):
    """Run `bench.py` on the small table → its exit code. No environment can be made: a file is in its place."""
    (tmp_path / "venvs").write_text("")
    (tmp_path / "readme.md").write_text(README.format(table=""))

    def main(*words: str) -> int:
        where = {"--folder": "work", "--venvs": "venvs"} | WRITTEN
        options = [part for option, name in where.items() for part in (option, str(tmp_path / name))]
        return int(bench.main([*words, "--table", str(table), *options]))

    return main


def sample(bench: ModuleType, cpu_s: float, peak_mb: float = 100.0) -> object:
    return sys.modules["measuring"].Sample(cpu_s, cpu_s, peak_mb)


# --- Turns ---


def contestants(bench: ModuleType, *names: str) -> list[object]:
    measuring = sys.modules["measuring"]
    return [measuring.Contestant(name, measuring.Command([name])) for name in names]


def test_contestants_take_turns_in_an_order_that_turns_round_and_the_first_round_only_warms_up(bench: ModuleType):
    order = []

    def measure(contestant):
        order.append(contestant.name)
        return sample(bench, len(order))

    found = bench.by_turns(contestants(bench, "a", "b", "c"), repeat=2, budget_s=1e9, measure=measure)
    assert "".join(order) == "abccbaabc"
    assert [each.cpu_s for each in found.samples["a"]] == [6, 7]
    assert [each.cpu_s for each in found.samples["c"]] == [4, 9]


def test_rounds_end_before_the_budget_does_but_one_is_always_measured(bench: ModuleType):
    now = [0.0]

    def measure(contestant):
        now[0] += 5
        return sample(bench, 1)

    def rounds(budget_s: float) -> int:
        found = bench.by_turns(
            contestants(bench, "a", "b"),
            repeat=50,
            budget_s=budget_s,
            warm_up=False,
            measure=measure,
            clock=lambda: now[0],
        )
        return len(found.samples["a"])

    assert [rounds(budget_s) for budget_s in (0, 19, 20, 45, 1e9)] == [1, 1, 2, 4, 50]


def test_what_fails_is_named_and_the_others_go_on(bench: ModuleType):
    def measure(contestant):
        if contestant.name == "b":
            raise bench.CommandError("It broke.")
        return sample(bench, 1)

    found = bench.by_turns(contestants(bench, "a", "b"), repeat=3, budget_s=1e9, measure=measure)
    assert {name: len(each) for name, each in found.samples.items()} == {"a": 3}
    assert found.failures == {"b": "It broke."}


def test_a_command_is_measured_with_its_children_and_its_failure_is_a_sentence(bench: ModuleType):
    measuring = sys.modules["measuring"]

    def measured(code: str, **options: object) -> object:
        return measuring.measured(measuring.Command([sys.executable, "-c", code]), **options)

    child = "x = b'x' * 200_000_000\nwhile time.process_time() < 0.3: pass"
    found = measured(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {f'import time; {child}'!r}])")
    assert found.cpu_s >= 0.3
    assert found.peak_mb >= 190
    assert measured("print('done in'); print(0.25)", is_step=True).cpu_s == 0.25
    with pytest.raises(bench.CommandError, match=r"It ended with exit code 3: no luck$"):
        measured("import sys; print('no luck'); sys.exit(3)")
    with pytest.raises(bench.CommandError, match="It printed no CPU seconds: none"):
        measured("print('none')", is_step=True)
    with pytest.raises(bench.CommandError, match=r"It took longer than 0\.2 seconds and was stopped"):
        measured("import time; time.sleep(60)", limit_s=0.2)
    with pytest.raises(bench.CommandError, match=r"`/no/program` could not be started: No such file or directory"):
        measuring.measured(measuring.Command(["/no/program"]))


ORPHAN = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans over")
def test_what_a_command_leaves_behind_counts(tmp_path: Path):
    # In a process of its own: who adopts orphans does so for the rest of its life.
    code = f"""
import sys
from measuring import Command, adopt_orphans, measured
adopt_orphans()
print(measured(Command([sys.executable, "-c", {ORPHAN!r}])).cpu_s)
"""
    environ = {**os.environ, "PYTHONPATH": str(BENCHMARKS)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=True)
    assert float(done.stdout) >= 0.3


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the children of a process")
def test_a_child_is_known_while_threads_come_and_go(bench: ModuleType):
    """A command would wait for ever for a child that it takes for one that was left behind."""
    measuring = sys.modules["measuring"]
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        for _ in range(100):
            threads = [threading.Thread(target=time.sleep, args=(0.0003,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            assert child.pid in measuring._children()
            for thread in threads:
                thread.join()
        child.communicate(b"\n")
    assert child.pid not in measuring._children()


# --- Figures ---


def test_a_ratio_is_the_median_over_rounds_of_the_ratio_within_a_round(bench: ModuleType):
    ours = [sample(bench, cpu_s, mb) for cpu_s, mb in ((1, 50), (20, 60), (3, 70))]
    others = [sample(bench, cpu_s, mb) for cpu_s, mb in ((2, 100), (40, 100), (4, 100), (9, 9))]
    found = bench.ratio(ours, others)
    assert (found.cpu.median, found.cpu.low, found.cpu.high) == (0.5, 0.5, 0.75)
    assert (found.memory.median, found.memory.low, found.memory.high) == (0.6, 0.5, 0.7)


def test_growth_is_the_slope_of_the_logarithms(bench: ModuleType):
    growth = sys.modules["figures"].growth
    assert growth({10: 3.0, 100: 30.0, 1000: 300.0}) == pytest.approx(1)
    assert growth({10: 1.0, 1000: 1e4}) == pytest.approx(2)
    assert growth({10: 5.0, 100: 5.0}) == pytest.approx(0)
    assert growth({10: 5.0}) is None


@pytest.mark.parametrize(
    ("cpu_s", "peak_mb", "bound", "expected"),
    [(1.1, 110, 1.1, []), (1.2, 100, 1.1, ["CPU"]), (1, 120, 1.1, ["memory"]), (3, 300, 2, ["CPU", "memory"])],
)
def test_a_ratio_above_the_bound_is_named(
    bench: ModuleType, cpu_s: float, peak_mb: float, bound: float, expected: list
):
    found = bench.ratio([sample(bench, cpu_s, peak_mb)], [sample(bench, 1.0, 100.0)])
    assert bench.above(found, bound) == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({"rows": [["a", 0.1 + 0.2, 3]]}, True),
        ({"rows": [["a", 0.3, 4]]}, False),
        ({"rows": [["a", 0.3001, 3]]}, False),
        ({"rows": [["a", "0.3", 3]]}, False),
        ({"rows": []}, False),
        ({}, False),
    ],
)
def test_what_was_found_is_compared_with_numbers_to_nine_digits(bench: ModuleType, other: object, expected: bool):
    assert bench.is_same({"rows": [["a", 0.3, 3]]}, other) == expected


# --- The whole ---


def test_everything_is_measured_recorded_and_shown_and_what_cannot_be_is_named(run, tmp_path: Path, capsys):
    assert run() == 0
    said = capsys.readouterr().out
    assert "ours / it: 0.50 CPU" in said
    assert "holds: cpu 0.50 of half's, at most 0.6" in said
    assert "MISSED: cpu 0.50 of half's, at most 0.4" in said
    recorded = {
        (entry["case"], entry["size"]): entry
        for entry in json.loads((tmp_path / "results.json").read_text())["measured"]
    }
    assert [values[0] for values in recorded["say", 100]["samples"]["debatebench"]] == [1.0, 1.0]
    assert recorded["say", 10]["not_measured"].keys() == {"broken", "absent"}
    page = (tmp_path / "page.md").read_text()
    for line in (
        "| Say a number | 100 words | half | cpu | 0.6 | 0.50 | holds |",
        "| Say a number | 10 words | half | cpu | 0.4 | 0.50 | **missed** |",
        "| Say a number | 10 words | broken | memory | 2 |  | not measured: It ended with exit code 1: no such luck |",
        "| Say a number | 10 to 100 words | debatebench alone | growth of cpu | 0.9 | 1.00 | **missed** |",
        "| Say a number | 10 to 100 words | half alone | growth of cpu | 1 | 1.00 | holds |",
        "| Say a number | words | broken alone | growth of cpu | 1 |  | not measured at two sizes |",
        "- broken at 10, 100: It ended with exit code 1: no such luck",
    ):
        assert line in page
    short_table = """\
| ours / it | at | beside | CPU | memory |
|---|---:|---|---:|---:|
| Say a number | 100 words | half | 0.50 | RATIO |
| Say a number | 10 words | half | 0.50 | RATIO |
"""
    readme = re.sub(r"\| \d\.\d\d \|$", "| RATIO |", (tmp_path / "readme.md").read_text(), flags=re.MULTILINE)
    assert readme == README.format(table=short_table)
    assert "- absent at 10, 100: It could not be installed: " in page
    assert "debatebench 1.00 and " in page.partition("Growth of CPU and memory: ")[2]


def test_a_later_run_replaces_only_what_it_measures(run, tmp_path: Path):
    assert run("--no-peers") == 0
    assert run("--no-peers", "--sizes", "100", "1000", "--repeat", "1") == 0
    content = json.loads((tmp_path / "results.json").read_text())
    assert [(entry["size"], entry["run"]) for entry in content["measured"]] == [(10, 1), (100, 2), (1000, 2)]
    assert [run["run"] for run in content["runs"]] == [1, 2]
    page = (tmp_path / "page.md").read_text()
    (tmp_path / "page.md").unlink()
    readme = (tmp_path / "readme.md").read_text()
    assert run("--page-only") == 0
    assert (tmp_path / "page.md").read_text() == page
    assert (tmp_path / "readme.md").read_text() == readme


def test_a_peer_that_finds_something_else_is_not_compared(run, table: Path, capsys):
    table.write_text("""
cases:
  find:
    title: Find
    about: Finds 1.
    sizes: {quick: [10]}
    same: found.json
    repeat: 1
    warm_up: false
    ours: python -c "import sys; open(sys.argv[1] + '/found.json', 'w').write('1')" {work}
    peers:
      equal: python -c "import sys; open(sys.argv[1] + '/found.json', 'w').write('1.0')" {work}
      other: python -c "import sys; open(sys.argv[1] + '/found.json', 'w').write('2')" {work}
""")
    assert run() == 0
    said = capsys.readouterr().out
    assert re.search(r"equal .* ours / it:", said)
    assert "other                  not measured: It found something else than ours." in said


def test_a_peer_may_have_a_limit_of_its_own(run, table: Path, capsys):
    table.write_text("""
cases:
  wait:
    title: Wait
    about: Waits.
    sizes: {quick: [10]}
    repeat: 1
    warm_up: false
    ours: python -c "import time; time.sleep(0.3)"
    peers:
      slow: {limit_s: 0.2, run: python -c "import time; time.sleep(60)"}
""")
    assert run() == 0
    said = capsys.readouterr().out
    assert "slow                   not measured: It took longer than 0.2 seconds and was stopped." in said


def test_a_failure_of_our_own_command_ends_with_1(run, table: Path, capsys):
    table.write_text(TABLE.replace("/ 100)' {number}", "/ 0)' {number}"))
    assert run("--no-peers") == 1
    assert (
        "debatebench            not measured: It ended with exit code 1: ZeroDivisionError" in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["saw"], "Error: There is no case `saw`. The cases are: say."),
        (["--against", "no-such-commit"], f"Error: There is no commit `no-such-commit` in {REPOSITORY}."),
    ],
)
def test_an_unknown_name_is_a_sentence_and_exit_code_2(run, capsys, words: list[str], message: str):
    assert run(*words) == 2
    assert capsys.readouterr().err.strip() == message


# --- A commit beside this one ---


@pytest.fixture
def earlier(bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A repository of two commits in place of ours: what the case prints was 1 and is 1.5."""
    repository = tmp_path / "repository"
    environ = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    subprocess.run(["git", "init", "-q", repository], check=True, env={**os.environ, **environ})
    for text in ("CPU_S = 1.0", "CPU_S = 1.5"):
        (repository / "spent.py").write_text(text)
        for words in (["add", "."], ["commit", "-q", "-m", text]):
            subprocess.run(["git", "-C", repository, *who, *words], check=True, env={**os.environ, **environ})
    monkeypatch.setattr(bench, "REPOSITORY", repository)
    return "HEAD~1"


@pytest.mark.parametrize(("bound", "code"), [("1.1", 6), ("1.5", 0)])
def test_above_the_bound_of_a_commit_is_exit_code_6(run, table: Path, earlier: str, capsys, bound: str, code: int):
    ours = "ours: {step: true, run: \"python -c 'import spent; print(spent.CPU_S)'\"}"
    table.write_text("\n".join(ours.rjust(len(ours) + 4) if "ours:" in line else line for line in TABLE.splitlines()))
    assert run("--against", earlier, "--bound", bound, "--sizes", "10") == code
    said = capsys.readouterr().out
    assert "1.50 (1.50-1.50)" in said
    assert ("Above 1.1 times HEAD~1: say at 10." in said) == (code == 6)
    worktrees = subprocess.run(["git", "worktree", "list"], cwd=REPOSITORY, capture_output=True, text=True).stdout
    assert "debatebench-benchmark" not in worktrees


def test_what_the_commit_cannot_do_is_named_and_is_no_regression(run, table: Path, earlier: str, capsys):
    ours = "ours: {step: true, run: \"python -c 'import spent; print(1 / (spent.CPU_S - 1))'\"}"
    table.write_text("\n".join(ours.rjust(len(ours) + 4) if "ours:" in line else line for line in TABLE.splitlines()))
    assert run("--against", earlier, "--sizes", "10") == 0
    assert "not measured: HEAD~1: It ended with exit code 1: ZeroDivisionError" in capsys.readouterr().out


# --- The table and the page of the repository ---


def test_the_page_and_the_table_in_readme_are_written_from_the_results(bench: ModuleType, tmp_path: Path):
    table = bench.read_table(BENCHMARKS / "cases.yml")
    results = bench.Results.read(BENCHMARKS / "results.json")
    readme = (REPOSITORY / "README.md").read_text()
    (tmp_path / "readme.md").write_text(readme)
    sys.modules["measured_page"].write_pages(tmp_path / "page.md", tmp_path / "readme.md", table, results)
    assert (tmp_path / "page.md").read_text() == (REPOSITORY / "docs" / "benchmarks.md").read_text()
    assert (tmp_path / "readme.md").read_text() == readme
    assert "<!-- benchmarks -->\n\n| ours / it |" in readme


def test_every_requirement_of_a_peer_is_pinned(bench: ModuleType):
    table = bench.read_table(BENCHMARKS / "cases.yml")
    used = {peer.venv for case in table.cases.values() for peer in case.peers} - {None}
    assert used == table.environments.keys()
    for environment in table.environments.values():
        lines = environment.requirements.read_text().splitlines()
        assert all(re.search("==|@[0-9a-f]{40}$", line) for line in lines if not line.startswith("#"))
        assert environment.versions().keys() == set(environment.measured)


def test_every_word_in_braces_is_known(bench: ModuleType):
    table = bench.read_table(BENCHMARKS / "cases.yml")
    contestants = [peer for case in table.cases.values() for peer in (case.ours, *case.peers)]
    for each in (*contestants, *table.fixtures.values()):
        named = set(re.findall(r"\{(\w+)\}", " ".join((*each.commands, each.folder or ""))))
        assert named <= table.fixtures.keys() | {"n", "here", "work", "out", "url"}, each.name


SCRIPTED = ("import", "query", "winners", "elo", "runner")


@pytest.mark.slow
def test_our_own_commands_run_on_a_hundred_debates(bench: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture):
    """Cases with every script of ours, once, so that none can rot; the others run commands that have tests."""
    (tmp_path / "readme.md").write_text(README.format(table=""))
    where = {"--folder": "work"} | WRITTEN
    options = [part for option, name in where.items() for part in (option, str(tmp_path / name))]
    assert bench.main([*SCRIPTED, "--no-peers", "--sizes", "100", "--repeat", "1", *options]) == 0
    said = capsys.readouterr().out
    assert all(f"{case:<16}{'100':>10}  debatebench " in said for case in SCRIPTED)
    assert "not measured" not in said
