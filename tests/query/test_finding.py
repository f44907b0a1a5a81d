"""Finding the table that answers a question: by words, by subject, and by the questions that it is written for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest
from built_warehouse import begin_built, packaged_project, stored
from command_line import debatebench_here
from paths import REPOSITORY
from questions import QUESTIONS, Question
from two_runs import two_runs

from debatebench.output.docs.marts_page import render_marts_page
from debatebench.query.finding import Described, find, first_sentence, read_described, stem
from debatebench.query.safe_query import open_for_reading, run_query
from debatebench.shared.workspace import Workspace
from debatebench.transform.short_names import short_names

pytestmark = pytest.mark.slow

__all__ = ["two_runs"]

PROJECT = packaged_project()
GOLDEN = {
    "golden": ("debatebench", "debatebench-v0/golden/debates.jsonl"),
    "flow": ("debateflow", "debateflow"),
    "art": ("panelbench", "panelbench/DebateArt"),
}


@pytest.fixture(scope="module")
def golden(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the golden debates of the original harness, and debates that people judged."""
    root = begin_built(tmp_path_factory.mktemp("golden"))
    for number, (tag, (source_format, path)) in enumerate(GOLDEN.items(), 1):
        line = ["import", source_format, str(shared / path), "--run-tag", tag]
        done = debatebench_here(root, *line, *(["--no-build"] if number < len(GOLDEN) else []))
        assert done.code == 0, done.err
    return root


@pytest.fixture
def described(two_runs: Path) -> list[Described]:
    with open_for_reading(Workspace(two_runs).database) as con:
        return read_described(con)


# --- questions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("warehouse", ["two_runs", "played", "golden"])
def test_the_sql_of_every_question_runs(request: pytest.FixtureRequest, tmp_path: Path, warehouse: str):
    database = stored(Path(shutil.copy(Workspace(request.getfixturevalue(warehouse)).database, tmp_path)))
    asked = 0
    with open_for_reading(database) as con:
        for name in short_names(PROJECT).values():
            for question in PROJECT.models[name].properties.questions:
                result = run_query(con, question.sql)
                assert len(set(result.columns)) == len(result.columns) > 1, question.question
                asked += 1
    assert asked > 50


def test_the_tables_to_start_with_have_rows(two_runs: Path):
    empty = {"marts.annotations", "marts.judge_robustness", "marts.weakness_detection", "marts.panelbench_main"}
    starts = {name for name in short_names(PROJECT).values() if PROJECT.models[name].properties.start_here}
    assert empty < starts
    for name in starts:
        (first, *_) = PROJECT.models[name].properties.questions
        assert bool(run_query(Workspace(two_runs).database, first.sql).rows) == (name not in empty), name


def test_no_subject_has_two_tables_to_start_with():
    subjects = [Path(m.path).parent for m in PROJECT.models.values() if m.properties.start_here and m.version is None]
    assert len(set(subjects)) == len(subjects) > 8


@pytest.mark.slow_inputs
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.noun)
def test_a_question_is_answered_by_one_mart_that_its_words_find(described: list[Described], question: Question):
    answers = PROJECT.models[question.mart].properties.questions
    assert [each for each in answers if question.mart in each.sql]

    def place(words: str) -> int:
        names = [found.name for found in find(described, words) if found.name.count(".") == 1]
        assert question.mart in names, words
        return names.index(question.mart) + 1

    assert place(question.noun) <= 2
    assert {words: place(words) for words in question.synonyms if place(words) > 3} == {}


