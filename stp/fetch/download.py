"""Download one file over HTTP, with resumption and retries.

An unfinished file is called ``<name>.part``. Beside it, ``<name>.part.version`` contains the
server's name of the version that is being downloaded (ETag or Last-Modified). A resumed request
repeats this name (``If-Range``, RFC 9110 section 13.1.5), so that halves of two versions of a file
are never joined.
"""

import base64
import email.utils
import fcntl
import http.client
import os
import re
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from io import FileIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stp.core.disk import writing
from stp.core.errors import StpError

_BLOCK = 1 << 20
_PASSING = {408, 425, 429, 500, 502, 503, 504}
_BUSY = {429, 503}
LARGEST_PAGE = 1 << 24


@dataclass(frozen=True)
class DownloadSettings:
    """Limits and settings of downloads.

    Attributes:
        connections: maximum number of simultaneous connections to a host.
        attempts: number of successive attempts without new data before a download is given up.
        backoff_s: seconds before the second attempt; doubled for every further one.
        timeout_s: seconds without data after which a connection is closed.
        most_wait_s: maximum accepted Retry-After of a host, seconds.
        credentials: ``name:password`` by host.
        proxy: address of the proxy for all requests; if empty, the proxy of the environment.
        certificates: file of trusted certificates; if empty, the certificates of the system.
    """

    connections: int = 3
    attempts: int = 5
    backoff_s: float = 1.0
    timeout_s: float = 60.0
    most_wait_s: float = 900.0
    credentials: Mapping[str, str] = field(default_factory=dict)
    proxy: str = ""
    certificates: str = ""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to web addresses, but not from https to http."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        require_web(newurl, f"{req.full_url} redirects to {newurl}", req.type)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def require_web(url: str, problem: str, before: str = "http") -> None:
    """Refuse an address that is not http or https.

    Args:
        url: the address.
        problem: first sentence of the error, which says what the address is for.
        before: scheme of the address that redirects to this one; https must stay https.

    Raises:
        StpError: the scheme is not http or https, but for example ``file`` or ``data``.
    """
    allowed = ("https://",) if before == "https" else ("http://", "https://")
    if not url.lower().startswith(allowed):
        raise StpError(
            problem,
            expected=f"an address that begins with {' or '.join(allowed)}",
            remedy="get the file from another source, and put it into the raw folder",
        )


@cache
def _opener(proxy: str, certificates: str) -> urllib.request.OpenerDirector:
    """An opener for addresses of the web only: neither local files nor FTP."""
    trusted = ssl.create_default_context(cafile=certificates) if certificates else None
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else None),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=trusted),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener


