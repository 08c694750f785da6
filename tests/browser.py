"""A headless Chromium, driven through chromedriver (W3C WebDriver: JSON over HTTP)."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
KEYS = {
    "Enter": "\ue007",
    "Space": " ",
    "Tab": "\ue004",
    "Down": "\ue015",
    "Up": "\ue013",
    "Home": "\ue011",
    "End": "\ue010",
    "Escape": "\ue00c",
}


class Browser:
    """A window.

    Args:
        folder: for its profile, which lives on after it is closed, and for downloads.
        size: of the window in CSS pixels.
        options: of Chromium.
    """

    def __init__(
        self, folder: Path, size: tuple[int, int] = (1100, 900), options: tuple[str, ...] = ()
    ) -> None:
        assert CHROMIUM and DRIVER
        self.downloads = folder / "downloads"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"http://127.0.0.1:{free.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        self.driver = subprocess.Popen(
            [DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            # No network at all: whatever the page would load fails.
            "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking",
            f"--user-data-dir={folder / 'profile'}", f"--window-size={size[0]},{size[1]}", *options,
        ]  # fmt: skip
        preferences = {"download.default_directory": str(self.downloads)}
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {
                "args": arguments,
                "binary": CHROMIUM,
                "prefs": preferences,
            },
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        self.session = ""
        try:
            self._wait_for_driver()
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self.driver.kill()
            raise
        self.session = f"/session/{answer['sessionId']}"

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()

    def open(self, page: Path) -> None:
        """Open a file, as from a disk."""
        self._call("POST", f"{self.session}/url", {"url": page.as_uri()})

    def visit(self, address: str) -> None:
        """Open an address; other hosts than this machine's have to be let in by `options`."""
        self._call("POST", f"{self.session}/url", {"url": address})

    def tab(self, name: str | None = None) -> str:
        """Go to a tab, or to a new one; what it is called that was in front before."""
        before = str(self._call("GET", f"{self.session}/window"))
        if name is None:
            name = self._call("POST", f"{self.session}/window/new", {"type": "tab"})["handle"]
        self._call("POST", f"{self.session}/window", {"handle": name})
        return before

    def close_tab(self, other: str) -> None:
        """Close the tab in front, and go to another."""
        self._call("DELETE", f"{self.session}/window")
        self._call("POST", f"{self.session}/window", {"handle": other})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript; what it returns, promises awaited."""
        body = {"script": script, "args": list(arguments)}
        return self._call("POST", f"{self.session}/execute/sync", body)

    def command(self, name: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol."""
        body = {"cmd": name, "params": parameters}
        return self._call("POST", f"{self.session}/goog/cdp/execute", body)

    def click(self, selector: str) -> None:
        """Click an element as a mouse does: it has to be visible."""
        found = {"using": "css selector", "value": selector}
        element = self._call("POST", f"{self.session}/element", found)
        name = next(iter(element.values()))
        self._call("POST", f"{self.session}/element/{name}/click", {})

    def press(self, *keys: str) -> None:
        """Press keys wherever the focus is."""
        actions = [
            {"type": kind, "value": KEYS.get(key, key)}
            for key in keys
            for kind in ("keyDown", "keyUp")
        ]
        body = {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}
        self._call("POST", f"{self.session}/actions", body)

    def wait_for(self, condition: str, seconds: float = 60) -> Any:
        """Wait until a JavaScript expression is true.

        Raises:
            AssertionError: it does not become so.
        """
        end = time.monotonic() + seconds
        while not (found := self.run(f"return {condition}")):
            assert time.monotonic() < end, f"never {condition}"
            time.sleep(0.05)
        return found

    def saved(self, pattern: str) -> Path:
        """A file that the page saved, whole, where the browser no longer touches it.

        Under the name that it asked for, a browser first makes an empty file, then puts what it
        has received in its place; closed in between, it removes the file.

        Raises:
            AssertionError: nothing was saved.
        """
        end = time.monotonic() + 60
        while not (found := [p for p in self.downloads.glob(pattern) if p.stat().st_size]):
            assert time.monotonic() < end, f"nothing was saved as {pattern}"
            time.sleep(0.05)
        return Path(shutil.copy(found[0], self.downloads.parent))

    def picture(self, path: Path) -> None:
        """Write a PNG of the window."""
        path.write_bytes(base64.b64decode(self._call("GET", f"{self.session}/screenshot")))

    def complaints(self) -> list[str]:
        """Errors of the console since the last time."""
        found = self._call("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in found if entry["level"] == "SEVERE"]

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def _wait_for_driver(self) -> None:
        end = time.monotonic() + 60
        while True:
            try:
                self._call("GET", "/status")
                return
            except OSError:
                assert time.monotonic() < end, "chromedriver does not answer"
                time.sleep(0.05)
