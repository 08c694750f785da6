"""Paired tests: equal to leaving out the clips themselves, and right when nothing differs."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter
from scipy import stats
from small_store import bare_cell, bare_manifest, convention_facts
from statsmodels.stats.multitest import multipletests
from toy_scored import CELL, Scored, write_scored

from stp.collect.direction import Direction
from stp.collect.significance import NO_SUMS, Asked, Clusters, LeftOut, holm, left_out
from stp.collect.standings import OTHER_CLUSTERS, Entrant, contest
from stp.core.errors import StpError
from stp.plan.manifest_types import Cell, Manifest
from stp.plan.setting import Part
from stp.render.tables.rows import Entry, Row
from stp.render.tables.standing import standings
from stp.score.jackknife import left_out_means

CLUSTERS = 11
CLIPS = 24


@pytest.fixture(scope="module")
def rivals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scored]:
    """Forecasts of the same clips, one a little noisier, one of other seeds, one on other clips."""
    rng = np.random.default_rng(5)
    clips = rng.integers(0, 256, (CLIPS, 5, 1, 12, 12), dtype=np.uint8)
    clusters = [f"video{n % CLUSTERS}" for n in range(CLIPS)]
    made = {}
    for name, noise in {"good": 0.10, "noisy": 0.105, "far": 0.3, "elsewhere": 0.2}.items():
        error = rng.normal(0, noise, (CLIPS, 3, 1, 12, 12))
        names = [f"{name}{one}" for one in clusters] if name == "elsewhere" else clusters
        predicted = (clips[:, 2:] / 255 + error).astype(np.float32)
        root = tmp_path_factory.mktemp(name)
        made[name] = write_scored(root, clips, predicted, clusters=names)
    return made


NUMBERS = count()


def cell_of(**more: Any) -> Cell:
    """A cell of a manifest."""
    return TypeAdapter(Cell).validate_python(bare_cell(CELL, **more))


def scored(rival: Scored, *conventions: str) -> Cell:
    """Score, and return the cell of a manifest."""
    return cell_of(scores=str(rival.run(*conventions, out=f"out{next(NUMBERS)}")))


def value_of(cell: Cell, convention: str, threshold: float | None = None) -> float:
    rows = pq.read_table(Path(cell.scores) / "scores.parquet").to_pylist()
    (row,) = [
        row
        for row in rows
        if (row["convention"], row["lead"], row["statistic"], row["threshold"])
        == (convention, None, "mean", threshold)
    ]
    return float(row["value"])


def mse(predicted: np.ndarray, observed: np.ndarray) -> float:
    return float(np.square(predicted - observed).mean())


def rmse(predicted: np.ndarray, observed: np.ndarray) -> float:
    return mse(predicted, observed) ** 0.5


def psnr(predicted: np.ndarray, observed: np.ndarray) -> float:
    """Of each frame, then the mean."""
    errors = np.square(predicted - observed).mean(axis=(2, 3, 4))
    return float((-10 * np.log10(errors)).mean())


def csi(predicted: np.ndarray, observed: np.ndarray, threshold: float) -> float:
    forecast, event = predicted >= threshold, observed >= threshold
    return float((forecast & event).sum() / (forecast | event).sum())


@pytest.mark.parametrize(
    ("convention", "part", "by_hand"),
    [
        ("mse.pixel_mean", None, mse),
        ("rmse.pooled", None, rmse),
        ("psnr.per_frame", None, psnr),
        ("csi.mean", 133.0, lambda p, o: csi(p, o, np.float32(133 / 255))),
    ],
)
def test_what_is_left_is_scored(
    rivals: dict[str, Scored],
    convention: str,
    part: float | None,
    by_hand: Callable[[np.ndarray, np.ndarray], float],
) -> None:
    """Each value is that of the frames of all clips but those of one cluster."""
    cells = [scored(rivals[name], convention) for name in ("good", "noisy")]
    asked = [
        Asked((c,), convention, Part(threshold=part), value_of(c, convention, part)) for c in cells
    ]
    good, noisy = left_out(asked)
    assert isinstance(good, LeftOut) and isinstance(noisy, LeftOut)
    assert good.clusters == noisy.clusters and good.values.shape == (CLUSTERS,)
    assert good.value == pytest.approx(asked[0].value)
    for cluster in range(CLUSTERS):
        clips = [n for n in range(CLIPS) if n % CLUSTERS != cluster]
        values = [
            by_hand(rivals[name].predicted[clips], rivals[name].observed[clips].astype("f4"))
            for name in ("good", "noisy")
        ]
        assert [good.values[cluster], noisy.values[cluster]] == pytest.approx(values, rel=1e-5)


def test_seeds_are_averaged_without_each_cluster(rivals: dict[str, Scored]) -> None:
    cells = [scored(rivals[name], "rmse.pooled") for name in ("good", "far")]
    values = [value_of(cell, "rmse.pooled") for cell in cells]
    singles = [Asked((c,), "rmse.pooled", Part(), v) for c, v in zip(cells, values, strict=True)]
    both = Asked(tuple(cells), "rmse.pooled", Part(), float(np.mean(values)))
    first, second, joined = (one.values for one in left_out([*singles, both]))
    np.testing.assert_allclose(joined, (first + second) / 2)


def test_there_is_a_reason_where_there_is_no_p(rivals: dict[str, Scored], tmp_path: Path) -> None:
    cell = scored(rivals["good"], "mse.pixel_mean")
    value = value_of(cell, "mse.pixel_mean")

    def answer(cell: Cell, convention: str = "mse.pixel_mean", **changes: Any) -> Any:
        asked = Asked((cell,), convention, Part(), value)._replace(**changes)
        return left_out([asked])[0]

    assert answer(cell, "fvd.predicted_only") == NO_SUMS
    assert answer(cell_of(scores=str(tmp_path))) == NO_SUMS
    # What is not made from these sums is not tested with them.
    assert answer(cell, value=1.0) == f"its sums over clusters give {value:.6g}"
    other = scored(rivals["elsewhere"], "mse.pixel_mean")
    mean = float(np.mean([value, value_of(other, "mse.pixel_mean")]))
    seeds = answer(cell, cells=(cell, other), value=mean)
    assert seeds == "its seeds were scored on different clusters of clips"


def test_few_clusters_have_no_p(tmp_path: Path) -> None:
    clips = np.random.default_rng(0).integers(0, 256, (9, 3, 1, 4, 4), dtype=np.uint8)
    cell = scored(
        write_scored(tmp_path, clips, np.zeros((9, 1, 1, 4, 4), np.float32)), "mae.pixel_mean"
    )
    asked = Asked((cell,), "mae.pixel_mean", Part(), value_of(cell, "mae.pixel_mean"))
    assert left_out([asked]) == ["only 9 clusters (10 needed)"]


def test_damaged_sums_are_named(rivals: dict[str, Scored]) -> None:
    cell = scored(rivals["good"], "mse.pixel_mean")
    path = Path(cell.scores) / "cluster_sums.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StpError, match=r"cluster_sums\.parquet: cannot be read"):
        left_out([Asked((cell,), "mse.pixel_mean", Part(), 1.0)])


def test_scores_through_networks_have_sums_of_their_own(
    rivals: dict[str, Scored], tmp_path: Path
) -> None:
    """The perceptual artefact holds a mean over samples; its network is not loaded."""
    cell = scored(rivals["good"], "mse.pixel_mean")
    perceptual = Path(scored(rivals["good"], "mae.pixel_mean").scores)
    for name in ("cluster_sums", "scores"):
        table = pq.read_table(perceptual / f"{name}.parquet")
        renamed = pa.array(["lpips.alex"] * len(table), pa.string())
        place = table.schema.get_field_index("convention")
        pq.write_table(table.set_column(place, "convention", renamed), tmp_path / f"{name}.parquet")
    value = value_of(cell_of(scores=str(tmp_path)), "lpips.alex")
    cell = replace(cell, perceptual=str(tmp_path))
    (found,) = left_out([Asked((cell,), "lpips.alex", Part(), value)])
    assert isinstance(found, LeftOut)
    assert abs(found.values.mean() - value) < 0.1 * value


def entrants(means: np.ndarray, counts: np.ndarray) -> list[Entrant]:
    """Models from the means of their clusters, (M, G)."""
    clusters = Clusters(tuple(map(str, range(len(counts)))), tuple(counts.tolist()), "")
    found = []
    for number, of in enumerate(means):
        value = float(np.average(of, weights=counts))
        without = left_out_means(of * counts, counts)
        found.append(Entrant(f"m{number}", value, None, LeftOut(clusters, value, without)))
    return found


def equal_models(rng: np.random.Generator, counts: np.ndarray, *, skewed: bool) -> np.ndarray:
    """Means of clusters of twelve models that are equally good, (12, G)."""
    hard = rng.normal(size=len(counts))  # how hard a video is for all
    own = rng.normal(size=(12, len(counts)))
    found = hard + 0.7 * own
    return np.exp(found) if skewed else found


@pytest.mark.parametrize("clusters", [10, 26])
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("skewed", [True, False])
def test_of_equal_models_none_is_called_better(clusters: int, equal: bool, skewed: bool) -> None:
    """In about 5 % of runs at most; percentiles of resampled differences did so in 12 to 48 %."""
    rng = np.random.default_rng(1)
    wrong, runs = 0, 300
    for _ in range(runs):
        counts = np.full(clusters, 4) if equal else 1 + rng.lognormal(1.5, 1, clusters).astype(int)
        means = equal_models(rng, counts, skewed=skewed)
        _, pairs = contest(entrants(means, counts), Direction(higher=True))
        wrong += any(pair.better is not None for pair in pairs)
    # 5 % have a standard error of 1.3 %.
    assert wrong / runs <= 0.08
    if equal and not skewed:
        assert wrong > 0


def test_a_model_that_is_better_is_found() -> None:
    rng = np.random.default_rng(2)
    counts = np.full(12, 4)
    found = 0
    for _ in range(100):
        means = equal_models(rng, counts, skewed=False)
        means[7] += 2.5  # about 9 standard errors of a difference
        places, pairs = contest(entrants(means, counts), Direction(higher=True))
        found += sum(pair.better == 7 for pair in pairs)
        assert places[7].rank == 1
    assert found / 1100 > 0.9


def test_p_is_that_of_student_for_clusters_of_equal_size() -> None:
    rng = np.random.default_rng(3)
    means, counts = rng.normal(size=(3, 15)), np.full(15, 6)
    _, pairs = contest(entrants(means, counts), Direction(higher=False))
    for pair in pairs:
        test = stats.ttest_1samp(means[pair.other] - means[pair.one], 0)
        interval = test.confidence_interval()
        assert pair.p == pytest.approx(test.pvalue)
        assert [pair.low, pair.high] == pytest.approx([interval.low, interval.high])
    corrected = multipletests([pair.p for pair in pairs], method="holm")[1]
    assert [pair.corrected for pair in pairs] == pytest.approx(list(corrected))


def test_p_is_about_that_of_all_changes_of_sign() -> None:
    """Of normal differences: the exact permutation test, whose 2^12 changes give a p value."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        means, counts = rng.normal(size=(2, 12)), np.full(12, 3)
        means[1] += 0.8
        (pair,) = contest(entrants(means, counts), Direction(higher=True))[1]
        exact = stats.permutation_test(
            (means[1] - means[0],),
            lambda x, axis: x.mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        )
        assert pair.p == pytest.approx(exact.pvalue, abs=0.03)


