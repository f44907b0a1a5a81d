"""Datasets for publication: what they hold, that they are read offline, and that names of people can be left out."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from command_line import debatebench
from exported import NOON, land_runs, make_workspace, played_records
from judged_runs import judged_run
from probed_runs import probed_run

from debatebench.output.export import DatasetOptions, Export, export
from debatebench.output.export.pseudonyms import KEY_FILE, make_pseudonyms, pseudonym_key
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.records import Adjudication, Annotation, Record, Score, Weakness
from debatebench.shared.workspace import Workspace

pytestmark = pytest.mark.slow

MIT = DatasetOptions("mit")
NAMES = ("Ada Byron", "Ada", "zp")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Imports of every format, the run `noted` that three people annotated, `judged`, which judges it, and `probed`."""
    workspace = make_workspace(tmp_path_factory.mktemp("workspace"))
    source = [*played_records("noted")]
    land_runs(
        workspace,
        {
            "noted": annotated_records(),
            "judged": judged_run("judged", source, trials=2),
            "probed": probed_run("probed", source, {"orders": "pro", "padding": "con"}),
        },
    )
    return workspace


def annotated_records() -> Iterator[Record]:
    """The run `noted` with a weakness, three annotations of one debate and the verdict that was agreed on."""
    yield from played_records("noted")
    of_debate = {"run_tag": "noted", "debate_id": "d0"}
    yield Weakness(**of_debate, side="con", weakness_type="weak_evidence", dimension="logic")
    for n, name in enumerate(NAMES):
        yield Annotation(
            **of_debate,
            annotator_id=name,
            winner=("pro", "con", "tie")[n],
            scores=(Score(dimension="logic", pro=Decimal("7.5"), con=Decimal(n)),),
            justification=f"I, {name}, differ from ADA BYRON and Zp; zp and Adam see it as I do | \u202e| ![x](//evil)",
            confidence=n + 1,
            is_coherent=n > 0,
            annotated_at=NOON + timedelta(hours=n),
            metadata={"signed": name},
        )
    yield Adjudication(
        **of_debate, adjudicator_id="Ada", winner="pro", justification="Ada and Ada Byron agreed.", scores=None
    )


