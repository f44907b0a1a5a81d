"""A local proxy that refuses every tunnel."""

from __future__ import annotations

import socketserver
import threading
from types import TracebackType


class RefusingProxy:
    """Answers each CONNECT with `status`, on a free port while the `with` block lasts; `asked` counts them."""

    def __init__(self, status: str) -> None:
        proxy = self
        self.asked = 0

        class Tunnel(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                if self.rfile.readline().startswith(b"CONNECT "):
                    proxy.asked += 1
                while self.rfile.readline().strip():
                    continue
                self.wfile.write(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode())

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Tunnel)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> RefusingProxy:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
