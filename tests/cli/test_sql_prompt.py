"""The SQL prompt: a session line by line, completion, a pipe, and a real terminal."""

from __future__ import annotations

import os
import re
import select
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import duckdb
import pytest
from command_line import debatebench
from patience import LONGEST_WAIT_S
from two_runs import two_runs

from debatebench.cli.sql_completion import Completions
from debatebench.cli.sql_prompt import history_file, run_lines
from debatebench.cli.sql_session import LeaveSession, Settings, SqlSession
from debatebench.query.relations import Relation
from debatebench.shared.errors import DebatebenchError, UsageError

pytestmark = pytest.mark.slow

__all__ = ["two_runs"]


class Session:
    """A session whose output is at hand."""

    def __init__(self, database: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.notes: list[str] = []
        self.session = SqlSession(database, Settings(format="csv"), self.notes.append)
        self._capsys = capsys

    def __call__(self, *lines: str) -> str:
        """What is printed when the lines are fed."""
        for line in lines:
            self.session.feed(line)
        return self._capsys.readouterr().out


@pytest.fixture
def ask(two_runs: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Session]:
    session = Session(two_runs / "warehouse" / "debatebench.duckdb", capsys)
    yield session
    session.session.close()


# --- statements -------------------------------------------------------------------------------------------------------


def test_statement_runs_when_its_semicolon_comes(ask: Session):
    assert ask("select", "  1 as a,") == ""
    assert ask.session.is_in_statement
    assert ask("2 as b;") == "a,b\n1,2\n"
    assert not ask.session.is_in_statement


@pytest.mark.parametrize(
    "lines",
    [
        ["select ';' as x", ";"],
        ["select 'a;", "b' as x", ";"],
        ["select 1 as x -- ;", ";"],
        ["select 1 as x /* ;", "; */", ";"],
        ["select $$;$$ as x", ";"],
        ['select 1 as ";"', ";"],
    ],
)
def test_semicolon_in_text_or_comment_ends_nothing(ask: Session, lines: list[str]):
    for line in lines[:-1]:
        assert ask(line) == ""
        assert ask.session.is_in_statement
    assert len(ask(lines[-1]).splitlines()) >= 2


def test_comment_after_the_semicolon_is_no_statement(ask: Session):
    assert ask("select 1 as x; -- done") == "x\n1\n"
    assert ask("", "   ", "-- only a comment") == ""
    ask.session.finish()


def test_several_statements_on_a_line_run_in_order(ask: Session):
    assert ask("select 1 as x; select 2 as y;") == "x\n1\ny\n2\n"


def test_failed_statement_is_forgotten_and_the_session_goes_on(ask: Session):
    with pytest.raises(DebatebenchError, match="nope"):
        ask("select nope;")
    with pytest.raises(DebatebenchError, match="syntax error"):
        ask("selec", "1;")
    with pytest.raises(UsageError, match="exactly one SELECT"):
        ask("drop table marts.debates;")
    assert ask("select 1 as x;") == "x\n1\n"


def test_statements_before_one_that_fails_have_run(ask: Session, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(DebatebenchError, match="nope"):
        ask("select 1 as x; select nope; select 2 as y;")
    assert capsys.readouterr().out == "x\n1\n"


def test_parameters_go_to_the_statements_that_name_them(ask: Session):
    ask(".param tag=demo", ".param n=2")
    assert ask("select $tag as t;", "select $n + 1 as n;", "select 1 as x;") == "t\ndemo\nn\n3\nx\n1\n"
    assert ask(".param") == "parameter,value\nn,2\ntag,demo\n"
    ask(".param n")
    with pytest.raises(UsageError, match=r"parameter \$n has no value; give \.param n=VALUE\."):
        ask("select $n;")


def test_long_result_is_cut_and_says_so(ask: Session):
    ask(".limit 2")
    assert ask("from range(5);") == "range\n0\n1\n"
    assert ask.notes[-1] == "Only the first 2 rows are shown; .limit 0 shows all."
    ask(".limit 0")
    assert len(ask("from range(5000);").splitlines()) == 5001


def test_late_query_is_stopped(ask: Session):
    ask(".timeout 0.2")
    with pytest.raises(DebatebenchError, match=r"longer than 0\.2 seconds"):
        ask("select sum(hash(range)) from range(100000000000);")
    assert ask("select 1 as x;") == "x\n1\n"


def test_new_warehouse_is_read_as_soon_as_it_is_published(
    two_runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    database = tmp_path / "w.duckdb"
    shutil.copyfile(two_runs / "warehouse" / "debatebench.duckdb", database)
    ask = Session(database, capsys)
    assert ask("select count(*) as n from marts.runs;") == "n\n2\n"
    shutil.copyfile(database, tmp_path / "new.duckdb")
    with duckdb.connect(str(tmp_path / "new.duckdb")) as con:
        con.execute("create table marts.added as select 7 as x")
    os.replace(tmp_path / "new.duckdb", database)
    assert ask("from marts.added;") == "x\n7\n"
    assert ask.notes == ["The warehouse has been published again; this session now reads the new one."]
    ask.session.close()


# --- dot commands -----------------------------------------------------------------------------------------------------


def test_tables_are_listed_by_pattern(ask: Session):
    assert "debaters,marts.leaderboard,Debaters ranked by" in ask(".tables").replace('"', "")
    listed = [line.split(",")[1] for line in ask(".tables RATINGS.*").splitlines()[1:]]
    assert {"ratings.elo", "ratings.elo_history"} < set(listed)
    assert all(name.startswith("ratings.") for name in listed)


@pytest.mark.parametrize("name", ["marts.leaderboard", "leaderboard", "MARTS.Leaderboard"])
@pytest.mark.parametrize("command", [".describe", ".schema"])
def test_describe_names_columns_types_and_descriptions(ask: Session, command: str, name: str):
    assert ask(f"{command} {name}").splitlines()[:2] == [
        "column,type,description",
        "run_tag,VARCHAR,The run or import that the row belongs to.",
    ]


def test_a_landed_table_is_described_too(ask: Session):
    assert ask(".describe raw.runs").splitlines()[1] == "run_tag,VARCHAR,The run or import that the row belongs to."


def test_settings_are_shown_and_set(ask: Session):
    ask(".format", ".format json", ".limit", ".timeout 2.5", ".timeout")
    assert ask.notes == ["format csv", "limit 1000", "timeout 2.5 s"]
    assert ask("select 1 as x;") == '[\n  {"x": 1}\n]\n'


def test_mode_is_another_word_for_format(ask: Session):
    assert ask(".mode line", "select 'a' as x, 1 as long;") == "   x = a\nlong = 1\n"
    ask(".format")
    assert ask.notes == ["format line"]
    assert sorted(ask.session.candidates("l", ".mode ")) == ["latex", "line"]


def test_help_names_every_command(ask: Session):
    text = ask(".help")
    for command in set(ask.session._commands) - {".exit"}:
        assert command in text


@pytest.mark.parametrize("word", [".quit", ".exit", "quit", "exit", ".quit;"])
def test_words_that_leave(ask: Session, word: str):
    with pytest.raises(LeaveSession):
        ask(word)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (".nonsense", r"No command '\.nonsense'. Known: \.help"),
        (".schema", "Name one table"),
        (".describe", "Name one table"),
        (".find", "Name what to look for"),
        (".schema nope", r"\.tables lists them"),
        (".tables nope*", r"matches 'nope\*'"),
        (".format parquet", "Known: table, line, json, jsonl, csv, tsv, markdown"),
        (".limit -1", "not a number of rows"),
        (".limit x", "not a number of rows"),
        (".timeout x", "not a number of seconds"),
        (".timeout 0", "timeout of 0 seconds"),
        (".timeout nan", "timeout of nan seconds"),
        (".timeout inf", "timeout of inf seconds"),
        (".param 1x=2", "name=value"),
        (".param x", "no parameter 'x'"),
    ],
)
def test_wrong_command_is_one_line(ask: Session, line: str, complaint: str):
    with pytest.raises(UsageError, match=complaint) as caught:
        ask(line)
    assert "\n" not in str(caught.value)


# --- completion -------------------------------------------------------------------------------------------------------

COMPLETIONS = Completions(
    {
        "marts.debates": Relation("marts.debates", "table", (("run_tag", "VARCHAR"), ("winner", "VARCHAR"))),
        "marts.runs": Relation("marts.runs", "view", (("run_tag", "VARCHAR"), ("seed", "BIGINT"))),
        "ratings.elo": Relation("ratings.elo", "table", (("rating", "DOUBLE"),)),
    },
    short={"debates": "marts.debates", "runs": "marts.runs"},
)


@pytest.mark.parametrize(
    ("before", "word", "found"),
    [
        ("", "sel", ["select "]),
        ("", "SEL", ["SELECT "]),
        ("select ", "r", ["rating", "ratings.", "recursive ", "replace ", "right ", "run_tag"]),
        ("select run_tag from ", "", ["marts.", "ratings."]),
        ("select * from ", "mar", ["marts."]),
        ("select * from ", "el", ["ratings.elo"]),
        ("select * from marts.runs join ", "deb", ["debates"]),
        ("select * from ", "marts.", ["marts.debates", "marts.runs"]),
        ("select * from ", "marts.d", ["marts.debates"]),
        ("from marts.runs select ", "s", ["sample ", "seed", "select ", "semi ", "summarize "]),
        ("select * from marts.debates as d where ", "d.", ["d.run_tag", "d.winner"]),
        ("select * from marts.debates d join marts.runs r on ", "r.s", ["r.seed"]),
        ("select * from marts.debates where ", "debates.w", ["debates.winner"]),
        ("select ", "marts.runs.", ["marts.runs.run_tag", "marts.runs.seed"]),
        ("select * from marts.runs where ", "win", ["window "]),
        ("select ", "nothing.", []),
        ("select * from ", "d", ["debates"]),
        ("select * from debates where ", "win", ["window ", "winner"]),
        ("select * from runs as r where r.run_tag = 'x' and ", "r.s", ["r.seed"]),
        ("from marts.runs join debates as d using (run_tag) select ", "d.w", ["d.winner"]),
        ("select ", "'", []),
    ],
)
def test_what_may_come_next(before: str, word: str, found: list[str]):
    assert COMPLETIONS.candidates(word, before) == found


def test_completion_knows_commands_and_the_lines_before(ask: Session):
    session = ask.session
    assert session.candidates(".f", "") == [".find ", ".format "]
    assert session.candidates("j", ".format ") == ["json", "jsonl"]
    assert session.candidates("ratings.elo_h", ".schema ") == ["ratings.elo_history"]
    assert session.candidates("x", ".limit ") == []
    ask("select * from original.winner_counts as w")
    assert session.candidates("w.wi", "where ") == ["w.winner"]


# --- through a pipe ---------------------------------------------------------------------------------------------------


def test_piped_statements_run_in_order(two_runs: Path):
    first = "-- two questions\nselect 1 as x;\n\n.param tag=demo\n.format json\n"
    text = f"{first}select run_tag\nfrom marts.runs where run_tag = $tag"
    done = debatebench(two_runs, "sql", "--format", "csv", stdin=text)
    assert (done.code, done.err) == (0, "")
    assert done.out == 'x\n1\n[\n  {"run_tag": "demo"}\n]\n'


def test_piped_options_are_those_of_query(two_runs: Path):
    done = debatebench(
        two_runs,
        "sql",
        "--format",
        "csv",
        "--limit",
        "1",
        "--param",
        "n=5",
        stdin="select range + $n as r from range(3);",
    )
    assert done.out == "r\n5\n"
    assert "Only the first 1 rows" in done.err


@pytest.mark.parametrize(
    ("text", "code", "complaint"),
    [
        ("select 1 as x;\nselect nope;\nselect 2 as y;", 1, "nope"),
        ("select 1 as x;\ndrop table marts.runs;\nselect 2 as y;", 2, "exactly one SELECT"),
        ("select 1 as x;\n.nonsense\nselect 2 as y;", 2, r"\.nonsense"),
        ("select 1 as x;\nselect $y;\nselect 2 as y;", 2, r"\.param y=VALUE"),
    ],
)
def test_first_error_ends_a_pipe(two_runs: Path, text: str, code: int, complaint: str):
    done = debatebench(two_runs, "sql", "--format", "csv", stdin=text)
    assert (done.code, done.out) == (code, "x\n1\n")
    assert re.search(complaint, done.error_line)


def test_quit_ends_a_pipe_well(two_runs: Path):
    done = debatebench(two_runs, "sql", "--format", "csv", stdin="select 1 as x;\n.quit\nselect nope;")
    assert (done.code, done.out, done.err) == (0, "x\n1\n", "")


def test_bytes_that_are_no_text_are_refused(two_runs: Path):
    for arguments in (["sql"], ["query", "-"]):
        done = subprocess.run(
            [sys.executable, "-m", "debatebench", "--root", str(two_runs), *arguments],
            input=b"select '\xff';",
            capture_output=True,
        )
        assert done.returncode == 2
        assert done.stderr == b"Error: Cannot read standard input: it is not UTF-8 text.\n"


def test_missing_warehouse_is_one_line(tmp_path: Path):
    done = debatebench(tmp_path, "sql", stdin="select 1;")
    assert done.code == 2
    assert "There is no warehouse" in done.error_line


def test_empty_pipe_does_nothing(two_runs: Path, capsys: pytest.CaptureFixture[str]):
    session = SqlSession(two_runs / "warehouse" / "debatebench.duckdb", Settings(), print)
    run_lines(session, [])
    run_lines(session, ["", "-- nothing", ";"])
    session.close()
    assert capsys.readouterr().out == ""


# --- the format of `query` --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text", "out"),
    [
        (["-"], ".mode line\nselect 1 as a", "a = 1\n"),
        (["--file", "-"], "\n.format line;\nselect 1 as a;\n", "a = 1\n"),
        (["-"], ".mode csv\n.mode tsv\r\n\nselect 1 as a, 2 as b", "a\tb\n1\t2\n"),
        (["-", "--format", "line"], ".mode line\nselect 1 as a", "a = 1\n"),
        (["-"], ".mode csv\n.describe judge_bias.bias\n", "column,type,description\nbias,VARCHAR,"),
    ],
)
def test_query_takes_the_format_from_lines_before_it(two_runs: Path, options: list[str], text: str, out: str):
    done = debatebench(two_runs, "query", *options, stdin=text)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(out)


