"""Models with different starts are tested on the starts that both have, and on no others."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import zarr
from pydantic import TypeAdapter
from scipy import stats
from small_store import (
    SmallStore,
    bare_cell,
    convention_facts,
    rebuilt,
    table_column,
    write_receipt,
)
from toy_scored import CELL, keep, write_scored
from typer.testing import CliRunner

from stp.cli import app
from stp.collect.cluster_sums import NOT_KEPT
from stp.collect.leave_one_out import LeftOut, RowValue, leave_one_out_values
from stp.collect.pairwise_tests import OTHER_CLIPS, OTHER_CLUSTERS
from stp.plan.column import Part
from stp.plan.manifest_types import Cell
from stp.prepare.output import write_coordinate
from stp.score.blocks import Blocks
from stp.score.tables import write_clusters, write_samples

STARTS, BLOCK, LEADS = 96, 4, 3
"""A start a day, in blocks of four days."""

# Values of some samples are those of a scoring of these alone.

HELD = [n for n in range(STARTS) if n % 7 in (0, 3)]
CONVENTIONS = ("rmse.pooled", "wrmse.pooled", "bias.weighted", "spectral_divergence.mean_spectra",
               "rmse.per_frame_batch16")  # fmt: skip


def scored(root: Path, *, samples: list[int] | None = None, lacking: bool = False) -> Cell:
    """Score two variables on the globe: all starts, or some of them; perhaps one of the two."""
    root.mkdir()
    rng = np.random.default_rng(1)
    clips = rng.normal(280, 3, (STARTS, 1 + LEADS, 2, 6, 8)).astype(np.float32)
    predicted = clips[:, 1:] + rng.normal(0.2, 1, (STARTS, LEADS, 2, 6, 8)).astype(np.float32)
    number = np.arange(STARTS) // BLOCK
    made = write_scored(
        root,
        clips,
        predicted,
        units="physical",
        variables=["a", "b"],
        clusters=[f"block{n:02}" for n in number],
        cluster_start=BLOCK * number,
        cluster_length=BLOCK,
    )
    group = zarr.open_group(str(root / "data" / "frames.zarr"), mode="r+")
    write_coordinate(group, "lat", "y", np.linspace(75, -75, 6), units="degrees_north")
    if samples is not None or lacking:
        made = keep(made, samples=samples, variables=["b"] if lacking else None)
    out = made.run(*CONVENTIONS)
    return TypeAdapter(Cell).validate_python(bare_cell(CELL, scores=str(out)))


@pytest.mark.parametrize("lacking", [False, True])
def test_values_of_some_samples_are_those_of_scoring_these(tmp_path: Path, lacking: bool) -> None:
    both = [
        scored(tmp_path / name, samples=held, lacking=lacking)
        for name, held in (("all", None), ("some", HELD))
    ]
    parts = [Part(variable="b"), Part(variable="b", leads="1-2"), Part(variable="b", leads="2")]
    places = [(name, part) for name in ("wrmse.pooled", "bias.weighted") for part in parts]
    places += [] if lacking else [("rmse.pooled", Part())]
    every, some = (
        leave_one_out_values([RowValue((cell,), name, part, value) for name, part in places], names)
        for cell, names, value in (
            (both[0], frozenset(f"clip{n:03}" for n in HELD), 0.0),
            (both[1], frozenset(f"clip{n:03}" for n in range(STARTS)), 0.0),
        )
    )
    for one, other in zip(every, some, strict=True):
        assert isinstance(one, LeftOut) and isinstance(other, LeftOut)
        assert one.clusters._replace(samples="") == other.clusters._replace(samples="")
        assert sum(one.clusters.counts) == len(HELD)
        assert one.value == other.value and one.values.tolist() == other.values.tolist()
    for name in CONVENTIONS[3:] if not lacking else ():
        asked = RowValue((both[0],), name, Part(), 0.0)
        assert leave_one_out_values([asked], frozenset(["clip000"])) == [NOT_KEPT]


# Tests of models with other starts, by hand on a small store.

RNG = np.random.default_rng(4)
HARD = RNG.normal(4, 1, STARTS)
"""Squared errors that all models share: how hard a start is."""
MODELS = {
    "persistence": (range(STARTS), 0.3),
    "convlstm": (range(STARTS), 0.0),
    # As a centre that starts twice a week: better than all, on starts that are harder.
    "simvpv2": ([n for n in range(STARTS) if HARD[n] > 4 or n % BLOCK == 0], -0.2),
    # Equally many starts in each block, none of them the same.
    "mau": (range(0, STARTS, 2), 0.1),
    "tau": (range(1, STARTS, 2), 0.1),
    # The first eight blocks alone.
    "phydnet": (range(8 * BLOCK), 0.2),
}
ERRORS = {
    model: {n: HARD[n] + more + RNG.normal(0, 0.1) for n in starts}
    for model, (starts, more) in MODELS.items()
}


def blocks_of(starts: Iterable[int]) -> np.ndarray:
    return np.array([n // BLOCK for n in starts])


def by_hand(model: str, other: str) -> tuple[float, float, int, int]:
    """Other minus model on the starts of both: difference, standard error, blocks and starts."""
    common = np.array(sorted(ERRORS[model].keys() & ERRORS[other].keys()))
    block = blocks_of(common)

    def difference(kept: np.ndarray) -> float:
        one, two = (np.mean([ERRORS[m][n] for n in common[kept]]) for m in (model, other))
        return float(two**0.5 - one**0.5)

    whole = difference(np.full(len(common), True))
    names = np.unique(block)
    squares = [(difference(block != name) - whole) ** 2 for name in names]
    error = ((len(names) - 1) / len(names) * sum(squares)) ** 0.5
    return whole, error, len(names), len(common)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Root mean square errors of these models, collected."""
    folder = tmp_path_factory.mktemp("common")
    store = SmallStore(folder)
    for model, errors in ERRORS.items():
        add(store, model, errors)
    store.manifest["conventions"]["rmse.pooled"] = convention_facts(False)
    store.manifest["tables"]["short_term"]["columns"]["moving_mnist"] = [
        table_column("RMSE", "rmse.pooled")
    ]
    rebuilt(store)
    return folder


