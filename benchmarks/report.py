"""How long the report of the whole paper takes to write, to open, and to answer a choice.

Makes a store of 15 models on 45 evaluations in 30 conventions (with intervals and lead times), by
the same code as a run: scores that are made up, collected, and built into results.duckdb; ranks and
comparisons get made-up numbers in place of the reasons why there are none. Then it writes the
report and opens it in a headless Chromium, from a disk. "First" is the first time that a section is
shown, which reads its data; "choice" is the median over choices of a filter, until the page is laid
out anew. Both are CPU time of the page's main thread, which is what they take on a machine that is
not busy; wall time is in brackets.

    python benchmarks/report.py
    python benchmarks/report.py --seeds 3 --keep /tmp/report
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from stp.collect.refresh import build_database, collect_dimension
from stp.report.build import write_report

TESTS = Path(__file__).parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "collect")]
if TYPE_CHECKING:
    from browser import Browser

DIMENSIONS = ("short_term", "long_term", "generalization")
MODELS = ["persistence", *(f"model_{letter}" for letter in "abcdefghijklmn")]
DATASETS = [f"dataset_{n:02d}" for n in range(15)]
METRICS = [f"metric_{n:02d}" for n in range(15)]
CONVENTIONS = [f"{metric}.{choice}" for metric in METRICS for choice in ("plain", "pooled")]
LEADS = 10
WITH_LEADS = 5
"""Conventions that have a value for each lead time."""
MOST_MILLISECONDS = 200.0
"""That a choice may take."""
TIMED = """
const [name, value] = arguments;
const select = document.querySelector(`select[name=${name}]`);
const start = performance.now();
select.value = value;
select.dispatchEvent(new Event('change'));
document.body.getBoundingClientRect();
return performance.now() - start;
"""
OPTIONS = """
return [...document.querySelectorAll('.filters select')].map((select) =>
  [select.name, [...select.options].map((option) => option.value)]);
