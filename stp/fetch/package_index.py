"""Find addresses of package files on the index that pip is configured with; nothing is installed.

Settings are read with pip's command, without importing pip: ``pip.conf``, the environment
(``PIP_INDEX_URL``) and pip's default have the same effect as for ``pip install``. An index has a
simple page for each package (PEP 503 in HTML, PEP 691 in JSON) with a list of files and checksums.
"""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

from stp.core.errors import StpError
from stp.fetch.download import DownloadSettings, read_page

_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
_SECTIONS = ("global", "download", "install", ":env:")
"""Sources of pip's settings; later ones have precedence."""
_PATIENCE_S = 60
_JSON = "application/vnd.pypi.simple.v1+json"
_ACCEPTED = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


@dataclass(frozen=True)
class Indexes:
    """The package indexes of this machine, and the settings of requests to them.

    Attributes:
        urls: URLs of the indexes in the order of requests, without names and passwords.
        credentials: ``name:password`` by host.
        proxy: address of the proxy for all requests; if empty, the proxy of the environment.
        certificates: file of trusted certificates; if empty, the certificates of the system.
    """

    urls: tuple[str, ...]
    credentials: Mapping[str, str]
    proxy: str = ""
    certificates: str = ""

    def with_credentials(self, settings: DownloadSettings) -> DownloadSettings:
        """Copy settings of downloads, with credentials, proxy and certificates of the indexes.

        Args:
            settings: limits and other settings of downloads, which are not changed.

        Returns:
            a copy with the same limits, for requests to the indexes.
        """
        return replace(
            settings,
            credentials=self.credentials,
            proxy=self.proxy,
            certificates=self.certificates,
        )


def read_pip_config() -> Indexes:
    """Read the configuration of pip.

    Raises:
        StpError: pip is missing, or configured without an index on the web.
    """
    settings = _settings(_pip("config", "list"))
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        urls = []
    else:
        # The help of a command shows the default, but hides the password of a configured index.
        main = settings.get("index-url") or _default_index()
        urls = [main, *settings.get("extra-index-url", "").split()]
    on_the_web = [url for url in urls if urlsplit(url).scheme in ("http", "https")]
    if not on_the_web:
        raise StpError(
            "pip is configured with no package index on the web",
            expected="an index-url that begins with https://",
            remedy="see `pip config list`; PIP_INDEX_URL names an index",
        )
    pairs = [_without_credentials(url) for url in on_the_web]
    return Indexes(
        urls=tuple(url for url, _ in pairs),
        credentials={urlsplit(url).netloc: secret for url, secret in pairs if secret},
        proxy=settings.get("proxy", ""),
        certificates=settings.get("cert", "")
        or os.environ.get("REQUESTS_CA_BUNDLE", "")
        or os.environ.get("CURL_CA_BUNDLE", ""),
    )


def find_url(
    package: str, file: str, sha256: str, indexes: Indexes, settings: DownloadSettings
) -> str:
    """Find the address of a file of a package.

    Args:
        package: name of the package.
        file: name of the file, by which it is found in an index that states no SHA-256.
        sha256: checksum of the file, hexadecimal.
        indexes: package indexes, which are searched in their order.
        settings: limits and other settings of downloads; credentials, proxy and certificates are
            taken from ``indexes`` instead.

    Returns:
        the address, without name and password.

    Raises:
        StpError: no index has the file, or no index can be reached.
    """
    problems = []
    name = re.sub(r"[-_.]+", "-", package).lower()
    for index in indexes.urls:
        page = f"{index.rstrip('/')}/{name}/"
        try:
            content, kind, address = read_page(page, _ACCEPTED, indexes.with_credentials(settings))
            files = list(_of_json(content) if kind == _JSON else _of_html(content))
        except StpError as error:
            problems.append(error.what)
            continue
        except ValueError as error:
            problems.append(f"{page} is not a page of a package index: {error}")
            continue
        for url, checksum in files:
            called = unquote(urlsplit(url).path.rpartition("/")[2])
            if checksum == sha256 or (not checksum and called == file):
                return _without_credentials(urljoin(address, url))[0]
        problems.append(f"{page} does not list {file}")
    raise StpError(
        f"{file} was found on no package index: {'; '.join(problems)}",
        expected=f"an index of pip's configuration that lists the file with sha256 {sha256}",
        remedy="see `pip config list`; PIP_INDEX_URL names another index",
    )


def _pip(*arguments: str, **environment: str) -> str:
    try:
        done = subprocess.run(
            [*_PIP, *arguments],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        problem = [*done.stderr.splitlines(), ""][-1] if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if problem:
        raise StpError(
            f"pip cannot show its configuration: {problem}",
            expected=f"`{' '.join(_PIP[:3])} {' '.join(arguments)}` to work",
            remedy="install pip beside stp (`python -m ensurepip`)",
        )
    return done.stdout


def _settings(listing: str) -> dict[str, str]:
    """The settings of ``pip config list``, whose lines read ``section.key='value'``."""
    settings: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in listing.splitlines():
        key, is_setting, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if is_setting and section in settings:
            settings[section][name] = str(ast.literal_eval(value)).strip()
    return {
        name: value for section in _SECTIONS for name, value in settings[section].items() if value
    }


def _default_index() -> str:
    """The default index of pip, from its help."""
    text = _pip("install", "--help", COLUMNS="10000")
    match = re.search(r"--index-url\b.*?\(default (\S+?)\)", text, re.DOTALL)
    if match is None:
        raise StpError(
            "the help of `pip install` does not name its default index",
            remedy="name an index in PIP_INDEX_URL",
        )
    return match[1]


def _without_credentials(url: str) -> tuple[str, str]:
    """An address without credentials, and its ``name:password``."""
    parts = urlsplit(url)
    secret, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=host)), unquote(secret)


def _of_json(content: bytes) -> Iterator[tuple[str, str]]:
    """Addresses and SHA-256 of files.

    Raises:
        ValueError: the page is damaged.
    """
    try:
        for file in json.loads(content)["files"]:
            yield file["url"], file["hashes"].get("sha256", "")
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(repr(error)) from error


def _of_html(content: bytes) -> Iterator[tuple[str, str]]:
    """Addresses and SHA-256 of files; the checksum is the fragment of an address."""
    links: list[str] = []

    class Links(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            links.extend(value for key, value in attrs if (tag, key) == ("a", "href") and value)

    Links().feed(content.decode("utf-8", "replace"))
    for link in links:
        url, fragment = urldefrag(link)
        kind, _, checksum = fragment.partition("=")
        yield url, checksum if kind == "sha256" else ""
