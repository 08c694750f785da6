"""The progress line of a verb: one line that is rewritten on a terminal, lines elsewhere."""

import io

import pytest

from stp.run import meter
from stp.run.meter import CountMeter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "line", "cleared"),
    [
        (io.StringIO, "import: clips 0 of 4, ? left\nimport: clips 2 of 4, 20 s left\n", ""),
        (
            Terminal,
            "\r\033[Kimport: clips 0 of 4, ? left\r\033[Kimport: clips 2 of 4, 20 s left",
            "\r\033[K",
        ),
    ],
)
def test_lines_tell_how_far_it_is(
    stream: type[io.StringIO], line: str, cleared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter([100.0, 100.0, 110.0, 120.0])
    monkeypatch.setattr(meter.time, "monotonic", lambda: next(moments))
    monkeypatch.setattr(meter, "LOG_SECONDS", 10)
    monkeypatch.setattr(meter, "TERMINAL_SECONDS", 10)
    err = stream()
    monkeypatch.setattr("sys.stderr", err)
    count = CountMeter("import")
    for done in (1, 0, 2):  # too early for the first one
        count("clips", done, 4)
    assert err.getvalue() == line
    for _ in range(2):  # nothing is left to be removed
        count.clear()
    assert err.getvalue() == line + cleared