@pytest.fixture(scope="module")
def named(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of all runs."""
    return export(workspace, "huggingface", tmp_path_factory.mktemp("named") / "out", dataset=MIT).folder


@pytest.fixture(scope="module")
def made_anonymous(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Export:
    """The same without names of people."""
    options = DatasetOptions("mit", anonymize=True)
    return export(workspace, "huggingface", tmp_path_factory.mktemp("anonymous") / "out", dataset=options)


@pytest.fixture(scope="module")
def anonymous(made_anonymous: Export) -> Path:
    """Its folder."""
    return made_anonymous.folder


def rows(folder: Path, table: str, columns: str = "*", where: str = "true") -> list[Any]:
    files = [str(path) for path in sorted((folder / "data" / table).glob("*.parquet"))]
    return duckdb.sql(f"select {columns} from read_parquet($1) where {where} order by all", params=[files]).fetchall()


def stored(workspace: Workspace, query: str) -> list[Any]:
    with duckdb.connect(str(workspace.database), read_only=True) as con:
        return con.execute(query).fetchall()


def front_matter(folder: Path) -> dict[str, Any]:
    return yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])


# --- what a dataset holds -------------------------------------------------------------------------------------------


def test_every_table_holds_the_rows_of_its_sql_model(workspace: Workspace, named: Path):
    for table, relation, key in (
        ("debates", "marts.debates", "run_tag, debate_id, winner, count_pro"),
        ("turns", "staging.stg_turns", "run_tag, debate_id, turn_index, content"),
        ("verdicts", "staging.stg_verdicts", "run_tag, debate_id, judge_id, raw_response"),
        ("judge_notes", "staging.stg_judge_notes", "run_tag, debate_id, judge_id, note_index, text"),
        ("annotations", "staging.stg_annotations", "run_tag, debate_id, annotator_id, justification"),
        ("adjudications", "staging.stg_adjudications", "run_tag, debate_id, adjudicator_id, justification"),
        ("gold", "staging.stg_gold", "run_tag, debate_id, unit, winner"),
        ("weaknesses", "staging.stg_weaknesses", "run_tag, debate_id, side, weakness_type, dimension"),
        ("settings", "marts.run_settings", "run_tag, item, part, value"),
    ):
        expected = stored(workspace, f"select {key} from {relation} order by all")
        assert rows(named, table, key) == expected != []


def test_the_scores_of_every_judge_and_annotator_are_kept_apart(named: Path):
    scores = rows(named, "annotations", "annotator_id, scores", "run_tag = 'noted'")
    assert scores == [
        ("Ada", [{"dimension": "logic", "pro": 7.5, "con": 1.0}]),
        ("Ada Byron", [{"dimension": "logic", "pro": 7.5, "con": 0.0}]),
        ("zp", [{"dimension": "logic", "pro": 7.5, "con": 2.0}]),
    ]
    verdicts = rows(named, "verdicts", "judge_id, scores, method, winner", "run_tag = 'noted' and debate_id = 'd0'")
    logic, clarity = {"dimension": "logic", "pro": 7.5}, {"dimension": "clarity", "pro": 7.0, "con": 7.0}
    assert verdicts == [
        ("ash", [{**logic, "con": 6.0}, clarity], "direct", "pro"),
        ("fir", [{**logic, "con": 7.0}, clarity], "direct", "pro"),
    ]


def test_a_debate_says_whether_it_is_fit_to_be_judged(named: Path):
    # The speeches of the fixture have ten words. One of three annotators objects to d0, which is fewer than half.
    assert rows(named, "debates", "is_coherent, reasons", "run_tag = 'noted' and debate_id = 'd0'") == [
        (False, ["short_speech"])
    ]


def test_the_run_that_holds_the_speeches_comes_along(workspace: Workspace, tmp_path: Path):
    done = export(workspace, "huggingface", tmp_path / "out", run_tags=["judged"], dataset=MIT)
    assert done.manifest.run_tags == ("judged", "noted")
    speeches = (
        "select count(*) from debates inner join turns on turns.run_tag = debates.source_run_tag "
        "and turns.debate_id = debates.source_debate_id where debates.run_tag = 'judged'"
    )
    with duckdb.connect() as con:
        for table in ("debates", "turns"):
            con.execute(f"create view {table} as from read_parquet('{done.folder}/data/{table}/*.parquet')")
        assert con.execute(speeches).fetchall() == [(16,)]


def test_attacked_copies_are_added_only_when_asked_for_and_in_tables_of_their_own(
    workspace: Workspace, named: Path, tmp_path: Path
):
    left_out = json.loads((named / "manifest.json").read_text())["left_out"]
    assert [(part["run_tag"], part["what"], part["count"]) for part in left_out] == [
        ("probed", "attacked copies of debates", 8)
    ]
    options = DatasetOptions("mit", with_attacked=True)
    folder = export(workspace, "huggingface", tmp_path / "out", run_tags=["probed"], dataset=options).folder
    attacks = Counter(rows(folder, "attacked_debates", "attack, attack_side"))
    assert attacks == {("orders", "pro"): 4, ("padding", "con"): 4}
    copies = {debate for (debate,) in rows(folder, "attacked_debates", "debate_id")}
    for table in ("attacked_turns", "attacked_verdicts", "attacked_notes"):
        assert {debate for (debate,) in rows(folder, table, "distinct debate_id")} == copies
    for table in ("debates", "turns", "verdicts", "judge_notes"):
        assert {debate for (debate,) in rows(folder, table, "distinct debate_id")}.isdisjoint(copies)
    listed = [config["config_name"] for config in front_matter(folder)["configs"]]
    assert listed[-4:] == ["attacked_debates", "attacked_turns", "attacked_verdicts", "attacked_notes"]


def test_runs_are_chosen_and_a_table_without_rows_is_left_out(workspace: Workspace, tmp_path: Path):
    folder = export(workspace, "huggingface", tmp_path / "out", run_tags=["bp"], dataset=MIT).folder
    assert sorted(path.name for path in (folder / "data").iterdir()) == [
        "debates",
        "gold",
        "runs",
        "settings",
        "turns",
    ]
    assert [config["config_name"] for config in front_matter(folder)["configs"]] == [
        "debates",
        "turns",
        "gold",
        "runs",
        "settings",
    ]


# --- the card -------------------------------------------------------------------------------------------------------


def test_the_front_matter_names_the_files_of_every_table(named: Path):
    front = front_matter(named)
    assert front["license"] == "mit"
    assert front["size_categories"] == ["n<1K"]
    assert [config["config_name"] for config in front["configs"] if config.get("default")] == ["debates"]
    for config in front["configs"]:
        (files,) = config["data_files"]
        assert files["split"] == "train"
        assert list(named.glob(files["path"]))
    assert {config["config_name"] for config in front["configs"]} == {p.name for p in (named / "data").iterdir()}


def test_the_card_says_what_is_measured_where_it_comes_from_and_what_every_column_means(
    workspace: Workspace, named: Path
):
    card = (named / "README.md").read_text()
    assert "It measures preference." in card
    for heading in ("Tables", "Provenance", "Configuration", "Statistics", "People", "Licence and checksums"):
        assert f"\n## {heading}\n" in card
    for tag, content in stored(workspace, "select run_tag, left(content_sha256, 16) from meta.landings"):
        assert re.search(rf"^\| {tag} \|.*\| {content} \|$", card, re.M), tag
    # Every column of every table has a meaning.
    assert re.findall(r"^\| (\w+) \| *\|$", card, re.M) == []
    assert "| noted | oak | simulated | – |" in card or "| noted |" in card


def test_the_statistics_are_those_of_the_marts(workspace: Workspace, named: Path):
    card = (named / "README.md").read_text()
    ((debates, decided, verdicts, annotations),) = stored(
        workspace,
        "select count_debates, count_decided, count_verdicts, count_annotations from marts.runs "
        "where run_tag = 'noted'",
    )
    complete = 2
    invalid, incoherent = 1, 4
    assert (debates, annotations) == (4, 3)
    line = f"| noted | {debates} | {complete} | {decided} | {verdicts} | {invalid} | {annotations} | {incoherent} |"
    assert line in card
    assert "| noted | weak_evidence | 1 | 0 | 1 |" in card
    ((alpha,),) = stored(
        workspace, "select alpha from marts.people_agreement where run_tag = 'noted' and unit = 'winner'"
    )
    # Who found the debate incoherent gave no verdict.
    assert re.search(rf"^\| noted \| winner \| 1 \| 2 \|.*\| {alpha:.4f}", card, re.M)


def test_a_card_says_which_runs_are_simulated(workspace: Workspace, named: Path, tmp_path: Path):
    assert "are simulated" not in (named / "README.md").read_text()
    copy = Workspace(make_workspace(tmp_path / "ws", imports={}).root)
    records = [
        record.model_copy(update={"is_simulated": True}) if record.table == "runs" else record
        for record in played_records("made_up")
    ]
    land_runs(copy, {"made_up": records})
    folder = export(copy, "huggingface", tmp_path / "out", dataset=MIT).folder
    assert "> Of made_up, debaters or judges are simulated" in (folder / "README.md").read_text()


def test_hostile_names_form_no_markdown_and_no_front_matter(workspace: Workspace, tmp_path: Path):
    evil = "x\n---\nlicense: gpl\n---\n# Owned ![](//evil) <script>"
    records = [
        record.model_copy(update={"model_id": evil, "model_name": evil})
        if record.table == "debaters" and record.model_id == "oak"
        else record.model_copy(update={"benchmark_name": evil, "language": evil})
        if record.table == "runs"
        else record
        for record in played_records("evil")
        if record.table in ("runs", "topics", "debaters", "judges", "dimensions")
    ]
    records += [
        record.model_copy(update={"pro_model_id": evil}) if record.table == "debates" else record
        for record in played_records("evil")
        if record.table == "debates"
    ]
    root = Workspace(make_workspace(tmp_path / "ws", imports={}).root)
    land_runs(root, {"evil": records})
    folder = export(root, "huggingface", tmp_path / "out", run_tags=["evil"], dataset=MIT).folder
    card = (folder / "README.md").read_text()
    assert front_matter(folder)["license"] == "mit"
    assert card.count("\n---\n") == 1
    assert "\n# Owned" not in card
    assert "<script>" not in card


# --- the licence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (None, "A dataset states its licence; give it with --license"),
        (DatasetOptions("CC BY 4.0"), "'CC BY 4.0' is not the identifier of a licence"),
        (DatasetOptions("mit\ntags: [x]"), "is not the identifier of a licence"),
        (DatasetOptions(""), "is not the identifier of a licence"),
    ],
)
def test_a_dataset_without_a_licence_is_refused(
    workspace: Workspace, tmp_path: Path, options: DatasetOptions | None, message: str
):
    with pytest.raises(UsageError, match=re.escape(message)):
        export(workspace, "huggingface", tmp_path / "out", dataset=options)
    assert os.listdir(tmp_path) == []


def test_the_command_asks_for_a_licence_and_other_formats_take_none(workspace: Workspace, tmp_path: Path):
    out = ("--out-dir", str(tmp_path / "out"))
    done = debatebench(workspace.root, "export", "--format", "huggingface", *out)
    assert done.code == 2
    assert "give it with --license" in done.error_line
    done = debatebench(workspace.root, "export", "--format", "parquet", "--license", "mit", *out)
    assert done.code == 2
    assert "--license, --anonymize and --with-attacked work only with --format huggingface" in done.error_line
    done = debatebench(
        workspace.root, "export", "--format", "huggingface", "--license", "CC-BY-4.0", "--run-tag", "bp", *out
    )
    assert done.code == 0, done.err
    assert front_matter(tmp_path / "out")["license"] == "cc-by-4.0"


# --- checksums ------------------------------------------------------------------------------------------------------


def test_the_checksums_cover_every_file(named: Path):
    listed = dict(reversed(line.split("  ")) for line in (named / "checksums.sha256").read_text().splitlines())
    found = {path.relative_to(named).as_posix() for path in named.rglob("*") if path.is_file()}
    assert set(listed) == found - {"checksums.sha256", "manifest.json"}
    assert all(hashlib.sha256((named / name).read_bytes()).hexdigest() == digest for name, digest in listed.items())


def test_a_failed_export_leaves_nothing(workspace: Workspace, tmp_path: Path):
    with pytest.raises(UsageError, match="No run 'plaid'"):
        export(workspace, "huggingface", tmp_path / "out", run_tags=["plaid"], dataset=MIT)
    assert os.listdir(tmp_path) == []


# --- names of people ------------------------------------------------------------------------------------------------


def test_no_name_of_a_person_is_in_an_anonymous_dataset(workspace: Workspace, anonymous: Path, named: Path):
    texts = {
        str(row)
        for table in ("annotations", "adjudications")
        for row in rows(anonymous, table, where="run_tag = 'noted'")
    }
    texts.add((anonymous / "README.md").read_text())
    texts.add((anonymous / "manifest.json").read_text())
    names = re.compile(r"\b(ada|byron|zp)\b", re.IGNORECASE)
    assert {match[0] for text in texts for match in names.finditer(text)} == set()
    assert names.search(str(rows(named, "annotations", where="run_tag = 'noted'")))
    ((justification,),) = rows(anonymous, "annotations", "justification", "run_tag = 'noted' and confidence = 2")
    assert re.match(
        r"I, annotator-\w{8}, differ from annotator-\w{8} and annotator-\w{8}; annotator-\w{8} and Adam see",
        justification,
    )
    assert [row for row in rows(anonymous, "annotations", "metadata") if row != (None,)] == []
    left_out = json.loads((anonymous / "manifest.json").read_text())["left_out"]
    assert next(part["what"] for part in left_out if part["count"] >= 3) == "annotations' metadata"


def test_one_person_has_one_pseudonym_in_all_tables_and_exports(workspace: Workspace, anonymous: Path, tmp_path: Path):
    ((adjudicator,),) = rows(anonymous, "adjudications", "adjudicator_id")
    ada = rows(anonymous, "annotations", "annotator_id", "run_tag = 'noted' and confidence = 2")
    assert ada == [(adjudicator,)]
    options = DatasetOptions("mit", anonymize=True)
    again = export(workspace, "huggingface", tmp_path / "out", run_tags=["noted"], dataset=options).folder
    assert rows(again, "adjudications") == rows(anonymous, "adjudications")
    assert stored(workspace, "select count(*) from raw.annotations where annotator_id = 'Ada'") == [(1,)]


def test_pseudonyms_follow_from_a_secret_that_only_the_owner_can_read(tmp_path: Path):
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
    key = pseudonym_key(first)
    assert pseudonym_key(first) == key != pseudonym_key(second)
    assert (first / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert os.listdir(first) == [KEY_FILE]
    assert make_pseudonyms(["a", "b"], key)["a"] == make_pseudonyms(["a"], key)["a"]
    (first / KEY_FILE).write_text("secret")
    with pytest.raises(DebatebenchError, match="is not a key of 64 hexadecimal digits"):
        pseudonym_key(first)


def test_what_only_a_person_can_judge_is_listed_beside_the_dataset(made_anonymous: Export):
    done = made_anonymous
    assert done.to_read == done.folder.parent / "out-to-read.csv"
    assert done.to_read.stat().st_mode & 0o777 == 0o600
    listed = list(csv.DictReader(io.StringIO(done.to_read.read_text())))
    assert len(listed) == done.count_to_read > 0
    adam = next(row for row in listed if row["words"] == "Adam")
    assert (adam["column"], adam["why"]) == ("justification", "it contains a word of a name")
    assert "and Adam see it as I do" in adam["text"]
    assert not (done.folder / "out-to-read.csv").exists()


# --- Hugging Face's own reader --------------------------------------------------------------------------------------

LOAD = """
import json, sys
from datasets import get_dataset_config_names, load_dataset

folder = sys.argv[1]
found = {}
for name in get_dataset_config_names(folder):
    dataset = load_dataset(folder, name)
    assert list(dataset) == ["train"], dataset
    found[name] = dataset["train"].num_rows
annotation = next(row for row in load_dataset(folder, "annotations")["train"] if row["run_tag"] == "noted")
print(json.dumps({"rows": found, "default": load_dataset(folder)["train"].num_rows, "scores": annotation["scores"]}))
"""


@pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None,
    reason="datasets is not installed; `make test-datasets` installs it and runs this test",
)
def test_datasets_loads_every_table_without_a_network(workspace: Workspace, named: Path, tmp_path: Path):
    offline = {
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_HOME": str(tmp_path),
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    # An address that refuses connections: whatever ignores the settings above fails.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(named)],
        capture_output=True,
        text=True,
        env={**os.environ, **offline, **nowhere},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    manifest = json.loads((named / "manifest.json").read_text())
    counted: dict[str, int] = {}
    for file in manifest["files"]:
        if file["path"].startswith("data/"):
            table = file["path"].split("/")[1]
            counted[table] = counted.get(table, 0) + file["rows"]
    assert found["rows"] == counted
    assert found["default"] == counted["debates"]
    assert found["scores"][0]["dimension"] == "logic"