def test_what_is_detectable_is_found_in_four_of_five_tests() -> None:
    """By simulation, at the level that `better` has: 5 % for all 66 pairs of twelve models."""
    rng = np.random.default_rng(5)
    counts = np.full(15, 4)
    steps = []
    for _ in range(60):
        _, pairs = contest(entrants(rng.normal(size=(12, 15)), counts), Direction(higher=True))
        steps += [pair.detectable for pair in pairs if pair.detectable is not None]
    # Each pair knows its own standard error only; their root mean square is that of all.
    detectable = np.sqrt(np.mean(np.square(steps)))
    found = 0
    for _ in range(600):
        means = rng.normal(size=(2, 15))
        means[1] += detectable
        (pair,) = contest(entrants(means, counts), Direction(higher=True))[1]
        assert pair.p is not None
        found += pair.p < 0.05 / 66
    assert 0.75 < found / 600 < 0.85


def test_confidence_sets_of_ranks_follow_from_the_pairs() -> None:
    rng = np.random.default_rng(6)
    counts = np.full(20, 2)
    good, middle, bad = 2.0, 1.0, 0.0
    levels = np.array([good, middle, middle, bad])
    means = levels[:, None] + rng.normal(0, 0.2, (4, 20))
    places, _ = contest(entrants(means, counts), Direction(higher=True))
    assert [(one.rank_low, one.rank_high) for one in places] == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert sorted(one.rank or 0 for one in places) == [1, 2, 3, 4]
    assert all(one.models == 4 and one.clusters == 20 for one in places)


