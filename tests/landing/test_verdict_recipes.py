"""The recipes of docs/verdicts.md, run as they stand on generated tournaments of each shape, and rated."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import chdir
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from command_line import debatebench_here
from paths import REPOSITORY

pytestmark = pytest.mark.slow

Game = tuple[str, str, str]
"""The debaters for pro and con, and who won."""

NAMES = ("ash", "birch", "cedar", "oak")
STRENGTH = dict(zip(NAMES, (-0.6, -0.1, 0.2, 0.5), strict=True))
PAIRS = list(combinations(NAMES, 2))
MOTIONS = ("Cats are better.", "Trains are better.")
HOSTILE = "=1+1 <b>bold</b> \u202etxt"


def recipes() -> dict[str, list[tuple[str, str]]]:
    """Heading → its blocks as (language, text)."""
    page = (REPOSITORY / "docs" / "verdicts.md").read_text(encoding="utf-8").split("## Recipes")[1]
    parts = re.split(r"^### (.+)$", page, flags=re.M)[1:]
    blocks = re.compile(r"^```(python|sh)\n(.*?)^```$", re.M | re.S)
    return {title: blocks.findall(text) for title, text in zip(parts[::2], parts[1::2], strict=True)}


def voted(rng: random.Random, pro: str, con: str) -> str:
    if rng.random() < 0.15:
        return "tie"
    return "pro" if rng.random() < 1 / (1 + np.exp(STRENGTH[con] - STRENGTH[pro])) else "con"


def more(votes: Sequence[str]) -> str:
    counts = Counter(votes)
    return "pro" if counts["pro"] > counts["con"] else "con" if counts["con"] > counts["pro"] else "tie"


def write_lines(path: Path, rows: Sequence[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def mt_bench(folder: Path) -> tuple[list[Game], dict[str, str]]:
    """Two games of one judge for each pair and question; the rated games, and who wins in both orders."""
    rng, rows, games, both = random.Random(1), [], [], {}
    words = {"pro": "model_1", "con": "model_2", "tie": "tie"}
    for question in range(81, 93):
        for pro, con in PAIRS:
            first, second = voted(rng, pro, con), voted(rng, pro, con)
            is_error = question == 81
            games += [] if is_error else [(pro, con, first)]
            row = {"question_id": question, "model_1": pro, "model_2": con, "turn": 1, "judge": ["gpt-4", "pair-v2"]}
            row |= {"g1_winner": "error" if is_error else words[first], "g2_winner": words[second]}
            rows.append({**row, "g1_judgment": HOSTILE, "g2_judgment": "B is better.", "tstamp": 1.5})
            if not is_error:
                both[f"{question}-1-{pro}-{con}"] = first if first == second else "tie"
    write_lines(folder / "gpt-4_pair.jsonl", rows)
    questions = [{"question_id": n, "category": "writing", "turns": [f"Write {n}.", "Again."]} for n in range(81, 93)]
    write_lines(folder / "question.jsonl", questions)
    return games, both


def season(folder: Path) -> list[Game]:
    """Three judges with margins on each match; the topic t0 has two motions."""
    rng, lines, games = random.Random(2), ["match,judge,margin,motion_id,motion,proposition,opposition"], []
    for round_number in range(8):
        for number, (pro, con) in enumerate(PAIRS):
            votes = [voted(rng, pro, con) for _ in range(3)]
            games.append((pro, con, more(votes)))
            motion = MOTIONS[round_number % 2] if round_number < 2 else f"Motion {round_number}."
            topic = 0 if round_number < 2 else round_number
            for judge, vote in enumerate(votes):
                margin = {"pro": 1, "con": -1, "tie": 0}[vote] * rng.choice((0.5, 3, 12))
                lines.append(f"m{round_number}-{number},judge {judge},{margin},t{topic},{motion},{pro},{con}")
    (folder / "results.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return games


def inspect_log(folder: Path) -> list[Game]:
    """Samples of two epochs with speeches as text or in parts, judged by three scorers, one of which may fail."""
    rng, samples, games = random.Random(3), [], []
    for number in range(5):
        for epoch in (1, 2):
            for index, (pro, con) in enumerate(PAIRS):
                votes = [voted(rng, pro, con) for _ in range(2)]
                games.append((pro, con, more(votes)))
                values = [*votes, "N"]
                samples.append(
                    {
                        "id": number * len(PAIRS) + index,
                        "epoch": epoch,
                        "input": "Debate.",
                        "messages": [
                            {"role": "user", "content": "Debate."},
                            {"role": "assistant", "content": "For."},
                            {"role": "assistant", "content": [{"type": "text", "text": "Against."}]},
                        ],
                        "metadata": {"motion": f"Motion {number}-{index}.", "pro": pro, "con": con},
                        "scores": {
                            f"judge_{place}": {"value": value, "explanation": "Because."}
                            for place, value in enumerate(values)
                        },
                    }
                )
    (folder / "log.json").write_text(json.dumps({"version": 2, "samples": samples}), encoding="utf-8")
    return games


def fitted(games: Sequence[Game], initial: float) -> dict[str, float]:
    """Bradley–Terry ratings by Newton's method; a tie is half a win for each."""
    log = np.zeros(len(NAMES))
    for _ in range(50):
        slope, curve = np.zeros(len(NAMES)), np.zeros((len(NAMES), len(NAMES)))
        for pro, con, winner in games:
            i, j = NAMES.index(pro), NAMES.index(con)
            chance = 1 / (1 + np.exp(log[j] - log[i]))
            gain = {"pro": 1.0, "con": 0.0, "tie": 0.5}[winner] - chance
            slope[i] += gain
            slope[j] -= gain
            for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                curve[a, b] += sign * chance * (1 - chance)
        log += np.linalg.lstsq(curve, slope, rcond=None)[0]
        log -= log.mean()
    return {name: initial + 400 / np.log(10) * value for name, value in zip(NAMES, log, strict=True)}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[duckdb.DuckDBPyConnection, dict[str, Any]]]:
    """A warehouse with the three tournaments, imported by the recipes, and what was generated."""
    root = tmp_path_factory.mktemp("recipes")
    pairwise, both = mt_bench(root)
    made: dict[str, Any] = {"mt_bench": pairwise, "both": both, "season": season(root), "inspect": inspect_log(root)}
    made["said"] = ""
    found = recipes()
    assert len(found) == 3
    with chdir(root):
        for blocks in found.values():
            for language, text in blocks:
                if language == "python":
                    exec(compile(text, "verdicts.md", "exec"), {})
                    continue
                words = text.split()
                done = debatebench_here(root, *words[1:], *([] if "inspect" in words else ["--no-build"]))
                assert done.code == 0, done.err
                made["said"] += done.out + done.err
    assert debatebench_here(root, "build").code == 0
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        yield con, made


