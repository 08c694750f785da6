"""Paired tests: equal to resampling of the clips themselves, and right when nothing differs."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from toy_scored import CELL, Scored, write_scored

from stp.collect.significance import (
    BATCH,
    NO_SUMS,
    RESAMPLES,
    Asked,
    Resampled,
    holm,
    p_value,
    resample,
)
from stp.core.errors import StpError
from stp.render.tables.rows import Entry, Row
from stp.render.tables.standing import standings
from stp.score.bootstrap import resampled_means

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


def scored(rival: Scored, *conventions: str) -> dict[str, Any]:
    """Score, and return the cell of a manifest."""
    folder = rival.run(*conventions, out=f"out{next(NUMBERS)}")
    return {"key": CELL, "scores": str(folder)}


def value_of(cell: dict[str, Any], convention: str, threshold: float | None = None) -> float:
    rows = pq.read_table(Path(cell["scores"]) / "scores.parquet").to_pylist()
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
def test_resamples_are_scores_of_resampled_clips(
    rivals: dict[str, Scored],
    convention: str,
    part: float | None,
    by_hand: Callable[[np.ndarray, np.ndarray], float],
) -> None:
    """Each resample is scored from its frames, clips of clusters drawn twice counted twice."""
    cells = [scored(rivals[name], convention) for name in ("good", "noisy")]
    asked = [Asked((c,), convention, part, value_of(c, convention, part)) for c in cells]
    good, noisy = resample(asked)
    assert isinstance(good, Resampled) and isinstance(noisy, Resampled)
    assert good.clusters == noisy.clusters and good.values.shape == (RESAMPLES,)
    for batch in (0, 4, 8):
        drawn = np.random.default_rng(batch).integers(CLUSTERS, size=(50, CLUSTERS))
        for number, clusters in enumerate(drawn, start=batch * BATCH):
            clips = np.concatenate([np.arange(c, CLIPS, CLUSTERS) for c in clusters])
            values = [
                by_hand(rivals[name].predicted[clips], rivals[name].observed[clips].astype("f4"))
                for name in ("good", "noisy")
            ]
            assert [good.values[number], noisy.values[number]] == pytest.approx(values, rel=1e-5)


def test_seeds_are_averaged_inside_each_resample(rivals: dict[str, Scored]) -> None:
    cells = [scored(rivals[name], "rmse.pooled") for name in ("good", "far")]
    values = [value_of(cell, "rmse.pooled") for cell in cells]
    singles = [Asked((c,), "rmse.pooled", None, v) for c, v in zip(cells, values, strict=True)]
    both = Asked(tuple(cells), "rmse.pooled", None, float(np.mean(values)))
    first, second, joined = (one.values for one in resample([*singles, both]))
    np.testing.assert_allclose(joined, (first + second) / 2)


def test_there_is_a_reason_where_there_is_no_p(rivals: dict[str, Scored], tmp_path: Path) -> None:
    cell = scored(rivals["good"], "mse.pixel_mean")
    value = value_of(cell, "mse.pixel_mean")

    def answer(cell: dict[str, Any], convention: str = "mse.pixel_mean", **changes: Any) -> Any:
        asked = Asked((cell,), convention, None, value)._replace(**changes)
        return resample([asked])[0]

    assert answer(cell, "fvd.predicted_only") == NO_SUMS
    assert answer({"scores": str(tmp_path)}) == NO_SUMS
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
    asked = Asked((cell,), "mae.pixel_mean", None, value_of(cell, "mae.pixel_mean"))
    assert resample([asked]) == ["only 9 clusters (10 needed)"]


def test_damaged_sums_are_named(rivals: dict[str, Scored]) -> None:
    cell = scored(rivals["good"], "mse.pixel_mean")
    path = Path(cell["scores"]) / "cluster_sums.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StpError, match=r"cluster_sums\.parquet: cannot be read"):
        resample([Asked((cell,), "mse.pixel_mean", None, 1.0)])


def test_scores_through_networks_have_sums_of_their_own(
    rivals: dict[str, Scored], tmp_path: Path
) -> None:
    """The perceptual artefact holds a mean over samples; its network is not loaded."""
    cell = scored(rivals["good"], "mse.pixel_mean")
    perceptual = Path(scored(rivals["good"], "mae.pixel_mean")["scores"])
    for name in ("cluster_sums", "scores"):
        table = pq.read_table(perceptual / f"{name}.parquet")
        renamed = pa.array(["lpips.alex"] * len(table), pa.string())
        place = table.schema.get_field_index("convention")
        pq.write_table(table.set_column(place, "convention", renamed), tmp_path / f"{name}.parquet")
    value = value_of({"scores": str(tmp_path)}, "lpips.alex")
    cell |= {"perceptual": str(tmp_path)}
    (found,) = resample([Asked((cell,), "lpips.alex", None, value)])
    assert isinstance(found, Resampled)
    assert abs(found.values.mean() - value) < 0.1 * value


def test_p_counts_resamples_in_which_the_order_turns_round() -> None:
    # 3 of 99 resamples at or below 0: 2 (3 + 1) / (99 + 1).
    assert p_value(np.array([-1.0, 0.0, -0.5] + [1.0] * 96)) == 0.08
    assert p_value(np.full(99, 2.0)) == p_value(np.full(99, -2.0)) == 0.02
    assert p_value(np.zeros(99)) == 1.0


def test_about_5_percent_of_equal_models_are_told_apart() -> None:
    """Two models without a difference, on clusters of unequal size whose clips depend on each
    other: as often as the level says; if clips were resampled one by one, far more often."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 9, 40)
    trials, found, naive = 400, 0, 0
    for trial in range(trials):
        shared = rng.normal(size=40)  # how hard a video is for one of the two
        values = np.repeat(shared, sizes) + 0.5 * rng.normal(size=sizes.sum())
        cluster = np.repeat(np.arange(40), sizes)
        sums = np.zeros((40, 2))
        np.add.at(sums, cluster, np.stack([values, np.zeros_like(values)], axis=1))
        means = resampled_means(sums, sizes, resamples=199, seed=trial)
        found += p_value(means[:, 0] - means[:, 1]) < 0.05
        single = resampled_means(values[:, None], np.ones(len(values), int), resamples=199, seed=1)
        naive += p_value(single[:, 0]) < 0.05
    assert 0.03 < found / trials < 0.09
    assert naive / trials > 0.2


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


