"""The tables of the Debatrix paper: its p values from made verdicts, and every column on the real debates."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import scipy
from built_warehouse import begin_built
from command_line import debatebench_here
from paths import REPOSITORY
from test_judge_quality import SOURCE, JudgedRun, built, gold, near, one, rows, source

from debatebench.shared.records import Gold

TEAMS = ("OG", "OO", "CG", "CO")
COUNT_DEBATES, TRIALS = 22, 3
PUBLISHED = {"gpt-4": (19, 8, 0.0522), "chronological": (20, 6, 0.0094)}
"""Judge → trials that only Debatrix has right, that only it has right, and the p value of table 12."""


def verdicts_of_table_12() -> dict[str, list[bool]]:
    """Judge → which of the 66 trials it has right: Debatrix 34, GPT-4 23 and Chronological 20, as in table 5."""
    found = {"debatrix": [place < 34 for place in range(COUNT_DEBATES * TRIALS)]}
    for judge, (lost, won, _) in PUBLISHED.items():
        found[judge] = [lost <= place < 34 + won for place in range(COUNT_DEBATES * TRIALS)]
    return found


@pytest.fixture(scope="module")
def table_12() -> Iterator[duckdb.DuckDBPyConnection]:
    """Those trials, and a judge that completes none of the last debate. CO won every debate; who is wrong names OG."""
    run = JudgedRun("run")
    names = [f"b{n:02}" for n in range(COUNT_DEBATES)]
    for judge, right in {**verdicts_of_table_12(), "unfinished": [True] * 63 + [None] * 3}.items():
        run.judge(judge)
        for place, is_right in enumerate(right):
            won = {} if is_right is None else {None: ["CO" if is_right else "OG"]}
            run.verdict(
                judge, names[place // TRIALS], trial=place % TRIALS + 1, positions=TEAMS, won=won, is_valid=bool(won)
            )
    truths = [Gold(run_tag=SOURCE, debate_id=name, unit="winner", winning_positions=("CO",)) for name in names]
    con = built([*source(names, TEAMS), *truths], run.records)
    yield con
    con.close()


def test_table_12_is_mcnemars_exact_two_sided_test_over_66_trials(table_12: duckdb.DuckDBPyConnection) -> None:
    """Neither the one-sided test, nor mid-p, nor chi-squared with or without correction gives both published values."""
    for judge, (lost, won, published) in PUBLISHED.items():
        found = one(
            table_12,
            "select judge_a, count_debates, mcnemar_p_value, "
            "count_trials, count_trials_only_a, count_trials_only_b, trial_p_value, trial_reason "
            "from marts.panelbench_significance where list_sort([judge_a, judge_b]) = list_sort(['debatrix', ?])",
            judge,
        )
        only = (lost, won) if found["judge_a"] == "debatrix" else (won, lost)
        assert (found["count_trials"], found["count_debates"], found["trial_reason"]) == (66, 22, None)
        assert (found["count_trials_only_a"], found["count_trials_only_b"]) == only
        assert found["trial_p_value"] == pytest.approx(published, abs=5e-5)
        assert found["trial_p_value"] == near(scipy.stats.binomtest(lost, lost + won).pvalue)
        # With debates as the unit there is less evidence.
        assert found["mcnemar_p_value"] > found["trial_p_value"]


def test_the_papers_accuracy_is_the_hit_rate(table_12: duckdb.DuckDBPyConnection) -> None:
    query = (
        "select judge_id, round(100 * hit_rate, 2) as hit_rate, accuracy, completion_rate from marts.panelbench_main"
    )
    found = {row["judge_id"]: row for row in rows(table_12, query)}
    assert {judge: row["hit_rate"] for judge, row in found.items()} == {
        "debatrix": 51.52,
        "gpt-4": 34.85,
        "chronological": 30.3,
        "unfinished": 95.45,
    }
    assert (found["unfinished"]["accuracy"], found["unfinished"]["completion_rate"]) == (1, near(21 / 22))


def test_a_judge_that_did_not_finish_is_in_no_published_test(table_12: duckdb.DuckDBPyConnection) -> None:
    query = "select trial_p_value, trial_reason, count_trials from marts.panelbench_significance where judge_b = ?"
    assert [tuple(row.values()) for row in rows(table_12, query, "unfinished")] == [(None, "incomplete", 63)] * 3


def test_the_paired_t_test_has_a_trial_for_a_case() -> None:
    """Of 15 trials, the second judge has no scores in the last one. The third says what the first says."""
    said = {
        "a": ["pro", "pro", "con", "con", "con", "tie", "pro", "tie", "tie", "pro", "pro", "tie", "pro", "con", "pro"],
        "b": ["con", "pro", "con", "con", "tie", "con", "con", "tie", "pro", "pro", "con", "tie", "con", "con", None],
    }
    said["same"] = said["a"]
    errors = {"pro": 0.0, "tie": 0.25, "con": 1.0}
    run = JudgedRun("run", {"argument": ("1", "0")})
    for judge, winners in said.items():
        run.judge(judge)
        for place, winner in enumerate(winners):
            scores = {"pro": ("6", "5"), "con": ("5", "6"), "tie": ("5", "5"), None: None}[winner]
            run.verdict(
                judge,
                f"d{place // TRIALS}",
                trial=place % TRIALS + 1,
                scores=scores and {"argument": scores},
                is_valid=scores is not None,
            )
    names = [f"d{n}" for n in range(5)]
    con = built([*source(names), *(gold(name, "pro") for name in names)], run.records)
    query = "from marts.panelbench_significance where measure = 'score_comparison' order by judge_a, judge_b"
    other, same, _ = rows(con, query)
    con.close()
    first, second = ([errors[winner] for winner in said[judge][:14]] for judge in ("a", "b"))
    assert (other["count_trials"], other["count_trials_only_a"], other["trial_reason"]) == (14, None, None)
    assert other["trial_p_value"] == near(scipy.stats.ttest_rel(first, second).pvalue)
    assert (same["count_trials"], same["trial_p_value"], same["trial_reason"]) == (15, None, "no_variation")


# Every column on the real debates


CONFIGS = {"DebateArt": "panelbench.yaml", "BP-Competition": "panelbench_bp.yaml"}
JUDGES = """
judges:
  - {id: fair, provider: simulated, model: fair, parameters: {bias: 0.0, noise: 0.4}}
  - {id: biased, provider: simulated, model: biased, parameters: {bias: 1.0, noise: 0.4}}
