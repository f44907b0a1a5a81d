"""`debatebench run --dry-run`: what passes can begin, what is left and what it costs; and the question before a run."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from command_line import Done, debatebench
from fake_provider import Behaviour, FakeProvider, Received, answer, status
from pseudo_terminal import PseudoTerminal
from started_run import start, wait_until_asked
from tournament import KEY, good_answers, is_judge, play, verdict_text, write_workspace

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[FakeProvider]:
    with FakeProvider(good_answers) as server:
        yield server


def files_of(root: Path) -> dict[str, bytes]:
    """Every file of a workspace except locks, with its content."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.endswith(".lock")
    }


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def costs_of(done: Done) -> tuple[Decimal, Decimal | None]:
    """Likely and at most, of the summary."""
    found = re.search(r"likely about ([0-9.]+) USD, (?:at most ([0-9.]+) USD|without)", done.out + done.err)
    assert found is not None, done.out + done.err
    return Decimal(found[1]), Decimal(found[2]) if found[2] else None


# --- a dry run that passes can begin, and one that does not fails as the run does -------------------------------------


def unknown_provider(root: Path) -> None:
    edit(root / "configs" / "models.yaml", "id: debater-1, provider: http", "id: debater-1, provider: htpt")


def no_endpoint(root: Path) -> None:
    edit(root / "configs" / "judges.yaml", "http://127.0.0.1", "http://10.1.2.3")


def bad_parameter(root: Path) -> None:
    edit(
        root / "configs" / "models.yaml",
        "id: debater-1, provider: http",
        "id: debater-1, parameters: {skil: 1}, provider: simulated",
    )


def as_it_is(_root: Path) -> None:
    """Change nothing."""


@pytest.mark.parametrize(
    ("change", "arguments", "key", "code", "said"),
    [
        (as_it_is, (), "", 2, "TINY_API_KEY"),
        (unknown_provider, (), KEY, 2, "htpt"),
        (no_endpoint, (), KEY, 2, "allow_insecure"),
        (bad_parameter, (), KEY, 2, "skil"),
        (as_it_is, ("--max-cost", "1"), KEY, 2, "token_limit"),
        (as_it_is, ("--new-model", "debater-1"), KEY, 2, "No run 'tiny' has begun"),
        (as_it_is, ("--concurrency", "4096"), KEY, 2, "open files"),
    ],
    ids=["no key", "provider", "endpoint", "parameter", "limit", "not begun", "open files"],
)
def test_what_the_run_refuses_the_dry_run_refuses_in_the_same_words(
    tmp_path: Path,
    server: FakeProvider,
    change: Callable[[Path], None],
    arguments: tuple[str, ...],
    key: str,
    code: int,
    said: str,
):
    root = write_workspace(tmp_path, server, is_built=False)
    change(root)
    before = files_of(root)
    told = []
    for mode in (("--dry-run",), ("--estimate-time",), ()):
        words = ("--root", str(root), "run", "--run-tag", "tiny", *arguments, *mode)
        done = (
            limited(words, key)
            if said == "open files"
            else debatebench(root, *words[2:], environ={"TINY_API_KEY": key})
        )
        assert done.code == code, done.err
        assert said in done.error_line
        assert done.out == ""
        told.append(done.error_line)
    assert len(set(told)) == 1
    assert files_of(root) == before
    assert (len(server.requests), server.catalogue_reads) == (0, 0)


def limited(words: tuple[str, ...], key: str) -> Done:
    """The command in a process that may open few files."""
    import subprocess
    import sys

    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1000)); "
        "from debatebench.cli import main; sys.argv[0] = 'debatebench'; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, env={**os.environ, "TINY_API_KEY": key}
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_a_dry_run_refuses_other_inputs_than_those_that_began_the_run(tmp_path: Path, server: FakeProvider):
    root = write_workspace(tmp_path, server, is_built=False)
    assert play(root, "--no-build").code == 0
    edit(root / "configs" / "topics.json", "ten", "eleven")
    before, sent = files_of(root), len(server.requests)
    dry, wet = play(root, "--dry-run"), play(root)
    assert (dry.code, wet.code) == (2, 2)
    assert dry.error_line == wet.error_line
    assert "topics (t2 changed: motion)" in dry.error_line
    assert files_of(root) == before
    assert len(server.requests) == sent


