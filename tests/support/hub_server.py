"""A server that answers as Hugging Face's Hub does to a push: repositories, uploads of large files, and commits."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hf_canary5f2d9c0b7a61"
_OID = "b" * 40


@dataclass
class Hub:
    """What the server has: repositories by name with their files, and the requests that arrived."""

    url: str = ""
    is_private: dict[str, bool] = field(default_factory=dict)
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    refusal: tuple[int, str] | None = None
    large: dict[str, bytes] = field(default_factory=dict)


def _answer(hub: Hub, method: str, path: str, body: bytes) -> tuple[int, Any]:
    if path.startswith("/api/agent") or path.startswith("/api/telemetry"):
        return 404, {}
    if path.startswith("/large/"):
        hub.large[path.removeprefix("/large/")] = body
        return 200, {}
    if hub.refusal is not None:
        return hub.refusal[0], {"error": hub.refusal[1]}
    if path == "/api/repos/create":
        asked = json.loads(body)
        name = f"{asked['organization']}/{asked['name']}"
        if name in hub.files:
            return 409, {"error": "You already created this dataset repo", "url": f"{hub.url}/datasets/{name}"}
        is_private = asked.get("visibility") == "private" or asked.get("private") is True
        hub.files[name], hub.is_private[name] = {}, is_private
        return 200, {"url": f"{hub.url}/datasets/{name}", "name": name, "id": name}
    if path == "/api/validate-yaml":
        return 200, {"errors": [], "warnings": []}
    owner, name = (part.removesuffix(".git") for part in path.removeprefix("/api").split("/")[2:4])
    repository = f"{owner}/{name}"
    if "/preupload/" in path:
        asked = json.loads(body)["files"]
        modes = [{"path": each["path"], "uploadMode": _mode(each["path"]), "shouldIgnore": False} for each in asked]
        return 200, {"files": modes}
    if path.endswith("/info/lfs/objects/batch"):
        objects = [
            {**each, "actions": {"upload": {"href": f"{hub.url}/large/{each['oid']}"}}}
            for each in json.loads(body)["objects"]
        ]
        return 200, {"transfer": "basic", "objects": objects}
    if "/commit/" in path:
        for line in body.decode().splitlines():
            part = json.loads(line)
            _commit(hub, repository, part["key"], part["value"])
        return 200, {"success": True, "commitUrl": f"{hub.url}/datasets/{repository}/commit/{_OID}", "commitOid": _OID}
    return 200, {"id": repository, "sha": _OID, "private": hub.is_private[repository], "siblings": [], "tags": []}


def _mode(path: str) -> str:
    return "lfs" if path.endswith(".parquet") else "regular"


def _commit(hub: Hub, repository: str, key: str, value: dict[str, Any]) -> None:
    if key == "header":
        hub.messages.append(value["summary"])
    elif key == "file":
        hub.files[repository][value["path"]] = base64.b64decode(value["content"])
    elif key == "lfsFile":
        hub.files[repository][value["path"]] = hub.large[value["oid"]]
    else:
        raise AssertionError(f"a commit with {key}")


@contextmanager
def hub_server() -> Iterator[Hub]:
    """A running hub without repositories."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self._body()
            hub.requests.append(f"{self.command} {self.path}")
            if given := self.headers.get("authorization"):
                hub.tokens.add(given)
            status, found = _answer(hub, self.command, self.path.partition("?")[0], body)
            data = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            if status >= 400 and "error" in found:
                self.send_header("x-error-message", found["error"])
            self.end_headers()
            self.wfile.write(data)

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        do_POST = do_PUT = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
