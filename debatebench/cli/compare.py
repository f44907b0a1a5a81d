"""Commands that compare two runs or two benchmark versions: compare, gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from debatebench.cli.common import (
    FormatOption,
    built_workspace,
    format_option,
    note,
    print_caption,
    print_json,
    print_rows,
    say,
    stated_options,
    warn,
    workspace_of,
)
from debatebench.query.differences import (
    CAPTIONS,
    CHANGES,
    DECIMALS,
    measure_rows,
    picked,
    rounded,
)
from debatebench.shared.amounts import counted
from debatebench.shared.errors import RegressionError, UsageError
from debatebench.shared.formats import Format
from debatebench.shared.visible_text import shortened

if TYPE_CHECKING:
    from debatebench.query.attack_gate import AttackGate
    from debatebench.query.comparison import Comparison, Trend
    from debatebench.query.gate import GateResult

Rows = Sequence[Mapping[str, Any]]


_NAME = "A run tag or benchmark version; run:NAME or version:NAME if the name is both."
_MOST_FLIPPED = 10
_LONGEST = 60


def compare(
    context: typer.Context,
    baseline: Annotated[str, typer.Argument(help=f"What to compare with. {_NAME}")],
    candidate: Annotated[str, typer.Argument(help="What to compare.")],
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MORE]...", help="Further ones: a table of each debater's way from one to the next."),
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Also print equal settings, unchanged dimensions and all flipped debates.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Compare two runs or benchmark versions, or more.

    Print whether they are like for like, and what changed, with intervals.
    """
    built_workspace(context)
    if more:
        _compare_many(context, [baseline, candidate, *more], show_all, output)
        return
    comparison = _comparison(context, baseline, candidate)
    if output is Format.JSON:
        print_json(_as_data(comparison))
    elif output.is_one_table:
        _print_rows(comparison.debaters, output)
    else:
        _print_comparison(comparison, show_all, output)
    _note_doubts(comparison)


def gate(
    context: typer.Context,
    subjects: Annotated[
        list[str],
        typer.Argument(
            metavar="[BASELINE] CANDIDATE",
            help=f"What to compare with, and what to check. {_NAME} --max-attack-success checks a candidate by itself.",
        ),
    ],
    max_drop: Annotated[float, typer.Option("--max-drop", min=0, help="Largest drop of a rating, in points.")] = 25.0,
    max_win_rate_drop: Annotated[
        float | None,
        typer.Option("--max-win-rate-drop", min=0, max=1, help="Largest drop of a win rate, such as 0.05."),
    ] = None,
    max_score_drop: Annotated[
        float | None, typer.Option("--max-score-drop", min=0, help="Largest drop of a mean score, in points.")
    ] = None,
    max_cost_increase: Annotated[
        float | None,
        typer.Option("--max-cost-increase", min=0, help="Largest rise of the cost per debate, such as 0.2 for 20%."),
    ] = None,
    max_agreement_drop: Annotated[
        float | None,
        typer.Option("--max-agreement-drop", min=0, max=1, help="Largest drop of the judge agreement, such as 0.1."),
    ] = None,
    max_attack_success: Annotated[
        float | None,
        typer.Option(
            "--max-attack-success",
            min=0,
            max=1,
            help="Largest share of debates in which an attack of `probe-judges` wins over a judge, such as 0.1.",
        ),
    ] = None,
    debater: Annotated[list[str] | None, typer.Option("--debater", help="Check only this debater. Repeatable.")] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Pass debaters that are missing from the candidate.")
    ] = False,
    require_comparable: Annotated[
        bool, typer.Option("--require-comparable", help="Fail if the two are not known to be like for like.")
    ] = False,
    output: Annotated[Format, format_option(Format.JUNIT)] = Format.TABLE,
) -> None:
    """Fail if the candidate is worse than the baseline.

    The exit code is 6 if a measure got worse by more than its limit, and by more than chance explains, or if an attack
    leads a judge more often than --max-attack-success.
    """
    from debatebench.query.gate import GateLimits, check_gate, power_sentence
    from debatebench.warehouse.up_to_date import check_fits

    if len(subjects) > 2:
        raise UsageError(f"A gate compares two runs or versions, and these are {len(subjects)}: {', '.join(subjects)}.")
    baseline, candidate = subjects[0], subjects[-1]
    if len(subjects) == 1:
        _refuse_without_baseline(stated_options(context), candidate)
    # A pipeline must not pass on the numbers of another version.
    check_fits(workspace_of(context), None)
    attacks = None if max_attack_success is None else _attacks(context, candidate, max_attack_success)
    if len(subjects) == 1 and attacks is not None:
        result, found = None, _attack_gate_data(candidate, attacks)
        rows = found["attack_checks"]
    else:
        comparison = _comparison(context, baseline, candidate)
        limits = GateLimits(max_drop, max_win_rate_drop, max_score_drop, max_cost_increase, max_agreement_drop)
        result = check_gate(
            comparison,
            limits,
            debaters=debater or (),
            allow_missing=allow_missing,
            require_comparable=require_comparable,
        )
        found = _gate_data(comparison, result, attacks)
        rows = found["checks"]
    if output is Format.JUNIT:
        say(_gate_junit(" against ".join(subjects[::-1]), result, attacks, found), keep_lines=True)
    elif output is Format.JSON:
        print_json(found)
    elif output.is_one_table:
        _print_rows(rows, output)
    else:
        if result is not None:
            say("What this gate can find:", output)
            for power in result.power:
                say(power_sentence(power), output)
            _print_checks(result, output)
        _print_attack_checks(attacks, output)
    for warning in found["warnings"]:
        warn(f"{warning}.")
    if not found["is_passed"]:
        raise RegressionError(found["summary"])
    note(found["summary"])


