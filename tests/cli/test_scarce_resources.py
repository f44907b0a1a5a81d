"""Commands without standard streams, without memory or without room on the disk: one sentence, exit code 1, no harm."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import duckdb
import pytest
from command_line import debatebench, debatebench_here
from patience import LONGEST_WAIT_S

from debatebench.query.duckdb_errors import damage_of, opening_error
from debatebench.shared.errors import DamagedDataError, OutOfMemoryError
from debatebench.shared.files import not_written
from debatebench.shared.memory import out_of_memory

# Every kind of command, and one that does not need what the others leave behind.
COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("run", "--run-tag", "next", "--quick-test"),
    "retry": ("retry", "first"),
    "judge": ("judge", "first", "--as", "again"),
    "probe-judges": ("probe-judges", "first", "--as", "probe"),
    "land": ("land",),
    "build": ("build", "--full-refresh"),
    "build from journals": ("build", "--from-journals"),
    "doctor": ("doctor",),
    "rate": ("rate",),
    "show-leaderboard": ("show-leaderboard",),
    "summarize": ("summarize",),
    "query": ("query", "select count(*) from marts.debates"),
    "query from standard input": ("query", "-"),
    "sql": ("sql",),
    "report": ("report",),
    "docs": ("docs",),
    "test": ("test", "--select", "leaderboard"),
    "lineage": ("lineage", "marts.debates"),
    "export": ("export", "--format", "parquet", "--out-dir", "exported"),
    "init": ("init",),
}
EMPTY_INPUT = {"query from standard input"}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one run."""
    root = tmp_path_factory.mktemp("played") / "w"
    assert debatebench(root, "init").code == 0
    assert debatebench(root, "run", "--run-tag", "first", "--quick-test").code == 0
    return root


@pytest.fixture
def root(played: Path, tmp_path: Path) -> Path:
    """The same in a folder of its own."""
    return Path(shutil.copytree(played, tmp_path / "w"))


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _call(root: Path, arguments: Sequence[str], **how: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "debatebench", "--root", str(root), *arguments]
    how = {"stdin": subprocess.DEVNULL, "capture_output": True, "cwd": root, "timeout": LONGEST_WAIT_S, **how}
    return subprocess.run(command, **how)  # type: ignore[call-overload, no-any-return]


# Every way of closing them with the commands that write most, and the others with all of them closed and with one open.
CLOSED = [
    *((name, closed) for name in ("run", "sql") for closed in ((0,), (1,), (2,), (0, 1), (0, 1, 2))),
    *((name, (0, 1, 2)) for name in ("judge", "retry", "probe-judges", "query from standard input", "test")),
    ("judge", (0,)),
    ("retry", (1,)),
    ("probe-judges", (2,)),
    ("query from standard input", (1,)),
    ("test", (0, 1)),
]


@pytest.mark.slow_inputs
@pytest.mark.slow
@pytest.mark.parametrize(("name", "closed"), CLOSED, ids=str)
def test_a_command_works_with_its_standard_streams_closed(root: Path, name: str, closed: tuple[int, ...]) -> None:
    done = _call(root, COMMANDS[name], preexec_fn=partial(_close, closed))
    assert done.returncode == (2 if name in EMPTY_INPUT else 0), done.stderr
    assert b"Traceback" not in done.stderr
    # Nothing that a library prints has got into a file that took the place of a closed stream.
    assert debatebench_here(root, "doctor").code == 0
    assert (1 in closed) == (not done.stdout) or name in {"sql", *EMPTY_INPUT}


@pytest.mark.slow_inputs
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in {"init", "lineage"}])
def test_a_command_without_memory_says_so_and_calls_nothing_damaged(root: Path, name: str) -> None:
    for limit in (200, 350, 500):
        memory = (limit * 2**20, resource.RLIM_INFINITY)
        done = _call(root, COMMANDS[name], preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, memory))
        text = done.stderr.decode()
        assert done.returncode in {0, 1, 2 * (name in EMPTY_INPUT)}, (limit, done.returncode, text)
        assert "Traceback" not in text
        assert "amage" not in text
        assert "--from-journals" not in text
        if done.returncode == 1:
            assert "memory" in text.splitlines()[-1].lower(), text
    assert debatebench_here(root, "doctor").code == 0


