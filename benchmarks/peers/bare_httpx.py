"""Play debates with httpx alone: the same number of requests, with speeches that grow, and nothing kept.

python bare_httpx.py DEBATES URL SLOTS
"""

from __future__ import annotations

import asyncio
import sys

import httpx

TURNS, JUDGES = 6, 3


async def play(client: httpx.AsyncClient, slots: asyncio.Semaphore, url: str, number: int) -> None:
    async def ask(model: str, messages: list[dict[str, str]]) -> str:
        async with slots:
            answer = await client.post(f"{url}/v1/chat/completions", json={"model": model, "messages": messages})
        answer.raise_for_status()
        return str(answer.json()["choices"][0]["message"]["content"])

    speeches: list[str] = []
    for turn in range(TURNS):
        said = "\n\n".join(speeches)
        messages = [
            {"role": "system", "content": f"You debate on side {turn % 2}."},
            {"role": "user", "content": f"Case {number}. So far:\n{said}\nSpeak."},
        ]
        speeches.append(await ask(f"debater-{turn % 2}", messages))
    transcript = {"role": "user", "content": "Judge this debate.\n" + "\n\n".join(speeches)}
    await asyncio.gather(*(ask(f"judge-{judge}", [transcript]) for judge in range(JUDGES)))


async def main() -> None:
    debates, url, slots = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    limits = httpx.Limits(max_connections=slots, max_keepalive_connections=slots)
    async with httpx.AsyncClient(timeout=60, limits=limits) as client:
        semaphore = asyncio.Semaphore(slots)
        await asyncio.gather(*(play(client, semaphore, url, number) for number in range(debates)))


asyncio.run(main())
