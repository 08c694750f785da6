"""Fixtures that all tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def raw_mirror() -> Path:
    """The folder of real sample bytes; tests that need it skip where it is not at hand."""
    value = os.environ.get("STP_RAW_MIRROR")
    if not value:
        pytest.skip("set STP_RAW_MIRROR to the folder of the sample bytes to run this test")
    folder = Path(value).absolute()
    if not (folder / "MANIFEST.tsv").is_file():
        pytest.fail(f"STP_RAW_MIRROR={value} has no MANIFEST.tsv")
    return folder


@pytest.fixture(scope="module", autouse=True)
def settings_are_left_alone() -> Iterator[None]:
    """What a module sets in the environment, it takes back: the next one may be any other."""

    def settings() -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name.startswith("STP_")}

    before = settings()
    yield
    assert settings() == before


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the tests of sample bytes that really ran, for CI."""
    ran = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if "sample_bytes" in report.keywords and report.when == "call"
    ]
    terminalreporter.write_line(f"sample tests run: {len(ran)}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of slow tests first, so that no worker has minutes to do when all others have ended.

    Raises:
        UsageError: two modules have one name: Python would import the first for both, or not, by
            the order.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    names: dict[str, Path] = {}
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        if path.name != "conftest.py" and names.setdefault(path.stem, path) != path:
            raise pytest.UsageError(f"{names[path.stem]} and {path} have one name: rename one")
