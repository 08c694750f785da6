"""A real HTTP server on the loopback interface, with faults on demand."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from stp.fetch import download


@dataclass
class FileServer:
    """Serves ``files`` and knows ``Range`` and ``If-Range``.

    ``faults`` are used up one per request: ("status", code), ("cut", n): the connection ends after
    n bytes, ("no range",): the whole file is sent whatever was asked for.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    etag: str | None = '"v1"'
    faults: list[tuple] = field(default_factory=list)
    ranges: list[str | None] = field(default_factory=list)  # the Range header of every request


def _handler(server: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.ranges.append(self.headers.get("Range"))
            fault = server.faults.pop(0) if server.faults else ("none",)
            content = server.files.get(self.path)
            if fault[0] == "status" or content is None:
                return self.send_error(fault[1] if content is not None else 404)
            wanted = self.headers.get("Range")
            valid = self.headers.get("If-Range") in (None, server.etag)
            start = 0
            if wanted and valid and fault[0] != "no range":
                start = int(wanted.removeprefix("bytes=").rstrip("-"))
                if start >= len(content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                    self.send_header("Content-Length", "0")
                    return self.end_headers()
                self.send_response(206)
                self.send_header(
                    "Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}"
                )
            else:
                self.send_response(200)
            if server.etag:
                self.send_header("ETag", server.etag)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            end = start + fault[1] if fault[0] == "cut" else len(content)
            self.wfile.write(content[start:end])

        def log_message(self, *args: object) -> None:
            """Keep the test output clean."""

    return Handler


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    state = FileServer()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    state.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download, "BACKOFF_S", 0.0)
    yield state
    http.shutdown()
    http.server_close()
    thread.join()