def test_other_clusters_are_not_compared() -> None:
    rng = np.random.default_rng(7)
    same = entrants(rng.normal(size=(2, 12)), np.full(12, 3))
    (other,) = entrants(rng.normal(size=(1, 12)), np.full(12, 4))
    none = Entrant("none", None, "frames are too small", "no value")
    places, pairs = contest([*same, other, none], Direction(higher=True))
    assert [pair.reason for pair in pairs] == [
        None,
        OTHER_CLUSTERS,
        "none: frames are too small",
        OTHER_CLUSTERS,
        *["none: frames are too small"] * 2,
    ]
    assert pairs[0].p == pairs[0].corrected and places[0].rank_low is None
    assert (places[3].rank, places[3].reason) == (None, "frames are too small")


def test_what_is_best_at_one_is_tested_by_its_distance() -> None:
    """0.9 and 1.1 differ, but neither is better."""
    noise = np.random.default_rng(8).normal(0, 0.01, (2, 20))
    means = np.array([[0.9], [1.1]]) + noise
    (pair,) = contest(entrants(means, np.full(20, 2)), Direction(best_at=1.0))[1]
    assert pair.low is not None and pair.p is not None
    assert pair.low > 0.15 and pair.p > 0.05 and pair.better is None


def test_rounding_is_no_difference() -> None:
    means = np.stack([np.full(12, 0.1 + 0.2), np.full(12, 0.3), np.full(12, 0.3 + 1e-9)])
    places, (same, near, _) = contest(entrants(means, np.full(12, 3)), Direction(higher=True))
    assert (same.low, same.high, same.p, same.better) == (0, 0, 1.0, None)
    assert near.difference == pytest.approx(1e-9, rel=1e-6) and near.better == 2
    assert places[2].rank_low == 1