def test_query_writes_a_file_in_the_format_of_the_line_before_it(two_runs: Path, tmp_path: Path):
    debatebench(two_runs, "query", "-", "--output", str(tmp_path / "a.txt"), stdin=".mode csv\nselect 1 as a")
    assert (tmp_path / "a.txt").read_text() == "a\n1\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            [".mode line"],
            "`.mode line` sets how a result is printed, and no query follows; `debatebench query --format",
        ),
        ([".mode"], "No format ''. Known: table, line"),
        ([".mode lien\nselect 1"], "No format 'lien'. Known: table, line"),
        (
            [".mode line\nselect 1", "--format", "csv"],
            "`.mode line` contradicts `--format csv`; leave one of them out.",
        ),
        ([".mode line\n.limit 3\nselect 1"], "Nothing can follow .limit in a query"),
        ([".mode line\n\nselect 1 as\n from nope"], "(line 4: "),
    ],
)
def test_query_says_in_one_line_why_a_format_cannot_be_set(two_runs: Path, arguments: list[str], complaint: str):
    done = debatebench(two_runs, "query", *arguments)
    assert done.out == ""
    assert complaint in done.error_line


# --- at a terminal ----------------------------------------------------------------------------------------------------


# Makes the pseudo-terminal the one that Ctrl-C goes through, then becomes the command.
AT_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """`debatebench sql` in a pseudo-terminal."""

    def __init__(self, root: Path, state: Path) -> None:
        self.descriptor, theirs = os.openpty()
        command = [sys.executable, "-m", "debatebench", "--root", str(root), "sql"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", AT_TERMINAL, *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "XDG_STATE_HOME": str(state), "TERM": "dumb", "COLUMNS": "100", "INPUTRC": "/dev/null"},
        )
        os.close(theirs)

    def until(self, text: str) -> str:
        """Everything that the terminal shows, up to `text`."""
        shown = ""
        while text not in shown:
            ready, _, _ = select.select([self.descriptor], [], [], 60)
            assert ready, f"{text!r} never came after {shown!r}"
            try:
                shown += os.read(self.descriptor, 65536).decode()
            except OSError:
                raise AssertionError(f"it ended without {text!r}: {shown!r}") from None
        return shown.replace("\r\n", "\n")

    def type(self, text: str, until: str = "debatebench> ") -> str:
        os.write(self.descriptor, text.encode())
        return self.until(until)

    def interrupt(self, until: str = "debatebench> ") -> str:
        """Press Ctrl-C, again and again: Python's line editor can miss the one that comes as it begins to wait."""
        shown = ""
        while until not in shown:
            os.write(self.descriptor, b"\x03")
            while until not in shown and select.select([self.descriptor], [], [], 1)[0]:
                shown += os.read(self.descriptor, 65536).decode()
        return shown.replace("\r\n", "\n")

    def cpu_ticks(self) -> int:
        """Processor time that the session has used."""
        after_name = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(after_name[11]) + int(after_name[12])

    def leave(self, text: str) -> int:
        """Type what ends the session; the exit code."""
        os.write(self.descriptor, text.encode())
        with suppress(OSError):
            while os.read(self.descriptor, 65536):
                pass
        return self.process.wait(LONGEST_WAIT_S)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(LONGEST_WAIT_S)
        os.close(self.descriptor)


