"""Values without each of their clusters: equal to leaving out the clips themselves."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scored_rivals import CLIPS, CLUSTERS, cell_of, forecasts, scored, value_of
from toy_scored import Scored, write_scored

from stp.collect.cluster_sums import NO_SUMS
from stp.collect.leave_one_out import LeftOut, RowValue, leave_one_out_values
from stp.core.errors import StpError
from stp.plan.column import Part
from stp.plan.manifest_types import Cell


@pytest.fixture(scope="module")
def rivals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scored]:
    return forecasts(tmp_path_factory)


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
        RowValue((c,), convention, Part(threshold=part), value_of(c, convention, part))
        for c in cells
    ]
    good, noisy = leave_one_out_values(asked)
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
    singles = [RowValue((c,), "rmse.pooled", Part(), v) for c, v in zip(cells, values, strict=True)]
    both = RowValue(tuple(cells), "rmse.pooled", Part(), float(np.mean(values)))
    first, second, joined = (one.values for one in leave_one_out_values([*singles, both]))
    np.testing.assert_allclose(joined, (first + second) / 2)


def test_there_is_a_reason_where_there_is_no_p(rivals: dict[str, Scored], tmp_path: Path) -> None:
    cell = scored(rivals["good"], "mse.pixel_mean")
    value = value_of(cell, "mse.pixel_mean")

    def answer(cell: Cell, convention: str = "mse.pixel_mean", **changes: Any) -> Any:
        asked = RowValue((cell,), convention, Part(), value)._replace(**changes)
        return leave_one_out_values([asked])[0]

    assert answer(cell, "fvd.predicted_only") == NO_SUMS
    assert answer(cell_of(scores=str(tmp_path))) == NO_SUMS
    # What is not made from these sums is not tested with them.
    assert f"{value:.6g}" in answer(cell, value=1.0)
    other = scored(rivals["elsewhere"], "mse.pixel_mean")
    mean = float(np.mean([value, value_of(other, "mse.pixel_mean")]))
    seeds = answer(cell, cells=(cell, other), value=mean)
    assert "seeds" in seeds


def test_few_clusters_have_no_p(tmp_path: Path) -> None:
    clips = np.random.default_rng(0).integers(0, 256, (9, 3, 1, 4, 4), dtype=np.uint8)
    cell = scored(
        write_scored(tmp_path, clips, np.zeros((9, 1, 1, 4, 4), np.float32)), "mae.pixel_mean"
    )
    asked = RowValue((cell,), "mae.pixel_mean", Part(), value_of(cell, "mae.pixel_mean"))
    (reason,) = leave_one_out_values([asked])
    assert isinstance(reason, str) and "9 clusters" in reason


def test_damaged_sums_are_named(rivals: dict[str, Scored]) -> None:
    cell = scored(rivals["good"], "mse.pixel_mean")
    path = Path(cell.scores) / "cluster_sums.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StpError, match=r"cluster_sums\.parquet"):
        leave_one_out_values([RowValue((cell,), "mse.pixel_mean", Part(), 1.0)])


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
    (found,) = leave_one_out_values([RowValue((cell,), "lpips.alex", Part(), value)])
    assert isinstance(found, LeftOut)
    assert abs(found.values.mean() - value) < 0.1 * value
