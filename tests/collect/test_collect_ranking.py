"""Ranks with confidence sets and tests of all pairs: against loops by hand and statsmodels."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from asking import ask
from scipy import stats
from small_store import SmallStore, built, convention_facts, table_column, write_receipt
from statsmodels.stats.multitest import multipletests

from stp.collect import leave_one_out, ranking
from stp.collect.direction import NO_DIRECTION
from stp.collect.pairwise_tests import ALONE, OTHER_CLUSTERS
from stp.collect.scores import collect, read_collected
from stp.collect.significance import effect
from stp.plan.checked_config import check, entries, read_yaml
from stp.plan.manifest import load_manifest
from stp.plan.metric import Metric
from stp.score.jackknife import degrees_of_freedom
from stp.score.tables import write_clusters

CONVENTIONS = entries("conventions").items()
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
    store.manifest["conventions"]["mae.pixel_sum"] = convention_facts()
    store.manifest["tables"]["short_term"]["columns"]["kth"] = [
        table_column("MAE", "mae.pixel_sum")
    ]
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
    return ranking.standings([load_manifest(manifest)], lambda: read_collected(rows), cache)


@pytest.fixture(scope="module")
def tables(store: SmallStore) -> Tables:
    ranks, comparisons = computed(store)
    return ranks.to_pylist(), comparisons.to_pylist()


def of(rows: list[dict[str, Any]], dataset: str, convention: str, **more: Any) -> Any:
    wanted = {"tested_on": dataset, "convention": convention, "setting": "horizon-10", **more}
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


@pytest.fixture(scope="module")
def by_hand() -> dict[str, np.ndarray]:
    """Values without each cluster, and of all: (CLUSTERS + 1,)."""
    kept = [np.arange(CLUSTERS) != g for g in range(CLUSTERS)] + [np.full(CLUSTERS, True)]
    return {
        model: np.array(
            [np.mean([np.average(means[k], weights=COUNTS[k]) for means in seeds]) for k in kept]
        )
        for model, seeds in MEANS.items()
    }


def test_ranks_have_the_confidence_sets_of_the_pairs(tables: Tables) -> None:
    ranked = {row["model"]: row for row in of(tables[0], "moving_mnist", "ssim.range2")}
    pairs = of(tables[1], "moving_mnist", "ssim.range2")
    values = {m: np.mean([np.average(x, weights=COUNTS) for x in s]) for m, s in MEANS.items()}
    for model, value in values.items():
        row = ranked[model]
        mine = [pair["better"] for pair in pairs if model in (pair["model"], pair["other"])]
        won = sum(better == model for better in mine)
        lost = sum(better not in (None, model) for better in mine)
        assert row["rank"] == 1 + sum(other > value + 1e-12 for other in values.values())
        assert (row["rank_low"], row["rank_high"]) == (1 + lost, len(MEANS) - won)
        assert (row["models"], row["clusters"], row["reason"]) == (len(MEANS), CLUSTERS, None)
    best, tied, other = (ranked[m] for m in ("simvpv2", "persistence", "context_mean"))
    assert (best["rank"], best["rank_low"], best["rank_high"]) == (1, 1, 1)
    assert tied["rank"] == other["rank"] and tied["rank_low"] == other["rank_low"] == 2
    assert ranked["mcvd"]["rank"] is None and ranked["mcvd"]["reason"] == "frames are too small"


def test_pairs_are_tested_on_the_same_clusters(
    tables: Tables, by_hand: dict[str, np.ndarray]
) -> None:
    rows = of(tables[1], "moving_mnist", "ssim.range2")
    assert len(rows) == 15 and all(row["model"] < row["other"] for row in rows)
    tested = [row for row in rows if row["p"] is not None]
    assert len(tested) == 10
    student = stats.t(degrees_of_freedom(COUNTS))
    for row in tested:
        *without, difference = by_hand[row["other"]] - by_hand[row["model"]]
        squares = np.square(np.array(without) - difference).sum()
        error = ((CLUSTERS - 1) / CLUSTERS * squares) ** 0.5
        reach = student.ppf(0.975) * error
        assert row["difference"] == pytest.approx(difference, abs=1e-12)
        ends = [row["ci95_low"], row["ci95_high"]]
        if error > 1e-9:
            assert ends == pytest.approx([difference - reach, difference + reach], abs=1e-9)
            assert row["p"] == pytest.approx(2 * student.sf(abs(difference) / error))
        assert row["detectable"] == pytest.approx(
            error * effect(tuple(COUNTS), 10), rel=1e-6, abs=1e-12
        )
    expected = multipletests([row["p"] for row in tested], method="holm")[1]
    assert [row["p_corrected"] for row in tested] == pytest.approx(list(expected))
    for row in tested:
        pair = {row["model"], row["other"]}
        if "simvpv2" in pair:
            assert row["better"] == "simvpv2"
            assert row["won"] == float(row["other"] == "simvpv2")
            assert row["p_sign"] == pytest.approx(2 / 2**CLUSTERS) and row["skewed"] is False
        if pair == {"persistence", "context_mean"}:
            ends = (row["difference"], row["ci95_low"], row["ci95_high"], row["p"], row["won"])
            assert ends == (0, None, None, 1, 0.5) and row["better"] is None
    untested = [row for row in rows if row["p"] is None]
    assert {row["reason"] for row in untested} == {"mcvd: frames are too small"}


@pytest.mark.parametrize(
    ("dataset", "convention", "more", "reason"),
    [
        ("enso", "rmse.per_frame", {}, OTHER_CLUSTERS),
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


def test_ranks_are_those_of_the_leaderboard(store: SmallStore) -> None:
    database = built(store)
    keys = "suite, dimension, trained_on, train_subset, tested_on, subset, setting, model, variant"
    sql = f"SELECT {keys}, convention, rank, {{}} AS n FROM {{}} ORDER BY ALL"
    ours = ask(database, sql.format("models", "ranks"))
    ranked = "CASE WHEN rank IS NOT NULL THEN ranked END"
    theirs = ask(database, sql.format(ranked, "leaderboard"))
    seeds = ask(
        database,
        "SELECT seeds, mean, sd, min, max, coefficient_of_variation, sd_per_width, seed_share "
        "FROM seed_variance WHERE tested_on = 'moving_mnist' AND setting = 'horizon-10' "
        "AND variant = 'default' AND model IN ('convlstm', 'persistence') ORDER BY model",
    )
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
    (found,) = ask(
        built(store),
        "SELECT interval_width, sd_per_width, seed_share FROM seed_variance "
        "WHERE convention = 'ssim.range2'",
    )
    assert found == pytest.approx((0.392, 0.005**0.5 / 0.392, 0.005 / (0.005 + 0.01)))


def test_copied_seeds_are_counted_once(tmp_path: Path) -> None:
    """Seeds 3 and 4 were copied from 0 and 1. Equal scores of other predictions are no copies."""
    store = SmallStore(tmp_path)
    rng = np.random.default_rng(12)
    first, second, third = BASE + rng.normal(0, 0.02, (3, CLUSTERS))
    for model, predictions in (("convlstm", "abcab"), ("simvpv2", "abcde")):
        for seed, means in enumerate((first, second, third, first, second)):
            cell = add(store, model, "moving_mnist", "ssim.range2", means, seed=seed)
            folder = Path(cell["predictions"])
            (folder / "predictions.bin").write_text(predictions[seed])
            write_receipt(folder, "predict")
            write_receipt(Path(cell["scores"]), "score")
    database = built(store)
    convlstm, simvpv2 = ask(
        database,
        "SELECT model, seeds, value, seed_sd FROM leaderboard "
        "WHERE convention = 'ssim.range2' ORDER BY model",
    )
    variance = ask(database, "SELECT seeds FROM seed_variance ORDER BY model")
    (_, note), other = ask(database, "SELECT DISTINCT model, subset_note FROM cells ORDER BY 1")
    values = [np.average(means, weights=COUNTS) for means in (first, second, third)]
    assert convlstm[1:] == pytest.approx((3, np.mean(values), np.std(values, ddof=1)))
    assert simvpv2[1] == 5 and variance == [(3,), (5,)] and other == ("simvpv2", "")
    for copy, original in ((3, 0), (4, 1)):
        assert f"seed {copy} has the predictions of seed {original}" in note


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Values that each call makes again."""
    calls: list[int] = []
    real: Callable[..., Any] = leave_one_out.leave_one_out_values

    def count(asked: list[Any]) -> Any:
        calls.append(len(asked))
        return real(asked)

    monkeypatch.setattr(leave_one_out, "leave_one_out_values", count)
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
    kept = tmp_path / ranking.COMPARISONS_FILE
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
    ranks = tmp_path / ranking.RANKS_FILE
    later = ranks.read_bytes()
    computed(store, tmp_path)
    ranks.write_bytes(later)
    del counted[:]
    assert computed(store, tmp_path)[1].equals(before[1]) and len(counted) == 5
    computed(copy, tmp_path)
    # So do directions: what was better is worse.
    copy.manifest["conventions"] = {**store.manifest["conventions"]}
    copy.manifest["conventions"]["ssim.range2"] = convention_facts(False)
    worst = of(computed(copy, tmp_path)[0].to_pylist(), "moving_mnist", "ssim.range2")
    assert {row["model"]: row["rank"] for row in worst}["simvpv2"] == len(MEANS)


