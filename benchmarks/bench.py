"""How fast debatebench is, beside its peers, measured in the same run: `make bench`.

    python benchmarks/bench.py [CASE …] [--effort quick|full] [--sizes N …] [--no-peers]
    python benchmarks/bench.py --against COMMIT [CASE …] [--bound 1.1]

The cases are in `benchmarks/cases.yml`. Every command runs in a process of its own. Ours and its peers take turns, in
an order that is turned round after each round, and a ratio is the median over rounds of the ratio within a round: so
what else the machine does strikes all alike. Peers are installed into environments of their own (`.venv-bench/`) from
pinned requirements (`benchmarks/peers/*.txt`). What cannot be installed or fails is named as not measured.

Results are added to `benchmarks/results.json`; `docs/benchmarks.md` and a table in README.md are written from it.

With `--against`, that commit is checked out beside this one and runs our own cases in turns with it, in the same
environment. A ratio above the bound is measured again with twice the rounds before it counts. The exit code is then 6.
Other exit codes: 0 done, 1 one of our own commands failed, 2 usage.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import math
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from case_table import EFFORTS, HERE, OURS, Bench, Case, Environment, Table, TableError, read_table
from figures import Ratio, above, is_same, ratio
from measured_page import case_lines, write_pages
from measuring import CommandError, Contestant, Rounds, adopt_orphans, by_turns, last_line
from results import Results, commit_of, machine

REPOSITORY = HERE.parent
REGRESSION = 6
BUDGETS_S = {"quick": 5.0, "full": 240.0}


@dataclass(frozen=True)
class Asked:
    """The options."""

    cases: list[Case]
    effort: str
    sizes: Sequence[int] | None
    repeat: int | None
    has_peers: bool
    bound: float

    def sizes_of(self, case: Case) -> Sequence[int]:
        return case.sizes[self.effort] if self.sizes is None else self.sizes

    def repeat_of(self, case: Case) -> int:
        return case.repeat if self.repeat is None else self.repeat

    @property
    def budget_s(self) -> float:
        """For all rounds of a case at a size; without end where their number was asked for."""
        return BUDGETS_S[self.effort] if self.repeat is None else math.inf


def say(text: str) -> None:
    print(text, flush=True)


# --- Peers ---


@dataclass
class Environments:
    """The environments of peers: made from pinned requirements when first asked for."""

    folder: Path
    known: Mapping[str, Environment]
    problems: dict[str, str | None] = field(default_factory=dict)

    def problem(self, name: str | None) -> str | None:
        """Why the environment cannot be used; None if it can."""
        if name is None:
            return None
        if name not in self.problems:
            self.problems[name] = self._install(self.folder / name, self.known[name].requirements)
        return self.problems[name]

    def _install(self, folder: Path, pinned: Path) -> str | None:
        stamp = folder / ".installed"
        sha256 = hashlib.sha256(pinned.read_bytes()).hexdigest()
        if stamp.exists() and stamp.read_text() == sha256:
            return None
        say(f"Installing {pinned.name} …")
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(folder)],
            [*pip, "--requirement", str(pinned)],
        ):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                return f"It could not be installed: {last_line(done.stderr or done.stdout)}"
        stamp.write_text(sha256)
        return None

    def versions(self) -> dict[str, str]:
        """The versions of the measured packages of every environment that was used."""
        used = [self.known[name] for name, problem in self.problems.items() if problem is None]
        return {package: version for environment in used for package, version in environment.versions().items()}


# --- Measuring ---


def contestants(
    bench: Bench, case: Case, n: int, asked: Asked, environments: Environments, url: str | None
) -> tuple[list[Contestant], dict[str, str]]:
    """Ourselves and the peers of a case that can be measured at a size, and why the others cannot."""
    found, missing = [bench.contestant(case.ours, n, url, case.same)], {}
    for peer in case.peers if asked.has_peers else ():
        if peer.sizes is not None and n not in peer.sizes:
            missing[peer.name] = f"It is not measured at this size (only {', '.join(map(str, peer.sizes))})."
        elif problem := environments.problem(peer.venv):
            missing[peer.name] = problem
        else:
            try:
                found.append(bench.contestant(peer, n, url, case.same))
            except CommandError as error:
                missing[peer.name] = str(error)
    return found, missing


def measure_case(bench: Bench, case: Case, n: int, asked: Asked, environments: Environments) -> Rounds:
    """Measure a case at one size; what failed is named."""
    try:
        with bench.served(case) as url:
            found, missing = contestants(bench, case, n, asked, environments, url)
            rounds = by_turns(
                found, repeat=asked.repeat_of(case), budget_s=asked.budget_s, warm_up=case.warm_up and n <= 10_000
            )
    except CommandError as error:
        return Rounds({}, {OURS: str(error)})
    drop_others(found, rounds)
    return Rounds(rounds.samples, missing | rounds.failures)


def drop_others(contestants: Sequence[Contestant], rounds: Rounds) -> None:
    """Take out of the rounds every peer that found something else than we did: its time is for another task."""
    found = {each.name: each.found for each in contestants if each.found is not None and each.name in rounds.samples}
    if OURS in found:
        ours = json.loads(found.pop(OURS).read_text())
        for name, path in found.items():
            if not is_same(ours, json.loads(path.read_text())):
                del rounds.samples[name]
                rounds.failures[name] = "It found something else than ours."


def bench_all(bench: Bench, asked: Asked, environments: Environments, results: Results) -> int:
    """Measure every case at every size, print and record; 1 if one of our own commands failed."""
    failed = False
    for case in asked.cases:
        for n in asked.sizes_of(case):
            rounds = measure_case(bench, case, n, asked, environments)
            failed = failed or OURS in rounds.failures
            results.add(case.name, n, rounds)
            for line in case_lines(case, n, rounds):
                say(line)
    return 1 if failed else 0


# --- A commit beside this one ---


@contextlib.contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Path]:
    """A worktree of a commit, which is removed at the end. Raises `TableError` if there is no such commit."""

    def git(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", "-C", str(REPOSITORY), *map(str, words)], capture_output=True, text=True)

    try:
        known = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    except FileNotFoundError:
        raise TableError("`git` is not here; it is needed for --against.") from None
    if known.returncode:
        raise TableError(f"There is no commit `{commit}` in {REPOSITORY}.")
    tree = folder / "checkout"
    done = git("worktree", "add", "--detach", tree, known.stdout.strip())
    if done.returncode:
        raise TableError(f"`{commit}` could not be checked out: {last_line(done.stderr)}")
    try:
        yield tree
    finally:
        git("worktree", "remove", "--force", tree)


def compare_case(benches: tuple[Bench, Bench], case: Case, n: int, repeat: int, budget_s: float) -> Rounds:
    """Measure one case at one size with both commits, by turns."""
    with benches[0].served(case) as url:
        both = []
        failures = {}
        for bench in benches:
            try:
                both.append(bench.contestant(case.ours, n, url))
            except CommandError as error:
                failures[bench.label] = str(error)
        if failures:
            return Rounds({}, failures)
        return by_turns(both, repeat=repeat, budget_s=budget_s, warm_up=case.warm_up)


def compared(
    benches: tuple[Bench, Bench], case: Case, n: int, asked: Asked
) -> tuple[Ratio | None, list[str], dict[str, str]]:
    """The ratio of ours to the commit's, what of it is above the bound, and what failed.

    A ratio above the bound is measured again, with twice the rounds: one busy spell is no regression.
    """
    repeat = asked.repeat_of(case)
    found = None
    for rounds in (repeat, 2 * repeat):
        measured = compare_case(benches, case, n, rounds, asked.budget_s * rounds / repeat)
        if measured.failures:
            return None, [], measured.failures
        now, before = (measured.samples[bench.label] for bench in benches)
        found = ratio(now, before)
        if not above(found, asked.bound):
            return found, [], {}
    assert found is not None
    return found, above(found, asked.bound), {}


def guard(benches: tuple[Bench, Bench], asked: Asked) -> int:
    """Compare all cases with the commit; 6 if a ratio is above the bound, 1 if a command of ours failed."""
    worse, failed = [], False
    say(f"{'case':<16}{'debates':>10}  {'CPU':>22}  {'memory':>22}   ours / {benches[1].label}")
    for case in asked.cases:
        for n in asked.sizes_of(case):
            found, too_high, failures = compared(benches, case, n, asked)
            for name, why in failures.items():
                failed = failed or name == benches[0].label
                say(f"{case.name:<16}{n:>10,}  not measured: {name}: {why}")
            if found is None:
                continue
            mark = f"  above {asked.bound:g}: {', '.join(too_high)}" if too_high else ""
            spreads = "  ".join(
                f"{f'{spread.median:.2f} ({spread.low:.2f}-{spread.high:.2f})':>22}"
                for spread in (found.cpu, found.memory)
            )
            say(f"{case.name:<16}{n:>10,}  {spreads}{mark}")
            worse += [f"{case.name} at {n:,}"] if too_high else []
    if worse:
        say(f"Above {asked.bound:g} times {benches[1].label}: {', '.join(worse)}.")
        return REGRESSION
    return 1 if failed else 0


# --- The command line ---


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not positive")
    return value


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help="default: all; see --list")
    parser.add_argument("--list", action="store_true", help="print the cases, and measure nothing")
    parser.add_argument("--effort", choices=EFFORTS, default="quick", help="the sizes of each case; default: quick")
    parser.add_argument("--sizes", type=positive, nargs="+", metavar="N", help="these sizes instead")
    parser.add_argument(
        "--repeat", type=positive, metavar="N", help="so many rounds of each case, however long they take"
    )
    parser.add_argument("--no-peers", action="store_true", help="measure only our own commands")
    parser.add_argument("--against", metavar="COMMIT", help="compare our own cases with this commit")
    parser.add_argument("--bound", type=float, default=1.1, help="exit with 6 above this ratio; default: 1.1")
    parser.add_argument("--folder", type=Path, help="where to work; it is kept; default: a folder that is removed")
    parser.add_argument(
        "--venvs",
        type=lambda text: Path(text).absolute(),
        default=REPOSITORY / ".venv-bench",
        help="where peers are installed",
    )
    parser.add_argument("--table", type=Path, default=HERE / "cases.yml", help="another table of cases")
    parser.add_argument(
        "--results", type=Path, default=HERE / "results.json", help="the file that results are added to"
    )
    parser.add_argument("--page", type=Path, default=REPOSITORY / "docs" / "benchmarks.md", help="the page of them")
    parser.add_argument("--readme", type=Path, default=REPOSITORY / "README.md", help="the page with a table of them")
    parser.add_argument("--page-only", action="store_true", help="measure nothing, only write the pages again")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    try:
        table = read_table(options.table)
        asked = Asked(
            table.chosen(options.cases),
            options.effort,
            options.sizes,
            options.repeat,
            not options.no_peers,
            options.bound,
        )
        if options.list:
            for case in asked.cases:
                say(f"{case.name:<16}{case.title}")
            return 0
        results = Results.read(options.results)
        if options.page_only:
            write_pages(options.page, options.readme, table, results)
            return 0
        with _folder(options.folder) as folder:
            return _measure(options, table, asked, results, folder)
    except TableError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2


def cpu_s() -> float:
    """The CPU seconds of this process and of all that it has waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _measure(options: argparse.Namespace, table: Table, asked: Asked, results: Results, folder: Path) -> int:
    bench = Bench(folder, REPOSITORY, table, options.venvs, commit=commit_of(REPOSITORY))
    if options.against is not None:
        with checked_out(options.against, folder) as tree:
            other = Bench(folder, tree, table, options.venvs, options.against, commit_of(tree))
            return guard((bench, other), asked)
    environments = Environments(options.venvs, table.environments)
    results.begin(machine(REPOSITORY), asked.effort)
    code = bench_all(bench, asked, environments, results)
    results.end(environments.versions())
    results.write(options.results)
    write_pages(options.page, options.readme, table, Results.read(options.results))
    say(f"Wrote {options.results}, {options.page} and {options.readme}, after {cpu_s():,.0f} CPU seconds.")
    return code


@contextlib.contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="debatebench-benchmark-") as folder:
        yield Path(folder).resolve()


if __name__ == "__main__":
    adopt_orphans()
    sys.exit(main())