def _gate_junit(suite: str, result: GateResult | None, attacks: AttackGate | None, found: Mapping[str, Any]) -> str:
    from debatebench.cli.gate_junit import GateCase, junit_text
    from debatebench.query import attack_gate
    from debatebench.query.gate import described, missing_sentence

    cases = [
        GateCase(
            check.measure,
            check.model_id or "all judges",
            check.outcome,
            missing_sentence(str(check.model_id)) if check.outcome == "missing" else described(check),
        )
        for check in (() if result is None else result.checks)
    ]
    cases += [
        GateCase(
            f"attack {check.attack}", f"{check.judge_id} ({check.run_tag})", check.outcome, attack_gate.described(check)
        )
        for check in (() if attacks is None else attacks.checks)
    ]
    return junit_text(suite, cases, found["failures"], found["warnings"])


def _refuse_without_baseline(given: Mapping[str, str], candidate: str) -> None:
    """Raise `UsageError` for options that need a baseline, or where none of the others is given."""
    comparing = [option for name, option in given.items() if name not in ("subjects", "max_attack_success", "output")]
    if comparing or "max_attack_success" not in given:
        what = f"{comparing[0]} compares" if comparing else "a gate compares"
        raise UsageError(
            f"There is no baseline for '{candidate}', and {what} with one: `debatebench gate BASELINE CANDIDATE`; only "
            "--max-attack-success checks a candidate by itself."
        )


def _comparison(context: typer.Context, baseline: str, candidate: str) -> Comparison:
    from debatebench.query.comparison import compare as compare_subjects
    from debatebench.query.comparison import find_subject
    from debatebench.query.safe_query import open_for_reading

    with open_for_reading(workspace_of(context).database) as con:
        return compare_subjects(con, find_subject(con, baseline), find_subject(con, candidate))


def _attacks(context: typer.Context, candidate: str, limit: float) -> AttackGate:
    from debatebench.query.attack_gate import check_attacks
    from debatebench.query.comparison import find_subject
    from debatebench.query.safe_query import open_for_reading

    with open_for_reading(workspace_of(context).database) as con:
        return check_attacks(con, find_subject(con, candidate).run_tags, limit)


def _print_attack_checks(attacks: AttackGate | None, output: Format) -> None:
    names = ("outcome", "judge_id", "attack", "success_rate", "ci_low", "ci_high", "allowed", "p_value", "detectable")
    if attacks is not None:
        print_caption("Attacks: share of debates that the attacker won with the attack and had not won without", output)
        rows = [{name: rounded("", getattr(check, name)) for name in names} for check in attacks.checks]
        _print_rows(rows, output)


def _note_doubts(found: Comparison | Trend) -> None:
    from debatebench.query.comparison import doubts

    for doubt in doubts(found):
        warn(doubt)


# --- data -------------------------------------------------------------------------------------------------------------