def add(store: SmallStore, model: str, errors: dict[int, float]) -> None:
    """A cell of one lead time, whose forecasts lie in an order of their own."""
    starts = sorted(errors, key=lambda n: (n * 37) % STARTS)
    squares = np.array([errors[n] for n in starts])
    value = float(squares.mean() ** 0.5)
    cell = store.add(model, "moving_mnist", {"rmse.pooled": {"mean": value, "leads": [value]}})
    folder, count = Path(cell["scores"]), STARTS // BLOCK
    names = [f"block{n:02}" for n in range(count)]
    block = blocks_of(starts)
    write_samples(
        folder / "sample_scores.parquet",
        cell["key"],
        None,
        [f"day{n:02}" for n in starts],
        [names[n] for n in block],
        {"rmse.pooled": {None: squares[:, None]}},
    )
    sums = np.bincount(block, squares, minlength=count).reshape(-1, 1, 1)
    where = Blocks(tuple(names), BLOCK * np.arange(count), np.full(count, BLOCK), 1)
    write_clusters(
        folder / "cluster_sums.parquet",
        names,
        np.bincount(block, minlength=count),
        {"rmse.pooled": sums},
        blocks=where,
    )
    write_receipt(folder, "score")


def compared(results: Path) -> dict[tuple[str, str], dict[str, Any]]:
    with duckdb.connect(str(results / "results.duckdb"), read_only=True) as database:
        rows = database.sql("FROM comparisons").to_arrow_table().to_pylist()
    return {(row["model"], row["other"]): row for row in rows}


def test_pairs_are_tested_on_the_starts_of_both(results: Path) -> None:
    found = compared(results)
    tested = {pair: row for pair, row in found.items() if row["p"] is not None}
    untested = {frozenset(pair): row["reason"] for pair, row in found.items() if pair not in tested}
    few = f"{OTHER_CLIPS}: only 8 blocks longer than 1 lead times (10 needed)"
    alone = "phydnet: only 8 blocks longer than 1 lead times (10 needed)"
    assert untested.pop(frozenset(("mau", "tau"))) == OTHER_CLUSTERS
    assert len(untested) == 5 and set(untested.values()) <= {few, alone}
    assert len(tested) == 9
    for (model, other), row in tested.items():
        difference, error, blocks, starts = by_hand(model, other)
        assert (row["clusters"], row["n"]) == (blocks, starts)
        assert row["difference"] == pytest.approx(difference, rel=1e-9)
        low, high = row["ci95_low"], row["ci95_high"]
        assert (low + high) / 2 == pytest.approx(difference, rel=1e-9)
        # Blocks of equal size have one degree of freedom less than there are; others have fewer.
        reach = (high - low) / 2 / error
        least = stats.t(blocks - 1).ppf(0.975)
        equal = {model, other} <= {"persistence", "convlstm", "mau", "tau"}
        assert reach == pytest.approx(least, rel=1e-6) if equal else least < reach < 1.2 * least
        better = other if difference < 0 else model
        assert row["better"] == (better if row["p_corrected"] < 0.05 else None)


def test_the_better_one_is_that_of_the_starts_of_both(results: Path) -> None:
    """SimVPv2 has the largest error of all since its starts are hard, and is better everywhere."""
    means = {model: np.mean(list(errors.values())) for model, errors in ERRORS.items()}
    assert means["simvpv2"] > means["convlstm"]
    row = compared(results)["convlstm", "simvpv2"]
    assert row["difference"] < 0 and row["better"] == "simvpv2"
    asked = ["compare", "convlstm", "simvpv2", "--results", str(results), "-f", "json"]
    (shown,) = json.loads(CliRunner().invoke(app, asked).output)
    assert shown["b_minus_a"] == pytest.approx(row["difference"])
    assert (shown["n"], shown["better"]) == (len(ERRORS["simvpv2"]), "simvpv2")
    assert shown["simvpv2"] > shown["convlstm"]


def test_ranks_have_sets_where_all_pairs_are_tested(tmp_path: Path) -> None:
    store = SmallStore(tmp_path)
    for model in ("persistence", "convlstm", "simvpv2", "mau"):
        add(store, model, ERRORS[model])
    store.manifest["conventions"]["rmse.pooled"] = convention_facts(False)
    store.manifest["tables"]["short_term"]["columns"]["moving_mnist"] = [
        table_column("RMSE", "rmse.pooled")
    ]
    with duckdb.connect(str(rebuilt(store)), read_only=True) as database:
        rows = database.execute("SELECT model, rank, rank_low, rank_high, clusters FROM ranks")
        found = {model: tuple(rest) for model, *rest in rows.fetchall()}
    for rank, low, high, clusters in found.values():
        assert low <= rank <= high and clusters == STARTS // BLOCK
    # Ranked by its own starts it is behind; no other is better on the starts of both.
    rank, low, _, _ = found["simvpv2"]
    assert rank > 1 and low == 1
