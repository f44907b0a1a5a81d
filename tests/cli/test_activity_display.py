"""The line that says what a long command does: only on a terminal, only if it takes long, and gone at the end."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from command_line import debatebench_here
from patience import LONGEST_WAIT_S

from debatebench.cli import activity_display as display
from debatebench.cli.common import note, say
from debatebench.shared.activity import Step, doing, each_of, shown_by


class Terminal(io.StringIO):
    """A stderr that is a terminal, and that says when text arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        done = super().write(text)
        self.arrived.set()
        return done

    def wait(self) -> str:
        assert self.arrived.wait(LONGEST_WAIT_S)
        self.arrived.clear()
        return self.getvalue()

    def screen(self) -> list[str]:
        """The lines as a terminal shows them."""
        return [line.rpartition("\x1b[2K")[2] for line in self.getvalue().split("\n")]


@contextmanager
def on_a_terminal() -> Iterator[Terminal]:
    """Standard output and error are the same terminal while the block runs."""
    terminal = Terminal()
    with redirect_stderr(terminal), redirect_stdout(terminal):
        yield terminal


def test_steps_reach_the_display_with_how_many_there_are():
    steps: list[Step] = []
    with shown_by(steps.append):
        assert list(each_of("Counting", ["a", "b"])) == ["a", "b"]
        doing("Reading", 3)
    doing("nothing watches now")
    assert steps == [Step("Counting", 0, 2), Step("Counting", 1, 2), Step("Reading", 3)]


def test_the_line_appears_late_and_is_gone_at_the_end():
    with on_a_terminal() as terminal, display.shown_activity(after_s=0.01):
        doing("Building SQL models", 3, 1182)
        terminal.wait()
        assert terminal.screen() == ["Building SQL models: 3 of 1,182 …"]
    assert terminal.screen() == [""]


def test_a_short_command_shows_nothing():
    with on_a_terminal() as terminal, display.shown_activity(after_s=60):
        doing("Building SQL models", 3, 182)
    assert terminal.getvalue() == ""


def test_a_pipe_gets_no_line():
    with redirect_stderr(io.StringIO()) as pipe, display.shown_activity(after_s=0):
        doing("Building SQL models", 3, 182)
        assert [each.name for each in threading.enumerate() if each.name == "activity"] == []
    assert pipe.getvalue() == ""


@pytest.mark.parametrize("printed", [note, say], ids=["note", "say"])
def test_text_is_printed_on_a_line_of_its_own(printed: Callable[[str], None]):
    with on_a_terminal() as terminal, display.shown_activity(after_s=0.01):
        doing("Building SQL models", 3, 182)
        terminal.wait()
        printed("landed 3 debates")
    assert terminal.screen() == ["landed 3 debates", ""]


@pytest.mark.parametrize("width", [1, 10, 30, 80])
def test_a_line_is_shorter_than_the_terminal_and_shows_hostile_names(width: int):
    line = display.line_text(Step("Reading records of \x1b]0;mine\x07" + "x" * 90, 12, 3000), width)
    assert len(line) < width
    assert "\x1b" not in line
    assert width < 30 or line.endswith(": 12 of 3,000 …")


@pytest.mark.slow_inputs
@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("build", "--full-refresh"), "Building SQL models"),
        (("test", "--select", "marts.runs"), "Testing the warehouse"),
        (("report", "--out-dir", "OUT/site"), "Writing pages"),
        (("export", "--format", "parquet", "--out-dir", "OUT/parquet"), "Writing tables"),
        (("export", "--format", "jsonl", "--out-dir", "OUT/jsonl"), "Writing runs"),
        (("export", "--format", "duckdb", "--out-dir", "OUT/duckdb"), "Copying landed tables"),
        (("export", "--format", "dbt", "--out-dir", "OUT/dbt"), "Writing dbt models"),
        (("export", "--format", "dbt", "--out-dir", "OUT/dbt"), "Reading SQL models"),
        (("docs", "--out-dir", "OUT/docs"), "Describing SQL models"),
        (("docs", "--out-dir", "OUT/docs"), "Writing the page"),
        (("transpile", "leaderboard", "--dialect", "spark"), "Translating SQL models"),
        (("lineage", "marts.leaderboard.win_rate"), "Reading SQL models"),
        (("diff-models", "panel_winners", "--from", "3", "--to", "4"), "Comparing the versions"),
        (("doctor",), "Examining runs"),
        (("land",), "Landing runs"),
        (("import", "debatebench", "OUT/jsonl/debates_t.jsonl", "--run-tag", "again"), "Reading records of"),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, tuple) else "",
)
def test_a_command_that_may_take_long_says_what_it_does(
    copied: Path, tmp_path: Path, arguments: tuple[str, ...], what: str
):
    words = [word.replace("OUT", str(tmp_path)) for word in arguments]
    if words[0] == "import":
        debatebench_here(copied, "export", "--format", "jsonl", "--out-dir", str(tmp_path / "jsonl"))
    steps: list[Step] = []
    with shown_by(steps.append):
        done = debatebench_here(copied, *words)
    assert done.code == 0, done.err
    assert any(step.what.startswith(what) for step in steps), {step.what for step in steps}
    assert all(step.total is None or 0 <= step.done < step.total for step in steps)