@pytest.mark.parametrize("name", ["fvd.predicted_only", "energy_distance.own"])
def test_distances_of_unequal_numbers_of_clips_are_not_ranked_together(
    tmp_path: Path, name: str
) -> None:
    store = SmallStore(tmp_path)
    store.manifest["tables"]["short_term"]["columns"]["kth"] = [table_column("FVD", name)]
    store.manifest["conventions"][name] = convention_facts(False, compares_sets=True)
    for model, value, n in (("persistence", 300.0, 40), ("convlstm", 200.0, 40), ("mcvd", 9.0, 90)):
        store.add(model, "kth", {name: {"mean": value, "n": n}})
    ranked = {row["model"]: row for row in computed(store)[0].to_pylist()}
    found = {model: (row["rank"], row["models"]) for model, row in ranked.items()}
    assert found == {"persistence": (2, 2), "convlstm": (1, 2), "mcvd": (1, 1)}
    told = ask(built(store), "SELECT model, rank, ranked, best_model FROM leaderboard")
    best = {"persistence": "convlstm", "convlstm": "convlstm", "mcvd": "mcvd"}
    assert {(m, *found[m], best[m]) for m in found} == set(told)


def test_a_distance_of_sets_is_one_by_its_declaration() -> None:
    """Whatever it is called; one that is made from features needs no word more."""
    about = {"title": "", "unit": "1", "higher_is_better": False}
    plain = {"about": "", "function": "mse"}
    seen = plain | {"network": "i3d", "layer": "logits"}
    conventions = {
        "plain": plain,
        "seen": seen,
        "own": plain | {"compares_sets": True},
        "unbiased": seen | {"compares_sets": False},
    }
    metric = Metric.model_validate(about | {"conventions": conventions})
    assert [metric.compares_sets(name) for name in conventions] == [False, True, True, False]
    declared = {name: check(Metric, read_yaml(path), str(path)) for name, path in CONVENTIONS}
    of_sets = {
        name
        for name, metric in declared.items()
        for choice in metric.conventions
        if metric.compares_sets(choice)
    }
    assert of_sets == {"fvd", "kvd", "average_fid"}
