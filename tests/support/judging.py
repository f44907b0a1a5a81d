"""Stored debates that are judged over real HTTP: the tests' own server answers for judges of every method."""

from __future__ import annotations

import atexit
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import yaml
from command_line import Done, debatebench, debatebench_here
from fake_provider import Behaviour, FakeProvider, Received, answer
from started_run import Started

KEY = "sk-canary-77b1d0c2"
DIMENSIONS = ("argument", "source")
PLAYED = ("direct", "whole_debate", "chronological_v1", "non_iterative_v1", "debatrix_v1", "debatrix_v2")
"""Methods that between them have every kind of step; tests that take long do without the others."""
TEAMS = ("OG", "OO", "CG", "CO")
_TEAM_NAMES = dict(
    zip(
        TEAMS,
        ("Opening_Government_(OG)", "Opening_Opposition_(OO)", "Closing_Government_(CG)", "Closing_Opposition_(CO)"),
        strict=True,
    )
)

CONFIG = """
benchmark: {name: tiny, version: v1}
scoring:
  scale: {min: 1, max: 10}
  dimensions:
    argument: {weight: 3, ties: false, description: "Sound reasons?", preferences: {speech: "Reasons and answers."}}
    source: {weight: 2, tie_band: 3, description: "Good sources?"}
"""


def calls_of(method: str, speeches: int, positions: int, dimensions: int = len(DIMENSIONS)) -> int:
    """The calls of a judge for one debate."""
    by_speech, extracted = dimensions * (speeches + positions + 2) + 1, positions + 1
    return {
        "direct": 1,
        "whole_debate": 1 + extracted,
        "chronological_v2": speeches + 1 + extracted,
        "dimensional_v2": dimensions * (1 + extracted) + 1 + extracted,
        "non_iterative_v2": by_speech + extracted,
        "debatrix_v2": by_speech + extracted,
        "chronological_v1": speeches + 2,
        "dimensional_v1": dimensions + 1,
        "non_iterative_v1": by_speech,
        "debatrix_v1": by_speech,
    }[method]


def sentences(debate: str, speech: int) -> list[str]:
    """The sentences of a speech; each is nowhere else."""
    return [f"In {debate}, speech {speech} makes point {n} about rivers and roads." for n in range(3)]


def write_debates(folder: Path, *, hostile: str = "", two_sided: int = 1, teams: int = 1) -> Path:
    """A PanelBench folder: debates of five speeches on two sides, and of eight speeches of four teams.

    `hostile` is added to the second speech of each. People's verdict on the first debate of two sides is pro.
    """
    for kind in ("motion", "speech"):
        (folder / kind).mkdir(parents=True)
    for number in range(two_sided):
        name = f"debateart_{number:04}"
        _write(
            folder, name, "pro_side", "con_side", {"ann": "pro", "bob": "con"}, ["ann", "bob"] * 2 + ["ann"], hostile
        )
    for number in range(teams):
        speakers = {_TEAM_NAMES[team]: "pro" if team in ("OG", "CG") else "con" for team in TEAMS}
        order = [_TEAM_NAMES[team] for team in ("OG", "OO", "OG", "OO", "CG", "CO", "CG", "CO")]
        _write(folder, f"bp_{number:03}", "pro_speakers", "con_speakers", speakers, order, hostile)
    if two_sided:
        (folder / "gold").mkdir()
        labels = [f"{number},False,False,3,{number % 2}.0" for number in range(two_sided)]
        (folder / "gold" / "final.csv").write_text(
            "\n".join(["dart_id,is_many_round,is_long,vote_count,label", *labels, ""])
        )
    return folder


def _write(
    folder: Path, name: str, pro: str, con: str, speakers: dict[str, str], order: Sequence[str], hostile: str
) -> None:
    motion = {
        "motion": f"The motion of {name}",
        pro: [{"name": who} for who, side in speakers.items() if side == "pro"],
        con: [{"name": who} for who, side in speakers.items() if side == "con"],
        "info_slide": "No information",
        "speech_order": list(order),
    }
    key = "speaker_name" if name.startswith("bp") else "debater_name"
    said = [
        {key: who, "content": " ".join(sentences(name, n)) + (f"\n{hostile}" if hostile and n == 1 else "")}
        for n, who in enumerate(order)
    ]
    (folder / "motion" / f"{name}.yml").write_text(yaml.safe_dump(motion))
    (folder / "speech" / f"{name}.yml").write_text(yaml.safe_dump(said, allow_unicode=True))


