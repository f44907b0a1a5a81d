"""Storage that speaks S3's protocol: moto's server on a free port, and before it a door that counts and breaks off."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from werkzeug.serving import make_server
from werkzeug.wrappers import Response

SECRET = "canary-secret/5f2d+9c0b7a61"
TOKEN = "canary-token/71aa+0c"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIACANARY",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_SESSION_TOKEN": TOKEN,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "NO_PROXY": "127.0.0.1",
}
HANG_UP = Response()
"""In place of an answer: the connection breaks."""
Fault = Callable[[str, str], Response | None]
"""What becomes of a request, given its method and path: an answer in place of the storage's, or None."""


@dataclass
class Storage:
    """A running storage. `requests` are the methods and paths that arrived; `fault` may answer in its place."""

    url: str
    client: Any
    requests: list[tuple[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    fault: Fault = lambda method, path: None

    def puts(self) -> list[str]:
        return [path for method, path in self.requests if method == "PUT"]

    def keys(self, bucket: str) -> list[str]:
        return sorted(each["Key"] for each in self.client.list_objects_v2(Bucket=bucket).get("Contents", ()))

    def body(self, bucket: str, key: str) -> bytes:
        data: bytes = self.client.get_object(Bucket=bucket, Key=key)["Body"].read()
        return data


@contextmanager
def object_storage(*buckets: str) -> Iterator[Storage]:
    """A storage with these empty buckets, and an environment with the credentials for it."""
    # They take long to load, and every process that collects the tests imports this file.
    import boto3
    from moto.server import DomainDispatcherApplication, create_backend_app

    backend = DomainDispatcherApplication(create_backend_app)
    storage = Storage("", None)

    def door(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if environ.get("HTTP_USER_AGENT", "").find("debatebench") >= 0:
            storage.requests.append((method, path))
            storage.headers.append({key: str(value) for key, value in environ.items() if key.startswith("HTTP_")})
            if (answer := storage.fault(method, path)) is not None:
                environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
                if answer is HANG_UP:
                    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
                return answer(environ, start)
        return backend(environ, start)

    server = make_server("127.0.0.1", 0, door, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    storage.url = f"http://127.0.0.1:{server.server_port}"
    try:
        with patch.dict(os.environ, CREDENTIALS):
            os.environ.pop("AWS_PROFILE", None)
            session = boto3.Session(region_name="us-east-1")
            storage.client = session.client("s3", endpoint_url=storage.url)
            for bucket in buckets:
                storage.client.create_bucket(Bucket=bucket)
            yield storage
            for bucket in storage.client.list_buckets()["Buckets"]:
                for key in storage.keys(bucket["Name"]):
                    storage.client.delete_object(Bucket=bucket["Name"], Key=key)
                storage.client.delete_bucket(Bucket=bucket["Name"])
            storage.client.close()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def refusal(code: str, status: int, message: str = "No.") -> Response:
    """An answer with an error of S3."""
    text = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'
    return Response(text, status, content_type="application/xml")