def test_a_dry_run_refuses_a_run_that_is_being_played(tmp_path: Path):
    with FakeProvider(lambda received: good_answers(received) if received.number < 3 else hold) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        running = start(root, "--concurrency", "1", "--no-build")
        try:
            assert wait_until_asked(server, running, 4)
            done = play(root, "--dry-run")
            assert done.code == 4
            assert "Another process is playing run 'tiny'" in done.error_line
            assert len(server.requests) == 4
        finally:
            running.kill()
            running.communicate()


def hold(wire: object) -> None:
    """Answer nothing until the server closes."""
    wire.closing.wait()  # type: ignore[attr-defined]
    wire.hang_up()  # type: ignore[attr-defined]


def test_a_dry_run_refuses_a_journal_that_lost_what_had_landed(tmp_path: Path, server: FakeProvider):
    root = write_workspace(tmp_path, server, is_built=False)
    assert play(root, "--no-build").code == 0
    (root / "warehouse" / "journal" / "tiny.jsonl").unlink()
    before, sent = files_of(root), len(server.requests)
    dry, wet = play(root, "--dry-run"), play(root)
    assert (dry.code, wet.code) == (3, 3)
    assert dry.error_line == wet.error_line
    assert files_of(root) == before
    assert len(server.requests) == sent


def test_a_dry_run_asks_only_for_prices_and_a_catalogue_that_cannot_be_read_is_a_warning(
    tmp_path: Path, server: FakeProvider
):
    root = write_workspace(tmp_path, server, is_built=False)
    for name in ("models.yaml", "judges.yaml"):
        text = re.sub(r", pricing: \{[^}]*\}", ", token_limit: 300", (root / "configs" / name).read_text())
        (root / "configs" / name).write_text(text.replace("provider: http", "provider: openrouter"))
    done = play(root, "--dry-run")
    assert done.code == 0, done.err
    assert done.err.count("Warning: The catalogue of 'openrouter' could not be read") == 1
    assert "Cost: unknown, without an upper bound" in done.out
    priced = [f"debater-{n}" for n in range(3)] + [f"judge-{n}" for n in range(4)]
    entries = [{"id": name, "pricing": {"prompt": "1e-6", "completion": "2e-6"}} for name in priced]
    server.catalogue = json.dumps({"data": entries}).encode()
    reads = server.catalogue_reads
    done = play(root, "--dry-run", "--max-cost", "1", tag="other")
    assert done.code == 0, done.err
    likely, most = costs_of(done)
    assert most is not None
    assert 0 < likely < most
    assert server.catalogue_reads == reads + 1
    assert server.requests == []


# --- what is left -----------------------------------------------------------------------------------------------------


def test_a_dry_run_of_a_run_that_has_begun_tells_what_is_left(tmp_path: Path):
    """The run stops at its 21st request; what the dry run then counts is exactly what the run still asks."""
    failing = [True]

    def script(received: Received) -> Behaviour:
        return status(402) if failing and received.number >= 20 else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        assert play(root, "--no-build", "--concurrency", "1").code == 1
        before, sent = files_of(root), len(server.requests)
        dry = play(root, "--dry-run")
        assert dry.code == 0, dry.err
        left = int(re.search(r"debates: (\d+) calls", dry.out)[1])  # type: ignore[index]
        assert left == 28
        assert files_of(root) == before, "the journal holds the plan"
        assert "no file was written" in dry.err
        assert len(server.requests) == sent
        failing.clear()
        assert play(root, "--no-build").code == 0
        assert len(server.requests) == sent + left
        done = play(root, "--dry-run")
        assert "0 debates: 0 calls" in done.out
        assert costs_of(done) == (0, 0)


