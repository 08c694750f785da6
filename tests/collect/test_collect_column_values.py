"""Columns that name lead times or a statistic: values, intervals, ranks and tests are of these."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter, ValidationError
from real_size import BLOCK, COLUMNS, LEADS, SPREAD, STARTS, VARIABLES
from small_store import SmallStore, built, convention_facts, table_column, write_receipt

from stp.collect.pairwise_tests import OTHER_CLUSTERS
from stp.collect.scores import read_collected
from stp.core.errors import StpError
from stp.plan.column import Columns
from stp.plan.suite import read_suite
from stp.render.tables.paper_table import render_table
from stp.score import bootstrap
from stp.score.blocks import Blocks
from stp.score.jackknife import leave_one_out_means
from stp.score.tables import write_clusters, write_samples

# At real size


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A store of 60 variables, 44 lead times and 320 starts, and what it took."""
    folder = tmp_path_factory.mktemp("real")
    script = Path(__file__).with_name("real_size.py")
    done = subprocess.run(
        [sys.executable, str(script), str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def ask(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(folder / "results.duckdb"), read_only=True) as store:
        return store.execute(sql).fetchall()


@pytest.mark.long(part="suites")
def test_all_variables_and_lead_times_are_a_few_columns(real: Any) -> None:
    folder, took = real
    ((columns,),) = ask(
        folder,
        "SELECT count(*) FROM duckdb_columns() WHERE table_name = 'sample_scores'",
    )
    assert columns == 14 + 4  # keys, and one for each convention
    rows = ask(folder, "SELECT count(*), count(DISTINCT variable) FROM sample_scores")
    assert rows == [(len(SPREAD) * STARTS * (1 + VARIABLES), VARIABLES)]
    lists = ask(
        folder,
        'SELECT DISTINCT variable IS NULL, len("wrmse.pooled"), len("rmse.pooled") '
        "FROM sample_scores ORDER BY 1",
    )
    assert lists == [(False, LEADS, None), (True, None, LEADS)]
    assert took["mb"] < 800  # 250 of them are Python and its libraries


@pytest.mark.long(part="suites")
def test_values_are_those_of_the_samples(real: Any) -> None:
    folder, _ = real
    for column, variable, first, last in (
        ("v3 RMSE week 1", "v3", 1, 7),
        ("v3 RMSE day 44", "v3", 44, 44),
        ("v7 RMSE day 1", "v7", 1, 1),
    ):
        found = ask(
            folder,
            f'SELECT model, list("wrmse.pooled"[{first}:{last}]) FROM sample_scores '
            f"WHERE variable = '{variable}' GROUP BY model",
        )
        with (folder / "table_tidy.csv").open(newline="") as file:
            shown = {r["model"]: r for r in csv.DictReader(file) if r["column"] == column}
        for model, squares in found:
            value = np.sqrt(np.mean(squares))  # of convention "pooled": one root of the mean
            assert float(shown[model]["value"]) == pytest.approx(value, rel=1e-9)
            assert shown[model]["leads"] == (f"{first}-{last}" if last > first else str(last))


@pytest.mark.long(part="suites")
def test_intervals_and_tests_rest_on_blocks_longer_than_the_column(real: Any) -> None:
    folder, _ = real
    found = {
        (variable, leads): (n, clusters, low, reason)
        for variable, leads, n, clusters, low, reason in ask(
            folder,
            "SELECT variable, leads, n, clusters, ci95_low, reason FROM overall "
            "WHERE convention = 'wrmse.pooled' AND model = 'good' AND variable IN ('v3', 'v7')",
        )
    }
    blocks = {"1": 40, "1-7": 40, "8-14": 20, "29-42": 6, "44": 6, None: 6}
    for (_, leads), (n, clusters, low, reason) in found.items():
        assert (n, clusters) == (STARTS, blocks[leads]), leads
        last = LEADS if leads is None else int(leads.split("-")[-1])
        if clusters < 10:
            assert low is None
            assert reason == f"only 6 blocks longer than {last} lead times (10 needed)"
        else:
            assert low is not None and reason is None
    assert {leads for _, leads in found} == set(blocks)
    tests = ask(
        folder,
        "SELECT variable, leads, model, other, better, clusters, reason FROM comparisons "
        "WHERE convention = 'wrmse.pooled' AND leads IS NOT NULL",
    )
    assert len(tests) == 3 * 5  # pairs of models, and columns
    for _, leads, model, other, better, clusters, reason in tests:
        if blocks[leads] < 10:
            assert better is None and "blocks longer than" in reason
        else:
            assert clusters == blocks[leads]
            assert better == min(model, other, key=lambda name: SPREAD[name])
    ranks = ask(
        folder,
        "SELECT leads, model, rank, rank_low, rank_high FROM ranks WHERE leads IS NOT NULL",
    )
    order = sorted(SPREAD, key=lambda name: SPREAD[name])
    for leads, model, rank, low, high in ranks:
        assert rank == order.index(model) + 1
        assert (low, high) == ((rank, rank) if blocks[leads] >= 10 else (None, None))


@pytest.mark.long(part="suites")
def test_only_what_columns_show_is_added(real: Any) -> None:
    """A row for each column, not for each variable and range."""
    folder, _ = real
    rows = read_collected(folder / "short_term.parquet")
    added = rows.filter(pa.array([leads is not None for leads in rows["leads"].to_pylist()]))
    named = [column for column in COLUMNS if "lead" in column]
    # The mean and both ends of its interval; of a column of deviations these alone.
    assert len(added) == len(SPREAD) * (3 * (len(named) - 1) + 1)
    deviations = "convention = 'wrmse.per_frame' AND leads IS NOT NULL"
    for ranked in ("overall", "ranks", "comparisons", "leaderboard"):
        assert ask(folder, f"SELECT count(*) FROM {ranked} WHERE {deviations}") == [(0,)], ranked
    assert ask(folder, "SELECT count(*) FROM scores WHERE statistic = 'sd'") == [(0,)]
    # The views that people ask about all lead times, or single ones, are as they were.
    all_leads = "SELECT count(*) FROM scores WHERE lead IS NULL AND statistic = 'mean'"
    assert ask(folder, all_leads) == [(len(SPREAD) * (2 * VARIABLES + 2),)]
    assert ask(folder, "SELECT count(*) FROM by_lead WHERE model = 'good'") == [
        ((2 * VARIABLES + 2) * LEADS,)
    ]


@pytest.mark.long(part="suites")
def test_blocks_are_merged_from_the_first_one(real: Any) -> None:
    folder, _ = real
    (path,) = (folder / "store/scores").rglob("good/**/cluster_sums.parquet")
    rows = pq.read_table(path).to_pandas()
    one = rows[rows.convention == "mse.pixel_mean"]
    assert one.n.tolist() == [BLOCK] * (STARTS // BLOCK)
    blocks = Blocks(tuple(one.cluster), one.start.to_numpy(), one.length.to_numpy(), 1)
    groups = blocks.groups_for_lead(14)
    sums = np.stack(one.sums.to_list())[:, 7:14].mean(axis=1)
    counts = np.bincount(groups, weights=one.n)
    each = np.bincount(groups, weights=sums)[:, None]
    ends = bootstrap.intervals(
        each.sum(axis=0) / STARTS, leave_one_out_means(each, counts), counts, resamples=200, seed=0
    )
    assert len(counts) == 20 and np.isfinite(ends).all()


# By hand, on a small store


CLUSTERS = 12
RNG = np.random.default_rng(3)
EARLY, LATE = RNG.normal(1, 0.05, CLUSTERS), RNG.normal(3, 0.2, CLUSTERS)
ERRORS = {
    # (clusters, lead times): one is better at first, the other later.
    "convlstm": np.stack([EARLY, EARLY + 0.1, LATE + 0.9, LATE + 1], axis=1),
    "simvpv2": np.stack([EARLY + 0.3, EARLY + 0.4, LATE, LATE + 0.1], axis=1),
    "persistence": np.stack([EARLY + 0.6, EARLY + 0.7, LATE + 0.2, LATE + 0.3], axis=1),
}
ERRORS["persistence"] += RNG.normal(0, 0.01, (CLUSTERS, 4))
HERE = [
    table_column("MSE", "mse.pixel_mean"),
    table_column("MSE-1-2", "mse.pixel_mean", lead="1-2"),
    table_column("MSE-3", "mse.pixel_mean", lead="3"),
    table_column("MSE-sd", "mse.pixel_mean", statistic="sd"),
    table_column("MSE-4-sd", "mse.pixel_mean", lead="4", statistic="sd"),
    table_column("MSE-9", "mse.pixel_mean", lead="9"),
]


def add(store: SmallStore, model: str, errors: np.ndarray, lacking: tuple[int, ...] = ()) -> None:
    """A cell with one sample in each cluster; ``lacking`` are lead times without forecasts."""
    there = np.isin(np.arange(errors.shape[1]), [lead - 1 for lead in lacking], invert=True)
    means = errors[:, there].mean()
    leads = [float(v) if there[t] else None for t, v in enumerate(errors.mean(axis=0))]
    cell = store.add(
        model, "moving_mnist", {"mse.pixel_mean": {"mean": float(means), "leads": leads, "n": 12}}
    )
    folder = Path(cell["scores"])
    masked = np.ma.masked_array(errors, np.broadcast_to(~there, errors.shape))
    names = [f"video{n:02}" for n in range(len(errors))]
    write_samples(
        folder / "sample_scores.parquet", cell["key"], None, names, names,
        {"mse.pixel_mean": {None: masked}},
    )  # fmt: skip
    ones = np.ones(len(errors), np.int64)
    sums = {"mse.pixel_mean": errors[:, None]}
    known = {"mse.pixel_mean": there[None]}
    write_clusters(folder / "cluster_sums.parquet", names, ones, sums, defined=known)
    write_receipt(folder, "score", recipe={"bootstrap": {"resamples": 300, "seed": 5}})


def small(folder: Path) -> SmallStore:
    """A store of all models, and the columns of its table."""
    store = SmallStore(folder)
    for model, errors in ERRORS.items():
        add(store, model, errors)
    store.manifest["conventions"]["mse.pixel_mean"] = convention_facts(False)
    store.manifest["tables"]["short_term"]["columns"]["moving_mnist"] = HERE
    return store


def made(store: SmallStore) -> Path:
    database = built(store)
    render_table(store.folder / "manifest.json", database, store.folder / "table.csv")
    return store.folder


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the table of all models, beside its store."""
    return made(small(tmp_path_factory.mktemp("small")))


def tidy(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    with (folder / "table_tidy.csv").open(newline="") as file:
        return {(row["model"], row["column"]): row for row in csv.DictReader(file)}


def test_a_column_is_the_mean_over_its_lead_times(table: Path) -> None:
    found = tidy(table)
    for model, errors in ERRORS.items():
        for column, leads in (
            ("MSE", slice(0, 4)),
            ("MSE-1-2", slice(0, 2)),
            ("MSE-3", slice(2, 3)),
        ):
            of_clusters = errors[:, leads].mean(axis=1)
            row = found[model, column]
            assert float(row["value"]) == pytest.approx(of_clusters.mean(), rel=1e-9)
            if column == "MSE":
                continue  # its interval is that of the scores
            each, ones = of_clusters[:, None], np.ones(CLUSTERS)
            (low,), (high,) = bootstrap.intervals(
                each.mean(axis=0), leave_one_out_means(each, ones), ones, resamples=300, seed=5
            )
            assert float(row["ci95_low"]) == pytest.approx(low, rel=1e-9)
            assert float(row["ci95_high"]) == pytest.approx(high, rel=1e-9)


def test_ranks_are_of_what_the_column_shows(table: Path) -> None:
    found = tidy(table)
    ranks = {key: row["rank"] for key, row in found.items()}
    assert [ranks[m, "MSE"] for m in ERRORS] == ["3", "1", "2"]
    assert [ranks[m, "MSE-1-2"] for m in ERRORS] == ["1", "2", "3"]
    assert [ranks[m, "MSE-3"] for m in ERRORS] == ["3", "1", "2"]
    # The table says the same as the store, and the tests are those of the column.
    for column, leads in (("MSE-1-2", "1-2"), ("MSE-3", "3")):
        stored = dict(ask(table, f"SELECT model, rank FROM ranks WHERE leads = '{leads}'"))
        assert stored == {m: int(ranks[m, column]) for m in ERRORS}
        board = dict(ask(table, f"SELECT model, rank FROM leaderboard WHERE leads = '{leads}'"))
        assert board == stored
    better = dict(
        ask(
            table,
            "SELECT leads, better FROM comparisons WHERE model = 'convlstm' AND other = 'simvpv2' "
            "AND leads IN ('1-2', '3')",
        )
    )
    assert better == {"1-2": "convlstm", "3": "simvpv2"}
    assert found["simvpv2", "MSE-1-2"]["best"] == "ConvLSTM"
    assert float(found["simvpv2", "MSE-1-2"]["p_corrected"]) < 0.05


def test_standard_deviations_are_over_samples_and_have_no_rank(table: Path) -> None:
    found = tidy(table)
    for model, errors in ERRORS.items():
        for column, sd in (
            ("MSE-sd", errors.mean(axis=1).std()), ("MSE-4-sd", errors[:, 3].std())
        ):  # fmt: skip
            row = found[model, column]
            assert float(row["value"]) == pytest.approx(sd, rel=1e-9)
            assert row["ci95_low"] == row["rank"] == row["p"] == ""
    missing = found["simvpv2", "MSE-9"]
    assert missing["value"] == "" and "4 lead times" in missing["reason"]


def test_what_forecasts_lack_is_left_out_and_not_tested_against_the_rest(tmp_path: Path) -> None:
    store = small(tmp_path)
    add(store, "tau", ERRORS["simvpv2"] - 0.5, lacking=(1, 3))
    folder = made(store)
    found = tidy(folder)
    wanted = {"MSE-1-2": (ERRORS["simvpv2"] - 0.5)[:, 1].mean(), "MSE-3": None}
    for column, value in wanted.items():
        row = found["tau", column]
        if value is None:
            assert row["value"] == "" and row["reason"].endswith("lead times 3")
        else:
            assert float(row["value"]) == pytest.approx(value, rel=1e-9)
            assert row["p"] == ""
    reasons = ask(
        folder,
        "SELECT DISTINCT reason FROM comparisons WHERE leads = '1-2' AND 'tau' IN (model, other)",
    )
    assert reasons == [(OTHER_CLUSTERS,)]


def test_published_values_stand_beside_columns_of_their_lead_times(tmp_path: Path) -> None:
    keys = ["table", "dimension", "model", "trained_on", "tested_on", "subset", "variable"]
    keys += ["threshold", "run", "metric", "value", "raw", "note", "leads"]
    line = dict.fromkeys(keys, "") | {
        "table": "T2", "dimension": "short_term", "model": "ConvLSTM", "trained_on": "MovingMNIST",
        "tested_on": "MovingMNIST", "subset": "test",
    }  # fmt: skip
    path = tmp_path / "published.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, keys)
        writer.writeheader()
        writer.writerow(line | {"metric": "MSE-3", "leads": "3", "value": "3.9", "raw": "3.90"})
        writer.writerow(line | {"metric": "MSE-1-2", "leads": "1-3", "value": "9", "raw": "9"})
    store = small(tmp_path)
    store.manifest["published"] = str(path)
    folder = made(store)
    found = tidy(folder)
    assert found["convlstm", "MSE-3"]["published"] == "3.9"
    assert found["convlstm", "MSE-1-2"]["published"] == ""  # printed of other lead times
    assert ask(folder, "SELECT metric, leads, published FROM deltas") == [("MSE-3", "3", 3.9)]


# Configuration


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("threshold", "sixteen"),
        ("lead", 0),
        ("lead", "7-1"),
        ("lead", "7-"),
        ("statistic", "max"),
        ("convention", "csi"),
        ("heading", ""),
        ("digits", 0),
    ],
)
def test_a_suite_says_what_is_wrong_with_a_column(tmp_path: Path, key: str, value: object) -> None:
    path = tmp_path / "toy.yaml"
    column = {"heading": "CSI", "convention": "csi.mean", key: value}
    path.write_text(
        "title: Toy\ndimensions:\n  now: {title: Now, question: What?, about: all}\n"
        f"columns: {{radar: [{json.dumps(column)}]}}\ndatasets: {{sevir: radar}}\n"
    )
    with pytest.raises(StpError) as caught:
        read_suite(path)
    assert f"columns.radar.0.{key}" in caught.value.what and repr(value) in caught.value.what


def test_columns_have_names_of_their_own() -> None:
    columns = TypeAdapter(Columns)
    wind = [
        {"heading": "RMSE", "convention": "wrmse.pooled", "variable": v} for v in ("u10", "v10")
    ]
    assert [column.name for column in columns.validate_python(wind)] == ["u10 RMSE", "v10 RMSE"]
    with pytest.raises(ValidationError, match="not u10 RMSE twice"):
        columns.validate_python([*wind, wind[0] | {"lead": 3}])
    (alone,) = columns.validate_python(["ssim.range1"])
    assert (alone.name, alone.convention) == ("ssim.range1", "ssim.range1")