def test_holm_corrects_step_by_step() -> None:
    # Holm (1979): the smallest of four times 4, the next times 3, ..., never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_rejects_what_stepping_down_rejects() -> None:
    """Against the procedure as its author states it: reject while p(k) < level / (m - k + 1)."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        p = rng.uniform(size=rng.integers(1, 8)) ** 3
        rejected = set()
        for step, number in enumerate(np.argsort(p)):
            if p[number] >= 0.05 / (len(p) - step):
                break
            rejected.add(int(number))
        assert {i for i, corrected in enumerate(holm(list(p))) if corrected < 0.05} == rejected


CONVENTIONS = {
    "mse.pixel_mean": convention_facts(False),
    "frequency_bias.mean": convention_facts(best_at=1.0),
    "fvd.predicted_only": convention_facts(False),
}
MANIFEST = TypeAdapter(Manifest).validate_python(bare_manifest(Path(), [], conventions=CONVENTIONS))


def entry(convention: str, value: float | None, n: int = 10) -> Entry:
    return Entry(convention, Part(), n, value, None, None, None, None, None, None, "")


def row(model: str, entries: dict[str, Entry], *cells: Cell, **changes: Any) -> Row:
    key = cell_of().key
    made = Row(
        "official", "paper", "paper", True, False, "Toy", model, None, 10, entries, [], cells, key
    )
    return replace(made, **changes)


def test_rivals_are_compared_with_the_best_of_them(rivals: dict[str, Scored]) -> None:
    rows = []
    for name in ("noisy", "good", "far", "elsewhere"):
        cell = scored(rivals[name], "mse.pixel_mean")
        value = value_of(cell, "mse.pixel_mean")
        rows.append(row(name, {"MSE": entry("mse.pixel_mean", value)}, cell))
    noisy, good, far, elsewhere = (by["MSE"] for by in standings(MANIFEST, rows))
    assert [one.rank for one in (good, noisy, elsewhere, far)] == [1, 2, 3, 4]
    assert [one.place for one in (good, noisy, elsewhere, far)] == [1, 2, 0, 0]
    assert {one.best for one in (noisy, good, far, elsewhere)} == {"good"}
    assert good.p is None and good.reason == ""
    assert far.p is not None and far.p < 1e-4 and far.is_worse
    # Three pairs are tested, that of the two others with them.
    assert far.corrected is not None and 2 * far.p <= far.corrected <= 3 * far.p
    assert noisy.p == noisy.corrected and noisy.is_worse == (noisy.p < 0.05)
    assert elsewhere.p is None and elsewhere.reason == OTHER_CLUSTERS


def test_a_ratio_is_best_at_one() -> None:
    """Twice as many events as there were are worse than a tenth too few."""
    bias = {"a": 2.0, "b": 0.9, "c": 1.2}
    rows = [row(m, {"bias": entry("frequency_bias.mean", v)}) for m, v in bias.items()]
    found = [by["bias"].rank for by in standings(MANIFEST, rows, tested=False)]
    assert found == [3, 1, 2]


def test_what_is_printed_alike_is_equally_good() -> None:
    rows = [
        row(m, {"MSE": entry("mse.pixel_mean", v)})
        for m, v in {"a": 0.50001, "b": 0.50002, "c": 0.6, "d": 0.7}.items()
    ]
    found = [by["MSE"] for by in standings(MANIFEST, rows, tested=False)]
    assert [one.rank for one in found] == [1, 2, 3, 4]
    assert [one.place for one in found] == [1, 1, 2, 0]


def test_the_worse_of_two_is_not_distinguished() -> None:
    rows = [row(m, {"MSE": entry("mse.pixel_mean", v)}) for m, v in {"a": 0.5, "b": 0.6}.items()]
    assert [by["MSE"].place for by in standings(MANIFEST, rows, tested=False)] == [1, 0]


def test_only_what_may_be_compared_is_ranked_together() -> None:
    """A distance of fewer clips is larger by itself; the best of many samples is better."""
    many = {"samples": 10, "statistic": "best_of_members", "best_of": 10}
    mean = {"samples": 10, "statistic": "mean_of_members"}
    both = {"FVD": entry("fvd.predicted_only", 5.0), "MSE": entry("mse.pixel_mean", 0.5)}
    fewer = {**both, "FVD": entry("fvd.predicted_only", 7.0, n=9)}
    rows = [
        row("a", both, cell_of()),
        row("b", both, cell_of(**mean)),
        row("fewer clips", fewer, cell_of()),
        row("best of 10", both, cell_of(**many)),
        row("other bytes", both, cell_of(), comparable=False, source="synthetic"),
    ]
    found = standings(MANIFEST, rows, tested=False)
    assert [by.get("FVD") is not None for by in found] == [True, True, False, False, False]
    assert [by.get("MSE") is not None for by in found] == [True, True, True, False, False]