"""
RULES = {"DebateArt": ("always_con", "always_tie", "longest"), "BP-Competition": ("always_oo", "majority_class")}
SOME = "debate_id like '%7' or format <> 'two_sided'"
"""Every debate of four teams, and some of two sides."""


@pytest.fixture(scope="module")
def panelbench(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Path:
    """Both collections: simulated judges score each dimension of some debates in three trials, and rules judge all."""
    root = begin_built(tmp_path_factory.mktemp("panelbench"))
    (root / "configs").mkdir()
    (root / "configs" / "judges.yaml").write_text(JUDGES)
    for name, config in CONFIGS.items():
        asked = ("judge", name, "--config-path", str(REPOSITORY / "configs" / config))
        trials = ("--judge-method", "dimensional_v1", "--repeat", str(TRIALS), "--where", SOME)
        rules = [part for rule in RULES[name] for part in ("--baseline", rule)]
        for call in (
            ("import", "panelbench", str(shared / "panelbench" / name), "--run-tag", name),
            (*asked, "--as", f"{name}-judged", *trials, "--no-build"),
            (*asked, "--as", f"{name}-rules", *rules, *(["--no-build"] if name == "DebateArt" else [])),
        ):
            done = debatebench_here(root, *call)
            assert done.code == 0, done.err
    return root


def cells(root: Path, sql: str) -> list[dict[str, Any]]:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        return rows(con, sql)


def filled(root: Path, sql: str) -> list[dict[str, Any]]:
    """The rows of a query, of which there are some and none of which has a null."""
    found = cells(root, sql)
    assert found, sql
    assert all(value is not None for row in found for value in row.values()), found
    return found


@pytest.mark.slow
def test_tables_2_and_4_are_what_people_said(panelbench: Path) -> None:
    found = filled(
        panelbench,
        "select dimension, count_pro, count_tie, count_con, round(rmse_to_overall, 2) as rmse "
        "from marts.gold_dimensions where run_tag = 'DebateArt'",
    )
    assert {row["dimension"]: row["rmse"] for row in found} == {
        "argument": 21.41,
        "language": 41.33,
        "overall": 0,
        "source": 40.82,
    }
    (overall,) = (row for row in found if row["dimension"] == "overall")
    assert (overall["count_pro"], overall["count_tie"], overall["count_con"]) == (21, 6, 33)
    won = filled(
        panelbench,
        "select position, count_won from marts.panelbench_positions where run_tag = 'BP-Competition-rules'",
    )
    assert {row["position"]: row["count_won"] for row in won} == {"OG": 4, "OO": 8, "CG": 4, "CO": 3, "none": 0}


@pytest.mark.slow
def test_table_5_has_judges_and_rules(panelbench: Path) -> None:
    judged = filled(
        panelbench,
        "select judge_id, rmse_score_comparison, rmse_direct_prediction, accuracy from marts.panelbench_main "
        "where run_tag = 'DebateArt-judged'",
    )
    assert {row["judge_id"] for row in judged} == {"fair", "biased"}
    rules = filled(
        panelbench,
        "select judge_id, count_debates, round(rmse_direct_prediction, 2) as rmse, "
        "round(100 * accuracy, 2) as accuracy from marts.panelbench_main where run_tag = 'DebateArt-rules'",
    )
    assert {row["judge_id"]: (row["rmse"], row["accuracy"], row["count_debates"]) for row in rules} == {
        "always_con": (61.24, 55.0, 60),
        "always_tie": (47.43, 10.0, 60),
        "longest": (58.45, 58.33, 60),
    }
    teams = filled(
        panelbench,
        "select judge_id, completion_rate, hit_rate, count_debates from marts.panelbench_main "
        "where format = 'british_parliamentary'",
    )
    by_judge = {row["judge_id"]: row for row in teams}
    assert set(by_judge) == {"fair", "biased", *RULES["BP-Competition"]}
    assert {row["count_debates"] for row in teams} == {11}
    assert by_judge["always_oo"]["hit_rate"] == near(8 / 11)


@pytest.mark.slow
def test_table_7_counts_the_teams_that_judges_name(panelbench: Path) -> None:
    found = filled(
        panelbench,
        "select judge_id, position, chosen_rate, gold_rate, count_debates from marts.panelbench_positions "
        "where run_tag = 'BP-Competition-judged'",
    )
    assert {(row["judge_id"], row["position"]) for row in found} == {
        (judge, team) for judge in ("fair", "biased") for team in (*TEAMS, "none")
    }
    for judge in ("fair", "biased"):
        assert sum(row["chosen_rate"] for row in found if row["judge_id"] == judge) == near(1)
        assert sum(row["gold_rate"] for row in found if row["judge_id"] == judge) == near(1)


@pytest.mark.slow
def test_table_12_has_both_units(panelbench: Path) -> None:
    found = filled(
        panelbench,
        "select format, measure, count_debates, count_trials, trial_p_value, p_value "
        "from marts.panelbench_significance where run_a like '%-judged' and run_a = run_b",
    )
    some = cells(panelbench, f"select count(*) as n from marts.debates where run_tag = 'DebateArt' and ({SOME})")[0][
        "n"
    ]
    assert {(row["format"], row["measure"]): (row["count_debates"], row["count_trials"]) for row in found} == {
        ("two_sided", "score_comparison"): (some, some * TRIALS),
        ("two_sided", "direct_prediction"): (some, some * TRIALS),
        ("two_sided", "accuracy"): (some, some * TRIALS),
        ("british_parliamentary", "accuracy"): (11, 11 * TRIALS),
    }


@pytest.mark.slow
def test_table_13_has_both_errors_on_every_dimension(panelbench: Path) -> None:
    found = filled(
        panelbench,
        "select judge_id, dimension, rmse_score_comparison, rmse_direct_prediction, rmse_to_overall "
        "from marts.panelbench_dimensions where run_tag = 'DebateArt-judged'",
    )
    assert {(row["judge_id"], row["dimension"]) for row in found} == {
        (judge, name) for judge in ("fair", "biased") for name in ("argument", "source", "language")
    }


@pytest.mark.slow
def test_sizes_are_counted_and_are_those_of_the_collections_flags(panelbench: Path, shared: Path) -> None:
    with (shared / "panelbench" / "DebateArt" / "gold" / "final.csv").open(newline="") as file:
        flags = list(csv.DictReader(file))
    found = filled(
        panelbench,
        "select measure, size, count_debates, rmse_direct_prediction, accuracy from marts.panelbench_sizes "
        "where judge_id = 'longest'",
    )
    sizes = {(row["measure"], row["size"]): row["count_debates"] for row in found}
    for measure, yes in (("is_long", "long"), ("is_many_round", "many rounds")):
        assert sizes[measure, yes] == sum(row[measure] == "True" for row in flags)
    assert {measure: sum(n for (one, _), n in sizes.items() if one == measure) for measure, _ in sizes} == {
        "is_long": 60,
        "is_many_round": 60,
        "speeches": 60,
        "tokens": 60,
    }