def test_calls_that_failed_for_good_are_left_only_with_retry_failed(tmp_path: Path):
    failing = [True]

    def script(received: Received) -> Behaviour:
        is_refused = failing and received.json["model"] == "debater-2"
        return status(400, "bad") if is_refused else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        assert play(root, "--no-build", "--max-failures-in-a-row", "0").code == 5
        told = play(root, "--dry-run")
        assert "0 debates: 0 calls" in told.out
        assert "8 debates ended without an answer that they need; `debatebench retry tiny` asks again." in told.err
        found = re.search(r"(\d+) debates: (\d+) calls", play(root, "--dry-run", "--retry-failed").out)
        assert found is not None
        failing.clear()
        sent = len(server.requests)
        assert play(root, "--no-build", "--retry-failed").code == 0
        assert (int(found[1]), int(found[2])) == (8, len(server.requests) - sent)


def judged_in_steps(received: Received) -> Behaviour:
    """A good answer at every step of every judge method: an object of the shape in the prompt, else a text."""
    if not is_judge(received):
        return good_answers(received)
    _, _, shape = received.json["messages"][-1]["content"].partition("exactly one JSON object of this shape:\n")
    text = re.sub("<whole number[^>]*>", "7", shape.partition("\n\n")[0])
    text = re.sub("<why[^>]*>", '"It was good."', re.sub('<"pro"[^>]*>', '"pro"', text))
    return answer(text or "Well said.", usage={"prompt_tokens": 100, "completion_tokens": 10, "cost": 0.001})


def in_steps(root: Path) -> None:
    """Give all judges a method of d(n + p + 2) + 1 = 13 calls, in the packaged prompts."""
    path = root / "configs" / "judges.yaml"
    path.write_text(path.read_text().replace("prompt_style: declared", "method: debatrix_v1"))


def counted(dry: Done) -> tuple[int, int]:
    """Debates and calls of a dry run."""
    assert dry.code == 0, dry.err
    found = re.search(r"(\d+) debates: (\d+) calls", dry.out)
    assert found is not None
    return int(found[1]), int(found[2])