def stored_workspace(
    root: Path, url: str, *, judges: int = 1, judge: str = "", is_built: bool = False, **debates: Any
) -> Path:
    """A workspace whose warehouse has the stored debates as run `stored`, and judges at `url`.

    Unless `is_built`, it has no SQL models, without which commands open it faster.
    """
    shutil.copytree(_stored(is_built, **debates), root, dirs_exist_ok=True)
    configs = root / "configs"
    configs.mkdir()
    (configs / "config.yaml").write_text(CONFIG)
    entries = [
        f"  - {{id: judge-{n}, provider: http, model: judge-{n}, endpoint: '{url}', api_key_env: TINY_API_KEY, "
        f"trust_reported_cost: true, prompt_style: declared, pricing: {{prompt: 0.000001, completion: 0.000002}}, "
        f"parameters: {{structured_output: true}}"
        f"{judge}}}"
        for n in range(judges)
    ]
    (configs / "judges.yaml").write_text("judges:\n" + "\n".join(entries) + "\n")
    return root


@cache
def _stored(is_built: bool, **debates: Any) -> Path:
    """Those debates in a workspace that is imported once."""
    root = Path(tempfile.mkdtemp(prefix="stored-debates-"))
    atexit.register(shutil.rmtree, root)
    folder = write_debates(root / "debates", **debates)
    options = ("--run-tag", "stored", *([] if is_built else ["--no-build"]))
    done = debatebench_here(root, "import", "panelbench", str(folder), *options)
    assert done.code == 0, done.err
    return root


def judge(root: Path, tag: str, *arguments: str) -> Done:
    """Judge the stored debates, in a process of its own."""
    return debatebench(root, "judge", "stored", "--as", tag, *arguments, environ={"TINY_API_KEY": KEY})


def start_judging(root: Path, tag: str, *arguments: str) -> Started:
    """The same, without waiting for its end."""
    return Started("--root", str(root), "judge", "stored", "--as", tag, *arguments, key=KEY)


def analysis_of(received: Received) -> str:
    """The text that the server gives as an analysis: one for each question, found nowhere else."""
    return f"Analysis {_digest(received).hex()[:16]} weighs what was said."


def schema_of(received: Received) -> dict[str, Any] | None:
    """The JSON schema of the answer that is asked for; None for an analysis."""
    form = received.json.get("response_format")
    return form["json_schema"]["schema"] if form else None


def method_answer(received: Received, text: str | None = None, *, edit: Callable[[str], str] = str) -> Behaviour:
    """A good answer to any step of any method, the same to the same question, also when it is asked again.

    `text` takes the place of an analysis; `edit` makes the answer that is sent of the good one.
    """
    digest = _digest(received)
    schema = schema_of(received)
    if schema is None:
        said = analysis_of(received) if text is None else text
    else:
        draws = iter(digest * 8)
        said = json.dumps({name: _value(name, part, draws) for name, part in schema["properties"].items()})
    said = edit(said)
    prompt = sum(len(message["content"]) for message in received.json["messages"]) // 4
    tokens = {"prompt_tokens": prompt, "completion_tokens": len(said) // 4, "total_tokens": prompt + len(said) // 4}
    usage = {**tokens, "cost": (1 + digest[2]) / 1e5}
    return answer(said, usage=usage)


def _value(name: str, schema: dict[str, Any], draws: Iterator[int]) -> Any:
    """A value that fits a schema."""
    if schema["type"] == "object":
        return {inner: _value(inner, part, draws) for inner, part in schema["properties"].items()}
    if schema["type"] == "array":
        return [_value(name, schema["items"], draws)]
    if schema["type"] == "string":
        return schema["enum"][next(draws) % len(schema["enum"])] if "enum" in schema else f"Because of {next(draws)}."
    return 1 + next(draws) % 10


def _digest(received: Received) -> bytes:
    texts = [message["content"] for message in received.json["messages"]]
    texts[-1] = texts[-1].partition("\n\nYour last answer could not be used:")[0]
    return hashlib.sha256(json.dumps([received.json["model"], texts]).encode()).digest()


def stored_rows(root: Path, sql: str) -> list[tuple[Any, ...]]:
    """What a query on the workspace's warehouse returns."""
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        return con.execute(sql).fetchall()


def prompts_of(server: FakeProvider, debate: str) -> list[str]:
    """Everything that was sent about a debate, request by request: system and user message together."""
    found = ["\n".join(m["content"] for m in received.json["messages"]) for received in server.requests]
    return [prompt for prompt in found if f"The motion of {debate}" in prompt]
