"""What tests do with the report's charts: go to one, read what it draws, point at its marks."""

from pathlib import Path
from typing import Any

from browser import Browser

DRAWN = """
const place = document.querySelector(`#plot-${arguments[0]} .plot`);
return place && place.data.map((trace) => ({
  name: trace.name, x: [...trace.x], y: [...trace.y], mode: trace.mode, dash: trace.line?.dash,
  symbol: trace.marker?.symbol, fill: trace.fill ?? null, visible: trace.visible ?? true,
  up: trace.error_y?.array ?? null, right: trace.error_x?.array ?? null,
  left: trace.error_x?.arrayminus ?? null, hover: trace.hovertext ?? null,
}));
"""
WHERE = """
const [name, trace, point] = arguments;
const place = document.querySelector(`#plot-${name} .plot`);
place.scrollIntoView({block: 'center'});
const drawn = place.data.find((one) => one.name === trace);
const box = place.querySelector('.nsewdrag').getBoundingClientRect();
const {xaxis, yaxis} = place._fullLayout;
return [box.x + xaxis.d2p(drawn.x[point]), box.y + yaxis.d2p(drawn.y[point])];
"""
Traces = dict[str, dict[str, Any]]


def opened(browser: Browser, database: Path) -> None:
    """Open the page beside a database."""
    browser.open(database.with_name("index.html"))
    browser.wait_for("document.documentElement.dataset.ready")


def at(browser: Browser, section: str, **filters: str) -> Traces:
    """Go to a section with filters set; what its chart draws, by name."""
    browser.run("window.before = document.getElementById('main').dataset.drawn")
    # The same address twice would draw nothing.
    times = browser.run("return document.getElementById('main').dataset.drawn")
    query = "&".join(f"{key}={value}" for key, value in {**filters, "after": times}.items())
    browser.run("location.hash = arguments[0]", f"{section}?{query}")
    browser.wait_for(
        "document.getElementById('main').dataset.drawn !== window.before "
        f"&& document.getElementById('main').dataset.section === {section!r}"
    )
    return drawn(browser, "ranks" if section == "significance" else section)


def drawn(browser: Browser, name: str) -> Traces:
    """What a chart draws, by name."""
    return {trace["name"]: trace for trace in browser.run(DRAWN, name) or []}


def text(browser: Browser, selector: str) -> str:
    """All that elements say."""
    found: str = browser.run(
        "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent).join(' ')",
        selector,
    )
    return found


def unfold(browser: Browser, name: str) -> None:
    """Open what is folded, by keyboard."""
    browser.run("document.querySelector(`[data-key='fold-${arguments[0]}']`).focus()", name)
    browser.press("Enter")
    browser.wait_for(
        f"document.querySelector('[data-key=\"fold-{name}\"]').parentElement.querySelector('table')"
    )


def point_at(browser: Browser, chart: str, trace: str, point: int) -> tuple[float, float]:
    """Move the mouse to a mark of a chart, and wait until the chart has seen it."""
    x, y = browser.run(WHERE, chart, trace, point)
    for nearer in (9, 0):
        mouse(browser, "mouseMoved", x + nearer, y)
    browser.wait_for(f"document.querySelector('#plot-{chart} .hovertext')")
    return x, y


def click_mark(browser: Browser, chart: str, trace: str, point: int) -> None:
    """Click a mark of a chart with the mouse."""
    x, y = point_at(browser, chart, trace, point)
    for what in ("mousePressed", "mouseReleased"):
        mouse(browser, what, x, y, button="left", clickCount=1)


def mouse(browser: Browser, what: str, x: float, y: float, **more: Any) -> None:
    """One event of the mouse, as the window system sends it."""
    browser.command("Input.dispatchMouseEvent", type=what, x=x, y=y, **more)