def _as_data(comparison: Comparison) -> dict[str, Any]:
    """The comparison as one object; its rows are those of the SQL models."""
    return {
        "baseline": asdict(comparison.baseline),
        "candidate": asdict(comparison.candidate),
        "outcome": comparison.outcome,
        "comparability": {**comparison.verdict, "items": comparison.items, "basis": comparison.basis()},
        "debaters": comparison.debaters,
        "judges": comparison.judges,
        "panels": comparison.panels,
        "debates": {**comparison.debates, "flipped_debates": comparison.flipped},
        "sql_models": comparison.sql_models,
        "unfinished": comparison.unfinished,
        "pools": comparison.pools,
    }


def _gate_data(comparison: Comparison, result: GateResult, attacks: AttackGate | None) -> dict[str, Any]:
    """The outcome of a gate against a baseline, with that under attack if it is checked too."""
    if attacks is not None:
        failures, warnings = (*result.failures, *attacks.failures), (*result.warnings, *attacks.warnings)
        result = replace(result, failures=failures, warnings=warnings)
    summary = f"Passed: {comparison.candidate} against {comparison.baseline}, {counted(len(result.checks), 'check')}."
    if not result.is_passed:
        summary = f"{comparison.candidate} fails against {comparison.baseline}: {'; '.join(result.failures)}."
    return {
        "is_passed": result.is_passed,
        "summary": summary,
        "baseline": asdict(comparison.baseline),
        "candidate": asdict(comparison.candidate),
        "comparability": comparison.verdict,
        "power": [asdict(power) for power in result.power],
        "checks": [asdict(check) for check in result.checks],
        "failures": result.failures,
        "warnings": result.warnings,
        **({} if attacks is None else {"attack_checks": [asdict(check) for check in attacks.checks]}),
    }


def _attack_gate_data(candidate: str, attacks: AttackGate) -> dict[str, Any]:
    """The outcome of a gate that checks attacks only."""
    summary = f"Passed: {candidate} under attack, {counted(len(attacks.checks), 'check')}."
    if attacks.failures:
        summary = f"{candidate} fails under attack: {'; '.join(attacks.failures)}."
    return {
        "is_passed": not attacks.failures,
        "summary": summary,
        "attack_checks": [asdict(check) for check in attacks.checks],
        "failures": attacks.failures,
        "warnings": attacks.warnings,
    }


# --- for people -------------------------------------------------------------------------------------------------------


def _print_comparison(comparison: Comparison, show_all: bool, output: Format) -> None:
    """Print the tables for people, one below the other."""
    for sentence in comparison.sentences():
        say(sentence, output)
    say(f"SQL models of the winners, in both: {', '.join(comparison.sql_models.values())}.", output)
    items = [item for item in comparison.items if show_all or item["state"] != "same"]
    if items:
        print_caption("Settings" if show_all else "Settings that differ or are unknown", output)
        _print_rows([_item_row(item) for item in items], output)
    for measure in ("rating", "win_rate", "mean_score"):
        _print_measure(comparison, measure, output)
    _print_dimensions(comparison, show_all, output)
    _print_measure(comparison, "turn_cost_usd", output)
    for row in comparison.panels:
        if row["measure"] == "agreement":
            print_caption(CAPTIONS["agreement"], output)
            _print_rows([picked(row, (*CHANGES, "method"))], output)
    if comparison.judges:
        print_caption("Judges: agreement with the rest of the panel, lean to pro (-1 to 1), leniency", output)
        names = ("judge_id", "measure", *CHANGES, "method")
        _print_rows([picked(row, names) for row in comparison.judges], output)
    _print_flipped(comparison, show_all, output)


def _compare_many(context: typer.Context, names: Sequence[str], show_all: bool, output: Format) -> None:
    """Print how each debater does from one subject to the next."""
    from debatebench.query.comparison import find_subject, trend
    from debatebench.query.safe_query import open_for_reading

    with open_for_reading(workspace_of(context).database) as con:
        found = trend(con, [find_subject(con, name) for name in names])
    if output is Format.JSON:
        print_json({**asdict(found), "subjects": [asdict(subject) for subject in found.subjects]})
    elif output.is_one_table:
        _print_rows(found.rows, output)
    else:
        say(f"From one to the next: {', '.join(map(str, found.subjects))}.", output)
        for (before, after), verdict in zip(pairwise(found.subjects), found.verdicts, strict=True):
            say(f"{after.name} against {before.name}: {verdict['explanation']}", output)
        for measure in dict.fromkeys(row["measure"] for row in found.rows):
            if show_all or measure != "dimension_score":
                print_caption(CAPTIONS[measure], output)
                _print_rows(_trend_rows(found, measure), output)
        note("A change is over the debates that both have, with its 95 % interval; it need not be that of the values.")
    _note_doubts(found)


