"""Play debates with inspect_ai: a sample is a debate, its solver asks for six speeches, its scorer asks three judges.

    python inspect_debates.py DEBATES URL SLOTS LOG_FOLDER

Its log is kept, as ours is.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, Model, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

TURNS, JUDGES = 6, 3


def models(prefix: str, count: int, url: str, slots: int) -> list[Model]:
    config = GenerateConfig(max_connections=slots)
    return [
        get_model(f"openai-api/local/{prefix}-{n}", base_url=f"{url}/v1", api_key="sk-local", config=config)
        for n in range(count)
    ]


@solver
def debate(debaters: list[Model]) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        speeches: list[str] = []
        for turn in range(TURNS):
            said = "\n\n".join(speeches)
            messages: list[Any] = [
                ChatMessageSystem(content=f"You debate on side {turn % 2}."),
                ChatMessageUser(content=f"{state.input_text} So far:\n{said}\nSpeak."),
            ]
            speeches.append((await debaters[turn % 2].generate(messages)).completion)
        state.output.completion = "\n\n".join(speeches)
        return state

    return solve


@scorer(metrics=[mean()])
def panel(judges: list[Model]) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        question = f"Judge this debate.\n{state.output.completion}"
        answers = await asyncio.gather(*(judge.generate(question) for judge in judges))
        return Score(value=len(answers), explanation="\n".join(answer.completion for answer in answers))

    return score


def main() -> None:
    debates, url, slots, folder = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    task = Task(
        dataset=MemoryDataset([Sample(input=f"Case {n}.", id=n) for n in range(1, debates + 1)]),
        solver=debate(models("debater", 2, url, slots)),
        scorer=panel(models("judge", JUDGES, url, slots)),
    )
    (log,) = eval(
        task, model="mockllm/model", log_dir=folder, display="none", max_samples=slots, max_tasks=1, fail_on_error=True
    )
    if log.status != "success":
        sys.exit(f"inspect_ai ended with {log.status}: {log.error and log.error.message}")


if __name__ == "__main__":
    main()
