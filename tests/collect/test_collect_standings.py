"""Ranks with intervals and tests of all pairs: against loops by hand, SciPy and statsmodels."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import bootstrap
from small_store import SmallStore, write_receipt
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import NormalIndPower

from stp.collect import significance, standings
from stp.collect.database import build
from stp.collect.direction import Direction
from stp.collect.scores import collect, read_collected
from stp.collect.significance import BATCH, RESAMPLES, compared, differences, holm
from stp.collect.standings import ALONE, NO_DIRECTION
from stp.plan.manifest import load_manifest
from stp.score.tables import write_clusters

CLUSTERS = 14
RNG = np.random.default_rng(11)
COUNTS = RNG.integers(1, 6, CLUSTERS)
BASE = RNG.normal(0.6, 0.05, CLUSTERS)
MEANS = {
    "persistence": [BASE],
    "context_mean": [BASE],  # ties with it, in every resample
    "convlstm": [BASE + RNG.normal(0.004, 0.02, CLUSTERS) for _ in range(3)],  # three seeds
    "simvpv2": [BASE + 0.2 + RNG.normal(0, 0.01, CLUSTERS)],  # certainly better
    "elsewhere": [BASE + RNG.normal(-0.01, 0.02, CLUSTERS)],  # imported
}
"""SSIM of each cluster's clips, for each seed."""
ALIKE = ("suite", "dimension", "trained_on", "tested_on", "source", "scale")

Tables = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def add(
    store: SmallStore,
    model: str,
    dataset: str,
    convention: str,
    means: np.ndarray,
    *,
    counts: np.ndarray = COUNTS,
    name: str = "video",
    **more: Any,
) -> dict[str, Any]:
    """A cell with the sums over its clusters."""
    value = float((means * counts).sum() / counts.sum())
    cell = store.add(model, dataset, {convention: {"mean": value}}, **more)
    names = [f"{name}{number}" for number in range(len(means))]
    sums = {convention: (means * counts).reshape(-1, 1, 1)}
    write_clusters(Path(cell["scores"], "cluster_sums.parquet"), names, counts, sums)
    return cell


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SmallStore:
    """Several evaluations, each with something of its own."""
    store = SmallStore(tmp_path_factory.mktemp("standings"))
    for model, seeds in MEANS.items():
        for seed, means in enumerate(seeds):
            number = None if len(seeds) == 1 else seed
            cell = add(store, model, "moving_mnist", "ssim.range2", means, seed=number)
            cell["external"] = model == "elsewhere"
    # A model without a value, one of which nothing is better, and one that is alone.
    reason = {"mean": None, "reason": "frames are too small"}
    store.add("mcvd", "moving_mnist", {"ssim.range2": reason})
    store.manifest["conventions"]["mae.pixel_sum"] = {"higher_is_better": None}
    store.manifest["tables"]["short_term"]["columns"]["kth"] = {"MAE": "mae.pixel_sum"}
    for model in ("persistence", "convlstm"):
        add(store, model, "kth", "mae.pixel_sum", MEANS[model][0])
    add(store, "persistence", "moving_mnist", "ssim.range2", BASE, setting="horizon-30")
    # Other clusters, few of them, and none.
    for model, name in (("persistence", "video"), ("simvpv2", "month")):
        add(store, model, "enso", "rmse.per_frame", MEANS[model][0], name=name)
    for model in ("persistence", "convlstm"):
        few, counts = MEANS[model][0][:9], COUNTS[:9]
        add(store, model, "cityscapes", "ssim.range2", few, counts=counts)
    store.add("simvpv2", "cityscapes", {"ssim.range2": {"mean": 0.9}})
    return store


def computed(store: SmallStore, cache: Path | None = None) -> tuple[pa.Table, pa.Table]:
    rows = store.folder / "rows.parquet"
    manifest = store.write()
    collect(manifest, rows)
    return standings.standings([load_manifest(manifest)], lambda: read_collected(rows), cache)


@pytest.fixture(scope="module")
def tables(store: SmallStore) -> Tables:
    ranks, comparisons = computed(store)
    return ranks.to_pylist(), comparisons.to_pylist()


def of(rows: list[dict[str, Any]], dataset: str, convention: str, **more: Any) -> Any:
    wanted = {"tested_on": dataset, "convention": convention, "setting": "horizon-10", **more}
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