def _trend_rows(found: Trend, measure: str) -> list[dict[str, Any]]:
    """One row for each debater, and for each dimension of it: its values, and the changes between them."""
    of_debaters: dict[tuple[str, str | None], dict[int, Mapping[str, Any]]] = {}
    for row in found.rows:
        if row["measure"] == measure:
            of_debaters.setdefault((row["model_id"], row["dimension"]), {})[row["position"]] = row
    table = []
    for (model_id, dimension), rows in of_debaters.items():
        shown: dict[str, Any] = {"model_id": model_id} | ({"dimension": dimension} if dimension else {})
        for position, subject in enumerate(found.subjects, 1):
            if position > 1:
                shown[f"change {position}"] = _change_text(measure, rows.get(position, {}))
            value = rows[position]["value"] if position in rows else None
            shown[f"{position}: {subject.name}"] = rounded(measure, value)
        table.append(shown)
    return table


def _change_text(measure: str, row: Mapping[str, Any]) -> str | None:
    """A difference with its interval, such as `+12.5 (-3.1 to +28.1)`; None if there is none."""
    if row.get("difference") is None:
        return None
    digits = DECIMALS[measure]
    text = f"{row['difference']:+.{digits}f}"
    if row["difference_ci_low"] is None:
        return text
    return f"{text} ({row['difference_ci_low']:+.{digits}f} to {row['difference_ci_high']:+.{digits}f})"


def _print_measure(comparison: Comparison, measure: str, output: Format) -> None:
    if rows := measure_rows(comparison.debaters, measure):
        print_caption(CAPTIONS[measure], output)
        _print_rows(rows, output)


def _print_dimensions(comparison: Comparison, show_all: bool, output: Format) -> None:
    """Print all scores by dimension, or only those that changed by more than chance."""
    rows = [row for row in comparison.debaters if row["measure"] == "dimension_score"]
    changed = [row for row in rows if row["is_settled"]]
    shown = rows if show_all else changed
    if shown:
        caption = "Scores by dimension"
        print_caption(
            caption if show_all else f"{caption}: {len(changed)} of {len(rows)} changed by more than chance",
            output,
        )
        _print_rows([picked(row, ("model_id", "dimension", *CHANGES, "method")) for row in shown], output)


def _print_flipped(comparison: Comparison, show_all: bool, output: Format) -> None:
    debates = comparison.debates
    if not debates["matched"]:
        text = "The two have no debate in common: no topic was debated by the same debaters on the same sides."
        print_caption(text, output)
        return
    rate = f" ({debates['flip_rate']:.1%})" if debates["flip_rate"] is not None else ""
    print_caption(
        f"Of {debates['decided']} debates decided in both, {debates['flipped']}{rate} have a different winner", output
    )
    rows = comparison.flipped if show_all else comparison.flipped[:_MOST_FLIPPED]
    names = ("topic_id", "pro_model_id", "con_model_id", "repetition", "baseline_winner", "candidate_winner")
    if rows:
        _print_rows([{name: row[name] for name in names} for row in rows], output)
    if len(rows) < len(comparison.flipped):
        note(f"{len(rows)} of {len(comparison.flipped)} flipped debates are shown; --all shows all.")


def _item_row(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "setting": item["setting"],
        "state": item["state"],
        "baseline": shortened(item["baseline_value"], _LONGEST),
        "candidate": shortened(item["candidate_value"], _LONGEST),
    }


def _print_checks(result: GateResult, output: Format) -> None:
    """Print one table for each measure."""
    names = ("outcome", "model_id", *CHANGES, "allowed", "detectable", "count_topics_needed")
    for measure in dict.fromkeys(check.measure for check in result.checks):
        own = [check for check in result.checks if check.measure == measure]
        print_caption(CAPTIONS[measure], output)
        rows = [{name: rounded(measure, getattr(check, name)) for name in names} for check in own]
        _print_rows(rows, output)


def _print_rows(rows: Rows, output: Format) -> None:
    """Print rows that all have the same columns."""
    print_rows(list(rows[0]) if rows else [], [list(row.values()) for row in rows], output)
