"""A first signal ends a command in order; a second one ends it at once, whatever it is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from built_warehouse import begin_built
from command_line import debatebench

from debatebench.cli.signals import forget_signals, handled_signals

STUCK = """\
-- One row, after a step of minutes that DuckDB cannot interrupt.
select jaro_winkler_similarity(repeat('ab', {n}), repeat('ca', {n})) as x
"""
YAML = "models: [{name: stuck, description: One row., config: {materialized: table}}]\n"
TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(process: subprocess.Popen[str]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@pytest.mark.slow
def test_a_second_signal_ends_a_build_that_cannot_be_interrupted(tmp_path: Path) -> None:
    root = begin_built(tmp_path)
    folder = root / "sql" / "marts"
    folder.mkdir(parents=True)
    (folder / "stuck.sql").write_text(STUCK.format(n=2_000_000))
    (folder / "stuck.yml").write_text(YAML)
    database = root / "warehouse" / "debatebench.duckdb"
    before = database.read_bytes()
    command = [sys.executable, "-m", "debatebench", "--root", str(root), "build", "--select", "marts.stuck"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        # A build of one table needs less, so it is in the long step by then.
        while processor_seconds(process) < 4:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        # The step goes on after the first signal.
        spent = processor_seconds(process)
        while processor_seconds(process) < spent + 0.2:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", "Interrupted.\n")
    assert database.read_bytes() == before
    (folder / "stuck.sql").write_text(STUCK.format(n=5))
    assert debatebench(root, "build", "--select", "marts.stuck").code == 0


def test_a_session_that_goes_on_after_an_interrupt_begins_to_count_again() -> None:
    with handled_signals() as received:
        for _ in range(5):
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
            assert received.count == 1
            forget_signals()
            assert received.count == 0


def test_the_handlers_of_the_process_are_restored() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with handled_signals():
        assert signal.getsignal(signal.SIGTERM) not in before
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_signal_that_was_set_to_be_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with handled_signals() as received:
            os.kill(os.getpid(), signal.SIGTERM)
            assert received.count == 0
    finally:
        signal.signal(signal.SIGTERM, before)
