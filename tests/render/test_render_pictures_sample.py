"""Which sample is drawn: against sorting by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stp.core.errors import StpError
from stp.render.pictures.sample_choice import RULES, choose, errors_of
from stp.score.tables import read_samples


def write(
    folder: Path,
    errors: np.ndarray,
    column: str = "mse.pixel_mean",
    variable: str | None = None,
    **more: Any,
) -> Path:
    """Write sample scores; errors are (samples, leads)."""
    folder.mkdir(parents=True)
    clips = [f"clip-{i}" for i in range(len(errors))]
    variables = pa.array([variable] * len(clips), pa.string())
    columns = {"clip": clips, "variable": variables, column: pa.array(errors.tolist()), **more}
    pq.write_table(pa.table(columns), folder / "sample_scores.parquet")
    return folder


@pytest.mark.parametrize("samples", [1, 2, 3, 10, 11])
@pytest.mark.parametrize("models", [1, 4])
def test_samples_are_ordered_by_their_mean_error(tmp_path: Path, samples: int, models: int) -> None:
    rng = np.random.default_rng(samples + models)
    errors = rng.integers(0, 4, (models, samples, 4)).astype(float)  # some are equal
    folders = [write(tmp_path / str(i), errors[i]) for i in range(models)]
    kept = np.arange(samples)
    mean = [sum(errors[m, s].mean() for m in range(models)) / models for s in range(samples)]
    in_order = sorted(range(samples), key=lambda s: (mean[s], s))
    assert choose(folders, "easiest", kept).sample == in_order[0]
    assert choose(folders, "median", kept).sample == in_order[(samples - 1) // 2]
    hardest = choose(folders, "hardest", kept).sample
    assert hardest == mean.index(max(mean))


@pytest.mark.parametrize("criterion", ["mse.pixel_sum", "mae.pixel_sum"])
def test_sums_over_pixels_order_samples_too(tmp_path: Path, criterion: str) -> None:
    folder = write(tmp_path / "a", np.array([[5.0], [9], [1], [2]]), criterion)
    samples = [choose([folder], name, np.arange(4)).sample for name in RULES]
    assert samples == [3, 1, 2]


def test_only_samples_that_are_kept_are_drawn(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", np.array([[5.0], [1], [4], [2], [3]]))
    kept = np.array([0, 2, 4])
    samples = [choose([folder], name, kept).sample for name in ("easiest", "median", "hardest")]
    assert samples == [4, 2, 0]
    assert "among 3 whose predictions are kept, of 5" in choose([folder], "median", kept).why


def test_errors_are_of_the_first_criterion_that_all_models_have(tmp_path: Path) -> None:
    more = {"rmse.per_frame": pa.array([[1.0], [2.0]])}
    one = write(tmp_path / "a", np.array([[9.0], [0.0]]), **more)
    assert errors_of([one], [])[0] == "mse.pixel_mean"
    two = write(tmp_path / "b", np.array([[4.0], [6.0]]), "rmse.per_frame")
    name, errors, _ = errors_of([one, two], [])
    assert name == "rmse.per_frame" and errors.tolist() == [[1.0, 2.0], [4.0, 6.0]]
    both = pq.read_table(
        write(tmp_path / "none", np.zeros((2, 1)), "crps.fair") / "sample_scores.parquet"
    )
    weather = write(tmp_path / "c", np.array([[1.0], [2.0]]), "wrmse.per_frame", "t2m")
    rows = [both, pq.read_table(weather / "sample_scores.parquet")]
    pq.write_table(
        pa.concat_tables(rows, promote_options="default"), weather / "sample_scores.parquet"
    )
    name, errors, _ = errors_of([weather], ["t_2m", "t2m"])
    assert name == "wrmse.per_frame of t2m" and errors.tolist() == [[1.0, 2.0]]
    assert errors_of([weather], ["z500"])[0] is None
    middle = choose([weather], "median", np.arange(2), ["z500"])
    assert middle.sample == 0 and "no errors of single samples" in middle.why


def test_samples_without_a_finite_error_are_not_chosen(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", np.array([[np.inf], [2.0], [1.0]]))
    assert choose([folder], "hardest", np.arange(3)).sample == 1
    with pytest.raises(StpError, match="mse"):
        choose([folder], "median", np.array([0]))


def test_where_models_lack_samples_those_count_that_all_have(tmp_path: Path) -> None:
    folders = [
        write(tmp_path / "a", np.array([[1.0], [2.0], [9.0]])),
        write(tmp_path / "b", np.array([[3.0], [4.0]])),
    ]
    held = read_samples(folders[0], "mse.pixel_mean")
    assert held is not None
    names = held[0]
    _, errors, there = errors_of(folders, [], names)
    np.testing.assert_array_equal(errors, [[1.0, 2.0, 9.0], [3.0, 4.0, np.nan]])
    assert there.tolist() == [[True, True, True], [True, True, False]]
    assert choose(folders, "hardest", np.arange(2), (), names).sample == 1
    # Sample 2 is ordered by the errors of those that have all that can be drawn.
    hardest = choose(folders, "hardest", np.arange(3), (), names)
    assert hardest.sample == 2 and "of the model, mean over lead times" in hardest.why


def test_bad_scores_are_named(tmp_path: Path) -> None:
    folders = [write(tmp_path / "a", np.ones((3, 1))), write(tmp_path / "b", np.ones((2, 1)))]
    with pytest.raises(StpError, match=r"b: .*a"):
        choose(folders, "median", np.arange(2))
    (folders[0] / "sample_scores.parquet").write_bytes(b"PAR1")
    with pytest.raises(StpError, match=r"a/sample_scores\.parquet"):
        choose(folders, "median", np.arange(2))
    with pytest.raises(StpError, match=r"c/sample_scores\.parquet"):
        choose([tmp_path / "c"], "median", np.arange(2))
    with pytest.raises(StpError, match="median, hardest, easiest"):
        choose(folders, "worst", np.arange(2))
