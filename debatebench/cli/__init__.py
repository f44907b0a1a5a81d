"""The command line: parse, call, print. `main` is the entry point.

activity_display.py  the line on a terminal that says what a long command is doing
annotate.py          annotate
app.py               the typer application, and how errors are printed
assistant.py         mcp: what can be asked, and the answers as JSON
common.py            workspace, clock, output format, notes, the options that were stated
compare.py           compare, gate
completion.py        completion in a shell
doctor.py            doctor
export.py            export
garbage.py           how often the garbage collector runs
gate_junit.py        gate: its outcome for CI services
frozen_run.py        run, retry: the plan in a file, and the shard of it that is played
grouped_help.py      commands and options in groups in `--help`; options given twice or by former names
init.py              init
judge.py             judge, probe-judges
judging_plan.py      judge, probe-judges: options and stored debates → a plan
mcp.py               mcp
option_groups.py     options that several commands share
playing_options.py   run, retry, judge, probe-judges: the options and their help
playing_plan.py      run, retry: options and files → a plan
plot.py              plot
progress_display.py  the live table of a run, or plain lines
prompts.py           prompts
query.py             query, sql
report.py            report
run.py               run, retry
run_checks.py        run: probes before a run, and the prompts
run_cost.py          run: what is left to play and what it costs, the plan's file, the question whether to play
run_report.py        run: the report at the end
run_session.py       run, judge: a dry run, a question, or the run itself
run_wizard.py        run: questions at a terminal
runs.py              runs and its subcommands
show.py              show-leaderboard, summarize, inspect-debate, sample-debates
signals.py           SIGINT and SIGTERM
sql_completion.py    completion of SQL statements
sql_models.py        test, lineage, diff-models, docs
sql_prompt.py        the input of a SQL session: a terminal or a pipe
sql_session.py       statements and dot commands on one warehouse
stored_answers.py    run, judge: what stored answers used, for estimates
upload.py            upload
view.py              view
warehouse.py         import, land, build, rate
watched.py           a command whose memory is limited
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and exit with its code; a user's mistake is one line, never a traceback."""
    # The matrices are small, so more threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from debatebench.cli.watched import go_on_watched

        go_on_watched()
        from debatebench.cli.app import run_app

        run_app()
    except MemoryError as error:
        # There was not even enough to load the command line.
        from debatebench.shared.memory import out_of_memory

        sys.exit(f"Error: {out_of_memory(error)}")
    except KeyboardInterrupt:
        # Interrupted before the command line is set up to report it.
        sys.exit(130)