@pytest.mark.slow_inputs
@pytest.mark.parametrize("stop", [13, 40, 200])
def test_of_a_deliberation_that_was_stopped_only_the_missing_calls_are_left(tmp_path: Path, stop: int):
    failing = [True]

    def script(received: Received) -> Behaviour:
        return status(402) if failing and received.number >= stop else judged_in_steps(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        in_steps(root)
        dry = play(root, "--dry-run")
        assert "12 debates: 336 calls (24 turns, 312 for 24 verdicts), about" in dry.out
        assert play(root, "--no-build", "--concurrency", "1").code == 1
        sent = len(server.requests)
        _, left = counted(play(root, "--dry-run"))
        failing.clear()
        assert play(root, "--no-build").code == 0
        assert left == len(server.requests) - sent == 336 - stop


def test_of_a_deliberation_with_a_useless_answer_the_rest_is_left_for_a_retry(tmp_path: Path):
    failing = [True]

    def script(received: Received) -> Behaviour:
        is_useless = failing and is_judge(received) and "return the winner in logic" in str(received.json["messages"])
        return answer("Nobody.") if is_useless else judged_in_steps(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, judges=2, is_built=False)
        in_steps(root)
        assert play(root, "--no-build").code == 5
        assert counted(play(root, "--dry-run")) == (0, 0)
        sent = len(server.requests)
        debates, left = counted(play(root, "--dry-run", "--retry-failed"))
        failing.clear()
        assert play(root, "--no-build", "--retry-failed").code == 0
        # The winner in logic again, and the summary, of both judges.
        assert (debates, left) == (12, 12 * 2 * 2) == (12, len(server.requests) - sent)


def test_a_dry_run_never_replaces_the_plan_of_another(tmp_path: Path, server: FakeProvider):
    root = write_workspace(tmp_path, server, is_built=False)
    plans = root / "warehouse" / "plans"
    assert play(root, "--dry-run").code == 0
    first = (plans / "tiny.json").read_bytes()
    for seed in ("1", "1", "2"):
        assert play(root, "--dry-run", "--seed", seed).code == 0
    done = play(root, "--dry-run")
    assert f"The plan is in {plans / 'tiny.json'}." in done.err
    assert (plans / "tiny.json").read_bytes() == first
    assert sorted(path.name for path in plans.iterdir()) == ["tiny-2.json", "tiny-3.json", "tiny.json"]
    assert json.loads((plans / "tiny-3.json").read_text())["options"]["seed"] == 2


# --- how near the estimate is -----------------------------------------------------------------------------------------

WORDS = "the city closes its centre to cars because clean air, safe streets and quiet evenings help everybody there "


def talkative(received: Received) -> Behaviour:
    """Speeches of the model's own length, and tokens as a tokenizer of 4.2 characters each would count them."""
    digest = hashlib.sha256(received.body).digest()
    text = verdict_text(received)
    if not is_judge(received):
        usual = {"debater-0": 300, "debater-1": 2400, "debater-2": 1100}[received.json["model"]]
        length = int(usual * (0.7 + 0.6 * digest[0] / 255))
        text = (WORDS * 40)[:length]
    prompt = sum(len(message["content"]) for message in received.json["messages"])
    usage = {"prompt_tokens": int(prompt / 4.2), "completion_tokens": int(len(text) / 4.2) + 1, "cost": None}
    return answer(text, usage={**usage, "total_tokens": sum(int(n) for n in usage.values() if n)})


def turns(count: int, cap: int) -> str:
    stages = ("opening", "rebuttal", "closing")
    rounds = [(("pro", "con")[n % 2], stages[min(n // 2, 2)]) for n in range(count)]
    return "\n".join(f"    - {{role: {role}, stage: {stage}, max_tokens: {cap}}}" for role, stage in rounds)


def format_as(root: Path, *, count: int, panel: int, cap: int = 900) -> None:
    path = root / "configs" / "config.yaml"
    text = re.sub(r"  rounds:\n(?:    - .*\n)+", f"  rounds:\n{turns(count, cap)}\n", path.read_text())
    path.write_text(re.sub(r"judges_per_debate: \d", f"judges_per_debate: {panel}", text))


KINDS = {
    "two terse turns": {"count": 2, "panel": 2, "arguments": ("--debater", "debater-0", "--debater", "debater-2")},
    "six long turns": {"count": 6, "panel": 2, "arguments": ("--debater", "debater-1", "--debater", "debater-2")},
    "many judges": {"count": 2, "panel": 4, "arguments": ()},
}


@pytest.mark.parametrize("is_stored", [True, False], ids=["stored answers", "nothing stored"])
def test_the_likely_cost_is_near_the_actual_one(tmp_path: Path, is_stored: bool):
    """With stored answers of the same models within a quarter; without, the right order of magnitude."""
    with FakeProvider(talkative) as server:
        base = write_workspace(tmp_path / "base", server, is_built=False)
        if is_stored:
            format_as(base, count=4, panel=2)
            assert play(base, "--seed", "7", "--no-build", tag="before").code == 0
            assert debatebench(base, "build", "--select", "path:sql/staging +int_expenses").code == 0
        for name, kind in KINDS.items():
            root = Path(shutil.copytree(base, tmp_path / name.replace(" ", "-")))
            format_as(root, count=kind["count"], panel=kind["panel"])  # type: ignore[arg-type]
            arguments: tuple[str, ...] = kind["arguments"]  # type: ignore[assignment]
            likely, _ = costs_of(play(root, *arguments, "--dry-run"))
            done = play(root, *arguments, "--no-build", "--format", "json")
            assert done.code == 0, done.err
            (report,) = json.loads(done.out)
            assert round(Decimal(str(report["planned_usd"])), 4) == likely, "the report compares with the same figure"
            actual = Decimal(str(report["estimated_usd"]))
            ratio = float(likely / actual)
            assert (0.75 < ratio < 1.25) if is_stored else (0.5 < ratio < 2), f"{name}: {likely} for {actual}"


# --- the question before a run that costs -----------------------------------------------------------------------------


def terminal(root: Path, *arguments: str) -> PseudoTerminal:
    return PseudoTerminal(root, "--run-tag", "tiny", "--no-build", *arguments, environ={"TINY_API_KEY": KEY})


@pytest.mark.parametrize("typed", ["\n", "n\n", "\x04"], ids=["Enter", "no", "end of input"])
def test_a_paid_run_at_a_terminal_shows_its_cost_and_sends_nothing_without_a_yes(
    tmp_path: Path, server: FakeProvider, typed: str
):
    root = write_workspace(tmp_path, server, is_built=False)
    before = files_of(root)
    with closing(terminal(root, "--sample-topics", "2")) as person:
        shown = person.until("Play it? [y/N] ")
        person.type(typed)
        code, rest = person.end()
    assert code == 1
    assert "Nothing was sent" in rest
    assert "New run 'tiny': 12 debates, 48 calls." in shown
    assert "Cost: likely about" in shown
    assert files_of(root) == before
    assert server.requests == []


def test_a_yes_plays_and_the_rest_of_a_run_is_asked_for_again(tmp_path: Path):
    failing = [True]

    def script(received: Received) -> Behaviour:
        return status(402) if failing and received.number >= 20 else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        with closing(terminal(root, "--sample-topics", "2", "--concurrency", "1")) as person:
            person.until("[y/N] ")
            person.type("y\n")
            assert person.end()[0] == 1
        failing.clear()
        with closing(terminal(root)) as person:
            assert "debates, 28 calls." in person.until("[y/N] ")
            person.type("yes\n")
            assert person.end()[0] == 0
        with closing(terminal(root)) as person:
            code, shown = person.end()
        assert code == 0
        assert "[y/N]" not in shown, "nothing is left"


@pytest.mark.slow_inputs
@pytest.mark.parametrize("arguments", [("--yes",), ("-y",), ("--no-input",)])
def test_whoever_says_so_is_not_asked(tmp_path: Path, server: FakeProvider, arguments: tuple[str, ...]):
    root = write_workspace(tmp_path, server, is_built=False)
    with closing(terminal(root, "--sample-topics", "1", *arguments)) as person:
        code, shown = person.end()
    assert code == 0
    assert "[y/N]" not in shown


def test_a_simulated_run_at_a_terminal_is_not_asked_about(tmp_path: Path):
    assert debatebench(tmp_path, "init").code == 0
    with closing(terminal(tmp_path, "--quick-test")) as person:
        code, shown = person.end()
    assert code == 0
    assert "[y/N]" not in shown


# --- the packaged configuration ---------------------------------------------------------------------------------------

NOTE = (
    "the packaged configuration is used, with simulated debaters and judges; `debatebench init` writes files to edit."
)


@pytest.mark.parametrize("mode", [("--dry-run",), ("--no-build",)], ids=["dry run", "run"])
def test_a_folder_without_configuration_is_told_once(tmp_path: Path, mode: tuple[str, ...]):
    done = debatebench(tmp_path, "run", "--run-tag", "t", "--quick-test", *mode)
    assert done.code == 0
    assert done.err.startswith(f"No configs/ in {tmp_path.resolve()}: {NOTE}\n")
    assert done.err.count(NOTE) == 1
    assert NOTE not in done.out


def test_where_files_are_given_nothing_is_said_of_the_packaged_ones(tmp_path: Path):
    assert debatebench(tmp_path / "a", "init").code == 0
    configs = tmp_path / "a" / "configs"
    named = {"--config-path": "config.yaml", "--topics-path": "topics.json", "--models-path": "models.yaml"}
    named["--judges-path"] = "judges.yaml"
    words = [word for option, name in named.items() for word in (option, str(configs / name))]
    assert NOTE not in debatebench(tmp_path / "a", "run", "--sample-topics", "1", "--dry-run").err
    (tmp_path / "b").mkdir()
    assert NOTE not in debatebench(tmp_path / "b", "run", "--sample-topics", "1", "--dry-run", *words).err
    shutil.rmtree(tmp_path / "a")
