"""A run to annotate, made by hand; the annotation server in its own process; and requests as a script sends them."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
from imported import DEBATEFLOW, add_import, land_records
from report_warehouse import HOSTILE, NOON
from serving import Answer, ServedCommand

from debatebench.landing.land import create_raw_tables
from debatebench.shared.records import (
    Annotation,
    Debate,
    Debater,
    Dimension,
    Judge,
    Participant,
    Record,
    Run,
    Topic,
    Turn,
    Verdict,
    Weakness,
)
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.update import update_warehouse

TAG = "made"
QUESTIONS = ("clash", "burden_of_proof_met")
ANCHORS = {"1": "misses the point", "2": "meets some points", "3": "meets every point"}
SECRETS = ("debater-anchovy", "debater-basil", "weak_evidence", "side_concession", "judge-cumin", "annotator-dill")
"""What no annotator may see: debaters, weaknesses, judges, other people."""


def made_records(
    debates: int = 3, speech: str = "We argue that this is right.", dimensions: Sequence[Dimension] | None = None
) -> Iterator[Record]:
    """A run whose every name outside the speeches is one of `SECRETS`; its debate ids name debaters too."""
    yield Run(run_tag=TAG, source="run", format="tournament", created_at=NOON)
    yield Topic(run_tag=TAG, topic_id="t0", source_position=0, motion="Bridges should be blue.", category="policy")
    for name in SECRETS[:2]:
        yield Debater(run_tag=TAG, model_id=name)
    yield Judge(run_tag=TAG, judge_id="judge-cumin")
    yield from dimensions or ()
    for n, name in enumerate(QUESTIONS if dimensions is None else ()):
        yield Dimension.model_validate(
            {
                "run_tag": TAG,
                "dimension": name,
                "source_position": n,
                "min_score": 1,
                "max_score": 3,
                "description": f"What {name} asks.",
                "anchors": ANCHORS,
            }
        )
    for n in range(debates):
        debate_id = f"debater-anchovy-debater-basil-{n}"
        yield Debate(
            run_tag=TAG,
            debate_id=debate_id,
            source_position=n,
            topic_id="t0",
            pro_model_id="debater-anchovy",
            con_model_id="debater-basil",
            is_control=n == 0,
        )
        for index, side in enumerate(("pro", "con", "pro", "con")):
            yield Turn.model_validate(
                {
                    "run_tag": TAG,
                    "debate_id": debate_id,
                    "turn_index": index,
                    "position": side,
                    "side": side,
                    "model_id": SECRETS[index % 2],
                    "stage": "opening" if index < 2 else "rebuttal",
                    "content": f"{speech} ({n}.{index})",
                }
            )
        for side, name in zip(("pro", "con"), SECRETS, strict=False):
            yield Participant.model_validate(
                {"run_tag": TAG, "debate_id": debate_id, "position": side, "model_id": name, "side": side}
            )
        if n:
            kind = ("weak_evidence", "side_concession")[n % 2]
            yield Weakness(run_tag=TAG, debate_id=debate_id, side="pro", weakness_type=kind, dimension="clash")
        yield Verdict(run_tag=TAG, debate_id=debate_id, judge_id="judge-cumin", panel_position=0, is_valid=False)
    yield Annotation(run_tag=TAG, debate_id=f"{debate_id}", annotator_id="annotator-dill", winner="pro")


def made_workspace(
    root: Path,
    debates: int = 3,
    speech: str = "We argue that this is right.",
    dimensions: Sequence[Dimension] | None = None,
) -> Workspace:
    """A workspace whose warehouse holds only this run, landed and not built, which is all that annotating needs."""
    return _begun(
        root, _made(debates, speech) if dimensions is None else _landed(made_records(debates, speech, dimensions))
    )


@cache
def _made(debates: int, speech: str) -> bytes:
    return _landed(made_records(debates, speech))


def _landed(records: Iterator[Record]) -> bytes:
    """The file of a warehouse in which these records of the run have landed, and nothing was built."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "debatebench.duckdb"
        with duckdb.connect(str(path)) as con:
            create_raw_tables(con)
            land_records(con, TAG, records)
        return path.read_bytes()


def _begun(root: Path, warehouse: bytes) -> Workspace:
    workspace = Workspace(root)
    workspace.warehouse.mkdir(parents=True)
    workspace.database.write_bytes(warehouse)
    return workspace


def hostile_workspace(root: Path) -> Workspace:
    """The same run with speeches that attack the page."""
    return made_workspace(root, speech=HOSTILE)


def read_workspace(
    root: Path, speeches: Sequence[str], language: str | None = None, languages: Sequence[str] = ()
) -> Workspace:
    """The same run with one debate of these speeches, by turns for pro and con.

    Its language, and the languages of its first turns, are in its configuration.
    """
    records = list(made_records(debates=1))
    rounds = [{"role": ("pro", "con")[n % 2], "language": each} for n, each in enumerate(languages)]
    records = [
        each.model_copy(update={"language": language, "config": {"rounds": rounds}}) if isinstance(each, Run) else each
        for each in records
    ]
    first = next(record for record in records if isinstance(record, Turn))
    turns = [
        first.model_copy(
            update={"turn_index": n, "side": side, "position": side, "content": speech, "stage": f"speech_{n // 2 + 1}"}
        )
        for n, speech in enumerate(speeches)
        for side in [("pro", "con")[n % 2]]
    ]
    return _begun(root, _landed(iter([*(each for each in records if not isinstance(each, Turn)), *turns])))


def imported_workspace(root: Path) -> Workspace:
    """A workspace with the import `flow`: two debates, annotated by KL and MN; landed and not built."""
    shutil.copytree(_imported(), root, dirs_exist_ok=True)
    return Workspace(root)


@cache
def _imported() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="imported-")
    atexit.register(folder.cleanup)
    workspace = Workspace(Path(folder.name))
    add_import(workspace, "flow", "debateflow", DEBATEFLOW)
    update_warehouse(workspace, None, now=lambda: NOON, build=False)
    return workspace.root


class AnnotationServer(ServedCommand):
    """`debatebench annotate` in its own process while the `with` block lasts."""

    def __init__(self, workspace: Workspace, annotator: str = "ann", *arguments: str, run_tag: str = TAG) -> None:
        super().__init__(workspace.root, "annotate", "--run-tag", run_tag, "--annotator", annotator, *arguments)

    def debate_keys(self) -> list[str]:
        """The keys of the debates in their order."""
        return [debate["key"] for debate in self.get("api/debates").data["debates"]]

    def save(self, key: str, revision: int, form: Any) -> Answer:
        return self.post(f"api/debates/{key}/draft", {"revision": revision, "form": form})

    def hand_in(self, key: str, revision: int, form: Any) -> Answer:
        return self.post(f"api/debates/{key}/final", {"revision": revision, "form": form})


def full_form(dimensions: tuple[str, ...] = QUESTIONS, **changed: Any) -> dict[str, Any]:
    """A form that can be handed in."""
    form = {
        "winner": "pro",
        "scores": {name: {"pro": 3, "con": 2} for name in dimensions},
        "justification": "Con never answered the second speech.",
        "confidence": 4,
        "is_coherent": True,
    }
    return {**form, **changed}
