"""From predictions on disk, scoring makes the three tables of a score artefact."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conventions import defined
from skimage.metrics import structural_similarity
from toy_scored import CELL, Scored, assert_same_tables, rows, scores, value

from stp.core.errors import StpError
from stp.score.aggregate import values
from stp.score.conventions import build

ALL_VIDEO = (
    "ssim.range2",
    "ssim.range1",
    "psnr.per_frame",
    "psnr.pooled",
    "mse.pixel_sum",
    "mse.pixel_mean",
    "mae.pixel_sum",
    "mae.pixel_mean",
    "rmse.per_frame",
    "rmse.per_frame_sum",
    "rmse.pooled",
)
NINO = ("nino34.correlation", "nino34.correlation_weighted", "nino34.rmse")


def test_the_weights_of_batches_are_no_spread_of_clips(
    make_scored: Callable[..., Scored],
) -> None:
    """20 clips with an error of 0.25 each: batches of 16 and 4, whose clips weigh unlike."""
    clips = np.full((20, 2, 1, 4, 4), 51, np.uint8)
    predicted = np.full((20, 1, 1, 4, 4), 0.2 + 0.25, np.float32)
    scored = make_scored(clips, predicted, clusters=[f"video{n % 10}" for n in range(20)])
    name = "mae.pixel_mean_batch16"
    out = scored.run(name)
    ends = [rows(out, name, statistic=end).value.item() for end in ("ci95_low", "ci95_high")]
    assert value(out, name) == pytest.approx(0.25, rel=1e-6) and ends == [None, None]
    # The weight of a clip depends on how many others there are: alone it has no value.
    assert not [c for c in pq.read_schema(out / "sample_scores.parquet").names if name in c]


def test_values_are_those_of_numpy_and_scikit_image(video: Scored) -> None:
    out = video.run("mse.pixel_sum", "rmse.pooled", "ssim.range2")
    error = video.predicted - video.observed
    assert value(out, "mse.pixel_sum") == pytest.approx((error**2).sum((2, 3, 4)).mean(), rel=1e-6)
    assert value(out, "rmse.pooled") == pytest.approx(np.sqrt((error**2).mean()), rel=1e-6)
    reference = np.mean(
        [
            structural_similarity(p.astype(float), o, channel_axis=0, data_range=2)
            for p, o in zip(video.predicted[:, 1], video.observed[:, 1], strict=True)
        ]
    )
    assert value(out, "ssim.range2", lead=2) == pytest.approx(reference, abs=1e-6)
    assert video.extras["samples"] == 23
    assert video.extras["clusters"] == 12
    assert video.extras["leads"] == 4
    assert video.extras["values"]["rmse.pooled"] == value(out, "rmse.pooled")
    assert video.reported[-1] == ("samples scored", 23, 23)


def test_rows_are_complete(video: Scored) -> None:
    table = scores(video.run(*ALL_VIDEO))
    assert len(table) == len(ALL_VIDEO) * (1 + 4) * 3
    assert not table.duplicated(["convention", "lead", "statistic"]).any()
    for key, text in CELL.items():
        assert set(table[key]) == {text}
    assert (table.metric == table.convention.str.split(".").str[0]).all()
    assert set(table[table.statistic == "mean"].n) == {23}
    assert set(table[table.statistic != "mean"].n) == {12}
    assert table.value.notna().all()
    for column in ("variable", "level", "threshold", "reason"):
        assert table[column].isna().all()
    wide = table.pivot_table(
        index=["convention", table.lead.fillna(0)],
        columns="statistic",
        values="value",
        aggfunc="first",
    )
    assert (wide.ci95_low < wide["mean"]).all()
    assert (wide["mean"] < wide.ci95_high).all()


def test_schemas_are_typed_even_where_all_is_null(video: Scored) -> None:
    out = video.run("mse.pixel_mean")
    text = dict.fromkeys([key for key in CELL if key != "seed"], pa.string())
    assert dict(zip(*fields(out / "scores.parquet"), strict=True)) == {
        **text,
        "seed": pa.int64(),
        "metric": pa.string(),
        "convention": pa.string(),
        "variable": pa.string(),
        "level": pa.float64(),
        "lead": pa.int64(),
        "threshold": pa.float64(),
        "statistic": pa.string(),
        "value": pa.float64(),
        "n": pa.int64(),
        "reason": pa.string(),
    }
    names, types = fields(out / "sample_scores.parquet")
    assert names == [*CELL, "sample", "clip", "cluster", "variable", "mse.pixel_mean"]
    assert types[names.index("variable")] == pa.string()
    assert pa.types.is_list(types[-1])
    names, types = fields(out / "cluster_sums.parquet")
    places = ["start", "length", "step", "lacks"]
    assert names == ["convention", "cluster", "n", "components", "sums", *places]
    assert types[2:4] == [pa.int64(), pa.int64()]


def fields(path: Path) -> tuple[list[str], list[pa.DataType]]:
    schema = pq.read_schema(path)
    return schema.names, schema.types


def test_a_cell_may_have_no_scores_of_its_own(video: Scored) -> None:
    """All of its conventions need a network: they are in its other scores."""
    folder = video.run()
    assert pq.read_table(folder / "scores.parquet").num_rows == 0
    assert pq.read_table(folder / "cluster_sums.parquet").num_rows == 0
    samples = pq.read_table(folder / "sample_scores.parquet")["sample"].to_pylist()
    assert samples == list(range(len(video.predicted)))


def test_sample_scores_have_one_list_over_leads(video: Scored) -> None:
    table = pq.read_table(video.run("mse.pixel_sum") / "sample_scores.parquet").to_pandas()
    assert table["sample"].tolist() == list(range(23))
    assert table["clip"][5] == "clip005"
    assert table["cluster"][13] == "video1"
    error = video.predicted[5] - video.observed[5]
    np.testing.assert_allclose(table["mse.pixel_sum"][5], (error**2).sum(axis=(1, 2, 3)), rtol=1e-6)


@pytest.mark.parametrize("convention", ["rmse.pooled", "psnr.per_frame"])
def test_every_value_follows_from_the_sums(video: Scored, convention: str) -> None:
    # What makes re-aggregation possible without predictions and data.
    out = video.run(convention)
    table = pq.read_table(out / "cluster_sums.parquet").to_pandas()
    assert table.cluster.is_unique
    assert table.n.sum() == 23
    metric = build(convention, defined(convention)[convention])
    merged = np.sum(table.sums.tolist(), axis=0).reshape(table.components[0], -1)
    again = values(metric, merged / table.n.sum())
    found = [value(out, convention, lead=lead) for lead in (None, 1, 2, 3, 4)]
    np.testing.assert_allclose(again, found, rtol=1e-12)


def test_blocks_and_threads_do_not_change_results(video: Scored) -> None:
    whole = video.run(*ALL_VIDEO, out="whole")
    parts = video.run(*ALL_VIDEO, out="parts", block_samples=10, threads=2)
    assert [done for _, done, _ in video.reported] == [10, 20, 23]
    assert_same_tables(parts, whole)


@pytest.fixture
def enso(make_scored: Callable[..., Scored]) -> Scored:
    """Twelve samples of 2 context months and 5 lead times on the grid of ICAR-ENSO."""
    rng = np.random.default_rng(0)
    months = rng.normal(0, 1, (12, 7, 1, 1, 1))
    clips = (months + rng.normal(0, 0.5, (12, 7, 1, 24, 48))).astype(np.float32)
    predicted = (0.5 * clips[:, 2:] + 0.1).astype(np.float32)
    return make_scored(clips, predicted, units="degC", variables=["sst"])


def test_nino_scores_start_at_the_third_lead_time(enso: Scored) -> None:
    out = enso.run(*NINO, "rmse.per_frame")
    table = scores(out)
    assert set(table.variable) == {"sst"}
    for convention in NINO:
        leads = table[table.convention == convention].lead
        assert sorted(leads.dropna().unique()) == [3, 4, 5]
    assert value(out, "nino34.correlation") == pytest.approx(1, abs=1e-6)
    # (1.5 ln 1 + 1.5 ln 2 + 1.5 ln 3) / 3 = 1.5 ln 6 / 3
    weighted = value(out, "nino34.correlation_weighted")
    assert weighted == pytest.approx(0.5 * np.log(6), abs=1e-6)
    names = pq.read_schema(out / "sample_scores.parquet").names
    assert [name for name in names if name.startswith("nino34.correlation.")] == [
        f"nino34.correlation.{component}" for component in ("p", "o", "pp", "oo", "po")
    ]
    sums = pq.read_table(out / "cluster_sums.parquet").to_pandas()
    here = sums[sums.convention == "nino34.correlation"].iloc[0]
    assert here.components == 5
    assert len(here.sums) == 5 * 3


def test_few_clusters_leave_means_without_intervals(make_scored: Callable[..., Scored]) -> None:
    clips = np.random.default_rng(0).random((12, 3, 1, 8, 8), dtype=np.float32)
    scored = make_scored(clips, clips[:, 1:] + 1, clusters=["a", "b", "c", "d"] * 3)
    table = scores(scored.run("mse.pixel_mean"))
    assert table[table.statistic == "mean"].value.notna().all()
    ends = table[table.statistic != "mean"]
    assert ends.value.isna().all()
    (reason,) = set(ends.reason)
    assert "4" in reason and "10" in reason


def test_exact_frames_have_no_psnr(make_scored: Callable[..., Scored]) -> None:
    clips = np.zeros((12, 3, 1, 8, 8), np.float32)
    predicted = np.full((12, 2, 1, 8, 8), 0.1, np.float32)
    predicted[[4, 9], 0] = 0  # two samples are exact at lead 1
    out = make_scored(clips, predicted).run("psnr.per_frame", "psnr.pooled")
    table = scores(out)
    assert (table.value.isna() == table.reason.notna()).all()
    per_frame = table[(table.convention == "psnr.per_frame") & (table.statistic == "mean")]
    reasons = dict(zip(per_frame.lead, per_frame.reason, strict=True))
    assert "2 of 24" in reasons[None] and "clip004" in reasons[None]
    assert "2 of 12" in reasons[1] and reasons[2] is None
    assert value(out, "psnr.per_frame", lead=2) == pytest.approx(20, abs=1e-6)
    # Pooled over 24 frames, 22 of them with MSE 0.01: 20 - 10 log10(22 / 24) dB.
    assert value(out, "psnr.pooled") == pytest.approx(20 - 10 * np.log10(22 / 24), abs=1e-6)


def test_nan_in_predictions_is_null_never_zero(video: Scored, make_scored: Any) -> None:
    shutil.rmtree(video.root / "predictions")
    shutil.rmtree(video.root / "data")
    predicted = video.predicted.copy()
    predicted[3, 2, 0, 5, 5] = np.nan
    clips = np.zeros((23, 7, 2, 16, 18), np.uint8)
    table = scores(make_scored(clips, predicted).run(*ALL_VIDEO))
    for convention in ALL_VIDEO:
        here = table[table.convention == convention]
        missing = here[here.value.isna()]
        assert set(missing.lead) == {None, 3}
        assert len(missing) == 6
        (reason,) = set(missing[missing.lead == 3].reason)
        assert "1 of 23" in reason and "clip003" in reason


def test_long_rollouts_are_compared_with_longer_windows(make_scored: Any) -> None:
    # Horizon 2, but 4 lead times predicted; the index says that 5 frames are at hand.
    clips = np.random.default_rng(0).random((11, 5, 1, 8, 8), dtype=np.float32)
    scored = make_scored(clips, clips[:, 1:] + np.float32(0.5))
    attributes = scored.root / "data" / "frames.zarr" / "zarr.json"
    text = attributes.read_text()
    assert '"horizon": 4' in text
    attributes.write_text(text.replace('"horizon": 4', '"horizon": 2'))
    out = scored.run("mae.pixel_mean")
    assert value(out, "mae.pixel_mean", lead=4) == pytest.approx(0.5, abs=1e-6)


# What people may get wrong


def test_predictions_of_other_clips_are_refused(video: Scored) -> None:
    path = video.root / "predictions" / "index.parquet"
    index = pd.read_parquet(path)
    index.loc[4, "clip"] = "another"
    index.to_parquet(path)
    with pytest.raises(StpError, match=r"4 .*'another'"):
        video.run("mse.pixel_sum")


def test_predictions_of_fewer_clips_are_refused(video: Scored) -> None:
    path = video.root / "data" / "index.parquet"
    pd.read_parquet(path).iloc[:20].to_parquet(path)
    with pytest.raises(StpError, match=r"23 .*23 ") as caught:
        video.run("mse.pixel_sum")
    assert "20" in caught.value.expected


def test_other_units_are_refused(video: Scored) -> None:
    path = video.root / "predictions" / "predictions.zarr" / "zarr.json"
    path.write_text(path.read_text().replace('"units": "1"', '"units": "K"'))
    with pytest.raises(StpError, match="'K'"):
        video.run("mse.pixel_sum")


def lose_a_shard(store: Path) -> None:
    next(path for path in sorted(store.rglob("*")) if path.name == "0" and path.is_file()).unlink()


def cut_a_shard(store: Path) -> None:
    shard = next(p for p in sorted(store.rglob("*")) if p.is_file() and p.name != "zarr.json")
    shard.write_bytes(shard.read_bytes()[:-100])


def garble_the_metadata(store: Path) -> None:
    (store / "predictions" / "zarr.json").write_text("{")


@pytest.mark.parametrize("damage", [lose_a_shard, cut_a_shard, garble_the_metadata, shutil.rmtree])
def test_damaged_predictions_are_named(video: Scored, damage: Callable[[Path], None]) -> None:
    damage(video.root / "predictions" / "predictions.zarr")
    with pytest.raises(StpError, match=r"predictions\.zarr"):
        video.run("mse.pixel_sum")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"conventions": {"mine.own": {"function": "mine"}}}, "mine.own"),
        ({"conventions": ["mse.pixel_sum"]}, "conventions"),
        ({"conventions": {"mse.own": {"function": "mse", "sum": 1}}}, "mse.own"),
        ({"bootstrap": {"resamples": 5}}, "resamples is 5"),
        ({"bootstrap": {"resample": 100}}, "resamples"),
        ({"threads": 0}, "threads is 0"),
        ({"thread": 1}, "threads"),
        ({"cell": {**CELL, "seed": "0"}}, "seed is '0'"),
        ({"cell": {"suite": "predbench"}}, "dimension"),
        ({"split": "tset"}, "no split 'tset'"),
    ],
)
def test_bad_recipes_are_explained(video: Scored, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(StpError, match=message):
        video.run("mse.pixel_sum", **changes)
