"""Which requests are answered, and the headers of every answer.

A page of another site can make a browser send requests to this computer, by address or under a name of its own that
resolves to it. So the name in `Host` must be a loopback one, what the browser says of the request's origin must be this
server, and the address must contain a token that only the printed address has.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# Scripts and styles only as files of this server: a transcript that becomes markup by mistake still does nothing.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_LARGEST_BODY = 512 * 1024
# A browser that is cut off while it sends shows no answer, so the rest of a long body is read and dropped, up to here.
_MOST_DISCARDED = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Served:
    """What a command serves: how its application is made, given the path before every address, and what it answers."""

    command: str
    make_app: Callable[[str], App]
    methods: Collection[str] = ("GET", "HEAD")


class Guard:
    """An ASGI application that answers only what may be answered; the app behind it sees the path after the token.

    An answer of the app may have a policy of its own, which then stands in the place of the usual one.
    """

    def __init__(self, served: Served, token: str, port: int) -> None:
        self._app = served.make_app(f"/{token}")
        self._served = served
        self._token = token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = list(message.get("headers", ()))
                names = {name.lower() for name, _ in there}
                own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*there, *(header for header in own if header[0] not in names)]
            await send(message)

        refusal = self._refusal(scope["method"], scope["path"], headers)
        if refusal is not None:
            await _discard(receive)
            await _answer(send_with_headers, *refusal)
            return
        inner = {**scope, "path": scope["path"].removeprefix(f"/{self._token}") or "/"}
        await self._app(inner, _limited(receive), send_with_headers)

    def _refusal(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str] | None:
        """The status and the words for a request that the application does not see."""
        host = headers.get("host", "")
        if host not in self._hosts:
            return 421, "This server answers only to 127.0.0.1 and localhost."
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return 403, "This request comes from a page of another origin."
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return 403, "This request comes from a page of another site."
        if path == "/favicon.ico":
            # Browsers ask for it on their own, and would show a refusal as an error.
            return 204, ""
        if not secrets.compare_digest(path.partition("/")[2].partition("/")[0].encode(), self._token.encode()):
            command = self._served.command
            return 403, f"This address is not valid. Open the one that `debatebench {command}` has printed."
        if method not in self._served.methods:
            return 405, f"This server answers only to {' and '.join(self._served.methods)}."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _LARGEST_BODY:
            return 413, f"A form has at most {_LARGEST_BODY:,} bytes."
        return None


def _limited(receive: Receive) -> Receive:
    """The same stream of a body, which ends where it becomes too long."""
    count = 0

    async def receive_limited() -> Message:
        nonlocal count
        message = await receive()
        count += len(message.get("body", b""))
        return {"type": "http.disconnect"} if count > _LARGEST_BODY else message

    return receive_limited


async def _discard(receive: Receive) -> None:
    """Read the body of a request that is refused."""
    count = 0
    while count < _MOST_DISCARDED:
        message = await receive()
        count += len(message.get("body", b""))
        if not message.get("more_body", False):
            return


async def _answer(send: Send, status: int, text: str) -> None:
    body = f"{text}\n".encode() if text else b""
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