def test_the_page_of_the_marts_is_what_the_descriptions_say():
    page = (REPOSITORY / "docs" / "marts.md").read_text(encoding="utf-8")
    assert page == render_marts_page(PROJECT), "run `make docs`"
    for name in short_names(PROJECT).values():
        assert f"`{name}`" in page
    original = page.partition("## The original harness")[2]
    assert original.count("| `original.") == len(
        [m for m in PROJECT.models.values() if m.schema == "original" and m.version is None]
    )


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("verbosity", "verbose"),
        ("retry", "retries", "retried", "retrying"),
        ("truncate", "truncated", "truncation", "truncating"),
        ("refusal", "refusals", "refused", "refuses"),
        ("cut", "cutting", "cuts"),
        ("judge", "judges", "judged", "judging"),
        ("wordy", "wordier"),
        ("cycle", "cycles"),
    ],
    ids=lambda words: words[0],
)
def test_forms_of_a_word_have_one_stem(words: tuple[str, ...]):
    assert len({stem(word) for word in words}) == 1


def test_a_word_is_found_in_names_and_texts_of_the_file_and_nowhere_else():
    with duckdb.connect() as con:
        con.execute(
            "create schema shop; create table shop.sales (cents integer, town varchar); "
            "create view shop.towns as select town from shop.sales; create table shop.misc (x integer)"
        )
        con.execute("comment on table shop.sales is 'What was sold. Verbosity has no place here.'")
        con.execute("comment on column shop.sales.cents is 'The price.'; comment on column shop.towns.town is 'Where.'")
        described = read_described(con)
    assert [(found.name, found.matched) for found in find(described, "prices")] == [("shop.sales", "text of cents")]
    assert [found.name for found in find(described, "town")] == ["shop.towns", "shop.sales"]
    assert [(found.name, found.text) for found in find(described, "verbose")] == [("shop.sales", "What was sold.")]
    assert find(described, "of the") == find(described, "nonsense") == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Whole.",
        "Is it? ",
        "The tokens that Debatrix estimates (Liang et al. 2024, appendix A), over valid verdicts.",
        "As Liang et al. found.",
        "It follows Liang et al.",
        "A service, e.g. Vicuna, or i.e. `this` one.",
        "Pro vs. Con, cf. Wilson, by approx. 3.5 points!",
        "Table No. 3 and Fig. 2 on pp. 4–5.",
        "Which of them count, or not: no.",
        "Speeches, verdicts etc. of a run.",
        "Of the version v1.2 and `marts.debates`.",
    ],
)
def test_a_full_stop_of_an_abbreviation_does_not_end_the_first_sentence(sentence: str):
    assert first_sentence(f"{sentence.strip()} Then comes another. And one.") == sentence.strip()
    assert first_sentence(sentence.strip()) == sentence.strip()


def test_a_text_without_a_full_stop_is_one_sentence():
    assert first_sentence("no end") == "no end"
    assert first_sentence("") == ""


# --- commands ---------------------------------------------------------------------------------------------------------


def ask(root: Path, *words: str) -> list[dict[str, str]]:
    done = debatebench_here(root, "query", *words, "--format", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_find_says_what_matched(two_runs: Path):
    first, *others = ask(two_runs, ".find verbosity")
    assert first["name"] == "marts.judge_bias"
    assert "longer speech" in first["matched"]
    assert "column" not in first["matched"]
    assert {"name": "marts.judge_bias.bias", "matched": "text"}.items() <= others[0].items()
    done = debatebench_here(two_runs, "query", ".find xyzzy")
    assert (done.code, done.out) == (2, "")
    assert "No name and no text has any word of 'xyzzy'" in done.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("of the", "'of the' has no word to look for; words such as 'of' and 'the' are left out."),
        ("!", "'!' has no word to look for;"),
        ("the xyzzy", "No name and no text has any word of 'xyzzy';"),
    ],
)
def test_find_says_that_words_which_say_nothing_are_not_looked_for(two_runs: Path, words: str, complaint: str):
    done = debatebench_here(two_runs, "query", f".find {words}")
    assert (done.code, done.out) == (2, "")
    assert complaint in done.err