@pytest.mark.parametrize("tag", ["mt_bench", "season", "inspect"])
def test_ratings_of_imported_verdicts_are_those_of_an_independent_fit(
    imported: tuple[duckdb.DuckDBPyConnection, dict[str, Any]], tag: str
):
    con, made = imported
    rows = con.execute("select model_id, rating from ratings.bradley_terry where run_tag = ?", [tag]).fetchall()
    ((initial,),) = con.execute("select elo_initial_rating from raw.runs where run_tag = ?", [tag]).fetchall()
    assert dict(rows) == pytest.approx(fitted(made[tag], initial), abs=1e-6)
    played = con.execute("select count(*) from marts.games where run_tag = ?", [tag]).fetchone()
    assert played == (len(made[tag]),)
    assert con.execute("select count(*) from raw.verdicts where scores is not null").fetchone() == (0,)


def test_both_games_of_a_pair_are_trials_and_version_3_wants_both_won(
    imported: tuple[duckdb.DuckDBPyConnection, dict[str, Any]],
):
    con, made = imported
    found = dict(
        con.execute("select debate_id, winner from marts.panel_winners_v3 where run_tag = 'mt_bench'").fetchall()
    )
    assert {debate_id: found[debate_id] for debate_id in made["both"]} == made["both"]
    first = con.execute(
        "select judge_id, presented_first, count(*) from raw.verdicts where run_tag = 'mt_bench' "
        "group by all order by all"
    ).fetchall()
    assert first == [("gpt-4", "con", 72), ("gpt-4", "pro", 72)]
    reasons = con.execute(
        "select distinct text from marts.judge_notes where run_tag = 'mt_bench' order by 1"
    ).fetchall()
    assert reasons == [(HOSTILE,), ("B is better.",)]


def test_two_motions_under_one_id_are_two_topics_and_are_named(
    imported: tuple[duckdb.DuckDBPyConnection, dict[str, Any]],
):
    con, made = imported
    topics = con.execute(
        "select topic_id, motion from raw.topics where run_tag = 'season' and topic_id like 't0%' order by 1"
    ).fetchall()
    assert topics == [("t0", MOTIONS[0]), ("t0~2", MOTIONS[1])]
    assert (
        "The topic 't0' has another motion in tournament.csv:20 than before; it is kept apart as 't0~2'."
        in made["said"]
    )
    margins = con.execute(
        "select distinct (metadata ->> '$.margin')::double from raw.verdicts where run_tag = 'season' and "
        "declared_winner = 'con' order by 1"
    ).fetchall()
    assert margins == [(-12.0,), (-3.0,), (-0.5,)]


def test_a_log_brings_its_speeches_and_a_scorer_without_a_winner_has_no_vote(
    imported: tuple[duckdb.DuckDBPyConnection, dict[str, Any]],
):
    con, _ = imported
    turns = con.execute(
        "select side, content, count(*) from raw.turns where run_tag = 'inspect' group by all order by 1"
    ).fetchall()
    assert turns == [("con", "Against.", 60), ("pro", "For.", 60)]
    silent = con.execute(
        "select count(*) from marts.judge_verdicts where run_tag = 'inspect' and judge_id = 'judge_2' and not is_valid"
    ).fetchone()
    assert silent == (60,)