@pytest.mark.slow
def test_900_megabytes_of_address_space_are_enough_for_a_small_warehouse(root: Path) -> None:
    memory = (900 * 2**20, resource.RLIM_INFINITY)
    for name in ("build from journals", "report", "query", "run"):
        done = _call(root, COMMANDS[name], preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, memory))
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_signal_reaches_a_command_with_little_memory(root: Path) -> None:
    memory = (900 * 2**20, resource.RLIM_INFINITY)
    with subprocess.Popen(
        [sys.executable, "-m", "debatebench", "--root", str(root), "sql"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, memory),
    ) as waiting:
        children = Path(f"/proc/{waiting.pid}/task/{waiting.pid}/children")
        while not (child := children.read_text().strip()):
            assert waiting.poll() is None
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(LONGEST_WAIT_S) == 130
        assert not Path("/proc", child).exists()


SAYING_SO = [
    MemoryError(),
    OSError(12, "Cannot allocate memory"),
    RuntimeError("can't start new thread"),
    ImportError("libx.so: failed to map segment from shared object"),
    duckdb.OutOfMemoryException("Out of Memory Error: Allocation failure"),
    duckdb.FatalException("FATAL Error: Failed to create checkpoint because of error: bad allocation"),
    duckdb.InvalidInputException(
        "Invalid Input Error: Python exception occurred while executing the UDF: MemoryError: "
    ),
    duckdb.IOException("IO Error: Could not read enough bytes from file: Cannot allocate memory"),
]


@pytest.mark.parametrize("error", SAYING_SO, ids=repr)
def test_every_way_to_say_that_memory_ran_out_is_read_and_is_no_damage(error: Exception) -> None:
    assert damage_of(error) is None
    assert isinstance(out_of_memory(error), OutOfMemoryError)
    assert isinstance(opening_error(Path("w.duckdb"), error), OutOfMemoryError)
    wrapped = DamagedDataError("It is damaged.")
    wrapped.__cause__ = error
    assert isinstance(out_of_memory(wrapped), OutOfMemoryError)


@pytest.mark.parametrize(
    "error",
    [
        duckdb.ConversionException("Conversion Error: Could not convert string 'Out of Memory Error: ' to INT32"),
        duckdb.IOException('IO Error: The file "w" exists, but it is not a valid DuckDB database file!'),
        OSError(28, "No space left on device"),
        ValueError("std::bad_alloc"),
    ],
    ids=repr,
)
def test_an_error_that_only_quotes_such_words_is_no_lack_of_memory(error: Exception) -> None:
    assert out_of_memory(error) is None


FULL = {
    "docs": (("docs",), 20_000, "reports/docs/index.html"),
    "summarize": (("summarize",), 40, "warehouse/summaries/first/topic_winrate.csv"),
    "sample-debates": (("sample-debates",), 40, "warehouse/samples/first/debate-1.md"),
    "report": (("report",), 2**20, "reports/site"),
    "rate": (("rate",), 40, "warehouse/ratings/first.json"),
    "query": (("query", "from range(100)", "--output", "{}/numbers.csv"), 40, "numbers.csv"),
    "query as Parquet": (("query", "from range(9000)", "--output", "{}/n.parquet"), 40, "n.parquet"),
    "export as Parquet": (("export", "--format", "parquet", "--out-dir", "{}/exported"), 40, "exported"),
    "export for dbt": (("export", "--format", "dbt", "--out-dir", "{}/exported"), 40, "exported"),
}


@pytest.mark.slow_inputs
@pytest.mark.slow
@pytest.mark.parametrize("name", FULL)
def test_a_disk_that_takes_no_more_is_told_with_the_name_of_the_target(root: Path, name: str) -> None:
    arguments, most, target = FULL[name]
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (most, most))
    done = _call(root, [each.format(root) for each in arguments], preexec_fn=limit)
    assert done.returncode == 1, done.stderr
    assert done.stderr.decode().splitlines()[-1] == f"Error: {root / target} cannot be written: File too large."


def test_what_is_not_written_is_named_and_not_what_a_library_names() -> None:
    out = Path("/w/out")
    refused = OSError(28, "No space left on device", "/lib/plotly.min.js")
    assert str(not_written(out, refused)) == "/w/out cannot be written: No space left on device."
    in_the_way = NotADirectoryError(20, "Not a directory", "/w")
    assert str(not_written(out, in_the_way)) == "/w cannot be written: Not a directory."
    several = shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")])
    assert str(not_written(out, several)) == "/w/out cannot be written: No space left on device."
    parquet = duckdb.IOException('IO Error: Async write failed: {"exception_type":"IO","errno":"28"}')
    assert str(not_written(out, parquet)) == "/w/out cannot be written: No space left on device."