@pytest.fixture(scope="module")
def by_hand() -> dict[str, np.ndarray]:
    """Values in each resample, one clip's cluster after the other."""
    found: dict[str, list[float]] = {model: [] for model in MEANS}
    for batch in range(RESAMPLES // BATCH):
        rng = np.random.default_rng(batch)
        for drawn in rng.integers(CLUSTERS, size=(BATCH, CLUSTERS)):
            n = COUNTS[drawn].sum()
            for model, seeds in MEANS.items():
                values = [(means[drawn] * COUNTS[drawn]).sum() / n for means in seeds]
                found[model].append(round(sum(values) / len(values), 12))
    return {model: np.array(values) for model, values in found.items()}


def test_ranks_are_those_of_resampled_clusters(
    tables: Tables, by_hand: dict[str, np.ndarray]
) -> None:
    ranked = {row["model"]: row for row in of(tables[0], "moving_mnist", "ssim.range2")}
    matrix = np.stack(list(by_hand.values()))
    for place, model in enumerate(by_hand):
        ranks = sorted(1 + int((matrix[:, r] > matrix[place, r]).sum()) for r in range(RESAMPLES))
        row = ranked[model]
        # The smallest rank that at least 2.5 % of the resamples do not exceed; likewise 97.5 %.
        assert row["rank_low"] == ranks[int(np.ceil(0.025 * RESAMPLES)) - 1]
        assert row["rank_high"] == ranks[int(np.ceil(0.975 * RESAMPLES)) - 1]
        assert row["best_share"] == pytest.approx(ranks.count(1) / RESAMPLES)
        assert (row["models"], row["clusters"], row["reason"]) == (len(MEANS), CLUSTERS, None)
    assert ranked["simvpv2"]["rank_low"] == ranked["simvpv2"]["rank_high"] == 1
    assert ranked["simvpv2"]["best_share"] == 1
    tied = [ranked[model] for model in ("persistence", "context_mean")]
    assert {key: tied[0][key] for key in ("rank", "rank_low", "rank_high", "best_share")} == {
        key: tied[1][key] for key in ("rank", "rank_low", "rank_high", "best_share")
    }
    assert ranked["mcvd"]["rank"] is None and ranked["mcvd"]["reason"] == "frames are too small"


def test_pairs_are_tested_on_the_same_clusters(
    tables: Tables, by_hand: dict[str, np.ndarray]
) -> None:
    rows = of(tables[1], "moving_mnist", "ssim.range2")
    assert len(rows) == 15 and all(row["model"] < row["other"] for row in rows)
    tested = [row for row in rows if row["p"] is not None]
    assert len(tested) == 10
    for row in tested:
        found = [b - a for a, b in zip(by_hand[row["model"]], by_hand[row["other"]], strict=True)]
        low, high = np.percentile(found, (2.5, 97.5))
        assert [row["ci95_low"], row["ci95_high"]] == pytest.approx([low, high], abs=1e-9)
        turned = min(sum(d <= 0 for d in found), sum(d >= 0 for d in found))
        assert row["p"] == pytest.approx(min(1, 2 * (turned + 1) / (RESAMPLES + 1)))
        assert row["detectable"] == pytest.approx(2.8016 * np.std(found, ddof=1), rel=1e-4)
    expected = multipletests([row["p"] for row in tested], method="holm")[1]
    assert [row["p_corrected"] for row in tested] == pytest.approx(list(expected))
    for row in tested:
        pair = {row["model"], row["other"]}
        if "simvpv2" in pair:
            assert row["better"] == "simvpv2"
        if pair == {"persistence", "context_mean"}:
            ends = (row["difference"], row["ci95_low"], row["ci95_high"], row["p"])
            assert ends == (0, 0, 0, 1) and row["better"] is None
    untested = [row for row in rows if row["p"] is None]
    assert {row["reason"] for row in untested} == {"mcvd: frames are too small"}


@pytest.mark.parametrize(
    ("dataset", "convention", "more", "reason"),
    [
        ("enso", "rmse.per_frame", {}, "the models were scored on different clusters of clips"),
        ("cityscapes", "ssim.range2", {}, "only 9 clusters (10 needed)"),
        ("kth", "mae.pixel_sum", {}, NO_DIRECTION),
        ("moving_mnist", "ssim.range2", {"setting": "horizon-30"}, ALONE),
    ],
)
def test_there_is_a_reason_where_there_is_no_interval(
    tables: Tables, dataset: str, convention: str, more: dict[str, Any], reason: str
) -> None:
    rows = of(tables[0], dataset, convention, **more)
    assert rows and all(row["rank_low"] is None and reason in row["reason"] for row in rows)
    assert all((row["rank"] is None) == (reason == NO_DIRECTION) for row in rows)


def test_pairs_say_why_they_are_not_tested(tables: Tables) -> None:
    (row,) = of(tables[1], "enso", "rmse.per_frame")
    assert row["p"] is None and "different clusters" in row["reason"]
    rows = of(tables[1], "cityscapes", "ssim.range2")
    pairs = {(row["model"], row["other"]): row["reason"] for row in rows}
    assert pairs["convlstm", "persistence"] == "only 9 clusters (10 needed)"
    assert pairs["convlstm", "simvpv2"] == "convlstm: only 9 clusters (10 needed)"
    (row,) = of(tables[1], "kth", "mae.pixel_sum")
    # Nothing is better, but a difference there is.
    assert row["p"] is not None and row["better"] is None and row["difference"] is not None


def test_ranks_are_those_of_the_leaderboard(store: SmallStore, tmp_path: Path) -> None:
    manifest, rows = store.write(), tmp_path / "rows.parquet"
    collect(manifest, rows)
    build([manifest], [rows], tmp_path / "results.duckdb")
    keys = "suite, dimension, trained_on, train_subset, tested_on, subset, setting, model, variant"
    sql = f"SELECT {keys}, convention, rank, {{}} AS n FROM {{}} ORDER BY ALL"
    with duckdb.connect(str(tmp_path / "results.duckdb"), read_only=True) as database:
        ours = database.execute(sql.format("models", "ranks")).fetchall()
        theirs = database.execute(
            sql.format("CASE WHEN rank IS NOT NULL THEN ranked END", "leaderboard")
        ).fetchall()
        seeds = database.execute(
            "SELECT seeds, mean, sd, min, max, coefficient_of_variation, sd_per_width, seed_share "
            "FROM seed_variance WHERE tested_on = 'moving_mnist' AND setting = 'horizon-10' "
            "AND variant = 'default' AND model IN ('convlstm', 'persistence') ORDER BY model"
        ).fetchall()
    assert ours == theirs and len(ours) > 14
    values = [(means * COUNTS).sum() / COUNTS.sum() for means in MEANS["convlstm"]]
    mean, sd = np.mean(values), np.std(values, ddof=1)
    assert seeds[0] == pytest.approx((3, mean, sd, min(values), max(values), sd / mean, None, None))
    assert seeds[1][0] == 0 and seeds[1][2] is None and seeds[1][5:] == (None, None, None)


def test_seeds_stand_beside_clips(tmp_path: Path) -> None:
    """Runs of 0.8 and 0.9 vary by 0.0707; intervals 0.392 wide are of a standard error of 0.1."""
    store = SmallStore(tmp_path)
    for seed, value in enumerate((0.8, 0.9)):
        ends = {"low": value - 0.196, "high": value + 0.196}
        store.add("convlstm", "moving_mnist", {"ssim.range2": {"mean": value, **ends}}, seed=seed)
    manifest, rows = store.write(), tmp_path / "rows.parquet"
    collect(manifest, rows)
    build([manifest], [rows], tmp_path / "results.duckdb")
    with duckdb.connect(str(tmp_path / "results.duckdb"), read_only=True) as database:
        (found,) = database.execute(
            "SELECT interval_width, sd_per_width, seed_share FROM seed_variance "
            "WHERE convention = 'ssim.range2'"
        ).fetchall()
    assert found == pytest.approx((0.392, 0.005**0.5 / 0.392, 0.005 / (0.005 + 0.01)))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Values that each call resamples."""
    calls: list[int] = []
    real: Callable[..., Any] = significance.resample

    def count(asked: list[Any]) -> Any:
        calls.append(len(asked))
        return real(asked)

    monkeypatch.setattr(significance, "resample", count)
    return calls


def test_what_is_known_is_not_computed_again(
    store: SmallStore, tmp_path: Path, counted: list[int]
) -> None:
    first = computed(store, tmp_path)
    evaluations = len(counted)
    assert evaluations == 5
    again = computed(store, tmp_path)
    assert len(counted) == evaluations
    assert again[0].equals(first[0]) and again[1].equals(first[1])
    # A file that is damaged is worth nothing.
    kept = tmp_path / standings.COMPARISONS_FILE
    kept.write_bytes(kept.read_bytes()[:100])
    assert computed(store, tmp_path)[1].equals(first[1])
    assert len(counted) == 2 * evaluations


def test_other_scores_are_computed_anew(
    store: SmallStore, tmp_path: Path, counted: list[int]
) -> None:
    """Of one evaluation only: its key holds the fingerprints of its scores."""
    before = computed(store, tmp_path)
    del counted[:]
    number = next(n for n, cell in enumerate(store.cells) if cell["key"]["tested_on"] == "enso")
    cell = dict(store.cells[number])
    folder = Path(cell["scores"])
    changed = folder.with_name("f" * 16)
    shutil.copytree(folder, changed)
    write_receipt(changed, "score")
    cell["scores"] = str(changed)
    copy = SmallStore(store.folder)
    copy.manifest |= {name: store.manifest[name] for name in ("conventions", "tables")}
    copy.cells += [*store.cells[:number], cell, *store.cells[number + 1 :]]
    after = computed(copy, tmp_path)
    assert counted == [2] and after[0].equals(before[0])
    # Two files that were not written together are worth nothing.
    ranks = tmp_path / standings.RANKS_FILE
    later = ranks.read_bytes()
    computed(store, tmp_path)
    ranks.write_bytes(later)
    del counted[:]
    assert computed(store, tmp_path)[1].equals(before[1]) and len(counted) == 5
    computed(copy, tmp_path)
    # So do directions: what was better is worse.
    copy.manifest["conventions"] = {**store.manifest["conventions"]}
    copy.manifest["conventions"]["ssim.range2"] = {"higher_is_better": False}
    worst = of(computed(copy, tmp_path)[0].to_pylist(), "moving_mnist", "ssim.range2")
    assert {row["model"]: row["rank"] for row in worst}["simvpv2"] == len(MEANS)


def test_intervals_are_those_of_scipy() -> None:
    """Of clusters of equal size, the interval is that of SciPy's paired percentile bootstrap."""
    rng = np.random.default_rng(4)
    a = rng.normal(0, 1, 60)
    b = a + rng.normal(0.1, 0.3, 60)
    drawn = rng.integers(60, size=(RESAMPLES, 60))
    test = compared(a[drawn].mean(axis=1), b[drawn].mean(axis=1), Direction(higher=True))
    reference = bootstrap(
        (a, b),
        lambda x, y, axis: (y - x).mean(axis=axis),
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(5),
    )
    assert not isinstance(test, str)
    low, high = reference.confidence_interval
    assert [test.ci95_low, test.ci95_high] == pytest.approx([low, high], abs=0.05 * (high - low))
    # A z test of so many pairs finds such a difference in four of five samples.
    effect = NormalIndPower().solve_power(nobs1=60, alpha=0.05, power=0.8, ratio=0)
    assert test.detectable == pytest.approx(effect * (b - a).std(), rel=0.03)


def test_holm_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(6)
    for size in (1, 2, 10, 105):
        p = list(rng.uniform(size=size) ** 3)
        assert holm(p) == pytest.approx(list(multipletests(p, method="holm")[1]))


def test_a_detectable_difference_is_found_in_four_of_five_samples() -> None:
    """By simulation: samples whose true difference is what the test calls detectable."""
    rng = np.random.default_rng(7)
    spread, clips, resamples = 1.0, 50, 399
    detectable = significance.POWER * spread / clips**0.5
    found = 0
    for _ in range(400):
        difference = rng.normal(detectable, spread, clips)
        drawn = rng.integers(clips, size=(resamples, clips))
        found += significance.p_value(difference[drawn].mean(axis=1)) < 0.05
    assert 0.74 < found / 400 < 0.88


def test_what_is_best_at_one_is_tested_by_its_distance() -> None:
    """0.9 and 1.1 differ, but neither is better."""
    noise = np.random.default_rng(8).normal(0, 0.01, (2, 999))
    test = compared(0.9 + noise[0], 1.1 + noise[1], Direction(best_at=1.0))
    assert not isinstance(test, str)
    assert test.ci95_low > 0.15 and test.p > 0.05


def test_rounding_is_no_difference() -> None:
    ones = np.array([0.1 + 0.2, 1.0, 1e-30])
    assert differences(ones, np.array([0.3, 1.0 + 1e-9, 2e-30])).tolist() == pytest.approx(
        [0.0, 1e-9, 1e-30], rel=1e-6
    )
    assert differences(ones, ones[::1]).tolist() == [0, 0, 0]