def _open(
    url: str, headers: Mapping[str, str], settings: DownloadSettings
) -> http.client.HTTPResponse:
    """Send a request to a web address.

    Raises:
        OSError: the address cannot be reached, or the server refuses.
    """
    request = urllib.request.Request(url, headers={"User-Agent": "stp", **headers})
    secret = settings.credentials.get(urlsplit(url).netloc)
    if secret:  # not sent to hosts of redirects
        token = base64.b64encode(secret.encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")
    opened: http.client.HTTPResponse = _opener(settings.proxy, settings.certificates).open(
        request, timeout=settings.timeout_s
    )
    return opened


def read_page(url: str, accept: str, settings: DownloadSettings) -> tuple[bytes, str, str]:
    """Read a small page, in a single attempt.

    Args:
        url: address of the page.
        accept: accepted types of content.
        settings: limits and other settings of downloads.

    Returns:
        content, type, and the final address after redirects.

    Raises:
        StpError: the page cannot be reached, or is larger than `LARGEST_PAGE`.
    """
    require_web(url, f"{url} is not an address of a page")
    try:
        with _open(url, {"Accept": accept}, settings) as response:
            content = response.read(LARGEST_PAGE + 1)
            kind, address = response.headers.get_content_type(), response.url
    except (OSError, http.client.HTTPException) as error:
        raise StpError(f"{url} could not be read: {error}") from error
    if len(content) > LARGEST_PAGE:
        raise StpError(f"{url} could not be read: it has more than {LARGEST_PAGE} bytes")
    return content, kind, address


class Stopped(Exception):  # noqa: N818 (not an error)
    """The download was stopped; the unfinished file stays."""


class Host:
    """Shared state of all downloads from one host; when the host is busy, all of them wait.

    Attributes:
        manners: limits and settings of the downloads.
        stop: event; all of these downloads stop when it is set.
        failed: number of successive files that failed because of the host.
        pointless: reason why further files are not tried; empty while files are tried.
    """

    def __init__(self, settings: DownloadSettings, stop: threading.Event | None = None) -> None:
        self.settings = settings
        self.stop = stop or threading.Event()
        self.failed = 0
        self.pointless = ""
        self._free = 0.0

    def leave_alone(self, seconds: float) -> None:
        """Suspend requests to the host for some seconds."""
        self._free = max(self._free, time.monotonic() + seconds)

    def wait(self, seconds: float = 0.0) -> None:
        """Wait some seconds, and until requests are allowed again.

        Raises:
            Stopped: the wait was ended.
        """
        until = time.monotonic() + seconds
        while not self.stop.is_set():
            seconds_left = max(until, self._free) - time.monotonic()
            if seconds_left <= 0:
                return
            self.stop.wait(seconds_left)
        raise Stopped


class GivenUpError(StpError):
    """The server or the network kept failing, so other files may fail as well."""


class _PassingError(Exception):
    """An error that another attempt may avoid.

    Attributes:
        busy: whether the host asks for a pause.
        wait_s: length of the pause in seconds; 0 if it is not stated.
    """

    def __init__(self, problem: str, *, busy: bool = False, wait_s: float = 0.0) -> None:
        super().__init__(problem)
        self.busy, self.wait_s = busy, wait_s


@contextmanager
def open_part(target: Path) -> Iterator[FileIO]:
    """Context manager: open the unfinished download of ``target``, a file ``<target>.part``.

    Bytes are appended to it. It is locked against other processes.

    Raises:
        StpError: the file cannot be written.
    """
    part = part_path(target)
    while True:
        with writing(part):
            part.parent.mkdir(parents=True, exist_ok=True)
            file = part.open("ab", buffering=0)  # closing flushes nothing, so it cannot fail
        with file:
            with suppress(OSError):  # the file system has no locks
                fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_at(part, file):  # another process has finished or discarded it
                continue
            try:
                yield file
            finally:
                if not _length(file):
                    discard_part(target)
            return


def _is_at(path: Path, file: FileIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def part_path(target: Path) -> Path:
    """Path of the unfinished download of ``target``: its name with the suffix ``.part``."""
    return target.with_name(target.name + ".part")


def discard_part(target: Path) -> None:
    """Delete the unfinished download of ``target``, and the note of the version it belongs to."""
    with suppress(OSError):
        part_path(target).unlink(missing_ok=True)
        _version_path(target).unlink(missing_ok=True)


def finish_part(target: Path) -> None:
    """Rename the file ``<target>.part``, whose download is complete now, to ``target``.

    Raises:
        StpError: the file cannot be renamed.
    """
    with writing(target):
        part_path(target).replace(target)
        _version_path(target).unlink(missing_ok=True)


def download(
    url: str,
    target: Path,
    file: FileIO,
    host: Host,
    *,
    size: int | None = None,
    checked: bool = False,
    advance: Callable[[int, int | None], None] = lambda have, total: None,
) -> None:
    """Append to the unfinished ``file`` of ``target`` until it is complete.

    Args:
        url: address of the file.
        target: path of the finished file.
        file: unfinished file, opened by ``open_part(target)``.
        host: shared state of all downloads from this host.
        size: declared number of bytes, if known.
        checked: whether the result is compared with a declared checksum, so that resuming is safe
            even if the server does not name the version of its file.
        advance: function that is called with the current number of bytes, and the total if known.

    Raises:
        GivenUpError: the server keeps failing.
        StpError: the server refuses, or offers another size; the disk is full.
        Stopped: the host's ``stop`` is set.
    """
    require_web(url, f"{url} is not a web address to download {target.name} from")
    settings = host.settings
    failures, most = 0, -1
    while True:
        host.wait()
        try:
            return _attempt(url, target, file, host, size, checked, advance)
        except _PassingError as problem:
            have = _length(file)
            failures = 1 if have > most else failures + 1
            most = max(most, have)
            if failures >= settings.attempts or problem.wait_s > settings.most_wait_s:
                hint = f"; it asks to be tried again in {problem.wait_s:.0f} s"
                raise GivenUpError(
                    f"{url} could not be downloaded: {problem}{hint if problem.wait_s else ''}",
                    expected=f"new data within {settings.attempts} attempts",
                    remedy=f"run the same command again later (it goes on after {have} bytes), "
                    f"or put the file at {target}",
                ) from problem
            pause = max(problem.wait_s, settings.backoff_s * 2 ** (failures - 1))
            if problem.busy:
                host.leave_alone(pause)
            host.wait(pause)


def _attempt(
    url: str,
    target: Path,
    file: FileIO,
    host: Host,
    size: int | None,
    checked: bool,
    advance: Callable[[int, int | None], None],
) -> None:
    have, version = _length(file), _version(target)
    if size is not None and have == size:
        return  # complete; the last run ended between the last byte and the rename
    if have and (not (version or checked) or (size is not None and have > size)):
        have = _restart(target, file)
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if version:
            headers["If-Range"] = version
    try:
        response = _open(url, headers, host.settings)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and have:  # no bytes are left: the file is complete, or too long
            if _content_range(error.headers.get("Content-Range"))[1] == have:
                return
            _restart(target, file)
            raise _PassingError("the server's file is shorter than the unfinished one") from error
        if error.code in _PASSING:
            raise _PassingError(
                f"the server answered {error.code} {error.reason}",
                busy=error.code in _BUSY,
                wait_s=_retry_after(error.headers.get("Retry-After")),
            ) from error
        raise StpError(
            f"{url} could not be downloaded: the server answered {error.code} {error.reason}",
            remedy=f"get the file elsewhere and put it at {target}",
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", "") or error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise StpError(
                f"{url} could not be downloaded: {reason}",
                remedy="check whether a proxy is in between (SSL_CERT_FILE names its certificate), "
                f"or get the file elsewhere and put it at {target}",
            ) from error
        raise _PassingError(str(reason)) from error

    with response:
        length = response.headers.get("Content-Length")
        total = int(length) if length else None
        if have and response.status == 206:
            start, total = _content_range(response.headers.get("Content-Range"))
            if start != have:
                _restart(target, file)
                raise _PassingError("the server resumed at another byte than asked for")
            now = _name_of_version(response)
            if version and now and now != version:  # the server ignores If-Range
                _restart(target, file)
                raise _PassingError("the server has another version of the file now")
        elif have:  # the whole file: the server cannot resume, or has another version
            have = _restart(target, file)
        if size is not None and total is not None and total != size:
            raise StpError(
                f"{url} offers {total} bytes",
                expected=f"{size} bytes, as declared for {target.name}",
                remedy="look for the declared version of the file and put it at "
                f"{target}, or declare a new release",
            )
        _refuse_web_page(response, url, target, total if size is not None else None)
        if _name_of_version(response) or not have:
            _keep_version(target, _name_of_version(response))
        advance(have, total or size)
        while block := _read(response):
            have += len(block)
            with writing(part_path(target)):
                while block:
                    block = block[file.write(block) :]
            advance(have, total or size)
            if host.stop.is_set():
                raise Stopped
        if total is not None and have < total:
            raise _PassingError(f"the connection ended after {have} of {total} bytes")


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read1(_BLOCK)  # available data, so that nothing is lost when it stalls
    except (OSError, http.client.HTTPException) as error:
        raise _PassingError(f"the connection broke ({error})") from error


def _length(file: FileIO) -> int:
    return os.fstat(file.fileno()).st_size


def _restart(target: Path, file: FileIO) -> int:
    with writing(part_path(target)):
        file.truncate(0)
        _version_path(target).unlink(missing_ok=True)
    return 0


def _content_range(header: str | None) -> tuple[int | None, int | None]:
    """First byte and total of a ``Content-Range`` header; None if they are not stated."""
    match = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", (header or "").strip())
    if not match:
        return None, None
    start, total = match.groups()
    return (int(start) if start else None), (int(total) if total != "*" else None)


def _version_path(target: Path) -> Path:
    return target.with_name(target.name + ".part.version")


def _version(target: Path) -> str:
    path = _version_path(target)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _name_of_version(response: http.client.HTTPResponse) -> str:
    """The server's name of this version of the file; empty if the server does not name it."""
    etag, modified = response.headers.get("ETag"), response.headers.get("Last-Modified")
    # A weak ETag (W/"...") allows different data and must not be used to join parts.
    return (etag if etag and not etag.startswith("W/") else modified) or ""


def _keep_version(target: Path, version: str) -> None:
    with writing(part_path(target)):
        _version_path(target).write_text(version, encoding="utf-8")


def _retry_after(header: str | None) -> float:
    """Seconds of a ``Retry-After`` header, which has a number or a date; 0 without either."""
    text = (header or "").strip()
    if text.isdecimal():
        return float(text)
    with suppress(ValueError, TypeError):
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    return 0.0


def _refuse_web_page(
    response: http.client.HTTPResponse, url: str, target: Path, total: int | None
) -> None:
    """Refuse a web page (a login, a download limit) that is sent in place of the file."""
    is_page = response.headers.get_content_type() == "text/html"
    if is_page and total is None and target.suffix not in (".html", ".htm"):
        raise StpError(
            f"{url} could not be downloaded: the server sent a web page instead",
            remedy=f"open the address in a browser, and put the file at {target}",
        )
