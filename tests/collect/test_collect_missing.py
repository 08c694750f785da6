"""What is missing: cells that are planned and not scored, where they stopped and why."""

import datetime
import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import duckdb
import pytest
from small_store import SmallStore

from stp.collect.partial import build_partial, remove
from stp.collect.refresh import build_database, collect_dimension


@pytest.fixture
def store(tmp_path: Path) -> SmallStore:
    """Two cells that are scored; tests add some that are not."""
    store = SmallStore(tmp_path)
    store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.5}}, seed=0)
    return store


def ask(store: SmallStore, *queries: str) -> list[list[tuple[Any, ...]]]:
    """Collect what is scored, plan everything, and build the database; the rows of each query."""
    results = store.folder / "results"
    planned = results / "plan" / "short_term.json"
    planned.parent.mkdir(parents=True, exist_ok=True)
    planned.write_text(json.dumps(store.manifest))
    scored = [cell for cell in store.cells if Path(cell["scores"], "artefact.json").is_file()]
    collected = {**store.manifest, "cells": scored}
    (store.folder / "collected.json").write_text(json.dumps(collected))
    rows = results / "collected" / "short_term.parquet"
    collect_dimension(store.folder / "collected.json", rows)
    build_database(rows.parent, results / "results.duckdb")
    with duckdb.connect(str(results / "results.duckdb"), read_only=True) as database:
        return [database.execute(sql).fetchall() for sql in queries]


def unfinished(store: SmallStore, part: str = "scores", **key: Any) -> Path:
    """Plan a cell that lacks an artefact and all that follow; return the artefact's state."""
    cell = store.add("convlstm", "moving_mnist", {}, scored=False, **key)
    folders = {**cell, "model": next(iter(cell["models"]), None)}
    for name in ("perceptual", "scores", "predictions", "model", "data"):
        if folders.get(name):
            shutil.rmtree(folders[name], ignore_errors=True)
        if name == part:
            break
    root = store.folder / "store"
    state = root / "state" / Path(folders[part]).relative_to(root)
    state.mkdir(parents=True)
    return state


def attempted(state: Path, number: int, how: str | None, **end: Any) -> None:
    """Write an attempt as the runner does; how=None: it left no word."""
    start = {"host": "node7", "slurm_job": "31", "gpus": 2, "memory_mb": 4000.0}
    entries = [{"attempt": number, "event": "start", "time": 0.0, **start}]
    if how:
        told = {"event": "end", "how": how, "time": 1800.0, **end}
        entries.append({"attempt": number, **told})
    with (state / "attempts.jsonl").open("a") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in entries)


MISSING = "SELECT stage, how, detail, attempts, ended FROM missing"
HALF_PAST_MIDNIGHT = datetime.datetime(1970, 1, 1, 0, 30)


def test_where_everything_is_scored_nothing_is_missing(store: SmallStore) -> None:
    counted = "SELECT sum(cells), sum(missing) FROM coverage"
    assert ask(store, "FROM missing", "FROM failures", counted) == [[], [], [(2, 0)]]


def test_a_cell_that_nobody_tried_is_not_run(store: SmallStore) -> None:
    unfinished(store, "model", seed=3)
    columns = "model, tested_on, seed, tested, source, scale, log"
    assert ask(store, MISSING, f"SELECT {columns} FROM missing") == [
        [("train", "not run", "", 0, None)],
        [("convlstm", "moving_mnist", 3, "Moving-MNIST", "synthetic", "demo", None)],
    ]


def test_a_failure_is_told_with_its_first_line_its_attempts_and_its_log(store: SmallStore) -> None:
    state = unfinished(store, "predictions", seed=0)
    attempted(state, 1, "killed", detail="vanished without a word")
    attempted(state, 2, "failed", detail="hopeless", peak_mb=900)
    error = "hopeless: no such frame\n  Expected: a frame"
    log = store.folder / "predict.log"
    log.write_text("Traceback ...")
    (state / "failure.json").write_text(json.dumps({"error": error, "log": str(log)}))
    columns = "stage, attempt, how, peak_mb, memory_mb, slurm_job, made_later, cells_missing"
    missing, logs, failures = ask(
        store,
        MISSING,
        "SELECT log FROM missing",
        f"SELECT {columns} FROM failures ORDER BY attempt",
    )
    assert missing == [("predict", "failed", "hopeless: no such frame", 2, HALF_PAST_MIDNIGHT)]
    assert logs == [(str(log),)]
    assert failures == [
        ("predict", 1, "killed", None, 4000.0, "31", False, 1),
        ("predict", 2, "failed", 900.0, 4000.0, "31", False, 1),
    ]


@pytest.mark.parametrize("how", ["out of memory", "time limit", "saved", "requeued"])
def test_how_the_last_attempt_ended_is_how_the_cell_stands(store: SmallStore, how: str) -> None:
    state = unfinished(store, "model", seed=0)
    attempted(state, 1, how, detail="Slurm says so")
    missing, failures = ask(store, MISSING, "SELECT how FROM failures")
    assert missing == [("train", how, "Slurm says so", 1, HALF_PAST_MIDNIGHT)]
    assert failures == ([(how,)] if how in ("out of memory", "time limit") else [])


