"""A tournament over real HTTP: the tests' own server answers for the debaters and judges of a workspace."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

from built_warehouse import begin_built
from command_line import Done, debatebench
from fake_provider import Behaviour, FakeProvider, Received, answer

DIMENSIONS = ("logic", "clarity")
KEY = "sk-canary-5f2d9c0b7a61e843"

CONFIG = """
benchmark: {name: tiny, version: v1}
debate:
  rounds:
    - {role: pro, stage: opening}
    - {role: con, stage: opening}
scoring:
  judges_per_debate: 2
  dimensions:
    logic: {min: 1, max: 10}
    clarity: {min: 1, max: 10}
"""
TOPICS = [
    {"id": "t1", "motion": "Cities should close their centres to cars.", "category": "cities"},
    {"id": "t2", "motion": "Schools should start at ten.", "category": "education"},
]


def write_workspace(
    root: Path, server: FakeProvider, *, debaters: int = 3, judges: int = 4, is_built: bool = False
) -> Path:
    """A workspace with three debaters: 12 debates of 2 turns and 2 verdicts, so 48 calls when nothing fails.

    With `is_built`, it has a warehouse before anything has landed, which every command then opens and copies.
    """
    configs = root / "configs"
    configs.mkdir(parents=True)
    (configs / "config.yaml").write_text(CONFIG)
    (configs / "topics.json").write_text(json.dumps(TOPICS))
    (configs / "models.yaml").write_text(_members("models", "debater", debaters, server.url))
    (configs / "judges.yaml").write_text(_members("judges", "judge", judges, server.url))
    return begin_built(root) if is_built else root


def _members(key: str, name: str, count: int, url: str) -> str:
    lines = [f"{key}:"]
    for number in range(count):
        lines.append(
            f"  - {{id: {name}-{number}, provider: http, model: {name}-{number}, endpoint: '{url}', "
            f"api_key_env: TINY_API_KEY, trust_reported_cost: true, prompt_style: declared, "
            "pricing: {prompt: 0.000001, completion: 0.000002}}"
        )
    return "\n".join(lines) + "\n"


def add_judges(root: Path) -> tuple[str, ...]:
    """Add two judges that answer; the options that take them into the run."""
    path = root / "configs" / "judges.yaml"
    first = next(line for line in path.read_text().splitlines() if "judge-0" in line)
    new = [first.replace("id: judge-0", f"id: {name}").replace("model: judge-0", "model: judge-new") for name in "xy"]
    path.write_text(path.read_text() + "\n".join(re.sub(r"context_window: \d+, ", "", line) for line in new) + "\n")
    return "--new-judge", "x", "--new-judge", "y"


def play(root: Path, *arguments: str, tag: str = "tiny") -> Done:
    """Run the tournament in its own process."""
    return debatebench(root, "run", "--run-tag", tag, *arguments, environ={"TINY_API_KEY": KEY})


def _digest(received: Received) -> bytes:
    return hashlib.sha256(json.dumps([received.json["model"], received.json["messages"]]).encode()).digest()


def is_judge(received: Received) -> bool:
    """Whether the request is for a judge."""
    return str(received.json["model"]).startswith("judge")


def verdict_text(received: Received) -> str:
    """A judge's answer, the same for the same question: on two sides, or on four teams."""
    digest = _digest(received)
    positions = ("OG", "OO", "CG", "CO") if "[OG |" in received.body.decode() else ("pro", "con")
    scores = {
        position: {name: 1 + digest[4 * place + n] % 10 for n, name in enumerate(DIMENSIONS)}
        for place, position in enumerate(positions)
    }
    winner = ("pro", "con", "tie")[digest[9] % 3] if len(positions) == 2 else [positions[digest[9] % 4]]
    return json.dumps({"scores": scores, "winner": winner})


def good_answers(received: Received) -> Behaviour:
    """A valid answer to every question. The same question always gets the same answer, tokens and cost."""
    digest = _digest(received)
    text = verdict_text(received) if is_judge(received) else f"Speech {digest.hex()[:12]}. <END_OF_TURN>"
    usage = {"prompt_tokens": 100 + digest[0], "completion_tokens": 10 + digest[1], "cost": (1 + digest[2]) / 1e5}
    return answer(text, usage=usage)


def sometimes(trouble: Behaviour, share: float, otherwise: Callable[[Received], Behaviour] = good_answers):
    """A script in which a seeded share of the requests gets `trouble`, chosen by order of arrival, not by question."""

    def script(received: Received) -> Behaviour:
        draw = hashlib.sha256(f"{received.number}".encode()).digest()[0] / 256
        return trouble if draw < share else otherwise(received)

    return script