MANIFEST = {
    "conventions": {
        "mse.pixel_mean": {"higher_is_better": False},
        "frequency_bias.mean": {"higher_is_better": None, "best_at": 1.0},
        "fvd.predicted_only": {"higher_is_better": False},
    }
}


def entry(convention: str, value: float | None, n: int = 10) -> Entry:
    return Entry(convention, None, n, value, None, None, None, None, None, None, "")


def row(model: str, entries: dict[str, Entry], *cells: dict[str, Any], **changes: Any) -> Row:
    made = Row(
        "official", "paper", "paper", True, False, "Toy", model, None, 10, entries, [], cells, {}
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
    assert far.p == 2 / (RESAMPLES + 1) and far.corrected == 2 * far.p
    assert noisy.p is not None and noisy.corrected == max(noisy.p, far.corrected)
    assert elsewhere.p is None
    assert elsewhere.reason == "the best, good, was scored on other clusters of clips"


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
        row("a", both, {}),
        row("b", both, mean),
        row("fewer clips", fewer, {}),
        row("best of 10", both, many),
        row("other bytes", both, {}, comparable=False, source="synthetic"),
    ]
    found = standings(MANIFEST, rows, tested=False)
    assert [by.get("FVD") is not None for by in found] == [True, True, False, False, False]
    assert [by.get("MSE") is not None for by in found] == [True, True, True, False, False]