@pytest.mark.long(part="kinds")
def test_an_attempt_without_an_end_was_killed_unless_it_is_running(store: SmallStore) -> None:
    state = unfinished(store, "model", seed=0)
    attempted(state, 1, None)
    assert ask(store, MISSING) == [[("train", "killed", "vanished without a word", 1, None)]]
    lease = {"host": socket.gethostname(), "pid": os.getpid()}
    (state / "lease.json").write_text(json.dumps(lease))
    assert ask(store, MISSING) == [[("train", "running", "", 1, None)]]


@pytest.mark.long(part="kinds")
def test_the_log_of_a_job_that_was_killed_is_found_by_its_name(store: SmallStore) -> None:
    state = unfinished(store, "model", seed=0)
    attempted(state, 1, None)
    below = state.relative_to(store.folder / "store" / "state" / "models")
    log = store.folder / "results" / "logs" / "train" / f"{below}.log"
    log.parent.mkdir(parents=True)
    log.write_text("epoch 1")
    assert ask(store, "SELECT log FROM missing") == [[(str(log),)]]


@pytest.mark.long(part="kinds")
def test_data_that_failed_stop_all_cells_of_the_dataset(store: SmallStore) -> None:
    attempted(unfinished(store, "data", seed=0), 1, "failed", detail="no such clip")
    cell = store.add("persistence", "moving_mnist", {}, scored=False)
    for part in ("data", "predictions"):
        shutil.rmtree(cell[part])
    assert ask(
        store,
        "SELECT model, stage, how, detail FROM missing",
        "SELECT count(*), max(cells_missing) FROM failures",
    ) == [
        [
            ("convlstm", "prepare", "failed", "no such clip"),
            ("persistence", "prepare", "failed", "no such clip"),
        ],
        [(1, 2)],
    ]


def test_coverage_counts_what_is_missing_and_why(store: SmallStore) -> None:
    attempted(unfinished(store, "model", seed=1), 1, "out of memory")
    store.add("convlstm", "enso", {}, seed=1, scored=False)
    columns = "model, tested_on, cells, missing, seeds, conventions, why_missing"
    (coverage,) = ask(store, f"SELECT {columns} FROM coverage ORDER BY ALL")
    assert coverage == [
        ("convlstm", "enso", 1, 1, 1, 1, ["score: not run"]),
        ("convlstm", "moving_mnist", 0, 1, 0, 0, ["train: out of memory"]),
        ("persistence", "enso", 1, 0, 0, 1, []),
    ]


@pytest.mark.long(part="kinds")
def test_cells_of_a_dimension_that_is_not_collected_are_named_and_those_of_other_scales_not(
    store: SmallStore,
) -> None:
    ask(store, "FROM missing")
    plan = store.folder / "results" / "plan"
    cell = {**store.cells[0], "key": store.cells[0]["key"] | {"dimension": "robustness"}}
    tables = {"robustness": store.manifest["tables"]["short_term"]}
    other = {"dimension": "robustness", "cells": [cell], "tables": tables}
    (plan / "robustness.json").write_text(json.dumps({**store.manifest, **other}))
    other |= {"dimension": "long_term", "scale": "paper"}
    (plan / "long_term.json").write_text(json.dumps({**store.manifest, **other}))
    (plan / "counted.json").write_text("null")
    sql = "SELECT dimension, stage, how FROM missing"
    assert ask(store, sql) == [[("robustness", "collect", "not collected")]]


@pytest.mark.long(part="kinds")
def test_runs_tell_who_ran_what_for_how_long(store: SmallStore) -> None:
    state = unfinished(store, "model", seed=0)
    attempted(state, 1, "out of memory", peak_mb=3990)
    columns = "how, person, host, gpus, seconds, gpu_hours, fingerprint IS NOT NULL"
    scored, failed = ask(
        store,
        f"SELECT {columns} FROM runs WHERE stage = 'score'",
        f"SELECT {columns} FROM runs WHERE how <> 'done'",
    )
    # Receipts of this store tell of no attempts: one row each, 90 s on node1.
    assert scored == [("done", None, "node1", None, 90.0, None, True)] * 2
    assert failed == [("out of memory", None, "node7", 2, 1800.0, 1.0, False)]


def test_a_partial_store_holds_what_is_scored_and_says_what_is_not(store: SmallStore) -> None:
    attempted(unfinished(store, "model", seed=0), 1, "time limit")
    damaged = store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.4}}, seed=1)
    Path(damaged["scores"], "scores.parquet").write_bytes(b"half")
    out = store.folder / "partial"
    assert build_partial([store.write()], out, store.folder / "logs") == (2, 2)
    with duckdb.connect(str(out / "results.duckdb"), read_only=True) as database:
        assert database.execute("SELECT count(*) FROM cells").fetchall() == [(2,)]
        assert database.execute("SELECT count(*) FROM sample_scores").fetchall() == [(4,)]
        (late, bad) = database.execute("SELECT stage, how, detail FROM missing").fetchall()
    assert late == ("train", "time limit", "")
    assert bad[:2] == ("score", "not usable") and "scores.parquet: damaged, 4 bytes" in bad[2]
    remove(out)
    assert not list(out.iterdir())


def test_there_is_no_partial_store_without_scores_or_without_gaps(store: SmallStore) -> None:
    out, logs = store.folder / "partial", store.folder / "logs"
    assert build_partial([store.write()], out, logs) == (2, 0)
    assert not out.exists()
    for cell in store.cells:
        shutil.rmtree(cell["scores"])
    assert build_partial([store.write()], out, logs) == (0, 2)
    assert not out.exists()