def test_tables_are_listed_by_subject_with_a_sentence_each(two_runs: Path):
    rows = ask(two_runs, ".tables")
    subjects = [row["subject"] for row in rows]
    assert subjects == sorted(subjects)
    assert len(rows) > 70
    assert not [row for row in rows if not row["description"] or row["name"].startswith(("raw.", "staging."))]
    debaters = [row["name"] for row in rows if row["subject"] == "debaters"]
    assert debaters[0] == "marts.leaderboard"
    assert [row["name"] for row in ask(two_runs, ".tables LEADER")] == ["marts.leaderboard"]
    assert {row["name"] for row in ask(two_runs, ".tables runs")} >= {"marts.runs", "marts.left_out", "raw.runs"}
    landed = ask(two_runs, ".tables raw.*")
    assert {row["name"].partition(".")[0] for row in landed} == {"raw"}
    assert "staging.*" in debatebench_here(two_runs, "query", ".tables").err


def test_describe_shows_the_text_the_key_the_values_and_the_questions(two_runs: Path):
    done = debatebench_here(two_runs, "query", ".describe judge_bias")
    assert "Key: run_tag, judge_id, bias, dimension." in done.out
    assert "Which judges are biased, and towards what?\n    select run_tag, judge_id" in done.out
    assert "The biases of each judge, one row per kind" in done.out
    assert "longer_wins" in done.out
    rows = ask(two_runs, ".schema marts.judge_bias")
    assert rows[0] == {"column": "run_tag", "type": "VARCHAR", "description": rows[0]["description"]}
    # What a short name stands for comes before tables of that name in other schemas.
    assert "winner" in {row["column"] for row in ask(two_runs, ".describe debates")}
    done = debatebench_here(two_runs, "query", ".describe topic_winrate")
    assert "marts.topic_winrate or original.topic_winrate?" in done.err


@pytest.mark.parametrize("name", ["judge_bias.bias", "marts.judge_bias.bias", "MARTS.Judge_Bias.BIAS"])
def test_describe_takes_a_column_as_find_names_it(two_runs: Path, name: str):
    (row,) = ask(two_runs, f".describe {name}")
    assert (row["column"], row["type"]) == ("bias", "VARCHAR")
    assert "`longer_wins`: " in row["description"]
    assert "marts.judge_bias.bias (column of a view)." in debatebench_here(two_runs, "query", f".describe {name}").out


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("judge_bais", "No table or view 'judge_bais'; .tables lists them. Did you mean 'judge_bias'?"),
        ("mart.judge_bias", "No table or view 'mart.judge_bias'; .tables lists them. Did you mean 'marts.judge_bias'?"),
        ("xyzzy", "No table or view 'xyzzy'; .tables lists them.\n"),
        ("judge_bias.bais", "marts.judge_bias has no column 'bais'. Known: run_tag, "),
        ("topic_winrate.run_tag", "marts.topic_winrate or original.topic_winrate?"),
        ("judge_bias leaderboard", "Name one table or view, as in .describe leaderboard"),
    ],
)
def test_describe_says_what_is_wrong_with_a_name(two_runs: Path, name: str, complaint: str):
    done = debatebench_here(two_runs, "query", f".describe {name}")
    assert (done.code, done.out) == (2, "")
    assert complaint in done.err


def test_only_commands_that_look_around_are_a_query(two_runs: Path, tmp_path: Path):
    for words, complaint in (
        ([".limit 3"], "other commands are for `debatebench sql`"),
        ([".find"], "Name what to look for"),
        ([".tables", "--output", str(tmp_path / "x.csv")], "not written to a file"),
    ):
        done = debatebench_here(two_runs, "query", *words)
        assert done.code == 2
        assert complaint in done.err


def test_plain_duckdb_finds_the_questions(two_runs: Path):
    with duckdb.connect(str(Workspace(two_runs).database), read_only=True) as con:
        rows = con.execute(
            "select sql_model, asked.question from (select sql_model, unnest(questions) as asked from sql_models) "
            "where asked.question ilike '%strongest%'"
        ).fetchall()
        assert rows == [("marts.leaderboard", "Who is the strongest debater, and how sure is that?")]
        assert con.execute("select short_name from sql_models where sql_model = 'ratings.elo'").fetchall() == [("elo",)]
