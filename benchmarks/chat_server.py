"""A cheap chat-completions server for the case `runner`: every answer takes the same time, and it counts the requests.

    python benchmarks/chat_server.py --latency 0.1

It prints its port on one line and serves until its standard input ends. `GET /` returns what has arrived since the last
`GET /`, as JSON. It answers judges (models whose name begins with `judge`) with scores for the dimensions `logic` and
`clarity`, and all other models with a speech of a few hundred words.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
import zlib
from typing import Any

SPEECH = " ".join(f"This is sentence {n} of a speech, and it says what such sentences say." for n in range(16))
DIMENSIONS = ("logic", "clarity")


class Seen:
    """What has arrived since the last `GET /`; times are monotonic seconds."""

    def __init__(self) -> None:
        self.requests = self.in_flight = self.most_in_flight = self.connections = 0
        self.first_request_at = self.last_request_at = self.last_answer_at = 0.0

    def arrived(self) -> None:
        now = time.monotonic()
        self.first_request_at = self.first_request_at or now
        self.last_request_at = now
        self.requests += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def answered(self) -> None:
        self.last_answer_at = time.monotonic()
        self.in_flight -= 1


class Connection(asyncio.Protocol):
    """One client connection; requests come one after another."""

    seen = Seen()
    latency_s = 0.1

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.buffer = bytearray()
        Connection.seen.connections += 1

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.buffer[:end]).lower()
            _, _, rest = head.partition(b"content-length:")
            length = int(rest.partition(b"\r\n")[0] or b"0")
            if len(self.buffer) < end + 4 + length:
                return
            body = bytes(self.buffer[end + 4 : end + 4 + length])
            del self.buffer[: end + 4 + length]
            if head.startswith(b"get"):
                self.write(json.dumps(vars(Connection.seen)).encode())
                Connection.seen = Seen()
            else:
                Connection.seen.arrived()
                asyncio.get_running_loop().call_later(self.latency_s, self.answer, body)

    def answer(self, body: bytes) -> None:
        Connection.seen.answered()
        self.write(answer_to(body))

    def write(self, body: bytes) -> None:
        if not self.transport.is_closing():
            head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            self.transport.write(head.encode() + body)


def answer_to(body: bytes) -> bytes:
    """The answer to a request; the same for the same question."""
    model = json.loads(body)["model"]
    if model.startswith("judge"):
        draw = zlib.crc32(body)
        scores = {side: dict.fromkeys(DIMENSIONS, 1 + draw % high) for side, high in (("pro", 10), ("con", 9))}
        text = json.dumps({"scores": scores})
    else:
        text = SPEECH
    prompt, completion = len(body) // 4, len(text) // 4
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "cost": 0.0001,
    }
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"id": "gen-1", "model": model, "choices": [choice], "usage": usage}).encode()


async def serve(latency_s: float) -> None:
    Connection.latency_s = latency_s
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.1, help="seconds until an answer")
    asyncio.run(serve(parser.parse_args().latency))