@pytest.fixture
def terminal(two_runs: Path, tmp_path: Path) -> Iterator[Terminal]:
    with closing(Terminal(two_runs, tmp_path / "state")) as started:
        started.until("debatebench> ")
        yield started


def test_terminal_asks_answers_and_goes_on_after_errors(terminal: Terminal):
    assert "...> " in terminal.type("select 40 + 2\n", until="...> ")
    shown = terminal.type("as answer;\n")
    assert "answer" in shown
    assert "42" in shown
    assert "1 row, " in shown
    assert "Error: SQL: " in terminal.type("select nope;\n")
    assert "exactly one SELECT" in terminal.type("drop table marts.runs;\n")
    assert "No command" in terminal.type(".nonsense\n")
    assert "42" in terminal.type("select 6 * 7;\n")
    assert terminal.leave("\x04") == 0


def test_a_description_is_whole_at_a_terminal(terminal: Terminal):
    shown = terminal.type(".describe judge_bias\n")
    assert "…" not in shown
    assert "the share of its decisive verdicts for the side that spoke longer." in " ".join(shown.split())
    assert terminal.leave(".quit\n") == 0


def test_tab_completes_from_the_catalogue(terminal: Terminal):
    terminal.type("select count(*) as n from original.winner_c\t", until="original.winner_counts")
    assert "\n6\n1 row" in terminal.type(";\n")
    assert terminal.leave(".quit\n") == 0