"""
FIRST = """
const main = document.getElementById('main'), before = main.dataset.drawn;
const start = performance.now();
location.hash = arguments[0];
return new Promise((done) => {
  const look = () => {
    if (main.dataset.drawn === before) { setTimeout(look); return; }
    document.body.getBoundingClientRect();
    done(performance.now() - start);
  };
  look();
});
"""


def main() -> None:
    from browser import Browser

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1, help="trainings of each model")
    parser.add_argument("--page", type=Path, help="only open this page, which is there already")
    parser.add_argument("--keep", type=Path, help="folder for the store and the page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        page = arguments.page or written(arguments.keep or Path(temporary), arguments.seeds)
        with Browser(Path(temporary) / "browser", (1280, 900)) as browser:
            slow = measured(browser, page)
    if slow:
        raise SystemExit(f"slower than {MOST_MILLISECONDS:.0f} ms: {', '.join(slow)}")


def written(folder: Path, seeds: int) -> Path:
    """Make the store and the report."""
    start = time.perf_counter()
    database = make_store(folder, seeds)
    print(f"store: {time.perf_counter() - start:.0f} s, {counted(database)}")
    page = folder / "index.html"
    wall, cpu = time.perf_counter(), time.process_time()
    write_report(database, page)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"report: {cpu:.1f} s of CPU time ({wall:.1f} s), {page.stat().st_size / 1e6:.1f} MB")
    return page


def make_store(folder: Path, seeds: int) -> Path:
    """Make scores of all cells, collect them and build the database."""
    from small_store import SmallStore, convention_facts, dataset_facts, model_facts

    rng = np.random.default_rng(0)
    for dimension in DIMENSIONS:
        store = SmallStore(folder)
        about = convention_facts(True, title="A metric", description="made up")
        store.manifest |= {
            "dimension": dimension,
            "conventions": dict.fromkeys(CONVENTIONS, about),
            "unavailable": {},
            "names": {
                "models": {name: name for name in MODELS},
                "datasets": {name: name for name in DATASETS},
            },
            "models": {name: model_facts("sgd") for name in MODELS[1:]}
            | {"persistence": model_facts()},
            "datasets": {
                name: dataset_facts(domain=f"domain {n % 5}") for n, name in enumerate(DATASETS)
            },
        }
        columns = {f"M{n}": f"{metric}.plain" for n, metric in enumerate(METRICS)}
        tables = {"columns": dict.fromkeys(DATASETS, columns)}
        store.manifest["tables"] = {dimension: tables}
        for model in MODELS:
            for dataset in DATASETS:
                for seed in range(seeds) if model != "persistence" else [None]:
                    store.add(model, dataset, values(rng), seed=seed, dimension=dimension)
        manifest = store.write()
        rows = folder / "collected" / f"{dimension}.parquet"
        collect_dimension(manifest, rows)
    database = folder / "results.duckdb"
    build_database(folder / "collected", database)
    with duckdb.connect(str(database)) as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            "UPDATE ranks SET rank_low = greatest(rank - 2, 1), rank_high = rank + 2, "
            "clusters = 20, reason = NULL"
        )
        connection.execute(
            "UPDATE comparisons SET p = random(), p_corrected = random(), "
            "ci95_low = random(), ci95_high = random(), detectable = random(), "
            "better = CASE WHEN random() < 0.5 THEN model END, clusters = 20, reason = NULL"
        )
    return database


def values(rng: np.random.Generator) -> dict[str, Any]:
    """Made-up values of all conventions."""
    made: dict[str, Any] = {}
    for number, convention in enumerate(CONVENTIONS):
        mean = float(rng.uniform())
        made[convention] = {"mean": mean, "low": mean - 0.05, "high": mean + 0.05}
        if number < WITH_LEADS:
            made[convention]["leads"] = [float(value) for value in rng.uniform(size=LEADS)]
    return made


def counted(database: Path) -> str:
    """How many rows there are."""
    with duckdb.connect(str(database), read_only=True) as connection:
        tables = ("cells", "scores", "leaderboard", "comparisons")
        return ", ".join(
            f"{connection.sql(f'SELECT count(*) FROM {table}').fetchall()[0][0]:,} {table}"
            for table in tables
        )


def busy(browser: "Browser") -> float:
    """CPU time of the page's main thread so far, in milliseconds."""
    metrics = browser.command("Performance.getMetrics")["metrics"]
    return 1000 * float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


def measured(browser: "Browser", page: Path) -> list[str]:
    """Time the page; return the sections that are slow."""
    ready = []
    browser.command("Performance.enable", timeDomain="threadTicks")
    for _ in range(3):
        browser.open(page)
        browser.wait_for("document.documentElement.dataset.ready", seconds=60)
        # What is called at DOMContentLoaded draws the first section.
        entry = "performance.getEntriesByType('navigation')[0]"
        ready.append(browser.run(f"return {entry}.domContentLoadedEventEnd"))
        browser.run("location.hash = ''")
    print(f"open until ready: {statistics.median(ready):.0f} ms")
    links = "return [...document.querySelectorAll('#sections a')].map((a) => a.hash.slice(1))"
    slow = []
    for section in browser.run(links):
        before = busy(browser)
        wall = browser.run(FIRST, section) if section != "overview" else 0.0
        first = busy(browser) - before
        taken, walls = [], []
        for name, options in browser.run(OPTIONS):
            for value in options[1:4]:
                listed = json.dumps(browser.run(OPTIONS))
                if f'"{value}"' in listed:
                    before = busy(browser)
                    walls.append(browser.run(TIMED, name, value))
                    taken.append(busy(browser) - before)
        choice = statistics.median(taken) if taken else 0.0
        answered = statistics.median(walls) if walls else 0.0
        print(
            f"{section}: first {first:.0f} ms ({wall:.0f}), choice {choice:.0f} ms "
            f"({answered:.0f}; {len(taken)} choices)"
        )
        if choice > MOST_MILLISECONDS:
            slow.append(section)
    return slow


if __name__ == "__main__":
    main()
