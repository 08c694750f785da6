"""A real HTTP server on the loopback interface, with faults on demand."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class FileServer:
    """Serves ``files`` and knows ``Range`` and ``If-Range``.

    ``faults`` are used up one per request, those of a path first. A fault is

    - ("status", code, headers): an error, with headers if given;
    - ("cut", n): the connection ends after n bytes;
    - ("stall", n): after n bytes nothing more comes, but the connection stays;
    - ("no range",): the whole file is sent whatever was asked for;
    - ("redirect", path): to another path;
    - ("replace", content, etag): from now on the file is another one; with "no if-range" as the
      last item, a resumed request is answered nevertheless;
    - ("meet", barrier): the answer waits until others are asked for at the same time;
    - ("type", content type): of the answer.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    etag: str | None = '"v1"'
    faults: list[tuple] = field(default_factory=list)
    faults_of: dict[str, list[tuple]] = field(default_factory=dict)
    ranges: list[str | None] = field(default_factory=list)  # the Range header of every request
    asked: list[str] = field(default_factory=list)  # the path of every request
    authorizations: list[str | None] = field(default_factory=list)  # the header of every request
    most: int = 0  # requests that were answered at the same time
    over: threading.Event = field(default_factory=threading.Event)
    _open: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, path: str, wanted: str | None) -> tuple:
        """Note a request; its fault."""
        with self._lock:
            self.ranges.append(wanted)
            self.asked.append(path)
            self._open += 1
            self.most = max(self.most, self._open)
            faults = self.faults_of.get(path) or self.faults
            return faults.pop(0) if faults else ("none",)

    def end(self) -> None:
        """A request was answered."""
        with self._lock:
            self._open -= 1


def _handler(server: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.authorizations.append(self.headers.get("Authorization"))
            fault = server.begin(self.path, self.headers.get("Range"))
            self.is_open = True
            try:
                self.answer(*fault)
            except ConnectionError:
                pass  # the client had enough
            finally:
                self.ended()

        def ended(self) -> None:
            if self.is_open:
                self.is_open = False
                server.end()

        def answer(self, fault: str, *more: object) -> None:
            if fault == "replace":
                server.files[self.path], server.etag = more[:2]
            content = server.files.get(self.path)
            if fault == "meet":
                more[0].wait(10)
            if fault == "status" or content is None:
                headers = more[1] if len(more) > 1 else {}
                self.send_response(more[0] if fault == "status" else 404)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                return self.end_headers()
            if fault == "redirect":
                self.send_response(302)
                self.send_header("Location", more[0])
                self.send_header("Content-Length", "0")
                return self.end_headers()
            wanted = self.headers.get("Range")
            valid = self.headers.get("If-Range") in (None, server.etag) or "no if-range" in more
            start = 0
            if wanted and valid and fault != "no range":
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
            if fault == "type":
                self.send_header("Content-Type", more[0])
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            end = start + more[0] if fault in ("cut", "stall") else len(content)
            self.ended()  # the next request may come as soon as the last byte is there
            self.wfile.write(content[start:end])
            if fault == "stall":
                self.wfile.flush()
                server.over.wait(30)

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
    yield state
    state.over.set()
    http.shutdown()
    http.server_close()
    thread.join()