def test_ctrl_c_drops_the_input_and_never_ends_the_session(terminal: Terminal):
    terminal.type("select nope\n", until="...> ")
    terminal.type("from nowhere", until="nowhere")
    terminal.interrupt()
    assert "42" in terminal.type("select 6 * 7;\n")
    assert terminal.leave("exit\n") == 0


def test_ctrl_c_stops_the_running_query(terminal: Terminal):
    before = terminal.cpu_ticks()
    terminal.type("select sum(hash(range)) from range(1000000000000);\n", until=";")
    while terminal.cpu_ticks() < before + 50:
        time.sleep(0.02)
    assert "Interrupted." in terminal.interrupt()
    assert "42" in terminal.type("select 6 * 7;\n")
    assert terminal.leave("\x04") == 0


def test_hostile_text_cannot_steer_the_terminal(terminal: Terminal):
    shown = terminal.type("select 'a' || chr(27) || ']0;x' || chr(7) || chr(155) as x;\n")
    assert "␛]0;x␇�" in shown
    assert "\x1b]0" not in shown.partition("\n")[2]
    assert terminal.leave("\x04") == 0


def test_history_is_kept_for_its_owner_alone(terminal: Terminal, two_runs: Path, tmp_path: Path):
    terminal.type("select 123 as x;\n")
    history = tmp_path / "state" / "debatebench" / "sql_history"
    assert history.read_text() == "select 123 as x;\n", "it is there before the session ends"
    assert terminal.leave("\x04") == 0
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700
    with closing(Terminal(two_runs, tmp_path / "state")) as again:
        again.until("debatebench> ")
        assert "123" in again.type("\x10\n")
        assert again.leave("\x04") == 0


def test_session_works_where_no_history_can_be_kept(two_runs: Path, tmp_path: Path):
    (tmp_path / "state").write_text("a file")
    with closing(Terminal(two_runs, tmp_path / "state")) as terminal:
        terminal.until("debatebench> ")
        assert "42" in terminal.type("select 6 * 7;\n")
        assert terminal.leave("\x04") == 0


def test_query_that_cannot_be_stopped_is_left_behind(terminal: Terminal):
    terminal.type(".timeout 0.2\n")
    shown = terminal.type("select jaro_winkler_similarity(repeat('ab', 2000000), repeat('ca', 2000000));\n")
    assert "in a step that cannot be stopped" in shown
    assert "continues in the background" in shown
    assert "42" in terminal.type("select 6 * 7;\n")
    assert terminal.leave("\x04") == 0


def test_history_lies_in_the_state_folder():
    assert history_file({"XDG_STATE_HOME": "/x"}) == Path("/x/debatebench/sql_history")
    fallback = Path.home() / ".local" / "state" / "debatebench" / "sql_history"
    assert history_file({}) == history_file({"XDG_STATE_HOME": "relative"}) == fallback
