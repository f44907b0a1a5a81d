"""What was measured, as lines for the terminal, as the page `docs/benchmarks.md` and as the table in README.md."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from case_table import OURS, Case, Table
from figures import Ratio, Spread, Target, growth, ratio
from measuring import Rounds, Sample
from results import Results

INTRODUCTION = """# Benchmarks

How fast debatebench is, always beside a peer in the same run. This page is written by `make bench` (five minutes) and
`make bench EFFORT=full` (hours) from `benchmarks/results.json`; the cases are in `benchmarks/cases.yml`.

How to read it. **CPU** is the user and system time of the whole process and its children, from its start to its end:
a median over rounds, with the lowest and the highest. **Memory** is the peak of the largest process. Seconds on the
clock are in the JSON only, because the machines are shared and noisy. In each round, ours and the peers take turns,
in an order that is turned round after each; a **ratio** is the median over rounds of ours divided by the peer's in
the same round, so that a busy spell strikes both. Below 1, ours takes less. **Growth** is the exponent k of cost ~
size^k, the slope of a straight line through the logarithms; where the constant cost of starting a process is most of
the whole, it is near 0.

Hosts differ by a factor of two and more: compare ratios, not seconds of different runs.
"""


# --- Figures of one case ---


def spread_text(values: Sequence[float], form: str = ".2f") -> str:
    """The median, with the lowest and the highest value if there are several."""
    found = Spread.of(values)
    several = f" ({found.low:{form}}–{found.high:{form}})" if len(values) > 1 else ""
    return f"{found.median:{form}}{several}"


def case_lines(case: Case, n: int, rounds: Rounds) -> Iterator[str]:
    """Lines for the terminal, one per contestant."""
    ours = rounds.samples.get(OURS)
    for name, samples in rounds.samples.items():
        cpu = spread_text([sample.cpu_s for sample in samples], ".3f")
        memory = f"{statistics.median(sample.peak_mb for sample in samples):,.0f} MB"
        line = f"{case.name:<16}{n:>10,}  {name:<22}{cpu:>24} CPU s {memory:>10}"
        if ours is not None and name != OURS:
            found = ratio(ours, samples)
            line += f"   ours / it: {found.cpu.median:.2f} CPU, {found.memory.median:.2f} memory"
        yield line
    for name, why in rounds.failures.items():
        yield f"{case.name:<16}{n:>10,}  {name:<22} not measured: {why}"
    for target in case.targets:
        if target.size == n and ours is not None and target.peer in rounds.samples:
            for what, (value, bound, holds) in target.outcome(ratio(ours, rounds.samples[target.peer])).items():
                verdict = "holds" if holds else "MISSED"
                yield f"{'':<28}{verdict}: {what} {value:.2f} of {target.peer}'s, at most {bound:g}"


# --- The table in README ---

_SHORT_TABLE = re.compile(r"(<!-- benchmarks -->\n\n)(?:\|[^\n]*\n)*")


def with_short_table(text: str, table: Table, results: Results) -> str:
    """A page with the ratios of which we promise something, after its comment `<!-- benchmarks -->`."""
    rows = [f"| {' | '.join(cells)} |\n" for cells in _short_rows(table, results)]
    head = "| ours / it | at | beside | CPU | memory |\n|---|---:|---|---:|---:|\n"
    return _SHORT_TABLE.sub(lambda found: found[1] + head + "".join(rows), text)


def _short_rows(table: Table, results: Results) -> Iterator[tuple[str, ...]]:
    for case in table.cases.values():
        for target in case.targets:
            _, rounds = results.measured.get((case.name, target.size), (0, Rounds({})))
            if OURS in rounds.samples and target.peer in rounds.samples:
                found = _ratio(rounds, target.peer)
                where = f"{target.size:,} {case.unit}"
                yield case.title, where, target.peer, f"{found.cpu.median:.2f}", f"{found.memory.median:.2f}"


# --- The page ---


def write_pages(page_path: Path, readme: Path, table: Table, results: Results) -> None:
    """Write the page, and the table in README."""
    page_path.write_text(page(table, results))
    readme.write_text(with_short_table(readme.read_text(), table, results))


def page(table: Table, results: Results) -> str:
    """The page of everything measured."""
    parts = [INTRODUCTION, *_targets(table, results)]
    for case in table.cases.values():
        by_size = {size: entry for (name, size), entry in sorted(results.measured.items()) if name == case.name}
        if by_size:
            parts += _case(case, by_size)
    parts += _runs(results)
    return "\n".join(parts) + "\n"


def _targets(table: Table, results: Results) -> Iterator[str]:
    yield "## What we promise\n"
    yield "| case | at | peer | what | at most | measured | |"
    yield "|---|---:|---|---|---:|---:|---|"
    for case in table.cases.values():
        for target in case.targets:
            for what, bound, measured, verdict in _outcomes(case, target, results):
                cells = (case.title, f"{target.size:,} {case.unit}", target.peer, what, f"{bound:g}", measured, verdict)
                yield f"| {' | '.join(cells)} |"
        for name, bound in case.growth.items():
            yield _growth_row(case, name, bound, results)
    yield ""


def _growth_row(case: Case, name: str, bound: float, results: Results) -> str:
    """The row of a promised growth."""
    of = {
        size: rounds.samples[name]
        for (of_case, size), (_, rounds) in sorted(results.measured.items())
        if of_case == case.name and name in rounds.samples
    }
    found = growth({size: statistics.median(sample.cpu_s for sample in samples) for size, samples in of.items()})
    where = f"{min(of):,} to {max(of):,} {case.unit}" if of else case.unit
    measured, verdict = ("", "not measured at two sizes")
    if found is not None:
        measured, verdict = f"{found:.2f}", "holds" if round(found, 2) <= bound else "**missed**"
    return f"| {case.title} | {where} | {name} alone | growth of cpu | {bound:g} | {measured} | {verdict} |"


def _outcomes(case: Case, target: Target, results: Results) -> Iterator[tuple[str, float, str, str]]:
    """What, bound, measured ratio and verdict of a target."""
    _, rounds = results.measured.get((case.name, target.size), (0, Rounds({})))
    if OURS in rounds.samples and target.peer in rounds.samples:
        for what, (value, bound, holds) in target.outcome(_ratio(rounds, target.peer)).items():
            yield what, bound, f"{value:.2f}", "holds" if holds else "**missed**"
        return
    why = rounds.failures.get(target.peer) or rounds.failures.get(OURS)
    for what, bound in (("cpu", target.cpu), ("memory", target.memory)):
        if bound:
            yield what, bound, "", f"not measured{f': {_cell(why)}' if why else ''}"


def _ratio(rounds: Rounds, peer: str) -> Ratio:
    return ratio(rounds.samples[OURS], rounds.samples[peer])


def _case(case: Case, by_size: Mapping[int, tuple[int, Rounds]]) -> Iterator[str]:
    yield f"## {case.title}\n"
    yield f"{case.about}\n"
    yield f"| {case.unit} | | CPU s | MB | ours / it: CPU | memory | rounds | run |"
    yield "|---:|---|---:|---:|---:|---:|---:|---:|"
    for size, (number, rounds) in by_size.items():
        for name, samples in rounds.samples.items():
            cells = [f"{size:,}", name, *_measured(samples), *_ratios(rounds, name), str(len(samples)), str(number)]
            yield f"| {' | '.join(cells)} |"
    yield ""
    if grown := list(_growth(by_size)):
        yield f"Growth of CPU and memory: {'; '.join(grown)}.\n"
    reasons: dict[tuple[str, str], list[str]] = {}
    for size, (_, rounds) in by_size.items():
        for name, why in rounds.failures.items():
            reasons.setdefault((name, why), []).append(f"{size:,}")
    if reasons:
        yield "Not measured:\n"
        yield from (f"- {name} at {', '.join(sizes)}: {_cell(why)}" for (name, why), sizes in reasons.items())
        yield ""


def _measured(samples: Sequence[Sample]) -> tuple[str, str]:
    return spread_text([sample.cpu_s for sample in samples]), spread_text(
        [sample.peak_mb for sample in samples], ",.0f"
    )


def _ratios(rounds: Rounds, name: str) -> tuple[str, str]:
    if name == OURS or OURS not in rounds.samples:
        return "", ""
    found = _ratio(rounds, name)
    several = min(len(rounds.samples[OURS]), len(rounds.samples[name])) > 1
    cpu = f"**{found.cpu.median:.2f}**"
    return cpu + (f" ({found.cpu.low:.2f}–{found.cpu.high:.2f})" if several else ""), f"{found.memory.median:.2f}"


def _growth(by_size: Mapping[int, tuple[int, Rounds]]) -> Iterator[str]:
    """The exponents of each contestant that was measured at two sizes or more."""
    names = list(dict.fromkeys(name for _, rounds in by_size.values() for name in rounds.samples))
    for name in names:
        of = {size: rounds.samples[name] for size, (_, rounds) in by_size.items() if name in rounds.samples}
        cpu = growth({size: statistics.median(s.cpu_s for s in samples) for size, samples in of.items()})
        memory = growth({size: statistics.median(s.peak_mb for s in samples) for size, samples in of.items()})
        if cpu is not None and memory is not None:
            yield f"{name} {cpu:.2f} and {memory:.2f}"


def _runs(results: Results) -> Iterator[str]:
    yield "## Runs\n"
    yield "| run | began | commit | machine | Python | load, at the end | ours | peers |"
    yield "|---:|---|---|---|---|---|---|---|"
    for number, run in results.runs.items():
        where = f"{run['cpu']}, {run['cpus']} CPUs, {run['memory_gb']} GB, {run['system']}"
        load = f"{run['load_at_beginning']}, {run.get('load_at_end', '')}"
        versions = [_pins(run["ours"]), _pins(run.get("peers", {}))]
        cells = [str(number), run["began"], run["commit"] or "", where, run["python"], load, *versions]
        yield f"| {' | '.join(cells)} |"


def _pins(versions: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
